"""Parity and brackets by length: answered at once, or after steps that are written down.

Chapter: book/theory/what-depth-limits.
"""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.measure import Experiment
from companion.seeding import seeded
from companion.transformer import DecoderOnly

EQUALS = 4
"""The token that asks for the answer; bits are 0 and 1, brackets 0 and 1 when they open, 2 and 3 when they close."""
STEPS, BATCH, EVERY, HELD, RATE = 1000, 32, 50, 512, 2e-3
"""Of training, which stops earlier where all of 512 fresh sequences are right."""
TOLD_EACH = ("attention, told each", "recurrence, told each")
"""Networks whose training has the parity of each beginning as a target, not only that of the whole."""
LENGTHS = {"parity": (4, 8, 16, 32), "brackets": (7, 15, 31)}


def parity(count: int, n: int, generator: torch.Generator) -> tuple[Int[Tensor, "count t"], Int[Tensor, "count n"]]:
    """Draw strings of bits.

    Args:
        count: of strings.
        n: bits of each.
        generator: of the bits.

    Returns:
        Bits and the sign of equality ``(count, n + 1)``; and whether the ones up to each bit are odd in number.
    """
    bits = torch.randint(2, (count, n), generator=generator)
    return F.pad(bits, (0, 1), value=EQUALS), bits.cumsum(1) % 2


def brackets(count: int, n: int, generator: torch.Generator) -> tuple[Int[Tensor, "count t"], Int[Tensor, "count 1"]]:
    """Draw beginnings of balanced strings of two kinds of brackets.

    Args:
        count: of strings.
        n: brackets of each, an odd number, so that one is open at the end.
        generator: of the brackets.

    Returns:
        Brackets and the sign of equality ``(count, n + 1)``; and the kind of the innermost open bracket.
    """
    depth, stack, row = torch.zeros(count, dtype=torch.long), torch.zeros(count, n + 1).long(), torch.arange(count)
    written = []
    for _ in range(n):
        opens = (torch.rand(count, generator=generator) < 0.5) | (depth == 0)
        kind = torch.where(opens, torch.randint(2, (count,), generator=generator), stack[row, depth - 1])
        stack[row[opens], depth[opens]] = kind[opens]
        depth = depth + 2 * opens - 1
        written.append(kind + 2 * ~opens)
    return F.pad(torch.stack(written, 1), (0, 1), value=EQUALS), stack[row, depth - 1][:, None]


class Recurrence(nn.Module):
    """An LSTM with an embedding and an output layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(EQUALS + 1, 32), nn.LSTM(32, 32, batch_first=True)
        self.output = nn.Linear(32, EQUALS + 1)

    def forward(self, tokens: Int[Tensor, "batch t"]) -> Float[Tensor, "batch t vocab"]:
        """Predict after each token: logits ``(batch, t, vocab)``."""
        return self.output(self.lstm(self.embedding(tokens))[0])


def network(kind: str, n: int, seed: int) -> nn.Module:
    """Make an untrained network.

    Args:
        kind: ``"recurrence"``, told the last answer or each, or a decoder of two layers with learned positions.
        n: length of the strings.
        seed: of the initial parameters.

    Returns:
        From tokens to logits.
    """
    if kind.startswith("recurrence"):
        with seeded(seed):
            return Recurrence()
    sizes = {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 128, "dropout": 0.0, "max_len": 2 * n + 1}
    kinds = {"position": "learned", "norm_placement": "pre", "scale_embedding": False, "tied": False}
    return DecoderOnly(ModelConfig(vocab=EQUALS + 1, **sizes, **kinds), seed=seed)


def write(
    model: nn.Module, tokens: Int[Tensor, "count t"], steps: int
) -> tuple[Int[Tensor, "count t_long"], Int[Tensor, " count"]]:
    """Let a model write steps, each the most probable token, which it then reads.

    Args:
        model: from tokens to logits.
        tokens: what it reads at first.
        steps: tokens to write.

    Returns:
        All tokens ``(count, t + steps)``; and the last of them, the answer.
    """
    with torch.no_grad():
        for _ in range(steps):
            tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], dim=1)
    return tokens, tokens[:, -1]


def _training_pair(tokens: Tensor, wanted: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    if kind == "attention, in steps":
        return torch.cat([tokens, wanted[:, :-1]], dim=1), wanted
    if kind in TOLD_EACH:
        return tokens[:, :-1], wanted  # an answer for each bit, none after the sign of equality
    return tokens, wanted[:, -1:]


@cache
def trained(task: str, kind: str, n: int, seed: int) -> tuple[nn.Module, int]:
    """Train a network on strings of one length, until all of 512 fresh ones are right or for 1,000 steps.

    Args:
        task: ``"parity"`` or ``"brackets"``.
        kind: ``"attention"``, ``"recurrence"``, ``"attention, in steps"``, which writes the parity of each beginning,
            or one of ``TOLD_EACH``, which are told that parity while they read.
        n: length of the strings.
        seed: of initial parameters and strings.

    Returns:
        The network, and the steps of training that it took.
    """
    draw = {"parity": parity, "brackets": brackets}[task]
    model, generator = network(kind, n, seed), torch.Generator().manual_seed(seed)
    adam, step = torch.optim.Adam(model.parameters(), RATE, fused=True), 0
    for step in range(1, STEPS + 1):
        inputs, targets = _training_pair(*draw(BATCH, n, generator), kind)
        loss = F.cross_entropy(model(inputs)[:, -targets.shape[1] :].mT, targets)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if step % EVERY == 0:
            with torch.no_grad():
                inputs, targets = _training_pair(*draw(HELD, n, generator), kind)
                if (model(inputs)[:, -targets.shape[1] :].argmax(-1) == targets).all():
                    break
    return model, step


def share_right(seed: int, task: str, kind: str, n: int) -> float:
    """Count right answers on 512 fresh strings, the model writing its own steps.

    Args:
        seed: of the run.
        task: as in :func:`trained`.
        kind: as in :func:`trained`.
        n: length of the strings.

    Returns:
        From 0 to 1.
    """
    model, _ = trained(task, kind, n, seed)
    draw = {"parity": parity, "brackets": brackets}[task]
    tokens, wanted = draw(HELD, n, torch.Generator().manual_seed(10**6 + seed))
    tokens = tokens[:, :-1] if kind in TOLD_EACH else tokens
    _, answer = write(model, tokens, n if "steps" in kind else 1)
    return (answer == wanted[:, -1]).float().mean().item()


def steps_taken(seed: int, task: str, kind: str, n: int) -> float:
    """Tell after how many steps the training stopped.

    Args:
        seed: of the run.
        task: as in :func:`trained`.
        kind: as in :func:`trained`.
        n: length of the strings.

    Returns:
        At most 1,000.
    """
    return float(trained(task, kind, n, seed)[1])


RUNS = [
    *({"task": "parity", "kind": kind, "n": n} for kind in ("attention", "recurrence") for n in LENGTHS["parity"]),
    *(
        {"task": "parity", "kind": kind, "n": n}
        for kind in ("attention, in steps", *TOLD_EACH)
        for n in LENGTHS["parity"]
    ),
    *({"task": "brackets", "kind": kind, "n": n} for kind in ("attention", "recurrence") for n in LENGTHS["brackets"]),
]
PARITY = [
    experiment
    for run in RUNS
    for experiment in (
        Experiment("by length, share right", "share", share_right, run, "median"),
        Experiment("by length, steps of training", "steps", steps_taken, run, "median"),
    )
]
"""The plan: two tasks by length; for parity also with steps, or with an answer for each bit."""
