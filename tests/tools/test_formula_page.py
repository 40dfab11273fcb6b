"""What the extension `formulas` refuses, and what it makes of a line."""

import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "book" / "extensions" / "formulas.py"

LINE = """
- id: {id}
  group: one
  name: A sum
  latex: {latex}
  say: {say}
  link: sec-one
"""


@pytest.fixture(scope="module")
def formulas():
    spec = importlib.util.spec_from_file_location("loaded_formulas", SOURCE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks for its module
    spec.loader.exec_module(module)
    return module


def line(**changes):
    return LINE.format(**{"id": "a-sum", "latex": "a = b", "say": "Mind the sign."} | changes)


def test_a_formula_is_cut_into_statements(formulas):
    (found,) = formulas.read_formulas(line(latex=r"a = b \quad c = \quadratic"))
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
def test_a_line_that_is_not_complete_is_refused(formulas, text, message):
    with pytest.raises(ValueError, match=message):
        formulas.read_formulas(text)
