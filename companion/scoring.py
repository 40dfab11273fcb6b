r"""What a score says: pass@k from samples, the calibration of probabilities, and a temperature that mends it.

pass@k: Chen et al. (2021), section 2.1, Eq. (1). Reliability, expected calibration error and temperature scaling: Guo
et al. (2017), "On Calibration of Modern Neural Networks".

Chapter: book/post-training.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from companion.checks import check_sizes

HOTTEST = 100.0
"""Temperatures are looked for between 1/100 and this."""


def pass_at_k(right: Int[Tensor, " problems"], samples: int, k: int) -> Float[Tensor, " problems"]:
    r"""Estimate, for each problem, how probable it is that one of k samples is right.

    .. math:: 1 - \binom{n - c}{k} \Big/ \binom{n}{k} = 1 - \prod_{i=n-c+1}^{n} \left(1 - \frac{k}{i}\right)

    It is the share of all choices of k among the n samples that hold a right one, and its mean over samples is exact.
    The product needs no large numbers.

    >>> pass_at_k(torch.tensor([0, 1, 3]), samples=4, k=2)
    tensor([0.0000, 0.5000, 1.0000], dtype=torch.float64)

    Args:
        right: c, how many of the samples of each problem are right.
        samples: n, drawn for each problem.
        k: samples that a user would draw; at most n.

    Returns:
        One estimate a problem, in float64; their mean is the score.

    Raises:
        ValueError: k is larger than n, or a problem has more right samples than samples.
    """
    check_sizes(samples=samples, k=k)
    if k > samples:
        raise ValueError(f"k samples are chosen among n: got k={k} of n={samples}. Draw more samples.")
    if ((right < 0) | (right > samples)).any():
        raise ValueError(f"from 0 to n={samples} samples are right: got {right.tolist()}. Count each sample once.")
    i = torch.arange(1, samples + 1, device=right.device)
    factors = 1 - k / i.double()  # that of i = k is 0, and it counts where fewer than k samples are wrong
    return 1 - torch.where(i > samples - right[:, None], factors, 1.0).prod(dim=1)


class Reliability(NamedTuple):
    """Answers sorted into bins by their confidence.

    Args:
        share: of all answers, ``(bins,)``.
        confidence: the mean of a bin, 0 where it is empty.
        accuracy: share of right answers of a bin, 0 where it is empty.
    """

    share: Float[Tensor, " bins"]
    confidence: Float[Tensor, " bins"]
    accuracy: Float[Tensor, " bins"]

    @property
    def error(self) -> float:
        r"""The expected calibration error, :math:`\sum_b s_b\,|a_b - c_b|`."""
        return (self.share * (self.accuracy - self.confidence).abs()).sum().item()


def reliability(confidence: Float[Tensor, " n"], right: Bool[Tensor, " n"], bins: int = 10) -> Reliability:
    """Sort answers into bins of equal width, and compare mean confidence and accuracy of each.

    >>> found = reliability(torch.tensor([0.9, 0.9, 0.6, 0.6]), torch.tensor([True, True, True, False]))
    >>> round(found.error, 3)
    0.1

    Args:
        confidence: probabilities, one an answer.
        right: whether the answer is.
        bins: of equal width; an answer on a border belongs to the lower one.

    Returns:
        Share, confidence and accuracy of each bin, in float64.

    Raises:
        ValueError: there is no answer, not one truth an answer, or a confidence that is no probability.
    """
    check_sizes(bins=bins)
    if confidence.shape != right.shape or not len(confidence):
        raise ValueError(f"each answer is right or not: got {len(confidence)} and {len(right)}. Pass as many of both.")
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ValueError("a confidence is a probability: got one outside 0 to 1. Apply the softmax.")
    probability = confidence.double()
    place = ((probability * bins).ceil().long() - 1).clamp(min=0)
    count = torch.zeros(bins, dtype=torch.float64).index_add(0, place, torch.ones_like(probability))
    sums = [torch.zeros_like(count).index_add(0, place, one) for one in (probability, right.double())]
    return Reliability(count / len(right), *(one / count.clamp(min=1) for one in sums))


def fit_temperature(logits: Float[Tensor, "n classes"], labels: Int[Tensor, " n"]) -> float:
    r"""Find the temperature at which the right classes are most probable.

    .. math:: T = \arg\min_T -\sum_i \ln \operatorname{softmax}(z_i / T)_{y_i}

    The loss is convex in 1/T, so its slope is bisected.

    >>> logits = torch.tensor([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> round(fit_temperature(logits, torch.tensor([0, 0, 0, 0])), 3)
    3.641

    Args:
        logits: of held-out examples.
        labels: the right classes.

    Returns:
        A number above 1 where the model was too confident.

    Raises:
        ValueError: there are no examples, or no temperature from 1/100 to 100 is the best.
    """
    if not len(labels):
        raise ValueError("a temperature is fitted to examples: got none. Hold some out.")
    z = logits.double()
    truth = z.gather(1, labels[:, None])[:, 0]

    def slope(inverse: float) -> float:
        return ((z * F.softmax(inverse * z, dim=1)).sum(dim=1) - truth).mean().item()

    low, high = 1 / HOTTEST, HOTTEST
    if slope(low) >= 0 or slope(high) <= 0:
        raise ValueError(
            "a temperature from 1/100 to 100 fits best: got examples with none, all right or no better than chance. "
            "Use more."
        )
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return 1 / low
