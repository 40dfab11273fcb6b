"""MathJax 3.2.2 from the site itself, so that no page asks another host for it.

The files come from the PyPI package ``sphinx-mathjax-offline``, used as a data package only:
its own Sphinx extension would copy 24 MB, the pages need 2.1 MB of them.
"""

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
ENTRY = "tex-mml-chtml.js"
PARTS = (ENTRY, "input/tex/extensions", "output/chtml/fonts/woff-v2")


def mathjax_folder() -> Path:
    """Return the folder of the installed package that holds MathJax's ``es5`` tree.

    Raises:
        ExtensionError: the package is not installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ExtensionError(f"The package {PACKAGE} is missing: install it (`make book` does).")
    return Path(found.origin).parent / "static" / "mathjax"


def set_path(app: Sphinx, config: Config) -> None:
    """Point Sphinx at the copy below ``_static``."""
    config.mathjax_path = f"mathjax/{ENTRY}"


def copy_files(app: Sphinx, env: BuildEnvironment) -> None:
    """Copy the parts that pages use; files that are there with the same size and time stay."""
    if app.builder.format != "html":
        return
    source, target = mathjax_folder(), Path(app.outdir, "_static", "mathjax")
    for part in PARTS:
        files = [source / part] if (source / part).is_file() else sorted((source / part).rglob("*.*"))
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or copy.stat().st_size != file.stat().st_size:
                shutil.copy2(file, copy)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the two steps."""
    app.connect("config-inited", set_path)
    app.connect("env-updated", copy_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
