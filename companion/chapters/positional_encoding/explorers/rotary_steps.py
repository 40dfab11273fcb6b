"""A derivation that moves: why a score of rotated arrows depends on the distance of their positions only.

Su et al. (2024), sections 3.2 and 3.4. Chapter: book/positional-encoding.
"""

import math

import torch

from companion.explorers.base import Numbers, Title
from companion.explorers.steps import StepsExplorer, shown
from companion.positional import rotate

ARROW = [1.0, 0.0] * 4
CONTENTS = (
    (ARROW, ARROW),
    ([1.0, 0.2, 0.5, -0.4, 0.3, 1.0, -0.6, 0.8], [0.8, 0.5, 0.6, 0.1, -0.5, 0.9, 0.2, 1.0]),
)
"""Of query and key: first the same arrow in all pairs, then others."""
PLAN = (
    *((0, 0, 1, 0), (2, 1, 1, 0), (12, 11, 1, 0), (12, 10, 1, 0)),
    *((12, 10, 4, 0), (22, 20, 4, 0), (42, 20, 4, 0), (42, 20, 4, 1), (22, 0, 4, 1)),
)
"""Of each step the positions of query and key, how many pairs there are, and which contents."""


class RotarySteps(StepsExplorer):
    """Rotate a query and a key by their positions: together, apart, in four pairs, and with other contents."""

    _js = ("steps.js", "rotary_steps.js")

    contents = Numbers(CONTENTS, fixed=True)
    plan = Numbers(PLAN, fixed=True)
    label = Title("Rotary positions, step by step")

    def __init__(self, **traits: object) -> None:
        super().__init__(sentences=_sentences(), **traits)


def products(step: int) -> list[float]:
    """Compute the dot product of each pair of features of a step, with the package.

    Args:
        step: counted from 0.

    Returns:
        One number a pair; the score is their sum.
    """
    at_query, at_key, pairs, which = PLAN[step]
    both = torch.tensor(CONTENTS[which], dtype=torch.float64)
    query, key = rotate(both, torch.tensor([at_query, at_key]), layout="interleaved")
    return (query * key).unflatten(0, (-1, 2)).sum(dim=1)[:pairs].tolist()


def _sentences() -> list[str]:
    found = [products(k) for k in range(len(PLAN))]
    score = [shown(sum(one), 3) for one in found]
    apart = [one[0] - one[1] for one in PLAN]
    rounds = apart[6] / (2 * math.pi)
    return [
        "Two features of a query are drawn as an arrow, and two of a key as another. Here both are (1, 0), and at "
        "position 0 neither is rotated: the angle between them is 0, and their dot product, the score, is "
        f"{score[0]}.",
        f"The query stands at position {PLAN[1][0]}, the key at {PLAN[1][1]}, and each arrow is rotated by its "
        f"position, in radians (1 radian is 57°). The angle between them is {apart[1]}, and the score cos {apart[1]} = "
        f"{score[1]}.",
        f"Both move on by {PLAN[2][0] - PLAN[1][0]} positions. Both arrows rotate by the same angle, so the angle "
        f"between them is still {apart[2]}, and the score still {score[2]}.",
        f"Only the key moves, one position back. The distance is {apart[3]}, the angle {apart[3]}, and the score "
        f"cos {apart[3]} = {score[3]}: the score depends on the distance, not on the positions.",
        "With d_k = 8 there are four pairs, and each rotates at its own frequency: ω = 1, 0.1, 0.01 or 0.001 radians a "
        f"position. The score is the sum of their four products, {score[4]}.",
        f"Both move on by {PLAN[5][0] - PLAN[4][0]}. The first pair goes more than once round and the last hardly "
        f"moves, but in no pair does the angle between the arrows change: the score is still {score[5]}.",
        f"Only the query moves on, to distance {apart[6]}. In the first pair the angle grows to {apart[6]} radians, "
        f"{shown(rounds, 1)} rounds; slower pairs change less, and tell long distances apart. The score is {score[6]}.",
        "The same positions, with another query and another key: their arrows have other lengths and start at other "
        f"angles. The score is {score[7]}, so it depends on the contents too.",
        f"Both move back by {PLAN[7][0] - PLAN[8][0]} positions. In each pair both arrows rotate back by the same "
        f"angle: the distance is still {apart[8]}, and the score still {score[8]}.",
    ]
