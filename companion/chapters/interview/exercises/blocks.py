"""Drill on a whole block: ``encoder-block``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _cut(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _norm(x: Tensor, gain: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain)


def _attended(x: Tensor, lengths: Tensor, w_qkv: Tensor, w_o: Tensor, n_heads: int) -> Tensor:
    query, key, value = (_cut(x @ w, n_heads) for w in w_qkv)
    real = torch.arange(x.shape[1]) < lengths[:, None]
    scores = (query @ key.mT / math.sqrt(key.shape[-1])).masked_fill(~real[:, None, None], -torch.inf)
    return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2) @ w_o


def _encoded(
    x: Tensor, lengths: Tensor, gains: Tensor, w_qkv: Tensor, w_o: Tensor, w_1: Tensor, w_2: Tensor, n_heads: int
) -> Tensor:
    x = x + _attended(_norm(x, gains[0]), lengths, w_qkv, w_o, n_heads)
    return x + (_norm(x, gains[1]) @ w_1).relu() @ w_2


def _block_cases() -> list[Case]:
    draw = RandomInputs(53)

    def block(lengths: list[int], t: int, d: int, heads: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        x, gains = draw.normal(len(lengths), t, d, dtype=dtype, scale=scale), 1 + draw.normal(2, d, dtype=dtype)
        w_qkv, w_o = draw.normal(3, d, d, dtype=dtype, scale=0.4), draw.normal(d, d, dtype=dtype)
        w_1, w_2 = draw.normal(d, 2 * d, dtype=dtype), draw.normal(2 * d, d, dtype=dtype)
        return x, torch.tensor(lengths), gains, w_qkv, w_o, w_1, w_2, heads

    x, eye = torch.tensor([[[3.0, 1.0]]]), torch.eye(2)
    by_hand = x, torch.tensor([1]), torch.ones(2, 2), torch.stack([eye] * 3), 2 * eye, eye, eye, 1
    pair, steep = torch.tensor([[[3.0, 1.0], [1.0, 4.0]]]), torch.stack([1e10 * eye, -1e10 * eye, eye])
    return [
        Case(by_hand, "the example"),
        Case(block([2], 2, 4, 1, F64)),
        Case(block([1, 3], 3, 4, 2, F32), "one sentence padded"),
        Case(block([2, 5, 3], 5, 6, 3, F64)),
        Case(block([4, 4], 4, 6, 2, F32), "no padding"),
        Case(block([3, 2], 7, 8, 8, F64), "no sentence fills the batch"),
        Case(block([5, 3], 5, 4, 2, F64, 1e3), "large inputs"),
        Case((pair, torch.tensor([1]), torch.ones(2, 2), steep, *[eye] * 3, 1), "a large score at a hidden key"),
        Case((pair * torch.tensor([[0.0], [1.0]]), torch.tensor([2]), *by_hand[2:]), "a real token of zeros"),
    ]


ENCODER_BLOCK = Exercise(
    name="encoder-block",
    title="Write a pre-norm encoder block",
    chapter="exercises",
    level=2,
    place=3,
    minutes=30,
    topic="architecture",
    reference=_encoded,
    cases=_block_cases,
    tested="one to four heads, padding in some and in all sentences, large inputs and scores, both dtypes",
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
            (
                Edit("x + _attended(_norm(x, gains[0])", "_norm(x + _attended(x"),
                Edit("w_o, n_heads)", "w_o, n_heads), gains[0])"),
                Edit("x + (_norm(x, gains[1]) @ w_1).relu() @ w_2", "_norm(x + (x @ w_1).relu() @ w_2, gains[1])"),
            ),
            "You normalised after each addition: that is post-norm, the order of 2017. Here the norm is inside the "
            "branch.",
        ),
        Mistake(
            "residual-of-the-normed",
            Edit("x + _attended", "_norm(x, gains[0]) + _attended"),
            "You added the branch to the normalised input. The residual path carries the input as it is.",
            also=(
                Edit("return x + ", "return _norm(x, gains[1]) + "),
                (
                    Edit("x + _attended", "_norm(x, gains[0]) + _attended"),
                    Edit("return x + ", "return _norm(x, gains[1]) + "),
                ),
            ),
        ),
        Mistake(
            "second-norm-missing",
            Edit("_norm(x, gains[1])", "x"),
            "The feed-forward network gets its input without the second norm.",
        ),
        Mistake(
            "second-residual-missing",
            Edit("return x + ", "return "),
            "The second residual is missing: the output is the feed-forward branch alone.",
        ),
        Mistake(
            "one-gain-for-both",
            Edit("gains[1]", "gains[0]"),
            "Both norms use the first gain. Each has a row of its own.",
        ),
        Mistake(
            "no-mask",
            Edit(".masked_fill(~real[:, None, None], -torch.inf)", "", of=_attended),
            "Real positions look at the padding. Hide its keys.",
        ),
        Mistake(
            "no-relu",
            Edit(".relu()", ""),
            "Without an activation between them the two matrices are one matrix.",
        ),
        Mistake(
            "parallel",
            (Edit("    x = x + _attended", "    y = x + _attended"), Edit("return x + ", "return y + ")),
            "Both branches read the input. The feed-forward network reads what the first line gives.",
        ),
        Mistake(
            "gains-swapped",
            (Edit("_norm(x, gains[0])", "_norm(x, gains[-1])"), Edit("_norm(x, gains[1])", "_norm(x, gains[0])")),
            "The two gains have changed places: the first row belongs to the attention.",
        ),
        Mistake(
            "scaled-by-all-heads",
            Edit("key.shape[-1]", "x.shape[-1]", of=_attended),
            "You divided by the root of the width of all heads together. A score sums over the width of one head.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(key.shape[-1])", "", of=_attended),
            "You did not divide the scores by the square root of the width of a head.",
        ),
        Mistake(
            "causal",
            Edit(
                "~real[:, None, None]",
                "~(real[:, None, None] & torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())",
                of=_attended,
            ),
            "Your attention is causal. An encoder sees the whole text, without the padding.",
        ),
        Mistake(
            "queries-hidden",
            Edit("~real[:, None, None], -torch.inf", "~real[:, None, :, None], -1e9", of=_attended),
            "You hid the rows of the padding, which are its queries. Its keys have to be hidden: the last axis.",
            also=(Edit("~real[:, None, None]", "~real[:, None, :, None]", of=_attended),),
        ),
        Mistake(
            "gelu",
            Edit("(_norm(x, gains[1]) @ w_1).relu()", "F.gelu(_norm(x, gains[1]) @ w_1)"),
            "You took a GELU. The activation asked for is a ReLU.",
        ),
        Mistake(
            "unbiased-deviation",
            Edit(
                "F.layer_norm(x, x.shape[-1:], gain)",
                "(x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + 1e-5) * gain",
                of=_norm,
            ),
            "Your norm divides by `std`, which has d - 1 in its denominator. A layer norm divides the squares by d.",
            also=(
                Edit(
                    "F.layer_norm(x, x.shape[-1:], gain)",
                    "(x - x.mean(dim=-1, keepdim=True)) / (x.var(dim=-1, keepdim=True) + 1e-5).sqrt() * gain",
                    of=_norm,
                ),
            ),
        ),
        Mistake(
            "padding-zeroed",
            (
                Edit("    return x + (", "    out = x + ("),
                Edit("@ w_2", "@ w_2\n    return out * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]"),
            ),
            "You set the rows of the padding to 0. They are computed like the others; only their keys are hidden.",
        ),
    ),
)
