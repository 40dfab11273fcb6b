"""The small translator of the chapter, with the choices that the figure "Train it here" offers, and its draws.

First parameters and batches come from a hash that PyTorch and JavaScript compute alike, so a run here and a run in a
browser with the same seed are the same up to rounding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion import masks, tasks
from companion.attention import attention_weights

WIDTH, BATCH, STEPS, WARMUP = 48, 64, 400, 100
LONGEST = 8
"""French words of a sentence, with its end mark."""
STREAM = 2**20
"""Draws of one seed: the first half is for parameters, the second for batches."""


@dataclass(frozen=True)
class Recipe:
    """What the reader of the figure may switch.

    Args:
        scale: whether scores are divided by the root of the width.
        causal: whether the decoder's self-attention hides later words.
        warmup: whether the learning rate rises to its value over the first 100 steps.
        rate: the learning rate of Adam.
    """

    scale: bool = True
    causal: bool = True
    warmup: bool = False
    rate: float = 0.005

    def rate_at(self, step: int) -> float:
        """Give the learning rate of a step, the first being 0."""
        return self.rate * min(1.0, (step + 1) / WARMUP) if self.warmup else self.rate


@dataclass(frozen=True)
class Data:
    """The sentences of the chapter as numbers: English, French after the start mark, and French before the end mark."""

    english: list[str] = field(repr=False)
    french: list[str] = field(repr=False)
    train: tuple[Tensor, Tensor, Tensor] = field(repr=False)
    test: tuple[Tensor, Tensor, Tensor] = field(repr=False)


@cache
def sentences() -> tuple[list[tasks.Pair], list[tasks.Pair]]:
    """Draw the sentence pairs of the chapter: 2,500 to train on, and 300 to test."""
    return tasks.english_french(train=2500, test=300)


@cache
def data() -> Data:
    """Encode the sentences."""
    train, test = sentences()
    english, french = (tasks.vocabulary(pair[side] for pair in train + test) for side in (0, 1))
    return Data(english, french, *(_encode(pairs, english, french) for pairs in (train, test)))


def encode(pairs: Sequence[tasks.Pair]) -> tuple[Int[Tensor, "n s"], Int[Tensor, "n t"], Int[Tensor, "n t"]]:
    """Encode sentence pairs, as :func:`data` does: the English, the French shown and the French wanted.

    Args:
        pairs: English and French words.

    Returns:
        Numbers of words ``(n, s)``, ``(n, t)`` and ``(n, t)``, 0 for padding.
    """
    return _encode(pairs, data().english, data().french)


def _encode(pairs: Sequence[tasks.Pair], english: list[str], french: list[str]) -> tuple[Tensor, Tensor, Tensor]:
    return (
        tasks.encode([en for en, _ in pairs], english),
        tasks.encode([[tasks.START, *fr] for _, fr in pairs], french),
        tasks.encode([[*fr, tasks.END] for _, fr in pairs], french),
    )


def uniform(first: int, count: int) -> Float[Tensor, " n"]:
    """Give draws from ``first`` on, between 0 and 1: always the same, of the integer hash lowbias32.

    Args:
        first: number of the first draw.
        count: of draws.

    Returns:
        The draws ``(count,)``.
    """
    a = torch.arange(first + 1, first + count + 1)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        a = ((a ^ (a >> shift)) * factor) & 0xFFFFFFFF
    return ((a ^ (a >> 16)).double() + 0.5) / 2**32


def normal(first: int, count: int) -> Float[Tensor, " n"]:
    """Give standard normal numbers, each of two draws (Box and Muller).

    Args:
        first: number of the first draw.
        count: of normal numbers.

    Returns:
        The numbers ``(count,)``.
    """
    u = uniform(first, 2 * count)
    return (-2 * u[::2].log()).sqrt() * (2 * math.pi * u[1::2]).cos()


class Translator(nn.Module):
    """The network of the chapter's page: embeddings, causal self-attention, cross-attention, an output matrix.

    Args:
        seed: of the first parameters.
        recipe: scale and causal mask.
    """

    def __init__(self, seed: int, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        d, french = WIDTH, len(data().french)
        self.english, self.french = nn.Embedding(len(data().english), d), nn.Embedding(french, d)
        self.position_en, self.position_fr = nn.Embedding(7, d), nn.Embedding(LONGEST, d)
        self.own, self.cross = (nn.ModuleDict({name: nn.Linear(d, d, bias=False) for name in "qkv"}) for _ in range(2))
        self.output = nn.Linear(d, french, bias=False)
        self.double().set_flat(normal(seed * STREAM, sum(p.numel() for p in self.parameters())) * d**-0.5)

    def flat(self, *, gradients: bool = False) -> Float[Tensor, " n"]:
        """Give all parameters, or their gradients, in a row."""
        return torch.cat([(p.grad if gradients else p.detach()).flatten() for p in self.parameters()])

    def set_flat(self, values: Float[Tensor, " n"]) -> None:
        """Set all parameters from a row."""
        nn.utils.vector_to_parameters(values, self.parameters())

    def forward(
        self, source: Int[Tensor, "n s"], shown: Int[Tensor, "n t"]
    ) -> tuple[Float[Tensor, "n t words"], Float[Tensor, "n t s"]]:
        """Score each next French word; also give the weights of the cross-attention.

        Args:
            source: English words ``(n, s)``, 0 for padding.
            shown: French words so far ``(n, t)``, after the start mark.

        Returns:
            Scores ``(n, t, words)`` and weights ``(n, t, s)``.
        """
        scale = WIDTH**-0.5 if self.recipe.scale else 1.0
        x = self.english(source) + self.position_en.weight[: source.shape[1]]
        y = self.french(shown) + self.position_fr.weight[: shown.shape[1]]
        mask = masks.causal(shown.shape[1]) if self.recipe.causal else None
        weights = attention_weights(self.own["q"](y), self.own["k"](y), mask, scale=scale)
        y = y + weights @ self.own["v"](y)
        real = (source > 0)[:, None]
        weights = attention_weights(self.cross["q"](y), self.cross["k"](x), real, scale=scale)
        return self.output(y + weights @ self.cross["v"](x)), weights


@dataclass
class Run:
    """A run of the training: its model and its losses so far."""

    seed: int
    recipe: Recipe
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = Translator(self.seed, self.recipe)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=self.recipe.rate)

    def rows(self, step: int) -> Int[Tensor, " batch"]:
        """Draw the sentences of a step."""
        draws = uniform(self.seed * STREAM + STREAM // 2 + step * BATCH, BATCH)
        return (draws * len(data().train[0])).long()

    def step(self) -> None:
        """Train on one batch."""
        source, shown, wanted = (part[self.rows(len(self.losses))] for part in data().train)
        self.adam.param_groups[0]["lr"] = self.recipe.rate_at(len(self.losses))
        loss = F.cross_entropy(self.model(source, shown)[0].mT, wanted, ignore_index=0)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.losses.append(loss.item())


@cache
def trained(seed: int, recipe: Recipe, steps: int = STEPS) -> Run:
    """Train a translator.

    Args:
        seed: of first parameters and batches.
        recipe: the switches.
        steps: of Adam.

    Returns:
        The run, with its model.
    """
    run = Run(seed, recipe)
    for _ in range(steps):
        run.step()
    return run


@torch.no_grad()
def words_wrong(model: Translator) -> int:
    """Count the wrong words in the test sentences, given the right words before each (teacher forcing)."""
    source, shown, wanted = data().test
    return int(((model(source, shown)[0].argmax(dim=-1) != wanted) & (wanted > 0)).sum())


@torch.no_grad()
def beyond_first_word(model: Translator, articles: Sequence[str]) -> float:
    """Give the share of a first article's cross-attention that lies on all English words but the first, *the* or *a*.

    Args:
        model: the translator.
        articles: with which the French sentences begin that are looked at.

    Returns:
        The mean over these test sentences, in percent.
    """
    source, shown, _ = data().test
    rows = torch.tensor([french[0] in articles for _, french in sentences()[1]])
    return 100 * model(source, shown)[1][rows, 0, 1:].sum(dim=-1).mean().item()


@torch.no_grad()
def generate(model: Translator, source: Int[Tensor, "n s"]) -> Int[Tensor, "n t"]:
    """Translate by the largest score at each step, from the start mark and what the model itself has generated.

    Args:
        model: the translator.
        source: English words ``(n, s)``.

    Returns:
        French words ``(n, t)``, with whatever follows the end mark.
    """
    start = data().french.index(tasks.START)
    found = torch.full((len(source), 1), start)
    for _ in range(LONGEST):
        found = torch.cat([found, model(source, found)[0][:, -1:].argmax(dim=-1)], dim=1)
    return found[:, 1:]


def sentences_right(model: Translator) -> int:
    """Count the test sentences that the model generates without a mistake."""
    found = generate(model, data().test[0])
    return sum(_until_end(row) == pair[1] for row, pair in zip(found, sentences()[1], strict=True))


@torch.no_grad()
def look(model: Translator, pair: tasks.Pair) -> dict[str, Any]:
    """Give the cross-attention of one sentence, given its translation, and what the model itself generates for it.

    Args:
        model: the translator.
        pair: English and French words.

    Returns:
        ``weights``, a row for each French word and the end mark; ``says``, the words generated.
    """
    source, shown, _ = encode([pair])
    shown = F.pad(shown, (0, LONGEST - shown.shape[1]))  # padded as in training, which counts without a causal mask
    weights = model(source, shown)[1][0, : len(pair[1]) + 1]
    return {"weights": weights.tolist(), "says": _until_end(generate(model, source)[0])}


def _until_end(tokens: Int[Tensor, " t"]) -> list[str]:
    words = [data().french[token] for token in tokens]
    return words[: words.index(tasks.END)] if tasks.END in words else words
