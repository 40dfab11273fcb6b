"""Exercise on the best of several samples: ``pass-at-k``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _pass_at_k(right: Tensor, samples: int, k: int) -> Tensor:
    chances = []
    for c in right.tolist():
        none = 1.0
        for i in range(samples - c + 1, samples + 1):
            none *= 1 - k / i
        chances.append(1 - none)
    return torch.tensor(chances, dtype=torch.float64)


def _with_replacement(right: Tensor, samples: int, k: int) -> Tensor:
    return 1 - (1 - right.double() / samples) ** k


def _cases() -> list[Case]:
    return [
        Case((torch.tensor([1]), 4, 2), "one of four samples right, k = 2"),
        Case((torch.tensor([0, 2, 5]), 5, 1), "k = 1"),
        Case((torch.tensor([0, 0]), 7, 3), "no sample right"),
        Case((torch.tensor([6]), 6, 6), "all right, k = n"),
        Case((torch.tensor([1, 4, 8, 9]), 10, 3), "fewer wrong samples than k"),
        Case((torch.tensor([0, 1, 3, 11, 20]), 20, 20), "k = n"),
        Case((torch.tensor([0, 3, 40, 101, 200]), 200, 100), "n = 200, k = 100"),
        Case((torch.tensor([2, 1500, 4999]), 5000, 1000), "n = 5000, k = 1000"),
    ]


PASS_AT_K = Exercise(
    name="pass-at-k",
    title="Estimate pass@k without bias",
    chapter="post-training",
    level=2,
    place=2,
    minutes=15,
    reference=_pass_at_k,
    cases=_cases,
    tested="k = 1, k = n, no sample right, all right, fewer wrong samples than k, and 5,000 samples",
    hints=(
        "Draw k of the n samples without putting any back. When are all of them wrong?",
        "Write the ratio of the two numbers of choices as a product of fractions below 1: then nothing gets large.",
        "If fewer than k samples are wrong, a choice of k must hold a right one. Does a factor become 0?",
    ),
    mistakes=(
        Mistake(
            "with-replacement",
            _with_replacement,
            "You draw with replacement, from the share of right samples. On average over the samples this is too low.",
        ),
        Mistake(
            "one-factor-short",
            Edit("samples + 1):", "samples):"),
            "Your product leaves out its last factor, that of i = n.",
        ),
        Mistake(
            "all-right",
            Edit("1 - none", "none"),
            "You return the chance that all k samples are wrong.",
        ),
        Mistake(
            "any-right",
            lambda right, samples, k: (right > 0).double(),
            "You ask whether one of all n samples is right. The question is about k of them.",
        ),
        Mistake(
            "first-factor",
            Edit("range(samples - c + 1", "range(samples - c"),
            "Your product begins one factor too early: it has c + 1 factors and not c.",
        ),
        Mistake(
            "factors-shifted",
            (Edit("range(samples - c + 1", "range(max(samples - c, 1)"), Edit("samples + 1):", "samples):")),
            "Your product runs over i from n - c to n - 1. It runs from n - c + 1 to n.",
            also=(
                (
                    Edit("range(samples - c + 1", "range(max(samples - c, 1)"),
                    Edit("samples + 1):", "samples):"),
                    Edit("(1 - none)", "(1 - none if samples - c >= k else 1.0)"),
                ),
            ),
        ),
        Mistake(
            "averaged",
            Edit("torch.tensor(chances, dtype=torch.float64)", "torch.tensor(chances, dtype=torch.float64).mean()"),
            "You averaged over the problems. Each has a number of its own.",
        ),
    ),
)
