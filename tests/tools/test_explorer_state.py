"""What an explorer shows on the page is stored in the notebook: it is what a fresh run gives, and the package's files.

nbval compares outputs, not widget state, and the built site shows nothing but that state.
"""

import copy
import json
import warnings

import nbformat
import pytest

from companion import widgets

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


def shown_models(notebook):
    """The stored state of every figure that a notebook shows, in order; one with two views comes once."""
    stored = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    views = [output["data"][VIEW]["model_id"] for output in outputs if VIEW in output.get("data", {})]
    return {view: stored[view]["state"] if view in stored else None for view in dict.fromkeys(views)}


def name_of(state):
    return state.get("_anywidget_id", "a plain ipywidget").rsplit(".", 1)[-1]


def problems(stored, fresh):
    """Say where the stored figures differ from fresh ones or from the package; empty if nowhere."""
    old, new = list(shown_models(stored).values()), list(shown_models(fresh).values())
    if None in old:
        return [f"figure {old.index(None)} is shown, but its state is not stored"]
    if [name_of(state) for state in old] != [name_of(state) for state in new]:
        return [f"it stores {[name_of(state) for state in old]}, a fresh run gives {[name_of(state) for state in new]}"]
    found = []
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        where = f"figure {index} ({name_of(was)})"
        cls = getattr(widgets, name_of(was), None)
        if cls is None:
            found.append(f"{where} is no explorer of companion.explorers")
            continue
        for part, text in (("_esm", cls._esm), ("_css", cls._css)):
            if was.get(part) != text:
                found.append(f"{where} stores other code in {part} than the package has")
        keys = sorted(key for key in {**was, **now} if not key.startswith("_") and key != "layout")
        found += [f"{where} stores another {key}" for key in keys if not alike(was.get(key), now.get(key))]
    return found


def alike(was, now):
    """Tell whether two stored values are the same, up to the last digit that a number is rounded to.

    Another processor may round 0.12345 up and not down, so numbers agree within 0.00015 and a part in ten thousand.
    """
    if isinstance(was, dict) and isinstance(now, dict):
        return was.keys() == now.keys() and all(alike(was[key], now[key]) for key in was)
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(alike, was, now))
    numbers = [as_numbers(one) for one in (was, now)]
    if None in numbers or len(numbers[0]) != len(numbers[1]):
        return was == now
    return all(abs(a - b) <= 1.5e-4 + 1e-4 * abs(b) for a, b in zip(*numbers, strict=True))


def as_numbers(value):
    """Read a number, or a row of them packed into one string; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return [float(word) for word in str(value).replace(",", " ").split()]
    except ValueError:
        return None


@pytest.fixture
def stored(maker, chapter):
    path = maker.ROOT / "book" / f"{chapter}.ipynb"
    return nbformat.reads(path.read_text("utf8"), as_version=4)


def test_the_stored_figures_are_those_of_a_fresh_run_and_of_the_package(stored, chapter, fresh_notebooks):
    remedy = f"run `make notebooks NAME={chapter}`"
    assert problems(stored, fresh_notebooks[chapter]) == [], remedy


@pytest.fixture(scope="module")
def small(maker, tmp_path_factory):
    """A notebook with two explorers, one of them shown twice, made as the chapters are."""
    source = tmp_path_factory.mktemp("book") / "small.md"
    source.write_text(
        "---\njupytext:\n  text_representation: {extension: .md, format_name: myst}\n"
        "kernelspec: {name: python3, display_name: Python 3, language: python}\n---\n"
        "```{code-cell} ipython3\n1\n```\n"
        "```{code-cell} ipython3\nfrom companion.explorers import MaskExplorer, SoftmaxExplorer\n"
        "lookup = SoftmaxExplorer()\nlookup\n```\n```{code-cell} ipython3\nlookup\n```\n"
        "```{code-cell} ipython3\nMaskExplorer()\n```\n",
        "utf8",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Jupyter's client are not ours
        return maker.run(source)


def test_two_runs_store_the_same(small):
    assert problems(copy.deepcopy(small), small) == []
    assert [name_of(state) for state in shown_models(small).values()] == ["SoftmaxExplorer", "MaskExplorer"]


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
    spoiled = nbformat.reads(json.dumps(small), as_version=4)
    spoil(next(iter(shown_models(spoiled).values())))
    assert any(finding in problem for problem in problems(spoiled, small))


def test_a_figure_without_stored_state_is_found(small):
    spoiled = nbformat.reads(json.dumps(small), as_version=4)
    spoiled.metadata.pop("widgets")
    assert problems(spoiled, small) == ["figure 0 is shown, but its state is not stored"]
