"""A small language whose every probability is known: 4,096 sentences of six words, all equally likely."""

from functools import cache
from itertools import product

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from companion.corruption import mask_tokens

TOPICS = {
    "sea": ("boat sailor captain dolphin", "follow tow find steer", "salty calm wet distant"),
    "farm": ("horse farmer goat dog", "feed chase lead pull", "brown muddy young hungry"),
    "kitchen": ("cook pot baker spoon", "heat clean cover fill", "hot sweet shiny busy"),
    "stage": ("singer drum dancer flute", "hear praise lift invite", "loud famous slim gentle"),
}
"""Nouns, verbs and adjectives of each topic; no word belongs to two."""
CLS, SEP, MASK, THIS, THESE = range(5)
WORDS = tuple(
    f"[CLS] [SEP] [MASK] this these {' '.join(adjectives for _, _, adjectives in TOPICS.values())}".split()
    + [noun + end for nouns, _, _ in TOPICS.values() for end in ("", "s") for noun in nouns.split()]
    + [verb + end for _, verbs, _ in TOPICS.values() for end in ("s", "") for verb in verbs.split()]
)
"""The vocabulary: 85 entries."""
LENGTH = 6
"""Words of a sentence: this salty sailor follows these boats."""


@cache
def sentences() -> Int[Tensor, "4096 6"]:
    """Give every sentence of the language, those of a topic together.

    A determiner agrees with its noun, the verb with the first noun, and adjective, nouns and verb have one topic.

    Returns:
        The tokens.
    """
    found = []
    for nouns, verbs, adjectives in TOPICS.values():
        parts = (range(2), adjectives.split(), nouns.split(), verbs.split(), range(2), nouns.split())
        for several, adjective, noun, verb, several_2, noun_2 in product(*parts):
            subject = ["these" if several else "this", adjective, noun + "s" * several]
            found.append([*subject, verb + "s" * (not several), "these" if several_2 else "this"])
            found[-1].append(noun_2 + "s" * several_2)
    place = {word: i for i, word in enumerate(WORDS)}
    return torch.tensor([[place[word] for word in sentence] for sentence in found])


def posterior(visible: Int[Tensor, "batch 6"], at: int) -> Float[Tensor, "batch vocab"]:
    """Give the exact probabilities of the word at one position, from the words that are visible.

    Args:
        visible: ``(batch, 6)``, ``MASK`` where a word is hidden; the rest of each is part of a sentence.
        at: the position that is asked for.

    Returns:
        ``(batch, vocab)``.
    """
    every = sentences()
    fits = ((visible[:, None] == every) | (visible[:, None] == MASK)).all(dim=-1)  # (batch, 4096)
    counts = torch.zeros(len(visible), len(WORDS)).index_add_(1, every[:, at], fits.float())
    return counts / counts.sum(dim=-1, keepdim=True)


def sentence_pairs(
    batch: int, generator: torch.Generator
) -> tuple[Int[Tensor, "batch 15"], Int[Tensor, "batch 15"], Bool[Tensor, " batch"]]:
    """Draw two sentences each: half of the second ones have the topic of the first, half any topic.

    Args:
        batch: number of pairs.
        generator: what draws.

    Returns:
        Tokens, ``[CLS] first [SEP] second [SEP]``; the segment of each, 0 or 1; whether the second follows the first.
    """
    every = sentences()
    first, second = torch.randint(len(every), (2, batch), generator=generator)
    follows = torch.rand(batch, generator=generator) < 0.5
    per_topic = len(every) // len(TOPICS)
    second = torch.where(follows, first // per_topic * per_topic + second % per_topic, second)
    return between(every[first], every[second]), segments(batch), follows


def between(first: Int[Tensor, "batch 6"], second: Int[Tensor, "batch 6"]) -> Int[Tensor, "batch 15"]:
    """Put two sentences between the special tokens.

    Args:
        first: of each pair.
        second: of each pair.

    Returns:
        ``[CLS] first [SEP] second [SEP]``.
    """
    cls, sep = (torch.full((len(first), 1), token) for token in (CLS, SEP))
    return torch.cat([cls, first, sep, second, sep], dim=1)


def segments(batch: int) -> Int[Tensor, "batch 15"]:
    """Say to which sentence each token belongs.

    Args:
        batch: number of pairs.

    Returns:
        0 for the tokens up to the first ``[SEP]``, and 1 for the others.
    """
    return torch.tensor([0] * (LENGTH + 2) + [1] * (LENGTH + 1)).expand(batch, -1)


def hidden_words(
    tokens: Int[Tensor, "batch t"], generator: torch.Generator
) -> tuple[Int[Tensor, "batch t"], Bool[Tensor, "batch t"]]:
    """Corrupt a batch as BERT does; see :func:`companion.corruption.mask_tokens`.

    Args:
        tokens: of sentences or pairs of them.
        generator: what draws.

    Returns:
        What the model reads, and ``True`` where it must say what was there.
    """
    return mask_tokens(tokens, vocab=len(WORDS), mask=MASK, special=(CLS, SEP), generator=generator)


def spoken(tokens: Int[Tensor, " t"]) -> str:
    """Give tokens as words.

    Args:
        tokens: of the vocabulary.

    Returns:
        The words, with spaces between them.
    """
    return " ".join(WORDS[token] for token in tokens.tolist())


def valid(found: Int[Tensor, "batch 6"]) -> Bool[Tensor, " batch"]:
    """Say which rows are sentences of the language.

    Args:
        found: any tokens.

    Returns:
        ``True`` for a sentence.
    """
    return (found[:, None] == sentences()).all(dim=-1).any(dim=-1)
