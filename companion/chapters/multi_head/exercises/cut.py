"""Exercises on cutting features into heads: ``split-heads``, ``merge-heads`` and ``repeat-heads``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _split_cases() -> list[Case]:
    draw = RandomInputs(11)

    def features(batch: int, t: int, n_heads: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(batch, t, n_heads * d, dtype=dtype, scale=scale), n_heads

    by_hand = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]), 2
    return [
        Case(by_hand, "the example"),
        Case(features(1, 3, 2, 2, F64)),
        Case(features(1, 2, 1, 3, F32), "one head"),
        Case(features(2, 5, 3, 5, F32)),
        Case(features(3, 2, 5, 1, F64), "width 1"),
        Case(features(2, 3, 3, 5, F64), "as many heads as positions"),
        Case(features(2, 7, 2, 5, F64, 1e3), "large numbers"),
        Case(features(1, 5, 4, 4, F32), "heads as wide as there are heads"),
        Case((draw.normal(2, 6, 5).mT, 3), "a transposed view"),
    ]


SPLIT_HEADS = Exercise(
    name="split-heads",
    title="Split features into heads",
    chapter="multi-head",
    level=1,
    place=1,
    minutes=10,
    reference=_split,
    cases=_split_cases,
    tested="one head, heads of width 1, as many heads as positions, a transposed view, float32 and float64",
    hints=(
        "The features of one position stay together: only the last axis is cut. Which two sizes does it become, and in "
        "which order must they stand, so that a head holds neighbouring features?",
        "Cut the last axis first, which gives (batch, t, n_heads, d). `unflatten` or `view` does that. Then think of "
        "where the axis of the heads has to go.",
        "After the cut, two axes have to change places. A `view` straight to the final shape would not move any number "
        "in memory, and so cannot change places of anything.",
    ),
    mistakes=(
        Mistake(
            "view-only",
            lambda x, n_heads: x.reshape(x.shape[0], n_heads, x.shape[1], -1),
            "You gave the numbers a new shape without moving them: they are cut in memory order, so a head holds whole "
            "positions instead of a part of each. Cut the last axis first, then let two axes change places.",
        ),
        Mistake(
            "interleaved",
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2),
            "You dealt the features out like cards: head 0 has feature 0, the next head feature 1. A head holds "
            "neighbouring features, so the heads are the outer of the two sizes that you cut.",
        ),
        Mistake(
            "heads-not-in-front",
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
            "The cut is right, but the heads still stand after the positions. A matrix product over positions needs "
            "the heads in front of them.",
        ),
        Mistake(
            "width-for-heads",
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).transpose(1, 2),
            "You took the number of heads for the width of a head. It counts the pieces, not their size.",
        ),
        Mistake(
            "positions-last",
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).permute(0, 2, 3, 1),
            "Your heads are transposed: positions stand last and features before them. Rows are positions.",
        ),
    ),
)


def _merge(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _merge_cases() -> list[Case]:
    draw = RandomInputs(12)

    def heads(*shape: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return (draw.normal(*shape, dtype=dtype, scale=scale),)

    by_hand = torch.tensor([[[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]])
    return [
        Case((by_hand,), "the example"),
        Case(heads(1, 2, 3, 2, dtype=F64)),
        Case(heads(1, 1, 3, 2, dtype=F32), "one head"),
        Case(heads(2, 3, 5, 7, dtype=F32)),
        Case(heads(3, 5, 2, 1, dtype=F64), "width 1"),
        Case(heads(2, 3, 3, 5, dtype=F64), "as many heads as positions"),
        Case(heads(2, 2, 7, 5, dtype=F64, scale=1e3), "large numbers"),
        Case(heads(1, 4, 4, 4, dtype=F32), "all sizes equal"),
        Case((draw.normal(2, 5, 3, 4).transpose(1, 2),), "a transposed view"),
    ]


MERGE_HEADS = Exercise(
    name="merge-heads",
    title="Concatenate the heads",
    chapter="multi-head",
    level=1,
    place=2,
    minutes=5,
    reference=_merge,
    cases=_merge_cases,
    tested="one head, heads of width 1, as many heads as positions, a transposed view, float32 and float64",
    hints=(
        "It is the way back: what you did last in the cut comes first here. Which axis must stand next to which, "
        "before "
        "two of them can become one?",
        "The heads of one position are to stand side by side. In (batch, n_heads, t, d) the axis of the heads and the "
        "axis of the width are not neighbours yet.",
        "Bring the heads after the positions, then let the last two axes become one. Where `view` complains about "
        "memory that is not contiguous, `reshape` or `flatten` works.",
    ),
    mistakes=(
        Mistake(
            "no-transpose",
            lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1),
            "You gave the numbers a new shape without moving them, so a position gets several positions of one head. "
            "Bring the heads after the positions first.",
        ),
        Mistake(
            "interleaved",
            lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
            "The features of the heads are shuffled into one another. The features of one head stay together.",
        ),
        Mistake(
            "added",
            lambda heads: heads.sum(dim=1),
            "You added the heads up. They are laid side by side, and the output projection does the mixing.",
        ),
        Mistake(
            "averaged",
            lambda heads: heads.mean(dim=1),
            "You averaged the heads. They are laid side by side, and the output projection does the mixing.",
        ),
        Mistake(
            "along-positions",
            lambda heads: heads.flatten(1, 2),
            "You laid the heads one below the other, along the positions. They belong side by side, along the "
            "features.",
        ),
    ),
)


def _repeat(heads: Tensor, n_heads: int) -> Tensor:
    return heads.repeat_interleave(n_heads // heads.shape[1], dim=1)


def _repeat_cases() -> list[Case]:
    draw = RandomInputs(13)

    def keys(batch: int, n_kv: int, t: int, d: int, group: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(batch, n_kv, t, d, dtype=dtype, scale=scale), n_kv * group

    by_hand = torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]]), 4
    return [
        Case(by_hand, "the example"),
        Case(keys(1, 2, 1, 2, 3, F64)),
        Case(keys(1, 1, 2, 3, 4, F32), "one key-value head"),
        Case(keys(2, 3, 5, 7, 2, F32)),
        Case(keys(3, 3, 3, 3, 1, F64), "nothing to share, all sizes equal"),
        Case(keys(3, 5, 2, 1, 3, F64), "width 1"),
        Case(keys(2, 2, 3, 5, 2, F64, 1e3), "as many in a group as groups"),
        Case((draw.normal(2, 5, 3, 4).transpose(1, 2), 6), "a transposed view"),
        Case(keys(1, 2, 1, 2, 4, F64), "a group of four"),
    ]


REPEAT_HEADS = Exercise(
    name="repeat-heads",
    title="Repeat shared keys for their group",
    chapter="multi-head",
    level=1,
    place=3,
    minutes=10,
    reference=_repeat,
    fixed=("heads",),  # n_heads is a multiple of theirs
    cases=_repeat_cases,
    tested="one key-value head, as many as queries, groups of two to four, a transposed view, float32 and float64",
    hints=(
        "Write down which key-value head each query head uses, for four query heads and two key-value heads. "
        "Neighbours "
        "share.",
        "Each key-value head appears several times, its copies one after the other. How many copies are needed, from "
        "the "
        "two numbers of heads?",
        "PyTorch has two functions that repeat along an axis. One repeats each entry in its place, the other repeats "
        "the whole list. Print both on the numbers 0 and 1.",
    ),
    mistakes=(
        Mistake(
            "tiled",
            lambda heads, n_heads: heads.repeat(1, n_heads // heads.shape[1], 1, 1),
            "Your heads go round in turn: the first, the second, the first again. Neighbouring query heads share a "
            "key-value head, so its copies stand together.",
        ),
        Mistake(
            "every-head-n-times",
            lambda heads, n_heads: heads.repeat_interleave(n_heads, dim=1),
            "You repeated each head as often as there are query heads. Together they must be as many as the queries: "
            "divide.",
        ),
        Mistake(
            "along-positions",
            lambda heads, n_heads: heads.repeat_interleave(n_heads // heads.shape[1], dim=2),
            "You repeated positions. The heads are the axis before.",
        ),
        Mistake(
            "not-repeated",
            lambda heads, n_heads: heads.clone(),
            "Nothing is repeated yet: there are still fewer key-value heads than query heads.",
        ),
        Mistake(
            "first-for-all",
            lambda heads, n_heads: heads[:, :1].expand(-1, n_heads, -1, -1),
            "All query heads use the first key-value head. That is right only where there is no other.",
        ),
        Mistake(
            "along-the-batch",
            lambda heads, n_heads: heads.repeat_interleave(n_heads // heads.shape[1], dim=0),
            "You repeated the sentences. The heads stand on axis 1.",
        ),
    ),
)
