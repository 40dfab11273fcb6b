"""A composed task: multi-head attention that grows masks, then a cache, then grouped heads."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task
from companion.practice.trial import Refusal, entries, gradients, several, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]
Cache = tuple[Tensor, Tensor, Tensor]  # keys, values, and which of them are real
LONG = 24
"""Positions of the case on which work is counted."""


def _split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _heads(query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
    query, key, value = (_split(x, n_heads) for x in (query, key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if allowed is None:
        output = scores.softmax(dim=-1) @ value
    else:
        allowed = allowed[:, None]
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        output = scores.softmax(dim=-1).masked_fill(~allowed, 0.0) @ value
    return output.transpose(1, 2).flatten(2)


def _empty_rows_as_nan(query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
    query, key, value = (_split(x, n_heads) for x in (query, key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if allowed is not None:
        scores = scores.masked_fill(~allowed[:, None], -torch.inf)
    return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)


def _added_mask(query: Tensor, key: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
    query, key = _split(query, n_heads), _split(key, n_heads)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if allowed is not None:
        scores = scores + torch.zeros(allowed.shape, dtype=scores.dtype).masked_fill(~allowed, -torch.inf)[:, None]
    return scores.softmax(dim=-1)


def _nan_in_weights(query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
    weights = _added_mask(query, key, n_heads, allowed).nan_to_num()
    return (weights @ _split(value, n_heads)).transpose(1, 2).flatten(2)


def _nan_in_output(query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
    weights = _added_mask(query, key, n_heads, allowed)
    return (weights @ _split(value, n_heads)).nan_to_num().transpose(1, 2).flatten(2)


def _masked_after_softmax(query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
    query, key, value = (_split(x, n_heads) for x in (query, key, value))
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
    if allowed is not None:
        weights = weights * allowed[:, None]
    return (weights @ value).transpose(1, 2).flatten(2)


def _heads_trial(
    answer: Answer, query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None
) -> tuple[Tensor, ...]:
    """Compare the output and the gradients of the three tensors."""
    leaves = [x.clone().requires_grad_() for x in (query, key, value)]
    output = tensor(answer(*leaves, n_heads, allowed), *query.shape[:2], value.shape[-1])
    return output.detach(), *gradients(output, leaves)


def _heads_cases() -> list[Case]:
    draw = RandomInputs(141)

    def heads(
        batch: int,
        t_q: int,
        t_k: int,
        n_heads: int,
        d_k: int,
        d_v: int,
        dtype: torch.dtype,
        *,
        masked: bool = True,
        scale: float = 1.0,
    ) -> tuple:
        query, key = (
            draw.normal(batch, t_q, n_heads * d_k, dtype=dtype),
            draw.normal(batch, t_k, n_heads * d_k, dtype=dtype),
        )
        value = draw.normal(batch, t_k, n_heads * d_v, dtype=dtype, scale=scale)
        return query, key, value, n_heads, draw.mask(batch, t_q, t_k) if masked else None

    keys = torch.tensor([[[math.log(3.0), 0.0], [0.0, 0.0]]])
    by_hand = torch.ones(1, 1, 2), keys, torch.tensor([[[4.0, 4.0], [8.0, 8.0]]]), 2, None
    blind = heads(2, 3, 5, 2, 3, 2, F64)
    blind[-1][1, 2] = False
    return [
        Case(by_hand, "the example"),
        Case(heads(1, 2, 3, 2, 2, 2, F64, masked=False)),
        Case(heads(2, 5, 7, 3, 2, 4, F32, masked=False), "no mask"),
        Case(heads(2, 5, 7, 3, 2, 4, F64), "a mask"),
        Case(heads(3, 4, 6, 3, 2, 1, F64), "a mask, as many heads as sentences"),
        Case(heads(1, 4, 4, 4, 3, 2, F32), "as many heads as positions"),
        Case(blind, "a query with no key"),
        Case(heads(2, 4, 6, 2, 4, 3, F64, scale=1e3), "large values"),
    ]


HEADS = Exercise(
    name="grow-heads",
    title="Attend in several heads",
    chapter="task-attention",
    topic="multi-head",
    level=2,
    place=1,
    minutes=12,
    reference=_heads,
    cases=_heads_cases,
    trial=_heads_trial,
    returns=("output", "gradient for query", "gradient for key", "gradient for value"),
    tested="outputs and gradients; queries and keys of different number, masks, a query with no key, both dtypes",
    hints=(
        "Write the shape behind each line: split, scores, weights, heads, output. Only the last two axes take part in "
        "the products; the batch and the heads come along.",
        "A head is a run of neighbouring features. Splitting makes a new axis behind the positions and swaps it to the "
        "front of them; merging goes the same way back. The scale is the root of the width of one head.",
        "A softmax over nothing but minus infinity is NaN. Where minus infinity was added, replacing the NaN mends the "
        "output and not the gradient. Fill with a finite number instead, and make the hidden weights zero afterwards.",
    ),
    mistakes=(
        Mistake(
            "no-heads",
            Edit("x.unflatten(-1, (n_heads, -1)).transpose(1, 2)", "x[:, None]", of=_split),
            "This is one wide head: nothing is split.",
        ),
        Mistake(
            "scale-of-all-heads",
            (
                Edit("query, key, value = (_split", "width = query.shape[-1]\n    query, key, value = (_split"),
                Edit("math.sqrt(query.shape[-1])", "math.sqrt(width)"),
            ),
            "You scaled by the width of all heads together. The scores of a head are sums over its own width.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(query.shape[-1])", ""),
            "The scores are not divided by the root of the width of a head.",
        ),
        Mistake(
            "split-by-view",
            Edit(
                "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)",
                "x.reshape(len(x), n_heads, x.shape[1], -1)",
                of=_split,
            ),
            "You split with a new shape alone, so each head holds whole positions instead of a part of each. Make the "
            "axis of the heads behind the positions, then swap the two.",
        ),
        Mistake(
            "merge-by-view",
            Edit("output.transpose(1, 2).flatten(2)", "output.reshape(len(output), output.shape[2], -1)"),
            "You merged without swapping the positions back in front of the heads, so features of several positions "
            "stand in one row.",
        ),
        Mistake(
            "both-by-view",
            (
                Edit(
                    "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)",
                    "x.reshape(len(x), n_heads, x.shape[1], -1)",
                    of=_split,
                ),
                Edit("output.transpose(1, 2).flatten(2)", "output.reshape(len(output), output.shape[2], -1)"),
            ),
            "Split and merge are both done by a new shape alone. The two hide each other: all shapes fit, and with as "
            "many queries as keys each head sees a few whole positions.",
        ),
        Mistake(
            "interleaved",
            (
                Edit("(n_heads, -1)).transpose(1, 2)", "(-1, n_heads)).permute(0, 3, 1, 2)", of=_split),
                Edit("output.transpose(1, 2)", "output.permute(0, 2, 3, 1)"),
            ),
            "Your heads take every other feature. A head is a run of neighbouring features: the axis of the heads "
            "comes before that of the width.",
        ),
        Mistake(
            "mask-ignored",
            (
                Edit(".masked_fill(~allowed, torch.finfo(scores.dtype).min)", ""),
                Edit(".masked_fill(~allowed, 0.0)", ""),
            ),
            "The mask has no effect yet.",
        ),
        Mistake(
            "mask-inverted",
            Edit("allowed = allowed[:, None]", "allowed = ~allowed[:, None]"),
            "The mask is read the other way round: True means that the query may look.",
        ),
        Mistake(
            "mask-without-head-axis",
            Edit("allowed = allowed[:, None]", "allowed = allowed"),
            "Your mask has no axis for the heads, and its first axis, the sentences, meets that of the heads: it "
            "raises, or where the two are equally many hides the wrong keys in silence.",
        ),
        Mistake(
            "mask-after-softmax",
            _masked_after_softmax,
            "You hide keys behind the softmax, so the weights that are left do not sum to 1. Hide the scores first.",
        ),
        Mistake(
            "blind-query-averages",
            Edit(".masked_fill(~allowed, 0.0)", ""),
            "A query that may look at nothing gets the mean of all values. Its output is zero.",
        ),
        Mistake(
            "blind-query-nan",
            _empty_rows_as_nan,
            "A query that may look at nothing gives NaN: a softmax of nothing but minus infinity. It gives zero.",
        ),
        Mistake(
            "nan-in-the-gradient",
            _nan_in_weights,
            "The output is right, and the gradient is NaN: the zeros were put in place of NaN behind the softmax, and "
            "its backward pass still meets them. Keep the softmax itself finite.",
            also=(_nan_in_output,),
        ),
    ),
)


def _layer(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor) -> Tensor:
    t = x.shape[1]
    causal = torch.ones(t, t, dtype=torch.bool).tril()
    allowed = causal & real[:, None]
    return _heads(x @ w_q, x @ w_k, x @ w_v, n_heads, allowed) @ w_o


def _layer_trial(
    answer: Answer, x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor
) -> tuple[Tensor, ...]:
    """Compare the output at real positions, and the gradients that come from there."""
    leaves = [y.clone().requires_grad_() for y in (x, w_q, w_k, w_v, w_o)]
    output = tensor(answer(*leaves, n_heads, real), *x.shape).masked_fill(~real[..., None], 0.0)
    return output.detach(), *gradients(output, leaves)


def _weights(draw: RandomInputs, d: int, n_heads: int, n_kv_heads: int, d_k: int, dtype: torch.dtype) -> tuple:
    wide, narrow = n_heads * d_k, n_kv_heads * d_k
    sizes = (d, wide), (d, narrow), (d, narrow), (wide, d)
    return tuple(draw.normal(*size, dtype=dtype, scale=size[0] ** -0.5) for size in sizes)


def _padded(*lengths: int, t: int, left: bool = False) -> Tensor:
    real = torch.arange(t) < torch.tensor(lengths)[:, None]
    return real.flip(1) if left else real


def _layer_cases() -> list[Case]:
    draw = RandomInputs(142)

    def layer(d: int, n_heads: int, d_k: int, dtype: torch.dtype, real: Tensor, scale: float = 1.0) -> tuple:
        w_q, w_k, w_v, w_o = _weights(draw, d, n_heads, n_heads, d_k, dtype)
        x = draw.normal(*real.shape, d, dtype=dtype)
        return x, w_q, w_k, scale * w_v, w_o, n_heads, real

    eye = torch.eye(2)
    by_hand = torch.tensor([[[2.0, 4.0], [4.0, 8.0], [5.0, 5.0]]]), 0 * eye, eye, eye, eye, 2, _padded(2, t=3)
    return [
        Case(by_hand, "the example"),
        Case(layer(4, 2, 2, F64, _padded(3, t=3))),
        Case(layer(5, 3, 2, F32, _padded(3, 3, t=3)), "no padding"),
        Case(layer(7, 2, 3, F64, _padded(5, 2, 1, t=5)), "padding on the right"),
        Case(layer(7, 2, 3, F64, _padded(5, 2, 1, t=5, left=True)), "padding on the left"),
        Case(layer(5, 3, 2, F32, _padded(4, 3, 2, t=4, left=True)), "as many heads as sentences"),
        Case(layer(6, 2, 4, F64, torch.tensor([[True, False, True, True], [False, True, False, True]])), "gaps"),
        Case(layer(5, 2, 3, F64, _padded(6, 4, t=6), 1e4), "large weights"),
    ]


MASKS = Exercise(
    name="grow-masks",
    title="Grow masks",
    chapter="task-attention",
    topic="multi-head",
    level=2,
    place=2,
    minutes=8,
    reference=_layer,
    cases=_layer_cases,
    trial=_layer_trial,
    returns=("output", *(f"gradient for {name}" for name in ("x", "w_q", "w_k", "w_v", "w_o"))),
    tested="outputs at real positions and gradients; no padding, padding on either side, gaps, both dtypes",
    hints=(
        "There are two reasons why a query may not look at a key: the key is later, or it is padding. Make one mask of "
        "each, with the shapes beside it, and join them.",
        "The causal mask is (t, t) and the same for all sentences. The padding is (batch, t) and belongs to the keys, "
        "so it needs an axis for the queries before it broadcasts.",
        "A pair is allowed where both allow it. Rows at padding on the left are then empty, and stage 1 has made sure "
        "that an empty row is harmless.",
    ),
    mistakes=(
        Mistake(
            "sees-the-future",
            Edit("causal & real[:, None]", "real[:, None].expand(-1, t, -1)"),
            "Your queries look at later keys: the layer is not causal.",
        ),
        Mistake(
            "sees-padding",
            Edit("causal & real[:, None]", "causal.expand(len(x), -1, -1)"),
            "Your queries look at padding. It is hidden as a key, from every query: a column, not a row.",
            also=(Edit("real[:, None]", "real[..., None]"),),
        ),
        Mistake(
            "either-is-enough",
            Edit("causal & real[:, None]", "causal | real[:, None]"),
            "You allow a pair where either mask does. Both must.",
        ),
        Mistake(
            "not-itself",
            Edit(".tril()", ".tril(-1)"),
            "A query does not see its own position. The diagonal of a causal mask is allowed.",
        ),
        Mistake(
            "looks-ahead-only",
            Edit(".tril()", ".triu()"),
            "The causal mask is upside down: queries see themselves and what follows. Rows are queries, columns keys.",
        ),
        Mistake(
            "padding-inverted",
            Edit("& real", "& ~real"),
            "The padding is read the other way round: `real` is True for tokens that count.",
        ),
        Mistake(
            "no-output-projection",
            Edit(" @ w_o", ""),
            "The last product is missing: the heads are merged, but nothing mixes them.",
        ),
    ),
)


def _longer(cache: Cache | None, *new: Tensor) -> tuple[Tensor, ...]:
    return new if cache is None else tuple(torch.cat(pair, dim=1) for pair in zip(cache, new, strict=True))


def _cached(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor, cache: Cache | None
) -> tuple[Tensor, Cache]:
    key, value = x @ w_k, x @ w_v
    key, value, real = _longer(cache, key, value, real)
    t_new, t = x.shape[1], key.shape[1]
    causal = torch.ones(t_new, t, dtype=torch.bool).tril(t - t_new)
    output = _heads(x @ w_q, key, value, n_heads, causal & real[:, None])
    return output @ w_o, (key, value, real)


def _recomputed(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor, cache: tuple | None
) -> tuple[Tensor, tuple]:
    t_new = x.shape[1]
    if cache is not None:
        x, real = torch.cat([cache[0], x], dim=1), torch.cat([cache[1], real], dim=1)
    return _layer(x, w_q, w_k, w_v, w_o, n_heads, real)[:, -t_new:], (x, real)


def _in_chunks(
    answer: Answer, x: Tensor, real: Tensor, chunks: tuple[int, ...], *settings: object
) -> tuple[Tensor, object]:
    """Feed a text chunk by chunk; give the outputs at real positions, side by side, and the last cache."""
    cache, outputs = None, []
    for part, counted in zip(x.split(chunks, dim=1), real.split(chunks, dim=1), strict=True):
        made = answer(part.clone(), *settings, counted.clone(), cache)
        output, cache = several(made, "output", "cache")
        outputs.append(tensor(output, *part.shape).masked_fill(~counted[..., None], 0.0))
    return torch.cat(outputs, dim=1), cache


def _cached_trial(
    answer: Answer,
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    real: Tensor,
    chunks: tuple[int, ...],
) -> Tensor:
    """Compare the outputs of all chunks."""
    return _in_chunks(answer, x, real, chunks, w_q, w_k, w_v, w_o, n_heads)[0]


def _cached_budget(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    real: Tensor,
    chunks: tuple[int, ...],
) -> Budget:
    """Allow the four projections of each position three times, and attention over the cache four times."""
    t, d = x.shape[1:]
    return Budget(work=12 * t * d * d + 8 * t * t * d) if t >= LONG else Budget()


def _cached_cases() -> list[Case]:
    draw = RandomInputs(143)

    def layer(
        d: int, n_heads: int, d_k: int, dtype: torch.dtype, real: Tensor, *chunks: int, scale: float = 1.0
    ) -> tuple:
        w_q, w_k, w_v, w_o = _weights(draw, d, n_heads, n_heads, d_k, dtype)
        return draw.normal(*real.shape, d, dtype=dtype), w_q, w_k, scale * w_v, w_o, n_heads, real, chunks

    one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    by_hand = torch.tensor([[[2.0], [4.0], [9.0]]]), zero, one, one, one, 1, _padded(3, t=3), (1, 1, 1)
    return [
        Case(by_hand, "the example"),
        Case(layer(4, 2, 2, F64, _padded(3, t=3), 3), "all at once"),
        Case(layer(4, 2, 2, F64, _padded(4, t=4), 1, 1, 1, 1), "one by one"),
        Case(layer(5, 3, 2, F32, _padded(5, 5, t=5), 3, 1, 1), "a prompt, then one by one"),
        Case(layer(7, 2, 3, F64, _padded(6, 6, t=6), 2, 3, 1), "a second chunk of several"),
        Case(layer(7, 2, 3, F64, _padded(6, 4, 3, t=6, left=True), 4, 1, 1), "a prompt padded on the left"),
        Case(layer(5, 3, 2, F32, _padded(6, 5, 4, t=6, left=True), 3, 2, 1), "as many heads as sentences"),
        Case(layer(5, 2, 3, F64, _padded(5, 5, t=5), 2, 1, 2, scale=1e4), "large weights"),
        Case(layer(32, 2, 16, F32, _padded(LONG, t=LONG), *[1] * LONG), "work is counted"),
    ]


CACHE = Exercise(
    name="grow-cache",
    title="Grow a cache",
    chapter="task-attention",
    topic="generation",
    level=3,
    place=3,
    minutes=15,
    reference=_cached,
    cases=_cached_cases,
    trial=_cached_trial,
    budget=_cached_budget,
    tested="outputs chunk by chunk; prompts, chunks of several positions, padding on the left, work, both dtypes",
    hints=(
        "What of an earlier position does a later one need? Neither its query nor its output. Keep what is needed, "
        "make it longer by the new positions, and attend over all of it with the new queries alone.",
        "The mask is no longer square: its rows are the new positions, its columns all positions so far. Which columns "
        "may the first new row see, and which the last?",
        "The diagonal of the causal mask moves to the right by the number of positions in the cache. Whether an old "
        "key was padding must be remembered too, so the cache has three parts.",
    ),
    mistakes=(
        Mistake(
            "recomputed",
            _recomputed,
            "You keep the inputs and project all of them again at each call. Keep the keys and values.",
        ),
        Mistake(
            "new-keys-only",
            Edit("    key, value, real = _longer(cache, key, value, real)\n", ""),
            "Your queries see the keys of their own chunk only. The cache is not used.",
        ),
        Mistake(
            "cache-of-last-chunk",
            Edit("(key, value, real)\n", "tuple(y[:, -t_new:] for y in (key, value, real))\n"),
            "The cache that you return holds the newest chunk only, so the call after the next forgets the beginning.",
        ),
        Mistake(
            "cache-stays",
            Edit("output @ w_o, (key, value, real)", "output @ w_o, cache or (key, value, real)"),
            "The cache stays what the first call made of it: later chunks are not added.",
        ),
        Mistake(
            "diagonal-at-the-left",
            Edit(".tril(t - t_new)", ".tril()"),
            "The diagonal of your causal mask begins at the first key of all, so new positions see the oldest keys "
            "only. It moves to the right by the positions in the cache.",
        ),
        Mistake(
            "open-chunk",
            Edit("causal & real[:, None]", "real[:, None].expand(-1, t_new, -1)"),
            "Within a chunk your positions see the later ones. A chunk of one needs no causal mask, a prompt does.",
        ),
        Mistake(
            "padding-forgotten",
            Edit("real[:, None]", "(real | (torch.arange(t) < t - t_new))[:, None]"),
            "Later chunks see the padding of earlier ones. The cache must remember which keys are real.",
        ),
        Mistake(
            "padding-never",
            Edit("causal & real[:, None]", "causal.expand(len(x), -1, -1)"),
            "Your queries look at padding: `real` has no effect yet.",
        ),
    ),
)


def _shared(x: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    return x.unflatten(-1, (n_kv_heads, -1)).repeat_interleave(n_heads // n_kv_heads, dim=2).flatten(2)


def _grouped(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    n_kv_heads: int,
    real: Tensor,
    cache: Cache | None,
) -> tuple[Tensor, Cache]:
    key, value = x @ w_k, x @ w_v
    key, value, real = _longer(cache, key, value, real)
    t_new, t = x.shape[1], key.shape[1]
    causal = torch.ones(t_new, t, dtype=torch.bool).tril(t - t_new)
    each_key, each_value = (_shared(y, n_heads, n_kv_heads) for y in (key, value))
    output = _heads(x @ w_q, each_key, each_value, n_heads, causal & real[:, None])
    return output @ w_o, (key, value, real)


def _grouped_trial(
    answer: Answer,
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    n_kv_heads: int,
    real: Tensor,
    chunks: tuple[int, ...],
) -> Tensor:
    """Compare the outputs of all chunks; the cache may take twice what keys, values and mask need."""
    output, cache = _in_chunks(answer, x, real, chunks, w_q, w_k, w_v, w_o, n_heads, n_kv_heads)
    needed = real.numel() * (w_k.shape[1] + w_v.shape[1] + 1)
    if entries(cache) > 2 * needed and n_heads > 2 * n_kv_heads:
        raise Refusal(
            f"In the end your cache keeps {entries(cache):,} numbers. The keys, values and mask of {x.shape[1]} "
            f"positions are {needed:,}, and twice that is allowed."
        )
    return output


def _grouped_cases() -> list[Case]:
    draw = RandomInputs(144)

    def layer(
        d: int,
        n_heads: int,
        n_kv_heads: int,
        d_k: int,
        dtype: torch.dtype,
        real: Tensor,
        *chunks: int,
        scale: float = 1.0,
    ) -> tuple:
        w_q, w_k, w_v, w_o = _weights(draw, d, n_heads, n_kv_heads, d_k, dtype)
        x = draw.normal(*real.shape, d, dtype=dtype)
        return x, w_q, w_k, scale * w_v, w_o, n_heads, n_kv_heads, real, chunks

    ones, twice = torch.ones(2, 1), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    by_hand = torch.tensor([[[1.0, 2.0]]]), torch.ones(2, 2), ones, ones, twice, 2, 1, _padded(1, t=1), (1,)
    return [
        Case(by_hand, "the example"),
        Case(layer(5, 4, 2, 2, F64, _padded(3, t=3), 3), "all at once"),
        Case(layer(4, 3, 3, 2, F32, _padded(4, 4, t=4), 2, 1, 1), "as many key heads as query heads"),
        Case(layer(5, 6, 2, 3, F64, _padded(5, 5, t=5), 3, 1, 1), "groups of three"),
        Case(layer(7, 6, 3, 2, F64, _padded(6, 4, 3, t=6, left=True), 4, 1, 1), "a prompt padded on the left"),
        Case(layer(4, 4, 1, 5, F32, _padded(4, 3, t=4, left=True), 2, 2), "one key head"),
        Case(layer(6, 8, 2, 2, F64, _padded(7, 7, t=7), 3, 2, 2), "groups of four"),
        Case(layer(5, 6, 2, 3, F64, _padded(5, 5, t=5), 2, 3, scale=1e4), "large weights"),
    ]


GROUPS = Exercise(
    name="grow-groups",
    title="Grow grouped heads",
    chapter="task-attention",
    topic="generation",
    level=2,
    place=4,
    minutes=10,
    reference=_grouped,
    cases=_grouped_cases,
    trial=_grouped_trial,
    tested="outputs chunk by chunk and the size of the cache; groups of one to six heads, left padding, both dtypes",
    hints=(
        "Only keys and values have fewer heads. Ask when each query head must have keys of its own, and keep "
        "everything before that moment narrow.",
        "What is cached is what the projections give, with the few heads. The copies are made behind the cache, for "
        "this call alone, and thrown away.",
        "Neighbouring query heads share: the heads 0, 1 become 0, 0, 1, 1. Split keys and values by their own number "
        "of heads, repeat along that axis, and merge again for stage 1.",
    ),
    mistakes=(
        Mistake(
            "tiled",
            Edit(
                "repeat_interleave(n_heads // n_kv_heads, dim=2)", "repeat(1, 1, n_heads // n_kv_heads, 1)", of=_shared
            ),
            "Your key heads come in the order 0, 1, 0, 1. Neighbouring query heads share a key head: 0, 0, 1, 1.",
        ),
        Mistake(
            "first-head-for-all",
            Edit(
                ".repeat_interleave(n_heads // n_kv_heads, dim=2)", "[:, :, :1].expand(-1, -1, n_heads, -1)", of=_shared
            ),
            "Every query head uses the first key head. Each group has its own.",
        ),
        Mistake(
            "features-repeated",
            Edit(
                "x.unflatten(-1, (n_kv_heads, -1)).repeat_interleave(n_heads // n_kv_heads, dim=2).flatten(2)",
                "x.repeat_interleave(n_heads // n_kv_heads, dim=-1)",
                of=_shared,
            ),
            "You repeated single features. Split into heads first, and repeat whole heads.",
        ),
        Mistake(
            "wide-cache",
            (
                Edit("x @ w_k, x @ w_v", "(_shared(x @ w, n_heads, n_kv_heads) for w in (w_k, w_v))"),
                Edit("(_shared(y, n_heads, n_kv_heads) for y in (key, value))", "key, value"),
            ),
            "Your cache holds one copy for each query head, so nothing is saved. Cache the narrow keys and values, and "
            "repeat them behind the cache.",
        ),
        Mistake(
            "copies-cached-again",
            (
                Edit("each_key, each_value = (", "key, value = ("),
                Edit("each_key, each_value, n_heads", "key, value, n_heads"),
            ),
            "The second call repeats what the first had repeated already: the copies went into the cache.",
        ),
        Mistake(
            "keys-shared-values-not",
            Edit(
                "(_shared(y, n_heads, n_kv_heads) for y in (key, value))",
                "_shared(key, n_heads, n_kv_heads), value.repeat(1, 1, n_heads // n_kv_heads)",
            ),
            "Keys are shared by neighbours, values in the order 0, 1, 0, 1. A group shares both.",
        ),
    ),
)

GROWING_ATTENTION = Task(
    name="growing-attention",
    title="Grow multi-head attention",
    stages=(HEADS, MASKS, CACHE, GROUPS),
)
