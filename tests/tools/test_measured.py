"""Measured numbers: what a table shows and refuses, when a later run agrees with it, and what a text quotes of it."""

import copy
import json
import math
import re

import nbformat
import numpy as np
import pytest
import torch

from companion.book import notebooks, numbers
from companion.book.measured import show_measured
from companion.book.measured_output import MEASURED, Measured, differences, quotes

new = nbformat.v4


@pytest.fixture
def shown(monkeypatch):
    """Call ``show_measured``, and give what it would display."""

    def show(*given, **options):
        found = []
        monkeypatch.setattr("IPython.display.display", found.append)
        show_measured(*given, **options)
        (measured,) = found
        return measured

    return show


def by_json(measured):
    """Give the data of an output as a stored notebook has them."""
    return json.loads(json.dumps(measured.bundle()[MEASURED], sort_keys=True))


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_rows_of_lists_are_a_table_with_the_tolerance_below(shown):
    table = shown({"before": [11.2, 9], "after": (98.74, 1009.1)}, within=3, unit="% right", digits=1)
    assert repr(table).splitlines() == [
        "before  11.2      9.0",
        "after   98.7  1,009.1",
        "% right. On another machine: within 3.",
    ]


def test_rows_of_names_have_their_columns_and_their_own_tolerances_and_digits(shown):
    values = {8: {"loss": -0.125, "seconds": 12}, "16": {"loss": [1.5, 2], "seconds": 1234.5}}
    table = shown(values, within={"loss": 0.1}, within_factor=3, digits={"loss": 2})
    assert repr(table).splitlines() == [
        "          loss  seconds",
        "8        −0.12       12",
        "16  1.50, 2.00    1,234",
        "On another machine: loss within 0.1, all else within a factor of 3.",
    ]


def test_lists_may_have_names_for_their_columns_and_single_numbers_need_none(shown):
    assert repr(shown({"loss": [0.5, 0.25]}, within=0, columns=["seed 0", "seed 1"])).splitlines() == [
        "      seed 0  seed 1",
        "loss     0.5    0.25",
        "On another machine: equal.",
    ]
    assert repr(shown({"a": 1, "b": 20000}, within={"a": 0, "b": 5})).splitlines() == [
        "a       1",
        "b  20,000",
        "On another machine: a equal, b within 5.",
    ]


def test_tensors_and_arrays_are_read_as_lists(shown):
    one = shown({"a": torch.tensor([1.5, 2.5], requires_grad=True), "b": torch.tensor(3)}, within=1)
    two = shown({"a": np.array([1.5, 2.5]), "b": np.int64(3)}, within=1)
    three = shown({"a": [torch.tensor(1.5), np.float32(2.5)], "b": 3}, within=1)
    assert one.data == two.data == three.data
    assert one.data["values"] == [[["a"], [1.5, 2.5]], [["b"], 3]]


def test_html_is_a_table_with_heads_and_escaped_names(shown):
    html = shown({"a<b": {"x&y": -1}}, within=1, unit="<i>").bundle()["text/html"]
    assert html.splitlines() == [
        '<table class="measured">',
        "<thead>",
        '<tr><td></td><th scope="col">x&amp;y</th></tr>',
        "</thead>",
        "<tbody>",
        '<tr><th scope="row">a&lt;b</th><td>−1</td></tr>',
        "</tbody>",
        "</table>",
        '<p class="measured-note">&lt;i&gt;. On another machine: within 1.</p>',
    ]


def test_numbers_that_are_not_finite_are_shown_where_they_are_let_through(shown):
    table = shown({"loss": [1.0, math.nan, math.inf, -math.inf]}, within=1, finite=False)
    assert repr(table).splitlines()[0] == "loss  1  NaN  ∞  −∞"
    assert by_json(table)["values"] == [[["loss"], [1.0, "nan", "inf", "-inf"]]]


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({}, {}, "values is a mapping from names to numbers: got {}"),
        ([1, 2], {}, r"values is a mapping from names to numbers: got \[1, 2\]"),
        ({"a": {}}, {}, "a is a mapping from names to numbers"),
        ({"a": []}, {}, "a: a list has a number or more"),
        ({"a": [[1]]}, {}, r"a: a value is a number or a list of numbers: got \[1\]"),
        ({"a": torch.zeros(2, 2)}, {}, "a: a value is a number or a list of numbers"),
        ({"a": {"b": {"c": 1}}}, {}, "a, b: a value is a number or a list of numbers"),
        ({"a": True}, {}, "a: a value is a number: got True. Show what was measured"),
        ({"a": torch.tensor(True)}, {}, "a: a value is a number: got True"),
        ({"a": "1"}, {}, "a: a value is a number: got '1'"),
        ({"a": math.nan}, {}, "a: a value is finite: got nan. Where it must not be, set finite=False"),
        ({"a": [1, math.inf]}, {}, "a: a value is finite: got inf"),
        ({" ": 1}, {}, "a name is a line of text or a number: got ' '"),
        ({None: 1}, {}, "a name is a line of text or a number: got None"),
        ({1: 1, "1": 2}, {}, r"rows have names of their own: got \['1', '1'\]"),
        ({"a": {"x": 1}, "b": {"y": 1}}, {}, "all rows have the same columns"),
        ({"a": {"x": 1}, "b": 1}, {}, "all rows have the same columns"),
        ({"a": [1, 2]}, {"columns": ["x"]}, r"columns names each number of a row that is a list: got \['x'\]"),
        ({"a": {"x": 1}}, {"columns": ["x"]}, "columns names each number of a row that is a list"),
        ({"a": 1}, {"within": None}, "a: each value has one tolerance: got 0. State how far"),
        ({"a": 1, "b": 1}, {"within": {"a": 1}}, "b: each value has one tolerance: got 0"),
        ({"a": 1}, {"within_factor": 2}, "a: each value has one tolerance: got 2"),
        ({"a": {"x": 1}}, {"within": {"a": 1, "x": 2}}, "a, x: each value has one tolerance: got 2"),
        ({"a": 1}, {"within": {"b": 1}}, r"within names rows or columns: got b, and there are \['a'\]"),
        ({"a": 1}, {"within": -1}, "within is a number, 0 or above: got -1"),
        ({"a": 1}, {"within": math.nan}, "within is a number, 0 or above: got nan"),
        ({"a": 1}, {"within": True}, "within is a number, 0 or above: got True"),
        ({"a": 1}, {"within": None, "within_factor": 1}, "within_factor is a number above 1: got 1"),
        ({"a": -1}, {"within": None, "within_factor": 2}, "a: a ratio compares positive numbers: got -1. Use within"),
        ({"a": [2, 0]}, {"within": None, "within_factor": 2}, "a: a ratio compares positive numbers"),
        ({"a": math.nan}, {"within": None, "within_factor": 2, "finite": False}, "a: a ratio compares positive"),
        ({"a": 1}, {"digits": 1.0}, "digits is a whole number from 0 to 12: got 1.0"),
        ({"a": 1}, {"digits": {"b": 1}}, "digits names rows or columns: got b"),
        ({"a": {"x": 1}}, {"digits": {"a": 1, "x": 2}}, "a, x: a value has one number of digits"),
        ({"a": 1}, {"name": "A b"}, "name is lower-case words joined by hyphens: got 'A b'"),
    ],
)
def test_what_is_no_table_of_measured_numbers_is_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        show_measured(values, **{"within": 1, **options})


# --- when a later run agrees -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "stored", "fresh", "agree"),
    [
        ({"within": 0.3}, [0.1, 5], [0.4, 4.7], True),
        ({"within": 0.3}, [0.1, 5], [0.41, 5], False),
        ({"within": 0.3}, [0.1, 5], [0.1, 4.69], False),
        ({"within": 0}, [3, 5], [3, 5], True),
        ({"within": 0}, [3, 5], [3, 5.001], False),
        ({"within_factor": 2}, [2, 5], [1, 10], True),
        ({"within_factor": 2}, [2, 5], [0.99, 5], False),
        ({"within_factor": 2}, [2, 5], [2, 10.1], False),
        ({"within": 9, "finite": False}, [math.nan, 1], [math.nan, 1], True),
        ({"within": 9, "finite": False}, [math.nan, 1], [1, 1], False),
        ({"within": 9, "finite": False}, [math.inf, 1], [-math.inf, 1], False),
    ],
)
def test_numbers_agree_within_their_tolerance_and_no_further(shown, options, stored, fresh, agree):
    was, now = (by_json(shown({"loss": values}, **options)) for values in (stored, fresh))
    assert (differences(was, now) == []) is agree


def test_each_value_has_its_own_tolerance_and_the_finding_names_it(shown):
    def measure(loss, seconds):
        return by_json(shown({8: {"loss": loss, "s": seconds}}, within={"loss": 0.1}, within_factor={"s": 3}))

    assert differences(measure(1.0, 10), measure(1.1, 30)) == []
    assert differences(measure(1.0, 10), measure(1.2, 31)) == [
        "8, loss: it has [1.0], and a run gives [1.2], which is not within 0.1",
        "8, s: it has [10], and a run gives [31], which is not within a factor of 3",
    ]


@pytest.mark.parametrize(
    ("values", "options", "finding"),
    [
        ({"b": [1, 2]}, {}, r"it has the names and lengths \[\('a', 2\)\], and in a run \[\('b', 2\)\]"),
        ({"a": [1]}, {}, r"and in a run \[\('a', 1\)\]"),
        ({"a": [1, 2]}, {"within": 2}, "within is {'': 1}, and in a run {'': 2}"),
        ({"a": [1, 2]}, {"within": None, "within_factor": 2}, "within is {'': 1}, and in a run {}"),
        ({"a": [1, 2]}, {"unit": "s"}, "unit is , and in a run s"),
        ({"a": [1, 2]}, {"digits": 3}, "digits is {}, and in a run"),
        ({"a": [1, 2]}, {"columns": ["x", "y"]}, r"columns is \[\], and in a run \['x', 'y'\]"),
        ({"a": [1, 2]}, {"name": "x"}, "name is , and in a run x"),
    ],
)
def test_another_name_tolerance_or_unit_is_found(shown, values, options, finding):
    was = by_json(shown({"a": [1, 2]}, within=1))
    now = by_json(shown(values, **{"within": 1, **options}))
    assert any(re.search(finding, found) for found in differences(was, now))


def notebook(table, source="show_measured(...)", text="Text."):
    output = new.new_output("display_data", copy.deepcopy(table.bundle()))
    return new.new_notebook(cells=[new.new_markdown_cell(text), new.new_code_cell(source, outputs=[output])])


def test_stored_numbers_are_kept_while_a_run_agrees_with_them(shown):
    stored, near, far = (notebook(shown({"b": [value], "a": [2]}, within=3)) for value in (10, 12, 14))
    stored = nbformat.reads(nbformat.writes(stored), as_version=4)  # which sorts the keys, and not the rows
    assert notebooks.keep_measured(copy.deepcopy(near), stored).cells[1].outputs == stored.cells[1].outputs
    assert notebooks.keep_measured(copy.deepcopy(far), stored) == far
    assert notebooks.keep_measured(copy.deepcopy(near), None) == near
    near.cells[1].source = "another source"
    assert notebooks.keep_measured(copy.deepcopy(near), stored) == near


def test_a_stored_table_is_written_from_its_numbers(shown):
    """So a table that was changed by hand differs from the one that a run writes."""
    fresh = notebook(shown({"a": [10]}, within=3))
    stored = copy.deepcopy(fresh)
    stored.cells[1].outputs[0].data["text/html"] = "<p>11</p>"
    assert notebooks.keep_measured(copy.deepcopy(fresh), stored) == fresh


# --- what a text quotes ----------------------------------------------------------------------------------------------


def test_a_text_quotes_rows_columns_and_the_least_most_and_mean_of_a_list(shown):
    table = shown({"a": [2, 1, 4.5]}, within=1, digits=1, name="x", columns=["s 0", "s 1", "s 2"])
    assert quotes(table.data) == {
        "x: a": "2.0, 1.0 and 4.5",
        "x: a, least": "1.0",
        "x: a, most": "4.5",
        "x: a, mean": "2.5",
        "x: a, s 0": "2.0",
        "x: a, s 1": "1.0",
        "x: a, s 2": "4.5",
    }
    assert quotes(shown({"a": {"b": -1}, "c": {"b": 1000}}, within=1, name="x-1").data) == {
        "x-1: a, b": "−1",
        "x-1: c, b": "1,000",
    }


def test_the_text_takes_the_stored_number_when_a_run_agrees(shown):
    stored, fresh = (
        notebook(shown({"right": value}, within=3, name="lookup"), text="It is {{lookup: right}}.")
        for value in (97, 98)
    )
    finished = notebooks.finish(fresh, notebooks.ROOT / "book" / "x.md", stored)
    assert finished.cells[0].source == "It is 97."


@pytest.mark.parametrize(
    ("text", "tables", "message"),
    [
        ("{{lookup: left}}", 1, "the text asks for lookup: left, .* The tables have lookup: right"),
        ("none", 1, "the measured numbers lookup have a name, and no text quotes them"),
        ("{{lookup: right}}", 2, "two tables of measured numbers have one name: lookup"),
    ],
)
def test_a_quotation_of_nothing_and_a_name_that_nobody_quotes_are_refused(shown, text, tables, message):
    book = notebook(shown({"right": 97}, within=3, name="lookup"), text=text)
    book.cells += book.cells[1:] * (tables - 1)
    with pytest.raises(notebooks.ChapterError, match=message):
        notebooks.fill_numbers(book, book, "x")


def test_a_table_without_a_name_is_not_quoted(shown):
    assert numbers.measured_numbers(notebook(shown({"a": 1}, within=1)).cells) == {}
    assert isinstance(shown({"a": 1}, within=1), Measured)
