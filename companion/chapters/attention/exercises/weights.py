"""Exercises on weights: ``softmax-stable``, ``masked-weights``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.forbidden import SOFTMAX
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _softmax_stable(scores: Tensor) -> Tensor:
    top = scores.amax(dim=-1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0.0)  # a row of -inf: -inf - -inf would be NaN
    powers = (scores - top).exp()
    total = powers.sum(dim=-1, keepdim=True)
    return powers / total.masked_fill(total == 0.0, 1.0)


def _softmax_cases() -> list[Case]:
    draw = RandomInputs(2)
    some = draw.normal(3, 5, dtype=F32)
    some[0, 1] = some[2, 3:] = -torch.inf
    empty = draw.normal(2, 3, 5)
    empty[1, 2] = -torch.inf
    heights = torch.tensor([[0.0], [1e3], [1e6]], dtype=F64)
    return [
        Case((torch.tensor([[1.0, 2.0, 5.0]]).log(),), "the example"),
        Case((draw.normal(3, 5, dtype=F32),)),
        Case((draw.normal(5, 1),), "one key"),
        Case((draw.normal(2, 7, 5),), "a batch"),
        Case((draw.normal(2, 3, 5, 7, dtype=F32),), "two leading axes"),
        Case((draw.normal(3, 7, dtype=F32, scale=1e3),), "scores near a thousand"),
        Case((draw.normal(5, 3) + 1e6,), "scores near a million"),
        Case((draw.normal(5, 3) - 1e6,), "scores near minus a million"),
        Case((draw.normal(3, 5) + heights,), "each row at another height"),
        Case((some,), "some scores are -inf"),
        Case((empty,), "all scores of the last row are -inf"),
        Case((torch.tensor([[-torch.inf] * 3, [0.0, 1.0, 2.0]]),), "all scores of the first row are -inf"),
        Case((torch.tensor([[-1e20, -torch.inf], [-torch.inf, -1e20]]),), "one score of -1e20, the others are -inf"),
        Case((torch.tensor([[0.0, -14.0, -17.0]], dtype=F64),), "weights of 8e-7 and 4e-8"),
    ]


def _normalised(powers: Tensor, dim: int | None = -1) -> Tensor:
    total = powers.sum() if dim is None else powers.sum(dim=dim, keepdim=True)
    return powers / total.masked_fill(total == 0.0, 1.0)


def _shifted(scores: Tensor, top: Tensor) -> Tensor:
    return (scores - top.masked_fill(top == -torch.inf, 0.0)).exp()


def _row_shifted(scores: Tensor) -> Tensor:
    return _shifted(scores, scores.amax(dim=-1, keepdim=True))


def _plain_softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """Do what `softmax` of torch does, which this exercise forbids: a row of -inf becomes NaN."""
    powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def _rescaled(weights: Tensor) -> Tensor:
    return weights / weights.sum(dim=-1, keepdim=True)


def _zeros_for_nan_rows(weights: Tensor) -> Tensor:
    return weights.masked_fill(weights.isnan(), 0.0)


SOFTMAX_STABLE = Exercise(
    name="softmax-stable",
    title="Write a softmax that survives large scores",
    chapter="attention",
    level=1,
    place=2,
    minutes=10,
    reference=_softmax_stable,
    cases=_softmax_cases,
    forbidden=SOFTMAX,
    tested="leading axes, one key, both dtypes, scores of a million either way, small weights, -inf entries and rows "
    "of -inf",
    hints=(
        "What is exp(1000) on a computer? Then recall what happens to a softmax when one number is added to all "
        "scores of a row.",
        "Choose that number for each row so that the largest exponent is 0: nothing overflows, and the sum is at "
        "least 1. Keep the axis when you reduce, so that shapes broadcast.",
        "A row of -inf needs a decision twice: -inf minus -inf is NaN, and then 0 over 0 is. "
        "Put a harmless number in the way of each with `masked_fill` or `torch.where`.",
    ),
    mistakes=(
        Mistake(
            "no-shift",
            lambda scores: _normalised(scores.exp()),
            "You exponentiated the scores as they are. Look at `torch.tensor(1000.0).exp()`: it is infinite, and "
            "infinity over infinity is NaN; at minus a million all exponentials vanish and 0 over 0 is left.",
            also=(lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True),),
        ),
        Mistake(
            "over-queries",
            lambda scores: _zeros_for_nan_rows(_plain_softmax(scores, -2)),
            "You took the softmax over the queries: each column sums to 1, not each row. Sum your result over its "
            "last axis to see it.",
            also=(lambda scores: _plain_softmax(scores, -2),),
        ),
        Mistake(
            "first-axis",
            lambda scores: _zeros_for_nan_rows(_plain_softmax(scores, 0)),
            "You took the softmax over the first axis. That axis is the queries or the batch, depending on the input; "
            "count axes from the end, where the keys are.",
            also=(lambda scores: _plain_softmax(scores, 0),),
        ),
        Mistake(
            "one-maximum",
            lambda scores: _normalised(_shifted(scores, scores.max())),
            "You subtracted the largest score of the whole tensor. A row that lies far below it underflows to 0 "
            "everywhere. Each row needs a number of its own.",
            also=(lambda scores: (scores - scores.max()).exp() / (scores - scores.max()).exp().sum(-1, keepdim=True),),
        ),
        Mistake(
            "one-sum",
            lambda scores: _normalised(_row_shifted(scores), dim=None),
            "You divided by the sum over the whole tensor: all entries together sum to 1, where each row has to.",
            also=(
                lambda scores: _normalised(_shifted(scores, scores.max()), dim=None),
                lambda scores: scores.exp() / scores.exp().sum(),
            ),
        ),
        Mistake(
            "divided-by-maximum",
            lambda scores: _plain_softmax(scores / scores.amax(dim=-1, keepdim=True)),
            "You divided the scores by their maximum. That changes the differences between scores, and with them the "
            "weights. A shift leaves differences alone; a factor does not.",
            also=(lambda scores: _plain_softmax(scores / scores.max()),),
        ),
        Mistake(
            "not-normalised",
            _row_shifted,
            "You returned the exponentials. The largest entry of each row is 1; the entries of a row should sum to 1.",
            also=(lambda scores: scores.exp(), lambda scores: _shifted(scores, scores.max())),
        ),
        Mistake(
            "empty-row-nan",
            _plain_softmax,
            "Your answer is right but for a row in which every score is -inf: there it is NaN, and the exercise asks "
            "for zeros. Follow that row through your code: -inf minus -inf, then 0 over 0.",
        ),
        Mistake(
            "empty-row-uniform",
            lambda scores: _plain_softmax(scores.clamp_min(torch.finfo(scores.dtype).min)),
            "In a row where every score is -inf you spread the weight evenly over keys that are all ruled out. "
            "The exercise asks for zeros there.",
        ),
    ),
)


def _masked_weights(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)  # a softmax over -inf alone is NaN


def _masked_cases() -> list[Case]:
    draw = RandomInputs(3)
    best_hidden = draw.normal(3, 5, scale=1e6)
    row, sentence = draw.mask(3, 5), draw.mask(2, 1, 7)
    row[1] = sentence[0] = False
    lowest = torch.tensor([[-1e20, 0.0], [1e20, -1e20]], dtype=F64), torch.eye(2, dtype=torch.bool)
    return [
        Case((torch.tensor([[1.0, 3.0, 9.0]]).log(), torch.tensor([[True, True, False]])), "the example"),
        Case((draw.normal(3, 5, dtype=F32), draw.mask(3, 5))),
        Case((draw.normal(5, 7), draw.mask(1, 7)), "one mask row for all queries"),
        Case((draw.normal(5, 1), torch.ones(5, 1, dtype=torch.bool)), "one key"),
        Case((draw.normal(2, 3, dtype=F32), torch.ones(2, 3, dtype=torch.bool)), "nothing hidden"),
        Case((draw.normal(2, 5, 7), draw.mask(5, 7)), "a batch with one mask"),
        Case((draw.normal(2, 5, 7, dtype=F32), draw.mask(2, 1, 7)), "a mask for each sentence"),
        Case((draw.normal(2, 3, 5, 7), draw.mask(2, 1, 5, 7)), "two leading axes"),
        Case((best_hidden, best_hidden < best_hidden.amax(-1, True)), "the largest score, about a million, hidden"),
        Case((draw.normal(3, 5, dtype=F32), row), "a query with no key"),
        Case((draw.normal(2, 5, 7), sentence), "a sentence with no key"),
        Case((draw.normal(3, 3), torch.tensor([True, False, True])), "a mask of keys"),
        Case((draw.normal(3, 5, dtype=F32), torch.tensor([[True], [False], [True]])), "a mask of queries"),
        Case((draw.normal(2, 2, 3, 5), draw.mask(2, 1, 5)), "a mask for each head"),
        Case((draw.normal(2, 3), torch.zeros(2, 3, dtype=torch.bool)), "everything hidden"),
        Case(lowest, "scores of -1e20 that are not hidden"),
        Case((torch.zeros(1, 2), torch.tensor([False, False])), "a mask of keys that hides all of them"),
    ]


def _softmax_under(scores: Tensor, mask: Tensor, fill: float = -math.inf, dim: int = -1) -> Tensor:
    """Take the softmax under the mask, with zeros where nothing is left."""
    return _zeros_for_nan_rows(scores.masked_fill(~mask, fill).softmax(dim=dim))


MASKED_WEIGHTS = Exercise(
    name="masked-weights",
    title="Turn masked scores into weights",
    chapter="attention",
    level=2,
    place=5,
    minutes=15,
    reference=_masked_weights,
    cases=_masked_cases,
    exact_zeros=True,
    tested="masks of one axis to four, one key, nothing and everything hidden, a large hidden score, visible scores "
    "far below 0, a query with no key, both dtypes",
    hints=(
        "A hidden key must get weight exactly 0, and the rest of the row must still sum to 1. Which score leads to "
        "weight 0, whatever the other scores are?",
        "Change the scores before the softmax, not the weights after it. `masked_fill` writes where its condition is "
        "`True`, while this mask is `True` where the query may look.",
        "The number is -inf; a large negative number loses in a row with no key at all. Such a row comes out of the "
        "softmax as NaN: find it with `mask.any` over the keys and put zeros there.",
    ),
    mistakes=(
        Mistake(
            "inverted",
            lambda scores, mask: _softmax_under(scores, ~mask),
            "You hid the keys that may be seen. Here `True` means: this query may look at this key. "
            "`nn.MultiheadAttention` uses the opposite meaning.",
            also=(
                lambda scores, mask: scores.masked_fill(mask, -math.inf).softmax(dim=-1),
                lambda scores, mask: scores.masked_fill(mask, -1e9).softmax(dim=-1),
            ),
        ),
        Mistake(
            "after-softmax",
            lambda scores, mask: scores.softmax(dim=-1) * mask,
            "You applied the mask after the softmax. The hidden keys had taken their share already, so your rows sum "
            "to less than 1.",
        ),
        Mistake(
            "renormalised",
            lambda scores, mask: _normalised(scores.softmax(dim=-1) * mask),
            "You hid keys after the softmax (or its exponentials) and divided by what was left. In this case a hidden "
            "score is so large that it took all the weight, and the others underflowed to 0: nothing is left to "
            "divide by. Hide scores, not weights.",
            also=(
                lambda scores, mask: _rescaled(scores.softmax(dim=-1) * mask),
                lambda scores, mask: _zeros_for_nan_rows(_rescaled(scores.softmax(dim=-1) * mask)),
                lambda scores, mask: _rescaled(_row_shifted(scores) * mask),
            ),
        ),
        Mistake(
            "zero-score",
            lambda scores, mask: _zeros_for_nan_rows((scores * mask).softmax(dim=-1)),
            "You set hidden scores to 0. A score of 0 is a score like any other, and exp(0) is 1: the hidden keys "
            "still get weight.",
            also=(lambda scores, mask: _softmax_under(scores, mask, 0.0) * mask.any(dim=-1, keepdim=True),),
        ),
        Mistake(
            "mask-added",
            lambda scores, mask: (scores + mask.to(scores.dtype)).softmax(dim=-1),
            "You added the boolean mask to the scores. That adds 1 where a query may look and hides nothing. An "
            "additive mask holds 0 and -inf.",
        ),
        Mistake(
            "finite-stand-in",
            lambda scores, mask: _softmax_under(scores, mask, -1e9),
            "You hid keys with a large negative number instead of -inf. In a row with no key all scores are then "
            "equal or as before, and keys that are all hidden share the weight; and a number not large enough leaves "
            "a little weight, or loses to scores near a million.",
            also=(
                lambda scores, mask: _softmax_under(scores, mask, torch.finfo(scores.dtype).min),
                lambda scores, mask: _softmax_under(scores, mask, -1e4),
                lambda scores, mask: _softmax_under(scores, mask, scores.amin() - 18) * mask.any(-1, keepdim=True),
                lambda scores, mask: _softmax_under(scores, mask, -1e9) * mask,
                lambda scores, mask: (scores + ~mask * -1e9).softmax(dim=-1),
                lambda scores, mask: (scores + ~mask * -1e4).softmax(dim=-1),
            ),
        ),
        Mistake(
            "empty-row-nan",
            lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=-1),
            "Your answer is right but for a query with no key: the softmax of a row of -inf is NaN, and the exercise "
            "asks for zeros. One such row makes the loss and all gradients NaN.",
        ),
        Mistake(
            "over-queries",
            lambda scores, mask: _softmax_under(scores, mask, dim=-2),
            "You took the softmax over the queries: each column sums to 1, not each row.",
            also=(lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=-2),),
        ),
    ),
)
