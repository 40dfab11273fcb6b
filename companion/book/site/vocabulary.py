"""Writes ``_static/js/vocabulary.js`` before the pages are written: each page holds the checksum of the script."""

from pathlib import Path

from sphinx.application import Sphinx

from companion.book.vocabulary import vocabulary_script


def write_script(app: Sphinx) -> None:
    """Write the script where the pages look for it."""
    if app.builder.format == "html":
        script = Path(app.outdir, "_static", "js", "vocabulary.js")
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(vocabulary_script(), "utf8")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the step."""
    app.connect("builder-inited", write_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
