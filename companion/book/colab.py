"""The one text of the first code cell of every notebook: on Colab it installs the package, elsewhere it does nothing.

``make notebooks`` puts the cell into each notebook. The repository's address is in one place, ``[project.urls]`` in
pyproject.toml; the variable BOOK_REPOSITORY overrides it.
"""

import os
import tomllib

from companion.book import toc

# What the package needs and Colab does not bring; pip is told to install these and nothing else (--no-deps), because
# another torch would not fit Colab's CUDA, and Colab's page speaks to its own older ipywidgets.
MISSING_ON_COLAB = ("jaxtyping>=0.3", "wadler-lindig", "anywidget>=0.9.13", "psygnal")
ON_COLAB = (
    *("torch", "numpy", "matplotlib", "PyYAML", "ipywidgets", "typing-extensions"),
    *("tqdm", "tokenizers", "safetensors", "jsonschema"),
)

_INSTALL = """\
import importlib.util
import subprocess
import sys

if "google.colab" in sys.modules and importlib.util.find_spec("companion") is None:
    # On Colab: install the package, and leave the torch and numpy that are there alone.
    package = "git+{address}"
    small = {small}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, package, *small], check=True)
    importlib.invalidate_caches()
"""

_UPLOADED = """\
import importlib.util
import subprocess
import sys
from pathlib import Path

if "google.colab" in sys.modules and importlib.util.find_spec("companion") is None:
    book = "transformers-tested-project.zip"  # its front page links to it
    if not Path(book).exists():
        raise FileNotFoundError(f"Upload {{book}}, then run this cell again.")
    small = {small}
    subprocess.run(["pip", "install", "-q", "--no-deps", book, *small], check=True)
    importlib.invalidate_caches()
"""


def repository() -> str | None:
    """Return the repository's address, or None while nobody has said it."""
    given = os.environ.get("BOOK_REPOSITORY", "").strip()
    if not given:
        project = tomllib.loads((toc.CHECKOUT / "pyproject.toml").read_text("utf-8"))
        given = project["project"].get("urls", {}).get("Repository", "").strip()
    return given or None


def colab_cell(repository: str | None) -> str:
    """Return the text of the cell.

    Args:
        repository: ``owner/name`` on GitHub or a full https address; None while the address is not fixed.
    """
    small = "[" + ", ".join(f'"{name}"' for name in MISSING_ON_COLAB) + "]"
    if repository is None:
        return _UPLOADED.format(small=small)
    address = repository if "://" in repository else f"https://github.com/{repository}"
    return _INSTALL.format(address=address.rstrip("/"), small=small)
