"""Interactive figures on the softmax: as a soft lookup, and under scores of growing width.

Vaswani et al. (2017), section 3.2.1 and footnote 4. Chapter: book/attention.

The package computes the numbers here, in Python. The browser half repeats only a softmax, a mask or a sum, and the
browser tests compare what it shows with the package on the same input.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from companion.attention import attention_weights
from companion.explorers.base import Choice, Explorer, Numbers, Packed, Real, Title, Whole, Words

WIDTHS = tuple(2**n for n in range(1, 11))
SCALINGS = ("none", "sqrt", "linear")
MEASURES = ("sd", "top", "entropy", "slope", "gradient")
N_KEYS, N_DRAWS, N_GROUPS, D_V = 64, 8, 32, 8  # quantiles come from 32 groups of 64 queries with keys of their own


class ScalingExplorer(Explorer):
    """Show what ``d_k`` does to the scores of one query, to their softmax and to its gradient, for three scalings.

    2048 queries, and 64 keys for every 64 of them, are drawn from the standard normal distribution, on the CPU. The
    figure holds the dot products of the first 8 queries, and of five measures the 10%, 50% and 90% quantiles over all
    of them. The gradient is the Frobenius norm of the output with respect to the query, for 8 values.

    Args:
        seed: of the generator.
    """

    _js = "scaling.js"

    widths = Numbers(WIDTHS, fixed=True)
    dots = Packed(digits=2, fixed=True)
    gradients = Packed(digits=12, fixed=True)
    quantiles = Packed(digits=12, fixed=True)
    d_k = Choice(WIDTHS, 64, help="width of query and key")
    scaling = Choice(SCALINGS, "none", help="factor of the scores: 1, ``1 / sqrt(d_k)`` or ``1 / d_k``")
    draw = Whole(0, 0, N_DRAWS - 1, help="which of the queries")
    measure = Choice(MEASURES[1:], "gradient", help="what the curves show")
    label = Title("What the width does to the softmax")

    def __init__(self, *, seed: int = 0, **traits: object) -> None:
        generator = torch.Generator().manual_seed(seed)
        dots, gradients, quantiles = [], [], []
        for width in WIDTHS:
            query, key, value = (
                torch.randn(N_GROUPS, N_KEYS, size, generator=generator, dtype=torch.float64)
                for size in (width, width, D_V)
            )
            found = [softmax_measures(query, key, value, scale_of(name, width)) for name in SCALINGS]
            dots.append((query[0, :N_DRAWS] @ key[0].mT).tolist())
            gradients.append([_digits(measures["gradient"][0, :N_DRAWS]) for measures in found])
            at = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
            quantiles.append([[_digits(m[name].flatten().quantile(at)) for name in MEASURES] for m in found])
        super().__init__(dots=dots, gradients=gradients, quantiles=quantiles, **traits)

    def weights(self) -> Float[Tensor, " t_k"]:
        """Compute the weights of the 64 keys that the figure shows now, with the package."""
        dots = torch.tensor(self.dots[WIDTHS.index(self.d_k)][self.draw], dtype=torch.float64)
        one = torch.ones(1, 1, dtype=torch.float64)
        return attention_weights(one, dots[:, None], scale=scale_of(self.scaling, self.d_k))[0]

    def _about(self) -> str:
        return f"{len(self.dots[0])} queries, {len(self.dots[0][0])} keys, d_k from {WIDTHS[0]} to {WIDTHS[-1]}"


class Scores(Numbers):
    """One score a key, each within the range of its slider."""

    def validate(self, obj: "SoftmaxExplorer", value: object) -> list:
        """Check a value, as traitlets asks on every assignment."""
        scores = super().validate(obj, value)
        if len(scores) != len(obj.tokens) or not all(-6 <= score <= 6 for score in scores):
            raise ValueError(
                f"{self.name} has one number from -6 to 6 for each of {len(obj.tokens)} keys: got {scores}. "
                "Shift or shrink them: only differences count."
            )
        return scores


class SoftmaxExplorer(Explorer):
    """Turn five scores, a temperature and a common constant into weights and a weighted average of values.

    Args:
        tokens: two to six keys.
        scores: one a key, from -6 to 6. Can be set later.
        values: one a key, what a lookup of it alone would return.

    Raises:
        ValueError: the lists differ in length, or a number lies outside its slider.
    """

    _js = "softmax.js"

    tokens = Words(fixed=True)
    values = Numbers(fixed=True)
    scores = Scores(digits=2)
    temperature = Real(1.0, 0.01, 10.0, help="what the scores are divided by")
    shift = Real(0.0, -10.0, 10.0, help="a constant added to every score")
    label = Title("A soft lookup")

    def __init__(
        self,
        tokens: Sequence[str] = ("apple", "bread", "cheese", "dates", "eggs"),
        scores: Sequence[float] = (0.0, -1.0, -3.0, -2.0, -0.5),
        values: Sequence[float] = (2.0, 5.0, 9.0, 4.0, 3.0),
        **traits: object,
    ) -> None:
        if not len(tokens) == len(scores) == len(values) or not 2 <= len(tokens) <= 6:
            raise ValueError(
                "each of 2 to 6 keys has one score and one value: got "
                f"{len(tokens)} keys, {len(scores)} scores and {len(values)} values. Make the lists equally long."
            )
        super().__init__(tokens=tokens, values=values, scores=scores, **traits)

    def weights(self) -> Float[Tensor, " t_k"]:
        """Compute the weights that the figure shows now, with the package."""
        scores = torch.tensor(self.scores, dtype=torch.float64)[:, None] + self.shift
        return attention_weights(torch.ones(1, 1, dtype=torch.float64), scores, scale=1 / self.temperature)[0]

    def _about(self) -> str:
        return f"{len(self.tokens)} keys"


def scale_of(scaling: str, d_k: int) -> float:
    """Give the factor of the scores.

    Args:
        scaling: ``"none"``, ``"sqrt"`` or ``"linear"``.
        d_k: width of query and key.

    Returns:
        1, ``1 / sqrt(d_k)`` or ``1 / d_k``.
    """
    return {"none": 1.0, "sqrt": 1 / math.sqrt(d_k), "linear": 1 / d_k}[scaling]


def softmax_measures(
    query: Float[Tensor, "groups t_q d_k"],
    key: Float[Tensor, "groups t_k d_k"],
    value: Float[Tensor, "groups t_k d_v"],
    scale: float,
) -> dict[str, Float[Tensor, "groups t_q"]]:
    r"""Measure, for each query, how its scores spread and how its softmax saturates.

    .. math:: \frac{\partial o}{\partial q} = V^\top J\, c K, \qquad J = \operatorname{diag} p - p p^\top

    Args:
        query: ``(groups, t_q, d_k)``.
        key: ``(groups, t_k, d_k)``.
        value: ``(groups, t_k, d_v)``.
        scale: the factor ``c`` of the scores.

    Returns:
        For each name a tensor ``(groups, t_q)``: ``sd`` of the scores, ``top`` weight, ``entropy`` in nats,
        ``slope`` (the Frobenius norm of ``J``), ``gradient`` (that of the gradient above).
    """
    scores = scale * query @ key.mT
    p = attention_weights(query, key, scale=scale)
    first, rest = p.sort(dim=-1, descending=True).values.split([1, p.shape[-1] - 1], dim=-1)
    squares = rest.square().sum(-1, keepdim=True)
    pulled = p[..., None] * (value[:, None] - (p @ value)[:, :, None])  # J V: (groups, t_q, t_k, d_v)
    gram = torch.einsum("gkl,gqlv->gqkv", key @ key.mT, pulled)
    # The squared norm of J, diagonal and rest, without a difference of numbers near 1: 1 - first is rest.sum().
    diagonal = (first * rest.sum(-1, keepdim=True)).square() + (rest * (1 - rest)).square().sum(-1, keepdim=True)
    others = 2 * first.square() * squares + squares.square() - rest.pow(4).sum(-1, keepdim=True)
    return {
        "sd": scores.std(dim=-1, correction=0),
        "top": p.amax(dim=-1),
        "entropy": torch.special.entr(p).sum(-1),
        "slope": (diagonal + others).squeeze(-1).clamp(min=0).sqrt(),
        "gradient": scale * (pulled * gram).sum((-2, -1)).clamp(min=0).sqrt(),
    }


def _digits(numbers: Tensor) -> list[float]:
    return [float(f"{x:.4g}") for x in numbers.tolist()]
