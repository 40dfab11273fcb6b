"""Numbers of answers: printed under a name, in a form that shows them."""

import math

import nbformat
import pytest

from companion.book.glue import glue_number
from companion.book.notebooks import moved_numbers


def test_a_number_is_printed_under_its_name(capsys):
    glue_number("kv-7b", 2**31 / 2**30, "{:.0f} GiB")
    glue_number("vit-tokens-224", 197)
    glue_number("big-1", 1234567, "{:,}")
    assert capsys.readouterr().out == "kv-7b = 2 GiB\nvit-tokens-224 = 197\nbig-1 = 1,234,567\n"


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kv", 1), r"two or more lower-case words joined by hyphens: got 'kv'. Write kv-7b"),
        (("KV-7b", 1), "got 'KV-7b'"),
        (("kv 7b", 1), "got 'kv 7b'"),
        ((7, 1), "got 7"),
        (("kv-7b", math.nan), "kv-7b: value is a finite number: got nan"),
        (("kv-7b", math.inf), "got inf"),
        (("kv-7b", True), "got True"),
        (("kv-7b", "2"), "got '2'"),
        (("kv-7b", 2, "GiB"), "kv-7b: form shows the value in one line: got 'GiB'"),
        (("kv-7b", 2, "7 GiB"), "form shows the value in one line: got '7 GiB'"),
        (("kv-7b", 2, "{}\n"), "form shows the value in one line"),
        (("kv-7b", 2, "{:.1q}"), "kv-7b: form is a format for one number: got '{:.1q}'"),
        (("kv-7b", 2, "{} {}"), "form is a format for one number"),
    ],
)
def test_what_is_no_number_of_an_answer_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        glue_number(*arguments)


def printed(**numbers):
    """A notebook whose cells print these numbers, each under the name of its source."""
    cells = []
    for name, number in numbers.items():
        output = nbformat.v4.new_output("stream", name="stdout", text=f"{name}-b = {number}\n")
        cells.append(nbformat.v4.new_code_cell(f'glue_number("{name}-b", batch)', outputs=[output]))
    return nbformat.v4.new_notebook(cells=cells)


def test_a_number_that_moves_though_its_cell_does_not_is_named():
    stored = printed(free=153, gap=16)
    assert moved_numbers(stored, printed(free=1601, gap=16, new=7)) == ["free-b"]
    assert moved_numbers(stored, stored) == moved_numbers(None, stored) == []
    changed = printed(free=1601)
    changed.cells[0].source += "  # by another way"
    assert moved_numbers(stored, changed) == [], "who edits a cell sees its numbers"
