"""What a run of a notebook is compared with, and that the plugin in ``fresh_run.py`` sees each change of it."""

import base64
import copy
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from companion.book import notebooks
from companion.book.measured_output import MEASURED, Measured
from companion.book.plot_output import PLOT, SVG, seal
from companion.explorers import explorers
from tests.tools import fresh_run
from tests.tools.fresh_run import name_of, notebook_problems, picture_problems, shown_models, state_problems
from tests.tools.small import FRONT, contents

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
CELLS = (
    "1",  # where a page has the cell for Colab
    "import matplotlib.pyplot as plt",
    "from companion.explorers import MaskExplorer, SoftmaxExplorer\nlookup = SoftmaxExplorer()\nlookup",
    "lookup",
    "MaskExplorer()",
    "print('one')\n1 + 1",
    "_ = plt.plot([1, 2])",
    "from companion.book import show_measured\nshow_measured({'right': [97.5, 98]}, within=3, unit='%')",
    "from companion import plots\n_, ax = plots.axes(3, 2)\n_ = ax.plot([0, 1], [2, 2.5])\n"
    "plots.set_tolerance(ax, within=0.1)",
)


def code_problems(notebook, classes):
    """Say where a notebook stores other code of an explorer than the package has."""
    found = []
    for index, state in enumerate(shown_models(notebook).values()):
        where = f"figure {index} ({name_of(state or {})})"
        cls = classes.get(name_of(state or {}))
        if cls is None:
            found.append(f"{where} is no explorer of the package, or its state is not stored")
        else:
            parts = (("_esm", cls._esm), ("_css", cls._css))
            found += [
                f"{where} stores other code in {part} than the package has"
                for part, text in parts
                if state.get(part) != text
            ]
    return found


def test_the_stored_explorers_have_the_code_of_the_package(chapter):
    stored = nbformat.reads((BOOK / f"{chapter}.ipynb").read_text("utf8"), as_version=4)
    assert code_problems(stored, explorers()) == [], f"run `make notebooks NAME={chapter}`"


# --- the comparison sees each change ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of a book with one page: two explorers, one shown twice, a picture, measured numbers, and a plot."""
    book = tmp_path_factory.mktemp("root") / "book"
    book.mkdir()
    tags = [":tags: [nbval-ignore-output]\n\n" * ("show_measured" in cell) for cell in CELLS]
    cells = "\n".join(f"```{{code-cell}} ipython3\n{tag}{cell}\n```\n" for tag, cell in zip(tags, CELLS, strict=True))
    (book / "small.md").write_text(FRONT + cells, "utf8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Jupyter's client are not ours
        assert notebooks.make(book / "small.md") == "written"
    return book


@pytest.fixture
def small(book):
    """The stored notebook of that page."""
    return nbformat.reads((book / "small.ipynb").read_text("utf8"), as_version=4)


def test_what_is_the_same_has_no_problem(small):
    assert notebook_problems(small, copy.deepcopy(small)) == []
    assert code_problems(small, explorers()) == []
    assert [name_of(state) for state in shown_models(small).values()] == ["SoftmaxExplorer", "MaskExplorer"]


def picture(shade, size=(4, 3)):
    data = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(data, "PNG")
    return nbformat.v4.new_output("display_data", {"image/png": base64.b64encode(data.getvalue()).decode()})


@pytest.mark.parametrize(
    ("outputs", "problems"),
    [
        ([picture(101)], []),
        ([picture(120)], ["cell 0: it stores another picture than a fresh run gives"]),
        ([picture(100, (5, 3))], ["cell 0: it stores 1 pictures, a fresh run gives 1, or of other sizes"]),
        ([], ["cell 0: it stores 1 pictures, a fresh run gives 0, or of other sizes"]),
    ],
)
def test_another_picture_is_seen(outputs, problems):
    stored, fresh = (
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=copy.deepcopy(shown))])
        for shown in ([picture(100)], outputs)
    )
    assert picture_problems(stored, fresh) == problems


def change(**values):
    return lambda state: state.update(values)


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        (lambda state: state["scores"].__setitem__(0, 999.0), "figure 0 (SoftmaxExplorer) stores another scores"),
        (change(temperature=2.0), "figure 0 (SoftmaxExplorer) stores another temperature"),
        (lambda state: state.pop("label"), "figure 0 (SoftmaxExplorer) stores another label"),
        (change(extra=1), "figure 0 (SoftmaxExplorer) stores another extra"),
        (lambda state: change(_esm=state["_esm"] + " ")(state), "stores other code in _esm than the package has"),
        (change(_css=""), "stores other code in _css than the package has"),
        (change(_anywidget_id="demo.Other"), "it stores ['Other', 'MaskExplorer'], a fresh run gives"),
    ],
)
def test_a_change_of_what_is_stored_is_found(small, spoil, finding):
    spoiled = copy.deepcopy(small)
    spoil(next(iter(shown_models(spoiled).values())))
    found = state_problems(spoiled, small) + code_problems(spoiled, explorers())
    assert any(finding in problem for problem in found)


def test_a_figure_without_stored_state_is_found(small):
    spoiled = copy.deepcopy(small)
    spoiled.metadata.pop("widgets")
    assert state_problems(spoiled, small) == ["figure 0 is shown, but its state is not stored"]
    assert "its state is not stored" in code_problems(spoiled, explorers())[0]


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        (lambda one: one.cells[5].outputs[0].update(text="two\n"), "cell 5 (small-005) differs in its outputs"),
        (lambda one: one.cells[5].metadata.update(tags=["x"]), "cell 5 (small-005) differs in its metadata"),
        (lambda one: one.metadata.update(title="x"), "it differs in its metadata title"),
    ],
)
def test_every_other_change_is_found(small, spoil, finding):
    spoiled = copy.deepcopy(small)
    spoil(spoiled)
    assert notebook_problems(spoiled, small) == [finding]


# --- one run serves nbval and the comparison -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (
            {"values": [[["right"], [94.4, 98]]]},
            "cell 7: right: it has [94.4, 98], and a run gives [97.5, 98], which is",
        ),
        ({"values": [[["wrong"], [97.5, 98]]]}, "cell 7: it has the names and lengths [('wrong', 2)], and in a run"),
        ({"within": {"": 2}}, "cell 7: within is {'': 2}, and in a run {'': 3}"),
        ({"unit": "s"}, "cell 7: unit is s, and in a run %"),
    ],
)
def test_measured_numbers_beyond_their_tolerance_and_other_names_are_found(small, change, finding):
    spoiled = copy.deepcopy(small)
    data = spoiled.cells[7].outputs[0].data
    data.update(Measured({**data[MEASURED], **change}).bundle())
    fresh = notebooks.keep_measured(copy.deepcopy(small), spoiled)
    assert notebook_problems(spoiled, fresh)[0].startswith(finding)


def plot_of(notebook):
    (plot,) = (
        output for cell in notebook.cells for output in cell.get("outputs", []) if PLOT in output.get("metadata", {})
    )
    return plot


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"y": "2 2.7"}, "Axes 0, line 0: its y is 2 2.7, and in a run 2 2.5"),
        ({"label": "x"}, "Axes 0, line 0: its label is x, and in a run "),
    ],
)
def test_a_plot_is_compared_by_its_data(small, change, finding):
    spoiled = copy.deepcopy(small)
    plot_of(spoiled).metadata[PLOT].axes[0].artists[0].update(change)
    fresh = notebooks.keep_measured(copy.deepcopy(small), spoiled)
    assert notebook_problems(spoiled, fresh) == [f"cell 8: {finding}"]


def test_a_plot_within_its_tolerance_is_kept_with_its_picture(small):
    near = copy.deepcopy(small)
    plot_of(near).metadata[PLOT].axes[0].artists[0].y = "2 2.59"
    plot_of(near).data[SVG] = plot_of(near).data[SVG].replace("9px", "8px")
    seal(plot_of(near))
    kept = notebooks.keep_measured(copy.deepcopy(small), near)
    assert plot_of(kept) == plot_of(near)
    assert notebook_problems(near, kept) == []


def test_a_plot_of_the_same_data_is_the_new_one_and_its_style_does_not_count(small):
    stored = copy.deepcopy(small)
    plot_of(stored).data[SVG] += "<!-- another style -->"
    assert "cell 8: its picture is not the one of its data" in notebook_problems(stored, copy.deepcopy(small))
    seal(plot_of(stored))
    kept = notebooks.keep_measured(copy.deepcopy(small), stored)
    assert plot_of(kept) == plot_of(small)
    assert notebook_problems(stored, kept) == []


def test_a_plot_is_not_stored_without_its_data(small):
    stored = copy.deepcopy(small)
    del plot_of(stored)["metadata"][PLOT]
    assert notebook_problems(stored, copy.deepcopy(small)) == ["cell 8: its plot is stored without its data"]


def test_measured_numbers_within_their_tolerance_pass_and_a_table_that_is_not_theirs_does_not(small):
    near = copy.deepcopy(small)
    data = near.cells[7].outputs[0].data
    data.update(Measured({**data[MEASURED], "values": [[["right"], [94.6, 98.0]]]}).bundle())
    assert notebook_problems(near, notebooks.keep_measured(copy.deepcopy(small), near)) == []
    data["text/html"] = data["text/html"].replace("94.6", "95.6")
    assert notebook_problems(near, notebooks.keep_measured(copy.deepcopy(small), near)) == [
        "cell 7 (small-007) differs in its outputs"
    ]
    near.cells[7].outputs = []
    assert "cell 7: it stores 0 tables of measured numbers, a run gives 1" in notebook_problems(near, small)


def test_a_slower_computer_has_as_much_more_time(tmp_path, monkeypatch):
    assert fresh_run.slower() >= 1
    monkeypatch.setattr(fresh_run, "slower", lambda: 2.0)
    monkeypatch.setattr(fresh_run, "BOOK", tmp_path / "book")
    (tmp_path / "_toc.yml").write_text(contents("book/one/index.ipynb"), "utf8")
    assert fresh_run.run_problems("one/index", 59.0, 59.0, 100.0) == []
    assert fresh_run.run_problems("one/index", 62.0, 62.0, 100.0) == ["one/index: its cells ran 31 s, at most 30"]


def test_imports_that_a_kernel_was_spared_count_too(tmp_path, monkeypatch):
    monkeypatch.setattr(fresh_run, "slower", lambda: 1.0)
    monkeypatch.setattr(fresh_run, "BOOK", tmp_path / "book")
    (tmp_path / "_toc.yml").write_text(contents("book/one/index.ipynb"), "utf8")
    assert fresh_run.run_problems("one/index", 29.0, 40.0, 100.0, imports=0.5) == []
    found = fresh_run.run_problems("one/index", 29.0, 40.0, 100.0, imports=2.0)
    assert found == ["one/index: its cells ran 31 s, at most 30"]


def run(book):
    """Run the notebook with nbval and the plugin; gives which tests failed, and all that was printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--nbval"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "FRESH_RUN_BOOK": str(book)}
    done = subprocess.run(
        [*command, "-p", "tests.tools.fresh_run", book / "small.ipynb"],
        cwd=book.parent, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    failed = [line.partition("::")[2].partition(" - ")[0] for line in done.stdout.splitlines() if "FAILED" in line]
    return failed, done.stdout


def test_one_run_finds_a_changed_text_a_changed_picture_and_changed_values(book, small):
    small.cells[5].outputs[0].text = "two\n"
    small.cells[6].outputs[0].data["image/png"] = picture(0).data["image/png"]
    next(iter(shown_models(small).values()))["scores"][0] = 999.0
    data = small.cells[7].outputs[0].data
    stored = (book / "small.ipynb").read_text("utf8")
    near = Measured({**data[MEASURED], "values": [[["right"], [95.0, 100.5]]]}).bundle()
    within = copy.deepcopy(nbformat.reads(stored, as_version=4))
    within.cells[7].outputs[0].data.update(near)
    (book / "small.ipynb").write_text(notebooks.to_text(within), "utf8")
    assert run(book)[0] == []
    noted = json.loads((book.parent / "_build" / "pages" / "run" / "small.json").read_text("utf8"))
    assert 0 < noted["seconds"] < 60
    assert 30 < noted["megabytes"] < 3000
    data.update(Measured({**data[MEASURED], "values": [[["right"], [90, 98]]]}).bundle())
    (book / "small.ipynb").write_text(notebooks.to_text(small), "utf8")
    failed, printed = run(book)
    (book / "small.ipynb").write_text(stored, "utf8")
    assert failed == ["Cell 5", "the notebook is what its source gives"]
    for finding in (
        "cell 6: it stores 1 pictures, a fresh run gives 1, or of other sizes",
        "figure 0 (SoftmaxExplorer) stores another scores",
        "cell 5 (small-005) differs in its outputs",
        "cell 7: right: it has [90, 98], and a run gives [97.5, 98], which is not within 3",
    ):
        assert finding in printed


@pytest.mark.parametrize(("old", "new", "failed"), [(' y="', ' y="1', []), ("9px", "8px", ["Cell 8"])])
def test_nbval_sees_another_style_of_a_plot_and_leaves_its_coordinates_to_the_data(book, small, old, new, failed):
    stored = (book / "small.ipynb").read_text("utf8")
    assert old in plot_of(small).data[SVG]
    plot_of(small).data[SVG] = plot_of(small).data[SVG].replace(old, new)
    seal(plot_of(small))
    (book / "small.ipynb").write_text(notebooks.to_text(small), "utf8")
    found, _ = run(book)
    (book / "small.ipynb").write_text(stored, "utf8")
    assert found == failed


@pytest.mark.parametrize(
    ("page", "clock", "processor", "megabytes", "problems"),
    [
        ("one/index", 31.0, 40.0, 100.0, ["one/index: its cells ran 31 s, at most 30"]),
        ("one/index", 40.0, 29.0, 9000.0, []),  # a busy computer, and memory that is not bounded here
        (
            "one/claims",
            91.0,
            95.0,
            1600.0,
            ["one/claims: its cells ran 91 s, at most 90", "one/claims: its kernel needed"],
        ),
        ("one/claims", 89.0, 95.0, 1500.0, []),
        ("two/questions", 500.0, 500.0, 9000.0, []),  # of a chapter without an index
    ],
)
def test_a_page_of_the_second_edition_that_runs_too_long_is_found(
    tmp_path, monkeypatch, page, clock, processor, megabytes, problems
):
    monkeypatch.setattr(fresh_run, "slower", lambda: 1.0)
    monkeypatch.setattr(fresh_run, "BOOK", tmp_path / "book")
    listed = contents("book/one/index.ipynb", "book/one/claims.ipynb", "book/two/questions.ipynb")
    (tmp_path / "_toc.yml").write_text(listed, "utf8")
    found = fresh_run.run_problems(page, clock, processor, megabytes)
    assert len(found) == len(problems), found
    assert [one[: len(want)] for one, want in zip(found, problems, strict=True)] == problems
    noted = json.loads((tmp_path / "_build" / "pages" / "run" / f"{page}.json").read_text("utf8"))
    assert noted == {"seconds": min(clock, processor), "megabytes": megabytes}
