"""Exercises on gradients in parts and in half precision: ``accumulate`` and ``scaled-gradient``."""

import torch
from torch import Tensor

from companion.practice.compare import TOLERANCE
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _accumulate(gradients: Tensor, tokens: Tensor) -> Tensor:
    return (gradients * tokens[:, None]).sum(dim=0) / tokens.sum()


def _accumulate_cases() -> list[Case]:
    draw = RandomInputs(36)

    def parts(counts: list[int], n: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(len(counts), n, dtype=dtype, scale=scale), torch.tensor(counts)

    by_hand = torch.tensor([[4.0], [1.0]]), torch.tensor([2, 8])
    return [
        Case(by_hand, "the example"),
        Case(parts([1, 2], 2, F64)),
        Case(parts([5], 3, F32), "one part"),
        Case(parts([3, 1, 7], 2, F32)),
        Case(parts([4, 4, 4], 5, F64), "parts of one size"),
        Case(parts([1, 100], 3, F64), "a part of one token"),
        Case(parts([11, 2, 5, 3, 7], 13, F64, 1e3), "large gradients"),
    ]


ACCUMULATE = Exercise(
    name="accumulate",
    title="Accumulate the gradients of unequal micro-batches",
    chapter="training",
    level=1,
    place=4,
    minutes=10,
    reference=_accumulate,
    cases=_accumulate_cases,
    tolerance=TOLERANCE | {F64: 1e-6},  # torch divides whole numbers in float32
    tested="one part, equal and very unequal parts, float32 and float64",
    hints=(
        "You are given means. What is the sum behind each of them, and what is the mean over all tokens, whichever "
        "part they were in?",
        "A mean times its count is a sum. Sums may be added; what they are divided by at the end is the number of all "
        "tokens.",
        "The counts need a second axis to meet the gradients: one factor for each row. Check it with two parts, where "
        "the larger must pull the result to its side.",
    ),
    mistakes=(
        Mistake(
            "mean-of-means",
            lambda gradients, tokens: gradients.mean(dim=0),
            "You averaged the means. A token of a small part then counts more than one of a large part.",
        ),
        Mistake(
            "sum-of-means",
            lambda gradients, tokens: gradients.sum(dim=0),
            "You added the means, as repeated calls of `backward` on mean losses do. Nothing is divided yet.",
        ),
        Mistake(
            "not-divided",
            lambda gradients, tokens: (gradients * tokens[:, None]).sum(dim=0),
            "The sums are right, but they are not yet divided by the number of all tokens.",
        ),
        Mistake(
            "divided-by-parts",
            lambda gradients, tokens: (gradients * tokens[:, None]).mean(dim=0),
            "You divided by the number of parts. Sums over tokens are divided by the number of tokens.",
        ),
        Mistake(
            "divided-once-more",
            lambda gradients, tokens: (gradients / tokens[:, None]).sum(dim=0),
            "What you are given are means already, and you divided them by their counts once more.",
        ),
        Mistake(
            "sum-over-tokens",
            lambda gradients, tokens: gradients.sum(dim=0) / tokens.sum(),
            "You divided the plain sum by the number of tokens. The parts are means: multiply each by its tokens "
            "first.",
        ),
        Mistake(
            "divided-by-parts-too",
            Edit("tokens[:, None]).sum(dim=0)", "tokens[:, None]).mean(dim=0)"),
            "You also divided by the number of parts. The number of all tokens is the only divisor.",
        ),
    ),
)


def _unscale(gradient: Tensor, scale: float, good: int, patience: int) -> tuple[Tensor, Tensor, Tensor]:
    if gradient.isfinite().all():
        step, good = gradient / scale, good + 1
        if good == patience:
            scale, good = scale * 2, 0
    else:
        step = torch.zeros_like(gradient)
        scale, good = scale / 2, 0
    return step, torch.tensor(scale, dtype=gradient.dtype), torch.tensor(good)


def _scale_cases() -> list[Case]:
    draw = RandomInputs(37)

    def state(n: int, scale: float, good: int, dtype: torch.dtype, *bad: float, patience: int = 5) -> tuple:
        gradient = draw.normal(n, dtype=dtype, scale=scale)
        gradient[: len(bad)] = torch.tensor(bad, dtype=dtype)
        return gradient, scale, good, patience

    by_hand = torch.tensor([8.0]), 4.0, 0, 2
    return [
        Case(by_hand, "the example"),
        Case(state(1, 2.0, 0, F64)),
        Case(state(3, 8.0, 2, F32, torch.inf), "an overflow"),
        Case(state(2, 16.0, 4, F32), "the last of the good steps"),
        Case(state(5, 4.0, 3, F64, -torch.inf), "a negative overflow"),
        Case(state(7, 1024.0, 1, F64)),
        Case(state(11, 65_536.0, 4, F64, -torch.inf, torch.inf), "two overflows"),
        Case(state(13, 4096.0, 0, F64, patience=1), "growing after each step"),
        Case(state(4, 32.0, 3, F64, torch.nan), "NaN"),
        Case((torch.tensor([1.0, torch.inf]), 2.0, 0, 5), "an overflow at the end"),
        Case((torch.tensor([3e38, 3e38]), 2.0, 0, 5), "a finite gradient whose sum is not"),
        Case(state(2, 0.25, 3, F64, torch.inf), "an overflow at a scale below 1"),
        Case(state(3, 2.0**24, 4, F32), "growing from a large scale"),
    ]


SCALED_GRADIENT = Exercise(
    name="scaled-gradient",
    title="Undo the loss scale, and choose the next",
    chapter="training",
    level=2,
    place=7,
    minutes=20,
    same_dtype=True,
    reference=_unscale,
    cases=_scale_cases,
    tested="good steps, the last before growing, small and large scales, overflows of both signs, NaN, a sum that "
    "overflows, both dtypes",
    returns=("step", "scale", "good"),
    hints=(
        "Two cases: all entries are finite, or some is not. Which one number decides between them, and what happens to "
        "the count of good steps in each?",
        "A gradient with one bad entry is worth nothing: the whole step is left out, the scale is halved, the count "
        "begins again. Otherwise the scale is divided out.",
        "After a good step the count goes up by one. Where it reaches the patience the scale is doubled and the count "
        "begins again. The two new numbers are tensors.",
    ),
    mistakes=(
        Mistake(
            "still-scaled",
            Edit("gradient / scale", "gradient"),
            "The gradient that you hand on is still multiplied by the scale.",
        ),
        Mistake(
            "scaled-twice",
            Edit("gradient / scale", "gradient * scale"),
            "You multiplied by the scale once more. It has to be divided out.",
        ),
        Mistake(
            "entries-kept",
            Edit("torch.zeros_like(gradient)", "torch.where(gradient.isfinite(), gradient / scale, 0.0)"),
            "You struck out the bad entries and kept the others. An overflow spoils the sum behind them all: leave the "
            "whole step out.",
        ),
        Mistake(
            "scale-kept",
            Edit("scale / 2, 0", "scale, 0"),
            "After an overflow the scale stays as it was, so the next step overflows again.",
        ),
        Mistake(
            "count-kept",
            Edit("scale / 2, 0", "scale / 2, good"),
            "After an overflow the count of good steps begins again at zero.",
        ),
        Mistake(
            "nan-let-through",
            Edit("gradient.isfinite().all()", "not gradient.isinf().any()"),
            "You looked for infinity only. NaN is not finite either, and one NaN in the step makes every later weight "
            "NaN.",
        ),
        Mistake(
            "never-grown",
            Edit("scale * 2, 0", "scale, good"),
            "The scale does not grow where it should: it is doubled as soon as the count, with this step, reaches the "
            "patience.",
        ),
        Mistake(
            "count-goes-on",
            Edit("scale * 2, 0", "scale * 2, good"),
            "The count goes on after the scale was doubled. It begins again at 0.",
        ),
        Mistake(
            "infinity-let-through",
            Edit("gradient.isfinite().all()", "not gradient.isnan().any()"),
            "You looked for NaN only. Infinity is not finite either.",
        ),
    ),
)
