"""Write the weights of the chapters to ``_static/weights/``; no page loads one before its reader asks for it."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from companion.book import weights


def on_updated(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the scripts of a site, beside those of the explorers that open them."""
    if app.builder.format == "html":
        weights.write(Path(app.outdir, "_static"))


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.connect("env-updated", on_updated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
