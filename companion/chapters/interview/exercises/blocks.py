"""Drill on a whole block: ``encoder-block``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw

F32, F64 = torch.float32, torch.float64


def _cut(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _encoded(
    x: Tensor, lengths: Tensor, gains: Tensor, w_qkv: Tensor, w_o: Tensor, w_1: Tensor, w_2: Tensor, n_heads: int
) -> Tensor:
    return _block(x, lengths, gains, w_qkv, w_o, w_1, w_2, n_heads)


def _block(
    x: Tensor,
    lengths: Tensor,
    gains: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    w_1: Tensor,
    w_2: Tensor,
    n_heads: int,
    *,
    how: str = "right",
) -> Tensor:
    """Write a pre-norm encoder block with one thing changed."""

    def norm(h: Tensor, place: int) -> Tensor:
        place = 0 if how == "one gain" else place
        return F.layer_norm(h, h.shape[-1:], gains[place])

    def attend(h: Tensor) -> Tensor:
        query, key, value = (_cut(h @ w, n_heads) for w in w_qkv)
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        if how != "no mask":
            real = torch.arange(x.shape[1]) < lengths[:, None]
            scores = scores.masked_fill(~real[:, None, None], -torch.inf)
        return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2) @ w_o

    def feed(h: Tensor) -> Tensor:
        return (h @ w_1 if how == "no relu" else (h @ w_1).relu()) @ w_2

    if how == "post-norm":
        x = norm(x + attend(x), 0)
        return norm(x + feed(x), 1)
    normed = norm(x, 0)
    x = (normed if how == "residual of the normed" else x) + attend(normed)
    if how == "one residual":
        return feed(norm(x, 1))
    return x + feed(x if how == "one norm" else norm(x, 1))


def _block_cases() -> list[Case]:
    draw = Draw(53)

    def block(lengths: list[int], t: int, d: int, heads: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        x, gains = draw.normal(len(lengths), t, d, dtype=dtype, scale=scale), 1 + draw.normal(2, d, dtype=dtype)
        w_qkv, w_o = draw.normal(3, d, d, dtype=dtype, scale=0.4), draw.normal(d, d, dtype=dtype)
        w_1, w_2 = draw.normal(d, 2 * d, dtype=dtype), draw.normal(2 * d, d, dtype=dtype)
        return x, torch.tensor(lengths), gains, w_qkv, w_o, w_1, w_2, heads

    x, eye = torch.tensor([[[3.0, 1.0]]]), torch.eye(2)
    by_hand = x, torch.tensor([1]), torch.ones(2, 2), torch.stack([eye] * 3), 2 * eye, eye, eye, 1
    return [
        Case(by_hand, "the example"),
        Case(block([2], 2, 4, 1, F64)),
        Case(block([1, 3], 3, 4, 2, F32), "one sentence padded"),
        Case(block([2, 5, 3], 5, 6, 3, F64)),
        Case(block([4, 4], 4, 6, 2, F32), "no padding"),
        Case(block([3, 2], 7, 8, 4, F64), "no sentence fills the batch"),
        Case(block([5, 3], 5, 4, 2, F64, 1e3), "large inputs"),
    ]


ENCODER_BLOCK = Exercise(
    name="encoder-block",
    title="Write a pre-norm encoder block",
    chapter="exercises",
    tier=2,
    minutes=30,
    topic="architecture",
    reference=_encoded,
    cases=_block_cases,
    tested="one to four heads, padding in some and in all sentences, large inputs, both dtypes",
    hints=(
        "Write the two lines of the block first, with `attend` and `feed` as functions still to be written. Where does "
        "each norm stand, and what does each residual add to?",
        "Pre-norm: the norm is inside the branch, and the residual path is never normalised. The block is x plus a "
        "branch of the normed x, twice.",
        "`F.layer_norm` takes the shape of the last axis and a gain. The attention is that of the multi-head layer, "
        "with the keys of the padding hidden; the second norm has the second row of `gains`.",
    ),
    mistakes=(
        Mistake(
            "post-norm",
            lambda *given: _block(*given, how="post-norm"),
            "You normalised after each addition: that is post-norm, the order of 2017. Here the norm is inside the "
            "branch.",
        ),
        Mistake(
            "residual-of-the-normed",
            lambda *given: _block(*given, how="residual of the normed"),
            "You added the branch to the normalised input. The residual path carries the input as it is.",
        ),
        Mistake(
            "second-norm-missing",
            lambda *given: _block(*given, how="one norm"),
            "The feed-forward network gets its input without the second norm.",
        ),
        Mistake(
            "second-residual-missing",
            lambda *given: _block(*given, how="one residual"),
            "The second residual is missing: the output is the feed-forward branch alone.",
        ),
        Mistake(
            "one-gain-for-both",
            lambda *given: _block(*given, how="one gain"),
            "Both norms use the first gain. Each has a row of its own.",
        ),
        Mistake(
            "no-mask",
            lambda *given: _block(*given, how="no mask"),
            "Real positions look at the padding. Hide its keys.",
        ),
        Mistake(
            "no-relu",
            lambda *given: _block(*given, how="no relu"),
            "Without an activation between them the two matrices are one matrix.",
        ),
    ),
)
