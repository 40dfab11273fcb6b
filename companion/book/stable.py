"""Take out of an executed notebook what a second run would change, and what is dead without a kernel."""

import json
import re
from itertools import groupby

import nbformat
from nbformat import NotebookNode

WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LIVE_TAG = "live-lab"


def stable(notebook: NotebookNode, name: str) -> NotebookNode:
    """Take out of an executed notebook what a second run would change, and what is dead without a kernel."""
    notebook = _number_widgets(_without_live_labs(notebook))
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"{name.replace('_', '-').replace('/', '-')}-{index:03d}"[-64:].lstrip("-")
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _merge_streams(cell.outputs)
    for key in ("jupytext", "source_map"):
        notebook.metadata.pop(key, None)
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata.language_info = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}
    notebook.nbformat_minor = 5
    return notebook


def _without_live_labs(notebook: NotebookNode) -> NotebookNode:
    """Keep of a live lab's output its text only, and drop the models that nothing else shows."""
    live = [cell for cell in notebook.cells if LIVE_TAG in cell.metadata.get("tags", [])]
    if not live:
        return notebook
    for cell in live:
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET_VIEW, None)
    state = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kept, waiting = {}, re.findall(r'"model_id": "([0-9a-f]{32})"', json.dumps(outputs))
    while waiting:
        model = waiting.pop()
        if model in state and model not in kept:
            kept[model] = state[model]
            waiting += re.findall(r"IPY_MODEL_([0-9a-f]{32})", json.dumps(state[model]))
    if kept:
        notebook.metadata.widgets[WIDGET_STATE]["state"] = {key: state[key] for key in state if key in kept}
    else:
        notebook.metadata.pop("widgets", None)
    return notebook


def _number_widgets(notebook: NotebookNode) -> NotebookNode:
    """Number the widget models in order of appearance: first the shown ones, then the rest as they were made."""
    state = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    text = nbformat.writes(notebook)
    shown = re.findall(r'"model_id": "([0-9a-f]{32})"', text)
    for number, model_id in enumerate(dict.fromkeys([*shown, *state])):
        text = text.replace(model_id, f"{number:032x}")
    notebook = nbformat.reads(text, as_version=4)
    widgets = notebook.metadata.get("widgets", {}).get(WIDGET_STATE)
    if widgets:
        widgets["state"] = {key: widgets["state"][key] for key in sorted(widgets["state"])}
        for model in widgets["state"].values():
            if model["model_name"] == "LayoutModel":  # a value that is not set is the browser's default
                model["state"] = {key: value for key, value in model["state"].items() if value is not None}
    return notebook


def _merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join what was printed in pieces: in a run of stream outputs, all of stdout, then all of stderr."""
    merged = []
    for is_stream, run in groupby(outputs, key=lambda output: output.output_type == "stream"):
        if not is_stream:
            merged.extend(run)
            continue
        by_name = sorted(run, key=lambda output: output.name, reverse=True)
        for name, parts in groupby(by_name, key=lambda output: output.name):
            merged.append(nbformat.v4.new_output("stream", name=name, text="".join(part.text for part in parts)))
    return merged
