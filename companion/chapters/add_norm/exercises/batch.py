"""Exercise on the statistics of a batch: ``masked-batch-norm``."""

import torch
from torch import Tensor

from companion.chapters.add_norm.exercises.norms import DIFFERENCE_OF_SQUARES
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _masked_batch_norm(x: Tensor, mask: Tensor, eps: float) -> Tensor:
    real = mask[:, 0, :, None]  # (batch, t, 1)
    over = (0, 1)  # sentences and positions
    n = real.sum(dim=over, keepdim=True)
    mean = x.where(real, 0.0).sum(dim=over, keepdim=True) / n
    variance = (x - mean).where(real, 0.0).square().sum(dim=over, keepdim=True) / n
    return ((x - mean) / (variance + eps).sqrt()).masked_fill(~real, 0.0)


def _by_squares_of_selected(x: Tensor, mask: Tensor, eps: float) -> Tensor:
    real = x[mask[:, 0]]
    mean = real.mean(dim=0)
    variance = (real.square().mean(dim=0) - mean.square()).clamp(min=0)
    return ((x - mean) / (variance + eps).sqrt()).masked_fill(~mask.mT, 0.0)


def _moved(by: float, x: Tensor, mask: Tensor, eps: float) -> tuple[Tensor, Tensor, float]:
    return x + by, mask, eps


HUGE = "a pad of 1e30, float32"


def _batch_cases() -> list[Case]:
    draw = RandomInputs(23)

    def given(lengths: list[int], t: int, d: int, dtype: torch.dtype, eps: float = 1e-5, scale: float = 1.0) -> tuple:
        mask = (torch.arange(t) < torch.tensor(lengths)[:, None])[:, None]
        return draw.normal(len(lengths), t, d, dtype=dtype, scale=scale), mask, eps

    by_hand = torch.tensor([[[1.0], [5.0]], [[3.0], [7.0]]]), torch.tensor([[[True, True]], [[True, False]]]), 4 / 3
    anywhere = torch.tensor([[[False, True]], [[True, False]]])
    apart = torch.tensor([[[1.0]], [[3.0]]]), torch.ones(2, 1, 1, dtype=torch.bool), 1.0
    return [
        Case(by_hand, "the example"),
        Case(given([2, 3], 3, 2, F64)),
        Case(given([3, 3], 3, 2, F32), "no padding"),
        Case(given([5, 2, 4], 5, 7, F32, 0.1), "a large eps"),
        Case(given([2, 4], 4, 3, F64, 0.5), "a large eps"),
        Case(given([3, 2, 2], 3, 3, F64), "as many positions as features"),
        Case(given([5, 3], 7, 2, F64, scale=1e3), "large numbers"),
        Case((torch.tensor([[[9.0], [1.0]], [[3.0], [9.0]]]), anywhere, 1.0), "padding in front"),
        Case((torch.tensor([[[1.0], [3.0], [1e9]]]), torch.tensor([[[True, True, False]]]), 1.0), "a pad of 1e9"),
        Case((torch.tensor([[[1.0], [5.0], [1e30]]], dtype=F32), torch.tensor([[[True, True, False]]]), 1.0), HUGE),
        Case(given([3, 0], 3, 2, F32), "a sentence of padding only"),
        Case(apart, "one position each"),
        Case(_moved(1e5, *given([3, 4], 4, 2, F64, scale=0.2)), "means far from 0"),
        Case((draw.normal(2, 4, 3).tril(-1), torch.ones(2, 1, 4) > 0, 1.0), "real rows of 0"),
    ]


MASKED_BATCH_NORM = Exercise(
    name="masked-batch-norm",
    title="Keep padding out of the batch statistics",
    chapter="add-norm",
    level=2,
    place=6,
    minutes=20,
    reference=_masked_batch_norm,
    cases=_batch_cases,
    tested="batches without padding and with it before, after and in place of a sentence, one position, small and "
    "large eps, a huge pad, means far from 0, both dtypes",
    hints=(
        "Each feature has one mean for the whole batch. Which positions may contribute to it, and by how many do you "
        "have to divide?",
        "Bring the mask into a shape that multiplies the features, (batch, t, one). Sum what is real over both the "
        "sentences and the positions, and divide by the number of real tokens.",
        "Centre first, then blot out the padding again before you square and sum: a padded place is no longer zero "
        "after centring, and the square of a large one overflows. In the result the padding is zero as well.",
    ),
    mistakes=(
        Mistake(
            "difference-of-squares",
            Edit(
                "(x - mean).where(real, 0.0).square().sum(dim=over, keepdim=True) / n",
                "(x.where(real, 0.0).square().sum(dim=over, keepdim=True) / n - mean.square()).clamp(min=0)",
            ),
            DIFFERENCE_OF_SQUARES.diagnosis,
            also=(_by_squares_of_selected,),
        ),
        Mistake(
            "padding-counted",
            (
                Edit("n = real", "n = torch.ones_like(real)"),
                Edit("x.where(real, 0.0)", "x"),
                Edit("(x - mean).where(real, 0.0)", "(x - mean)"),
            ),
            "Padding takes part in your mean and variance, so the result of a sentence depends on how far the batch "
            "was padded.",
        ),
        Mistake(
            "each-sentence-alone",
            Edit("over = (0, 1)", "over = 1"),
            "You took a mean for each sentence. BatchNorm has one mean per feature, over all sentences.",
        ),
        Mistake(
            "over-features",
            (Edit("over = (0, 1)", "over = (0, 1, 2)"), Edit("n = real.sum", "n = x.shape[-1] * real.sum")),
            "One mean for all features: you averaged over the features too. Each feature has its own.",
        ),
        Mistake(
            "unbiased",
            Edit(".square().sum(dim=over, keepdim=True) / n\n", ".square().sum(dim=over, keepdim=True) / (n - 1)\n"),
            "Your variance divides by one less than the number of tokens. The normalisation divides by their number; "
            "only the running average of `nn.BatchNorm1d` keeps the other.",
        ),
        Mistake(
            "padding-kept",
            Edit(".masked_fill(~real, 0.0)", ""),
            "The statistics are right, but the padded places of your result are not zero.",
        ),
        Mistake(
            "eps-outside-the-root",
            Edit("(variance + eps).sqrt()", "(variance.sqrt() + eps)"),
            "You added eps to the standard deviation. It is added to the variance, before the root.",
        ),
        Mistake(
            "zeros-counted",
            (
                Edit("n = real", "n = torch.ones_like(real)"),
                Edit("(x - mean).where(real, 0.0)", "(x.where(real, 0.0) - mean)"),
            ),
            "You set the padding to 0 and counted it: the zeros are in the mean and in the variance. Divide by the "
            "number of real tokens, and leave padding out of both sums.",
        ),
        Mistake(
            "zeros-in-the-variance",
            Edit("(x - mean).where(real, 0.0)", "(x.where(real, 0.0) - mean)"),
            "Your mean is right. In the variance the padding, set to 0, is as far off as the mean is large: leave it "
            "out after the mean is subtracted.",
        ),
    ),
)
