"""Last stage of attention in tiles: ``tiles-backward``, and the task of all three stages."""

import math

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_tiles_1_fold import FOLD
from companion.chapters.interview.exercises.task_tiles_2_causal import CAUSAL, COUNTED, LONG, _causal, _three, _tiles
from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.forbidden import ATTENTION, AUTOGRAD
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task

F32, F64 = torch.float32, torch.float64
Gradients = tuple[Tensor, Tensor, Tensor]


def _backward(
    query: Tensor, key: Tensor, value: Tensor, output: Tensor, lse: Tensor, d_output: Tensor, rows: int, cols: int
) -> Gradients:
    d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
    scale, mean = 1 / math.sqrt(query.shape[1]), (output * d_output).sum(dim=-1, keepdim=True)
    for start in range(0, len(query), rows):
        r = slice(start, min(start + rows, len(query)))
        for first in range(0, r.stop, cols):
            c = slice(first, min(first + cols, len(key)))
            scores = query[r] @ key[c].mT * scale
            later = torch.arange(c.start, c.stop) > torch.arange(r.start, r.stop)[:, None]
            weights = (scores - lse[r, None]).exp().masked_fill(later, 0.0)
            d_scores = weights * (d_output[r] @ value[c].mT - mean[r]) * scale
            d_value[c] += weights.mT @ d_output[r]
            d_query[r] += d_scores @ key[c]
            d_key[c] += d_scores.mT @ query[r]
    return d_query, d_key, d_value


def _whole(
    query: Tensor, key: Tensor, value: Tensor, output: Tensor, lse: Tensor, d_output: Tensor, rows: int, cols: int
) -> Gradients:
    scale = 1 / math.sqrt(query.shape[1])
    weights = (query @ key.mT * scale - lse[:, None]).exp().tril()
    d_scores = weights * (d_output @ value.mT - (output * d_output).sum(dim=-1, keepdim=True)) * scale
    return d_scores @ key, d_scores.mT @ query, weights.mT @ d_output


def _row_of_tiles(
    query: Tensor, key: Tensor, value: Tensor, output: Tensor, lse: Tensor, d_output: Tensor, rows: int, cols: int
) -> Gradients:
    d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
    scale = 1 / math.sqrt(query.shape[1])
    for start in range(0, len(query), rows):
        r, c = slice(start, min(start + rows, len(query))), slice(0, start + rows)
        weights = (query[r] @ key[c].mT).mul_(scale).sub_(lse[r, None]).exp_()
        weights.masked_fill_(torch.arange(weights.shape[1]) > torch.arange(start, r.stop)[:, None], 0.0)
        d_value[c] += weights.mT @ d_output[r]
        mean = (output[r] * d_output[r]).sum(dim=-1, keepdim=True)
        d_scores = (d_output[r] @ value[c].mT).sub_(mean).mul_(weights).mul_(scale)
        d_query[r], d_key[c] = d_scores @ key[c], d_key[c] + d_scores.mT @ query[r]
    return d_query, d_key, d_value


def _cases() -> list[Case]:
    draw = RandomInputs(173)

    def given(query: Tensor, key: Tensor, value: Tensor, rows: int, cols: int, scale: float = 1.0) -> tuple:
        output, lse = _causal(query, key, value, rows, cols)
        return query, key, value, output, lse, scale * draw.normal(*value.shape, dtype=value.dtype), rows, cols

    ones, key = torch.ones(2, 1, dtype=F64), torch.tensor([[1.0], [3.0]], dtype=F64).log()
    by_hand = ones, key, torch.tensor([[0.0], [4.0]], dtype=F64)
    by_hand = *by_hand, *_causal(*by_hand, 1, 1), ones, 1, 1
    falling = -2e4 - 300 * torch.arange(9.0, dtype=F64)[:, None]
    falling = torch.ones(9, 1, dtype=F64), falling, draw.normal(9, 2)
    return [
        Case(by_hand, "the example"),
        Case(given(*_three(draw, 1, 3, 2, F64), 4, 4), "one position"),
        Case(given(*_three(draw, 6, 3, 2, F64), 2, 3), "tiles that are wider than high"),
        Case(given(*_three(draw, 6, 2, 3, F32), 3, 2), "tiles that are higher than wide"),
        Case(given(*_three(draw, 7, 3, 4, F64), 4, 3), "last tiles that are smaller"),
        Case(given(*_three(draw, 5, 4, 3, F32), 8, 8), "one tile"),
        Case(given(*_three(draw, 8, 4, 3, F64, 60.0), 3, 3), "scores in the thousands"),
        Case(given(*falling, 3, 2), "scores far below 0"),
        Case(given(*_three(draw, 7, 2, 3, F64), 3, 2, 1e3), "large gradients"),
        Case(given(*_three(draw, 16, 1, 1, F64), 2, 2), "small tiles: memory is counted"),
        Case(given(*_three(draw, 48, 1, 1, F64), 24, 2), "high tiles: memory is counted"),
        Case(given(*_three(draw, 48, 1, 1, F64), 2, 24), "wide tiles: memory is counted"),
        Case(given(*_three(draw, 128, 128, 128, F64), 64, 64), "wide heads: a tile too many shows in the work"),
        Case(given(*_three(draw, 256, 1, 1, F64), 16, 16), "narrow heads: a tile too many shows in the memory"),
        Case(given(*_three(draw, 192, 8, 8, F64), 16, 8), "a long text: memory and work are counted"),
    ]


def _budget(
    query: Tensor, key: Tensor, value: Tensor, output: Tensor, lse: Tensor, d_output: Tensor, rows: int, cols: int
) -> Budget:
    """Allow the gradients three times and some tiles at once, and the work of the tiles, as in the forward pass."""
    t, d_k, d_v = len(query), query.shape[1], value.shape[1]
    held = 3 * t * (2 * d_k + d_v) + 12 * rows * (cols + d_k + d_v)
    work = int(1.15 * _tiles(t, rows, cols) * rows * cols * (3 * d_k + 2 * d_v + 24))
    return Budget(held=held if t >= COUNTED else None, work=work if t >= LONG else None)


MEAN = "(output * d_output).sum(dim=-1, keepdim=True)"
BACKWARD = Exercise(
    name="tiles-backward",
    title="Go backward in tiles",
    chapter="task-tiles",
    topic="efficient-attention",
    level=3,
    place=3,
    minutes=25,
    reference=_backward,
    cases=_cases,
    returns=("d_query", "d_key", "d_value"),
    budget=_budget,
    forbidden=AUTOGRAD + ATTENTION,
    tested="tiles of all proportions, last tiles that are smaller, large gradients, memory and work, both dtypes",
    hints=(
        "The weights were not kept. Which of the given tensors lets you compute those of one tile, without looking at "
        "the other tiles of its rows?",
        "The step through the softmax subtracts from each row the average of its gradients, weighted by its weights. "
        "Over a whole row that average is the product of two rows which you have: of `output` and `d_output`.",
        "The weights of a tile are exp(scores - lse), 0 where hidden. Each tile adds to three gradients: to d_value "
        "and d_key in the rows of its keys, to d_query in the rows of its queries.",
    ),
    mistakes=(
        Mistake(
            "all-pairs",
            Edit("range(0, r.stop, cols)", "range(0, len(key), cols)"),
            "The numbers are right, and they cost too much. Perhaps you compute tiles in which no query sees a key, or "
            "tiles larger than `rows` by `cols`, or you hold the weights of more than a tile at once, or "
            "something is computed for the whole text again and again.",
            also=(
                _whole,
                _row_of_tiles,
                Edit("range(0, r.stop, cols)", "range(0, min(r.stop + 1, len(key)), cols)"),
                Edit("    for start in", "    rows = cols = max(rows, cols)\n    for start in"),
                Edit("    for start in", "    rows = cols = 8\n    for start in"),
            ),
        ),
        Mistake(
            "average-of-the-tile",
            Edit(
                "(d_output[r] @ value[c].mT - mean[r])",
                "((d_w := d_output[r] @ value[c].mT) - (weights * d_w).sum(dim=-1, keepdim=True))",
            ),
            "You subtract the weighted average over the tile. It is over the whole row, and known beforehand.",
        ),
        Mistake(
            "no-average",
            Edit(" - mean[r]", ""),
            "The second term of the softmax's derivative is missing: from each row the average of its gradients, "
            "weighted by its weights, is subtracted.",
        ),
        Mistake(
            "softmax-in-the-tile",
            Edit(
                "(scores - lse[r, None]).exp().masked_fill(later, 0.0)",
                "scores.masked_fill(later, -torch.inf).softmax(dim=-1).nan_to_num(0.0)",
            ),
            "You take a softmax within the tile, so that its weights sum to 1. Those of a whole row do: divide by "
            "what `lse` holds.",
        ),
        Mistake(
            "open",
            Edit(".masked_fill(later, 0.0)", ""),
            "Pairs that the forward pass hid take part in your gradients.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit(
                "(scores - lse[r, None]).exp().masked_fill(later, 0.0)",
                "(scores.masked_fill(later, -1e4) - lse[r, None]).exp()",
            ),
            "You hide scores by a finite number, and scores far below 0 can be smaller than it. Use -inf, or set the "
            "weights to 0.",
        ),
        Mistake(
            "no-scale",
            Edit(" - mean[r]) * scale", " - mean[r])"),
            "The scale of the forward pass is missing on the way back, in d_query and d_key.",
        ),
        Mistake(
            "keys-overwritten",
            Edit("d_key[c] += ", "d_key[c] = "),
            "The gradient of a key is overwritten by the next tile of queries. Add up.",
            also=(Edit("d_value[c] += ", "d_value[c] = "),),
        ),
        Mistake(
            "queries-overwritten",
            Edit("d_query[r] += ", "d_query[r] = "),
            "The gradient of a query is overwritten by its next tile. Add up.",
        ),
        Mistake(
            "value-by-rows",
            Edit("weights.mT @ d_output[r]", "weights.mT @ output[r]"),
            "d_value is made of the output. It is made of the output's gradient.",
        ),
        Mistake(
            "average-added",
            Edit(" - mean[r]", " + mean[r]"),
            "You add the average of a row. It is subtracted: the gradients of the scores of a row sum to 0.",
        ),
        Mistake(
            "scores-not-scaled",
            Edit("@ key[c].mT * scale", "@ key[c].mT"),
            "The scores of a tile are computed without the scale, and so they do not fit the logarithms that you kept.",
        ),
    ),
)

ATTENTION_IN_TILES = Task(
    name="attention-in-tiles",
    title="Attention in tiles",
    stages=(FOLD, CAUSAL, BACKWARD),
)
