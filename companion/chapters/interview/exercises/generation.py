"""Drill on one token: ``cached-step``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _cached_step(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = ((x @ w).unflatten(-1, (keys.shape[1], -1))[:, :, None] for w in (w_q, w_k, w_v))
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    scores = query @ keys.mT / math.sqrt(query.shape[-1])
    output = (scores.softmax(dim=-1) @ values).flatten(1) @ w_o
    return output, keys, values


def _step_cases() -> list[Case]:
    draw = RandomInputs(59)

    def state(batch: int, heads: int, past: int, d_k: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        x, keys = draw.normal(batch, d, dtype=dtype), draw.normal(batch, heads, past, d_k, dtype=dtype)
        values = draw.normal(batch, heads, past, d_k, dtype=dtype, scale=scale)
        w_q, w_k, w_v = (draw.normal(d, heads * d_k, dtype=dtype) for _ in range(3))
        return x, keys, values, w_q, w_k, w_v, draw.normal(heads * d_k, d, dtype=dtype)

    one, zero = torch.tensor([[1.0]]), torch.tensor([[0.0]])
    steep, two = torch.tensor([[[[100.0]], [[-300.0]]]]), torch.tensor([[[1.0, 1.0]], [[1.0, -1.0]], [[1.0, 1.0]]])
    by_hand = torch.tensor([[6.0]]), one[None, None], 2 * one[None, None], zero, one, one, one
    return [
        Case(by_hand, "the example"),
        Case(state(1, 1, 0, 2, 3, F64), "an empty cache"),
        Case(state(2, 1, 3, 2, 3, F32)),
        Case(state(2, 3, 4, 2, 5, F64), "three heads"),
        Case(state(3, 2, 1, 4, 5, F32)),
        Case(state(2, 4, 7, 3, 5, F64)),
        Case(state(1, 2, 5, 3, 4, F64, 1e3), "large values"),
        Case(state(2, 2, 0, 1, 2, F64), "an empty cache of two heads"),
        Case(
            (200 * one, steep, draw.normal(1, 2, 1, 1, dtype=F32), *two, two[0].mT),
            "a head of large scores, one of low ones",
        ),
    ]


CACHED_STEP = Exercise(
    name="cached-step",
    title="Take a step with a cache",
    chapter="exercises",
    level=2,
    place=8,
    minutes=15,
    topic="generation",
    reference=_cached_step,
    cases=_step_cases,
    tested="an empty and a filled cache, one to four heads, large values, large scores and low ones, both dtypes",
    returns=("output", "keys", "values"),
    hints=(
        "One new token: one query, one key and one value for each head. Which keys may it look at, and is its own one "
        "of them?",
        "First make the caches longer by the new key and value, then attend with the new query. No mask is needed: all "
        "that is in the cache lies in the past, or is the token itself.",
        "Each product has the shape (batch, n_heads * d_k). Cut it into heads and add an axis for the one position; "
        "the cache then grows along its third axis. One row of weights a head is left.",
    ),
    mistakes=(
        Mistake(
            "own-key-missing",
            (Edit("@ keys.mT", "@ keys[:, :, :-1].mT"), Edit("@ values)", "@ values[:, :, :-1])")),
            "The token does not see itself: you attended before its key and value were added.",
        ),
        Mistake(
            "not-kept",
            Edit("return output, keys, values", "return output, keys[:, :, :-1], values[:, :, :-1]"),
            "You returned the caches as they came. The next step would not know this token.",
        ),
        Mistake(
            "put-in-front",
            (Edit("[keys, key]", "[key, keys]"), Edit("[values, value]", "[value, values]")),
            "You put the new token in front of the old ones. The output is right, since attention does not see the "
            "order; a cache in the wrong order breaks whatever depends on positions.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(query.shape[-1])", ""),
            "You did not divide the scores by the square root of the width of a head.",
        ),
        Mistake(
            "cut-the-other-way",
            Edit("unflatten(-1, (keys.shape[1], -1))", "unflatten(-1, (-1, keys.shape[1])).mT"),
            "Your heads take every n-th number of a product. A head is a block of neighbouring numbers.",
        ),
        Mistake(
            "query-kept",
            Edit("return output, keys", "return output, torch.cat([keys[:, :, :-1], query], dim=2)"),
            "You stored the query in place of the key.",
        ),
        Mistake(
            "scaled-by-model-width",
            Edit("query.shape[-1]", "x.shape[-1]"),
            "You divided by the root of the model's width. A score sums over the width of one head.",
        ),
        Mistake(
            "scaled-by-all-heads",
            Edit("query.shape[-1]", "w_q.shape[1]"),
            "You divided by the root of the width of all heads together. A score sums over the width of one head.",
        ),
        Mistake(
            "no-output-projection",
            Edit(".flatten(1) @ w_o", ".flatten(1)"),
            "The heads are not multiplied by `w_o`.",
        ),
        Mistake(
            "causal-mask-of-one-row",
            Edit(
                "(scores.softmax",
                "(scores.masked_fill(torch.ones(1, keys.shape[2], dtype=torch.bool).triu(1), -torch.inf).softmax",
            ),
            "A causal mask of one row leaves the first key alone. All that is in the cache lies in the past: no mask "
            "is needed.",
        ),
    ),
)
