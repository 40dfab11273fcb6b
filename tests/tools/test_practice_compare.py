"""What the checker says of the difference between a result and the one expected."""

import re

import numpy as np
import pytest
import torch

from companion.practice.checker import check
from companion.practice.compare import difference
from companion.practice.definition import Case, Mistake
from tests.tools.practice import BY_NAME, one_line, refused, toy


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: (2 * x).numpy(), r"you returned a NumPy ndarray; a tensor is expected\. Stay in torch"),
        (lambda x: (2 * x).tolist(), r"you returned a list of 2; a tensor is expected"),
        (lambda x: 1.0, r"you returned a float; a tensor is expected"),
        (lambda x: (x, x), r"you returned a tuple of 2; a tensor is expected"),
        (lambda x: (2 * x)[None], r"the shape is \(1, 2\); \(2,\) is expected"),
        (lambda x: (2 * x).int(), r"the dtype is int32; float32 is expected\."),
        (lambda x: (2 * x).bool(), r"the dtype is bool; float32 is expected"),
        (lambda x: (2.01 * x).half(), r"2 of 2 entries differ\..* Your result is in float16\."),
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


def test_any_float_will_do_unless_the_statement_names_one():
    assert check(toy(), lambda x: (2 * x).double()) == check(toy(), lambda x: (2 * x).half()) == 3
    text = one_line(refused(toy(same_dtype=True), lambda x: (2 * x).double()))
    assert "the dtype is float64; float32 is expected. Keep the dtype of the arguments, or take the one that" in text
    whole = torch.tensor([1, 2])
    assert difference(whole.int(), whole) is None
    assert "the dtype is int32; int64 is expected." in difference((whole.int(),), (whole,), same_dtype=True)
    assert "the dtype is bool" in difference(whole > 0, whole)
    assert "the dtype is int64" in difference(whole, whole > 0)


@pytest.mark.parametrize("whole", [np.int64(3), torch.tensor(3)])
def test_a_whole_number_of_another_library_is_refused_where_an_int_is_asked_for(whole):
    assert difference(whole, 3) is None
    assert "an int of Python is expected" in difference((whole,), (3,), same_dtype=True)
    assert difference((3,), (3,), same_dtype=True) is None


def test_a_result_in_float32_is_held_to_the_digits_of_float64():
    part = torch.tensor([2.0 / 3.0], dtype=torch.float64)
    assert "Your result is in float32." in difference(part.float(), part)


@pytest.mark.parametrize("name", ["scaled-scores", "attention"])
def test_a_root_in_float32_is_told_from_a_wrong_answer(name):
    def with_root(query, key, *others):  # torch makes a float32 of a whole number
        return BY_NAME[name].reference(query * key.shape[-1] ** 0.5 / torch.tensor(key.shape[-1]).sqrt(), key, *others)

    question = "is a step of yours in float32?"
    assert question in one_line(refused(BY_NAME[name], with_root))
    want = torch.ones(3, dtype=torch.float64)
    assert question in difference(want + 1e-7, want)
    assert question not in difference(want + 1e-3, want)
    assert question not in difference(want.float() + 1e-3, want.float())


def test_a_named_mistake_leaves_no_question_open():
    """The guess at float32 is for a difference that nothing explains."""
    nearly = Mistake("nearly", lambda x: 2 * x + 1e-7, "You added a little.")
    exercise = toy(nearly, cases=lambda: [Case((torch.full((n,), 1.0 + n, dtype=torch.float64),)) for n in (2, 3, 5)])
    text = one_line(refused(exercise, lambda x: x + x + 1e-7))
    assert "the largest difference is 1e-07" in text
    assert "You added a little." in text
    assert "float32?" not in text
    assert "a small number that was added, or from rounding in float32" in one_line(
        refused(exercise, lambda x: 2 * x - 1e-7)
    )


def test_a_factor_that_rounds_to_one_is_not_said():
    found = one_line(refused(toy(), lambda x: 2.0002 * x))
    assert "the largest difference is" in found
    assert "times what is expected" not in found


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
        (("a",), ("a", "b"), r"you returned 1 result; 2 results are expected"),
        (("a", "b"), ("a",), r"you returned 2 results; 1 result is expected"),
        ("ab", ("a", "b"), r"you returned a str; 2 results are expected"),
        (torch.tensor([True, False]), torch.tensor([False, True]), r"every entry is the opposite"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), r"1 of 2 entries differ, the first at \[1\], where yours is 2"),
        (torch.tensor(1.5), torch.tensor(1.0), r"the largest difference is 0\.5; 1 of 1 entry differ"),
        (torch.tensor([-torch.inf]), torch.tensor([-torch.inf]), None),
        (torch.tensor([1.0, 5.0]), torch.tensor([1.0, -torch.inf]), r"the largest difference is inf at \[1\]"),
        (torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]), None),
        (
            torch.tensor([-torch.inf, -torch.inf]),
            torch.tensor([1.0, -torch.inf]),
            r"1 of 2 entries is infinite where a finite number is expected, the first at \[0\]",
        ),
        (
            torch.tensor([0.0, 4.0, 6.0]),
            torch.tensor([0.0, 2.0, 3.0]),
            r"2 of 3 entries differ\. Every entry that differs is 2 times what is expected\.",
        ),
        (torch.tensor([0.0, -4.0, 6.0]), torch.tensor([0.0, 4.0, -6.0]), r"Every entry that differs has the opposite"),
        (torch.tensor([5.0, 1.0]), torch.tensor([0.0, 1.0]), r"is 5 at \[0\], where yours is 5, too large; 1 of 2"),
        (torch.tensor([-2.0, 1.0]), torch.tensor([0.0, 1.0]), r"is 2 at \[0\], where yours is -2, too small; 1 of 2"),
        (torch.tensor([5.0, 1.0]), torch.tensor([2.0, 1.0]), r"where yours is 5; 1 of 2"),
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
