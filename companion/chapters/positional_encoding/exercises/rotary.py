"""Exercises on rotary positions: ``rotate-pairs`` and ``layout-rows``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _rotate(x: Tensor, positions: Tensor) -> Tensor:
    pair = torch.arange(x.shape[-1] // 2, dtype=x.dtype)
    turned = positions[:, None] * 10000.0 ** -(2 * pair / x.shape[-1])
    cos, sin = turned.cos(), turned.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


def _rotate_cases() -> list[Case]:
    draw = RandomInputs(24)

    def turned(batch: int, t: int, d: int, dtype: torch.dtype, *, start: int = 0, scale: float = 1.0) -> tuple:
        return draw.normal(batch, t, d, dtype=dtype, scale=scale), torch.arange(start, start + t, dtype=dtype)

    by_hand = torch.tensor([[[1.0, 0.0]]], dtype=F64), torch.tensor([1.0], dtype=F64)
    return [
        Case(by_hand, "the example"),
        Case(turned(1, 3, 2, F64), "one pair"),
        Case(turned(1, 2, 4, F64)),
        Case(turned(2, 5, 6, F32)),
        Case(turned(3, 4, 8, F64, start=100), "later positions"),
        Case((draw.normal(2, 3, 10), torch.tensor([7.0, 0.0, 2.0], dtype=F64)), "positions in any order"),
        Case(turned(2, 6, 6, F64, scale=1e3), "as many positions as features, large numbers"),
        Case(
            (draw.normal(3, 4, 8), torch.tensor([-1.5, 0.25, 7.0, -30.75], dtype=F64)),
            "fractions and negative positions",
        ),
        Case(turned(3, 3, 4, F64), "as many sentences as positions"),
    ]


ROTATE_PAIRS = Exercise(
    name="rotate-pairs",
    title="Rotate pairs by their positions",
    chapter="positional-encoding",
    level=2,
    place=3,
    minutes=20,
    reference=_rotate,
    cases=_rotate_cases,
    tested="one pair, positions in any order, far out, negative and between whole ones, as many positions as features "
    "and as sentences, both dtypes",
    hints=(
        "Angles first: one row a position, one column a pair. They are those of the sinusoidal encoding.",
        "Take the first and the second feature of all pairs apart: `x[..., 0::2]` and `x[..., 1::2]`. Both have the "
        "shape "
        "that the angles broadcast to.",
        "Compute the two new features from the old ones, both from the *old* ones, and bring them back side by side: a "
        "new last axis, then flatten.",
    ),
    mistakes=(
        Mistake(
            "other-way",
            Edit("turned.sin()", "-turned.sin()"),
            "You rotate clockwise: the sign of the sine is the other one.",
        ),
        Mistake(
            "halves",
            (
                Edit("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)"),
                Edit("torch.stack(", "torch.cat("),
                Edit(".flatten(-2)", ""),
            ),
            "You paired features half the width apart, as `transformers` does. Here neighbours are a pair.",
        ),
        Mistake(
            "not-side-by-side",
            (Edit("torch.stack(", "torch.cat("), Edit(".flatten(-2)", "")),
            "The rotation is right, but afterwards the first features of all pairs stand before the second ones. "
            "Bring the "
            "two of a pair side by side again.",
        ),
        Mistake(
            "exponent-without-two",
            Edit("2 * pair", "pair"),
            "Your later pairs rotate too fast: the exponent of pair i is 2i over the width, not i.",
        ),
        Mistake(
            "one-rate",
            Edit("2 * pair", "0 * pair"),
            "All your pairs rotate equally fast. Each has a frequency of its own.",
        ),
        Mistake(
            "reflection",
            Edit("b * cos +", "-b * cos +"),
            "At position 0 nothing may change, and your second features change their sign there.",
        ),
        Mistake(
            "overwritten",
            Edit("b * cos + a * sin", "b * cos + (a * cos - b * sin) * sin"),
            "The second feature of your pairs is computed from the first one as already rotated. Keep the old pair "
            "until both are done.",
        ),
        Mistake(
            "positions-ignored",
            Edit("positions[:, None]", "torch.arange(x.shape[1], dtype=x.dtype)[:, None]"),
            "You counted the positions yourself. They are given, need not begin at 0 and need not be whole.",
        ),
        Mistake(
            "two-pluses",
            Edit("a * cos - b * sin", "a * cos + b * sin"),
            "Both of your sums have a plus. In a rotation one of the two sines has a minus: the first feature's.",
        ),
    ),
)


def _layout_rows(w: Tensor, n_heads: int) -> Tensor:
    return w.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).reshape(w.shape)


def _rows_cases() -> list[Case]:
    draw = RandomInputs(25)
    return [
        Case((torch.arange(4.0)[:, None], 1), "the example"),
        Case((draw.normal(8, 3), 2)),
        Case((draw.normal(12, 5, dtype=F32), 2)),
        Case((draw.normal(6, 7), 3), "heads of one pair"),
        Case((draw.normal(24, 2), 3)),
        Case((draw.normal(16, 16), 1), "one head, a square matrix"),
        Case((draw.normal(20, 3, scale=1e3), 5), "large numbers"),
        Case((draw.normal(5, 12).mT, 2), "a transposed view"),
    ]


LAYOUT_ROWS = Exercise(
    name="layout-rows",
    title="Read weights of the other layout",
    chapter="positional-encoding",
    level=3,
    place=7,
    minutes=25,
    reference=_layout_rows,
    cases=_rows_cases,
    tested="one head, several, heads of one pair, a square matrix, a transposed view, float32 and float64",
    hints=(
        "A row of the weight makes one feature of the query. Which order of features do you want in one head?",
        "Cut the rows three times: heads, pairs, and which of the two. Two of these axes change places.",
        "`view` or `unflatten` cuts, `transpose` exchanges, `reshape` joins. The heads stay where they are.",
    ),
    mistakes=(
        Mistake(
            "backwards",
            lambda w, n_heads: w.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).reshape(w.shape),
            "That is the way back, from halves to neighbours.",
        ),
        Mistake(
            "across-heads",
            lambda w, n_heads: torch.cat((w[0::2], w[1::2])),
            "You sorted the rows of all heads together. Each head keeps its rows, and is sorted for itself.",
        ),
        Mistake(
            "columns",
            lambda w, n_heads: w.mT.unflatten(1, (n_heads, -1, 2)).transpose(2, 3).reshape(w.mT.shape).contiguous(),
            "Your result is transposed. Rows are sorted, and they stay rows.",
        ),
        Mistake(
            "not-sorted",
            lambda w, n_heads: w.clone(),
            "Nothing has moved yet.",
        ),
        Mistake(
            "odd-first",
            lambda w, n_heads: w.unflatten(0, (n_heads, -1, 2)).flip(2).transpose(1, 2).reshape(w.shape),
            "In each head your odd features come first. The first of each pair goes into the first half.",
        ),
    ),
)
