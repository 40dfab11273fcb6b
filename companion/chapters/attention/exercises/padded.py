"""Exercise on a padded batch: ``debug-padded-batch``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _padded_batch(x: Tensor, lengths: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    real = torch.arange(x.shape[1]) < lengths[:, None]  # (batch, t)
    weights = scores.masked_fill(~real[:, None, :], -torch.inf).softmax(dim=-1)
    output = (weights @ value).masked_fill(~real[:, :, None], 0.0)
    return output.sum(dim=1) / lengths[:, None]


def _padded_cases() -> list[Case]:
    draw = RandomInputs(5)

    def batch(*lengths: int, t: int, dtype: torch.dtype, junk: float = 1.0, scale: float = 1.0) -> tuple[Tensor, ...]:
        x = draw.normal(len(lengths), t, 7, dtype=dtype)
        real = torch.arange(t) < torch.tensor(lengths)[:, None]
        x = torch.where(real[:, :, None], x, junk * x)
        w_q, w_k = (draw.normal(7, 5, dtype=dtype, scale=scale) for _ in range(2))
        return x, torch.tensor(lengths), w_q, w_k, draw.normal(7, 11, dtype=dtype)

    one, with_zeros = torch.ones(1, 1), batch(2, 4, t=5, dtype=F64)
    with_zeros[0][:, 0] = 0.0
    return [
        Case(batch(3, 1, t=3, dtype=F64), "two sentences, one of them padded"),
        Case(batch(1, t=1, dtype=F32), "one token"),
        Case(batch(3, 3, t=3, dtype=F64), "no padding"),
        Case(batch(2, 5, 3, t=7, dtype=F32), "no sentence fills the batch"),
        Case(batch(1, 2, 3, t=3, dtype=F64), "as many sentences as tokens"),
        Case(batch(2, 5, t=11, dtype=F32, junk=1e3), "large numbers in the padding"),
        Case(batch(5, 2, 3, t=5, dtype=F64, scale=1e3), "scores near a million"),
        Case(with_zeros, "a real token of zeros"),
        Case((torch.tensor([[[1.0], [1e10]]]), torch.tensor([1]), one, one, one), "a pad of 1e10"),
        Case((torch.tensor([[[1e10], [-1e10]]]), torch.tensor([1]), one, -one, one), "a score of -1e20 before a pad"),
    ]


AFTER = Edit(".masked_fill(~real[:, None, :], -torch.inf).softmax(dim=-1)", ".softmax(dim=-1) * real[:, None, :]")
PRODUCT = Edit(".masked_fill(~real[:, :, None], 0.0)", " * real[:, :, None]")  # 0 times NaN is NaN
MEAN_OF_ALL = (Edit(".masked_fill(~real[:, :, None], 0.0)", ""), Edit("sum(dim=1) / lengths[:, None]", "mean(dim=1)"))
ZEROED = Edit(
    "    query, key",
    "    x = x.masked_fill(torch.arange(x.shape[1])[:, None] >= lengths[:, None, None], 0.0)\n    query, key",
)


PADDED_BATCH = Exercise(
    name="debug-padded-batch",
    title="Repair a padded batch",
    chapter="attention",
    level=2,
    place=7,
    minutes=25,
    reference=_padded_batch,
    cases=_padded_cases,
    tested="no padding, padding in some and in all sentences, large numbers in it, as many sentences as tokens, both "
    "dtypes",
    hints=(
        "There are three faults. A sentence alone has no padding, so its result is right. Make a batch of that "
        "sentence and a longer one, and compare real, weights and output with the single run, one after the other. "
        "Where do they part first?",
        "The first fault is in which positions count as real. Sum `real` over its last axis and compare with the "
        "lengths. Then look for the next step at which the two runs differ.",
        "The other two are in where the mask acts and in what is averaged at the end. Sum the weights over the keys: "
        "is it 1? Then count the rows that go into the mean, and what it divides by.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (Edit("< lengths", "<= lengths"), AFTER, *MEAN_OF_ALL),
            "This does what the code as given does. Start with the first line in which a padded sentence and the same "
            "sentence alone differ.",
        ),
        Mistake(
            "off-by-one",
            Edit("< lengths", "<= lengths"),
            "One pad of each sentence still counts as real. Print `real.sum(dim=-1)` beside the lengths.",
        ),
        Mistake(
            "mask-after-softmax",
            AFTER,
            "The mask still acts after the softmax: the pads have taken their share, and the rest of the row sums to "
            "less than 1.",
        ),
        Mistake(
            "renormalised",
            (
                AFTER,
                PRODUCT,
                Edit("(weights @ value)", "(weights / weights.sum(dim=-1, keepdim=True) @ value)"),
            ),
            "The mask still acts after the softmax, and you divide by what is left of each row. In this case the pads "
            "score so high that they took all the weight, and the real tokens underflowed to 0: nothing is left to "
            "divide by. Hide scores, not weights.",
        ),
        Mistake(
            "mask-added",
            Edit("scores.masked_fill(~real[:, None, :], -torch.inf)", "(scores + ~real[:, None, :] * -1e9)"),
            "You lower the scores of the pads by a fixed number. A pad may score higher by more than that. "
            "Replace its score by -inf.",
            also=(Edit("-torch.inf", "-1e9"),),
        ),
        Mistake(
            "pads-attended",
            Edit(".masked_fill(~real[:, None, :], -torch.inf)", ""),
            "Pads are left out of the mean, but real tokens still look at them: no key is hidden.",
        ),
        Mistake(
            "pads-averaged",
            MEAN_OF_ALL,
            "The weights are right, but the rows of the pads go into the mean: each pad is a query with an output of "
            "its own.",
            also=((ZEROED, *MEAN_OF_ALL),),
        ),
        Mistake(
            "divided-by-width",
            Edit("/ lengths[:, None]", "/ x.shape[1]"),
            "You sum the real rows but divide by the padded width: a sentence shrinks as padding is added.",
        ),
        Mistake(
            "queries-hidden",
            (PRODUCT, Edit("~real[:, None, :]", "~real[:, :, None]")),
            "You hid rows of queries. The pad rows become NaN, which no factor of 0 removes (0 times NaN is NaN), and "
            "the real tokens still look at the pads.",
        ),
        Mistake(
            "two-axes",
            Edit("~real[:, None, :]", "~real"),
            "Your mask of shape (batch, t) meets scores of shape (batch, t, t) and is read as query by key. It raises, "
            "or, with as many sentences as tokens, hides the wrong keys in silence.",
        ),
        Mistake(
            "pads-summed",
            Edit(".masked_fill(~real[:, :, None], 0.0)", ""),
            "You divided by the number of real tokens, and the outputs of the pads are still in the sum: pads are "
            "queries too. Leave their rows out.",
        ),
        Mistake(
            "one-pad-throughout",
            (Edit("< lengths", "<= lengths"), Edit("/ lengths[:, None]", "/ real.sum(dim=1)[:, None]")),
            "You count the first pad as a token, in the mask and in the mean. Positions begin at 0: those below the "
            "length are real.",
        ),
    ),
)
