"""What is no line of the formula sheet, and the statements of one."""

import pytest

from companion.book.formulas import parse_formulas

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
    (found,) = parse_formulas(line(latex=r"a = b \quad c = \quadratic"))
    assert found.statements == ["a = b", r"c = \quadratic"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one: two", "formulas.yml: the file is a list of entries"),
        (line() + line(), "formulas.yml: each entry has a name of its own: got a-sum twice"),
        (line(id="A_sum"), "formula A_sum: id is lower-case words"),
        (line(say="''"), "formula a-sum: say is a text: got ''"),
        (line(latex="7"), "formula a-sum: latex is a text: got 7"),
        (line() + "  more: x\n", "formula a-sum: a formula has .*: this one has an unknown more"),
        (line().replace("  link: sec-one\n", ""), "formula a-sum: .*this one misses link"),
    ],
)
def test_a_line_that_is_not_complete_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_formulas(text)
