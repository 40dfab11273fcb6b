"""Answers that are right on most inputs are refused, and told where they are not."""

import pytest
import torch

from companion.practice.definition import Case
from tests.tools.edges import nearly_right
from tests.tools.practice import BY_NAME, one_line, refused, toy, wanted

ROWS = nearly_right()


@pytest.mark.parametrize(
    ("name", "words", "function"),
    [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(ROWS)],
)
def test_an_answer_that_is_right_on_most_inputs_is_refused_on_the_one_made_for_it(name, words, function):
    assert words in one_line(refused(BY_NAME[name], function))


def in_kept_memory(function):
    """Give the results of a function in memory that is kept by the sizes of what came in, and is used again."""
    kept = {}

    def sizes(x):
        if isinstance(x, tuple | list):
            return tuple(map(sizes, x))
        return (x.shape, x.dtype) if isinstance(x, torch.Tensor) else type(x)

    def stored(x, key):
        if isinstance(x, tuple | list):
            return type(x)(stored(part, (*key, i)) for i, part in enumerate(x))
        if not isinstance(x, torch.Tensor):
            return x
        return kept.setdefault((*key, sizes(x)), torch.empty_like(x)).copy_(x)

    return lambda *arguments: stored(function(*arguments), sizes(arguments))


BY_SIZES_ALONE = {"causal-mask", "alibi-bias"}  # what they return is the same wherever the sizes are


def returns_tensors(name):
    results = [x for want in wanted(name) for x in (want if isinstance(want, tuple | list) else [want])]
    return any(isinstance(x, torch.Tensor) for x in results)


@pytest.mark.parametrize(
    "name", sorted(name for name, exercise in BY_NAME.items() if not exercise.trial and name not in BY_SIZES_ALONE)
)
def test_memory_that_is_kept_by_sizes_is_refused_in_every_exercise(name):
    if not returns_tensors(name):
        return
    error = refused(BY_NAME[name], in_kept_memory(BY_NAME[name].reference))
    assert "a later call changed it" in one_line(error)


@pytest.mark.parametrize("name", sorted(name for name, exercise in BY_NAME.items() if exercise.gradients))
def test_an_answer_without_gradients_is_refused_where_they_are_asked_for(name):
    exercise = BY_NAME[name]
    words = one_line(refused(exercise, torch.no_grad()(exercise.reference)))
    assert f"the gradients are not. Of {exercise.gradients[0]}:" in words


def test_gradients_are_compared_on_every_case_and_nan_is_told_from_what_is_missing():
    def detached_on_the_smallest(x):
        return 2 * x.detach() if len(x) == 1 else 2 * x

    def infinite_where_hidden(x):
        return 2 * x + torch.where(x == 0, 0.0, x.abs().sqrt() - x.abs().sqrt().detach()) * 0.0

    cases = [Case((torch.ones(1),)), Case((torch.ones(3),)), Case((torch.tensor([0.0, 4.0]),))]
    asked = toy(gradients=("x",), cases=lambda: cases)
    assert refused(asked, detached_on_the_smallest).case == 1
    told = one_line(refused(asked, infinite_where_hidden))
    assert "Of x: 1 of 2 entries is NaN" in told
    assert "NaN comes back from a step whose result is replaced later" in told


def test_gradients_that_torch_cannot_take_are_told():
    def mine(x):
        return torch.as_tensor(2 * x.detach().numpy()) if not x.requires_grad else torch.as_tensor(2 * x.numpy())

    error = one_line(refused(toy(gradients=("x",)), mine))
    assert "the gradients are not. Torch says: Can't call numpy() on Tensor that requires grad" in error
