"""Layers to repair: ``debug-layer-norm`` and ``debug-heads``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _broken_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    mean = x.mean(dim=0, keepdim=True)
    deviation = x.std(dim=0, keepdim=True)
    return gain * (x - mean) / (deviation + eps) + bias


def _norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


OVER_THE_BATCH = (Edit("x.mean(dim=-1", "x.mean(dim=0"), Edit("x.var(dim=-1", "x.var(dim=0"))
UNBIASED = Edit("correction=0", "correction=1")
OUTSIDE = Edit("(variance + eps).sqrt()", "(variance.sqrt() + eps)")


def _norm_cases() -> list[Case]:
    draw = RandomInputs(81)

    def batch(*shape: int, eps: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        gain, bias = 1 + draw.normal(shape[-1], dtype=dtype), draw.normal(shape[-1], dtype=dtype)
        return draw.normal(*shape, dtype=dtype, scale=scale), gain, bias, eps

    by_hand = torch.tensor([[1.0, 3.0], [6.0, 2.0]]), torch.ones(2), torch.zeros(2), 0.0
    x, *rest = batch(2, 5, eps=0.1, dtype=F64)
    return [
        Case(by_hand, "the example"),
        Case(batch(3, 4, eps=0.5, dtype=F64), "a large epsilon"),
        Case(batch(2, 5, eps=0.1, dtype=F32)),
        Case((torch.tensor([1.0, 3.0]), *by_hand[1:]), "a vector alone"),
        Case(batch(2, 3, 2, 5, eps=0.1, dtype=F64), "two leading axes"),
        Case(batch(3, 1, 4, eps=0.1, dtype=F32), "a batch of single rows"),
        Case(batch(5, 2, eps=1e-5, dtype=F64, scale=1e-3), "small numbers"),
        Case(batch(4, 6, eps=0.1, dtype=F64, scale=1e3), "large numbers"),
        Case((1e5 + x, *rest), "rows far from 0"),
    ]


DEBUG_LAYER_NORM = Exercise(
    name="debug-layer-norm",
    title="Repair a layer norm",
    chapter="debugging",
    level=1,
    place=1,
    minutes=10,
    topic="add-norm",
    reference=_norm,
    broken=_broken_norm,
    cases=_norm_cases,
    tested="no, one and three leading axes, small and large numbers and epsilons, rows far from 0, both dtypes",
    hints=(
        "There are three faults. Give it one row alone, and the same row beside another. A layer norm gives the row "
        "the same result both times.",
        "The first fault is the axis. Mend it, then compare with `torch.nn.functional.layer_norm` at a large "
        "epsilon, and at epsilon 0: two more faults show one by one.",
        "At epsilon 0 only the divisor of the variance is left to differ: n or n - 1. The other fault is where "
        "epsilon is added, before or after the root.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (*OVER_THE_BATCH, UNBIASED, OUTSIDE),
            "This does what the code as given does. Start with a row alone and beside another row.",
        ),
        Mistake(
            "only-the-axis",
            (UNBIASED, OUTSIDE),
            "The axis is right now. Two faults are left: compare with torch's own function at epsilon 0, where only "
            "one of them can show.",
        ),
        Mistake(
            "still-unbiased",
            UNBIASED,
            "One fault is left: the variance still divides by n - 1. A layer norm divides by the width.",
        ),
        Mistake(
            "epsilon-outside",
            OUTSIDE,
            "One fault is left: epsilon is added to the root. It belongs under it, where it also keeps the gradient "
            "finite.",
        ),
        Mistake(
            "only-epsilon",
            (*OVER_THE_BATCH, UNBIASED),
            "Epsilon is in its place now. Two faults are left: the axis, and what the variance divides by.",
        ),
        Mistake(
            "only-the-divisor",
            (*OVER_THE_BATCH, OUTSIDE),
            "The divisor is right now. Two faults are left: the axis, and the place of epsilon.",
        ),
        Mistake(
            "still-over-the-batch",
            OVER_THE_BATCH,
            "The formula is right and the axis is not: your mean runs over the batch, so rows depend on each other.",
        ),
        Mistake(
            "axis-counted-from-the-front",
            (Edit("x.mean(dim=-1", "x.mean(dim=1"), Edit("x.var(dim=-1", "x.var(dim=1")),
            "Axis 1 is the last one of a matrix only. There may be any number of axes in front: the last one is -1.",
        ),
        Mistake(
            "gain-on-the-bias",
            Edit(
                "gain * (x - mean) / (variance + eps).sqrt() + bias",
                "gain * ((x - mean) / (variance + eps).sqrt() + bias)",
            ),
            "The gain multiplies the bias too. It multiplies the normalised vector, and the bias is added to that.",
        ),
        Mistake(
            "no-root",
            Edit("(variance + eps).sqrt()", "(variance + eps)"),
            "You divide by the variance. Its root is the deviation.",
        ),
    ),
)


def _broken_heads(x: Tensor, lengths: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, n_heads: int) -> Tensor:
    batch, t, width = x.shape[0], x.shape[1], w_q.shape[1]
    query, key, value = ((x @ w).view(batch, n_heads, t, -1) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(width)
    hidden = torch.arange(t) >= lengths[:, None]
    scores = scores.masked_fill(hidden[:, None, :, None], -1e4)
    output = scores.softmax(dim=-1) @ value
    return output.reshape(batch, t, width)


def _heads(x: Tensor, lengths: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, n_heads: int) -> Tensor:
    batch, t, width = x.shape[0], x.shape[1], w_q.shape[1]
    query, key, value = ((x @ w).view(batch, t, n_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(width // n_heads)
    hidden = torch.arange(t) >= lengths[:, None]
    scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
    output = scores.softmax(dim=-1) @ value
    return output.transpose(1, 2).reshape(batch, t, width)


CUT = Edit("(batch, t, n_heads, -1).transpose(1, 2)", "(batch, n_heads, t, -1)")
JOIN = Edit("output.transpose(1, 2)", "output")
QUERIES = Edit("hidden[:, None, None, :], -torch.inf", "hidden[:, None, :, None], -1e4")
WHOLE_WIDTH = Edit("width // n_heads", "width")


def _head_cases() -> list[Case]:
    draw = RandomInputs(82)

    def batch(lengths: list[int], t: int, d: int, heads: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        weights = [draw.normal(d, heads * 3, dtype=dtype, scale=s) for s in (1.0, 1.0, scale)]
        return draw.normal(len(lengths), t, d, dtype=dtype), torch.tensor(lengths), *weights, heads

    x, ones, one = torch.tensor([[[3.0], [5.0]]]), torch.ones(1, 2), torch.ones(1, 1)
    far = torch.tensor([[[200.0], [1.0]]]), torch.tensor([1]), one, -one, one, 1
    return [
        Case((x, torch.tensor([1]), ones, ones, torch.tensor([[1.0, 2.0]]), 2), "the example"),
        Case(batch([2, 1], 2, 3, 1, F64), "one head"),
        Case(batch([2, 3], 3, 4, 2, F32)),
        Case(batch([5, 3, 4], 5, 3, 3, F64), "as many sentences as heads"),
        Case(batch([4, 4], 4, 5, 2, F32), "no padding"),
        Case(batch([1, 6], 7, 4, 4, F64)),
        Case(batch([2, 2], 4, 3, 2, F64), "padding alike in both sentences"),
        Case(batch([3, 5], 5, 3, 2, F64, 1e3), "large values"),
        Case(far, "scores far below 0"),
        Case((torch.tensor([[[0.0], [2.0]]]), torch.tensor([2]), one, one, one, 1), "a real token of zeros"),
        Case((torch.tensor([[[1e10], [-1e10]]]), *far[1:]), "a huge pad"),
    ]


DEBUG_HEADS = Exercise(
    name="debug-heads",
    title="Repair heads that mix positions",
    chapter="debugging",
    level=2,
    place=2,
    minutes=25,
    topic="multi-head",
    reference=_heads,
    broken=_broken_heads,
    cases=_head_cases,
    tested="one head and several, as many sentences as heads, padding in some and all sentences, scores far below 0, "
    "a huge pad, both dtypes",
    hints=(
        "There are four faults. Change one token of `x` and see which rows of the query of a head change. It should "
        "be one row, in each head. That finds the first fault, and its twin at the end of the function.",
        "Then look at the scores of a padded sentence: print which entries hold the stand-in. A hidden key is a "
        "column, the same for every query.",
        "The last fault is quieter: the rows are only too flat. A score sums over the width of one head, and the "
        "root in the scale has to fit that sum.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (CUT, JOIN, QUERIES, WHOLE_WIDTH),
            "This does what the code as given does. Follow a single token through the first two lines.",
        ),
        Mistake(
            "join-not-mended",
            JOIN,
            "The heads are cut rightly and joined wrongly: swap heads and positions back before you reshape.",
        ),
        Mistake(
            "cut-not-mended",
            (CUT, JOIN),
            "`view` still puts neighbouring positions into a head. Give the last axis two, then swap heads and "
            "positions; the end of the function needs the way back.",
            also=(CUT,),
        ),
        Mistake(
            "queries-hidden",
            QUERIES,
            "The mask still fills whole rows, which are queries: the rows of the padding become flat, and the real "
            "rows look at the padding as before. The padding has to be hidden as keys.",
        ),
        Mistake(
            "mask-and-scale-left",
            (QUERIES, WHOLE_WIDTH),
            "The heads are right now, in and out. Two faults are left: what the mask hides, and the scale.",
        ),
        Mistake(
            "scale-not-mended",
            WHOLE_WIDTH,
            "One fault is left: you divide by the root of the width of all heads together.",
        ),
        Mistake(
            "only-the-scale",
            (CUT, JOIN, QUERIES),
            "The scale is right now. The heads are still cut and joined in the wrong order of axes, and the mask still "
            "hides queries.",
        ),
        Mistake(
            "mask-removed",
            Edit(".masked_fill(hidden[:, None, None, :], -torch.inf)", ""),
            "You took the mask out. Padding must not be looked at.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf", "-1e4"),
            "Your mask hides the keys now, by a finite number. Scores that count can be lower: use -inf.",
            also=(Edit("-torch.inf", "-1e9"),),
        ),
        Mistake(
            "keys-and-queries-hidden",
            Edit("hidden[:, None, None, :]", "hidden[:, None, None, :] | hidden[:, None, :, None]"),
            "You hid keys and queries of the padding. A query that sees nothing gives NaN: hide the keys alone.",
        ),
        Mistake(
            "scaled-by-model-width",
            Edit("width // n_heads", "x.shape[-1]"),
            "You divide by the root of the model's width. A score sums over the width of one head.",
        ),
    ),
)
