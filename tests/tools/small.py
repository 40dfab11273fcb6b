"""A small book in a folder, built by Sphinx in a process of its own."""

import json
import multiprocessing
import os
import re
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
CONFIG = """
extensions = {extensions}
bibtex_bibfiles = ["book/references.bib"]
bibtex_reference_style = "author_year"
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath"]
root_doc = "book/index"
exclude_patterns = ["_build", "companion"]
html_theme = "basic"
suppress_warnings = ["config.cache"]
nitpicky = True
numfig = True
gettext_compact = False
html_static_path = ["book/assets"]
"""
FRONT = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
"""
SOURCE = "@article{who1999what, author = {Who, A.}, title = {What}, journal = {J}, year = {1999}, doi = {10.1000/1}}\n"
# Where the build begins with these imported, it takes a quarter of the time. Nothing of the book may be among them.
WARM = ["myst_nb.sphinx_ext", "sphinx.builders.html", "sphinx.cmd.build", "sphinx.ext.autodoc", "sphinxcontrib.bibtex"]
MOST_SECONDS = 120
SAID = "_build/said.txt"


def notebook(*cells: object) -> str:
    """Write cells, or the texts of Markdown cells, as a notebook."""
    made = [nbformat.v4.new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    for number, cell in enumerate(made):
        cell.id = f"cell-{number}"
    return json.dumps(nbformat.v4.new_notebook(cells=made, metadata={"language_info": {"name": "python"}}))


def contents(*files: str) -> str:
    """Write a table of contents of one part."""
    return "root: book/index\nparts:\n- chapters:\n" + "".join(f"  - file: {name}\n" for name in files)


def plain(html: str) -> str:
    """Return the words of a piece of HTML."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


class SmallBook:
    """A book of a few files, as the book itself has them: texts by their paths; ``site`` names parts of the site."""

    def __init__(self, folder: Path, site: Sequence[str], texts: dict[str, str]) -> None:
        self.folder = folder
        names = ["myst_nb", "sphinxcontrib.bibtex", *(f"companion.book.site.{part}" for part in site)]
        listed = [name for name in texts if name.endswith((".ipynb", ".md")) and name != "book/index.md"]
        self.write("book/assets/.keep", "")
        self.write("conf.py", CONFIG.format(extensions=names))
        self.write("_toc.yml", contents(*listed))
        self.write("book/references.bib", SOURCE)
        for name, text in texts.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """Write a file; a later text than one of a build before it has a later date."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        later = max(path.stat().st_mtime, time.time()) + 10 if path.exists() else None
        path.write_text(text, "utf8")
        if later:
            os.utime(path, (later, later))

    def build(self, *options: str, builder: str = "html") -> tuple[int, str]:
        """Build, and return the exit status with what was said."""
        processes = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
        processes.set_forkserver_preload(WARM)
        arguments = ["-q", "-n", *options, "-b", builder, ".", f"_build/{builder}"]
        process = processes.Process(target=_build, args=(self.folder, arguments, dict(os.environ)))
        process.start()
        process.join(MOST_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"no build of a small book takes {MOST_SECONDS} s")
        return process.exitcode, (self.folder / SAID).read_text("utf8")

    def warnings(self, builder: str = "html") -> list[str]:
        """Build a book that can be built, and return the lines of the warnings."""
        status, said = self.build(builder=builder)
        assert status == 0, said
        return [line for line in said.splitlines() if re.search("WARNING|ERROR", line)]

    def page(self, name: str) -> Path:
        """Name the file of a built page."""
        return self.folder / "_build" / "html" / "book" / f"{name}.html"

    def html(self, name: str) -> str:
        """Read a built page."""
        return self.page(name).read_text("utf8")


def _build(folder: Path, arguments: Sequence[str], variables: dict[str, str]) -> None:
    """Build, as the command does; the process that this function is called in must be of no more use."""
    os.chdir(folder)
    Path(SAID).parent.mkdir(exist_ok=True)
    with Path(SAID).open("w", encoding="utf8") as said:
        os.dup2(said.fileno(), 2)
    os.environ.clear()
    os.environ.update(variables, PYTHONPATH=str(ROOT), NO_COLOR="1", SOURCE_DATE_EPOCH="1800000000")
    warnings.simplefilter("ignore")
    from sphinx.cmd.build import main

    sys.exit(main(arguments))
