"""Faults of a stored notebook; `ledger.py` has more, with those of the ledger and of the chapter's source."""

import json
from collections.abc import Callable

from faults import Fault

NOTEBOOK = "book/attention.ipynb"
SAME_FIGURES = "the_stored_figures_are_those_of_a_fresh_run_and_of_the_package"


def pairs(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_pairs.py::test_{test}",)


def in_notebook(change: Callable[[dict], None]) -> Callable[[str], str]:
    """Make an edit of a notebook's text from a change of what it holds, with the layout kept."""

    def edit(text: str) -> str:
        notebook = json.loads(text)
        change(notebook)
        return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    return edit


def code(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def swap_two_runs(notebook: dict) -> None:
    first, second = code(notebook)[3:5]
    first["execution_count"], second["execution_count"] = second["execution_count"], first["execution_count"]


def store_an_error(notebook: dict) -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "broken", "traceback": []}
    code(notebook)[5]["outputs"] = [error]


def change_an_explorer(notebook: dict) -> None:
    """Change the first number of an explorer's stored results: nbval does not look at them."""
    models = notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    state = next(
        model["state"] for model in models.values() if "AttentionWalk" in model["state"].get("_anywidget_id", "")
    )
    state["value"][0][0] = 999.0


def drop_a_figure(notebook: dict) -> None:
    """Leave the second figure's cell without its picture: what a cell shows that draws and displays nothing."""
    [cell for cell in code(notebook) if "figure" in cell["metadata"].get("mystnb", {})][1]["outputs"] = []


FAULTS = [
    Fault(
        "a figure was never drawn",
        NOTEBOOK,
        tests=pairs("every_cell_was_run_in_order_and_none_raised"),
        edit=in_notebook(drop_a_figure),
    ),
    Fault(
        "an explorer's stored numbers are not those of a fresh run",
        NOTEBOOK,
        tests=(f"tests/notebooks/test_explorer_state.py::test_{SAME_FIGURES}",),
        edit=in_notebook(change_an_explorer),
    ),
    Fault(
        "two cells were run in the wrong order",
        NOTEBOOK,
        tests=pairs("every_cell_was_run_in_order_and_none_raised"),
        edit=in_notebook(swap_two_runs),
    ),
    Fault(
        "a stored cell raised",
        NOTEBOOK,
        tests=pairs("every_cell_was_run_in_order_and_none_raised"),
        edit=in_notebook(store_an_error),
    ),
    Fault(
        "the package changed and the notebook was not run again",
        "companion/attention.py",
        "1 / math.sqrt(key.shape[-1]) if scale",
        "1 / key.shape[-1] if scale",
        ("--nbval", NOTEBOOK),
        "NbCellError|Cell execution|mismatch",
    ),
]
