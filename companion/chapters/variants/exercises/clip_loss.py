"""Exercise on pairs of images and captions: ``clip-loss``."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import gradients, tensor


def _clip_loss(images: Tensor, captions: Tensor, log_scale: Tensor) -> Tensor:
    u, v = F.normalize(images, dim=-1), F.normalize(captions, dim=-1)
    scores = log_scale.exp() * u @ v.T
    own = torch.arange(len(scores))
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


def _by_exponentials(images: Tensor, captions: Tensor, log_scale: Tensor) -> Tensor:
    powers = (log_scale.exp() * F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T).exp()
    shares = (powers.diag() / powers.sum(dim=axis) for axis in (1, 0))
    return -sum(share.log().mean() for share in shares) / 2


def _clip_trial(
    answer: Callable[..., object], images: Tensor, captions: Tensor, log_scale: Tensor
) -> tuple[Tensor, ...]:
    """Compare the loss and its gradients."""
    leaves = [x.clone().requires_grad_() for x in (images, captions, log_scale)]
    loss = tensor(answer(*leaves))
    return loss.detach(), *gradients(loss, leaves)


def _cases() -> list[Case]:
    draw = RandomInputs(64)

    def pairs(
        n: int, d: int, log_scale: float, dtype: torch.dtype, scale: float = 1.0
    ) -> tuple[Tensor, Tensor, Tensor]:
        images, captions = (draw.normal(n, d, dtype=dtype, scale=scale) for _ in range(2))
        return images, captions, torch.tensor(log_scale, dtype=dtype)

    images, captions = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[3.0, 0.0], [1.0, 0.0]])
    eye, short = torch.eye(2), torch.tensor([[2e-6, 0.0], [0.0, 1.0]], dtype=torch.float64)
    return [
        Case((images, captions, torch.tensor(0.0)), "the example"),
        Case((images, images, torch.tensor(1.0)), "captions like their images"),
        Case(pairs(1, 3, 0.5, torch.float64), "one pair"),
        Case(pairs(4, 4, 1.0, torch.float32), "as many pairs as channels"),
        Case(pairs(7, 2, 2.6, torch.float64), "the scale with which CLIP begins"),
        Case(pairs(3, 9, -1.0, torch.float32), "a scale below 1"),
        Case(pairs(5, 6, 0.0, torch.float64, 1e3), "large entries"),
        Case((torch.tensor([[1e-4, 0.0], [0.0, 1.0]]), eye, torch.tensor(0.0)), "a short vector"),
        Case(
            (short, short, torch.tensor(0.0, dtype=torch.float64)),
            "an image and its caption of length 2e-6",
        ),
        Case((eye, eye, torch.tensor(100.0).log()), "the scale at which CLIP stops"),
        Case(
            (eye.double(), eye.double().flip(0), torch.tensor(5.0, dtype=torch.float64)),
            "a larger scale, captions swapped",
        ),
    ]


CLIP_LOSS = Exercise(
    name="clip-loss",
    title="Write the loss of CLIP",
    chapter="variants",
    level=1,
    place=1,
    minutes=10,
    reference=_clip_loss,
    fixed=("images", "captions"),  # no vector may be shorter than 1e-6
    cases=_cases,
    trial=_clip_trial,
    returns=("loss", "gradient for images", "gradient for captions", "gradient for log_scale"),
    tested="the loss and its gradients; one pair, as many pairs as channels, scales below 1 and beyond 100, large "
    "entries, short vectors, both dtypes",
    hints=(
        "A cosine is a product of two vectors of length 1. How do you get all cosines of a batch at once?",
        "Row i of the scores is a question with as many answers as there are captions. Which answer is right?",
        "Two cross-entropies with the same targets, 0 to n - 1: one over the rows, one over the columns.",
    ),
    mistakes=(
        Mistake(
            "images-not-normalised",
            Edit("F.normalize(images, dim=-1)", "images"),
            "You left the length of the images' vectors in the scores. A cosine divides by both lengths.",
        ),
        Mistake(
            "captions-not-normalised",
            Edit("F.normalize(captions, dim=-1)", "captions"),
            "You left the length of the captions' vectors in the scores. A cosine divides by both lengths.",
        ),
        Mistake(
            "scale-without-exp",
            Edit("log_scale.exp()", "log_scale"),
            "You multiplied by the logarithm of the scale. The factor is its exponential.",
        ),
        Mistake(
            "scale-not-learned",
            Edit("log_scale.exp()", "log_scale.detach().exp()"),
            "The loss is right, and no gradient reaches the scale, which the model is to learn: you take it out of "
            "the tensor. Stay in torch.",
        ),
        Mistake(
            "divided",
            Edit("log_scale.exp()", "(-log_scale).exp()"),
            "You divided by the scale. The temperature is its inverse, so the cosines are multiplied by the scale.",
        ),
        Mistake(
            "rows-only",
            Edit("F.cross_entropy(scores.T, own)", "F.cross_entropy(scores, own)"),
            "You asked each image for its caption only. Each caption is asked for its image too.",
        ),
        Mistake(
            "columns-only",
            Edit("F.cross_entropy(scores, own)", "F.cross_entropy(scores.T, own)"),
            "You asked each caption for its image only. Each image is asked for its caption too.",
        ),
        Mistake(
            "sum",
            Edit(" / 2", ""),
            "You added the two losses. CLIP takes their mean.",
        ),
        Mistake(
            "neither-normalised",
            (Edit("F.normalize(images, dim=-1)", "images"), Edit("F.normalize(captions, dim=-1)", "captions")),
            "You multiplied the vectors as they are. A cosine divides by both lengths.",
        ),
        Mistake(
            "wrong-axis",
            (
                Edit("F.normalize(images, dim=-1)", "F.normalize(images, dim=0)"),
                Edit("F.normalize(captions, dim=-1)", "F.normalize(captions, dim=0)"),
            ),
            "You normalised each channel over the batch. A cosine divides each vector, a row, by its length.",
        ),
        Mistake(
            "softmax-twice",
            (
                Edit("F.cross_entropy(scores, own)", "F.cross_entropy(scores.softmax(dim=-1), own)"),
                Edit("F.cross_entropy(scores.T, own)", "F.cross_entropy(scores.T.softmax(dim=-1), own)"),
            ),
            "You gave probabilities to `F.cross_entropy`, which takes scores and does the softmax itself.",
        ),
        Mistake(
            "exponentials-overflow",
            _by_exponentials,
            "You exponentiate the scores as they are, and float32 holds nothing like exp(100). Use `log_softmax` or "
            "`F.cross_entropy`, which subtract the largest first.",
        ),
    ),
)
