"""First stage of repairing a whole model: ``repair-attention``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _broken_attention(x: Tensor, w_qkv: Tensor, w_o: Tensor, n_heads: int) -> Tensor:
    b, t, d = x.shape
    parts = (x @ w_qkv).view(b, t, 3, n_heads, d // n_heads)
    q, k, v = parts.permute(2, 0, 3, 1, 4)
    scores = q @ k.mT / math.sqrt(d // n_heads)
    later = torch.ones(t, t, dtype=torch.bool).triu(1)
    weights = scores.softmax(dim=-1).masked_fill(later, 0.0)
    return (weights @ v).reshape(b, t, d) @ w_o


def _attention(x: Tensor, w_qkv: Tensor, w_o: Tensor, n_heads: int) -> Tensor:
    b, t, d = x.shape
    parts = (x @ w_qkv).view(b, t, 3, n_heads, d // n_heads)
    q, k, v = parts.permute(2, 0, 3, 1, 4)
    scores = q @ k.mT / math.sqrt(d // n_heads)
    later = torch.ones(t, t, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
    return (weights @ v).transpose(1, 2).reshape(b, t, d) @ w_o


def _cases() -> list[Case]:
    draw = RandomInputs(191)

    def layer(b: int, t: int, d: int, n_heads: int, dtype: torch.dtype = F64, scale: float = 1.0) -> tuple:
        w_qkv, w_o = (draw.normal(d, wide, dtype=dtype) / d**0.5 for wide in (3 * d, d))
        return draw.normal(b, t, d, dtype=dtype, scale=scale), w_qkv, w_o, n_heads

    ones, log = [1.0, 1.0], math.log(3)
    w_qkv = torch.tensor([[*ones, log, 0.0, 4.0, 8.0], [*ones, 0.0, 0.0, 0.0, 4.0]])
    return [
        Case((torch.eye(2)[None], w_qkv, torch.eye(2), 2), "the example"),
        Case(layer(2, 1, 4, 2), "one position"),
        Case(layer(2, 3, 4, 1), "one head"),
        Case(layer(1, 4, 6, 3, F32)),
        Case(layer(3, 5, 4, 2)),
        Case(layer(2, 4, 8, 4, F32), "as many heads as positions"),
        Case(layer(2, 7, 6, 2, F64, 1e3), "scores far apart"),
        Case(layer(1, 5, 4, 2, F64, 1e8), "scores near 1e16"),
    ]


AFTER = Edit("scores.masked_fill(later, -torch.inf).softmax(dim=-1)", "scores.softmax(dim=-1).masked_fill(later, 0.0)")
SIDE_BY_SIDE = Edit(".transpose(1, 2).reshape(", ".reshape(")

ATTENTION = Exercise(
    name="repair-attention",
    title="Repair its attention",
    chapter="task-repair",
    topic="architecture",
    level=2,
    place=1,
    minutes=12,
    reference=_attention,
    broken=_broken_attention,
    cases=_cases,
    tested="one head and several, one position, scores far apart, both dtypes",
    hints=(
        "There are two faults, and one hides the other. Change the last position of the input: which outputs change? "
        "Then do the same with one head.",
        "With one head a fault is gone, and still something of later positions comes through. What do the weights of a "
        "row sum to, and over which scores was the softmax taken?",
        "Scores that are hidden must be -inf before the softmax. And `weights @ v` has the shape (batch, heads, "
        "positions, d_k): what must happen before heads and features become one axis?",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (AFTER, SIDE_BY_SIDE),
            "This does what the code as given does. Earlier outputs depend on later inputs.",
        ),
        Mistake(
            "masked-after-softmax",
            AFTER,
            "The heads stand right now. The mask still comes after the softmax, so hidden scores take part in its sum, "
            "and the weights of a row sum to less than 1.",
        ),
        Mistake(
            "heads-not-swapped-back",
            SIDE_BY_SIDE,
            "The mask is right now. The outputs are still read as if positions stood before heads, so features of "
            "several positions get into one.",
        ),
        Mistake(
            "divided-by-what-is-seen",
            Edit(
                "scores.masked_fill(later, -torch.inf).softmax(dim=-1)",
                "scores.softmax(dim=-1).masked_fill(later, 0.0) / (~later).sum(dim=-1, keepdim=True)",
            ),
            "You divide by the number of visible positions. The weights of a row sum to 1 by a softmax over the "
            "visible scores alone.",
        ),
        Mistake(
            "itself-hidden",
            Edit("triu(1)", "triu()"),
            "You hide a position from itself, so the first one sees nothing. Only later positions are hidden.",
        ),
        Mistake(
            "width-of-the-model",
            Edit("math.sqrt(d // n_heads)", "math.sqrt(d)"),
            "You changed the scale, which was right: it is the root of the width of one head.",
        ),
        Mistake(
            "zero-for-a-score",
            Edit("-torch.inf", "0.0"),
            "You set the scores of later positions to 0. A score of 0 has weight exp(0) = 1: nothing is hidden.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf", "-1e9"),
            "You hide scores by a finite number, and scores that count can be lower. Use -inf.",
        ),
        Mistake(
            "divided-again",
            Edit(
                "scores.masked_fill(later, -torch.inf).softmax(dim=-1)",
                "scores.softmax(dim=-1).masked_fill(later, 0.0)\n"
                "    weights = weights / weights.sum(dim=-1, keepdim=True)",
            ),
            "You divide what the softmax leaves by its sum. Where a hidden score is far larger, nothing is left: hide "
            "the scores before the softmax.",
        ),
    ),
)
