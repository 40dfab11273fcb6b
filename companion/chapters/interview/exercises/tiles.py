"""Drills on attention without its square matrix: ``window-attention`` and ``tiled-attention``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.budget import Limits
from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw

F32, F64 = torch.float32, torch.float64
LONG = 64  # a case this long has limits; below, every way is cheap


def _three(draw: Draw, t: int, d_k: int, d_v: int, dtype: torch.dtype, scale: float = 1.0) -> tuple[Tensor, ...]:
    query, key = (draw.normal(t, d_k, dtype=dtype) for _ in range(2))
    return query, key, draw.normal(t, d_v, dtype=dtype, scale=scale)


def _window(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
    """Line up, for each query, its own keys: those of the window, by unfolding the padded keys."""
    t, d_k = query.shape
    keys, values = (F.pad(x, (0, 0, size - 1, 0)).unfold(0, size, 1) for x in (key, value))  # (t, width, size)
    scores = (query[:, None] @ keys)[:, 0] / math.sqrt(d_k)
    before = torch.arange(size) < size - 1 - torch.arange(t)[:, None]
    weights = scores.masked_fill(before, -torch.inf).softmax(dim=-1)
    return (values @ weights[..., None])[..., 0]


def _banded(query: Tensor, key: Tensor, value: Tensor, size: int, *, how: str = "right") -> Tensor:
    """Attend in a window by a mask over all pairs, with one thing changed."""
    scores = query @ key.mT / math.sqrt(1 if how == "no scale" else query.shape[-1])
    back = torch.arange(len(query))[:, None] - torch.arange(len(key))
    near = (back >= 0) & (back < size)
    if how == "one more":
        near = (back >= 0) & (back <= size)
    if how == "both sides":
        near = back.abs() < size
    if how == "blocks":
        block = torch.arange(len(query)) // size
        near = (back >= 0) & (block[:, None] == block)
    if how == "zero keys":
        hidden = torch.where(near, scores, 0.0)
        extra = (size - near.sum(-1)).clamp(min=0)[:, None]  # zero keys in front of the first
        powers = (hidden - hidden.amax(-1, True).clamp(min=0)).exp() * near
        return powers @ value / (powers.sum(-1, True) + extra * (-hidden.amax(-1, True).clamp(min=0)).exp())
    return scores.masked_fill(~near, -torch.inf).softmax(dim=-1) @ value


def _window_cases() -> list[Case]:
    draw = Draw(62)
    by_hand = torch.zeros(3, 1), torch.zeros(3, 1), torch.tensor([[0.0], [4.0], [8.0]]), 2
    return [
        Case(by_hand, "the example"),
        Case((*_three(draw, 4, 3, 2, F64), 3)),
        Case((*_three(draw, 5, 3, 2, F32), 1), "itself only"),
        Case((*_three(draw, 7, 5, 3, F64), 4)),
        Case((*_three(draw, 5, 2, 3, F32), 7), "a window longer than the text"),
        Case((*_three(draw, 13, 3, 5, F64, 1e3), 3), "large values"),
        Case((*_three(draw, 512, 4, 4, F32), 4), "a long text"),
    ]


def _window_limits(query: Tensor, key: Tensor, value: Tensor, size: int) -> Limits:
    t, width = len(query), max(query.shape[1], value.shape[1])
    return Limits(largest=4 * t * size * width, work=30 * t * size * width) if t >= LONG else Limits()


WINDOW_ATTENTION = Exercise(
    name="window-attention",
    title="Attend within a window, and pay for the window only",
    chapter="exercises",
    tier=3,
    minutes=35,
    topic="complexity",
    reference=_window,
    cases=_window_cases,
    limits=_window_limits,
    tested="windows of one and longer than the text, large values, a long text within limits, both dtypes",
    hints=(
        "Write the version with a mask over all pairs first; it is right and too dear. How many scores of a row "
        "survive the mask?",
        "Give each query its own few keys: an array of shape (t, size, d_k) holds them, and a product for each query "
        "gives (t, size) scores. Or cut the text into blocks: a block needs its own keys and those of the block "
        "before.",
        "With zeros in front, `unfold` shows each window as a view. The places in front of the text are not keys: "
        "hide them before the softmax. A loop over the distances 0 to size - 1 works as well.",
    ),
    mistakes=(
        Mistake(
            "all-pairs",
            lambda *given: _banded(*given),
            "The numbers are right, and the cost grows with the square of the length: by a score for every pair, most "
            "of them hidden, or by copying all earlier results at every position. Compute only what is in the window.",
        ),
        Mistake(
            "one-more",
            lambda *given: _banded(*given, how="one more"),
            "Your window is one position too long: it holds the query's own position and `size - 1` before it.",
        ),
        Mistake(
            "both-sides",
            lambda *given: _banded(*given, how="both sides"),
            "Your window reaches into the future. It ends at the query's own position.",
        ),
        Mistake(
            "blocks-apart",
            lambda *given: _banded(*given, how="blocks"),
            "Your blocks do not see each other. A window slides: the first query of a block needs keys of the block "
            "before.",
        ),
        Mistake(
            "padding-attended",
            lambda *given: _banded(*given, how="zero keys"),
            "The zeros in front of the text take part in the softmax: a score of 0 has weight exp(0). Hide them.",
        ),
        Mistake(
            "no-scale",
            lambda *given: _banded(*given, how="no scale"),
            "You did not divide the scores by the square root of their width.",
        ),
    ),
)


def _tiled(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    return _tiles(query, key, value, block)


def _tiles(query: Tensor, key: Tensor, value: Tensor, block: int, *, how: str = "right") -> Tensor:
    """Attend block by block over the keys, with one thing changed."""
    top = query.new_full((len(query), 1), -torch.inf)
    total, output = torch.zeros_like(top), query.new_zeros(len(query), value.shape[1])
    ends = range(0, len(key) - (len(key) % block if how == "rest dropped" else 0), block)
    for start in ends:
        scores = query @ key[start : start + block].mT
        scores = scores if how == "no scale" else scores / math.sqrt(query.shape[1])
        if how == "averaged":
            output = output + scores.softmax(dim=-1) @ value[start : start + block] / len(ends)
            continue
        new = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        new = new if how != "block maximum" else scores.amax(dim=-1, keepdim=True)
        new = new if how != "one for all" else new.amax().expand_as(new)
        top, new = (torch.zeros_like(top),) * 2 if how == "no shift" else (top, new)
        top, new = (top.clamp(min=0), new.clamp(min=0)) if how == "from zero" else (top, new)
        old = torch.ones_like(top) if how == "not rescaled" else (top - new).exp()
        powers = (scores - new).exp()
        total = total * (1 if how == "sum not rescaled" else old) + powers.sum(dim=-1, keepdim=True)
        output = output * old + powers @ value[start : start + block]
        top = new
    return output if how == "averaged" else output / total


def _steep(draw: Draw) -> Tensor:
    """Make queries whose scores are far apart, and one whose scores with positive keys are all far below 0."""
    query = 3e3 * draw.normal(5, 4)
    query[0] = -3e3 - query[0].abs()
    return query


def _tiled_cases() -> list[Case]:
    draw = Draw(63)
    by_hand = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3)]]), torch.tensor([[0.0], [4.0]]), 1
    return [
        Case(by_hand, "the example"),
        Case((*_three(draw, 4, 3, 2, F64), 2)),
        Case((*_three(draw, 5, 3, 2, F32), 3), "a last block that is shorter"),
        Case((_steep(draw), draw.normal(7, 4).abs(), draw.normal(7, 3), 9), "one block, scores in the thousands"),
        Case((_steep(draw), draw.normal(8, 4).abs(), draw.normal(8, 3), 3), "scores in the thousands"),
        Case((*_three(draw, 13, 3, 5, F64, 1e3), 4), "large values"),
        Case((*_three(draw, 256, 8, 8, F32), 16), "a long text"),
    ]


def _tiled_limits(query: Tensor, key: Tensor, value: Tensor, block: int) -> Limits:
    t, width = len(query), max(block, query.shape[1], value.shape[1])
    return Limits(held=8 * t * width) if t >= LONG else Limits()


TILED_ATTENTION = Exercise(
    name="tiled-attention",
    title="Attend tile by tile within a limit of memory",
    chapter="exercises",
    tier=3,
    minutes=35,
    topic="complexity",
    reference=_tiled,
    cases=_tiled_cases,
    limits=_tiled_limits,
    tested="blocks that fit and that do not, one block, scores far apart, a long text within a limit, both dtypes",
    hints=(
        "Go through the keys block by block. What has to be carried from block to block for each query, so that at the "
        "end the softmax is over all keys?",
        "Three things: the largest score so far, the sum of the exponentials, and the weighted sum of the values, both "
        "sums relative to that largest score.",
        "A block may bring a larger score. Then both sums shrink by exp(old - new) before the block is added. Start "
        "with minus infinity and zeros, and divide once, at the end.",
    ),
    mistakes=(
        Mistake(
            "whole-matrix",
            lambda query, key, value, block: (query @ key.mT / math.sqrt(query.shape[1])).softmax(dim=-1) @ value,
            "The numbers are right, and you held too much at once: the scores of all pairs, a result for every block, "
            "or products that were not summed yet. Sum up one block before you look at the next.",
        ),
        Mistake(
            "not-rescaled",
            lambda *given: _tiles(*given, how="not rescaled"),
            "The sums are not rescaled when a block brings a larger score: the early blocks then count too much.",
        ),
        Mistake(
            "sum-not-rescaled",
            lambda *given: _tiles(*given, how="sum not rescaled"),
            "You rescale the output and not the sum that it is divided by. Both were taken relative to the old "
            "maximum.",
        ),
        Mistake(
            "blocks-averaged",
            lambda *given: _tiles(*given, how="averaged"),
            "You took a softmax in each block and averaged the blocks. A block with high scores must count more.",
        ),
        Mistake(
            "no-shift",
            lambda *given: _tiles(*given, how="no shift"),
            "You exponentiated the scores as they are. Large ones overflow, and a row of very negative ones divides 0 "
            "by 0.",
        ),
        Mistake(
            "maximum-of-the-block",
            lambda *given: _tiles(*given, how="block maximum"),
            "You shift by the largest score of the block alone. After a block with larger scores the old sums are then "
            "multiplied by a huge number and overflow: keep the largest so far.",
        ),
        Mistake(
            "not-the-largest-of-the-row",
            lambda *given: _tiles(*given, how="one for all"),
            "A row is shifted by a number far above its own scores, so all of its exponentials are 0. Each query has a "
            "largest score of its own, which may be far below 0.",
            also=(lambda *given: _tiles(*given, how="from zero"),),
        ),
        Mistake(
            "rest-dropped",
            lambda *given: _tiles(*given, how="rest dropped"),
            "Keys behind the last whole block are left out. The last block may be shorter.",
        ),
        Mistake(
            "no-scale",
            lambda *given: _tiles(*given, how="no scale"),
            "You did not divide the scores by the square root of their width.",
        ),
    ),
)
