"""Exercise on the gradients of attention, by hand: ``attention-backward``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.forbidden import AUTOGRAD
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _attention_backward(query: Tensor, key: Tensor, value: Tensor, d_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    scale = 1 / math.sqrt(key.shape[-1])
    weights = (query @ key.mT * scale).softmax(dim=-1)
    d_value = weights.mT @ d_output
    d_weights = d_output @ value.mT
    d_scores = weights * (d_weights - (weights * d_weights).sum(dim=-1, keepdim=True))
    return d_scores @ key * scale, d_scores.mT @ query * scale, d_value


def _backward_cases() -> list[Case]:
    draw = RandomInputs(7)

    def four(
        *leading: int, t_q: int = 5, t_k: int = 7, d_k: int = 11, dtype: torch.dtype, scale: float = 1.0
    ) -> tuple[Tensor, ...]:
        query = draw.normal(*leading, t_q, d_k, dtype=dtype, scale=scale)
        key = draw.normal(*leading, t_k, d_k, dtype=dtype, scale=scale)
        return query, key, draw.normal(*leading, t_k, 13, dtype=dtype), draw.normal(*leading, t_q, 13, dtype=dtype)

    by_hand = (
        torch.tensor([[1.0, 0.0, 0.0, 2.0]]),
        torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]),
        torch.tensor([[0.0, 5.0, 1.0], [4.0, 5.0, 1.0]]),
        torch.tensor([[1.0, 0.0, 2.0]]),
    )
    return [
        Case(by_hand, "the example"),
        Case(four(t_q=3, t_k=3, d_k=5, dtype=F64), "as many keys as queries"),
        Case(four(t_q=5, t_k=1, dtype=F32), "one key"),
        Case(four(dtype=F32)),
        Case(four(2, dtype=F64), "a batch"),
        Case(four(2, 3, dtype=F32), "two leading axes"),
        Case(four(2, 3, t_q=7, t_k=5, dtype=F64), "more queries than keys"),
        Case(four(dtype=F64, scale=30.0), "scores near a thousand"),
        Case(four(dtype=F64, scale=1e3), "scores near a million"),
    ]


STEP = "weights * (d_weights - (weights * d_weights).sum(dim=-1, keepdim=True))"
ENDS = "d_scores @ key * scale, d_scores.mT @ query * scale"


ATTENTION_BACKWARD = Exercise(
    name="attention-backward",
    title="Go backward through attention",
    chapter="attention",
    level=3,
    place=9,
    minutes=40,
    reference=_attention_backward,
    cases=_backward_cases,
    returns=("d_query", "d_key", "d_value"),
    forbidden=(*AUTOGRAD, torch.ops.aten._softmax_backward_data),
    tested="more keys or more queries, leading axes, one key, both dtypes, scores up to a million",
    hints=(
        "Go through the forward pass from its end: output, weights, scores, then query and key. For a product "
        "C = A B the gradients are dC B^T and A^T dC.",
        "d_value and the gradient of the weights come from the last product. The step through the softmax is the "
        "derivative from the exercise before, applied to one row of gradients at a time; no n by n matrix is needed.",
        "Through the softmax: from each gradient in a row take the average of the row, weighted by the attention "
        "weights, then multiply by the weight. The scale of the forward pass appears once in d_query and once in "
        "d_key.",
    ),
    mistakes=(
        Mistake(
            "key-not-transposed",
            lambda query, key, value, d_output: query @ key,
            "You multiplied query and key as they stand. A matrix product sums over the last axis of the left tensor "
            "and the second-last of the right one; a score sums over the width, which is the last axis of both.",
        ),
        Mistake(
            "no-scale",
            Edit(ENDS, "d_scores @ key, d_scores.mT @ query"),
            "You left the scale out on the way back: d_query and d_key are too large by the root of the width, and "
            "d_value is right. What multiplies in the forward pass multiplies its gradient.",
        ),
        Mistake(
            "scale-twice",
            Edit(ENDS, "d_scores @ key * scale**2, d_scores.mT @ query * scale**2"),
            "The scale appears twice in d_query and d_key. The forward pass has it once.",
        ),
        Mistake(
            "no-row-sum",
            Edit(STEP, "weights * d_weights"),
            "The second term of the softmax's derivative is missing. Sum your gradient of the scores over each row: it "
            "has to be 0, since adding a constant to a row changes no weight.",
        ),
        Mistake(
            "no-keepdim",
            Edit(", keepdim=True", ""),
            "Your sum over each row lost its axis, so it is no longer a column. Broadcasting then lines the sums up "
            "with the keys, and the sum of query j is taken from key j, or the shapes do not fit. `keepdim=True` keeps "
            "the axis.",
        ),
        Mistake(
            "plain-sum",
            Edit("(weights * d_weights).sum", "d_weights.sum"),
            "You subtracted the plain sum of the row. The average that belongs there is weighted by the attention "
            "weights; the gradient of the scores then sums to 0 over each row.",
        ),
        Mistake(
            "plain-mean",
            Edit("(weights * d_weights).sum", "d_weights.mean"),
            "You subtracted the plain mean of the row. The average that belongs there is weighted by the attention "
            "weights; with equal weights, as in the example, the two agree.",
        ),
        Mistake(
            "column-sum",
            Edit("sum(dim=-1", "sum(dim=-2"),
            "You summed over the queries in the step through the softmax. Each row is a softmax of its own: nothing "
            "passes from one query to another there.",
        ),
        Mistake(
            "no-weights-factor",
            Edit("weights * (d_weights -", "(d_weights -"),
            "The factor of the weights is missing in the step through the softmax: a key with weight near 0 must get a "
            "gradient near 0.",
        ),
        Mistake(
            "softmax-skipped",
            Edit(STEP, "d_weights"),
            "You handed the gradient of the weights on as the gradient of the scores. The softmax lies between them.",
        ),
        Mistake(
            "only-diagonal",
            Edit(STEP, "weights * d_weights * (1 - weights)"),
            "You used p (1 - p), the diagonal of the softmax's derivative. Each score moves every weight of its row.",
        ),
        Mistake(
            "value-untransposed",
            Edit("weights.mT @ d_output", "weights @ d_output"),
            "d_value uses the weights as they stand, (t_q, t_k). On the way back they are transposed: value j collects "
            "from every query that looked at it.",
        ),
        Mistake(
            "key-untransposed",
            Edit("d_scores.mT @ query", "d_scores @ query"),
            "d_key uses the gradient of the scores as it stands, (t_q, t_k). It has to be transposed: key j collects "
            "from every query.",
        ),
        Mistake(
            "order-swapped",
            Edit(ENDS, "d_scores.mT @ query * scale, d_scores @ key * scale"),
            "d_query and d_key are swapped. Return them in the order of the arguments.",
        ),
        Mistake(
            "mean-for-the-sum",
            Edit("(weights * d_weights).sum", "(weights * d_weights).mean"),
            "Each row of weights times d_weights is summed. You took its mean, which is smaller by the number of keys.",
        ),
    ),
)
