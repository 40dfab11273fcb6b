"""Exercise on the derivative of the softmax: ``softmax-jacobian``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _softmax_jacobian(scores: Tensor) -> Tensor:
    weights = scores.softmax(dim=-1)
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def _jacobian_cases() -> list[Case]:
    draw = RandomInputs(6)
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
        Case((torch.tensor([[-2e4, -20_001.0], [0.0, -9.5]], dtype=F64),), "a row far below 0, a weight below 1e-4"),
    ]


def _outer(one: Tensor, other: Tensor) -> Tensor:
    return one[..., :, None] * other[..., None, :]


SOFTMAX_JACOBIAN = Exercise(
    name="softmax-jacobian",
    title="Differentiate the softmax",
    chapter="attention",
    level=2,
    place=8,
    minutes=20,
    reference=_softmax_jacobian,
    cases=_jacobian_cases,
    tested="one row and many, one key, small weights, both dtypes, scores far above and far below 0, -inf entries",
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
            Edit(" - weights[..., :, None] * weights[..., None, :]", ""),
            "You differentiated the numerator and held the sum constant. The sum holds every score as well; the rows "
            "of the result have to sum to 0.",
        ),
        Mistake(
            "plus",
            Edit("(weights) - ", "(weights) + "),
            "A sign is wrong: beside the diagonal your entries are positive, as if raising one score raised the "
            "weights of the others. The rows have to sum to 0.",
        ),
        Mistake(
            "negated",
            Edit("torch.diag_embed(weights) - ", "-torch.diag_embed(weights) + "),
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
            Edit("dim=-1", "dim=0"),
            "You took the softmax over the first axis, which is right only where there is one axis. The keys are last.",
        ),
        Mistake(
            "diagonal-twice",
            Edit("torch.diag_embed(weights)", "torch.diag_embed(weights * (1 - weights))"),
            "On the diagonal you subtracted the square twice: p(1 - p) has it already, and the product of p with "
            "itself brings it once more.",
        ),
    ),
)
