"""Time and memory measured so that the numbers can be trusted.

A time is taken on one thread, several times over, and told with its quartiles; two functions are compared by the ratio
of their times in one run, so that a machine that slows down slows both.

Made for this book. Chapter: book/complexity.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

import torch
from torch.autograd import profiler

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Quartiles:
    """Where the measured values lie: a quarter is below ``lower``, half below ``median``, a quarter above ``upper``.

    Args:
        lower: first quartile, in the unit of the values.
        median: second quartile.
        upper: third quartile.
        runs: number of values.
    """

    lower: float
    median: float
    upper: float
    runs: int

    @property
    def spread(self) -> float:
        """The distance between the outer quartiles, as a part of the median."""
        return (self.upper - self.lower) / self.median

    @classmethod
    def of(cls, values: Sequence[float]) -> "Quartiles":
        """Find the quartiles of at least three positive values.

        >>> Quartiles.of([4.0, 1.0, 2.0, 3.0, 5.0])
        Quartiles(lower=2.0, median=3.0, upper=4.0, runs=5)

        Raises:
            ValueError: there are fewer than three values, or one is not a positive number.
        """
        if len(values) < 3 or not all(math.isfinite(value) and value > 0 for value in values):
            raise ValueError(f"quartiles need at least three positive numbers: got {list(values)}. Measure more often.")
        lower, _, upper = quantiles(values, n=4, method="inclusive")
        return cls(lower, median(values), upper, len(values))

    def require_spread(self, limit: float = 0.25) -> "Quartiles":
        """Return these quartiles, or refuse them where they are too far apart to mean anything.

        Args:
            limit: the largest allowed :attr:`spread`.

        Raises:
            ValueError: the spread is above the limit.
        """
        if self.spread > limit:
            raise ValueError(
                f"the outer quartiles lie at most {limit:.0%} of the median apart: got {self.spread:.0%} in "
                f"{self.runs} runs ({self.lower:.4g} to {self.upper:.4g}). The machine is busy: stop other work, or "
                "measure more often."
            )
        return self


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread of the CPU inside the ``with`` block, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def time_call(function: Callable[[], object], device: torch.device | str = CPU) -> float:
    """Time one call, from its start to the end of the work that it started.

    Args:
        function: takes nothing; what it returns is freed after the clock has stopped.
        device: where the function computes; a GPU is waited for.

    Returns:
        The wall-clock time, in seconds.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    result = function()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elapsed = time.perf_counter() - start
    del result  # only now, so that freeing it is not timed
    return elapsed


def benchmark(
    function: Callable[[], object], *, runs: int = 7, warmup: int = 1, device: torch.device | str = CPU
) -> Quartiles:
    """Time a function on one thread, from its call to the end of the work that it started.

    Args:
        function: takes nothing; what it returns is dropped.
        runs: number of measured calls, at least 3.
        warmup: number of calls before the first measured one.
        device: where the function computes; a GPU is waited for.

    Returns:
        The quartiles of the wall-clock times, in seconds.

    Raises:
        ValueError: there are fewer than three runs.
    """
    _check_runs(runs, warmup)
    with one_thread():
        for _ in range(warmup):
            function()
        return Quartiles.of([time_call(function, torch.device(device)) for _ in range(runs)])


def time_ratio(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    runs: int = 7,
    warmup: int = 1,
    device: torch.device | str = CPU,
) -> list[float]:
    """Divide the time of one function by that of another, in rounds that run both, the first one changing.

    Args:
        ours: takes nothing; the numerator.
        theirs: takes nothing; the denominator.
        runs: number of rounds, at least 3.
        warmup: number of rounds before the first measured one.
        device: where the functions compute.

    Returns:
        One ratio a round; below 1 where ``ours`` is faster. ``Quartiles.of`` sums them up.

    Raises:
        ValueError: there are fewer than three runs.
    """
    _check_runs(runs, warmup)
    device, ratios = torch.device(device), []
    with one_thread():
        for turn in range(-warmup, runs):
            if turn % 2:
                first = time_call(ours, device)
                second = time_call(theirs, device)
            else:
                second = time_call(theirs, device)
                first = time_call(ours, device)
            ratios.append(first / second)
    return ratios[warmup:]


def peak_bytes(function: Callable[[], object], *, device: torch.device | str = CPU) -> int:
    """Measure how much more memory torch holds at the worst moment of a call than before it.

    On the CPU every allocation of torch's allocator counts, those inside an operator too; on CUDA what the caching
    allocator hands out does. What the function returns counts, since it is made during the call.

    >>> peak_bytes(lambda: torch.zeros(1000))
    4000

    Args:
        function: takes nothing.
        device: where the function computes.

    Returns:
        Bytes.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        function()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's library reads it first here; it chats on stderr
    with profiler.profile(profile_memory=True) as profile:
        result = function()
    del result
    changes = [event for event in profile.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for change in sorted(changes, key=lambda event: event.start_ns()):
        held += change.nbytes()
        peak = max(peak, held)
    return peak


def exponent(sizes: Sequence[float | int], values: Sequence[float | int]) -> float:
    r"""Fit :math:`v = c\,s^p` by least squares on the logarithms, and return :math:`p`.

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0

    Args:
        sizes: at least two different positive numbers.
        values: one positive number for each size.

    Returns:
        The slope of ``log(values)`` against ``log(sizes)``.

    Raises:
        ValueError: the lengths differ, the sizes are all the same, or a number is not positive.
    """
    if len(sizes) != len(values) or len(set(sizes)) < 2 or not all(number > 0 for number in (*sizes, *values)):
        raise ValueError(
            f"an exponent needs a positive value for each of at least two sizes: got sizes {list(sizes)} and values "
            f"{list(values)}."
        )
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return products / sum((a - x_mean) ** 2 for a in x)


def _check_runs(runs: int, warmup: int) -> None:
    if runs < 3 or warmup < 0:
        raise ValueError(f"a measurement has at least 3 runs and no negative warm-up: got {runs} and {warmup}.")
