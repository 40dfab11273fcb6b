"""A pytest plugin: the run in which nbval compares text serves that of pictures, explorers and measured numbers too.

    python -m pytest --jaxtyping-packages= --nbval -p tests.tools.fresh_run book/attention/index.ipynb

nbval looks at what a cell prints and leaves out pictures, the state of widgets, metadata, the form of an output, and
all outputs of a cell tagged ``nbval-ignore-output``. Of plots it compares styles and parts; where they stand follows
from their data, which are compared here.
This plugin listens to the messages of the same kernel, makes of them the notebook that ``make notebooks`` would write
from the source, and adds a test behind the last cell that compares it with the stored one. It also notes in
``_build/pages/run`` how long the cells ran and how much memory their kernel had, and holds pages of chapters with an
index to their bounds.
"""

import ast
import base64
import contextlib
import copy
import io
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbval.plugin import IPyNbFile
from PIL import Image

from companion.book import notebooks, pages, toc
from companion.book.measured_output import MEASURED, differences
from companion.book.pages import rules
from companion.book.plot_output import PLOT, SVG, is_sealed
from companion.book.plot_output import differences as plot_differences
from companion.book.stable import WIDGET_STATE, WIDGET_VIEW
from companion.measure import load, one_thread
from scripts import time_layers
from tests.tools import warm_kernels

MOST_DIFFERENCE = 2.0  # of 255, mean over a picture: another processor rounds an edge's shade otherwise, no more
NAME = "the notebook is what its source gives"
# What nbval does not compare in the picture of a plot, with what takes its place: coordinates, whose last digit depends
# on the processor, ids made of them, numbers at ticks and points, and the shades of a map with its digits in black or
# white.
OF_A_PLOT = {
    r' (?:d|points|transform|x|y|x1|x2|y1|y2|cx|cy|r|width|height)="[^"]*"': "",
    r"\bp[0-9a-f]{6}(?=-\d)": "p",
    r">[-−+]?[\d.,]+</text>": ">0</text>",
    r'href="data:image/png;base64,[^"]*"': "",
    r"fill:#(?:fefefe|010101)": "fill:#010101",
}
SET_ON = "cpu-intel-xeon-processor"  # the computer of the measurements on which the bounds of a run were set
IMPORTS = pytest.StashKey[float]()  # seconds that a kernel did not spend on imports, being a copy
# Seconds for the user, for the system, and the peak of memory; of a kernel, then of its children.
USAGE = "[tuple(__import__('resource').getrusage(whose))[:3] for whose in (0, -1)]"
BOOK = Path(os.environ.get("FRESH_RUN_BOOK", notebooks.ROOT / "book"))  # another one for the tests of this plugin


# --- what is compared ------------------------------------------------------------------------------------------------


def notebook_problems(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Say where a stored notebook differs from a fresh one, which is changed: pictures, explorers, all the rest.

    Measured numbers that agree within their tolerance are the stored ones in both already.
    """
    stored = copy.deepcopy(stored)
    found = measured_problems(stored, fresh) + picture_problems(stored, fresh) + state_problems(stored, fresh)
    for one in (stored, fresh):
        one.metadata.pop("widgets", None)
    if notebooks.to_text(stored) != notebooks.to_text(fresh):
        found.append(notebooks.first_difference(stored, fresh))
    return found


def measured_problems(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Say which measured numbers are not within the tolerance, or have another name, unit or tolerance."""
    found = []
    for index, cells in enumerate(zip(stored.cells, fresh.cells, strict=False)):
        was, now = (
            [data[MEASURED] for data in map(_data, cell.get("outputs", [])) if MEASURED in data] for cell in cells
        )
        if len(was) != len(now):
            found.append(f"cell {index}: it stores {len(was)} tables of measured numbers, a run gives {len(now)}")
        found += [f"cell {index}: {one}" for pair in zip(was, now, strict=False) for one in differences(*pair)]
    return found


def _data(output: nbformat.NotebookNode) -> dict:
    return output.get("data", {})


def picture_problems(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Compare the pictures of two notebooks, and take them out of both: plots by their data, others by their pixels."""
    found = []
    for index, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=False)):
        was, now = _pictures(old), _pictures(new)
        plots = [PLOT in one.metadata and PLOT in two.metadata for one, two in zip(was, now, strict=False)]
        for one, two, is_plot in zip(was, now, plots, strict=False):
            if not is_plot and SVG in one.data:
                found.append(f"cell {index}: its plot is stored without its data")
            if is_plot:
                found += [f"cell {index}: {each}" for each in plot_differences(one.metadata[PLOT], two.metadata[PLOT])]
                found += [f"cell {index}: its picture is not the one of its data"] * (not is_sealed(one))
        pixels = [_take_pixels(pictures, plots) for pictures in (was, now)]
        if [one.shape for one in pixels[0]] != [one.shape for one in pixels[1]] or len(was) != len(now):
            found.append(
                f"cell {index}: it stores {len(was)} pictures, a fresh run gives {len(now)}, or of other sizes"
            )
        elif any(np.abs(a - b).mean() > MOST_DIFFERENCE for a, b in zip(*pixels, strict=True)):
            found.append(f"cell {index}: it stores another picture than a fresh run gives")
    return found


def _pictures(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for output in cell.get("outputs", []) if {SVG, "image/png"} & {*output.get("data", {})}]


def _take_pixels(pictures: list[nbformat.NotebookNode], plots: list[bool]) -> list[np.ndarray]:
    """Take the pictures and the data of plots out of outputs; give the pixels of those that are no plots."""
    found = []
    for picture, is_plot in itertools.zip_longest(pictures, plots[: len(pictures)], fillvalue=False):
        picture.metadata.pop(PLOT, None)
        picture.data.pop(SVG, None)
        data = base64.b64decode(picture.data.pop("image/png", ""))
        if data and not is_plot:
            found.append(np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float))
    return found


def shown_models(notebook: nbformat.NotebookNode) -> dict[str, dict | None]:
    """The stored state of every figure that a notebook shows, in order; one with two views comes once."""
    stored = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    views = [output["data"][WIDGET_VIEW]["model_id"] for output in outputs if WIDGET_VIEW in output.get("data", {})]
    return {view: stored[view]["state"] if view in stored else None for view in dict.fromkeys(views)}


def name_of(state: dict) -> str:
    """Name the class of an explorer from its stored state."""
    return state.get("_anywidget_id", "a plain ipywidget").rsplit(".", 1)[-1]


def state_problems(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Say where the values of the stored explorers differ from those of fresh ones; empty if nowhere."""
    old, new = list(shown_models(stored).values()), list(shown_models(fresh).values())
    if None in old:
        return [f"figure {old.index(None)} is shown, but its state is not stored"]
    if [name_of(state) for state in old] != [name_of(state) for state in new]:
        return [f"it stores {[name_of(state) for state in old]}, a fresh run gives {[name_of(state) for state in new]}"]
    found = []
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        keys = sorted(key for key in {**was, **now} if key != "layout")
        differ = [key for key in keys if not alike(was.get(key), now.get(key))]
        found += [f"figure {index} ({name_of(was)}) stores another {key}" for key in differ]
    return found


def alike(was: object, now: object) -> bool:
    """Tell whether two stored values are the same, up to the last digit that a number is rounded to.

    Another processor may round 0.12345 up and not down, so numbers agree within 0.00015 and a part in ten thousand.
    """
    if isinstance(was, dict) and isinstance(now, dict):
        return was.keys() == now.keys() and all(alike(was[key], now[key]) for key in was)
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(alike, was, now))
    numbers = [_as_numbers(one) for one in (was, now)]
    if None in numbers or len(numbers[0]) != len(numbers[1]):
        return was == now
    return all(abs(a - b) <= 1.5e-4 + 1e-4 * abs(b) for a, b in zip(*numbers, strict=True))


def _as_numbers(value: object) -> list[float] | None:
    """Read a number, or a row of them packed into one string; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return [float(word) for word in str(value).replace(",", " ").split()]
    except ValueError:
        return None


# --- the plugin ------------------------------------------------------------------------------------------------------


class Recorder:
    """What a kernel said while nbval ran the cells of a notebook, read as Jupyter's own client reads it."""

    def __init__(self, notebook: nbformat.NotebookNode) -> None:
        blank = copy.deepcopy(notebook)
        blank.metadata.pop("widgets", None)
        self.code = [cell for cell in blank.cells if cell.cell_type == "code"]
        for cell in self.code:
            cell.outputs, cell.execution_count = [], None
        self.client = NotebookClient(blank, record_timing=False)
        self.client.reset_execution_trackers()
        self.request, self.ran = None, 0
        self.began = self.ended = time.monotonic()

    def listen(self, get_message: Callable[..., dict]) -> Callable[..., dict]:
        """Give a function that gets a message of the kernel as before, and notes it."""

        def get(*given: object, **options: object) -> dict:
            message = get_message(*given, **options)
            self.note(message)
            return message

        return get

    def note(self, message: dict) -> None:
        """Take in one message; ``execute_input`` comes once a cell and says that the next cell has begun."""
        request = message["parent_header"].get("msg_id")
        if message["msg_type"] == "execute_input":
            self.request, self.ran, self.client.clear_before_next_output = request, self.ran + 1, False
            self.began = self.began if self.ran > 1 else time.monotonic()
        elif request == self.request and self.ran:
            number, self.ended = self.ran - 1, time.monotonic()
            try:
                self.client.process_message(message, self.code[number], number)
            except CellExecutionComplete:
                return

    def executed(self, source: Path, stored: nbformat.NotebookNode) -> nbformat.NotebookNode:
        """Give what a run of the source would have written in place of the stored notebook.

        Raises:
            ValueError: the cells that ran are not all of those of the source.
        """
        notebook = notebooks.read_source(source)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        if self.ran != len(self.code) or [cell.source for cell in cells] != [cell.source for cell in self.code]:
            raise ValueError(
                f"{self.ran} cells ran of {len(self.code)} of the notebook, and {source.name} has {len(cells)}: run "
                "all, and see that source and notebook agree."
            )
        self.client.set_widgets_metadata()
        if "widgets" in self.client.nb.metadata:
            notebook.metadata.widgets = self.client.nb.metadata.widgets
        for number, (cell, ran) in enumerate(zip(cells, self.code, strict=True), start=1):
            cell.outputs, cell.execution_count = ran.outputs, number  # nbval asks the kernel not to count
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
        return notebooks.finish(notebook, source, stored)


def usage(kernel: object) -> tuple[float, float]:
    """Ask a kernel for the seconds of processor time and the megabytes that it took, its children too.

    Where the system does not tell, the seconds are infinite and the megabytes 0.
    """
    request = kernel.kc.execute("", silent=True, user_expressions={"usage": USAGE})
    while (reply := kernel.get_message("shell", timeout=60))["parent_header"].get("msg_id") != request:
        pass
    answer = reply["content"]["user_expressions"]["usage"]
    if answer["status"] != "ok":
        return math.inf, 0.0
    own, children = ast.literal_eval(answer["data"]["text/plain"])
    unit = 2**20 if sys.platform == "darwin" else 2**10  # of the memory: bytes there, kilobytes elsewhere
    return sum(own[:2] + children[:2]), max(own[2], children[2]) / unit


def slower() -> float:
    """Measure how many times as long a pass takes here as where the bounds were set; 1 on a faster computer."""
    name = "Transformer, 6 layers"
    row = next(row for row in load("layers")[SET_ON] if row.name == name and row.settings["n"] == 50)
    model, x = time_layers.MODELS[name]().eval(), torch.randn(row.settings["batch"], 50, time_layers.D_MODEL)
    with one_thread(), torch.no_grad():
        took = min(_processor_time(lambda: model(x)) for _ in range(20))
    return max(1.0, took / min(row.values))


def _processor_time(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def run_problems(page: str, clock: float, processor: float, megabytes: float, imports: float = 0.0) -> list[str]:
    """Note how long a page ran and how much memory it had; say what is too much for one of a chapter with an index.

    A busy computer makes the clock go on while the cells wait, so the smaller of clock and processor time counts, with
    the seconds of imports that its kernel was spared. A computer that is slower than the one on which the bounds were
    set has as much more.
    """
    seconds, root = min(clock, processor) + imports, BOOK.parent
    note = root / "_build" / "pages" / "run" / f"{page}.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps({"seconds": round(seconds, 2), "megabytes": round(megabytes)}), "utf8")
    bound = toc.toc_file(root).exists() and toc.chapter(page) in pages.indexed(root)
    kind = pages.kind(page) if bound else ""
    found = rules.run_breaches(kind, seconds, megabytes) if bound else []
    return [f"{page}: {one}" for one in (rules.run_breaches(kind, seconds / slower(), megabytes) if found else [])]


class FreshNotebook(pytest.Item):
    """The test behind the last cell: the stored notebook is the one that this run would write."""

    recorder: Recorder

    def __init__(self, *, recorder: Recorder, **given: object) -> None:
        super().__init__(**given)
        self.recorder = recorder
        self.obj = SimpleNamespace(__globals__={})  # as nbval's own cells have, for pytest's skipping

    def runtest(self) -> None:
        """Compare."""
        page = toc.page(self.path)
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("BOOK_REPOSITORY", raising=False)  # the stored notebooks do not have it either
            stored = nbformat.read(self.path, as_version=4)
            fresh = self.recorder.executed(BOOK / f"{page}.md", stored)
        found = notebook_problems(stored, fresh)
        found = [f"{page}.ipynb is not what a run gives: `make notebooks NAME={page}`.", *found] if found else []
        clock = self.recorder.ended - self.recorder.began
        found += run_problems(page, clock, *usage(self.parent.kernel), self.config.stash[IMPORTS])
        if found:
            raise AssertionError("\n".join(found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo) -> str:
        """Show the findings without a traceback."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the page in reports."""
        return self.path, 0, f"{toc.page(self.path)}: {NAME}"


def pytest_configure(config: pytest.Config) -> None:
    """Start kernels as copies of one process, which spares each notebook the import of torch."""
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    config.stash[IMPORTS] = stack.enter_context(warm_kernels.started())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Listen to the kernel of every notebook, and put a test behind its last cell."""
    items[:] = _with_comparisons(items)


def _with_comparisons(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    for item, following in zip(items, [*items[1:], None], strict=True):
        yield item
        file = item.parent
        if isinstance(file, IPyNbFile) and (following is None or following.parent is not file):
            recorder = Recorder(file.nb)
            file.sanitize_patterns.update(OF_A_PLOT)
            file.get_kernel_message = recorder.listen(file.get_kernel_message)
            yield FreshNotebook.from_parent(file, name=NAME, recorder=recorder)
