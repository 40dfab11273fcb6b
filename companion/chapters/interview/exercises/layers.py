"""Drills on whole layers: ``grouped-query`` and ``cross-attention``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _cut(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _grouped_query(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, n_kv_heads: int
) -> Tensor:
    query, key, value = _cut(x @ w_q, n_heads), _cut(x @ w_k, n_kv_heads), _cut(x @ w_v, n_kv_heads)
    key, value = (y.repeat_interleave(n_heads // n_kv_heads, dim=1) for y in (key, value))
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    output = scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ value
    return output.transpose(1, 2).flatten(2) @ w_o


def _grouped_cases() -> list[Case]:
    draw = RandomInputs(51)

    def layer(
        batch: int, t: int, d: int, heads: int, kv: int, d_k: int, dtype: torch.dtype, scale: float = 1.0
    ) -> tuple:
        w_q, w_k = draw.normal(d, heads * d_k, dtype=dtype), draw.normal(d, kv * d_k, dtype=dtype)
        w_v, w_o = draw.normal(d, kv * d_k, dtype=dtype, scale=scale), draw.normal(heads * d_k, d, dtype=dtype)
        return draw.normal(batch, t, d, dtype=dtype), w_q, w_k, w_v, w_o, heads, kv

    one, ones, twice = torch.ones(1, 1), torch.ones(2, 1), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    return [
        Case((torch.tensor([[[1.0, 2.0]]]), torch.ones(2, 2), ones, ones, twice, 2, 1), "the example"),
        Case(layer(1, 3, 5, 4, 2, 2, F64)),
        Case(layer(2, 5, 3, 6, 2, 3, F32), "a batch, groups of three"),
        Case(layer(2, 4, 7, 4, 1, 5, F64), "one key head"),
        Case(layer(3, 5, 4, 3, 3, 2, F32), "as many key heads as query heads"),
        Case(layer(2, 7, 5, 6, 3, 2, F64)),
        Case(layer(2, 5, 7, 8, 2, 3, F64, 1e3), "large values"),
        Case((torch.tensor([[[1.0], [-1.0]]]), -2e20 * one, one, one, one, 1, 1), "a large score at a hidden key"),
    ]


GROUPED_QUERY = Exercise(
    name="grouped-query",
    title="Write grouped-query attention",
    chapter="exercises",
    level=2,
    place=1,
    minutes=20,
    topic="multi-head",
    reference=_grouped_query,
    cases=_grouped_cases,
    tested="groups of one, two, three and all heads, batches, large values and scores, both dtypes",
    hints=(
        "The layer is the multi-head layer with fewer key heads than query heads. Cut each of the three products into "
        "its own number of heads, all of one width.",
        "Query heads that share a key head stand next to each other. Either repeat each key head for its group, or cut "
        "the query heads into groups and let an axis of size 1 broadcast.",
        "`repeat_interleave` over the head axis repeats 0, 0, 1, 1; `repeat` would give 0, 1, 0, 1. The width in the "
        "scale is that of one head. Hide the later keys before the softmax, and join the heads before `w_o`.",
    ),
    mistakes=(
        Mistake(
            "tiled",
            Edit("repeat_interleave(n_heads // n_kv_heads, dim=1)", "repeat(1, n_heads // n_kv_heads, 1, 1)"),
            "Your key heads come in the order 0, 1, 0, 1. Neighbouring query heads share a key head: 0, 0, 1, 1.",
        ),
        Mistake(
            "first-head-for-all",
            Edit("y.repeat_interleave(n_heads // n_kv_heads, dim=1)", "y[:, :1].expand(-1, n_heads, -1, -1)"),
            "Every query head uses the first key head. That is multi-query attention; here each group has its own.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(key.shape[-1])", ""),
            "You did not divide the scores by the square root of the width of a head.",
        ),
        Mistake(
            "scaled-by-all-heads",
            Edit("key.shape[-1]", "w_q.shape[1]"),
            "You divided by the root of the width of all heads together. A score sums over the width of one head.",
        ),
        Mistake(
            "scaled-by-d-model-over-heads",
            Edit("key.shape[-1]", "x.shape[-1] / n_heads"),
            "You took d_model over the number of heads for the width of a head. Here the width follows from the "
            "columns of `w_q`.",
        ),
        Mistake(
            "not-causal",
            Edit(".masked_fill(later, -torch.inf)", ""),
            "A position still sees the later ones: the causal mask is missing.",
        ),
        Mistake(
            "heads-not-swapped-back",
            Edit("output.transpose(1, 2).flatten(2)", "output.reshape(*x.shape[:2], -1)"),
            "You reshaped before you swapped heads and positions back. The numbers of one position end up in several.",
        ),
        Mistake(
            "scaled-by-model-width",
            Edit("key.shape[-1]", "x.shape[-1]"),
            "You divided by the root of the model's width. A score sums over the width of one head.",
        ),
        Mistake(
            "cut-by-a-reshape-alone",
            Edit(
                "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)", "x.reshape(len(x), n_heads, x.shape[1], -1)", of=_cut
            ),
            "You reshaped to (batch, heads, t, width) in one go, which mixes positions. Cut the last axis into heads, "
            "then swap heads and positions.",
        ),
        Mistake(
            "itself-hidden",
            Edit("triu(1)", "triu(0)"),
            "A position does not see itself, and the first one sees nothing. The mask begins above the diagonal.",
        ),
        Mistake(
            "one-later-seen",
            Edit("triu(1)", "triu(2)"),
            "A position sees the one after it. The mask begins right above the diagonal.",
        ),
        Mistake(
            "mask-after-softmax",
            Edit(".masked_fill(later, -torch.inf).softmax(dim=-1)", ".softmax(dim=-1).masked_fill(later, 0.0)"),
            "Your mask acts after the softmax: later positions have taken their share, and the rows do not sum to 1.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf", "-1e9"),
            "You hide scores by a finite number, and scores that count can be lower. Use -inf.",
        ),
    ),
)


def _cross_attention(
    x: Tensor, memory: Tensor, lengths: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> Tensor:
    query, key, value = _cut(x @ w_q, n_heads), _cut(memory @ w_k, n_heads), _cut(memory @ w_v, n_heads)
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    real = torch.arange(memory.shape[1]) < lengths[:, None]
    weights = scores.masked_fill(~real[:, None, None], -torch.inf).softmax(dim=-1)
    return (weights @ value).transpose(1, 2).flatten(2) @ w_o


def _cross_cases() -> list[Case]:
    draw = RandomInputs(52)

    def pair(
        lengths: list[int], t_q: int, t_k: int, d: int, heads: int, dtype: torch.dtype, scale: float = 1.0
    ) -> tuple:
        x = draw.normal(len(lengths), t_q, d, dtype=dtype)
        memory = draw.normal(len(lengths), t_k, d + 1, dtype=dtype, scale=scale)
        w_q, w_o = draw.normal(d, heads * 2, dtype=dtype), draw.normal(heads * 2, d, dtype=dtype)
        w_k, w_v = (draw.normal(d + 1, heads * 2, dtype=dtype) for _ in range(2))
        return x, memory, torch.tensor(lengths), w_q, w_k / scale, w_v, w_o, heads

    one, x = torch.ones(1, 1), torch.ones(1, 1, 1)
    by_hand = x, torch.tensor([[[2.0], [5.0]]]), torch.tensor([1]), one, one, one, 3 * one, 1
    memory = torch.tensor([[[-3.0], [-2.0], [1.0]]])
    return [
        Case(by_hand, "the example"),
        Case(pair([2], 3, 3, 3, 1, F64), "a full source"),
        Case(pair([3, 1], 2, 4, 3, 2, F32), "as many sentences as heads"),
        Case(pair([5, 2, 4], 3, 5, 4, 2, F64)),
        Case(pair([1, 4], 7, 4, 5, 4, F32), "more queries than keys"),
        Case(pair([4, 2, 7], 5, 7, 3, 3, F64)),
        Case(pair([2, 3], 3, 5, 3, 2, F64, 1e3), "large numbers in the source"),
        Case((x, memory, torch.tensor([2]), *[100.0 * one] * 2, one, one, 1), "a large score at a hidden key"),
        Case((x, torch.tensor([[[0.0], [2.0]]]), torch.tensor([2]), 0 * one, one, one, one, 1), "a real row of zeros"),
        Case(
            (x, 1e20 * torch.tensor([[[-1.0], [1.0]]]), torch.tensor([1]), one, one, 1e-20 * one, one, 1), "a huge pad"
        ),
    ]


CROSS_ATTENTION = Exercise(
    name="cross-attention",
    title="Attend to a padded source",
    chapter="exercises",
    level=2,
    place=2,
    minutes=20,
    topic="architecture",
    reference=_cross_attention,
    cases=_cross_cases,
    tested="padding or none, more queries than keys, as many sentences as heads, large scores, a real row of zeros, "
    "a huge pad, both dtypes",
    hints=(
        "Two sequences meet: one asks, the other is asked. Which of the three products uses which, and which of the "
        "two lengths does each axis of the scores have?",
        "The mask comes from the lengths of the source and hides keys. It has to meet scores of four axes: batch, "
        "heads, queries, keys.",
        "Compare `torch.arange(t_k)` with a column of lengths, then put two axes of size 1 between batch and keys. "
        "Nothing is causal here: the whole source may be seen.",
    ),
    mistakes=(
        Mistake(
            "no-mask",
            Edit(".masked_fill(~real[:, None, None], -torch.inf)", ""),
            "The padding of the source is looked at. Its keys have to be hidden.",
        ),
        Mistake(
            "mask-after-softmax",
            Edit(
                ".masked_fill(~real[:, None, None], -torch.inf).softmax(dim=-1)",
                ".softmax(dim=-1) * real[:, None, None]",
            ),
            "Your mask acts after the softmax: the padding has taken its share, and the rows no longer sum to 1.",
        ),
        Mistake(
            "off-by-one",
            Edit("< lengths", "<= lengths"),
            "One position of padding still counts as real. Positions begin at 0, lengths at 1.",
        ),
        Mistake(
            "two-axes",
            Edit("real[:, None, None]", "real"),
            "Your mask of shape (batch, t_k) meets the scores as (queries, keys). It needs an axis for the heads and "
            "one for the queries between its own two.",
        ),
        Mistake(
            "causal",
            Edit("~real[:, None, None]", "~(real[:, None, None] & torch.ones_like(scores, dtype=torch.bool).tril())"),
            "You hid later positions of the source. The source is known as a whole before the first token is written.",
        ),
        Mistake(
            "scaled-by-all-heads",
            Edit("key.shape[-1]", "w_q.shape[1]"),
            "You divided by the root of the width of all heads together. A score sums over the width of one head.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(key.shape[-1])", ""),
            "You did not divide the scores by the square root of the width of a head.",
        ),
        Mistake(
            "scaled-by-model-width",
            Edit("key.shape[-1]", "x.shape[-1]"),
            "You divided by the root of the model's width. A score sums over the width of one head.",
            also=(Edit("key.shape[-1]", "memory.shape[-1]"),),
        ),
        Mistake(
            "heads-not-swapped-back",
            Edit("(weights @ value).transpose(1, 2).flatten(2)", "(weights @ value).reshape(*x.shape[:2], -1)"),
            "You reshaped before you swapped heads and positions back. The numbers of one position end up in several.",
        ),
        Mistake(
            "zero-for-a-score",
            Edit("-torch.inf", "0.0"),
            "You set the scores of the padding to 0. A score of 0 has weight exp(0) = 1: nothing is hidden.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf", "-1e9"),
            "You hide scores by a finite number, and scores that count can be lower. Use -inf.",
            also=(Edit("-torch.inf", "-1e4"),),
        ),
    ),
)
