"""A small book in a folder, built by Sphinx in a process of its own."""

import json
import os
import re
import subprocess
import sys
import time
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
        command = [sys.executable, "-W", "ignore", "-m", "sphinx", "-q", "-n", *options]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "SOURCE_DATE_EPOCH": "1800000000"}
        done = subprocess.run(
            [*command, "-b", builder, ".", f"_build/{builder}"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stderr

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
