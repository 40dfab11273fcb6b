"""Exercise on the whole forward pass: ``attention``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is None:
        return scores.softmax(dim=-1) @ value
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0) @ value


def _attention_cases() -> list[Case]:
    draw = RandomInputs(4)

    def three(*leading: int, dtype: torch.dtype, t_q: int = 5, t_k: int = 7, scale: float = 1.0) -> tuple[Tensor, ...]:
        query = draw.normal(*leading, t_q, 11, dtype=dtype, scale=scale)
        key = draw.normal(*leading, t_k, 11, dtype=dtype, scale=scale)
        return query, key, draw.normal(*leading, t_k, 13, dtype=dtype)

    by_hand = (
        torch.tensor([[2.0, 0.0, 0.0, 0.0]]),
        torch.tensor([[0.0, 0.0, 0.0, 0.0], [math.log(3.0), 0.0, 0.0, 0.0]]),
        torch.tensor([[4.0, 0.0, 8.0], [0.0, 4.0, 8.0]]),
    )
    row, sentence = draw.mask(5, 7), draw.mask(2, 1, 7)
    row[2] = sentence[0] = False
    query, key, value = three(dtype=F64)
    seen = draw.mask(1, 7).expand(5, 7).clone()
    million = three(dtype=F64, scale=1e3)
    scores = million[0] @ million[1].mT
    low = torch.tensor([[1e10]]), torch.tensor([[-1e10], [0.0], [1e10]]), torch.tensor([[3.0], [5.0], [7.0]])
    return [
        Case((*by_hand, None), "the example"),
        Case((draw.normal(3, 5, dtype=F32), draw.normal(7, 5, dtype=F32), draw.normal(7, 2, dtype=F32), None)),
        Case((*three(dtype=F64), draw.mask(5, 7))),
        Case((*three(dtype=F32, t_k=1), None), "one key"),
        Case((*three(2, dtype=F32), draw.mask(2, 1, 7)), "a mask for each sentence"),
        Case((*three(2, 3, dtype=F64), None), "two leading axes"),
        Case((*three(2, 3, dtype=F64), draw.mask(5, 7)), "two leading axes, one mask"),
        Case((*three(dtype=F32, scale=30.0), None), "scores near a thousand"),
        Case((*million, scores < scores.amax(-1, True)), "scores near a million, the largest hidden"),
        Case((*three(dtype=F64), row), "a query with no key"),
        Case((*three(2, dtype=F32), sentence), "a sentence with no key"),
        Case((query, key, torch.where(seen.any(0)[:, None], value, 1e30), seen), "hidden values of 1e30"),
        Case((*three(dtype=F64, t_q=7), draw.mask(7)), "a mask of keys"),
        Case((*three(dtype=F32), draw.mask(5, 2)[:, :1]), "a mask of queries"),
        Case((*three(2, 2, dtype=F32), draw.mask(2, 1, 7)), "a mask for each head"),
        Case((*three(dtype=F64, t_q=7), draw.mask(7, 7)), "as many keys as queries, a mask that is not causal"),
        Case((*(x[..., :2] for x in three(dtype=F32)), torch.zeros(5, 7, dtype=torch.bool)), "everything hidden"),
        Case((*low, torch.tensor([[True, False, False]])), "a score of -1e20 that is not hidden"),
    ]


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    scale: float | None = None,
    fill: float = -math.inf,
    dim: int = -1,
) -> Tensor:
    """Attend with one thing changed, and zeros where a query has no key."""
    scores = query @ key.mT * (key.shape[-1] ** -0.5 if scale is None else scale)
    if mask is None:
        return scores.softmax(dim=dim) @ value
    weights = scores.masked_fill(~mask, fill).softmax(dim=dim)
    return weights.masked_fill(weights.isnan(), 0.0) @ value


def _renormalised(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, least: float = 0.0) -> Tensor:
    weights = (query @ key.mT / math.sqrt(key.shape[-1])).softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp_min(least)
    return weights @ value


def _empty_row_nan(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=-1) @ value


ATTENTION = Exercise(
    name="attention",
    title="Write the whole of attention",
    chapter="attention",
    level=2,
    place=6,
    minutes=20,
    reference=_attention,
    gradients=("query", "key", "value"),
    cases=_attention_cases,
    tested="no mask and masks of one to three axes, everything hidden, leading axes, one key, no key, as many keys as "
    "queries, both dtypes, scores far from 0, huge hidden values",
    hints=(
        "Three steps: scores, weights, output. Write the shape of each beside its line before you write the line.",
        "The first two steps are the exercises “Compute the scaled scores” and “Turn masked scores into weights”. The "
        "mask is optional, so there are two ways to get from scores to weights.",
        "The output is one matrix product of the weights, (t_q, t_k), and the values, (t_k, d_v). Zeros in the row of "
        "a query with no key have to be there before that product: NaN times anything is NaN.",
    ),
    mistakes=(
        Mistake(
            "key-not-transposed",
            lambda query, key, value, mask: (query @ key).softmax(dim=-1) @ value,
            "You multiplied query and key as they stand. A matrix product sums over the last axis of the left tensor "
            "and the second-last of the right one; a score sums over the width, which is the last axis of both.",
        ),
        Mistake(
            "over-queries",
            lambda query, key, value, mask: _attend(query, key, value, mask, dim=-2),
            "You took the softmax over the queries: each column of the weights sums to 1, not each row. With one "
            "query every weight is then 1.",
        ),
        Mistake(
            "no-scale",
            lambda query, key, value, mask: _attend(query, key, value, mask, scale=1.0),
            "You left out the scale. The weights come out too peaked, the more so the wider the key.",
        ),
        Mistake(
            "width-not-root",
            lambda query, key, value, mask: _attend(query, key, value, mask, scale=1 / key.shape[-1]),
            "You divided by the width d_k, not by its square root (or by the root twice). The weights come out too "
            "even.",
        ),
        Mistake(
            "width-of-value",
            lambda query, key, value, mask: _attend(query, key, value, mask, scale=value.shape[-1] ** -0.5),
            "You scaled by the width of the values. The scores are dot products of queries and keys, so it is their "
            "width that counts; the two differ here.",
        ),
        Mistake(
            "scaled-after-softmax",
            lambda query, key, value, mask: _attend(query, key, value, mask, scale=1.0) / math.sqrt(key.shape[-1]),
            "You divided after the softmax. Your weights no longer sum to 1, and the softmax still saw the large "
            "scores.",
        ),
        Mistake(
            "mask-added",
            lambda query, key, value, mask: (
                _attend(query, key, value, None)
                if mask is None
                else (query @ key.mT / math.sqrt(key.shape[-1]) + mask).softmax(dim=-1) @ value
            ),
            "You added the boolean mask to the scores. That adds 1 where a query may look and hides nothing. An "
            "additive mask holds 0 and -inf.",
        ),
        Mistake(
            "mask-ignored",
            lambda query, key, value, mask: _attend(query, key, value, None),
            "Your answer does not depend on the mask. If you call masked_fill, use its result: it does not change the "
            "tensor it is called on.",
        ),
        Mistake(
            "mask-inverted",
            lambda query, key, value, mask: _attend(query, key, value, None if mask is None else ~mask),
            "You hid the keys that may be seen. Here `True` means: this query may look at this key.",
            also=(lambda query, key, value, mask: _empty_row_nan(query, key, value, None if mask is None else ~mask),),
        ),
        Mistake(
            "mask-after-softmax",
            lambda query, key, value, mask: (
                (query @ key.mT / math.sqrt(key.shape[-1])).softmax(dim=-1) * (1.0 if mask is None else mask) @ value
            ),
            "You applied the mask after the softmax. Rows with hidden keys sum to less than 1.",
        ),
        Mistake(
            "renormalised",
            _renormalised,
            "You hid keys after the softmax (or its exponentials) and divided by what was left. In this case a hidden "
            "score is so large that it took all the weight, and the others underflowed to 0: nothing is left to "
            "divide by. Hide scores, not weights.",
            also=(
                lambda query, key, value, mask: _renormalised(query, key, value, mask, least=1e-9),
                lambda query, key, value, mask: _renormalised(query, key, value, mask).nan_to_num(0.0),
            ),
        ),
        Mistake(
            "empty-row-nan",
            _empty_row_nan,
            "Your answer is right but for a query with no key: there it is NaN. A softmax over -inf alone has nothing "
            "to divide by, and the exercise asks for zeros.",
        ),
        Mistake(
            "finite-stand-in",
            lambda query, key, value, mask: _attend(query, key, value, mask, fill=-1e9),
            "You hid keys with a large negative number. A query with no key then averages the values it must not see; "
            "the exercise asks for zeros.",
            also=(
                lambda query, key, value, mask: _attend(query, key, value, mask, fill=torch.finfo(key.dtype).min),
                lambda query, key, value, mask: _attend(query, key, value, mask, fill=-1e4),
            ),
        ),
        Mistake(
            "weights-returned",
            lambda query, key, value, mask: _attend(query, key, torch.eye(key.shape[-2], dtype=key.dtype), mask),
            "You returned the weights, (t_q, t_k). The output is the average of the values with these weights, "
            "(t_q, d_v).",
        ),
        Mistake(
            "value-transposed",
            lambda query, key, value, mask: _attend(query, key, value.mT, mask),
            "You transposed the values. Each weight belongs to one row of `value`, so the axis of the keys already "
            "stands where the product sums over it.",
        ),
    ),
)
