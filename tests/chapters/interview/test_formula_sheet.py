"""The formula sheet: each line is checked once, by a check that every sign and number of the line matters to."""

import contextlib
import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from companion.chapters.interview.formulas import FormulaError, sheet

PAGE = Path(__file__).parents[3] / "book" / "interview" / "formulas.md"
LINES = {
    entry["id"]: entry for entry in yaml.safe_load(Path(sheet.__file__).with_name("formulas.yml").read_text("utf8"))
}
CELL = re.compile(r"```\{code-cell\} ipython3\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)(.*?)```", re.DOTALL)


class Page:
    """One run of the cells of the sheet: what failed, and how each formula was checked."""

    def __init__(self, check):
        self.failures, self.calls = [], []

        def recorded(formula_id, wanted, **options):
            self.calls.append((formula_id, wanted, options))
            check(formula_id, wanted, **options)

        names = {}
        for code in CELL.findall(PAGE.read_text("utf8")):
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    exec(code, names)
                except (FormulaError, ValueError) as error:
                    self.failures.append(str(error))
            if "check_formula" in names:
                names["check_formula"] = recorded


@pytest.fixture(scope="module")
def page():
    import torch

    before = torch.get_default_dtype()
    try:
        yield Page(sheet.check_formula)
    finally:
        torch.set_default_dtype(before)


def test_every_formula_has_the_value_of_its_second_way(page):
    assert page.failures == []


def test_every_line_is_checked_exactly_once(page):
    assert Counter(formula_id for formula_id, _, _ in page.calls) == Counter(list(LINES))


def test_the_stored_page_shows_the_outcome_of_every_check_once():
    cells = json.loads(PAGE.with_suffix(".ipynb").read_text("utf8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    text = "".join("".join(output.get("text", "")) for output in outputs)
    printed = re.findall(r"^([a-z0-9-]+): error < 1e-\d+: True$", text, re.MULTILINE)
    assert Counter(printed) == Counter(list(LINES))
    assert len(text.splitlines()) == len(LINES)


def test_each_group_stands_on_the_page_once_and_in_order():
    shown = re.findall(r"^```\{formulas\} (\S+)$", PAGE.read_text("utf8"), re.MULTILINE)
    assert shown == list(dict.fromkeys(line["group"] for line in LINES.values()))


def test_a_candidate_can_learn_the_sheet():
    """Forty-five to sixty-five lines, each with a trap that fits beside it."""
    assert 45 <= len(LINES) <= 65
    assert [line["id"] for line in LINES.values() if len(line["say"]) > 200] == []


def changes(latex):
    """Yield the formula with one sign, transpose or number changed, and what was changed."""
    swaps = [(r"\^\\top", ""), (r"\\odot", ""), (r"\\min\b", r"\\max"), (r"\\max\b(?!\})", r"\\min")]
    swaps += [(r"\\sin\b", r"\\cos"), (r"\\cos\b", r"\\sin"), (r"\\sqrt\b", ""), (r"\\lfloor", r"\\lceil")]
    swaps += [(r"\\le\b", r"\\ge"), (r"\\ge\b", r"\\le"), (r"<", r"\\le")]
    swaps += [(r"(?<![{_]) ?\+ ", " - "), (r"(?<![{_^])-", "+")]
    for pattern, other in swaps:
        for match in re.finditer(pattern, latex):
            new = match.expand(other) if other else ""
            yield f"{match[0].strip()} at {match.start()}", latex[: match.start()] + new + latex[match.end() :]
    for match in re.finditer(r"(?<![_\d.{=])\d+(?![\d.])|(?<=\{)\d+(?=\})|(?<=\^)\d+", latex):
        yield f"{match[0]} at {match.start()}", latex[: match.start()] + str(int(match[0]) + 1) + latex[match.end() :]


def unnoticed(page, monkeypatch):
    """List each change of a line that its check lets pass."""
    formulas = {name: line["latex"] for name, line in LINES.items()}
    for formula_id, wanted, options in page.calls:
        for what, latex in changes(LINES[formula_id]["latex"]):
            monkeypatch.setattr(sheet, "_sheet", lambda other=latex, name=formula_id: formulas | {name: other})
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    sheet.check_formula(formula_id, wanted, **options)
                except (FormulaError, ValueError, TypeError):
                    continue
            yield f"{formula_id}: {what}"


def test_no_sign_and_no_number_of_a_line_can_change_unnoticed(page, monkeypatch):
    assert list(unnoticed(page, monkeypatch)) == []
