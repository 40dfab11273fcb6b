"""A chapter's source and its stored notebook agree, and every cell was run. What a run gives: ``fresh_run.py``."""

import ast
import copy
import json
from pathlib import Path

import nbformat
import pytest

from companion.book import colab, notebooks, stable, toc
from companion.book.measured_output import MEASURED
from companion.book.plot_output import SVG
from companion.book.site.pictures import CLASS

BOOK = Path(__file__).parents[2] / "book"
MOST_LINES = 15
MOST_LINES_OF_A_CLASS = 30  # which stands in one cell, whole
MOST_COLUMNS = 85  # more would scroll on the page
IGNORED = "nbval-ignore-output"  # a tag


def pair_problems(source, stored):
    """Compare a source, read as a notebook, with the stored notebook, cell by cell."""
    if len(source.cells) != len(stored.cells):
        return [f"the source has {len(source.cells)} cells, the notebook {len(stored.cells)}"]
    return [
        f"cell {index}: its {part} is not that of the source"
        for index, (ours, theirs) in enumerate(zip(source.cells, stored.cells, strict=True))
        for part in ("cell_type", "source", "metadata")
        if ours[part] != theirs[part]
    ]


def is_picture(output):
    """Whether an output is a plot or a drawing."""
    data = output.get("data", {})
    return not {SVG, "image/png"}.isdisjoint(data) or data.get("text/html", "").startswith(f'<div class="{CLASS}">')


def run_problems(notebook):
    """Say which code cells were not run in order, which raised, and which are not compared by nbval."""
    found = []
    code = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    for number, (index, cell) in enumerate(code, start=1):
        if cell.execution_count != number:
            found.append(f"cell {index}: its execution count is {cell.execution_count}, not {number}")
        counts = {output.execution_count for output in cell.outputs if output.output_type == "execute_result"}
        if counts - {number}:
            found.append(f"cell {index}: its result is that of execution {counts.pop()}, not {number}")
        if any(output.output_type == "error" for output in cell.outputs):
            found.append(f"cell {index}: it raised an error")
        pictures = [output for output in cell.outputs if is_picture(output)]
        if "figure" in cell.metadata.get("mystnb", {}) and not len(pictures) == len(cell.outputs) == 1:
            found.append(
                f"cell {index}: a figure has one picture as its only output, this one {len(cell.outputs)} outputs"
            )
        described = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "").strip()
        if not described and any({SVG, "image/png"} & {*output.get("data", {})} for output in pictures):
            found.append(f"cell {index}: its plot has no text that describes it (mystnb: image: alt)")
        if {"nbval-skip", "raises-exception"} & set(cell.metadata.get("tags", [])):
            found.append(f"cell {index}: a tag hides it from nbval")
    return found


def is_class(source):
    """Whether a cell holds one class and nothing else."""
    return source.startswith("class ") and [type(node) for node in ast.parse(source).body] == [ast.ClassDef]


def form_problems(notebook, colab):
    """Hold code cells to their form: the Colab cell first, few lines, and nbval ignores measured numbers only."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not code or code[0].source != colab.rstrip("\n"):
        return ["the first code cell is not the Colab cell of companion/book/colab.py"]
    found = [] if "remove-cell" in code[0].metadata.get("tags", []) else ["the Colab cell is not tagged remove-cell"]
    if any(cell.source == code[0].source for cell in code[1:]):
        found.append("the Colab cell stands in the notebook twice")
    for number, cell in enumerate(code[1:], start=2):
        lines, first = len(cell.source.splitlines()), cell.source.partition("\n")[0]
        most = MOST_LINES_OF_A_CLASS if is_class(cell.source) else MOST_LINES
        if lines > most:
            found.append(f"code cell {number} ({first}) has {lines} lines, more than {most}")
        if cell.source.rstrip().endswith(";"):
            found.append(f"code cell {number} ends in a semicolon, which Jupyter heeds and nbval does not: assign to _")
        found += [
            f"code cell {number}: {x} is over {MOST_COLUMNS}" for x in cell.source.splitlines() if len(x) > MOST_COLUMNS
        ]
    for number, cell in enumerate(code, start=1):
        measured = any(MEASURED in output.get("data", {}) for output in cell.outputs)
        ignored = IGNORED in cell.metadata.get("tags", [])
        if measured and not ignored:
            found.append(f"code cell {number} shows measured numbers: give it the tag {IGNORED}")
        if ignored and not measured:
            found.append(f"code cell {number} is tagged {IGNORED} and shows no measured numbers: use show_measured")
    return found


def read(chapter):
    return nbformat.reads((BOOK / f"{chapter}.ipynb").read_text("utf8"), as_version=4)


# --- the book --------------------------------------------------------------------------------------------------------


def test_there_is_a_chapter(chapters):
    assert chapters


def test_every_source_and_every_notebook_has_its_twin_in_the_table_of_contents(chapters):
    sources = {toc.page(path) for path in notebooks.sources(BOOK)}
    assert sources == {toc.page(path) for path in BOOK.rglob("*.ipynb")} == set(chapters)


def test_source_and_notebook_agree(chapter, monkeypatch):
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    source = notebooks.fill_numbers(notebooks.read_source(BOOK / f"{chapter}.md"), read(chapter), chapter)
    assert pair_problems(source, read(chapter)) == []


def test_every_cell_was_run_in_order_and_none_raised(chapter):
    assert run_problems(read(chapter)) == []


def test_code_cells_have_their_form(chapter, monkeypatch):
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    assert form_problems(read(chapter), colab.colab_cell(colab.repository())) == []


def test_a_notebook_is_written_as_the_script_writes_it(chapter):
    assert (BOOK / f"{chapter}.ipynb").read_text("utf8") == notebooks.to_text(read(chapter))


# --- the checkers see what they must see -----------------------------------------------------------------------------


@pytest.fixture
def notebook():
    """A notebook without a fault: the Colab cell, a text, a result."""
    new = nbformat.v4
    first = new.new_code_cell("import sys", execution_count=1, metadata={"tags": ["remove-cell"]})
    result = new.new_output("execute_result", {"text/plain": "2"}, execution_count=2)
    second = new.new_code_cell("1 + 1", execution_count=2, outputs=[result])
    return new.new_notebook(cells=[first, new.new_markdown_cell("Text."), second])


def test_a_good_notebook_has_no_problem(notebook):
    assert pair_problems(notebook, copy.deepcopy(notebook)) == []
    assert run_problems(notebook) == []
    assert form_problems(notebook, "import sys\n") == []


def test_a_pair_that_differs_is_seen(notebook):
    for part, value in (("source", "1 + 2"), ("metadata", {"tags": ["hide-cell"]}), ("cell_type", "raw")):
        other = copy.deepcopy(notebook)
        other.cells[2][part] = nbformat.from_dict(value)
        assert pair_problems(notebook, other) == [f"cell 2: its {part} is not that of the source"]
    del other.cells[1]
    assert pair_problems(notebook, other) == ["the source has 3 cells, the notebook 2"]


def test_a_cell_that_ends_in_a_semicolon_is_seen(notebook):
    notebook.cells[2].source = "1 + 1;"
    found = form_problems(notebook, "import sys")
    assert len(found) == 1
    assert found[0].startswith("code cell 2 ends in a semicolon")


def test_a_cell_that_was_not_run_is_seen(notebook):
    notebook.cells[2].execution_count = None
    assert run_problems(notebook) == ["cell 2: its execution count is None, not 2"]


def test_cells_run_out_of_order_are_seen(notebook):
    notebook.cells[0].execution_count = 3
    assert run_problems(notebook) == ["cell 0: its execution count is 3, not 1"]
    notebook.cells[0].execution_count = 1
    notebook.cells[2].outputs[0].execution_count = 7
    assert run_problems(notebook) == ["cell 2: its result is that of execution 7, not 2"]


def test_a_stored_error_is_seen(notebook):
    error = nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])
    notebook.cells[2].outputs = [error]
    assert run_problems(notebook) == ["cell 2: it raised an error"]


def test_a_figure_without_its_picture_or_its_description_is_seen(notebook):
    notebook.cells[2].metadata["mystnb"] = {"figure": {"name": "fig-x"}}
    assert run_problems(notebook) == ["cell 2: a figure has one picture as its only output, this one 1 outputs"]
    notebook.cells[2].outputs = [nbformat.v4.new_output("display_data", {"image/png": ""})]
    assert run_problems(notebook) == ["cell 2: its plot has no text that describes it (mystnb: image: alt)"]
    notebook.cells[2].metadata["mystnb"]["image"] = {"alt": "A line rises."}
    assert run_problems(notebook) == []


@pytest.mark.parametrize("tag", ["nbval-skip", "raises-exception"])
def test_a_cell_hidden_from_nbval_is_seen(notebook, tag):
    notebook.cells[2].metadata.tags = [tag]
    assert run_problems(notebook) == ["cell 2: a tag hides it from nbval"]


def test_a_missing_colab_cell_is_seen(notebook):
    message = "the first code cell is not the Colab cell of companion/book/colab.py"
    assert form_problems(notebook, "import os") == [message]
    notebook.cells[0].metadata = nbformat.from_dict({})
    assert form_problems(notebook, "import sys") == ["the Colab cell is not tagged remove-cell"]


def test_a_long_cell_is_seen(notebook):
    notebook.cells[2].source = "x = 1\n" * 16
    assert form_problems(notebook, "import sys") == ["code cell 2 (x = 1) has 16 lines, more than 15"]


def test_a_class_may_be_longer_than_other_cells(notebook):
    lines = ["class A:", *["    x = 1"] * 29]
    notebook.cells[2].source = "\n".join(lines)
    assert form_problems(notebook, "import sys") == []
    notebook.cells[2].source = "\n".join([*lines, "    x = 1"])
    assert form_problems(notebook, "import sys") == ["code cell 2 (class A:) has 31 lines, more than 30"]
    notebook.cells[2].source = "\n".join([*lines[:16], "x = 1"])
    assert form_problems(notebook, "import sys") == ["code cell 2 (class A:) has 17 lines, more than 15"]


def test_a_wide_line_is_seen(notebook):
    notebook.cells[2].source = "x = 1  # " + "y" * 77
    assert form_problems(notebook, "import sys") == [f"code cell 2: {notebook.cells[2].source} is over 85"]


def test_a_tag_without_measured_numbers_and_these_without_the_tag_are_seen(notebook):
    notebook.cells[2].metadata.tags = [IGNORED]
    assert form_problems(notebook, "import sys") == [
        "code cell 2 is tagged nbval-ignore-output and shows no measured numbers: use show_measured"
    ]
    notebook.cells[2].outputs[0].data[MEASURED] = {"values": []}
    assert form_problems(notebook, "import sys") == []
    notebook.cells[2].metadata.tags = []
    assert form_problems(notebook, "import sys") == [
        "code cell 2 shows measured numbers: give it the tag nbval-ignore-output"
    ]


# --- the script ------------------------------------------------------------------------------------------------------

SOURCE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Sample

```{code-cell} ipython3
:tags: [remove-cell]
"Colab"
```

```{code-cell} ipython3
print("one")
x = 1 / 0
```
"""


def test_a_cell_that_raises_is_named_and_nothing_is_written(tmp_path, capsys):
    (tmp_path / "sample.md").write_text(SOURCE, "utf8")
    (tmp_path / "page.md").write_text("# A page that is no notebook\n", "utf8")
    assert notebooks.main(["--book", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "sample: cell 2 (sample.md, line 19) raised ZeroDivisionError: division by zero" in printed.err
    assert "x = 1 / 0" in printed.err
    assert f"{'sample':32} failed, nothing written" in printed.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "sample.md"]


def test_an_unknown_chapter_is_refused_with_the_known_ones(tmp_path, capsys):
    (tmp_path / "sample.md").write_text(SOURCE, "utf8")
    assert notebooks.main(["--book", str(tmp_path), "smaple"]) == 1
    assert "no source for smaple: the pages are sample" in capsys.readouterr().err


def test_check_names_the_first_cell_that_differs_and_writes_nothing(tmp_path, capsys, monkeypatch, notebook):
    source = tmp_path / "sample.md"
    source.write_text(SOURCE, "utf8")
    monkeypatch.setattr(notebooks, "run", lambda path: copy.deepcopy(notebook))
    assert notebooks.main(["--book", str(tmp_path), "--check"]) == 1
    assert "sample: there is no sample.ipynb" in capsys.readouterr().err
    assert notebooks.main(["--book", str(tmp_path)]) == 0
    assert notebooks.main(["--book", str(tmp_path), "--check"]) == 0
    text = source.with_suffix(".ipynb").read_text("utf8")
    broken = text.replace('"2"', '"3"')
    source.with_suffix(".ipynb").write_text(broken, "utf8")
    capsys.readouterr()
    assert notebooks.main(["--book", str(tmp_path), "--check"]) == 1
    assert "cell 2 (sample-002) differs in its outputs" in capsys.readouterr().err
    assert source.with_suffix(".ipynb").read_text("utf8") == broken


def test_widgets_are_numbered_in_order_of_appearance_whatever_their_ids():
    def run(view, layout):
        new = nbformat.v4
        data = {"application/vnd.jupyter.widget-view+json": {"model_id": view}, "text/plain": "Figure()"}
        cell = new.new_code_cell("Figure()", outputs=[new.new_output("display_data", data)])
        models = {
            layout: {"model_name": "LayoutModel", "state": {"_view_name": "LayoutView", "width": None, "flex": "1"}},
            view: {"model_name": "AnyModel", "state": {"layout": f"IPY_MODEL_{layout}", "step": None}},
        }
        widgets = {stable.WIDGET_STATE: {"state": models}}
        return notebooks.stable(new.new_notebook(cells=[cell], metadata={"widgets": widgets}), "a_chapter")

    one, two = run("a" * 32, "b" * 32), run("f" * 32, "0" * 31 + "c")
    assert json.dumps(one) == json.dumps(two)
    state = one.metadata.widgets[stable.WIDGET_STATE].state
    assert list(state) == ["0" * 32, "0" * 31 + "1"]
    assert state["0" * 32].state == {"layout": f"IPY_MODEL_{'0' * 31}1", "step": None}
    assert state["0" * 31 + "1"].state == {"_view_name": "LayoutView", "flex": "1"}
    assert one.cells[0].id == "a-chapter-000"


def test_text_printed_in_pieces_is_one_output():
    new = nbformat.v4
    pieces = [("stdout", "a\n"), ("stderr", "!\n"), ("stdout", "b\n")]
    outputs = [new.new_output("stream", name=name, text=text) for name, text in pieces]
    shown = new.new_output("display_data", {"text/plain": "figure"})
    merged = stable._merge_streams([*outputs, shown, outputs[0]])
    assert [output.get("text", "figure") for output in merged] == ["a\nb\n", "!\n", "figure", "a\n"]


def test_what_a_kernel_says_about_itself_is_left_out():
    language = {"name": "python", "version": "3.11.9", "codemirror_mode": {"name": "ipython", "version": 3}}
    notebook = nbformat.v4.new_notebook(
        metadata={"language_info": language, "jupytext": {"x": 1}, "html_meta": {"a": "b"}}
    )
    assert notebooks.stable(notebook, "x").metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
        "html_meta": {"a": "b"},
    }


def test_new_text_alone_is_written_beside_the_stored_outputs_and_new_code_is_refused(tmp_path, capsys, notebook):
    source = tmp_path / "sample.md"
    source.write_text(SOURCE.replace('print("one")\nx = 1 / 0', "1 + 1"), "utf8")
    assert notebooks.main(["--book", str(tmp_path), "--text"]) == 1, "nothing has run yet"
    assert "sample: its code has changed, so it must run" in capsys.readouterr().err
    stored = notebooks.read_source(source)
    stored.cells[-1].update(outputs=notebook.cells[2].outputs, execution_count=2)
    stored.cells[1].execution_count = 1
    source.with_suffix(".ipynb").write_text(notebooks.to_text(notebooks.finish(stored, source, None)), "utf8")
    before = source.with_suffix(".ipynb").read_text("utf8")
    source.write_text(source.read_text("utf8").replace("# Sample", "# Another title"), "utf8")
    assert notebooks.main(["--book", str(tmp_path), "--text"]) == 0
    assert source.with_suffix(".ipynb").read_text("utf8") == before.replace("# Sample", "# Another title")
    source.write_text(source.read_text("utf8").replace("1 + 1", "1 + 2"), "utf8")
    assert notebooks.main(["--book", str(tmp_path), "--text"]) == 1
    assert "# Another title" in source.with_suffix(".ipynb").read_text("utf8"), "nothing is written"
