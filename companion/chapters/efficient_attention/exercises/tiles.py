"""Exercise on attention without its square matrix: ``tiled-attention``."""

import math

import torch
from torch import Tensor

from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.forbidden import ATTENTION
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
LONG = 64  # a case this long has limits; below, every way is cheap


def single_head(
    draw: RandomInputs, t: int, d_k: int, d_v: int, dtype: torch.dtype, scale: float = 1.0
) -> tuple[Tensor, ...]:
    """Draw queries, keys and values of one head.

    Args:
        draw: where they come from.
        t: positions.
        d_k: width of queries and keys.
        d_v: width of values.
        dtype: of all three.
        scale: of the values.

    Returns:
        The three tensors.
    """
    query, key = (draw.normal(t, d_k, dtype=dtype) for _ in range(2))
    return query, key, draw.normal(t, d_v, dtype=dtype, scale=scale)


def _tiled(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    top = query.new_full((len(query), 1), -torch.inf)
    total, output = torch.zeros_like(top), query.new_zeros(len(query), value.shape[1])
    for start in range(0, len(key), block):
        scores = query @ key[start : start + block].mT / math.sqrt(query.shape[1])
        new = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        shrink = (top - new).exp()
        powers = (scores - new).exp()
        total = total * shrink + powers.sum(dim=-1, keepdim=True)
        output = output * shrink + powers @ value[start : start + block]
        top = new
    return output / total


def _blocks_averaged(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    pairs = list(zip(key.split(block), value.split(block), strict=True))
    return sum((query @ k.mT / math.sqrt(query.shape[1])).softmax(dim=-1) @ v for k, v in pairs) / len(pairs)


def _by_queries(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    return torch.stack([(key @ q / math.sqrt(len(q))).softmax(dim=0) @ value for q in query])


def _steep(draw: RandomInputs) -> Tensor:
    """Make queries whose scores are far apart, and one whose scores with positive keys are all far below 0."""
    query = 3e3 * draw.normal(5, 4)
    query[0] = -3e3 - query[0].abs()
    return query


def _tiled_cases() -> list[Case]:
    draw = RandomInputs(63)
    by_hand = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3)]]), torch.tensor([[0.0], [4.0]]), 1
    lowest = torch.tensor([[1e10]]), torch.tensor([[-1e10], [-2e10]]), torch.tensor([[3.0], [5.0]])
    return [
        Case(by_hand, "the example"),
        Case((*single_head(draw, 4, 3, 2, F64), 2)),
        Case((*single_head(draw, 5, 3, 2, F32), 3), "a last block that is shorter"),
        Case((_steep(draw), draw.normal(7, 4).abs(), draw.normal(7, 3), 9), "one block, scores in the thousands"),
        Case((_steep(draw), draw.normal(8, 4).abs(), draw.normal(8, 3), 3), "scores in the thousands"),
        Case((*single_head(draw, 13, 3, 5, F64, 1e3), 4), "large values"),
        Case((*single_head(draw, 256, 8, 8, F32), 16), "a long text"),
        Case((draw.normal(12, 8), draw.normal(512, 8), draw.normal(512, 8), 16), "few queries, a long text"),
        Case((*lowest, 1), "scores of -1e20"),
    ]


def _tiled_budget(query: Tensor, key: Tensor, value: Tensor, block: int) -> Budget:
    t, width = len(query), max(block, query.shape[1], value.shape[1])
    return Budget(largest=3 * t * width // 2, held=8 * t * width) if len(key) >= LONG else Budget()


TILED_ATTENTION = Exercise(
    name="tiled-attention",
    title="Attend tile by tile within a limit of memory",
    chapter="efficient-attention",
    level=3,
    place=11,
    minutes=35,
    topic="complexity",
    reference=_tiled,
    cases=_tiled_cases,
    budget=_tiled_budget,
    forbidden=ATTENTION,
    tested="blocks that fit and that do not, one block, scores far apart and far below 0, a long text and few queries "
    "within limits, both dtypes",
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
            "The numbers are right, and you held too much at once: the scores of all pairs, or of one query for all "
            "keys, a result for every block, or products that were not summed yet. Sum up one block of keys before you "
            "look at the next. Torch's fused function is counted like any other: write the loop.",
            also=(_by_queries,),
        ),
        Mistake(
            "not-rescaled",
            Edit("(top - new).exp()", "1.0"),
            "The sums are not rescaled when a block brings a larger score: the early blocks then count too much.",
        ),
        Mistake(
            "sum-not-rescaled",
            Edit("total * shrink", "total"),
            "You rescale the output and not the sum that it is divided by. Both were taken relative to the old "
            "maximum.",
        ),
        Mistake(
            "blocks-averaged",
            _blocks_averaged,
            "You took a softmax in each block and averaged the blocks. A block with high scores must count more.",
        ),
        Mistake(
            "no-shift",
            Edit("torch.maximum(top, scores.amax(dim=-1, keepdim=True))", "torch.zeros_like(top)"),
            "You exponentiated the scores as they are. Large ones overflow, and a row of very negative ones divides 0 "
            "by 0.",
        ),
        Mistake(
            "maximum-of-the-block",
            Edit("torch.maximum(top, scores.amax(dim=-1, keepdim=True))", "scores.amax(dim=-1, keepdim=True)"),
            "You shift by the largest score of the block alone. After a block with larger scores the old sums are then "
            "multiplied by a huge number and overflow: keep the largest so far.",
        ),
        Mistake(
            "not-the-largest-of-the-row",
            Edit("scores.amax(dim=-1, keepdim=True)", "scores.amax()"),
            "A row is shifted by a number far above its own scores, so all of its exponentials are 0. Each query has a "
            "largest score of its own, which may be far below 0.",
            also=(Edit("-torch.inf", "0.0"),),
        ),
        Mistake(
            "rest-dropped",
            Edit("range(0, len(key), block)", "range(0, len(key) - len(key) % block, block)"),
            "Keys after the last whole block are left out. The last block may be shorter.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(query.shape[1])", ""),
            "You did not divide the scores by the square root of their width.",
        ),
        Mistake(
            "output-not-rescaled",
            Edit("output * shrink", "output"),
            "You rescale the sum of the weights and not the output that it divides. Both were taken relative to the "
            "old maximum.",
        ),
    ),
)
