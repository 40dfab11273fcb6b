"""What is no line of the formula sheet, and the statements of one."""

import pytest

from companion.book.site.formulas_page import read_formulas

LINE = """
- id: {id}
  group: one
  name: A sum
  latex: {latex}
  say: {say}
  link: sec-one
"""


def line(**changes):
    return LINE.format(**{"id": "a-sum", "latex": "a = b", "say": "Mind the sign."} | changes)


def test_a_formula_is_cut_into_statements():
    (found,) = read_formulas(line(latex=r"a = b \quad c = \quadratic"))
    assert found.statements == ["a = b", r"c = \quadratic"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one: two", "formulas.yml is a list of lines with an id: got dict"),
        (line() + line(), "formula a-sum: an id is lower-case words joined by hyphens, and no other line has it"),
        (line(id="A_sum"), "formula A_sum: an id is lower-case words"),
        (line(say="''"), "formula a-sum: each field is a text. Empty or no text: say"),
        (line(latex="7"), "Empty or no text: latex"),
        (line() + "  more: x\n", "formula a-sum: the fields are .* Missing or unknown: more"),
        (line().replace("  link: sec-one\n", ""), "Missing or unknown: link"),
    ],
)
def test_a_line_that_is_not_complete_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_formulas(text)
