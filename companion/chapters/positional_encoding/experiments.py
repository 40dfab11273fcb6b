"""What the chapter's pages read from measurements/positional-encoding: schemes of positions on longer sequences."""

from functools import cache
from itertools import product

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from companion.config import ModelConfig
from companion.measure import Experiment
from companion.transformer import DecoderOnly

SYMBOLS, TRAINED, TESTED = 8, 32, 128
SCHEMES = ("none", "sinusoidal", "learned", "transformer-xl", "t5", "alibi", "rope")
STEPS = {"lookup": (300, 3000), "echo": (150, 1500)}
STRETCHES = {"16–31": (16, 32), "32–47": (32, 48), "48–63": (48, 64), "64–95": (64, 96), "96–127": (96, 128)}
"""Positions whose results are averaged: the first stretch lies in the trained length, the others lie beyond it."""


def lookup(generator: torch.Generator, batch: int, t: int) -> tuple[Tensor, Tensor]:
    """Draw sequences of symbols; wanted at each position is the symbol three positions before.

    Args:
        generator: of the draws.
        batch: number of sequences.
        t: their length.

    Returns:
        The symbols and the targets, both ``(batch, t)``; the first three targets are -100, which the loss ignores.
    """
    x = torch.randint(SYMBOLS, (batch, t), generator=generator)
    y = x.roll(3, 1)
    y[:, :3] = -100
    return x, y


def echo(generator: torch.Generator, batch: int, t: int) -> tuple[Tensor, Tensor]:
    """Draw sequences in which a symbol repeats an earlier one, most often a near one; wanted is the next symbol.

    The source lies ``n`` positions back with probability ``2**-n``; one time in ten, and where there is no such
    position, the symbol is random.

    Args:
        generator: of the draws.
        batch: number of sequences.
        t: their length.

    Returns:
        The symbols and the next symbols, both ``(batch, t)``.
    """
    x = torch.randint(SYMBOLS, (batch, t + 1), generator=generator)
    back = torch.empty(batch, t + 1).geometric_(0.5, generator=generator).long()
    fresh = torch.rand(batch, t + 1, generator=generator) < 0.1
    for p in range(1, t + 1):
        source = x.gather(1, (p - back[:, p : p + 1]).clamp(min=0))[:, 0]
        x[:, p] = torch.where(fresh[:, p] | (back[:, p] > p), x[:, p], source)
    return x[:, :-1], x[:, 1:]


def best_echo_loss() -> Float[Tensor, " 128"]:
    """Compute the loss, on the test sequences of the echo, of the rule that drew them: no model is better on average.

    Returns:
        The mean loss for each position, in nats, ``(128,)``.
    """
    x, y = echo(torch.Generator().manual_seed(99), 96, TESTED)
    symbols, losses = torch.cat([x, y[:, -1:]], dim=1), []
    for p in range(1, TESTED + 1):
        chance = 0.9 * 0.5 ** torch.arange(1, p + 1).double()  # that the source lies 1, 2, ... positions back
        rest = (1 - chance.sum()) / SYMBOLS  # a random symbol: one time in ten, or where no source is so far back
        probability = torch.full((len(symbols), SYMBOLS), rest.item(), dtype=torch.float64)
        probability.scatter_add_(1, symbols[:, :p].flip(1), chance.expand(len(symbols), p))
        losses.append(-probability.gather(1, symbols[:, p : p + 1]).log().mean())
    return torch.stack(losses)


def train(task: str, scheme: str, seed: int, steps: int) -> DecoderOnly:
    """Train a decoder of two layers, width 32 and four heads on sequences of 32 symbols, 16 of them a step.

    Args:
        task: ``"lookup"`` or ``"echo"``.
        scheme: of positions, one of ``SCHEMES``.
        seed: of the initial parameters and of the sequences.
        steps: of Adam, with a learning rate that rises to 0.01 and falls.

    Returns:
        The model, in evaluation mode.
    """
    sizes = {"vocab": SYMBOLS, "d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 64}
    config = ModelConfig(**sizes, dropout=0.0, max_len=TESTED, norm_placement="pre", position=scheme, tied=False)
    model = DecoderOnly(config, seed=seed).train()
    adam = torch.optim.Adam(model.parameters(), fused=True)
    rate = torch.optim.lr_scheduler.OneCycleLR(adam, 1e-2, steps, pct_start=0.2)
    draw, generator = {"lookup": lookup, "echo": echo}[task], torch.Generator().manual_seed(seed)
    for _ in range(steps):
        x, y = draw(generator, 16, TRAINED)
        loss = F.cross_entropy(model(x).mT, y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        rate.step()
    return model.eval()


@cache
def by_position(task: str, scheme: str, seed: int, steps: int) -> Tensor:
    """Train a model and test it on 96 sequences of 128 symbols.

    Args:
        task: ``"lookup"`` or ``"echo"``.
        scheme: of positions.
        seed: of the training.
        steps: of the training.

    Returns:
        For each position the share of right answers (lookup) or the mean loss in nats (echo), ``(128,)``.
    """
    model = train(task, scheme, seed, steps)
    x, y = {"lookup": lookup, "echo": echo}[task](torch.Generator().manual_seed(99), 96, TESTED)
    with torch.no_grad():
        logits = model(x)
    if task == "lookup":
        return (logits.argmax(-1) == y).double().mean(0)
    return F.cross_entropy(logits.mT, y, reduction="none").double().mean(0)


def tested(seed: int, task: str, scheme: str, steps: int, positions: str) -> float:
    """Train a model, and test it at some positions.

    Args:
        seed: of the training.
        task: ``"lookup"`` or ``"echo"``.
        scheme: of positions.
        steps: of the training.
        positions: one of ``STRETCHES``.

    Returns:
        The mean of ``by_position`` over these positions.
    """
    first, end = STRETCHES[positions]
    return by_position(task, scheme, seed, steps)[first:end].mean().item()


EXPERIMENTS = [
    Experiment(
        {"lookup": "lookup, share right", "echo": "echo, loss"}[task],
        {"lookup": "share", "echo": "nats"}[task],
        tested,
        {"task": task, "scheme": scheme, "steps": steps, "positions": positions},
        "median",
    )
    for task in STEPS
    for steps, scheme, positions in product(STEPS[task], SCHEMES, STRETCHES)
]
