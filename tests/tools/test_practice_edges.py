"""Answers that are right on most inputs are refused, and told where they are not."""

import pytest

from tests.tools.edges import nearly_right
from tests.tools.practice import BY_NAME, one_line, refused

ROWS = nearly_right()


@pytest.mark.parametrize(
    ("name", "words", "function"),
    [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(ROWS)],
)
def test_an_answer_that_is_right_on_most_inputs_is_refused_on_the_one_made_for_it(name, words, function):
    assert words in one_line(refused(BY_NAME[name], function))
