"""First stage of growing attention: ``grow-heads``, several heads and a given mask."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _attend(query: Tensor, key: Tensor, value: Tensor, n_heads: int, allowed: Tensor | None) -> Tensor:
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
    one = torch.ones(1, 1, 1)
    far = (
        1e10 * one,
        torch.tensor([[[-1e10], [0.0]]]),
        torch.tensor([[[1.0], [2.0]]]),
        1,
        torch.tensor([[[True, False]]]),
    )
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
        Case(far, "a score of -1e20 that is not hidden"),
    ]


HEADS = Exercise(
    name="grow-heads",
    title="Attend in several heads",
    chapter="task-attention",
    topic="multi-head",
    level=2,
    place=1,
    minutes=12,
    reference=_attend,
    cases=_heads_cases,
    trial=_heads_trial,
    returns=("output", "gradient for query", "gradient for key", "gradient for value"),
    tested="outputs and gradients; keys of another number, masks, a query with no key, scores far below 0, both dtypes",
    hints=(
        "Write the shape after each line: split, scores, weights, heads, output. Only the last two axes take part in "
        "the products; the batch and the heads come along.",
        "A head is a run of neighbouring features. Splitting makes a new axis after the positions and swaps it to the "
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
            "axis of the heads after the positions, then swap the two.",
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
            "You hide keys after the softmax, so the weights that are left do not sum to 1. Hide the scores first.",
        ),
        Mistake(
            "blind-query-averages",
            Edit(".masked_fill(~allowed, 0.0)", ""),
            "A query that may look at nothing gets the mean of all values. Its output is zero.",
            also=(
                (
                    Edit(".masked_fill(~allowed, 0.0)", ""),
                    Edit("torch.finfo(scores.dtype).min", "-1e9"),
                ),
            ),
        ),
        Mistake(
            "blind-query-nan",
            _empty_rows_as_nan,
            "A query that may look at nothing gives NaN: a softmax of nothing but minus infinity. It gives zero.",
        ),
        Mistake(
            "nan-in-the-gradient",
            _nan_in_weights,
            "The output is right, and the gradient is NaN: the zeros were put in place of NaN after the softmax, and "
            "its backward pass still meets them. Keep the softmax itself finite.",
            also=(_nan_in_output,),
        ),
        Mistake(
            "zero-for-a-score",
            (
                Edit("scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)", "scores * allowed"),
                Edit(".masked_fill(~allowed, 0.0)", ""),
            ),
            "You multiply the scores by the mask. A score of 0 has weight exp(0) = 1: nothing is hidden.",
        ),
    ),
)
