"""What the tests of the exercises share: how an answer is refused, and mistakes as a reader would write them."""

from collections.abc import Callable, Sequence

import pytest

from companion.practice.checker import WrongAnswer, check
from companion.practice.definition import Exercise


def refused(exercise: Exercise, function: Callable) -> WrongAnswer:
    """Check an answer that is wrong; return how it was refused."""
    with pytest.raises(WrongAnswer) as caught:
        check(exercise, function)
    return caught.value


def as_written(rows: Sequence[tuple[str, str, Callable]]) -> pytest.MarkDecorator:
    """Give a test the name of an exercise, the mistake's name, and the mistake written in another way, row by row."""
    made = [pytest.param(*row, id=f"{row[0]}-{row[1]}-{number}") for number, row in enumerate(rows)]
    return pytest.mark.parametrize(("name", "mistake", "function"), made)
