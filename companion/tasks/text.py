"""Words to padded tensors and back, for every task of the book.

Padding is word 0. START and END are words 1 and 2 of a vocabulary made by `vocabulary`.

Made for this book. Chapter: book/architecture.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from companion.tasks.split import Pair

PAD, START, END = "<pad>", "<s>", "</s>"


class EncodedPairs(NamedTuple):
    """Pairs as tensors of word numbers, padded with 0 behind the last word; the targets run from START to END.

    Args:
        source: ``(batch, t_source)``.
        source_lengths: ``(batch)``, the words of each source without padding.
        target: ``(batch, t_target)``; ``target[:, :-1]`` goes into a decoder, ``target[:, 1:]`` is what it should say.
        target_lengths: ``(batch)``, the words of each target with START and END, without padding.
    """

    source: Int[Tensor, "batch t_source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch t_target"]
    target_lengths: Int[Tensor, " batch"]


def vocabulary(sentences: Iterable[Sequence[str]]) -> list[str]:
    """List padding, start and end, then every word of the sentences in alphabetical order."""
    return [PAD, START, END, *sorted({word for sentence in sentences for word in sentence} - {PAD, START, END})]


def encode(
    sentences: Sequence[Sequence[str]], words: Sequence[str], *, start: bool = False, end: bool = False
) -> Int[Tensor, "batch t"]:
    """Turn sentences into rows of word numbers, padded with 0 to the longest.

    >>> encode([["a", "b"], ["b"]], vocabulary(["ab"]), end=True)
    tensor([[3, 4, 2],
            [4, 2, 0]])

    Args:
        sentences: at least one, each with at least one word.
        words: the vocabulary; a word's number is its place.
        start: whether START goes before each sentence.
        end: whether END goes behind each sentence.

    Returns:
        ``(batch, t)``, where ``t`` is the length of the longest sentence.

    Raises:
        ValueError: there is no sentence, one is empty, or a word is not in the vocabulary.
    """
    if not sentences or not all(sentences):
        raise ValueError("a batch holds at least one sentence and a sentence at least one word. Drop the empty ones.")
    number = {word: i for i, word in enumerate(words)}
    sentences = [[START] * start + list(sentence) + [END] * end for sentence in sentences]
    unknown = sorted({word for sentence in sentences for word in sentence if word not in number})
    if unknown:
        raise ValueError(f"every word is in the vocabulary: got {unknown}. Build it with vocabulary(sentences).")
    length = max(len(sentence) for sentence in sentences)
    rows = [[number[word] for word in sentence] + [0] * (length - len(sentence)) for sentence in sentences]
    return torch.tensor(rows)


def encode_pairs(
    pairs: Sequence[Pair], words: Sequence[str], target_words: Sequence[str] | None = None
) -> EncodedPairs:
    """Turn pairs into the four tensors that a model with an encoder and a decoder trains on.

    Args:
        pairs: at least one source and target, each with at least one word.
        words: the vocabulary of the sources, and of the targets too where ``target_words`` is ``None``.
        target_words: the vocabulary of the targets.

    Returns:
        Sources as they are and targets from START to END, with the length of each.

    Raises:
        ValueError: there is no pair, a sentence is empty, or a word is not in its vocabulary.
    """
    source = encode([source for source, _ in pairs], words)
    target = encode(
        [target for _, target in pairs], words if target_words is None else target_words, start=True, end=True
    )
    return EncodedPairs(
        source,
        torch.tensor([len(source) for source, _ in pairs]),
        target,
        torch.tensor([len(target) + 2 for _, target in pairs]),
    )


def decode(tokens: Int[Tensor, "batch t"], words: Sequence[str]) -> list[list[str]]:
    """Turn rows of word numbers into sentences: without START in front, and up to the first END.

    A row without END loses the padding behind its last word. Padding between words stays: it is a mistake to be seen.

    >>> decode(torch.tensor([[1, 3, 4, 2, 3], [4, 3, 3, 0, 0]]), vocabulary(["ab"]))
    [['a', 'b'], ['b', 'a', 'a']]

    Args:
        tokens: ``(batch, t)``, numbers of words.
        words: the vocabulary.

    Returns:
        One list of words for each row.

    Raises:
        ValueError: a number is no place of the vocabulary.
    """
    if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < len(words):
        raise ValueError(
            f"a word's number is from 0 to {len(words) - 1}, its place in the vocabulary: got numbers from "
            f"{int(tokens.min())} to {int(tokens.max())}. Decode with the vocabulary that they were encoded with."
        )
    return [_sentence([words[i] for i in row]) for row in tokens.tolist()]


def exact_match(predicted: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> float:
    """Measure the share of sentences that are right in every word.

    >>> exact_match([["a"], ["a", "b"]], [["a"], ["b", "a"]])
    0.5

    Args:
        predicted: at least one sentence.
        wanted: the right sentences, in the same order.

    Returns:
        A number from 0 to 1.

    Raises:
        ValueError: there is no sentence, or the numbers of sentences differ.
    """
    if not wanted or len(predicted) != len(wanted):
        raise ValueError(
            f"each wanted sentence has one predicted sentence, and there is at least one: got {len(predicted)} "
            f"predicted and {len(wanted)} wanted. Give the two lists in the same order."
        )
    right = sum(list(one) == list(other) for one, other in zip(predicted, wanted, strict=True))
    return right / len(wanted)


def _sentence(row: list[str]) -> list[str]:
    row = row[: row.index(END)] if END in row else row
    while row and row[-1] == PAD:
        row = row[:-1]
    return row[1:] if row[:1] == [START] else row
