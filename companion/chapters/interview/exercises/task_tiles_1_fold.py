"""First stage of attention in tiles: ``tiles-fold``, one tile of scores folded into three running results."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal, several, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]
State = tuple[Tensor, Tensor, Tensor]  # the largest scores, the sums of the powers, the weighted sums of the values


def _fold(state: State, scores: Tensor, value: Tensor) -> State:
    top, total, output = state
    new = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    shift = new.masked_fill(new == -torch.inf, 0.0)
    shrink, powers = (top - shift).exp(), (scores - shift).exp()
    total = total * shrink + powers.sum(dim=-1, keepdim=True)
    return new, total, output * shrink + powers @ value


def _start(like: Tensor, rows: int, d_v: int) -> State:
    """Give the results before the first tile."""
    return like.new_full((rows, 1), -torch.inf), like.new_zeros(rows, 1), like.new_zeros(rows, d_v)


def _fold_trial(answer: Answer, scores: Tensor, value: Tensor, sizes: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Fold in tile after tile; compare the three results after each."""
    state, found = _start(scores, len(scores), value.shape[1]), []
    for part, values in zip(scores.split(sizes, dim=1), value.split(sizes), strict=True):
        made = several(answer(state, part.clone(), values.clone()), "top", "total", "output")
        made = tuple(tensor(x, *old.shape) for x, old in zip(made, state, strict=True))
        for name, new in zip(("top", "total", "output"), made, strict=True):
            if any(new.untyped_storage().data_ptr() == old.untyped_storage().data_ptr() for old in state):
                raise Refusal(f"Your {name} is a tensor of the old state. Return new ones, also where nothing changes.")
        state = made
        found += state
    return tuple(found)


def _hiding(scores: Tensor, *hidden: tuple[int, slice]) -> Tensor:
    for row, columns in hidden:
        scores[row, columns] = -torch.inf
    return scores


def _fold_cases() -> list[Case]:
    draw = RandomInputs(171)

    def tiles(
        rows: int, d_v: int, *sizes: int, dtype: torch.dtype = F64, scale: float = 1.0
    ) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        scores = draw.normal(rows, sum(sizes), dtype=dtype, scale=scale)
        return scores, draw.normal(sum(sizes), d_v, dtype=dtype), sizes

    by_hand = torch.tensor([[1.0, 3.0, 6.0]]).log(), torch.tensor([[0.0], [4.0], [9.0]]), (2, 1)
    rising = torch.arange(0.0, 2700.0, 300.0, dtype=F64).expand(2, -1).clone(), draw.normal(9, 2), (2, 3, 4)
    low, values, sizes = tiles(3, 2, 4, 4, scale=100.0)
    one, *one_rest = tiles(3, 2, 2, 3, 2)
    late, *late_rest = tiles(4, 3, 3, 2, 2, dtype=F32)
    never, *never_rest = tiles(3, 2, 2, 2)
    return [
        Case(by_hand, "the example"),
        Case(tiles(3, 2, 4), "one tile"),
        Case(tiles(4, 3, 2, 5, 1, dtype=F32), "tiles of several sizes"),
        Case((low - 2e4, values, sizes), "scores far below 0"),
        Case((torch.zeros(2, 4, dtype=F64), draw.normal(4, 2), (2, 2)), "equal scores of 0"),
        Case(
            (torch.tensor([[-torch.inf, 1.0, 2.0]]), draw.normal(3, 2, dtype=F32), (1, 2)), "a hidden first tile: -inf"
        ),
        Case(rising, "scores that rise to 2400"),
        Case((low, values * 1e3, sizes), "large scores and values"),
        Case((_hiding(one, (1, slice(2, 5))), *one_rest), "a row without a key in a later tile: -inf"),
        Case(
            (_hiding(late, (0, slice(0, 3)), (2, slice(0, 5))), *late_rest), "rows whose first tiles are hidden: -inf"
        ),
        Case((_hiding(never, (1, slice(None))), *never_rest), "a row without a key so far: -inf"),
    ]


ROW = "scores.amax(dim=-1, keepdim=True)"
FOLD = Exercise(
    name="tiles-fold",
    title="Fold in one tile",
    chapter="task-tiles",
    topic="efficient-attention",
    level=2,
    place=1,
    minutes=12,
    reference=_fold,
    cases=_fold_cases,
    trial=_fold_trial,
    returns=tuple(f"{name} after tile {i}" for i in range(1, 4) for name in ("top", "total", "output")),
    tested="the three results after each tile; several sizes, scores far apart, rows without a key, both dtypes",
    hints=(
        "Write the softmax-weighted sum of all keys so far as a quotient. Which two sums does it need, and relative to "
        "what are their powers taken, so that none overflows?",
        "A tile may bring a larger score for some rows. The old sums of such a row shrink by exp(old - new) before the "
        "tile is added; where nothing larger came, the factor is 1.",
        "Where a row has seen no key, its largest score is still -inf, and -inf - (-inf) is NaN. For such a row "
        "subtract 0 instead: exp(-inf) is 0, which is what both sums are to stay.",
    ),
    mistakes=(
        Mistake(
            "row-without-a-key",
            Edit("new.masked_fill(new == -torch.inf, 0.0)", "new"),
            "A row that has seen no key so far becomes NaN: you take -inf from -inf. Its sums are to stay 0.",
        ),
        Mistake(
            "not-rescaled",
            Edit("(top - shift).exp()", "torch.ones_like(top)"),
            "The old sums are not rescaled when a larger score arrives: the early tiles then count too much.",
        ),
        Mistake(
            "total-not-rescaled",
            Edit("total * shrink", "total"),
            "You rescale the output and not the sum that divides it in the end. Both are relative to the old maximum.",
        ),
        Mistake(
            "output-not-rescaled",
            Edit("output * shrink", "output"),
            "You rescale the sum of the powers and not the output. Both are relative to the old maximum.",
        ),
        Mistake(
            "top-of-the-tile",
            Edit(f"torch.maximum(top, {ROW})", ROW),
            "You keep the largest score of the tile alone. After a tile with larger scores the old sums are multiplied "
            "by a huge number; keep the largest so far.",
        ),
        Mistake(
            "one-top-for-all-rows",
            Edit(ROW, "scores.amax().expand_as(top)"),
            "All rows are shifted by one number, and a row far below it has powers of 0. Each row has its own maximum.",
        ),
        Mistake(
            "no-shift",
            Edit("new.masked_fill(new == -torch.inf, 0.0)", "torch.zeros_like(new)"),
            "You take the powers of the scores as they are. They are taken relative to the largest score so far.",
        ),
        Mistake(
            "shift-bounded",
            Edit("new.masked_fill(new == -torch.inf, 0.0)", "new.clamp(min=-1e4)"),
            "You bound what is subtracted from below, and the powers of a row whose scores are smaller are all 0. Only "
            "-inf needs another number.",
        ),
        Mistake(
            "divided",
            Edit(
                "return new, total, output * shrink + powers @ value",
                """output = output * shrink + powers @ value
    return new, total, output / total""",
            ),
            "You divide the output already. Divide once, after the last tile; until then it is a sum.",
        ),
        Mistake(
            "tile-alone",
            Edit("total * shrink + ", ""),
            "The sum of the powers holds the newest tile only.",
        ),
    ),
)
