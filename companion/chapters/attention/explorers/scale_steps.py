"""A derivation that moves: why the scores are divided by the root of the width of the keys.

Vaswani et al. (2017), section 3.2.1 and footnote 4. Chapter: book/attention.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from companion.attention import attention_weights
from companion.explorers.base import Numbers, Packed, Title
from companion.explorers.steps import StepsExplorer, shown

N_KEYS, WIDTHS = 64, (1, 4, 16, 64, 256)
SEED = 219  # of a query whose scores spread, at every width, by the root of it within 12%: the first sentence says so
PLAN = ((1, 1), (4, 1), (16, 1), (64, 1), (256, 1), (256, 16), (4, 2), (256, 256))
"""Of each step the width, and what the scores are divided by."""


class ScaleSteps(StepsExplorer):
    """Widen one query and its 64 keys step by step until the softmax freezes, then divide by the root of the width.

    The entries are drawn from the standard normal distribution, on the CPU; at width 4 the first four entries count, so
    that every score goes on from step to step.
    """

    _js = ("steps.js", "scale_steps.js")

    room = Numbers((462, 678), fixed=True)
    widths = Numbers(WIDTHS, fixed=True)
    dots = Packed(digits=4, fixed=True)
    plan = Numbers(PLAN, fixed=True)
    label = Title("Why the root, step by step")

    def __init__(self, **traits: object) -> None:
        generator = torch.Generator().manual_seed(SEED)
        query, key = (torch.randn(n, WIDTHS[-1], generator=generator, dtype=torch.float64) for n in (1, N_KEYS))
        dots = {width: (key[:, :width] @ query[0, :width]) for width in WIDTHS}
        found = [_measures(dots[width], divisor) for width, divisor in PLAN]
        super().__init__(dots=[*dots.values()], sentences=_sentences(found), **traits)


def _measures(dots: Float[Tensor, " t_k"], divisor: int) -> dict[str, float]:
    """Give the spread of the scores, the extreme weights and the sum of the derivatives of weights by own scores."""
    one = torch.ones(1, 1, dtype=torch.float64)
    weights = attention_weights(one, dots[:, None], scale=1 / divisor)
    return {
        "sd": (dots / divisor).std(correction=0).item(),
        "top": weights.max().item(),
        "least": weights.min().item(),
        "sum": (weights * (1 - weights)).sum().item(),
    }


def _share(x: float) -> str:
    """Write a part of 1, with words for what three decimals cannot show."""
    return "more than 0.999" if x > 0.9995 else "less than 0.001" if x < 0.0005 else shown(x, 3)


def _sentences(found: list[dict[str, float]]) -> list[str]:
    sd, top, total = ([one[name] for one in found] for name in ("sd", "top", "sum"))

    def root(k: int) -> str:
        return f"√{PLAN[k][0]} = {math.isqrt(PLAN[k][0])}"

    return [
        f"One query meets {N_KEYS} keys; their entries are random, with mean 0 and variance 1, and d_k = 1. Each dot "
        "is a score, so far a single product. The spread of the scores, their standard deviation, is "
        f"{shown(sd[0])}; this query was chosen near the average. The lowest row shows how much each weight w changes "
        "with its own score: w (1 − w).",
        "At d_k = 4 each score is the sum of 4 products, which cancel only in part. The spread grows to "
        f"{shown(sd[1])}, near {root(1)}, and the largest weight (orange) from {_share(top[0])} to {_share(top[1])}.",
        f"At d_k = 16 the spread is {shown(sd[2])}, near {root(2)}. The weights change less with their scores: "
        f"{_share(total[2])} in total, {_share(total[0])} in step 1.",
        f"At d_k = 64, the width of a head in 2017, the spread is {shown(sd[3])}, near {root(3)}. One key has "
        f"{_share(top[3])} of the weight, and the derivatives add up to {_share(total[3])}.",
        f"At d_k = 256 the spread is {shown(sd[4])}, near {root(4)}. One key has {_share(top[4])} of the weight, and "
        f"the derivatives add up to {_share(total[4])}: hardly any gradient gets through the softmax.",
        f"The same scores, each divided by {root(5)}. Their spread is {shown(sd[5])}, the largest weight "
        f"{_share(top[5])}, and the derivatives add up to {_share(total[5])}.",
        f"Back to d_k = 4, with the scores divided by {root(6)}. The spread is {shown(sd[6])} and the largest weight "
        f"{_share(top[6])}: after the division, the draw and not the width decides how sharp the weights are.",
        f"Why not divide by d_k itself? At d_k = 256 the spread would be {shown(sd[7])} and every weight between "
        f"{_share(found[7]['least'])} and {_share(top[7])}: the output is nearly a plain average, whatever the query "
        f"asks for. The derivatives add up to {_share(total[7])}, but when the query moves, a score moves only "
        f"1/{PLAN[7][1] // PLAN[5][1]} as far as with the root.",
    ]
