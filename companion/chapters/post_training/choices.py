"""Several answers of the base to each problem, and ways to choose among them.

Chapter: book/post-training/reasoning.
"""

from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from companion.chapters.post_training.policies import score
from companion.chapters.post_training.thoughts import base, is_right, problems, said, scorer, solved, think, vote
from companion.training import evaluating

PROBLEMS, SAMPLES = 240, 256
"""Problems, and samples of each."""
WAYS = ("any right", "vote", "vote by score", "best score")


class Samples(NamedTuple):
    """Several answers to each of some problems.

    Args:
        said: the digits; -1 where there is none.
        right: whether they are right.
        scores: log-odds by the scorer.
        above: tokens of thought above those that the problem needs.
    """

    said: Int[Tensor, "problems n"]
    right: Bool[Tensor, "problems n"]
    scores: Float[Tensor, "problems n"]
    above: Int[Tensor, "problems n"]


@cache
def sampled(seed: int) -> Samples:
    """Sample the base, and score its answers.

    Args:
        seed: of base, scorer, problems and draws.

    Returns:
        256 answers to each of 240 problems.
    """
    generator, found = torch.Generator().manual_seed(seed + 400), []
    for _ in range(PROBLEMS // 40):
        asked = problems(40, generator).repeat_interleave(SAMPLES, 0)
        answers = think(base(seed), asked, generator)
        with evaluating(scorer(seed)):
            scores = score(scorer(seed), answers)
        digits, tokens = said(answers)
        found.append((digits, is_right(answers), scores, tokens - solved(asked)[1]))
    return Samples(*(torch.cat(parts).view(PROBLEMS, SAMPLES) for parts in zip(*found, strict=True)))


def chosen(seed: int, way: str, n: int) -> tuple[Tensor, Tensor]:
    """Choose among n samples, in each of the blocks of n that there are.

    Args:
        seed: as in :func:`sampled`.
        way: one of ``WAYS``.
        n: samples to choose among.

    Returns:
        Whether the choice is right, and its tokens of thought above need (of a vote: of its first sample).
    """
    found = Samples(*(one.reshape(-1, n) for one in sampled(seed)))
    if way == "any right":
        row = found.right.long().argmax(1)
    elif way == "best score":
        row = found.scores.argmax(1)
    else:
        digit = vote(found.said, found.scores.sigmoid() if way == "vote by score" else None)
        row = (found.said == digit[:, None]).long().argmax(1)
    return tuple(one.gather(1, row[:, None])[:, 0] for one in (found.right, found.above))


def share_chosen(seed: int, way: str, n: int) -> float:
    """Count right choices.

    Args:
        seed: as in :func:`sampled`.
        way: one of ``WAYS``.
        n: samples to choose among.

    Returns:
        A percentage.
    """
    return 100 * chosen(seed, way, n)[0].float().mean().item()


def too_long(seed: int, n: int) -> float:
    """Count the answers with the best score whose thought is longer than the problem needs.

    Args:
        seed: as in :func:`sampled`.
        n: samples to choose among.

    Returns:
        A percentage.
    """
    return 100 * (chosen(seed, "best score", n)[1] > 0).float().mean().item()


def scorer_right(seed: int) -> float:
    """Compare scorer and checker on all samples.

    Args:
        seed: as in :func:`sampled`.

    Returns:
        The percentage of answers whose log-odds are above 0 if and only if they are right.
    """
    found = sampled(seed)
    return 100 * ((found.scores > 0) == found.right).float().mean().item()
