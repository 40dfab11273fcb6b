"""Code that is handed over for repair: as it was given it is no answer."""

import math

import pytest

from companion.practice import check_exercise, exercises, progress
from companion.practice.checker import NotAnswered, check
from companion.practice.unchanged import is_unchanged, statements
from tests.tools.practice import one_line, refused

pytestmark = pytest.mark.usefixtures("fresh")

BROKEN = [pytest.param(exercise, id=exercise.name) for exercise in exercises() if exercise.broken]


@pytest.mark.parametrize("exercise", BROKEN)
def test_code_as_given_is_not_answered_and_the_same_fault_written_differently_is_named(exercise, capsys):
    with pytest.raises(NotAnswered, match="This is still the code as it was given"):
        check(exercise, exercise.broken)
    check_exercise(exercise.name, exercise.broken)
    assert "not answered yet" in capsys.readouterr().out
    assert progress.PROGRESS.state(exercise.name) == "open"
    assert exercise.mistakes[0].name == "as-given"
    error = refused(exercise, lambda *given: exercise.broken(*given))
    assert error.mistake == "as-given"
    assert "This does what the code as given does." in one_line(error)


def test_ten_pieces_of_code_are_handed_over():
    assert len(BROKEN) == 10


def given(x, n):
    y = x * n
    return y


def test_code_is_as_given_whatever_its_name_comments_and_annotations():
    def mine(x: int, n: int = 2) -> int:
        """Say it."""
        y = x * n  # a comment

        return y

    def other(x, n):
        y = x * (n + 0)
        return y

    def other_names(x, m):
        y = x * m
        return y

    def other_order(n, x):
        y = x * n
        return y

    assert is_unchanged(given, mine)
    assert not is_unchanged(given, other_order)
    assert not is_unchanged(given, other)
    assert not is_unchanged(given, other_names)
    assert not is_unchanged(None, mine)
    assert not is_unchanged(given, math.sqrt)
    assert not is_unchanged(given, lambda x, n: x * n)


def test_what_is_no_function_definition_has_no_statements():
    assert statements("x = 1") is None
    assert statements("") is None
    assert statements("def f(:") is None
    assert statements("def f(x):\n    return x") == statements("  def g(x):\n      return x")
