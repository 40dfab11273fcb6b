"""Cases in which sizes meet: how they are grown, and that what is wrong only there is refused."""

import dataclasses

import pytest
import torch

from companion.practice.definition import Case
from companion.practice.meetings import sizes
from tests.tools.practice import BY_NAME, one_line, refused, toy

CASES = [
    Case((torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([2, 1]))),
    Case((torch.ones(3, 5), torch.tensor([5, 2, 1]))),
    Case((torch.ones(1, 2), torch.tensor([2]))),
]


def rows(x, lengths):
    return (x * (torch.arange(x.shape[1]) < lengths[:, None])).sum(1)


def summed(**changes):
    """An exercise on tables of rows whose lengths are given."""
    return toy(**{"reference": rows, "cases": lambda: CASES} | changes)


def shapes(exercise):
    return [tuple(tuple(x.shape) for x in case.arguments) for case in exercise.meetings]


def test_a_case_is_grown_until_sizes_meet_and_padding_stays_where_it_is():
    (case,) = summed().meetings
    x, lengths = case.arguments
    assert torch.equal(x, torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [0.75, 1.5, 2.25]]))
    assert lengths.tolist() == [2, 1, 1]


def test_sizes_that_the_cases_have_equal_are_not_made_so_again():
    square = Case((torch.ones(2, 2), torch.tensor([1, 2])))
    assert summed(cases=lambda: [*CASES, square]).meetings == ()


def test_nothing_is_tried_where_all_sizes_met():
    tried = []

    def watched(x, lengths):
        tried.append(x.shape)
        return rows(x, lengths)

    square = Case((torch.ones(2, 2), torch.tensor([1, 2])))
    assert summed(reference=watched, cases=lambda: [*CASES, square]).meetings == ()
    assert tried == []


def test_what_the_reference_refuses_or_an_exercise_keeps_is_not_grown():
    def strict(x, lengths):
        if len(x) > 2 and x.shape[1] != 5:
            raise ValueError
        return rows(x, lengths)

    assert summed(reference=strict).meetings == ()
    assert summed(fixed=("lengths",)).meetings == ()


def test_a_size_that_is_always_the_same_stays():
    cases = [Case((torch.ones(3, n),)) for n in (1, 2, 4, 5)]
    assert shapes(toy(cases=lambda: cases)) == [((3, 3),)]
    assert shapes(toy(cases=lambda: [Case((torch.ones(3, n),)) for n in (1, 4, 5, 6, 7)])) == []


def test_a_size_that_is_one_in_no_case_is_one_in_a_case_of_its_own():
    cases = [Case((torch.ones(*n),)) for n in ((2, 3), (3, 4), (4, 4), (2, 2))]
    assert shapes(toy(cases=lambda: cases)) == [((1, 2),), ((2, 1),)]


def test_beside_whole_numbers_the_first_axes_alone_are_cut_and_not_where_nan_comes_of_it():
    cases = [Case((torch.ones(n, m), torch.ones(n).long())) for n, m in ((2, 3), (3, 2), (2, 2), (4, 4))]
    assert shapes(summed(cases=lambda: cases)) == [((1, 2), (1,))]
    assert shapes(summed(cases=lambda: cases, fixed=("x", "lengths"))) == []
    assert shapes(summed(reference=lambda x, lengths: 0 * rows(x, lengths) / (len(x) - 1), cases=lambda: cases)) == []


def test_an_answer_that_drops_an_axis_of_one_is_told_the_case():
    cases = [Case((torch.ones(n, m),)) for n, m in ((2, 3), (3, 2), (2, 2))]
    error = refused(toy(cases=lambda: cases), lambda x: 2 * x.squeeze())
    assert error.case == 4
    assert "Case 4 of 5: x (1, 2), float32 (a size of 1)." in one_line(error)
    assert "here a size is 1 that is larger there. Look for a `squeeze`" in one_line(error)


def test_an_answer_that_finds_its_axis_by_the_size_is_told_the_case():
    def mine(x, lengths):
        return rows(x.mT if x.shape[0] == x.shape[1] else x, lengths)

    error = refused(summed(), mine)
    assert error.case == 4
    assert "Case 4 of 4: x (3, 3), lengths (3,), float32 (sizes that are equal by chance)." in one_line(error)
    assert "here sizes are equal that differ there" in one_line(error)


@pytest.mark.parametrize(
    "name", ["attention", "attention-backward", "head-importance", "smoothed-loss", "lora", "grouped-query", "top-p"]
)
def test_an_answer_that_is_wrong_only_where_sizes_meet_is_refused(name):
    exercise = BY_NAME[name]
    where = [sizes(exercise, case) for case in exercise.meetings]

    def mine(*arguments):
        result = exercise.reference(*arguments)
        if sizes(exercise, Case(arguments)) not in where:
            return result
        return tuple(x + 1 for x in result) if isinstance(result, tuple) else result + 1

    assert refused(dataclasses.replace(exercise), mine).case == len(exercise.cases()) + 1
