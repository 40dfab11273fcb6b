"""Find the passages that belong to a question, and measure how well they are found. Chapter: book/post-training.

BM25: Robertson and Zaragoza (2009), section 3, with the weight of a word as in Lucene, which is never negative.
Reciprocal rank fusion: Cormack et al. (2009), section 2.
"""

import re
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def words(text: str) -> list[str]:
    """Split a text into words in lower case.

    >>> words("What is BM25? A well-kept score.")
    ['what', 'is', 'bm25', 'a', 'well-kept', 'score']

    Args:
        text: any.

    Returns:
        The words in order, without punctuation.
    """
    return re.findall(r"[a-z0-9]+(?:[-'][a-z0-9]+)*", text.lower())


class BM25:
    r"""An index of passages that scores them by the words of a question.

    .. math::
        \sum_{w \in q} \ln\!\left(1 + \frac{n - n_w + 0.5}{n_w + 0.5}\right)
        \frac{f_w (k_1 + 1)}{f_w + k_1 (1 - b + b\, \ell / \bar\ell)}

    with :math:`n` passages, of which :math:`n_w` hold the word :math:`w`; a passage of :math:`\ell` words holds it
    :math:`f_w` times, and :math:`\bar\ell` is the mean length. A word that stands in a question twice counts once.

    Args:
        passages: the words of each.
        k1: how soon repetitions stop to count.
        b: how much a long passage is put back, from 0 to 1.

    Raises:
        ValueError: there is no passage, one has no words, or ``k1`` or ``b`` is out of range.
    """

    def __init__(self, passages: Sequence[Sequence[str]], *, k1: float | int = 1.2, b: float | int = 0.75) -> None:
        if not passages or not all(passages):
            raise ValueError("an index holds passages with words: got none, or an empty one. Leave the empty ones out.")
        if k1 < 0 or not 0 <= b <= 1:
            raise ValueError(f"k1 is at least 0 and b from 0 to 1: got k1 = {k1}, b = {b}. Common are 1.2 and 0.75.")
        self.vocabulary = {w: i for i, w in enumerate(dict.fromkeys(w for passage in passages for w in passage))}
        n = len(passages)
        counts = torch.zeros(n, len(self.vocabulary), dtype=torch.float64)
        for row, passage in enumerate(passages):
            numbers = torch.tensor([self.vocabulary[w] for w in passage])
            counts[row].index_put_((numbers,), torch.ones((), dtype=torch.float64), accumulate=True)
        length, holds = counts.sum(1, keepdim=True), (counts > 0).double().sum(0)
        rare = torch.log1p((n - holds + 0.5) / (holds + 0.5))
        saturated = counts * (k1 + 1) / (counts + k1 * (1 - b + b * length / length.mean()))
        self.weights = rare * saturated.nan_to_num(0.0)  # 0 / 0 where k1 is 0 and the word is absent

    def scores(self, question: Sequence[str]) -> Float[Tensor, " passages"]:
        """Score every passage for a question.

        Args:
            question: its words; words that no passage holds count nothing.

        Returns:
            ``(passages)``, in float64; 0 where no word is shared.
        """
        known = {self.vocabulary[w] for w in question if w in self.vocabulary}
        return self.weights[:, sorted(known)].sum(1)


def ranks(scores: Float[Tensor, "... passages"]) -> Float[Tensor, "... passages"]:
    """Return the rank of each passage, 1 for the highest score; of equal scores the first one ranks higher.

    >>> ranks(torch.tensor([0.2, 0.9, 0.2]))
    tensor([2., 1., 3.])

    Args:
        scores: ``(..., passages)``.

    Returns:
        The ranks, in the dtype of the scores.
    """
    order = scores.argsort(dim=-1, descending=True, stable=True)
    return (order.argsort(dim=-1) + 1).to(scores.dtype)


def fuse(rankings: Float[Tensor, "searches ... passages"], k: float | int = 60) -> Float[Tensor, "... passages"]:
    r"""Merge the results of several searches by rank: :math:`\sum 1 / (k + \mathrm{rank})`.

    Args:
        rankings: the scores of each search, first dimension; only their order counts, so their units may differ.
        k: weakens the first ranks.

    Returns:
        A score for each passage.

    Raises:
        ValueError: ``k`` is negative.
    """
    if k < 0:
        raise ValueError(f"the constant of the fusion is at least 0: got {k}. Cormack et al. take 60.")
    return (1 / (k + ranks(rankings))).sum(0)


def first_found(
    scores: Float[Tensor, "questions passages"], relevant: Bool[Tensor, "questions passages"]
) -> Float[Tensor, " questions"]:
    """Return the rank of the first relevant passage; recall at k is the share of ranks up to k where one is relevant.

    Args:
        scores: of each passage for each question.
        relevant: which passages answer it.

    Returns:
        A rank for each question, from 1.

    Raises:
        ValueError: a question has no relevant passage.
    """
    if not relevant.any(-1).all():
        raise ValueError("each question has a relevant passage: got one without. Leave it out, or label it.")
    return ranks(scores).masked_fill(~relevant, float("inf")).min(-1).values
