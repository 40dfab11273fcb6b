"""Execute the sources of the notebooks, and write the ``.ipynb`` beside each, byte for byte the same on every run.

    python -m companion.book.notebooks [--check | --text] [NAME ...]

A source is a MyST Markdown file in ``book/`` whose front matter has a ``jupytext`` entry. A name is that of a page,
``attention/index``, or of a chapter, ``attention``; without names all sources are executed. ``--check`` writes nothing
and fails where a stored notebook differs from a fresh run. ``--text`` runs nothing and writes new text beside the
stored outputs, where no code has changed. A number that a cell prints by ``glue_number`` is filled in where the text
names it (``companion.book.numbers``).

What a run leaves behind by chance is taken out: cell ids come from the name and the index of the cell, widget ids
from their order of appearance, and timings, kernel details and empty layout values are dropped. Measured numbers and
plots are kept from the stored notebook as long as the source of their cell is the same and the new ones agree with them
within the stored tolerance. Of a cell tagged ``live-lab`` only the text of its output is stored: its controls are dead
without a kernel.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

try:
    import jupytext
    import nbformat
    from jupyter_client.kernelspec import NoSuchKernel
    from jupytext.myst import myst_to_notebook
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbformat import NotebookNode
except ModuleNotFoundError as error:
    sys.exit(f"companion.book.notebooks needs the package {error.name}: run `make notebooks`, which installs it.")

from companion.book import colab, numbers, toc
from companion.book.cases import Result
from companion.book.measured_output import MEASURED, Measured, differences
from companion.book.plot_output import PLOT, seal
from companion.book.plot_output import differences as plot_differences
from companion.book.stable import stable

ROOT = toc.CHECKOUT
TIMEOUT = 300  # seconds a cell
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class ChapterError(Exception):
    """A chapter that does not run; the message names the chapter, the cell and what it raised."""


def is_source(path: Path) -> bool:
    """Tell a notebook's source, which has a ``jupytext`` entry in its front matter, from a plain page."""
    front = _FRONT_MATTER.match(path.read_text("utf8"))
    return bool(front) and re.search(r"^jupytext:", front[1], re.MULTILINE) is not None


def sources(book: Path) -> list[Path]:
    """List the sources of a book: those of its table of contents in its order, then others by name."""
    found = [path for path in sorted(book.rglob("*.md")) if is_source(path)]
    order = toc.notebooks(book.parent) if (book.parent / "_toc.yml").exists() else []
    places = {path.with_suffix(".md"): place for place, path in enumerate(order)}
    return sorted(found, key=lambda path: places.get(path, len(places)))


def read_source(source: Path) -> NotebookNode:
    """Read a source as a notebook without outputs, its first code cell replaced by the Colab cell."""
    notebook = jupytext.reads(source.read_text("utf8"), fmt="md:myst")
    first = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    if first is not None:
        first.source = colab.colab_cell(colab.repository()).rstrip("\n")
    return notebook


def fill_numbers(notebook: NotebookNode, executed: NotebookNode, name: str) -> NotebookNode:
    """Put the numbers that an executed notebook printed into the text of a notebook, in place; returns it.

    Raises:
        ChapterError: the text names a number that no cell prints, or a cell prints one that no text names.
    """
    try:
        printed, measured = numbers.printed_numbers(executed.cells), numbers.measured_numbers(executed.cells)
        numbers.fill(notebook.cells, printed, measured)
    except ValueError as error:
        raise ChapterError(f"{name}: {error}") from None
    return notebook


def execute(notebook: NotebookNode, source: Path) -> NotebookNode:
    """Run every cell in the source's folder, in a fresh kernel that imports this checkout of the package.

    Raises:
        ChapterError: a cell raises, runs too long, or ends the kernel.
    """
    now = {"cell": 0}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(paths),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # whatever the caller's is: figures are outputs
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        record_timing=False,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # ipykernel 7 warns on every start that it uses TCP
        resources={"metadata": {"path": str(source.parent)}},
        on_cell_execute=lambda cell, cell_index: now.update(cell=cell_index),
    )
    try:
        client.execute(env=environment)
    except CellExecutionError as error:
        what = f"raised {error.ename}: {error.evalue}\n\n{_ANSI.sub('', error.traceback).strip()}"
    except CellTimeoutError:
        what = f"ran longer than {TIMEOUT} s. Make it smaller, or measure it in a script."
    except DeadKernelError:
        what = "ended the kernel (out of memory?)."
    except NoSuchKernel:
        raise ChapterError(
            f"{toc.page(source)}: no Jupyter kernel python3. Install ipykernel: `make notebooks`."
        ) from None
    else:
        return notebook
    raise ChapterError(f"{toc.page(source)}: {_place(source, now['cell'])} {what}") from None


def _place(source: Path, index: int) -> str:
    """Name a cell by its number among all cells and the line of the source where it starts."""
    notebook = myst_to_notebook(source.read_text("utf8"), add_source_map=True)
    line = notebook.metadata.get("source_map", [])[index : index + 1]
    where = f" ({source.name}, line {line[0]})" if line else ""
    return f"cell {index}{where}"


def keep_measured(notebook: NotebookNode, stored: NotebookNode | None) -> NotebookNode:
    """Put stored measured numbers and plots in place of those that agree with them, in cells of the same source.

    A plot of the very same data is the new one, whose style may have changed.
    """
    known: dict[str, list[NotebookNode]] = {}
    for cell in stored.cells if stored else []:
        known.setdefault(cell.source, []).append(cell)
    for cell in notebook.cells:
        twin = known[cell.source].pop(0) if known.get(cell.source) else {}
        for old, new in zip(twin.get("outputs", []), cell.get("outputs", []), strict=False):
            was, now = (output.get("data", {}).get(MEASURED) for output in (old, new))
            if was and now and not differences(was, now):
                shown = Result.read(was) if "claim" in was else Measured(was)
                new.data = nbformat.from_dict(shown.bundle())
            before, after = (output.get("metadata", {}).get(PLOT, {}) for output in (old, new))
            if before and after and before.get("axes") != after.get("axes") and not plot_differences(before, after):
                new.data, new.metadata = old.data, old.metadata
    return notebook


def run(source: Path) -> NotebookNode:
    """Read and execute one source; the stored notebook is not looked at."""
    return execute(read_source(source), source)


def reword(source: Path) -> NotebookNode:
    """Read one source with the outputs that are stored for its code; the Colab cell, which is first, may be another.

    Raises:
        ChapterError: its code is not that of the stored notebook, or there is none.
    """
    notebook, stored = read_source(source), stored_notebook(source)
    own, other = ([cell for cell in one.cells if cell.cell_type == "code"] if one else [] for one in (notebook, stored))
    if stored is None or [cell.source for cell in own[1:]] != [cell.source for cell in other[1:]]:
        name = toc.page(source)
        raise ChapterError(f"{name}: its code has changed, so it must run. Run `make notebooks NAME={name}`.")
    for cell, ran in zip(own, other, strict=True):
        cell.update(outputs=ran.outputs, execution_count=ran.execution_count)
    notebook.metadata = stored.metadata
    return notebook


def finish(executed: NotebookNode, source: Path, stored: NotebookNode | None) -> NotebookNode:
    """Clean an executed source, keep the measured numbers that are stored, and fill its numbers into its text."""
    name = toc.page(source)
    cleaned = stable(executed, name)
    for output in (output for cell in cleaned.cells for output in cell.get("outputs", [])):
        seal(output)
    notebook = keep_measured(cleaned, stored)
    return fill_numbers(notebook, notebook, name)


def to_text(notebook: NotebookNode) -> str:
    """Write a notebook as it is stored: checked against the format, with one newline at the end."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def stored_notebook(source: Path) -> NotebookNode | None:
    """Read the notebook that lies beside a source, if there is one."""
    path = source.with_suffix(".ipynb")
    return nbformat.reads(path.read_text("utf8"), as_version=4) if path.exists() else None


def first_difference(stored: NotebookNode, fresh: NotebookNode) -> str:
    """Say where two notebooks differ: the first cell, or else the metadata."""
    for index, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=False)):
        for part in ("cell_type", "source", "execution_count", "outputs", "metadata", "id"):
            if json.dumps(old.get(part), sort_keys=True) != json.dumps(new.get(part), sort_keys=True):
                return f"cell {index} ({new['id']}) differs in its {part}"
    if len(stored.cells) != len(fresh.cells):
        return f"it has {len(stored.cells)} cells, a fresh run has {len(fresh.cells)}"
    keys = [key for key in {**stored.metadata, **fresh.metadata} if stored.metadata.get(key) != fresh.metadata.get(key)]
    return f"it differs in its metadata {', '.join(sorted(keys))}" if keys else "it differs in its formatting"


def moved_numbers(stored: NotebookNode | None, fresh: NotebookNode) -> list[str]:
    """Name the numbers that differ from the stored ones though their cell does not: it reads what another cell sets."""
    same = {cell.source for cell in stored.cells} if stored else set()
    before, after = (
        numbers.printed_numbers(cell for cell in notebook.cells if cell.source in same)
        for notebook in (stored or fresh, fresh)
    )
    return [name for name, number in after.items() if before.get(name, number) != number]


def make(source: Path, *, check: bool = False, text: bool = False) -> str:
    """Execute one source and write its notebook, or compare it with the stored one, or write its new text only.

    Returns:
        Some words for the progress line.

    Raises:
        ChapterError: a cell fails, ``check`` finds a difference, or code has changed where ``text`` alone is written.
    """
    stored = stored_notebook(source)
    fresh = finish(reword(source) if text else run(source), source, stored)
    made = to_text(fresh).encode("utf8")
    target = source.with_suffix(".ipynb")
    if stored is not None and target.read_bytes() == made:
        return "unchanged"
    if check:
        if stored is None:
            raise ChapterError(
                f"{toc.page(source)}: there is no {target.name}. Run `make notebooks NAME={toc.page(source)}`."
            )
        difference = first_difference(stored, fresh)
        raise ChapterError(
            f"{toc.page(source)}: {target.name} is not what a fresh run gives: {difference}. "
            f"Run `make notebooks NAME={toc.page(source)}`."
        )
    partial = target.with_suffix(".part")
    partial.write_bytes(made)
    partial.replace(target)
    moved = moved_numbers(stored, fresh)
    return f"written; numbers of unchanged cells differ: {', '.join(moved)}" if moved else "written"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="pages or chapters (default: all)")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--check", action="store_true", help="write nothing, fail where a notebook is not fresh")
    ways.add_argument("--text", action="store_true", help="run nothing, write the text of pages whose code is the same")
    parser.add_argument("--book", type=Path, default=ROOT / "book", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    known = {toc.page(path): path for path in sources(options.book.resolve())}
    chosen = [page for page in known if not options.names or {page, toc.chapter(page)} & set(options.names)]
    unknown = [name for name in options.names if not any(name in (page, toc.chapter(page)) for page in known)]
    if unknown:
        print(f"no source for {', '.join(unknown)}: the pages are {', '.join(known) or 'none yet'}", file=sys.stderr)
        return 1
    failed = 0
    for name in chosen:
        start = time.perf_counter()
        try:
            word = make(known[name], check=options.check, text=options.text)
        except ChapterError as error:
            failed += 1
            print(f"\n{error}\n", file=sys.stderr)
            word = "failed, nothing written"
        print(f"{name:32} {word}, {time.perf_counter() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
