"""Exercise on the triangles of the Evoformer: ``triangle-sums``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _triangle_sums(a: Tensor, b: Tensor, known: Tensor) -> Tensor:
    hidden = ~known[..., None]
    a, b = a.masked_fill(hidden, 0.0), b.masked_fill(hidden, 0.0)
    return torch.einsum("ikc, jkc -> ijc", a, b)


def _cases() -> list[Case]:
    draw = RandomInputs(62)

    def pairs(n: int, c: int, dtype: torch.dtype, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
        a, b = (draw.normal(n, n, c, dtype=dtype, scale=scale) for _ in range(2))
        return a, b, draw.mask(n, n)

    by_hand = torch.tensor([[1.0, 2.0], [3.0, 4.0]])[..., None]
    first = torch.tensor([[True, False], [True, True]])[..., None]
    return [
        Case((by_hand, 10 * by_hand, torch.tensor([[True, True], [True, False]])), "the example"),
        Case((by_hand, by_hand, torch.ones(2, 2, dtype=torch.bool)), "all pairs known"),
        Case((by_hand, by_hand, torch.zeros(2, 2, dtype=torch.bool)), "no pair known"),
        Case((by_hand.masked_fill(~first, torch.nan), by_hand, first[..., 0]), "an unknown pair that is NaN"),
        Case((by_hand, by_hand.masked_fill(~first, torch.nan), first[..., 0]), "an unknown pair that is NaN in b"),
        Case(pairs(1, 3, torch.float64), "one residue"),
        Case(pairs(4, 4, torch.float32), "as many channels as residues"),
        Case(pairs(7, 2, torch.float64)),
        Case(pairs(9, 5, torch.float32)),
        Case(pairs(5, 3, torch.float64, 1e3), "large entries"),
    ]


TRIANGLE_SUMS = Exercise(
    name="triangle-sums",
    title="Sum over the triangles of each pair",
    chapter="variants",
    level=1,
    place=3,
    minutes=10,
    reference=_triangle_sums,
    cases=_cases,
    tested="one residue, no pair known, an unknown pair that is NaN, as many channels as residues, large entries, "
    "both dtypes",
    hints=(
        "Fix i, j and a channel. Which numbers of a and of b are multiplied, and over what does the sum run?",
        "It is a matrix product for each channel. Which of the two tables is transposed?",
        "einsum says it in one line: name the axes of a, of b and of the result. Pairs that are not known count as 0.",
    ),
    mistakes=(
        Mistake(
            "arriving",
            Edit("ikc, jkc -> ijc", "kic, kjc -> ijc"),
            "You use the edges that arrive, (k, i) and (k, j). Asked for are those that leave, (i, k) and (j, k).",
        ),
        Mistake(
            "path",
            Edit("ikc, jkc -> ijc", "ikc, kjc -> ijc"),
            "You multiply (i, k) with (k, j), a path from i to j. The second edge is (j, k).",
        ),
        Mistake(
            "unknown-pairs",
            Edit("a, b = a.masked_fill(hidden, 0.0), b.masked_fill(hidden, 0.0)", "a = a.masked_fill(hidden, 0.0)"),
            "A triangle counts only if both of its edges are known. You checked one.",
            also=(
                Edit("a, b = a.masked_fill(hidden, 0.0), b.masked_fill(hidden, 0.0)", "b = b.masked_fill(hidden, 0.0)"),
            ),
        ),
        Mistake(
            "zero-times-nan",
            lambda a, b, known: torch.einsum("ikc, jkc -> ijc", a * known[..., None], b * known[..., None]),
            "You multiply unknown entries by 0, and NaN times 0 is NaN. Replace them, with `masked_fill` for example.",
        ),
        Mistake(
            "mask-of-the-result",
            lambda a, b, known: torch.einsum("ikc, jkc -> ijc", a, b) * known[..., None],
            "You hid the results of pairs that are not known. Their inputs are hidden, and every pair gets a result.",
            also=(Edit('-> ijc", a, b)', '-> ijc", a, b) * known[..., None]'),),
        ),
        Mistake(
            "only-nan-replaced",
            lambda a, b, known: torch.einsum("ikc, jkc -> ijc", a.nan_to_num(), b.nan_to_num()),
            "You replaced NaN only. What stands at a pair that is not known counts as 0, whatever it is.",
        ),
        Mistake(
            "a-and-b-swapped",
            Edit("ikc, jkc -> ijc", "jkc, ikc -> ijc"),
            "You took a at (j, k) and b at (i, k): your result is transposed.",
        ),
    ),
)
