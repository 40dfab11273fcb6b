"""A small network that answers from passages, from memory, or from both: 100 names, each with one of 50 values.

A passage says which value a name has, and is one vector: the sum of two embeddings. There are no positions, so the
order of the passages makes no difference.
"""

from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.encoder import Encoder, EncoderLayer
from companion.seeding import seeded

NAMES, VALUES = 100, 50
UNKNOWN = VALUES
"""The answer *I do not know*, one number above the values."""
WIDTH, STEPS, BATCH, RATE, MOST = 64, 1500, 128, 3e-3, 8
"""Of the network and its training; a training question has up to eight passages."""
MISSING = 0.25
"""Share of the questions without an answer among the passages, where *I do not know* is trained."""
TRAININGS = ("passages that agree", "passages that differ", "passages only", "passages, some without")
"""What the passages of the training say; the first two have questions without passages too, one batch in two."""
ANSWERS = ("passage", "memory", "another passage", "unknown")


class Asked(NamedTuple):
    """Questions with their passages.

    Args:
        name: what is asked, ``(batch)``.
        names: of the passages, ``(batch, passages)``.
        values: of the passages, ``(batch, passages)``.
    """

    name: Int[Tensor, " batch"]
    names: Int[Tensor, "batch passages"]
    values: Int[Tensor, "batch passages"]


def world(seed: int) -> Int[Tensor, " names"]:
    """Draw the value of each name: what is true when the network is trained.

    Args:
        seed: of the draw.

    Returns:
        ``(100)``.
    """
    return torch.randint(VALUES, (NAMES,), generator=torch.Generator().manual_seed(1000 + seed))


def drawn(batch: int, passages: int, generator: torch.Generator) -> Int[Tensor, "batch names"]:
    """Draw different names for each question: first the one that is asked for.

    Args:
        batch: questions.
        passages: of each.
        generator: of the draw.

    Returns:
        ``(batch, passages + 1)``.
    """
    return torch.rand((batch, NAMES), generator=generator).topk(passages + 1, dim=1).indices


class Reader(nn.Module):
    """Two layers without positions over the passages and the question.

    Args:
        seed: of the initial parameters.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        with seeded(seed):
            self.name, self.value = nn.Embedding(NAMES, WIDTH), nn.Embedding(VALUES, WIDTH)
            self.question = nn.Parameter(0.3 * torch.randn(WIDTH))
            for table in (self.name, self.value):
                nn.init.normal_(table.weight, std=0.3)
            choices = {"norm_placement": "pre", "activation": "gelu", "dropout": 0.0}
            layers = [EncoderLayer(WIDTH, 4, 4 * WIDTH, **choices) for _ in range(2)]
            self.stack = Encoder(layers, nn.LayerNorm(WIDTH))
            self.answer = nn.Linear(WIDTH, VALUES + 1)

    def forward(self, asked: Asked) -> Float[Tensor, "batch answers"]:
        """Score the 50 values, and *I do not know*.

        Args:
            asked: questions and passages.

        Returns:
            ``(batch, 51)``.
        """
        passages = self.name(asked.names) + self.value(asked.values)
        question = (self.name(asked.name) + self.question)[:, None]
        return self.answer(self.stack(torch.cat([passages, question], dim=1))[:, -1])


def examples(training: str, seed: int, generator: torch.Generator) -> tuple[Asked, Int[Tensor, " batch"]]:
    """Draw a batch of training questions with their answers.

    Args:
        training: one of ``TRAININGS``.
        seed: of the world.
        generator: of the draw.

    Returns:
        Questions, and the right answers.
    """
    true, both = world(seed), training in TRAININGS[:2]
    passages = int(torch.randint(1, MOST + 1, (), generator=generator))
    names = drawn(BATCH, passages, generator)
    if both and torch.rand((), generator=generator) < 0.5:
        return Asked(names[:, 0], names[:, :0], names[:, :0]), true[names[:, 0]]
    values = torch.randint(VALUES, names.shape, generator=generator)
    if training == TRAININGS[0]:
        values = true[names]
    held, told, right = names[:, :-1].clone(), values[:, :-1].clone(), values[:, 0].clone()
    if training == TRAININGS[3]:
        missing = torch.rand(BATCH, generator=generator) < MISSING
        held[missing], told[missing], right[missing] = names[missing, 1:], values[missing, 1:], UNKNOWN
    return Asked(names[:, 0], held, told), right


@cache
@torch.enable_grad()
def trained(seed: int, training: str) -> Reader:
    """Train a reader.

    Args:
        seed: of the parameters, the world and the questions.
        training: one of ``TRAININGS``.

    Returns:
        The network after 1,500 steps.
    """
    model, generator = Reader(seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, STEPS, pct_start=0.1)
    for _ in range(STEPS):
        asked, right = examples(training, seed, generator)
        loss = F.cross_entropy(model(asked), right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@cache
@torch.no_grad()
def answered(seed: int, training: str, passages: int, found: bool) -> dict[str, float]:
    """Ask 4,000 questions of a world that has changed: the passages say other values than the network learned.

    Args:
        seed: of the reader.
        training: one of ``TRAININGS``.
        passages: given with a question; 0 asks from memory.
        found: whether one of them is about the name that is asked for.

    Returns:
        For each of ``ANSWERS`` the percentage of the questions. What agrees with several counts for the first.
    """
    generator = torch.Generator().manual_seed(seed + 77)
    names, true = drawn(4000, passages, generator), world(seed)
    values = torch.randint(VALUES - 1, names.shape, generator=generator)
    values += values >= true[names]  # any value but the one that was learned
    held = (names[:, :-1], values[:, :-1]) if found else (names[:, 1:], values[:, 1:])
    given = trained(seed, training)(Asked(names[:, 0], *held)).argmax(-1)
    hits = {
        "passage": (given == values[:, 0]) & (passages > 0) & found,
        "memory": given == true[names[:, 0]],
        "another passage": (given[:, None] == held[1]).any(1),
        "unknown": given == UNKNOWN,
    }
    shares, left = {}, torch.ones_like(given, dtype=torch.bool)
    for kind in ANSWERS:
        shares[kind] = 100 * (hits[kind] & left).double().mean().item()
        left &= ~hits[kind]
    return shares


def share(seed: int, training: str, passages: int, found: bool, answer: str) -> float:
    """Return one percentage of :func:`answered`.

    Args:
        seed: of the reader.
        training: one of ``TRAININGS``.
        passages: given with a question.
        found: whether one of them answers it.
        answer: one of ``ANSWERS``.

    Returns:
        The percentage.
    """
    return answered(seed, training, passages, found)[answer]
