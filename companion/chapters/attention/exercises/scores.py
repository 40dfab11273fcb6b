"""Exercise on scores: ``scaled-scores``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])


def _scaled_scores_cases() -> list[Case]:
    draw = RandomInputs(1)

    def pair(*leading: int, t_q: int, t_k: int, d_k: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        shapes = (*leading, t_q, d_k), (*leading, t_k, d_k)
        return tuple(draw.normal(*shape, dtype=dtype, scale=scale) for shape in shapes)

    by_hand = (torch.tensor([[1.0, 2.0, 0.0, 1.0]]), torch.tensor([[2.0, 1.0, 3.0, 0.0], [0.0, 2.0, 1.0, 4.0]]))
    return [
        Case(by_hand, "the example"),
        Case(pair(t_q=2, t_k=5, d_k=3, dtype=F32)),
        Case(pair(t_q=7, t_k=5, d_k=11, dtype=F64)),
        Case(pair(t_q=5, t_k=1, d_k=7, dtype=F32), "one key"),
        Case(pair(t_q=3, t_k=2, d_k=1, dtype=F64), "width 1"),
        Case(pair(2, t_q=5, t_k=7, d_k=11, dtype=F32), "a batch"),
        Case(pair(2, 3, t_q=5, t_k=7, d_k=11, dtype=F64), "two leading axes"),
        Case(pair(t_q=3, t_k=5, d_k=13, dtype=F32, scale=30.0), "scores near a thousand"),
        Case(pair(t_q=5, t_k=3, d_k=13, dtype=F64, scale=1e3), "scores near a million"),
        Case(pair(2, 1, 3, t_q=2, t_k=3, d_k=5, dtype=F32), "three leading axes"),
        Case(pair(t_q=3, t_k=3, d_k=3, dtype=F64), "all sizes equal"),
    ]


SCALED_SCORES = Exercise(
    name="scaled-scores",
    title="Compute the scaled scores",
    chapter="attention",
    level=1,
    place=1,
    minutes=10,
    reference=_scaled_scores,
    cases=_scaled_scores_cases,
    tested="sizes that all differ and that are all equal, up to three leading axes, one key, width 1, both dtypes, "
    "scores up to a million",
    hints=(
        "Write down the shapes first. Each query meets each key: which axis disappears, and which two remain?",
        "A matrix product needs the key with its last two axes swapped, whatever stands before them: `.mT` or "
        "`transpose(-2, -1)` does that. Then think which size the dot product has summed over.",
        "The divisor is the square root of the size of the axis that disappeared. Read it from a shape; "
        "neither the number of queries nor the number of keys has a part in it.",
    ),
    mistakes=(
        Mistake(
            "not-transposed",
            Edit(".transpose(-2, -1)", ""),
            "You multiplied query and key as they stand. A matrix product sums over the last axis of the left tensor "
            "and the second-last of the right one; a score sums over the width, which is the last axis of both.",
            also=(
                lambda query, key: key @ query / math.sqrt(key.shape[-1]),
                lambda query, key: query @ key,
            ),
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(key.shape[-1])", ""),
            "You did not scale the dot products: the wider query and key are, the larger your scores come out.",
        ),
        Mistake(
            "width-not-root",
            Edit("math.sqrt(key.shape[-1])", "key.shape[-1]"),
            "You divided by the width d_k itself (or by its root twice), so the scores shrink as the width grows. "
            "With the right scale their size does not depend on the width.",
        ),
        Mistake(
            "root-of-keys",
            Edit("key.shape[-1]", "key.shape[-2]"),
            "You scaled by the number of keys. A score is a sum over the width of query and key: one more key must "
            "not change the scores of the others.",
        ),
        Mistake(
            "root-of-queries",
            Edit("key.shape[-1]", "query.shape[-2]"),
            "You scaled by the number of queries. One more query must not change the scores of the others.",
        ),
        Mistake(
            "multiplied",
            Edit("/ math.sqrt", "* math.sqrt"),
            "You multiplied by the root of the width where the formula divides: the scores grow with the width.",
        ),
        Mistake(
            "wrong-axes-swapped",
            Edit("key.transpose(-2, -1)", "key.T"),
            "You swapped the wrong axes of the key. `.T` reverses all of them, `.t()` takes two at most, and "
            "`transpose(0, 1)` reaches for the batch: each is right only while there are no leading axes. Print the "
            "shape of what you multiply by.",
            also=(
                Edit("transpose(-2, -1)", "t()"),
                Edit("transpose(-2, -1)", "transpose(0, 1)"),
            ),
        ),
        Mistake(
            "keys-by-queries",
            lambda query, key: key @ query.mT / math.sqrt(key.shape[-1]),
            "Your rows belong to the keys. Row i of the scores belongs to query i, so the shape ends in (t_q, t_k).",
        ),
        Mistake(
            "softmax-applied",
            lambda query, key: (query @ key.mT / math.sqrt(key.shape[-1])).softmax(dim=-1),
            "You returned the weights. The scores come before the softmax: they may be negative, and no row of them "
            "has to sum to 1.",
        ),
        Mistake(
            "axis-from-the-front",
            Edit("key.shape[-1]", "key.shape[1]"),
            "You took the width from axis 1, counted from the front. With leading axes that is another size: count "
            "from the end.",
            also=(Edit("key.shape[-1]", "query.shape[1]"),),
        ),
        Mistake(
            "cosine",
            lambda query, key: (
                torch.nn.functional.normalize(query, dim=-1) @ torch.nn.functional.normalize(key, dim=-1).mT
            ),
            "You divided each vector by its own length, which gives cosines. The scale is one number for all scores, "
            "the root of the width.",
        ),
    ),
)
