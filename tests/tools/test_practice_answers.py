"""The exercises: what is right passes however it is written, and each is made as it says."""

import copy

import pytest
import torch
from torch import Tensor

from companion.practice.checker import check
from companion.practice.compare import TOLERANCE
from companion.practice.random_inputs import ChunkStream
from tests.tools.practice import ALL, BY_NAME, wanted
from tests.tools.right_answers import ALTERNATIVES


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


def _size(argument):
    if isinstance(argument, Tensor):
        return argument.numel()
    return len(argument) if isinstance(argument, list | tuple | str | ChunkStream) else argument or 0


@pytest.mark.parametrize("exercise", ALL)
def test_cases_are_the_same_each_time_and_start_small(exercise):
    first, second = exercise.cases(), exercise.cases()
    sizes = [sum(_size(x) for x in case.arguments) for case in first]
    for one, other in zip(first, second, strict=True):
        for x, y in zip(one.arguments, other.arguments, strict=True):
            assert torch.equal(x.nan_to_num(0.5), y.nan_to_num(0.5)) if isinstance(x, Tensor) else x == y
    assert len(first) >= 7
    assert sizes[0] <= sorted(sizes)[len(sizes) // 3] < max(sizes)


def are_weights(x):
    """Whether each row sums to 1, or to 0 for a query with no key, so that no entry can be large."""
    if not x.is_floating_point() or not x.numel() or x.ndim < 2:
        return False
    sums = x.sum(dim=-1)
    return bool((x >= 0).all() and ((sums - 1).abs().minimum(sums.abs()) < 1e-5).all())


def are_draws(x):
    """Whether each entry could come from a uniform draw, so that no entry can be large."""
    return bool(((x >= 0) & (x < 1)).all())


def test_numbers_from_0_to_below_1_are_draws_and_others_are_not():
    assert are_draws(torch.tensor([0.0, 0.9]))
    assert not are_draws(torch.tensor([0.5, 1.0]))
    assert not are_draws(torch.tensor([0.5, -0.1]))


def test_rows_that_sum_to_one_are_weights_and_others_are_not():
    weights = torch.tensor([[0.25, 0.75], [0.0, 0.0]])
    assert are_weights(weights)
    for other in (2 * weights, torch.tensor([[1.5, -0.5]]), weights > 0, torch.ones(1), torch.ones(2, 0)):
        assert not are_weights(other)


@pytest.mark.parametrize("exercise", ALL)
def test_cases_hold_what_the_exercise_says_it_tested(exercise):
    tensors = [x for case in exercise.cases() for x in case.arguments if isinstance(x, Tensor)]
    dtypes = {x.dtype for x in tensors}
    real = [x for x in tensors if x.is_floating_point() and x.numel()]
    if torch.float64 in dtypes:
        assert torch.float32 in dtypes, "cases in float64 need one in float32 as well"
        largest = max(x[x.isfinite()].abs().max() for x in real)
        what = f"a case needs a number of 1000 or more, unless all are weights or draws: got {largest:g} at most"
        assert largest >= 1e3 or all(are_weights(x) or are_draws(x) for x in real), what
    for words, fact in {
        "no key": lambda x: (x.dtype == torch.bool or are_weights(x)) and not x.any(-1).all(),
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
    return [
        x for x in results if isinstance(x, Tensor) and x.is_floating_point()
    ]  # a whole number and a plain number no tolerance


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
    for case, want in zip(exercise.cases(), wanted(exercise.name), strict=True):
        shaken = []
        for x in case.arguments:
            if isinstance(x, Tensor) and x.is_floating_point():
                noise = 2 * torch.rand(x.shape, generator=generator, dtype=x.dtype) - 1
                x = torch.where(x.isfinite(), x * (1 + 4 * torch.finfo(x.dtype).eps * noise), x)
            shaken.append(x)
        shaken = copy.deepcopy(shaken)  # a stream is read once
        assert largest_error(exercise.results(exercise.reference, shaken), want) < 0.2, case.note


@pytest.mark.parametrize("exercise", ALL)
def test_hints_are_three_and_none_is_the_code(exercise):
    assert len(set(exercise.hints)) == 3
    for text in exercise.hints:
        assert 60 < len(text) < 400
        assert "return" not in text
        assert "lambda" not in text
