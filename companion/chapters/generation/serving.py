"""A server of a language model, simulated: who is in the batch, what the cache holds, how long each pass takes.

A pass takes as long as its arithmetic or its traffic needs at best (:func:`companion.cost.roofline_seconds`). Nothing
is random but the requests, which come from a seed.

Two ways to form a batch (Yu et al. 2022, section 3.1): *static* takes what waits and serves it to the end, a finished
sequence keeping its row until the last one is done; *continuous* lets sequences leave and enter between passes. Two
caches (Kwon et al. 2023): *contiguous* reserves room for the longest sequence allowed, *paged* takes a page when one is
full. Requests are admitted in the order of their arrival while memory lasts. Their prompts are read in one pass, which
gives their first tokens; while it runs, the others wait. Where pages run out, the sequence that was admitted last
leaves and is read anew later.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import torch

from companion import cost
from companion.checks import check_sizes
from companion.config import ModelConfig


@dataclass(frozen=True)
class Request:
    """What a user sends.

    Args:
        arrival: in seconds.
        prompt: tokens.
        answer: tokens; the server does not know this number.
    """

    arrival: float
    prompt: int
    answer: int


@dataclass(frozen=True)
class Machine:
    """A model on a device: what a pass costs, and how many positions the cache has room for.

    Args:
        weights: bytes, read in each pass.
        position: bytes of the keys and values of one position.
        row: FLOPs of a token without its pairs.
        pair: FLOPs of a pair of a query and a key, in all layers.
        peak: FLOPs a second.
        bandwidth: bytes a second.
        room: positions.
    """

    weights: int
    position: int
    row: int
    pair: int
    peak: float | int
    bandwidth: float | int
    room: int

    @classmethod
    def of(cls, config: ModelConfig, *, peak: float | int, bandwidth: float | int, memory: float | int) -> "Machine":
        """Take the costs of a decoder-only model in 16 bits from :mod:`companion.cost`.

        Args:
            config: of the model.
            peak: FLOPs a second.
            bandwidth: bytes a second.
            memory: bytes; what the weights leave is for the cache.

        Returns:
            The machine.
        """
        weights = cost.weight_bytes(cost.model_parameters(config, "decoder-only").total, "float16")
        position = cost.model_cache_bytes(config, 1, 1)
        one, two = (cost.model_flops(config, "decoder-only", 1, 1, past=past).total for past in (1, 2))
        room = int((memory - weights) // position)
        return cls(weights, position, one - 2 * (two - one), two - one, peak, bandwidth, room)

    def seconds(self, rows: int, pairs: int, positions: int) -> float:
        """Bound the time of a pass from below.

        Args:
            rows: tokens that are read.
            pairs: of a query and a key.
            positions: whose keys and values are read or written.

        Returns:
            Seconds.
        """
        flops, moved = self.row * rows + self.pair * pairs, self.weights + self.position * positions
        return cost.roofline_seconds(flops, moved, peak_flops=self.peak, bandwidth=self.bandwidth)


@dataclass(eq=False)
class Served:
    """A request on its way: tokens made, positions stored, seconds of the first and last token, times sent back."""

    request: Request
    made: int = 0
    stored: int = 0
    first: float = 0.0
    finish: float = 0.0
    evictions: int = 0

    @property
    def done(self) -> bool:
        """Whether its answer is complete."""
        return self.made == self.request.answer


@dataclass(frozen=True)
class Pass:
    """One pass of the model: its seconds, its sequences and those that were not finished, positions of the cache."""

    seconds: float
    busy: int
    rows: int
    used: int
    reserved: int


@dataclass(frozen=True)
class Report:
    """What came out: a sequence a request, in the order of arrival, and a row for each pass."""

    served: list[Served]
    passes: list[Pass]

    @property
    def throughput(self) -> float:
        """Tokens of answers a second, from the first arrival to the last token."""
        span = max(one.finish for one in self.served) - min(one.request.arrival for one in self.served)
        return sum(one.request.answer for one in self.served) / span

    @property
    def first_token(self) -> float:
        """Seconds from arrival to the first token, the median."""
        return median(one.first - one.request.arrival for one in self.served)

    @property
    def per_token(self) -> float:
        """Seconds for each token after the first, the median over the requests that have several."""
        return median((s.finish - s.first) / (s.made - 1) for s in self.served if s.made > 1)

    @property
    def use(self) -> float:
        """The share of the reserved positions that hold a key and a value of an unfinished answer, over the time."""
        return sum(p.seconds * p.used for p in self.passes) / sum(p.seconds * p.reserved for p in self.passes)

    @property
    def batch(self) -> float:
        """Unfinished answers in a pass, over the time."""
        return sum(p.seconds * p.busy for p in self.passes) / sum(p.seconds for p in self.passes)


def draw_requests(number: int, rate: float | int, *, seed: int = 0) -> list[Request]:
    """Draw requests that arrive independently, many with short answers and few with long ones.

    Args:
        number: of requests.
        rate: a second.
        seed: the same seed gives the same prompts and answers at each rate.

    Returns:
        In the order of arrival; prompts of 16 to 256 tokens, evenly, answers of 1 to 1,024, an exponential
        distribution of mean 256 that ends there.
    """
    g = torch.Generator().manual_seed(seed)
    pause, prompt, answer = torch.rand(3, number, generator=g, dtype=torch.float64)
    arrivals = (-(1 - pause).log() / rate).cumsum(0).tolist()
    prompts = (16 + (prompt * 241).long()).tolist()
    answers = (1 + (-(1 - answer).log() * 256).long().clamp(max=1023)).tolist()
    return [Request(*one) for one in zip(arrivals, prompts, answers, strict=True)]


def simulate(
    requests: Sequence[Request],
    machine: Machine,
    *,
    continuous: bool = True,
    page: int | None = 16,
    limit: int = 2048,
    places: int | None = None,
) -> Report:
    """Serve all requests.

    Args:
        requests: in the order of arrival.
        machine: what a pass costs.
        continuous: whether sequences leave and enter between passes, or a batch is served to the end.
        page: positions of a page; ``None`` reserves ``limit`` contiguous positions for each sequence.
        limit: the most positions of a sequence.
        places: the most sequences of a batch; ``None`` leaves it to the memory.

    Returns:
        What each request and each pass took.

    Raises:
        ValueError: a request is longer than the limit, or the limit larger than the cache.
    """
    check_sizes(limit=limit, page=page or 1, places=places or 1)
    _check_requests(requests, machine, limit, page)
    server = _Server(machine, page, limit, places, continuous)
    served = [Served(request) for request in requests]
    waiting, running, clock, passes = deque(served), [], 0.0, []
    while waiting or running:
        new = server.admit(waiting, running, clock)
        if not running and not new:
            clock = max(clock, waiting[0].request.arrival)
            continue
        if new:
            rows = [one.request.prompt + one.made for one in new]
            for one, stored in zip(new, rows, strict=True):
                one.stored = stored
            running += new
            busy, seconds = new, machine.seconds(sum(rows), sum(n * n for n in rows), sum(rows))
        else:
            server.make_room(waiting, running)
            busy = [one for one in running if not one.done]
            for one in busy:
                one.stored += 1
            read = sum(one.stored for one in running)
            rows, seconds = [1] * len(running), machine.seconds(len(running), read, read)
        used = sum(one.stored for one in running if not one.done)
        passes.append(Pass(seconds, len(busy), len(rows), used, sum(map(server.reserved, running))))
        clock += seconds
        for one in busy:
            one.made += 1
            one.first = one.first if one.made > 1 else clock
            one.finish = clock
        if continuous or all(one.done for one in running):
            running = [one for one in running if not one.done]
    return Report(served, passes)


@dataclass(frozen=True)
class _Server:
    machine: Machine
    page: int | None
    limit: int
    places: int | None
    continuous: bool

    def reserved(self, one: Served, more: int = 0) -> int:
        """Count the positions that are kept for a sequence: all that it may ever need, or its pages."""
        if self.page is None:
            return self.limit
        return -(-(one.stored + more) // self.page) * self.page

    def admit(self, waiting: deque[Served], running: list[Served], clock: float) -> list[Served]:
        """Take those that have arrived from the queue, in order, while memory and places last."""
        new: list[Served] = []
        if running and not self.continuous:
            return new
        taken = sum(map(self.reserved, running))
        while waiting and waiting[0].request.arrival <= clock and len(running) + len(new) != self.places:
            need = self.reserved(waiting[0], waiting[0].request.prompt + waiting[0].made)
            if taken + need > self.machine.room:
                break
            taken += need
            new.append(waiting.popleft())
        return new

    def make_room(self, waiting: deque[Served], running: list[Served]) -> None:
        """Drop finished rows, then send back who was admitted last, until each of the others can grow by a position."""
        while sum(self.reserved(one, not one.done) for one in running) > self.machine.room:
            last = next((one for one in running if one.done), running[-1])
            running.remove(last)
            if not last.done:
                last.stored, last.evictions = 0, last.evictions + 1
                waiting.appendleft(last)


def _check_requests(requests: Sequence[Request], machine: Machine, limit: int, page: int | None) -> None:
    if not requests or any(a.arrival > b.arrival for a, b in pairwise(requests)):
        raise ValueError(f"a server gets requests in the order of arrival, at least one: got {len(requests)}. Sort.")
    longest = max(one.prompt + one.answer for one in requests)
    if longest > limit or -(-limit // (page or 1)) * (page or 1) > machine.room:
        raise ValueError(
            f"every request fits the limit, and the limit the cache: got a request of {longest} tokens, limit={limit} "
            f"and room for {machine.room}. Change the limit."
        )
