"""Small decoders that differ only in how a layer mixes positions, trained to recall, to copy and to remember."""

from itertools import product

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from companion import masks
from companion.attention import attention
from companion.efficient import linear_attention
from companion.efficient.patterns import fixed
from companion.efficient.random_features import positive_features, random_directions
from companion.efficient.states import gated_delta_rule
from companion.measure import Experiment
from companion.seeding import seeded

WIDTH, HIDDEN, LONGEST = 32, 64, 64
WINDOW, FEATURES, CELLS = 8, 64, 18
"""Positions in a window, and from one global position to the next; random features; cells of the LSTM."""
SOFTMAX = ("full", "window", "window and global")
STATES = ("linear", "Performer", "gated delta rule", "LSTM")
KINDS = (*SOFTMAX, *STATES, "window, then full", "gated delta rule, then full")
"""A comma separates the first layer from the second, where they differ."""
KEYS, VALUES = 32, 8
MARK, ASK = KEYS + VALUES, KEYS + VALUES + 1
"""Symbols: values first, then keys, then one that marks and one that asks."""
PAIRS, COPIED = 16, 24
TASKS = ("recall", "copy", "remember")
SMALLER = (4, 8, 16)
"""Widths of queries and keys for smaller states."""


def seen(kind: str, t: int) -> Bool[Tensor, "t t"]:
    """Say which positions a layer with a softmax lets each position see.

    Args:
        kind: one of ``SOFTMAX``. With ``"window and global"``, all later positions see every eighth, and a position
            sees its own segment of eight as well.
        t: number of positions.

    Returns:
        ``(t, t)``, causal.
    """
    if kind == "full":
        return masks.causal(t)
    near = masks.window(t, WINDOW)
    return near if kind == "window" else near | fixed(t, WINDOW)


class Mixer(nn.Module):
    """Mix positions in one of the ways of ``KINDS``, after a short causal convolution.

    Args:
        kind: without a comma.
        d_k: width of queries and keys. A state is ``d_k`` by the width of the model.
    """

    def __init__(self, kind: str, d_k: int) -> None:
        super().__init__()
        self.kind, self.d_k = kind, d_k
        self.near = nn.Conv1d(WIDTH, WIDTH, 4, groups=WIDTH)
        if kind == "LSTM":
            self.lstm, self.out = nn.LSTM(WIDTH, CELLS, batch_first=True), nn.Linear(CELLS, WIDTH, bias=False)
            return
        self.project, self.out = nn.Linear(WIDTH, 2 * d_k + WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        if kind == "gated delta rule":
            self.gates = nn.Linear(WIDTH, 2)
            with torch.no_grad():
                self.gates.bias.copy_(torch.tensor([4.0, 0.0]))  # keep 98% at each position, correct by half
        directions = random_directions(FEATURES, d_k, torch.Generator().manual_seed(0))
        self.register_buffer("directions", directions.float(), persistent=False)

    def forward(self, x: Float[Tensor, "batch t d"]) -> Float[Tensor, "batch t d"]:
        """Mix: the output at a position depends on it and on those before."""
        x = x + F.silu(self.near(F.pad(x.mT, (3, 0))).mT)
        if self.kind == "LSTM":
            return self.out(self.lstm(x)[0])
        query, key, value = self.project(x).split([self.d_k, self.d_k, WIDTH], dim=-1)
        if self.kind in SOFTMAX:
            return self.out(attention(query, key, value, seen(self.kind, x.shape[1])))
        if self.kind == "linear":
            return self.out(linear_attention(query, key, value, causal=True, chunk=x.shape[1]))
        if self.kind == "Performer":
            query, key = (positive_features(y / self.d_k**0.25, self.directions) for y in (query, key))
            weights = (query @ key.mT).tril()
            return self.out(weights @ value / (weights.sum(dim=-1, keepdim=True) + 1e-6))
        query, key, gates = F.normalize(query, dim=-1), F.normalize(key, dim=-1), self.gates(x)
        read = gated_delta_rule(query, key, value, gates[..., 1].sigmoid(), F.logsigmoid(gates[..., 0]))
        return self.out(F.rms_norm(read, (WIDTH,), eps=1e-6))


class Decoder(nn.Module):
    """Two pre-norm layers, each a mixer and a feed-forward network, and a learned table of positions.

    Args:
        kind: one of ``KINDS``.
        d_k: width of queries and keys.
    """

    def __init__(self, kind: str, d_k: int = WIDTH) -> None:
        super().__init__()
        self.symbol, self.position = nn.Embedding(ASK + 1, WIDTH), nn.Embedding(LONGEST, WIDTH)
        nn.init.normal_(self.position.weight, std=0.1)
        self.mixers = nn.ModuleList(Mixer(one, d_k) for one in layers(kind))
        self.networks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(5))
        self.scores = nn.Linear(WIDTH, VALUES)

    def forward(self, x: Int[Tensor, "batch t"]) -> Float[Tensor, "batch t values"]:
        """Return a score for each value at each position."""
        h = self.symbol(x) + self.position.weight[: x.shape[1]]
        for i, (mixer, network) in enumerate(zip(self.mixers, self.networks, strict=True)):
            h = h + mixer(self.norms[2 * i](h))
            h = h + network(self.norms[2 * i + 1](h))
        return self.scores(self.norms[-1](h))


def layers(kind: str) -> tuple[str, str]:
    """Name the mixers of the two layers.

    >>> layers("window, then full"), layers("linear")
    (('window', 'full'), ('linear', 'linear'))
    """
    first, _, last = kind.partition(", then ")
    return first, last or first


def held(kind: str, n: int, d_k: int = WIDTH) -> int:
    """Count the numbers that both layers keep of ``n`` positions, beside three inputs of the convolution.

    Args:
        kind: one of ``KINDS``.
        n: positions so far, a multiple of the window.
        d_k: width of queries and keys.

    Returns:
        Numbers: keys and values, or a state.
    """
    keys = _keys(n)
    states = {
        "linear": d_k * (WIDTH + 1),
        "Performer": FEATURES * (WIDTH + 1),
        "gated delta rule": d_k * WIDTH,
        "LSTM": 2 * CELLS,
    }
    return sum(states[one] if one in states else keys[one] * (d_k + WIDTH) for one in layers(kind))


def flops(kind: str, n: int, d_k: int = WIDTH) -> int:
    """Count the FLOPs of both layers for one more token, those that combine it with what is held.

    Args:
        kind: one of ``KINDS``.
        n: positions so far, a multiple of the window.
        d_k: width of queries and keys.

    Returns:
        Two for each multiplication and addition, softmax and normaliser left out. Projections count where they make
        random features.
    """
    keys = _keys(n)
    states = {
        "linear": 4 * d_k * (WIDTH + 1),  # add an outer product, read
        "Performer": 4 * FEATURES * d_k + 4 * FEATURES * (WIDTH + 1),
        "gated delta rule": 7 * d_k * WIDTH,  # decay, read the old value, add, read
        "LSTM": 8 * CELLS**2,
    }
    return sum(states[one] if one in states else 2 * keys[one] * (d_k + WIDTH) for one in layers(kind))


def _keys(n: int) -> dict[str, int]:
    near = min(n, WINDOW)
    return {"full": n, "window": near, "window and global": near + n // WINDOW - 1}


def examples(
    task: str, batch: int, generator: torch.Generator
) -> tuple[Int[Tensor, "batch t"], Int[Tensor, "batch asked"]]:
    """Draw sequences whose last symbols ask, and the values to be answered there.

    Args:
        task: ``"recall"``: 16 keys, each with a value, then the keys again in another order. ``"copy"``: 24 values,
            then the same again, each asked for at the symbol before it. ``"remember"``: a mark and a value among the
            first nine of 60 symbols, the others at random; then four symbols that ask for that value.
        batch: number of sequences.
        generator: of the draws.

    Returns:
        The symbols, and the answers at the last positions.
    """
    values = torch.randint(VALUES, (batch, LONGEST), generator=generator)
    if task == "recall":
        keys = VALUES + torch.rand(batch, KEYS, generator=generator).argsort(dim=-1)[:, :PAIRS]
        order = torch.rand(batch, PAIRS, generator=generator).argsort(dim=-1)
        pairs = torch.stack([keys, values[:, :PAIRS]], dim=-1).flatten(1)
        return torch.cat([pairs, keys.gather(1, order)], dim=1), values.gather(1, order)
    if task == "copy":
        values = values[:, :COPIED]
        return torch.cat([values, torch.full((batch, 1), ASK), values[:, :-1]], dim=1), values
    place = torch.randint(8, (batch, 1), generator=generator)
    x = values.scatter(1, place, MARK)
    x[:, -4:] = ASK
    return x, values.gather(1, place + 1).expand(-1, 4)


def share_right(seed: int, kind: str, task: str, d_k: int = WIDTH, steps: int = 800) -> float:
    """Train a decoder by Adam, 16 sequences a step, and test it on 512 others.

    The learning rate rises to 0.01 in a tenth of the steps and falls.

    Args:
        seed: of the initial parameters and of the sequences.
        kind: one of ``KINDS``.
        task: one of ``TASKS``.
        d_k: width of queries and keys.
        steps: of the training.

    Returns:
        The share of right answers; guessing gives 1/8.
    """
    with seeded(seed):
        model = Decoder(kind, d_k)
    generator, adam = torch.Generator().manual_seed(seed), torch.optim.Adam(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, 1e-2, steps, pct_start=0.1)
    for _ in range(steps):
        x, wanted = examples(task, 16, generator)
        loss = F.cross_entropy(model(x)[:, -wanted.shape[1] :].mT, wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    x, wanted = examples(task, 512, torch.Generator().manual_seed(99))
    with torch.no_grad():
        return (model(x)[:, -wanted.shape[1] :].argmax(dim=-1) == wanted).double().mean().item()


WHICH_ONE = [
    Experiment("which one, share right", "share", share_right, {"kind": kind, "task": task}, "median")
    for kind, task in product(KINDS, TASKS)
] + [
    Experiment(
        "which one, smaller states",
        "share",
        share_right,
        {"kind": "gated delta rule", "task": "recall", "d_k": d_k},
        "median",
    )
    for d_k in SMALLER
]
"""The plan: each kind on each task, and states of less width on recall."""
