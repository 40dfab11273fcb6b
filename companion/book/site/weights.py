"""Write the weights of the chapters to ``_static/weights/``; no page loads one before its reader asks for it.

``{model-size}`translator``` says how much a page loads for a file of weights, as the button of its figure does.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from companion.book import toc, weights


class ModelSize(SphinxRole):
    """The role ``{model-size}``, of the name of a file of weights."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the size, or say that no chapter has such a file."""
        folders = toc.chapter_files(weights.FOLDER, Path(self.env.srcdir)).values()
        paths = [path for folder in folders for path in folder.glob(f"{self.text}.safetensors")]
        if len(paths) != 1:
            words = f"{{model-size}} names one file of weights of the chapters: got {self.text}, which is {len(paths)}."
            return [], [self.inliner.reporter.error(words, line=self.lineno)]
        self.env.note_dependency(str(paths[0]))
        return [nodes.Text(weights.size(paths[0].read_bytes()))], []


def on_updated(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the scripts of a site, beside those of the explorers that open them."""
    if app.builder.format == "html":
        weights.write(Path(app.outdir, "_static"))


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.add_role("model-size", ModelSize())
    app.connect("env-updated", on_updated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
