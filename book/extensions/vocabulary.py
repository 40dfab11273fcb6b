"""The words that pages and scripts share, written for the browser: levels, kinds, tiers, topics and ratings.

A page may not fetch a file when it is opened from a folder, so the words are a script, ``_static/js/vocabulary.js``,
which every page that uses them loads first.
"""

import json
from pathlib import Path

from drills import TIERS
from questions import KINDS, LEVELS, TOPICS
from sphinx.application import Sphinx

RATINGS = ("No answer", "A part of it", "Right, with gaps", "Right and complete")
WEAK = 1  # a rating up to this one is to be repeated
SHARED = ("vocabulary.js", "util.js", "dom.js", "store.js", "practice.js")  # for the scripts of any page, in this order


def vocabulary_script() -> str:
    """Return the script that defines ``vocabulary``."""
    words = {"levels": LEVELS, "kinds": KINDS, "tiers": TIERS, "topics": TOPICS, "ratings": RATINGS, "weak": WEAK}
    return f"const vocabulary = Object.freeze({json.dumps(words, ensure_ascii=False, indent=2)});\n"


def write_script(app: Sphinx) -> None:
    """Write the script where the pages look for it."""
    if app.builder.format == "html":
        script = Path(app.outdir, "_static", "js", "vocabulary.js")
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(vocabulary_script(), "utf8")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the step, before the pages are written: each page holds the checksum of the script."""
    app.connect("builder-inited", write_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
