"""Exercises on what a norm averages over: ``layer-norm`` and ``rms-norm``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
DIFFERENCE_OF_SQUARES = Mistake(
    "difference-of-squares",
    Edit(
        "centred.square().mean(dim=-1, keepdim=True)",
        "x.square().mean(dim=-1, keepdim=True) - x.mean(dim=-1, keepdim=True).square()",
    ),
    "You subtracted the square of the mean from the mean of the squares. Far from 0 both are large and nearly "
    "equal, and their difference keeps few digits. Subtract the mean first and square then.",
)


def _layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / (variance + eps).sqrt() * gain + bias


def _layer_norm_cases() -> list[Case]:
    draw = RandomInputs(21)

    def given(*shape: int, dtype: torch.dtype, eps: float, scale: float = 1.0) -> tuple:
        gain, bias = draw.normal(shape[-1], dtype=dtype), draw.normal(shape[-1], dtype=dtype)
        return draw.normal(*shape, dtype=dtype, scale=scale), gain, bias, eps

    by_hand = torch.tensor([[[1.0, 3.0]]]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), 3.0
    zeros = (torch.zeros(1, 2, 3, dtype=F64), *given(1, 1, 3, dtype=F64, eps=1e-5)[1:])
    x, *rest = given(2, 3, 6, dtype=F64, eps=1e-5)
    far = x + torch.tensor([[1e5], [-1e5], [1e5]]), *rest
    return [
        Case(by_hand, "the example"),
        Case(given(1, 2, 3, dtype=F64, eps=1e-5)),
        Case(given(2, 3, 5, dtype=F32, eps=0.1), "a large eps"),
        Case(given(3, 2, 7, dtype=F64, eps=0.5), "a large eps"),
        Case(zeros, "vectors of zeros"),
        Case(given(2, 4, 4, dtype=F64, eps=1e-3), "as many positions as features"),
        Case(given(2, 3, 5, dtype=F64, eps=1e-5, scale=1e3), "large numbers"),
        Case(far, "means far from 0 on both sides"),
        Case(given(1, 2, 13, dtype=F64, eps=1e-5), "more features"),
    ]


LAYER_NORM = Exercise(
    name="layer-norm",
    title="Normalise each vector",
    chapter="add-norm",
    level=1,
    place=1,
    minutes=10,
    reference=_layer_norm,
    gradients=("x", "gain", "bias"),
    cases=_layer_norm_cases,
    tested="2 to 13 features, as many positions as features, small and large eps, vectors of zeros, means far from 0, "
    "both dtypes",
    hints=(
        "Each position is treated on its own. Which axis holds the numbers of one position, and how many means does a "
        "tensor of the given shape have?",
        "Take the mean over the last axis and keep that axis with size one, so that it broadcasts. The variance is the "
        "mean of the squared deviations, divided by their number and not by one less.",
        "The small number belongs under the root, beside the variance. The gain multiplies the normalised vector, and "
        "the bias comes after that. `torch.var` has an argument that decides by what it divides.",
    ),
    mistakes=(
        DIFFERENCE_OF_SQUARES,
        Mistake(
            "over-positions",
            (Edit("x.mean(dim=-1", "x.mean(dim=-2"), Edit("square().mean(dim=-1", "square().mean(dim=-2")),
            "You averaged over the positions of the sequence. Each position has its own mean, over its features, so "
            "that no token sees another.",
        ),
        Mistake(
            "over-everything",
            (Edit("x.mean(dim=-1", "x.mean(dim=(-2, -1)"), Edit("square().mean(dim=-1", "square().mean(dim=(-2, -1)")),
            "One mean for the whole sequence: you averaged over positions and features. Each position has its own.",
        ),
        Mistake(
            "unbiased",
            Edit("centred.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
            "Your variance divides by one less than the number of features, the default of `torch.var` and "
            "`torch.std`. LayerNorm divides by their number.",
        ),
        Mistake(
            "eps-outside-the-root",
            Edit("(variance + eps).sqrt()", "(variance.sqrt() + eps)"),
            "You added eps to the standard deviation. It is added to the variance, before the root.",
        ),
        Mistake(
            "no-root",
            Edit("(variance + eps).sqrt()", "(variance + eps)"),
            "You divided by the variance. A vector twice as long would come out half as long: divide by the root.",
        ),
        Mistake(
            "bias-before-gain",
            Edit(
                "centred / (variance + eps).sqrt() * gain + bias", "(centred / (variance + eps).sqrt() + bias) * gain"
            ),
            "The gain multiplied your bias too. Scale first, then shift.",
        ),
        Mistake(
            "eps-ignored",
            Edit("variance + eps", "variance + 1e-5"),
            "Your eps is a fixed number. It is an argument.",
        ),
        Mistake(
            "bias-times-gain",
            Edit("* gain + bias", "* (gain + bias)"),
            "You added gain and bias and multiplied by the sum. First multiply by the gain, then add the bias.",
        ),
        Mistake(
            "mean-square",
            Edit("centred.square()", "x.square()"),
            "You divided by the root of the mean square, as RMSNorm does. The variance is that of the centred vector.",
        ),
    ),
)


def _rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * gain


def _rms_cases() -> list[Case]:
    draw = RandomInputs(22)

    def given(*shape: int, dtype: torch.dtype, eps: float, scale: float = 1.0) -> tuple:
        return draw.normal(*shape, dtype=dtype, scale=scale), draw.normal(shape[-1], dtype=dtype), eps

    by_hand = torch.tensor([[[3.0, 4.0, 0.0, 0.0]]]), torch.tensor([1.0, 3.0, 1.0, 1.0]), 2.75
    zeros = torch.zeros(1, 2, 3, dtype=F64), given(1, 1, 3, dtype=F64, eps=1e-5)[1], 1e-5
    return [
        Case(by_hand, "the example"),
        Case(given(1, 2, 3, dtype=F64, eps=1e-6)),
        Case(given(2, 3, 5, dtype=F32, eps=0.1), "a large eps"),
        Case(given(3, 2, 7, dtype=F64, eps=0.5), "a large eps"),
        Case(zeros, "vectors of zeros"),
        Case(given(2, 4, 4, dtype=F64, eps=1e-3), "as many positions as features"),
        Case(given(2, 3, 5, dtype=F64, eps=1e-6, scale=1e3), "large numbers"),
        Case((draw.normal(2, 3, 2, dtype=F32), torch.zeros(2), 0.1), "a gain of 0"),
    ]


RMS_NORM = Exercise(
    name="rms-norm",
    title="Normalise without centring",
    chapter="add-norm",
    level=1,
    place=2,
    minutes=5,
    reference=_rms_norm,
    gradients=("x", "gain"),
    cases=_rms_cases,
    tested="small and large eps, vectors of zeros, a gain of 0, as many positions as features, float32 and float64",
    hints=(
        "Read the three letters from right to left: square the numbers, average the squares, take the root. What is "
        "missing here that LayerNorm does first?",
        "Nothing is subtracted from the vector, neither before the square nor after. The average runs over the "
        "features of one position, with `keepdim=True`.",
        "Add eps to the mean of the squares, then take the root, then divide. A vector of zeros must give zeros. There "
        "is a gain, and no bias.",
    ),
    mistakes=(
        Mistake(
            "centred",
            lambda x, gain, eps: _rms_norm(x - x.mean(dim=-1, keepdim=True), gain, eps),
            "You subtracted the mean: this is LayerNorm without a bias. RMSNorm leaves the mean where it is.",
        ),
        Mistake(
            "standard-deviation",
            Edit("x.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True, correction=0)"),
            "You divided by the standard deviation, which is taken around the mean. The root mean square is taken "
            "around zero.",
        ),
        Mistake(
            "sum-of-squares",
            Edit("mean(", "sum("),
            "You divided by the length of the vector, the root of the sum of squares. Take the mean of the squares, so "
            "that the features come out at about one.",
        ),
        Mistake(
            "eps-outside-the-root",
            Edit(" + eps).sqrt()", ".sqrt() + eps)"),
            "You added eps after the root. It is added to the mean of the squares.",
        ),
        Mistake(
            "eps-divided",
            Edit(
                "x.square().mean(dim=-1, keepdim=True) + eps)",
                "(x.square().sum(dim=-1, keepdim=True) + eps) / x.shape[-1])",
            ),
            "You added eps to the sum of the squares, so it was divided by their number too. Add it to their mean.",
        ),
        Mistake(
            "over-positions",
            Edit("dim=-1", "dim=-2"),
            "You averaged over the positions of the sequence. Each position has its own root mean square.",
        ),
        Mistake(
            "one-plus-gain",
            Edit("* gain", "* (1 + gain)"),
            "You multiplied by 1 + gain, as some models store it. Here the gain is the whole factor.",
        ),
        Mistake(
            "no-root",
            Edit(" + eps).sqrt()", " + eps)"),
            "You divided by the mean square. Divide by its root.",
        ),
    ),
)
