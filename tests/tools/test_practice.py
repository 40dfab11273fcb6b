"""The exercises: what is right passes however it is written, and a classic mistake is named."""

import copy
import functools
import html.parser
import itertools
import json
import math
import re
import traceback
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from companion import exercises as book
from companion import masks
from companion.attention import attention as package_attention
from companion.attention import attention_weights
from companion.practice import check_exercise, complaints, exercises, hint, inputs, keep_progress, progress, status
from companion.practice.checker import NotAnswered, WrongAnswer, check
from companion.practice.compare import TOLERANCE, difference
from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.hints import Hint
from companion.practice.inputs import Draw, Stream
from tests.chapters.attention.right_answers import (
    attention_by_einsum,
    backward_by_autograd,
    backward_by_jacobian,
    jacobian_by_loops,
    padding_by_loops,
    softmax_by_rows,
)
from tests.tools.mistakes import as_written, refused
from tests.tools.right_answers import ALTERNATIVES

BY_NAME = {exercise.name: exercise for exercise in exercises()}
ALL = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]
MISTAKES = [
    pytest.param(exercise, mistake, function, id=f"{exercise.name}-{mistake.name}-{number}")
    for exercise in exercises()
    for mistake in exercise.mistakes
    for number, function in enumerate((mistake.function, *mistake.also))
]
quiet = pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")  # one of the mistakes


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Give each test a progress of its own."""
    monkeypatch.setattr(progress, "PROGRESS", progress.Progress())
    return progress.PROGRESS


def one_line(error):
    return " ".join(str(error).split())


# Right answers.


@pytest.mark.parametrize("exercise", ALL)
def test_the_reference_is_right(exercise):
    assert check(exercise, exercise.reference) == len(exercise.cases())


@pytest.mark.parametrize(
    ("name", "function"),
    [
        pytest.param(name, function, id=f"{name}-{number}")
        for name, functions in ALTERNATIVES.items()
        for number, function in enumerate(functions)
    ],
)
def test_a_right_answer_written_differently_passes(name, function):
    assert check(BY_NAME[name], function) == len(BY_NAME[name].cases())


def test_every_exercise_has_two_alternatives_or_more():
    assert BY_NAME.keys() == ALTERNATIVES.keys()
    assert min(map(len, ALTERNATIVES.values())) >= 2


# Wrong answers.


@quiet
@pytest.mark.parametrize(("exercise", "mistake", "function"), MISTAKES)
def test_a_named_mistake_gets_its_own_diagnosis(exercise, mistake, function):
    error = refused(exercise, function)
    assert error.mistake == mistake.name
    assert mistake.diagnosis in one_line(error)


def behaviour(exercise, function):
    out = []
    for case in exercise.cases():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out.append(function(*case.arguments))
        except Exception as error:
            out.append(str(error))
    return out


def only_costs(exercise, mistake):
    """Whether a mistake gives the right results and is refused for what they cost."""
    wants = [exercise.reference(*case.arguments) for case in exercise.cases()]
    return exercise.limits and all(map(agree, behaviour(exercise, mistake.function), wants))


def agree(one, other):
    if isinstance(one, str) or isinstance(other, str):  # an error
        return isinstance(one, str) and isinstance(other, str) and one == other
    return difference(one, other) is None


@quiet
@pytest.mark.parametrize("exercise", ALL)
def test_no_two_mistakes_are_the_same_everywhere(exercise):
    for one, other in itertools.combinations(exercise.mistakes, 2):
        pairs = zip(behaviour(exercise, one.function), behaviour(exercise, other.function), strict=True)
        assert not all(agree(*pair) for pair in pairs), f"{one.name} and {other.name}"


def as_given(x, lengths, w_q, w_k, w_v):
    """The code that the chapter hands over for repair."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    real = torch.arange(x.shape[1]) <= lengths[:, None]
    weights = scores.softmax(dim=-1) * real[:, None, :]
    output = weights @ value
    return output.mean(dim=1)


def two_axes(x, lengths, w_q, w_k, w_v):
    real = torch.stack([torch.arange(x.shape[1]) < n for n in lengths])
    scores = torch.where(real, (x @ w_q) @ (x @ w_k).mT / w_q.shape[1] ** 0.5, -torch.inf)
    return (scores.softmax(-1) @ (x @ w_v) * real[..., None]).sum(1) / lengths[:, None]


def backward_without_row_sum(q, k, v, g):
    c = q.shape[-1] ** -0.5
    p = torch.einsum("...id,...jd->...ij", c * q, k).softmax(-1)
    d = c * p * torch.einsum("...id,...jd->...ij", g, v)
    return d @ k, torch.einsum("...ij,...id->...jd", d, q), p.mT @ g


def backward_without_scale(q, k, v, g):
    d_query, d_key, d_value = backward_by_autograd(q, k, v, g)
    return d_query * q.shape[-1] ** 0.5, d_key * q.shape[-1] ** 0.5, d_value


def backward_without_transpose(q, k, v, g):
    weights = ((q / q.shape[-1] ** 0.5) @ k.mT).softmax(-1)
    return (*backward_by_autograd(q, k, v, g)[:2], weights @ g)


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("scaled-scores", "not-transposed", lambda q, k: torch.matmul(q, k)),
    ("scaled-scores", "not-transposed", lambda q, k: k @ (q / q.shape[-1] ** 0.5)),
    ("masked-weights", "renormalised", lambda s, mask: softmax_then_mask(s, mask)),
    ("masked-weights", "renormalised", lambda s, mask: softmax_then_mask(s, mask).nan_to_num(0.0)),
    ("masked-weights", "renormalised", lambda s, mask: F.normalize(torch.softmax(s, -1) * mask, p=1, dim=-1)),
    ("attention", "key-not-transposed", lambda q, k, v, m=None: torch.softmax(q @ k / q.shape[-1] ** 0.5, -1) @ v),
    ("attention", "renormalised", lambda q, k, v, m=None: attention_then_mask(q, k, v, m)),
    ("debug-padded-batch", "renormalised", lambda x, n, *w: sentences_then_mask(x, n, *w)),
    ("attention-backward", "key-not-transposed", lambda q, k, v, g: torch.softmax(q @ k, -1).mT @ g),
    ("attention-backward", "no-keepdim", lambda q, k, v, g: backward_without_keepdim(q, k, v, g)),
    ("scaled-scores", "no-scale", lambda q, k: torch.einsum("...id,...jd->...ij", q, k)),
    ("scaled-scores", "width-not-root", lambda q, k: (q / q.shape[-1]) @ k.swapaxes(-1, -2)),
    ("scaled-scores", "keys-by-queries", lambda q, k: torch.einsum("...id,...jd->...ji", q, k) / q.shape[-1] ** 0.5),
    ("scaled-scores", "wrong-axes-swapped", lambda q, k: q @ k.permute(*range(k.ndim)[::-1]) / q.shape[-1] ** 0.5),
    ("scaled-scores", "softmax-applied", lambda q, k: attention_weights(q, k)),
    ("softmax-stable", "no-shift", lambda s: (math.e**s) / (math.e**s).sum(-1, keepdim=True)),
    ("softmax-stable", "over-queries", lambda s: softmax_by_rows(s.mT).mT),
    ("softmax-stable", "one-maximum", lambda s: F.normalize((s - s.max()).exp(), p=1, dim=-1)),
    ("softmax-stable", "empty-row-nan", lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()),
    ("causal-mask", "top-left", lambda t_q, t_k: torch.arange(t_k) <= torch.arange(t_q)[:, None]),
    ("causal-mask", "strict", lambda t_q, t_k: torch.arange(t_k) < torch.arange(t_k - t_q, t_k)[:, None]),
    ("causal-mask", "hides-where-true", lambda t_q, t_k: torch.arange(t_k) > torch.arange(t_k - t_q, t_k)[:, None]),
    ("causal-mask", "zeros-and-ones", lambda t_q, t_k: torch.tril(torch.ones(t_q, t_k), t_k - t_q)),
    ("padding-mask", "two-axes", lambda n, t_k: padding_by_loops(n, t_k)[:, 0]),
    ("padding-mask", "off-by-one", lambda n, t_k: padding_by_loops(n + 1, t_k)),
    ("padding-mask", "true-for-padding", lambda n, t_k: padding_by_loops(n, t_k).logical_not()),
    ("masked-weights", "inverted", lambda s, mask: torch.where(mask, -torch.inf, s).softmax(-1)),
    ("masked-weights", "after-softmax", lambda s, mask: torch.where(mask, s.softmax(-1), 0.0)),
    ("masked-weights", "finite-stand-in", lambda s, mask: torch.where(mask, s, -1e9).softmax(-1)),
    ("masked-weights", "empty-row-nan", lambda s, mask: attention_by_einsum_weights(s, mask)),
    ("attention", "over-queries", lambda q, k, v, m=None: over_queries(q, k, v, m)),
    ("attention", "no-scale", lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, scale=1.0)),
    ("attention", "mask-inverted", lambda q, k, v, m=None: package_attention(q, k, v, m if m is None else ~m)),
    ("attention", "mask-ignored", lambda q, k, v, m=None: attention_by_einsum(q, k, v)),
    ("attention", "weights-returned", lambda q, k, v, m=None: attention_weights(q, k, m)),
    ("debug-padded-batch", "as-given", as_given),
    ("debug-padded-batch", "two-axes", two_axes),
    ("debug-padded-batch", "off-by-one", lambda x, n, *w: off_by_one(x, n, *w)),
    ("softmax-jacobian", "no-product", lambda s: torch.eye(s.shape[-1], dtype=s.dtype) * s.softmax(-1)[..., None]),
    ("softmax-jacobian", "plus", lambda s: 2 * torch.diag_embed(s.softmax(-1)) - jacobian_by_loops(s)),
    ("softmax-jacobian", "vector", lambda s: s.softmax(-1) - s.softmax(-1) ** 2),
    ("attention-backward", "no-row-sum", backward_without_row_sum),
    ("attention-backward", "no-scale", backward_without_scale),
    ("attention-backward", "value-untransposed", backward_without_transpose),
    ("attention-backward", "order-swapped", lambda *given: [backward_by_jacobian(*given)[i] for i in (1, 0, 2)]),
]


def softmax_then_mask(scores, mask):
    weights = torch.where(mask, scores.softmax(-1), 0.0)
    return weights / weights.sum(-1, keepdim=True)


def attention_then_mask(query, key, value, mask):
    if mask is None:
        return package_attention(query, key, value)
    return softmax_then_mask(query @ key.mT / query.shape[-1] ** 0.5, mask) @ value


def sentences_then_mask(x, lengths, w_q, w_k, w_v):
    real = torch.arange(x.shape[1]) < lengths[:, None]
    output = attention_then_mask(x @ w_q, x @ w_k, x @ w_v, real[:, None])
    return torch.where(real[..., None], output, 0.0).sum(1) / lengths[:, None]


def backward_without_keepdim(q, k, v, g):
    c = q.shape[-1] ** -0.5
    p = (c * q @ k.mT).softmax(-1)
    d = p * (g @ v.mT)
    d = c * (d - p * d.sum(-1))
    return d @ k, torch.einsum("...ij,...id->...jd", d, q), p.mT @ g


def attention_by_einsum_weights(scores, mask):
    powers = torch.where(mask, (scores - scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)).exp(), 0.0)
    return powers / powers.sum(-1, keepdim=True)


def over_queries(q, k, v, mask):
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    scores = scores if mask is None else torch.where(mask, scores, -torch.inf)
    return torch.softmax(scores, dim=scores.ndim - 2).nan_to_num(0.0) @ v


def off_by_one(x, lengths, w_q, w_k, w_v):
    seen = (lengths + 1).clamp_max(x.shape[1])
    real = torch.arange(x.shape[1]) < seen[:, None]
    output = package_attention(x @ w_q, x @ w_k, x @ w_v, masks.padding(seen, x.shape[1]))
    return torch.where(real[..., None], output, 0.0).sum(1) / lengths[:, None]


@quiet
@as_written(AS_WRITTEN)
def test_a_mistake_is_recognised_when_written_differently(name, mistake, function):
    assert refused(BY_NAME[name], function).mistake == mistake


def shape_only(exercise, make):
    """Answer with the right shapes and dtypes and with numbers from elsewhere."""

    def answer(*arguments):
        want = exercise.reference(*arguments)
        return type(want)(map(make, want)) if isinstance(want, tuple) else make(want)

    return answer


NONSENSE = {
    "halves": lambda want: torch.full_like(want, 0.5),
    "noise": lambda want: torch.rand(want.shape, generator=torch.Generator().manual_seed(9)).to(want.dtype),
    "shifted": lambda want: want.roll(1) if want.dtype == torch.bool else want + 0.25,
    "squared": lambda want: ~want.flip(-1) if want.dtype == torch.bool else want.square() + 1e-3,
}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in NONSENSE.items()])
@pytest.mark.parametrize("exercise", ALL)
def test_an_answer_that_no_mistake_explains_gets_no_diagnosis(exercise, make):
    assert refused(exercise, shape_only(exercise, make)).mistake is None


def test_two_bugs_in_one_answer_are_named_one_after_the_other():
    def first(query, key, value, mask=None):  # no scale, and NaN for a query with no key
        scores = query @ key.mT
        return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ value

    def second(query, key, value, mask=None):  # the scale mended
        return first(query / math.sqrt(query.shape[-1]), key, value, mask)

    assert refused(BY_NAME["attention"], first).mistake == "no-scale"
    assert refused(BY_NAME["attention"], second).mistake == "empty-row-nan"
    assert refused(BY_NAME["softmax-stable"], lambda s: s.exp() / s.exp().sum(-1, keepdim=True)).mistake == "no-shift"


def test_a_renormalised_row_is_named_only_where_a_hidden_score_took_everything():
    """The diagnosis speaks of weights that underflowed: in the case that fails they have."""
    error = refused(BY_NAME["masked-weights"], softmax_then_mask)
    scores, mask = inputs("masked-weights", error.case)
    assert "15 of 15 entries are NaN" in one_line(error)
    assert "it took all the weight, and the others underflowed to 0" in one_line(error)
    assert torch.where(mask, scores.softmax(-1), 0.0).sum() == 0
    error = refused(BY_NAME["debug-padded-batch"], sentences_then_mask)
    x, lengths, w_q, w_k, _ = inputs("debug-padded-batch", error.case)
    weights = attention_weights(x @ w_q, x @ w_k)
    real = torch.arange(x.shape[1]) < lengths[:, None]
    assert "the pads score so high that they took all the weight" in one_line(error)
    assert (torch.where(real[:, None], weights, 0.0).sum(-1) == 0).any()


NEAR = [
    ("scaled-scores", lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], -1)),
    ("scaled-scores", lambda q, k: q @ k.mT @ k),
    ("scaled-scores", lambda q, k: q @ (k if k.shape[-2] == 2 else k.mT)),
    ("attention", lambda q, k, v, m=None: (q @ k.mT).softmax(-1) @ v @ v),
    ("masked-weights", lambda s, mask: 0 * softmax_then_mask(s, mask).nan_to_num(0.0)),
    ("masked-weights", lambda s, mask: s @ s),
    ("attention-backward", lambda q, k, v, g: q @ k.mT @ q),
    ("attention-backward", lambda q, k, v, g: g - g.sum(-1)),
]


@pytest.mark.parametrize(("name", "function"), [pytest.param(*row, id=f"{row[0]}-{i}") for i, row in enumerate(NEAR)])
def test_an_answer_near_a_mistake_is_not_taken_for_it(name, function):
    assert refused(BY_NAME[name], function).mistake is None


@pytest.mark.parametrize("exercise", ALL)
def test_no_diagnosis_names_a_size(exercise):
    """A diagnosis stands under whatever case fails first, and cases differ in their sizes."""
    for mistake in exercise.mistakes:
        assert not re.search(r"\b(width|length|size) \d", mistake.diagnosis.replace("length 1 ", "")), mistake.name


# What an exercise is made of.


def _size(argument):
    if isinstance(argument, Tensor):
        return argument.numel()
    return len(argument) if isinstance(argument, list | str | Stream) else argument or 0


@pytest.mark.parametrize("exercise", ALL)
def test_cases_are_the_same_each_time_and_start_small(exercise):
    first, second = exercise.cases(), exercise.cases()
    sizes = [sum(_size(x) for x in case.arguments) for case in first]
    for one, other in zip(first, second, strict=True):
        for x, y in zip(one.arguments, other.arguments, strict=True):
            assert torch.equal(x, y) if isinstance(x, Tensor) else x == y
    assert len(first) >= 7
    assert sizes[0] <= sorted(sizes)[2] < max(sizes)


@pytest.mark.parametrize("exercise", ALL)
def test_cases_hold_what_the_exercise_says_it_tested(exercise):
    tensors = [x for case in exercise.cases() for x in case.arguments if isinstance(x, Tensor)]
    dtypes = {x.dtype for x in tensors}
    if torch.float64 in dtypes:
        assert {torch.float32, torch.float64} <= dtypes
        assert max(x[x.isfinite()].abs().max() for x in tensors if x.is_floating_point() and x.numel()) >= 1e3
    for words, fact in {
        "no key": lambda x: x.dtype == torch.bool and not x.any(-1).all(),
        "-inf": lambda x: x.dtype != torch.bool and bool((x == -torch.inf).any()),
        "two leading axes": lambda x: x.ndim == 4,
    }.items():
        for case in exercise.cases():
            if words in case.note and "but" not in case.note:
                assert any(fact(x) for x in case.arguments if isinstance(x, Tensor)), case.note
    for case in exercise.cases():
        if "as many sentences as tokens" in case.note:
            assert case.arguments[0].shape[0] == case.arguments[0].shape[1]


def numbers(result):
    results = result if isinstance(result, tuple | list) else [result]
    return [x for x in results if isinstance(x, Tensor) and x.is_floating_point()]  # a whole number has no rounding
    parts = result if isinstance(result, tuple | list) else [result]  # plain Python numbers have no tolerance here
    return [x for x in parts if isinstance(x, Tensor) and x.is_floating_point()]


def largest_error(got, want):
    """In units of the tolerance, as the checker measures."""
    worst = 0.0
    for x, y in zip(numbers(got), numbers(want), strict=True):
        scale = max(1.0, y.abs().nan_to_num(posinf=0.0).max().item())
        worst = max(worst, (x - y).abs().nan_to_num(nan=0.0).max().item() / scale / TOLERANCE[y.dtype])
    return worst


@pytest.mark.parametrize("exercise", ALL)
def test_the_tolerance_is_far_above_rounding(exercise):
    """Inputs off by 4 units in the last place stand for any other order of the same operations."""
    generator = torch.Generator().manual_seed(3)
    for case in exercise.cases():
        shaken = []
        for x in case.arguments:
            if isinstance(x, Tensor) and x.is_floating_point():
                noise = 2 * torch.rand(x.shape, generator=generator, dtype=x.dtype) - 1
                x = torch.where(x.isfinite(), x * (1 + 4 * torch.finfo(x.dtype).eps * noise), x)
            shaken.append(x)
        shaken = copy.deepcopy(shaken)  # a stream is read once
        assert largest_error(exercise.reference(*shaken), exercise.reference(*case.arguments)) < 0.2, case.note


@quiet
@pytest.mark.parametrize("exercise", ALL)
def test_the_tolerance_is_far_below_the_mildest_mistake(exercise):
    wants = [exercise.reference(*case.arguments) for case in exercise.cases()]
    wide = {dtype: 100 * tolerance for dtype, tolerance in TOLERANCE.items()}
    for mistake in exercise.mistakes:
        results = behaviour(exercise, mistake.function)
        pairs = [pair for pair in zip(results, wants, strict=True) if not isinstance(pair[0], str)]
        wrong = len(pairs) < len(wants) or any(difference(*pair, wide) for pair in pairs)
        assert wrong or only_costs(exercise, mistake), mistake.name


@pytest.mark.parametrize("exercise", ALL)
def test_hints_are_three_and_none_is_the_code(exercise):
    assert len(set(exercise.hints)) == 3
    for text in exercise.hints:
        assert 60 < len(text) < 400
        assert "return" not in text
        assert "lambda" not in text


def test_hints_come_in_small_steps():
    """The second gives the operation, not the whole; the third leaves the last step to the reader."""
    assert "`.mT` or `transpose(-2, -1)`" in BY_NAME["scaled-scores"].hints[1]
    for words in ("tril", "triangle", "t_k - 1"):
        assert words not in BY_NAME["causal-mask"].hints[2]
    assert "arange" not in BY_NAME["padding-mask"].hints[2]
    assert "two more axes" not in BY_NAME["padding-mask"].hints[2]
    first, second, third = BY_NAME["debug-padded-batch"].hints
    assert "count as real" in second
    assert not any("mask acts" in text or "averaged" in text for text in (first, second))
    assert "mask acts" in third


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    expected = {
        "scaled-scores": [[2.0, 4.0]],
        "softmax-stable": [[0.125, 0.25, 0.625]],
        "causal-mask": [[True, True, False], [True, True, True]],
        "padding-mask": [[[True, True, True]], [[True, False, False]]],
        "masked-weights": [[0.25, 0.75, 0.0]],
        "attention": [[1.0, 3.0, 8.0]],
        "softmax-jacobian": [[0.1875, -0.1875], [-0.1875, 0.1875]],
    }
    for name, numbers_by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(numbers_by_hand), rtol=0, atol=1e-6)
    d_query, d_key, d_value = BY_NAME["attention-backward"].reference(*inputs("attention-backward", 1))
    assert d_query.tolist() == [[-1.0, 0.0, 0.0, 0.5]]
    assert d_key.tolist() == [[-0.5, 0.0, 0.0, -1.0], [0.5, 0.0, 0.0, 1.0]]
    assert d_value.tolist() == [[0.5, 0.0, 1.0], [0.5, 0.0, 1.0]]


def test_a_drawn_mask_allows_every_query_some_key():
    mask = Draw(0).mask(200, 3)
    assert mask.any(-1).all()
    assert 0.4 < mask.double().mean() < 0.8


# The engine, on a toy: the answer is twice the argument.

TOY_CASES = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, -5.0, 7.0]), torch.zeros(2, 3) + 4.0)


def toy(*mistakes, **changes):
    settings = {
        "name": "toy",
        "title": "Twice",
        "chapter": "none",
        "reference": lambda x: 2 * x,
        "cases": lambda: [Case((x,)) for x in TOY_CASES],
        "tested": "little",
        "hints": ("one", "two", "three"),
        "mistakes": (
            Mistake("half", lambda x: x / 2, "You halved."),
            Mistake("square", lambda x: x * x, "You squared."),
            Mistake("sum", lambda x: x.sum(), "You summed."),
            Mistake("matrix", lambda x: 2 * x.reshape(3, 1) @ x.reshape(1, 3), "You multiplied matrices."),
            *mistakes,
        ),
    }
    return Exercise(**settings | changes)


def test_one_mistake_that_explains_the_answer_is_named():
    error = refused(toy(), lambda x: x / 2)
    assert (error.exercise, error.case, error.mistake) == ("toy", 1, "half")
    assert "Twice: not right yet.\nCase 1 of 3: x (2,), float32.\n" in str(error)
    assert "You halved." in str(error)
    assert "Every entry is 0.25 times what is expected." in one_line(error)


def test_two_mistakes_that_explain_the_answer_equally_are_not_named():
    assert refused(toy(Mistake("also half", lambda x: 0.5 * x, "You halved too.")), lambda x: x / 2).mistake is None


def test_all_cases_separate_two_mistakes_that_agree_on_the_first():
    near = Mistake("half of two", lambda x: x / 2 if x.numel() < 3 else x / 3, "You halved the short ones.")
    assert refused(toy(near), lambda x: x / 2).mistake == "half"
    assert refused(toy(near), lambda x: x / (2 if len(x) == 2 and x.ndim == 1 else 3)).mistake == "half of two"


def test_a_mistake_is_not_named_for_an_answer_that_is_right_where_the_mistake_fails():
    assert refused(toy(), lambda x: x / 2 if x.ndim == 1 else 2 * x).mistake is None


def test_one_agreement_among_several_failures_names_nothing():
    assert refused(toy(), lambda x: x / 2 if x.numel() == 2 else x + 11).mistake is None


def test_an_error_is_shown_with_its_case_and_chained():
    def mine(x):
        return x.reshape(2)

    def broken(x):
        return 2 * x if x.ndim == 1 else x @ x

    error = refused(toy(), mine)
    assert "Case 1 of 3" in str(error)
    error = refused(toy(), broken)
    assert "Case 3 of 3: x (2, 3), float32." in str(error)
    assert "Your code raised RuntimeError: " in str(error)
    assert isinstance(error.__cause__, RuntimeError)
    assert error.mistake is None


def test_the_same_error_on_the_same_shapes_is_the_same_mistake():
    assert refused(toy(), lambda x: 2 * torch.reshape(x, (3, 1)) * x).mistake == "matrix"
    assert refused(toy(), lambda x: 5 * torch.reshape(x, (3, 1))).mistake is None  # the errors agree, no value does
    error = refused(BY_NAME["scaled-scores"], lambda q, k: q @ torch.t(k) / q.shape[-1] ** 0.5)
    assert "Your code raised RuntimeError: t() expects" in str(error)
    assert error.mistake == "wrong-axes-swapped"


# An error in the reader's code, in words.


SCORES, MASK = torch.arange(35.0).reshape(5, 7), torch.arange(35).reshape(5, 7) % 3 > 0
BATCH = torch.arange(2 * 5 * 7.0).reshape(2, 5, 7)

ERRORS = [
    (lambda: SCORES @ SCORES, "so the two have one size: here they are 7 and 5."),
    (lambda: SCORES[0] @ SCORES[:, 0], None),  # two vectors: torch speaks of their sizes itself
    (lambda: BATCH @ BATCH, "so the two have one size: here they are 7 and 5."),
    (lambda: torch.bmm(BATCH.mT, BATCH[:1]), None),  # the batches differ, and no transpose helps
    (lambda: SCORES - SCORES.sum(-1), "here 7 meets 5. A sum or a maximum over an axis removes it"),
    (lambda: SCORES - SCORES.max(-1, keepdim=True), "`max` returns two tensors, the values and where they stood."),
    (lambda: SCORES.min(-1).exp(), "`min` returns two tensors, the values and where they stood."),
    (lambda: torch.exp(SCORES.max(-1)), "`max` returns two tensors"),
    (lambda: 1 if MASK else 2, "Whether there is a mask at all is `mask is not None`"),
    (lambda: max(SCORES, MASK), "Python asks a whole tensor for one True or False"),
    (lambda: torch.outer(SCORES, SCORES), "`torch.outer` takes two vectors, and this tensor has 2 axes."),
    (lambda: BATCH.t(), "`.t()` takes two axes at most, and this tensor has 3."),
    (lambda: SCORES @ SCORES.mT.double(), "A product takes tensors of one dtype and converts none."),
    (lambda: BATCH @ BATCH.mT.double(), "A product takes tensors of one dtype and converts none."),
    (lambda: SCORES.masked_fill(MASK.float(), 0.0), "A tensor of booleans is needed here"),
    (lambda: ~SCORES, "A tensor of booleans is needed here"),
    (lambda: torch.where(SCORES, SCORES, 0.0), "A tensor of booleans is needed here"),
    (lambda: torch.sqrt(SCORES.shape[-1]), "`torch.sqrt` takes a tensor, and this is a plain number"),
    (lambda: torch.tril(5, 7), None),
    (lambda: math.exp(SCORES), "A tensor of several entries stands where one number is needed."),
    (lambda: range(SCORES), "A tensor of several entries stands where one number is needed."),
    (lambda: SCORES.softmax(2), "This tensor has no axis 2: its axes are -2 to 1."),
    (lambda: SCORES[:, :, 0], "More axes are indexed than the 2 that this tensor has."),
    (lambda: [a for a, b, c in [SCORES.shape]], "leading axes come and go"),
    (lambda: [a for (a,) in [SCORES.shape]], "leading axes come and go"),
    (lambda: SCORES.shape(-1), "A shape is no function."),
    (lambda: SCORES.size[-1], "A method needs round brackets"),
    (lambda: torch.softmax(SCORES), "A softmax needs to be told its axis"),
    (lambda: ~None, "A value here is None"),
    (lambda: None.any(), "A value here is None"),
    (lambda: not_set_anywhere, "The name `not_set_anywhere` has no value"),  # noqa: F821
    (lambda: [][3], None),
    (lambda: 1 / 0, None),
    (lambda: SCORES.reshape(3, 3), None),
]


def raised_by(function):
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("no error")


@pytest.mark.parametrize(("function", "sentence"), ERRORS)
def test_an_error_message_is_told_in_plain_words(function, sentence):
    found = complaints.meaning(raised_by(function))
    assert found is None if sentence is None else sentence in found


def test_every_meaning_is_one_that_torch_or_python_still_gives():
    messages = [str(raised_by(function)) for function, _ in ERRORS]
    for pattern, _ in complaints.MEANINGS:
        assert any(re.search(pattern, message) for message in messages), pattern


def jacobian_by_outer(scores):
    weights = scores.softmax(-1)
    return torch.diag_embed(weights) - torch.outer(weights, weights)


def test_an_error_without_a_named_mistake_gets_its_meaning():
    def mine(scores):
        return (scores - scores.max(-1, keepdim=True)).exp()

    error = refused(BY_NAME["softmax-stable"], mine)
    assert error.mistake is None
    assert "Over an axis `max` returns two tensors" in one_line(error)
    error = refused(BY_NAME["softmax-jacobian"], lambda s: torch.diag_embed(s) - torch.outer(s.softmax(-1), s))
    assert "`torch.outer`" not in one_line(error)  # it is wrong before it raises
    error = refused(BY_NAME["softmax-jacobian"], jacobian_by_outer)
    assert (error.case, error.mistake) == (4, None)
    assert "`torch.outer` takes two vectors, and this tensor has 2 axes." in one_line(error)


def test_a_named_mistake_is_told_in_place_of_the_meaning():
    text = one_line(refused(BY_NAME["scaled-scores"], lambda q, k: q @ k))
    assert "You multiplied query and key as they stand." in text
    assert "so the two have one size" not in text


def test_the_line_of_the_reader_is_quoted():
    def mine(scores, mask):
        hidden = ~mask
        return scores.mask_fill(hidden, -torch.inf).softmax(-1)

    lines = str(refused(BY_NAME["masked-weights"], mine)).splitlines()
    assert lines[2:4] == [
        "Your code raised AttributeError: 'Tensor' object has no attribute 'mask_fill'. Did you mean: 'masked_fill'?",
        "In line 3 of mine: `return scores.mask_fill(hidden, -torch.inf).softmax(-1)`",
    ]


def widest(x):
    return max(
        [row.softmax(7) for row in x],
    )


def test_a_helper_is_quoted_beside_the_line_that_calls_it():
    def mine(x):
        return functools.reduce(lambda a, b: widest(b), [x, x])

    error = refused(toy(), mine)
    assert str(error).splitlines()[3:5] == [
        "In line 2 of mine: `return functools.reduce(lambda a, b: widest(b), [x, x])`",
        "In line 3 of widest: `[row.softmax(7) for row in x],`",
    ]


def test_lines_inside_libraries_are_left_out():
    def mine(x):
        return F.softmax(x, dim=7)

    error = refused(toy(), mine)
    assert "In line 2 of mine: `return F.softmax(x, dim=7)`" in str(error)
    steps = traceback.extract_tb(error.__cause__.__traceback__)
    assert [step.name for step in steps] == ["mine"]


def test_a_lambda_is_quoted_without_a_number():
    text = str(refused(toy(), lambda x: x.softmax(7)))
    assert "In your line `text = str(refused(toy(), lambda x: x.softmax(7)))`" in text


def test_code_without_source_is_named_by_its_line():
    space = {}
    exec(compile("def mine(x):\n    y = 2\n    return x.softmax(7)\n", "<nowhere>", "exec"), space)
    assert "\nIn line 3 of mine\n" in str(refused(toy(), space["mine"]))
    exec(compile("mine = lambda x: x.softmax(7)", "<nowhere>", "exec"), space)
    assert "In " not in str(refused(toy(), space["mine"]))
    assert "\nIn " not in str(refused(toy(), functools.partial(torch.softmax, dim=7)))


def test_a_callable_object_and_a_wrapped_function_are_quoted_too():
    class Mine:
        def __call__(self, x):
            return x.softmax(7)

    @torch.no_grad()
    def mine(x):
        return x.softmax(7)

    def mine_too(x):
        return x.softmax(7)

    assert "In line 2 of __call__: `return x.softmax(7)`" in str(refused(toy(), Mine()))
    assert "In line 3 of mine: `return x.softmax(7)`" in str(refused(toy(), mine))
    assert "In line 2 of mine_too: `return x.softmax(7)`" in str(refused(toy(), functools.partial(mine_too)))


def test_a_long_line_is_cut_and_the_end_of_a_message_trimmed():
    def mine(x):
        return x.softmax(7) + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1

    line = next(line for line in str(refused(toy(), mine)).splitlines() if line.startswith("In line"))
    assert re.fullmatch(r"In line 2 of mine: `return x\.softmax\(7\)[ +1]{81} \.\.\.`", line)

    def two(x):
        raise ValueError("first\nsecond\n\n")

    assert "ValueError: first\nsecond\nIn line 2 of two" in str(refused(toy(), two))


@pytest.mark.parametrize(
    ("function", "meant"),
    [
        (lambda x: x.masked_fil(1), "masked_fill"),
        (lambda x: x.mt, "mT"),
        (lambda x: torch.soft_max(x), "softmax"),
        (lambda x: maht.sqrt(x), "math"),  # noqa: F821
        (lambda x: prnt(x), "print"),  # noqa: F821
        (lambda x: x.zzzzz, None),
        (lambda x: x.softmax(7), None),
        (lambda x: x.nnz(), None),  # there is a private _nnz
        (lambda x: x._nz(), "_nnz"),
    ],
)
def test_the_name_that_may_be_meant_is_given(function, meant):
    text = str(refused(toy(), function))
    assert (f". Did you mean: '{meant}'?\n" in text) if meant else ("Did you mean" not in text)


def test_a_name_that_python_offered_already_is_not_offered_twice():
    def mine(x):
        raise AttributeError("no 'a'. Did you mean: 'b'?", name="mt", obj=x)

    told = next(line for line in str(refused(toy(), mine)).splitlines() if line.startswith("Your code raised"))
    assert told.endswith("no 'a'. Did you mean: 'b'?")


def test_a_notebook_shows_the_message_alone():
    error = refused(toy(), lambda x: x / 2)
    assert error._render_traceback_() == ["WrongAnswer: " + str(error).splitlines()[0], *str(error).splitlines()[1:]]


def test_an_argument_changed_in_place_is_named():
    def doubles(scores):
        return scores.mul_(2)

    error = refused(toy(reference=lambda scores: 2 * scores), doubles)
    assert "changed its argument `scores` in place" in one_line(error)
    assert error.mistake is None


def test_a_mask_changed_in_place_is_named():
    def mine(scores, mask):
        weights = scores.masked_fill(mask.logical_not_(), -torch.inf).softmax(-1)
        return weights.nan_to_num(0.0)

    assert "changed its argument `mask` in place" in one_line(refused(BY_NAME["masked-weights"], mine))


def test_changing_a_copy_in_place_is_fine():
    assert check(toy(), lambda x: x.clone().mul_(2)) == 3


def test_arguments_reach_each_call_fresh():
    exercise = toy()
    refused(exercise, lambda x: x.zero_())
    assert TOY_CASES[0].tolist() == [1.0, 2.0]
    assert check(exercise, exercise.reference) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: (2 * x).numpy(), r"you returned a NumPy ndarray; a tensor is expected\. Stay in torch"),
        (lambda x: (2 * x).tolist(), r"you returned a list of 2; a tensor is expected"),
        (lambda x: 1.0, r"you returned a float; a tensor is expected"),
        (lambda x: (x, x), r"you returned a tuple of 2; a tensor is expected"),
        (lambda x: (2 * x)[None], r"the shape is \(1, 2\); \(2,\) is expected"),
        (lambda x: (2 * x).double(), r"the dtype is float64; float32 is expected\. Keep the dtype of the arguments"),
        (lambda x: (2 * x).int(), r"the dtype is int32; float32 is expected\."),
        (lambda x: (2 * x).half(), r"the dtype is float16; float32 is expected"),
        (lambda x: -2 * x, r"Every entry has the opposite sign\."),
        (lambda x: 2 * x + torch.tensor([0.0, torch.nan]), r"1 of 2 entries is NaN, the first at \[1\]"),
        (lambda x: 2 * x / 0, r"2 of 2 entries are infinite, the first at \[0\]"),
        (
            lambda x: 2 * x + 0.1 * x * x,
            r"the largest difference is 0\.4 at \[1\], where yours is 4\.4; 2 of 2 entries",
        ),
    ],
)
def test_what_differs_is_said(answer, message):
    assert re.search(message, one_line(refused(toy(), answer)))


def test_a_tensor_with_a_gradient_is_accepted():
    assert check(toy(), lambda x: 2 * x.clone().requires_grad_()) == 3


def test_none_on_a_later_case_is_a_wrong_answer():
    error = refused(toy(), lambda x: 2 * x if len(x) == 2 and x.ndim == 1 else None)
    assert "you returned None (is a `return` missing?); a tensor is expected" in one_line(error)


def test_parameters_that_do_not_fit_are_named():
    def mine(q, k):
        return q

    message = re.escape("the check calls mine(query, key, value, mask), but yours takes (q, k).")
    with pytest.raises(WrongAnswer, match=message.replace(r"\ ", r"\s")):
        check(BY_NAME["attention"], mine)


@pytest.mark.parametrize(
    ("got", "want", "found"),
    [
        (3, 3, None),
        (torch.tensor(3), 3, None),
        (np.int64(3), 3, None),
        (3.0, 3, r"you returned a float; an int is expected"),
        (4, 3, r"your answer is 4"),
        (True, 1, r"you returned a bool; an int is expected"),
        (2.5, 2.5, None),
        (np.float64(2.5), 2.5, None),
        (torch.tensor(2.5, dtype=torch.float64), 2.5, None),
        (3, 3.0, None),
        (True, 1.0, r"you returned a bool; a number is expected"),
        ("2.5", 2.5, r"you returned a str; a number is expected"),
        (2.5001, 2.5, r"your number is 2\.5001"),
        ("ab", "ab", None),
        (["a", "b"], ("a", "b"), None),
        (("a", "c"), ["a", "b"], r"result 2: your answer is 'c'"),
        (("a",), ("a", "b"), r"you returned 1 results; 2 results are expected"),
        ("ab", ("a", "b"), r"you returned a str; 2 results are expected"),
        (torch.tensor([True, False]), torch.tensor([False, True]), r"every entry is the opposite"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), r"1 of 2 entries differ, the first at \[1\], where yours is 2"),
        (torch.tensor(1.5), torch.tensor(1.0), r"the largest difference is 0\.5; 1 of 1 entry differ"),
        (torch.tensor([-torch.inf]), torch.tensor([-torch.inf]), None),
        (torch.tensor([1.0, 5.0]), torch.tensor([1.0, -torch.inf]), r"the largest difference is inf at \[1\]"),
        (torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]), None),
    ],
)
def test_results_of_each_kind_are_compared(got, want, found):
    result = difference(got, want)
    assert result is None if found is None else re.search(found, result)


def test_several_results_are_named():
    exercise = BY_NAME["attention-backward"]
    swapped = refused(exercise, lambda q, k, v, g: (q, k, v))
    assert "What differs: d_query: the largest difference" in one_line(swapped)
    few = refused(exercise, lambda q, k, v, g: (q, k))
    assert "you returned 2 results; 3 results (d_query, d_key, d_value) are expected" in one_line(few)


def test_an_exercise_needs_three_hints():
    with pytest.raises(ValueError, match=r"three hints: 'toy' has 2"):
        toy(hints=("one", "two"))


def test_an_exercise_needs_four_mistakes_of_different_names():
    with pytest.raises(ValueError, match=r"at least four different mistakes: 'toy' has \['half', .*'half'\]"):
        toy(Mistake("half", lambda x: x / 2, "Again."))
    with pytest.raises(ValueError, match=r"at least four different mistakes: 'toy' has \[\]"):
        toy(mistakes=())


def test_texts_of_objects_are_stable():
    assert repr(toy()) == "Exercise('toy': Twice)"
    assert repr(toy().mistakes[0]) == "Mistake('half')"


# What the reader calls.


def test_a_right_answer_is_reported_and_recorded(capsys, fresh):
    check_exercise("scaled-scores", ALTERNATIVES["scaled-scores"][0])
    out = capsys.readouterr().out
    assert out.startswith("Compute the scaled scores: correct (9 cases).\nTested: sizes that all differ, leading axes")
    assert fresh.state("scaled-scores") == "solved"


def test_a_wrong_answer_is_raised_and_recorded(fresh):
    with pytest.raises(WrongAnswer, match="You did not scale the dot products"):
        check_exercise("scaled-scores", lambda q, k: q @ k.mT)
    assert fresh.state("scaled-scores") == "tried"
    assert issubclass(WrongAnswer, AssertionError)


def test_record_false_leaves_no_trace(fresh):
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference, record=False)
    with pytest.raises(WrongAnswer):
        check_exercise("scaled-scores", lambda q, k: q @ k.mT, record=False)
    assert fresh.state("scaled-scores") == "open"


def stub_none(query, key): ...


def stub_ellipsis(query, key):
    scores = ...
    return scores


def stub_raises(query, key):
    raise NotImplementedError("your code")


@pytest.mark.parametrize("answer", [stub_none, stub_ellipsis, stub_raises, None, ...])
def test_a_stub_is_not_answered_yet(answer, capsys, fresh):
    check_exercise("scaled-scores", answer)
    assert capsys.readouterr().out == 'Compute the scaled scores: not answered yet. hint("scaled-scores") helps.\n'
    assert fresh.state("scaled-scores") == "open"


def test_a_forgotten_return_is_pointed_out(capsys):
    def mine(query, key):
        query @ key.mT

    check_exercise("scaled-scores", mine)
    assert "mine computes something but returns None: is its `return` missing?" in capsys.readouterr().out


def test_not_implemented_from_torch_is_an_error_and_no_stub():
    def mine(x):
        return torch._C._nn.gelu(x.to(torch.int32))

    with pytest.raises(NotAnswered):
        check(toy(), lambda x: None)
    error = refused(toy(), mine)
    assert isinstance(error.__cause__, NotImplementedError)


def test_an_answer_that_was_called_already_is_refused():
    with pytest.raises(ValueError, match=r"the answer is a function: got Tensor\. Pass it without calling it"):
        check_exercise("scaled-scores", torch.zeros(2))


@pytest.mark.parametrize("call", [lambda n: check_exercise(n, None), hint, lambda n: inputs(n, 1)])
def test_an_unknown_name_lists_the_close_ones(call):
    with pytest.raises(ValueError, match=r"no 'softmax_stabel'\. Close to it: softmax-stable"):
        call("softmax_stabel")
    with pytest.raises(ValueError, match=r"no 'zzz'\. Close to it: rnn-steps, lstm-step, .*backward"):
        call("zzz")


def test_inputs_give_the_case_and_a_copy_of_it():
    query, key = inputs("scaled-scores", 6)
    assert (query.shape, key.shape) == ((2, 5, 11), (2, 7, 11))
    query.zero_()
    assert inputs("scaled-scores", 6)[0].abs().sum() > 0


@pytest.mark.parametrize("case", [0, 10, -1])
def test_inputs_refuse_a_case_that_is_not_there(case):
    with pytest.raises(ValueError, match=rf"'scaled-scores' has the cases 1 to 9: got {case}"):
        inputs("scaled-scores", case)


def test_exercises_are_listed_in_order_and_by_chapter():
    assert exercises("history") + exercises("attention") == exercises()[:16]
    assert [exercise.name for exercise in exercises("attention")][:2] == ["scaled-scores", "softmax-stable"]
    with pytest.raises(ValueError, match=r"got 'cooking'\. There are: history, attention"):
        exercises("cooking")


def test_public_names_are_all_there():
    assert all(hasattr(book, name) for name in book.__all__)


# Hints.


class Outline(html.parser.HTMLParser):
    """Collect the nesting of details elements and the text at each depth."""

    def __init__(self):
        super().__init__()
        self.depth, self.texts, self.attributes = 0, {}, []

    def handle_starttag(self, tag, attrs):
        if tag == "details":
            self.depth += 1
            self.attributes += attrs

    def handle_endtag(self, tag):
        self.depth -= tag == "details"

    def handle_data(self, data):
        self.texts[self.depth] = self.texts.get(self.depth, "") + data


@pytest.mark.parametrize("exercise", ALL)
def test_hints_open_one_after_the_other(exercise):
    outline = Outline()
    outline.feed(hint(exercise.name)._repr_html_())
    assert outline.depth == 0
    assert outline.attributes == []  # closed
    for step, text in enumerate(exercise.hints, start=1):
        assert outline.texts[step] == f"Hint {step} of 3" + text.replace("`", "")


def test_a_hint_as_text_is_the_first_and_the_way_to_the_next():
    text = " ".join(repr(hint("attention")).split())
    assert text.startswith("Hint 1 of 3: Three steps")
    assert text.endswith('The next: hint("attention", 2).')
    assert BY_NAME["attention"].hints[1] not in text
    assert str(hint("attention")) == repr(hint("attention"))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_step_gives_exactly_that_hint(step):
    given = hint("attention", step)
    for number, text in enumerate(BY_NAME["attention"].hints, start=1):
        assert (" ".join(repr(given).split()) == f"Hint {number} of 3: {text}") == (number == step)
    assert f"Hint {step} of 3." in given._repr_html_()
    assert given._repr_html_().count("Hint") == 1
    assert "<details" not in given._repr_html_()


@pytest.mark.parametrize("step", [0, 4, -1])
def test_a_step_that_is_not_there_is_refused(step):
    with pytest.raises(ValueError, match=rf"numbered 1, 2 and 3: got {step!r}"):
        hint("attention", step)


def test_hints_are_escaped():
    given = Hint("x", ("a < b & `c > d`", "<script>", "three"))
    text = given._repr_html_()
    assert "a &lt; b &amp; <code>c &gt; d</code>" in text
    assert "<script>" not in text


# Progress.


def test_status_is_a_table_by_chapter(capsys):
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    with pytest.raises(WrongAnswer):
        check_exercise("causal-mask", lambda t_q, t_k: torch.ones(t_q, t_k))
    capsys.readouterr()
    status()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "history: 0 of 7 solved"
    lines = lines[8:]
    assert lines[0] == "attention: 1 of 9 solved"
    assert lines[1] == "  solved  scaled-scores          Compute the scaled scores"
    assert lines[2] == "  open    softmax-stable         Write a softmax that survives large scores"
    assert lines[3] == "  tried   causal-mask            Build a causal mask"
    assert lines[-1] == 'Not kept: keep_progress("progress.json") keeps it in that file.'


def test_status_shows_one_chapter_where_one_is_asked_for(capsys):
    status("multi-head")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "multi-head: 0 of 7 solved"
    assert lines[1] == "  open    split-heads         Cut features into heads"
    assert len(lines) == 1 + 7 + 1
    status()
    assert {"attention: 0 of 9 solved", "multi-head: 0 of 7 solved"} <= set(capsys.readouterr().out.splitlines())
    with pytest.raises(ValueError, match="a chapter with exercises is asked for: got 'multihead'"):
        status("multihead")


def test_progress_is_kept_in_a_file_that_people_can_read(tmp_path, capsys):
    path = tmp_path / "progress.json"
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    keep_progress(path)
    assert json.loads(path.read_text()) == {"exercises": {"scaled-scores": "solved"}}
    with pytest.raises(WrongAnswer):
        check_exercise("causal-mask", lambda t_q, t_k: torch.ones(t_q, t_k))
    assert path.read_text() == (
        '{\n  "exercises": {\n    "causal-mask": "tried",\n    "scaled-scores": "solved"\n  }\n}\n'
    )
    assert [p.name for p in tmp_path.iterdir()] == ["progress.json"]
    capsys.readouterr()
    status()
    assert capsys.readouterr().out.splitlines()[-1] == f"Kept in {path}."


def test_progress_is_joined_with_the_file_and_never_goes_back(tmp_path, fresh):
    path = tmp_path / "progress.json"
    path.write_text('{"exercises": {"attention": "solved", "causal-mask": "tried", "from-a-later-book": "solved"}}')
    fresh.record("causal-mask", "solved")
    fresh.record("attention", "tried")
    keep_progress(str(path))
    states = json.loads(path.read_text())["exercises"]
    assert states == {"attention": "solved", "causal-mask": "solved", "from-a-later-book": "solved"}
    assert fresh.state("attention") == "solved"
    fresh.record("attention", "tried")
    assert fresh.state("attention") == "solved"


def test_a_solved_exercise_stays_solved(fresh):
    fresh.record("attention", "solved")
    fresh.record("attention", "tried")
    assert fresh.state("attention") == "solved"


def test_two_notebooks_can_keep_one_file(tmp_path):
    one, other = progress.Progress(), progress.Progress()
    one.keep(tmp_path / "p.json")
    other.keep(tmp_path / "p.json")
    one.record("attention", "solved")
    other.record("causal-mask", "tried")
    assert json.loads((tmp_path / "p.json").read_text())["exercises"] == {
        "attention": "solved",
        "causal-mask": "tried",
    }


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '"x"', "{}", '{"exercises": []}', '{"exercises": {"attention": "done"}}', '{"exercises": {"a": []}}'],
)
def test_a_broken_progress_file_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "progress.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"progress\.json does not .*Name another file, or move this one away"):
        keep_progress(path)
    assert path.read_text() == text
    assert progress.PROGRESS.path is None


def test_progress_needs_an_existing_folder(tmp_path):
    for path in (tmp_path / "missing" / "p.json", tmp_path):
        with pytest.raises(ValueError, match=r"a file in an existing folder: got .*Create the folder first"):
            keep_progress(path)


def test_a_file_that_breaks_later_does_not_hide_the_verdict(tmp_path, capsys):
    keep_progress(tmp_path / "p.json")
    (tmp_path / "p.json").write_text("broken")
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    out = capsys.readouterr().out
    assert "Compute the scaled scores: correct" in out
    assert "Progress was not saved: a progress file holds JSON" in out
    with pytest.raises(WrongAnswer, match="You did not scale"):
        check_exercise("scaled-scores", lambda q, k: q @ k.mT)


def test_a_state_that_does_not_exist_is_refused(fresh):
    with pytest.raises(ValueError, match=r"one of open, tried, solved: got 'done'"):
        fresh.record("attention", "done")
