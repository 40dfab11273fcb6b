"""The table of systems: each row leads to a section, or to a claim, whose cells were run."""

import re

import nbformat
import pytest

from companion.book import toc

TABLE = toc.CHECKOUT / "book/systems.md"
ROW = re.compile(r"^\| (?P<name>[^|]+) \| \{ref\}`(?:[^<`]+<)?(?P<label>[a-z0-9-]+)>?` \| [^|]+ \|$", re.MULTILINE)
HEADING = re.compile(r"^(#+) ", re.MULTILINE)


def rows(text):
    """Names and labels of the rows of the tables; a line that is no row, no head and no rule is an error."""
    lines = [x for x in text.splitlines() if x.startswith("|") and not re.match(r"\| system \||\|---", x)]
    found = [ROW.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return [(match["name"], match["label"]) for match in found]


def has_run(cell):
    return (
        cell.cell_type == "code"
        and bool(cell.outputs or cell.execution_count)
        and "remove-cell" not in (cell.metadata.get("tags", []))
    )


def runs(label, notebook):
    """Whether code of the section with this label, or of this claim, was run: None where it is not in the notebook."""
    if label.startswith("claim-"):
        call = re.compile(rf'check_claim\(\s*"{label.removeprefix("claim-")}["/]')
        cells = [cell for cell in notebook.cells if cell.cell_type == "code" and call.search(cell.source)]
        return any(map(has_run, cells)) if cells else None
    depth = ran = None
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            ran = ran or (depth is not None and has_run(cell))
            continue
        _, mark, after = cell.source.partition(f"({label})=\n")
        headings = HEADING.findall(after if mark else cell.source)
        if mark:
            depth, headings, ran = len(headings[0]), headings[1:], False
        if depth is not None and any(len(level) <= depth for level in headings):
            break
    return None if depth is None else bool(ran)


@pytest.fixture(scope="module")
def book():
    return [nbformat.read(path, as_version=4) for path in sorted((toc.CHECKOUT / "book").rglob("*.ipynb"))]


SYSTEMS = rows(TABLE.read_text("utf8"))


def test_no_system_is_listed_twice():
    names = [name for name, _ in SYSTEMS]
    assert len(names) == len(set(names)) >= 50


@pytest.mark.parametrize(("name", "label"), SYSTEMS)
def test_a_system_runs_where_the_table_says(name, label, book):
    assert [found for page in book if (found := runs(label, page)) is not None] == [True], name


def test_a_section_that_runs_nothing_is_seen():
    cells = [
        nbformat.v4.new_markdown_cell("(sec-a)=\n## A\n\nText."),
        nbformat.v4.new_markdown_cell("### Below"),
        nbformat.v4.new_code_cell("1", execution_count=1),
        nbformat.v4.new_markdown_cell("(sec-b)=\n## B"),
        nbformat.v4.new_code_cell("1"),
        nbformat.v4.new_markdown_cell("(sec-c)=\n## C\n\n## D"),
        nbformat.v4.new_code_cell('check_claim("x/y", f)', execution_count=2),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    labels = ("sec-a", "sec-b", "sec-c", "sec-d", "claim-x", "claim-xx")
    assert [runs(label, notebook) for label in labels] == [True, False, False, None, True, None]


def test_a_row_without_a_place_is_refused():
    with pytest.raises(AssertionError, match="nowhere"):
        rows("| system | runs in | what |\n|---|---|---|\n| nowhere | | told |\n")
