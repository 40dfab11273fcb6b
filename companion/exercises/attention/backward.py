"""Exercises on gradients by hand: ``softmax-jacobian``, ``attention-backward``."""

import math

import torch
from torch import Tensor

from companion.exercises.definition import Case, Exercise, Mistake
from companion.exercises.draw import Draw

F32, F64 = torch.float32, torch.float64


def _softmax_jacobian(scores: Tensor) -> Tensor:
    weights = scores.softmax(dim=-1)
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def _jacobian_cases() -> list[Case]:
    draw = Draw(6)
    hidden = draw.normal(3, 7)
    hidden[1, 2:5] = -torch.inf
    return [
        Case((torch.tensor([1.0, 3.0]).log(),), "the example"),
        Case((torch.tensor([2.0], dtype=F64),), "one key"),
        Case((draw.normal(5, dtype=F32),)),
        Case((draw.normal(3, 7),), "a row for each query"),
        Case((draw.normal(2, 3, 5, dtype=F32),), "a batch"),
        Case((draw.normal(3, 11, dtype=F32, scale=1e3),), "scores near a thousand"),
        Case((draw.normal(2, 5) + 1e6,), "scores near a million"),
        Case((hidden,), "some scores are -inf"),
    ]


def _outer(one: Tensor, other: Tensor) -> Tensor:
    return one[..., :, None] * other[..., None, :]


def _jacobian_with(scores: Tensor, *, diagonal: float = 1.0, product: float = -1.0, dim: int = -1) -> Tensor:
    weights = scores.softmax(dim=dim)
    return diagonal * torch.diag_embed(weights) + product * _outer(weights, weights)


SOFTMAX_JACOBIAN = Exercise(
    name="softmax-jacobian",
    title="The derivative of the softmax",
    chapter="attention",
    reference=_softmax_jacobian,
    cases=_jacobian_cases,
    tested="one row and many, one key, both dtypes, scores of a million, -inf entries",
    hints=(
        "Write weight i as exp(s_i) over a sum, and differentiate by s_j with the quotient rule. Treat j = i and "
        "j != i as two cases, then look for one formula for both.",
        "Each case is a product of two weights; in one of them a single weight comes on top. As a matrix that is a "
        "diagonal part and the product of a column and a row.",
        "`torch.diag_embed` makes the diagonal matrices for a whole batch, and two `None` indices make the column and "
        "the row. Check yourself: each row of the result sums to 0, since the weights always sum to 1.",
    ),
    mistakes=(
        Mistake(
            "only-diagonal",
            lambda scores: torch.diag_embed(scores.softmax(-1) * (1 - scores.softmax(-1))),
            "You kept the diagonal only. Raising one score also takes weight from every other key: the entries beside "
            "the diagonal are not 0.",
        ),
        Mistake(
            "vector",
            lambda scores: scores.softmax(-1) * (1 - scores.softmax(-1)),
            "You treated the softmax as if each weight depended on its own score alone, as with a sigmoid. There is an "
            "entry for each pair of weight and score: n by n.",
        ),
        Mistake(
            "no-product",
            lambda scores: _jacobian_with(scores, product=0.0),
            "You differentiated the numerator and held the sum constant. The sum holds every score as well; the rows "
            "of the result have to sum to 0.",
        ),
        Mistake(
            "plus",
            lambda scores: _jacobian_with(scores, product=1.0),
            "A sign is wrong: beside the diagonal your entries are positive, as if raising one score raised the "
            "weights of the others. The rows have to sum to 0.",
        ),
        Mistake(
            "negated",
            lambda scores: _jacobian_with(scores, diagonal=-1.0, product=1.0),
            "Every sign is wrong: by your matrix, raising a score lowers its own weight.",
        ),
        Mistake(
            "product-of-scores",
            lambda scores: torch.diag_embed(scores.softmax(-1)) - _outer(scores, scores),
            "The product is taken of the scores. It is the weights that stand in it: adding a constant to all scores "
            "must change nothing.",
        ),
        Mistake(
            "no-softmax",
            lambda scores: torch.diag_embed(scores) - _outer(scores, scores),
            "You put the scores where the weights belong. The argument is the input of the softmax, not its output.",
        ),
        Mistake(
            "off-diagonal-formula",
            lambda scores: _outer(scores.softmax(-1), 1 - scores.softmax(-1)),
            "You used p_i (1 - p_j) everywhere. That is right where i = j; elsewhere the 1 does not appear.",
        ),
        Mistake(
            "inner-product",
            lambda scores: torch.diag_embed(scores.softmax(-1)) - scores.softmax(-1).square().sum(-1)[..., None, None],
            "You subtracted the inner product, one number a row. A column times a row gives the n by n entries that "
            "are needed.",
        ),
        Mistake(
            "first-axis",
            lambda scores: _jacobian_with(scores, dim=0),
            "You took the softmax over the first axis, which is right only where there is one axis. The keys are last.",
        ),
    ),
)


def _attention_backward(query: Tensor, key: Tensor, value: Tensor, d_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    scale = 1 / math.sqrt(key.shape[-1])
    weights = (query @ key.mT * scale).softmax(dim=-1)
    d_value = weights.mT @ d_output
    d_weights = d_output @ value.mT
    d_scores = weights * (d_weights - (weights * d_weights).sum(dim=-1, keepdim=True))
    return d_scores @ key * scale, d_scores.mT @ query * scale, d_value


def _backward_cases() -> list[Case]:
    draw = Draw(7)

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


def _backward_with(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    d_output: Tensor,
    *,
    power: int = 1,
    scores: str = "right",
) -> tuple[Tensor, Tensor, Tensor]:
    """Go backward with one thing changed: the power of the scale, or the step through the softmax."""
    scale = key.shape[-1] ** -0.5
    weights = (query @ key.mT * scale).softmax(dim=-1)
    d_weights = d_output @ value.mT
    product = weights * d_weights
    d_scores = {
        "right": product - weights * product.sum(-1, True),
        "no sum": product,
        "plain sum": weights * (d_weights - d_weights.sum(-1, True)),
        "mean": weights * (d_weights - d_weights.mean(-1, True)),
        "column sum": product - weights * product.sum(-2, True),
        "no weights": d_weights - product.sum(-1, True),
        "no softmax": d_weights,
        "diagonal": product * (1 - weights),
    }[scores]
    return d_scores @ key * scale**power, d_scores.mT @ query * scale**power, weights.mT @ d_output


def _value_untransposed(query: Tensor, key: Tensor, value: Tensor, d_output: Tensor) -> tuple[Tensor, ...]:
    weights = (query @ key.mT / math.sqrt(key.shape[-1])).softmax(dim=-1)
    return *_backward_with(query, key, value, d_output)[:2], weights @ d_output


def _key_untransposed(query: Tensor, key: Tensor, value: Tensor, d_output: Tensor) -> tuple[Tensor, ...]:
    scale = key.shape[-1] ** -0.5
    weights = (query @ key.mT * scale).softmax(dim=-1)
    product = weights * (d_output @ value.mT)
    d_scores = product - weights * product.sum(-1, True)
    return d_scores @ key * scale, d_scores @ query * scale, weights.mT @ d_output


def _queries_and_keys_swapped(query: Tensor, key: Tensor, value: Tensor, d_output: Tensor) -> tuple[Tensor, ...]:
    d_query, d_key, d_value = _backward_with(query, key, value, d_output)
    return d_key, d_query, d_value


ATTENTION_BACKWARD = Exercise(
    name="attention-backward",
    title="Attention backward, by hand",
    chapter="attention",
    reference=_attention_backward,
    cases=_backward_cases,
    returns=("d_query", "d_key", "d_value"),
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
            "no-scale",
            lambda *given: _backward_with(*given, power=0),
            "You left the scale out on the way back: d_query and d_key are too large by the root of the width, and "
            "d_value is right. What multiplies in the forward pass multiplies its gradient.",
        ),
        Mistake(
            "scale-twice",
            lambda *given: _backward_with(*given, power=2),
            "The scale appears twice in d_query and d_key. The forward pass has it once.",
        ),
        Mistake(
            "no-row-sum",
            lambda *given: _backward_with(*given, scores="no sum"),
            "The second term of the softmax's derivative is missing. Sum your gradient of the scores over each row: it "
            "has to be 0, since adding a constant to a row changes no weight.",
        ),
        Mistake(
            "plain-sum",
            lambda *given: _backward_with(*given, scores="plain sum"),
            "You subtracted the plain sum of the row. The average that belongs there is weighted by the attention "
            "weights; the gradient of the scores then sums to 0 over each row.",
        ),
        Mistake(
            "plain-mean",
            lambda *given: _backward_with(*given, scores="mean"),
            "You subtracted the plain mean of the row. The average that belongs there is weighted by the attention "
            "weights; with equal weights, as in the example, the two agree.",
        ),
        Mistake(
            "column-sum",
            lambda *given: _backward_with(*given, scores="column sum"),
            "You summed over the queries in the step through the softmax. Each row is a softmax of its own: nothing "
            "passes from one query to another there.",
        ),
        Mistake(
            "no-weights-factor",
            lambda *given: _backward_with(*given, scores="no weights"),
            "The factor of the weights is missing in the step through the softmax: a key with weight near 0 must get a "
            "gradient near 0.",
        ),
        Mistake(
            "softmax-skipped",
            lambda *given: _backward_with(*given, scores="no softmax"),
            "You handed the gradient of the weights on as the gradient of the scores. The softmax lies between them.",
        ),
        Mistake(
            "only-diagonal",
            lambda *given: _backward_with(*given, scores="diagonal"),
            "You used p (1 - p), the diagonal of the softmax's derivative. Each score moves every weight of its row.",
        ),
        Mistake(
            "value-untransposed",
            _value_untransposed,
            "d_value uses the weights as they stand, (t_q, t_k). On the way back they are transposed: value j collects "
            "from every query that looked at it.",
        ),
        Mistake(
            "key-untransposed",
            _key_untransposed,
            "d_key uses the gradient of the scores as it stands, (t_q, t_k). It has to be transposed: key j collects "
            "from every query.",
        ),
        Mistake(
            "order-swapped",
            _queries_and_keys_swapped,
            "d_query and d_key have changed places. Return them in the order of the arguments.",
        ),
    ),
)
