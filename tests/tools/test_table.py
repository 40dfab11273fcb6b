"""A table that a cell computes."""

import re

import pytest

from companion.book import Table

ROWS = {"GPT-2": {"layers": 12, "a < b": "768"}, "Llama 3 405B": {"layers": 126, "a < b": "16,384"}}


def test_a_table_in_text_has_columns_as_wide_as_their_widest_cell():
    assert repr(Table(ROWS)).splitlines() == [
        "              layers   a < b",
        "GPT-2             12     768",
        "Llama 3 405B     126  16,384",
    ]


def test_a_table_on_the_site_names_rows_and_columns():
    html = Table(ROWS)._repr_html_()
    assert html.startswith('<table class="measured computed">')
    assert re.findall(r'<th scope="(col|row)">([^<]*)</th>', html) == [
        ("col", "layers"),
        ("col", "a &lt; b"),
        ("row", "GPT-2"),
        ("row", "Llama 3 405B"),
    ]
    assert re.findall(r"<td>([^<]*)</td>", html) == ["", "12", "768", "126", "16,384"]


@pytest.mark.parametrize("rows", [{}, {"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 1, "y": 2}, "b": {"y": 2, "x": 1}}])
def test_rows_of_other_columns_are_refused(rows):
    with pytest.raises(ValueError, match="all rows of a table have the same columns: got "):
        Table(rows)


def test_an_entry_that_is_none_is_refused_by_its_column_and_row():
    rows = {"a": {"x": 0, "y": None}, "b": {"x": None, "y": ""}}
    with pytest.raises(ValueError, match=r"got None for 'y' of 'a', 'x' of 'b'\. Pass what it stands for"):
        Table(rows)
    assert Table({"a": {"x": 0, "y": ""}}).lines == [["", "x", "y"], ["a", "0", ""]], "0 and an empty text are values"
