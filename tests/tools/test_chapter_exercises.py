"""Each exercise of a chapter has its stub, its hints and its solution, in this order."""

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from companion.book import toc

BOOK = Path(__file__).parents[2] / "book"
PARTS = ("stub", "hint", "solution")


def exercise_cells(notebook):
    """List (exercise, part, cell) for each call of `check_exercise` and `hint` in the code cells, in order."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "code" or not ("check_exercise" in cell.source or "hint" in cell.source):
            continue
        for call in ast.walk(ast.parse(cell.source)):
            name = getattr(getattr(call, "func", None), "id", "") if isinstance(call, ast.Call) else ""
            if name not in ("check_exercise", "hint") or not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            unrecorded = any(key.arg == "record" and ast.unparse(key.value) == "False" for key in call.keywords)
            part = "hint" if name == "hint" else "solution" if unrecorded else "stub"
            found.append((call.args[0].value, part, cell))
    return found


def is_stub(source, broken=None):
    """Whether a cell leaves the work to the reader: nothing but a docstring and `...`, or the code that is broken.

    `broken` is what the package hands over for repair, as `statements` writes it down. It is held to be wrong by the
    tests of the package, so a stub that is the same to the letter gives nothing away.
    """
    if broken is not None:
        from companion.practice.unchanged import statements  # not above: the shape hook must come first

        return statements(source) == broken
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    plain = [[line for line in node.body if not isinstance(line, ast.Expr)] for node in functions]
    return bool(functions) and not any(plain)


def headings(notebook):
    """Pair each code cell's source with the heading it stands under and the label before that heading."""
    pairs, heading, label = {}, "", ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            pairs[cell.source] = (heading, label)
            continue
        for before, line in pairwise(["", *cell.source.splitlines()]):
            if re.match("#+ ", line):
                heading, label = line.lstrip("# "), before
    return pairs


def exercise_problems(notebook, registered, broken=None):
    """Hold the cells of a chapter to the exercises that the package has for it, a title by name.

    `broken` has the code to repair, by name, for those that hand some over.
    """
    broken = broken or {}
    found, order, under = [], {}, headings(notebook)
    for name, part, cell in exercise_cells(notebook):
        order.setdefault(name, []).append(part)
        tags = cell.metadata.get("tags", [])
        if part == "solution" and "hide-cell" not in tags:
            found.append(f"{name}: its solution is not folded (tag hide-cell)")
        if part == "solution" and is_stub(cell.source):
            found.append(f"{name}: its solution is a stub")
        if part == "stub" and not is_stub(cell.source, broken.get(name)):
            wrong = "is not the code that the package hands over" if name in broken else "gives the answer away"
            found.append(f"{name}: its first cell {wrong}")
        heading, label = under[cell.source]
        if part == "stub" and name in registered and heading != registered[name]:
            found.append(f"{name} stands under {heading!r}, and the check calls it {registered[name]!r}")
        if part == "stub" and label != f"(exr-{name})=":
            found.append(f"{name}: no label (exr-{name})= before its heading")
    found += [f"{name} is not registered" for name in order if name not in registered]
    found += [f"{name} is registered, but not in the chapter" for name in registered if name not in order]
    found += [
        f"{name} has {', '.join(parts)} in place of {', '.join(PARTS)}"
        for name, parts in order.items()
        if parts != list(PARTS)
    ]
    return found


def test_each_exercise_has_stub_hints_and_solution(chapter):
    from companion.practice import exercises  # not above: the shape hook must come first
    from companion.practice.unchanged import statements

    notebook = nbformat.reads((BOOK / f"{chapter}.ipynb").read_text("utf8"), as_version=4)
    listed = {toc.page(name) for name in toc.files()}
    pages = ("{}/exercises", "{}/index", "interview/{}")  # a chapter of many pages has one for them
    here = [
        x
        for x in exercises()
        if chapter == next(page.format(x.chapter) for page in pages if page.format(x.chapter) in listed)
    ]
    code = {x.name: statements(inspect.getsource(inspect.unwrap(x.broken))) for x in here if x.broken}
    assert exercise_problems(notebook, {x.name: x.title for x in here}, code) == []


def test_each_subject_has_exercises(subject):
    from companion.practice import exercises  # not above: the shape hook must come first

    assert any(exercise.chapter == toc.chapter(subject) for exercise in exercises())


# --- the checker sees what it must see -------------------------------------------------------------------------------

STUB = 'def my_x(scores):\n    """Say it."""\n    ...  # your code\n\n\ncheck_exercise("x", my_x)'
SOLUTION = 'def solution(scores):\n    return scores\n\n\ncheck_exercise("x", solution, record=False)'


def chapter_of(*cells, text="(exr-x)=\n### Do it\n\nText with check_exercise."):
    new = nbformat.v4
    made = [new.new_code_cell(source, metadata={"tags": list(tags)}) for source, *tags in cells]
    return new.new_notebook(cells=[new.new_markdown_cell(text), *made])


X = {"x": "Do it"}
GOOD = ((STUB,), ('hint("x")',), (SOLUTION, "hide-cell"))


def test_an_exercise_with_all_its_parts_is_let_through():
    assert exercise_problems(chapter_of(*GOOD), X) == []


@pytest.mark.parametrize(
    ("cells", "registered", "problems"),
    [
        (GOOD, {}, ["x is not registered"]),
        (GOOD, X | {"y": "And this"}, ["y is registered, but not in the chapter"]),
        ((GOOD[0], GOOD[2]), X, ["x has stub, solution in place of stub, hint, solution"]),
        (GOOD[:2], X, ["x has stub, hint in place of stub, hint, solution"]),
        ((GOOD[0], GOOD[2], GOOD[1]), X, ["x has stub, solution, hint in place of stub, hint, solution"]),
        ((*GOOD[:2], (SOLUTION,)), X, ["x: its solution is not folded (tag hide-cell)"]),
        (((SOLUTION.replace(", record=False", ""),), *GOOD[1:]), X, ["x: its first cell gives the answer away"]),
        (
            (*GOOD[:2], (STUB.replace("my_x)", "my_x, record=False)"), "hide-cell")),
            X,
            ["x: its solution is a stub"],
        ),
    ],
)
def test_an_exercise_with_a_part_missing_is_seen(cells, registered, problems):
    assert exercise_problems(chapter_of(*cells), registered) == problems


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("(exr-x)=\n### Do that", ["x stands under 'Do that', and the check calls it 'Do it'"]),
        ("### Do it", ["x: no label (exr-x)= before its heading"]),
        ("(exr-y)=\n### Do it", ["x: no label (exr-x)= before its heading"]),
        ("(exr-x)=\n### Do it\n\n#### More", ["x stands under 'More'", "x: no label"]),
    ],
)
def test_an_exercise_under_another_title_or_label_is_seen(text, problems):
    found = exercise_problems(chapter_of(*GOOD, text=text), X)
    assert len(found) == len(problems)
    assert all(map(str.startswith, found, problems))


BROKEN = 'def my_x(scores):\n    return scores.T\n\n\ncheck_exercise("x", my_x)'


def test_a_stub_that_is_the_broken_code_is_let_through_and_no_other_code():
    from companion.practice.unchanged import statements

    broken = {"x": statements("def _broken(scores: int) -> int:\n    return scores.T")}
    assert exercise_problems(chapter_of((BROKEN,), *GOOD[1:]), X, broken) == []
    assert exercise_problems(chapter_of((BROKEN,), *GOOD[1:]), X) == ["x: its first cell gives the answer away"]
    other = BROKEN.replace(".T", ".mT")
    for cell in (other, STUB):
        assert exercise_problems(chapter_of((cell,), *GOOD[1:]), X, broken) == [
            "x: its first cell is not the code that the package hands over"
        ]
