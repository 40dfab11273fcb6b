"""Exercises on gain, bias and derivative of LayerNorm: ``fold-gain`` and ``norm-backward``."""

import torch
from torch import Tensor

from companion.chapters.add_norm.exercises.norms import DIFFERENCE_OF_SQUARES
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _fold(gain: Tensor, bias: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return gain[:, None] * w, bias @ w + b


def _fold_cases() -> list[Case]:
    draw = RandomInputs(24)

    def given(d: int, out: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        gain, bias = draw.normal(d, dtype=dtype), draw.normal(d, dtype=dtype)
        return gain, bias, draw.normal(d, out, dtype=dtype, scale=scale), draw.normal(out, dtype=dtype)

    by_hand = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 0.0]), torch.tensor([[1.0], [1.0]]), torch.tensor([5.0])
    return [
        Case(by_hand, "the example"),
        Case(given(2, 3, F64)),
        Case(given(3, 2, F32)),
        Case(given(5, 7, F32)),
        Case(given(4, 4, F64), "as many outputs as features"),
        Case(given(7, 1, F64), "one output"),
        Case(given(5, 3, F64, 1e3), "large numbers"),
        Case((torch.zeros(1), torch.ones(1), torch.ones(1, 1), torch.zeros(1)), "a gain of 0"),
    ]


FOLD_GAIN = Exercise(
    name="fold-gain",
    title="Fold gain and bias into the next matrix",
    chapter="add-norm",
    level=2,
    place=7,
    minutes=20,
    reference=_fold,
    cases=_fold_cases,
    tested="more, fewer and as many outputs as features, a gain of 0, float32 and float64",
    returns=("matrix", "bias"),
    hints=(
        "Write the two steps as one formula: a normalised vector, times the gain, plus the bias, times the matrix, "
        "plus its own bias. Multiply out the bracket.",
        "The gain scales one feature of the vector. In the product a feature meets one row of the matrix, so the "
        "factor can move there.",
        "The old bias passes through the matrix as well, and through the matrix as it was before you scaled it. What "
        "comes out is added to the bias of the linear map.",
    ),
    mistakes=(
        Mistake(
            "columns-scaled",
            lambda gain, bias, w, b: (w * gain, bias @ w + b),
            "You scaled the columns of the matrix, which are its outputs. The gain belongs to the features that come "
            "in, one row each.",
        ),
        Mistake(
            "bias-not-multiplied",
            lambda gain, bias, w, b: (gain[:, None] * w, b.clone()),
            "The bias of the norm is lost. It passes through the matrix too.",
        ),
        Mistake(
            "bias-through-the-scaled-matrix",
            lambda gain, bias, w, b: (gain[:, None] * w, bias @ (gain[:, None] * w) + b),
            "You sent the bias through the scaled matrix. The bias is added after the gain, so the gain does not "
            "touch it.",
        ),
        Mistake(
            "gain-lost",
            lambda gain, bias, w, b: (w.clone(), bias @ w + b),
            "The matrix is as it was: the gain is lost.",
        ),
        Mistake(
            "old-bias-lost",
            lambda gain, bias, w, b: (gain[:, None] * w, bias @ w),
            "The bias of the linear map is lost. The two are added.",
        ),
        Mistake(
            "divided",
            lambda gain, bias, w, b: (w / gain[:, None], bias @ w + b),
            "You divided the rows by the gain. The new matrix has to do what the gain did, so it is multiplied.",
        ),
    ),
)


def _layer_norm_backward(d_y: Tensor, x: Tensor, gain: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    spread = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    normal = centred / spread
    d_normal = d_y * gain
    mean = d_normal.mean(dim=-1, keepdim=True)
    along = normal * (d_normal * normal).mean(dim=-1, keepdim=True)
    return (d_normal - mean - along) / spread


def _backward_cases() -> list[Case]:
    draw = RandomInputs(25)

    def given(*shape: int, dtype: torch.dtype, eps: float, scale: float = 1.0) -> tuple:
        d_y, x = draw.normal(*shape, dtype=dtype, scale=scale), draw.normal(*shape, dtype=dtype)
        return d_y, x, draw.normal(shape[-1], dtype=dtype), eps

    by_hand = torch.tensor([[[4.0, 0.0]]]), torch.tensor([[[0.0, 2.0]]]), torch.tensor([1.0, 1.0]), 3.0
    return [
        Case(by_hand, "the example"),
        Case(given(1, 2, 3, dtype=F64, eps=1e-5)),
        Case(given(2, 3, 5, dtype=F32, eps=0.1), "a large eps"),
        Case(given(3, 2, 7, dtype=F64, eps=0.5), "a large eps"),
        Case(given(1, 3, 11, dtype=F32, eps=1e-3)),
        Case(given(2, 4, 4, dtype=F64, eps=1e-3), "as many positions as features"),
        Case(given(2, 3, 5, dtype=F64, eps=1e-5, scale=1e3), "large numbers"),
        Case((draw.normal(1, 2, 3), torch.full((1, 2, 3), 2.0, dtype=F64), draw.normal(3), 0.1), "constant vectors"),
        Case((draw.normal(1, 2, 3), draw.normal(1, 2, 3) + 1e5, draw.normal(3), 0.1), "means far from 0"),
    ]


LAYER_NORM_BACKWARD = Exercise(
    name="norm-backward",
    title="Differentiate LayerNorm",
    chapter="add-norm",
    level=3,
    place=8,
    minutes=40,
    reference=_layer_norm_backward,
    cases=_backward_cases,
    tested="small and large eps, constant vectors, means far from 0, as many positions as features, large gradients, "
    "both dtypes",
    hints=(
        "One input reaches every output of its position in three ways: directly, through the mean, and through the "
        "standard deviation. Each way gives one term.",
        "Take the gain into the gradient first. Then two things are removed from it: its mean over the features, and "
        "its part along the normalised vector.",
        "The part along the normalised vector is that vector times the mean of the product of both. Divide what is "
        "left by the same root as forward, with eps in it.",
    ),
    mistakes=(
        DIFFERENCE_OF_SQUARES,
        Mistake(
            "statistics-constant",
            Edit(" - mean - along", ""),
            "You treated mean and standard deviation as constants. Both depend on every feature of the vector.",
        ),
        Mistake(
            "mean-only",
            Edit(" - along", ""),
            "The path through the mean is there, that through the standard deviation is missing.",
        ),
        Mistake(
            "spread-only",
            Edit(" - mean - along", " - along"),
            "The path through the standard deviation is there, that through the mean is missing.",
        ),
        Mistake(
            "gain-forgotten",
            Edit("d_y * gain", "d_y"),
            "The gain is missing. It multiplies the gradient before anything is averaged.",
        ),
        Mistake(
            "over-positions",
            (Edit("d_normal.mean(dim=-1", "d_normal.mean(dim=-2"), Edit("normal).mean(dim=-1", "normal).mean(dim=-2")),
            "You averaged the gradient over the positions. Nothing passes between positions, backward as little as "
            "forward.",
        ),
        Mistake(
            "sums-for-means",
            (Edit("d_normal.mean(", "d_normal.sum("), Edit("normal).mean(", "normal).sum(")),
            "You removed sums where means belong: a factor of the number of features.",
        ),
        Mistake(
            "not-divided",
            Edit("(d_normal - mean - along) / spread", "d_normal - mean - along"),
            "You did not divide by the standard deviation. It scales the gradient as it scaled the vector.",
        ),
        Mistake(
            "gain-at-the-end",
            (
                Edit("d_y * gain", "d_y"),
                Edit("(d_normal - mean - along) / spread", "(d_normal - mean - along) / spread * gain"),
            ),
            "You multiplied by the gain at the end. Going back it comes first: the two means are of the gradient "
            "times the gain.",
        ),
        Mistake(
            "sum-along",
            Edit("normal).mean(", "normal).sum("),
            "The part along the normalised vector is a mean over the features; you took the sum.",
        ),
        Mistake(
            "unbiased",
            Edit("centred.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
            "Your variance divides by one less than the number of features, the default of `torch.var`. LayerNorm "
            "divides by their number.",
        ),
        Mistake(
            "eps-outside-the-root",
            Edit(
                "(centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()",
                "centred.square().mean(dim=-1, keepdim=True).sqrt() + eps",
            ),
            "You added eps to the standard deviation. It is added to the variance, before the root.",
        ),
    ),
)
