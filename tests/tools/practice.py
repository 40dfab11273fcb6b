"""What the tests of the exercises share: the exercises with cases made once, a toy, and how an answer is refused."""

import copy
import dataclasses
import functools
import warnings
from collections.abc import Callable

import pytest
import torch

from companion.practice import exercises, running
from companion.practice.checker import Outcome, WrongAnswer, check
from companion.practice.definition import Case, Exercise, Mistake


def _with_fixed_cases(exercise: Exercise) -> Exercise:
    cases = tuple(exercise.cases())
    return dataclasses.replace(exercise, cases=lambda: cases)


EXERCISES = tuple(map(_with_fixed_cases, exercises()))
BY_NAME = {exercise.name: exercise for exercise in EXERCISES}
ALL = [pytest.param(exercise, id=exercise.name) for exercise in EXERCISES]


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def refused(exercise: Exercise, function: Callable) -> WrongAnswer:
    """Check an answer that is wrong; return how it was refused."""
    with pytest.raises(WrongAnswer) as caught:
        check(exercise, function)
    return caught.value


@functools.cache
def wanted(name: str) -> list[object]:
    """The right result for each case of an exercise."""
    exercise = BY_NAME[name]
    return [exercise.results(exercise.reference, copy.deepcopy(case.arguments)) for case in exercise.cases()]


@functools.cache
def outcome(name: str, function: Callable, place: int) -> Outcome:
    """What a named mistake does with one case of an exercise: it is the same at each call, and tried once."""
    exercise = BY_NAME[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RUN(exercise, function, exercise.cases()[place])


def outcomes(name: str, function: Callable) -> list[Outcome]:
    """What a named mistake does with each case of an exercise."""
    return [outcome(name, function, place) for place in range(len(BY_NAME[name].cases()))]


RUN = running.run_case


def run_once(exercise: Exercise, function: Callable, case: Case, arguments: tuple | None = None) -> Outcome:
    """Stand in for the way to run a function: a named mistake of the book is run once on each case."""
    if arguments or exercise is not BY_NAME.get(exercise.name) or function not in _known(exercise.name):
        return RUN(exercise, function, case, arguments)
    place = next(i for i, other in enumerate(exercise.cases()) if other is case)
    return outcome(exercise.name, function, place)


@functools.cache
def _known(name: str) -> frozenset[Callable]:
    return frozenset(function for functions in BY_NAME[name].wrong_answers.values() for function in functions)


TOY_CASES = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, -5.0, 7.0]), torch.zeros(2, 3) + 4.0)


def toy(*mistakes: Mistake, **changes: object) -> Exercise:
    """An exercise whose answer is twice the argument."""
    settings = {
        "name": "toy",
        "title": "Twice",
        "chapter": "none",
        "reference": lambda x: 2 * x,
        "cases": lambda: [Case((x,)) for x in TOY_CASES],
        "tested": "little",
        "hints": ("one", "two", "three"),
        "level": 1,
        "place": 1,
        "mistakes": (
            Mistake("half", lambda x: x / 2, "You halved."),
            Mistake("square", lambda x: x * x, "You squared."),
            Mistake("sum", lambda x: x.sum(), "You summed."),
            Mistake("matrix", lambda x: 2 * x.reshape(3, 1) @ x.reshape(1, 3), "You multiplied matrices."),
            *mistakes,
        ),
    }
    return Exercise(**settings | changes)
