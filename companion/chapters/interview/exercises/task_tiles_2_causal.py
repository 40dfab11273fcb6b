"""Second stage of attention in tiles: ``tiles-causal``, the forward pass that leaves out what no query sees."""

import math

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_tiles_1_fold import _fold, _start
from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.forbidden import ATTENTION
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
COUNTED, LONG = 16, 128
"""Positions from which memory is counted, and from which work is."""


def _causal(query: Tensor, key: Tensor, value: Tensor, rows: int, cols: int) -> tuple[Tensor, Tensor]:
    outputs, sums = [], []
    for start in range(0, len(query), rows):
        stop = min(start + rows, len(query))
        state = _start(query, stop - start, value.shape[1])
        for first in range(0, stop, cols):
            last = min(first + cols, len(key))
            scores = query[start:stop] @ key[first:last].mT / math.sqrt(query.shape[1])
            later = torch.arange(first, last) > torch.arange(start, stop)[:, None]
            state = _fold(state, scores.masked_fill(later, -torch.inf), value[first:last])
        top, total, output = state
        outputs.append(output / total)
        sums.append((top + total.log())[:, 0])
    return torch.cat(outputs), torch.cat(sums)


def _whole(query: Tensor, key: Tensor, value: Tensor, rows: int, cols: int) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT / math.sqrt(query.shape[1])
    later = torch.ones(len(query), len(key), dtype=torch.bool).triu(1)
    scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(dim=-1) @ value, scores.logsumexp(dim=-1)


def _row_of_tiles(query: Tensor, key: Tensor, value: Tensor, rows: int, cols: int) -> tuple[Tensor, Tensor]:
    outputs, sums = [], []
    for start in range(0, len(query), rows):
        stop = min(start + rows, len(query))
        scores = (query[start:stop] @ key[:stop].mT).div_(math.sqrt(query.shape[1]))
        scores.masked_fill_(torch.arange(stop) > torch.arange(start, stop)[:, None], -torch.inf)
        sums.append(scores.logsumexp(dim=-1))
        outputs.append(scores.sub_(sums[-1][:, None]).exp_() @ value[:stop])
    return torch.cat(outputs), torch.cat(sums)


def _three(
    draw: RandomInputs, t: int, d_k: int, d_v: int, dtype: torch.dtype, scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    query, key = (draw.normal(t, d_k, dtype=dtype, scale=scale) for _ in range(2))
    return query, key, draw.normal(t, d_v, dtype=dtype)


def _causal_cases() -> list[Case]:
    draw = RandomInputs(172)
    one = torch.ones(2, 1)
    by_hand = one, torch.tensor([[0.0], [math.log(3)]]), torch.tensor([[0.0], [4.0]]), 1, 1
    falling = -2e4 - 300 * torch.arange(9.0, dtype=F64)[:, None]
    falling = torch.ones(9, 1, dtype=F64), falling, draw.normal(9, 2), 3, 2
    return [
        Case(by_hand, "the example"),
        Case((*_three(draw, 1, 3, 2, F64), 4, 4), "one position"),
        Case((*_three(draw, 6, 3, 2, F64), 2, 3), "tiles that are wider than high"),
        Case((*_three(draw, 6, 2, 3, F32), 3, 2), "tiles that are higher than wide"),
        Case((*_three(draw, 7, 3, 4, F64), 4, 3), "last tiles that are smaller"),
        Case((*_three(draw, 5, 4, 3, F32), 8, 8), "one tile"),
        Case((*_three(draw, 8, 3, 2, F64), 8, 1), "all queries at once, key by key"),
        Case((*_three(draw, 8, 4, 3, F64, 60.0), 3, 3), "scores in the thousands"),
        Case((*_three(draw, 5, 3, 2, F64), 4, 1), "a last tile of queries with room for keys after the end"),
        Case(falling, "scores far below 0"),
        Case((falling[0], -1e20 * torch.arange(1.0, 10.0, dtype=F64)[:, None], *falling[2:]), "scores of -1e20"),
        Case((*_three(draw, 16, 1, 1, F64), 2, 2), "small tiles: memory is counted"),
        Case((*_three(draw, 48, 1, 1, F64), 24, 2), "high tiles: memory is counted"),
        Case((*_three(draw, 48, 1, 1, F64), 2, 24), "wide tiles: memory is counted"),
        Case((*_three(draw, 128, 128, 128, F64), 64, 64), "wide heads: a tile too many shows in the work"),
        Case((*_three(draw, 256, 1, 1, F64), 16, 16), "narrow heads: a tile too many shows in the memory"),
        Case((*_three(draw, 192, 8, 8, F32), 16, 8), "a long text: memory and work are counted"),
    ]


def _tiles(t: int, rows: int, cols: int) -> int:
    """Count the tiles in which some query sees some key."""
    return sum(-(-min(start + rows, t) // cols) for start in range(0, t, rows))


def _causal_budget(query: Tensor, key: Tensor, value: Tensor, rows: int, cols: int) -> Budget:
    """Allow the results three times and some tiles at once, and the work of the tiles that are needed.

    That work are the products and 24 operations on each score, and 15 percent more. With wide heads the products are
    most of it, so that a fourth tile beside three goes beyond; with narrow heads the scores of two rows of tiles do.
    """
    t, width = len(query), query.shape[1] + value.shape[1]
    held = 3 * t * (value.shape[1] + 1) + 12 * rows * (cols + width)
    work = int(1.15 * _tiles(t, rows, cols) * rows * cols * (width + 24))
    return Budget(held=held if t >= COUNTED else None, work=work if t >= LONG else None)


CAUSAL = Exercise(
    name="tiles-causal",
    title="Attend in tiles, and leave out what is hidden",
    chapter="task-tiles",
    topic="efficient-attention",
    level=3,
    place=2,
    minutes=20,
    reference=_causal,
    cases=_causal_cases,
    returns=("output", "lse"),
    budget=_causal_budget,
    forbidden=ATTENTION,
    tested="tiles of all proportions, last tiles that are smaller, scores far apart, memory and work, both dtypes",
    hints=(
        "Two loops: tiles of queries outside, tiles of keys inside. Which keys does the last query of a tile see? No "
        "tile after them is needed.",
        "Within a tile compare positions in the whole text: the key's, `first` plus its column, with the query's, "
        "`start` plus its row. A row may have no key in a tile; the fold of stage 1 knows that.",
        "After the last tile of a row of tiles: the output is the sum of values by the sum of powers, and the "
        "logsumexp is the largest score plus the logarithm of the sum of powers.",
    ),
    mistakes=(
        Mistake(
            "all-pairs",
            Edit("range(0, stop, cols)", "range(0, len(key), cols)"),
            "The numbers are right, and they cost too much. Perhaps you compute tiles in which no query sees a key, or "
            "tiles larger than `rows` by `cols`, or you hold the scores of more than a tile at once, or "
            "something is computed for the whole text again and again.",
            also=(
                _whole,
                _row_of_tiles,
                Edit("range(0, stop, cols)", "range(0, min(stop + 1, len(key)), cols)"),
                Edit("outputs, sums = [], []", "outputs, sums, rows, cols = [], [], *2 * [max(rows, cols)]"),
                Edit("outputs, sums = [], []", "outputs, sums, rows, cols = [], [], 8, 8"),
            ),
        ),
        Mistake(
            "positions-in-the-tile",
            Edit(
                "torch.arange(first, last) > torch.arange(start, stop)[:, None]",
                "torch.arange(last - first) > torch.arange(stop - start)[:, None]",
            ),
            "You compare the column in the tile with the row in the tile. What counts are positions in the text.",
        ),
        Mistake(
            "open",
            Edit("scores.masked_fill(later, -torch.inf)", "scores"),
            "Your queries see later keys of the tiles on the diagonal.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("later, -torch.inf", "later, -1e4"),
            "You hide scores by a finite number, and scores far below 0 can be smaller than it. Use -inf.",
        ),
        Mistake(
            "past-the-end",
            Edit("range(0, stop, cols)", "range(0, start + rows, cols)"),
            "Your last tile of queries is smaller, and its loop over keys goes on after the end of the text. Stop at "
            "the last query that there is.",
        ),
        Mistake(
            "up-to-the-first-query",
            Edit("range(0, stop, cols)", "range(0, start + 1, cols)"),
            "Your loop over keys ends with the tile that the first query of the tile needs. The last query sees "
            "further.",
        ),
        Mistake(
            "itself-hidden",
            Edit("torch.arange(first, last) > ", "torch.arange(first, last) >= "),
            "A query does not see its own position, so the first one sees nothing. Hide only what is later.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(query.shape[1])", ""),
            "You did not divide the scores by the square root of their width.",
        ),
        Mistake(
            "rest-dropped",
            Edit("range(0, len(query), rows)", "range(0, len(query) - len(query) % min(rows, len(query)), rows)"),
            "Queries after the last whole tile are left out. The last tile may be smaller.",
        ),
        Mistake(
            "not-divided",
            Edit("output / total", "output"),
            "The output is still a sum: divide it by the sum of the powers at the end.",
        ),
        Mistake(
            "lse-without-the-largest",
            Edit("(top + total.log())", "total.log()"),
            "Your second result is the logarithm of the sum of the powers. Those were taken relative to the largest "
            "score, which is to be added.",
        ),
        Mistake(
            "lse-not-a-logarithm",
            Edit("(top + total.log())", "(top.exp() * total)"),
            "Your second result is the sum of the exponentials, which overflows. Return its logarithm.",
        ),
        Mistake(
            "one-later-seen",
            Edit("torch.arange(start, stop)[:, None]", "torch.arange(start, stop)[:, None] + 1"),
            "A position sees the one after it. Keys that are later than the query are hidden.",
        ),
        Mistake(
            "scaled-by-the-values",
            Edit("math.sqrt(query.shape[1])", "math.sqrt(value.shape[1])"),
            "You divided by the root of the width of the values. A score sums over the width of query and key.",
        ),
    ),
)
