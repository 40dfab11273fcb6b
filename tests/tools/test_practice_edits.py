"""Named mistakes that are edits of a right answer: what is changed, what stays, and how a wrong edit is refused."""

import re

import pytest
import torch

from companion.practice.definition import Edit, Mistake, edited
from tests.tools.practice import EXERCISES, toy


def halved(x):
    return x / 2


def halved_and_raised(x, *, by=1.0):
    return halved(x) + by


def doubled_half(x):
    return 2 * halved_and_raised(x)


def test_an_edit_changes_a_copy():
    wrong = edited(halved, [Edit("/ 2", "/ 3")], "toy, third")
    assert (wrong(6), halved(6)) == (2, 3)


def test_edits_follow_one_another():
    assert edited(halved, [Edit("/ 2", "/ 3"), Edit("x / 3", "-x / 3")], "toy, minus a third")(6) == -2


def test_an_edit_of_a_helper_reaches_the_reference_through_the_helpers_between():
    wrong = edited(doubled_half, [Edit("/ 2", "/ 4", of=halved)], "toy, quarter")
    assert (wrong(8.0), doubled_half(8.0), halved_and_raised(8.0)) == (6.0, 10.0, 5.0)


@pytest.mark.parametrize(("old", "times"), [("* 2", 0), ("x", 2)])
def test_an_edit_whose_text_does_not_stand_exactly_once_is_refused(old, times):
    message = f"stands once: in the mistake toy, lost {old!r} stands {times} times in halved. Give the text"
    with pytest.raises(ValueError, match=re.escape(message)):
        edited(halved, [Edit(old, "y")], "toy, lost")


def test_a_wrong_edit_costs_nothing_until_it_is_asked_for_and_then_names_exercise_and_mistake():
    exercise = toy(Mistake("lost", Edit("/ 5", "/ 6"), "You lost it."), reference=halved)
    with pytest.raises(ValueError, match=r"in the mistake toy, lost '/ 5' stands 0 times in halved"):
        _ = exercise.wrong_answers


def test_an_exercise_gives_functions_for_functions_edits_and_other_ways():
    def third(x):
        return x / 3

    row = Mistake("third", third, "A third.", also=(Edit("/ 2", "/ 3"), (Edit("/ 2", "/ 3"), Edit("/ 3", "/ 4"))))
    made = toy(row, reference=halved).wrong_answers["third"]
    assert made[0] is third
    assert [function(12.0) for function in made] == [4.0, 4.0, 3.0]


def test_every_edit_of_the_book_fits_the_text_that_it_changes():
    for exercise in EXERCISES:
        assert exercise.wrong_answers.keys() == {mistake.name for mistake in exercise.mistakes}
        assert all(map(callable, torch.utils._pytree.tree_leaves(exercise.wrong_answers)))
