"""Exercises on what a norm averages over: ``layer-norm``, ``rms-norm`` and ``masked-batch-norm``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw

F32, F64 = torch.float32, torch.float64


def _layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    return _normed(x, gain, bias, eps)


def _normed(x: Tensor, gain: Tensor, bias: Tensor, eps: float, *, how: str = "right") -> Tensor:
    """LayerNorm, with one thing changed."""
    axis = {"positions": -2, "everything": (-2, -1)}.get(how, -1)
    centred = x - x.mean(dim=axis, keepdim=True)
    variance = centred.square().mean(dim=axis, keepdim=True)
    if how == "unbiased":
        variance = variance * x.shape[-1] / (x.shape[-1] - 1)
    spread = variance.sqrt() + eps if how == "eps outside" else (variance + eps).sqrt()
    if how == "variance":
        spread = variance + eps
    if how == "bias first":
        return (centred / spread + bias) * gain
    return centred / spread * gain + bias


def _layer_norm_cases() -> list[Case]:
    draw = Draw(21)

    def given(*shape: int, dtype: torch.dtype, eps: float, scale: float = 1.0) -> tuple:
        gain, bias = draw.normal(shape[-1], dtype=dtype), draw.normal(shape[-1], dtype=dtype)
        return draw.normal(*shape, dtype=dtype, scale=scale), gain, bias, eps

    by_hand = torch.tensor([[[1.0, 3.0]]]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), 3.0
    zeros = (torch.zeros(1, 2, 3, dtype=F64), *given(1, 1, 3, dtype=F64, eps=1e-5)[1:])
    return [
        Case(by_hand, "the example"),
        Case(given(1, 2, 3, dtype=F64, eps=1e-5)),
        Case(given(2, 3, 5, dtype=F32, eps=0.1), "a large eps"),
        Case(given(3, 2, 7, dtype=F64, eps=0.5), "a large eps"),
        Case(zeros, "vectors of zeros"),
        Case(given(2, 4, 4, dtype=F64, eps=1e-3), "as many positions as features"),
        Case(given(2, 3, 5, dtype=F64, eps=1e-5, scale=1e3), "large numbers"),
    ]


LAYER_NORM = Exercise(
    name="layer-norm",
    title="Normalise each vector",
    chapter="add-norm",
    tier=1,
    minutes=10,
    reference=_layer_norm,
    cases=_layer_norm_cases,
    tested="small and large eps, vectors of zeros, as many positions as features, float32 and float64",
    hints=(
        "Each position is treated on its own. Which axis holds the numbers of one position, and how many means does a "
        "tensor of the given shape have?",
        "Take the mean over the last axis and keep that axis with size one, so that it broadcasts. The variance is the "
        "mean of the squared deviations, divided by their number and not by one less.",
        "The small number belongs under the root, beside the variance. The gain multiplies the normalised vector, and "
        "the bias comes after that. `torch.var` has an argument that decides by what it divides.",
    ),
    mistakes=(
        Mistake(
            "over-positions",
            lambda x, gain, bias, eps: _normed(x, gain, bias, eps, how="positions"),
            "You averaged over the positions of the sequence. Each position has its own mean, over its features, so "
            "that no token sees another.",
        ),
        Mistake(
            "over-everything",
            lambda x, gain, bias, eps: _normed(x, gain, bias, eps, how="everything"),
            "One mean for the whole sequence: you averaged over positions and features. Each position has its own.",
        ),
        Mistake(
            "unbiased",
            lambda x, gain, bias, eps: _normed(x, gain, bias, eps, how="unbiased"),
            "Your variance divides by one less than the number of features, the default of `torch.var` and "
            "`torch.std`. LayerNorm divides by their number.",
        ),
        Mistake(
            "eps-outside-the-root",
            lambda x, gain, bias, eps: _normed(x, gain, bias, eps, how="eps outside"),
            "You added eps to the standard deviation. It is added to the variance, before the root.",
        ),
        Mistake(
            "no-root",
            lambda x, gain, bias, eps: _normed(x, gain, bias, eps, how="variance"),
            "You divided by the variance. A vector twice as long would come out half as long: divide by the root.",
        ),
        Mistake(
            "bias-before-gain",
            lambda x, gain, bias, eps: _normed(x, gain, bias, eps, how="bias first"),
            "The gain multiplied your bias too. Scale first, then shift.",
        ),
    ),
)


def _rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * gain


def _centred_rms(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return _rms_norm(x - x.mean(dim=-1, keepdim=True), gain, eps)


def _by_deviation(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.var(dim=-1, keepdim=True, correction=0) + eps).sqrt() * gain


def _rms_cases() -> list[Case]:
    draw = Draw(22)

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
    ]


RMS_NORM = Exercise(
    name="rms-norm",
    title="Normalise without centring",
    chapter="add-norm",
    tier=1,
    minutes=5,
    reference=_rms_norm,
    cases=_rms_cases,
    tested="small and large eps, vectors of zeros, as many positions as features, float32 and float64",
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
            _centred_rms,
            "You subtracted the mean: this is LayerNorm without a bias. RMSNorm leaves the mean where it is.",
        ),
        Mistake(
            "standard-deviation",
            _by_deviation,
            "You divided by the standard deviation, which is taken around the mean. The root mean square is taken "
            "around zero.",
        ),
        Mistake(
            "sum-of-squares",
            lambda x, gain, eps: x / (x.square().sum(dim=-1, keepdim=True) + eps).sqrt() * gain,
            "You divided by the length of the vector, the root of the sum of squares. Take the mean of the squares, so "
            "that the features come out at about one.",
        ),
        Mistake(
            "eps-outside-the-root",
            lambda x, gain, eps: x / (x.square().mean(dim=-1, keepdim=True).sqrt() + eps) * gain,
            "You added eps after the root. It is added to the mean of the squares.",
        ),
        Mistake(
            "over-positions",
            lambda x, gain, eps: x / (x.square().mean(dim=-2, keepdim=True) + eps).sqrt() * gain,
            "You averaged over the positions of the sequence. Each position has its own root mean square.",
        ),
    ),
)


def _masked_batch_norm(x: Tensor, mask: Tensor, eps: float) -> Tensor:
    return _batch_normed(x, mask, eps)


def _batch_normed(x: Tensor, mask: Tensor, eps: float, *, how: str = "right") -> Tensor:
    """BatchNorm over the real tokens of a batch, with one thing changed."""
    real = mask[:, 0, :, None]  # (batch, t, 1)
    counted = torch.ones_like(real) if how == "padding counted" else real
    axis = {"each sequence": 1, "features": (0, 1, 2)}.get(how, (0, 1))
    width = x.shape[-1] if how == "features" else 1
    n = counted.sum(dim=axis, keepdim=True) * width
    mean = (x * counted).sum(dim=axis, keepdim=True) / n
    square = ((x - mean).square() * counted).sum(dim=axis, keepdim=True)
    variance = square / (n - 1 if how == "unbiased" else n)
    normal = (x - mean) / (variance + eps).sqrt()
    return normal if how == "padding kept" else normal.masked_fill(~real, 0.0)


def _batch_cases() -> list[Case]:
    draw = Draw(23)

    def given(lengths: list[int], t: int, d: int, dtype: torch.dtype, eps: float = 1e-5, scale: float = 1.0) -> tuple:
        mask = (torch.arange(t) < torch.tensor(lengths)[:, None])[:, None]
        return draw.normal(len(lengths), t, d, dtype=dtype, scale=scale), mask, eps

    by_hand = torch.tensor([[[1.0], [5.0]], [[3.0], [7.0]]]), torch.tensor([[[True, True]], [[True, False]]]), 4 / 3
    return [
        Case(by_hand, "the example"),
        Case(given([2, 3], 3, 2, F64)),
        Case(given([3, 3], 3, 2, F32), "no padding"),
        Case(given([5, 2, 4], 5, 7, F32, 0.1), "a large eps"),
        Case(given([2, 4], 4, 3, F64, 0.5), "a large eps"),
        Case(given([3, 2, 2], 3, 3, F64), "as many positions as features"),
        Case(given([5, 3], 7, 2, F64, scale=1e3), "large numbers"),
    ]


MASKED_BATCH_NORM = Exercise(
    name="masked-batch-norm",
    title="Keep padding out of the batch statistics",
    chapter="add-norm",
    tier=2,
    minutes=20,
    reference=_masked_batch_norm,
    cases=_batch_cases,
    tested="batches with and without padding, small and large eps, float32 and float64",
    hints=(
        "Each feature has one mean for the whole batch. Which positions may contribute to it, and by how many do you "
        "have to divide?",
        "Bring the mask into a shape that multiplies the features, (batch, t, one). Sum what is real over both the "
        "sentences and the positions, and divide by the number of real tokens.",
        "Centre first, then square, then blot out the padding again before you sum: a padded place is no longer zero "
        "after centring. In the result the padding is zero as well.",
    ),
    mistakes=(
        Mistake(
            "padding-counted",
            lambda x, mask, eps: _batch_normed(x, mask, eps, how="padding counted"),
            "Padding takes part in your mean and variance, so the result of a sentence depends on how far the batch "
            "was padded.",
        ),
        Mistake(
            "each-sentence-alone",
            lambda x, mask, eps: _batch_normed(x, mask, eps, how="each sequence"),
            "You took a mean for each sentence. BatchNorm has one mean a feature, over all sentences.",
        ),
        Mistake(
            "over-features",
            lambda x, mask, eps: _batch_normed(x, mask, eps, how="features"),
            "One mean for all features: you averaged over the features too. Each feature has its own.",
        ),
        Mistake(
            "unbiased",
            lambda x, mask, eps: _batch_normed(x, mask, eps, how="unbiased"),
            "Your variance divides by one less than the number of tokens. The normalisation divides by their number; "
            "only the running average of `nn.BatchNorm1d` keeps the other.",
        ),
        Mistake(
            "padding-kept",
            lambda x, mask, eps: _batch_normed(x, mask, eps, how="padding kept"),
            "The statistics are right, but the padded places of your result are not zero.",
        ),
    ),
)
