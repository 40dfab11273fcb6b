"""Exercises on the built page, where no kernel judges: what can be done here takes the place of a verdict.

Under a stub stands how to have one's code checked, in place of "not answered yet"; the call of a hint gives way to the
hint, and a count of what was solved to what would be counted. Under the title stand the level and the time to aim at.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from companion.book.drills import read_drills
from companion.book.model import TIERS
from companion.book.site.live_lab import way_to_a_kernel

HINT = re.compile(r'hint\("[\w-]+"\)')
WORDS = {
    re.compile(r"^check_exercise\((?!.*record=False)", re.MULTILINE): (
        "Think it through, and open the hints one by one. To have your code checked, "
    ),
    re.compile(r"^status\(", re.MULTILINE): "To count what you have solved, ",
}


def part(cell: nodes.Element, name: str) -> nodes.Element | None:
    """Find the input or the output of a cell."""
    return next((box for box in cell.findall(nodes.container) if name in box.get("classes", [])), None)


def say_what_can_be_done(app: Sphinx, doctree: nodes.document) -> None:
    """Change the cells of the exercises of a page."""
    for cell in list(doctree.findall(nodes.container)):
        given = part(cell, "cell_input") if cell.get("nb_element") == "cell_code" else None
        if given is None:
            continue
        source, output = given.astext(), part(cell, "cell_output")
        if HINT.fullmatch(source.strip()):
            cell.remove(given)
        elif words := next((words for call, words in WORDS.items() if call.search(source)), None):
            way = way_to_a_kernel(app.config.html_theme_options, app.env.docname)
            if output is not None:
                cell.remove(output)
            cell += nodes.paragraph("", "", nodes.Text(words), *way, nodes.Text("."), classes=["exercise-way"])


def say_how_long(app: Sphinx, doctree: nodes.document) -> None:
    """Put the level and the minutes of each exercise under its title, unless its text names the minutes of a stage."""
    drills = {}
    for section in list(doctree.findall(nodes.section)):
        name = next((label.removeprefix("exr-") for label in section["ids"] if label.startswith("exr-")), None)
        if name is not None and not re.match(r"Stage \d, ", section[1].astext()):
            drills = drills or {drill.name: drill for drill in read_drills(Path(app.srcdir))}
            text = f"{TIERS[drills[name].tier].capitalize()}, about {drills[name].minutes} minutes."
            section.insert(1, nodes.paragraph("", text, classes=["exercise-about"]))


def setup(app: Sphinx) -> dict[str, object]:
    """Register the changes."""
    app.connect("doctree-read", say_what_can_be_done)
    app.connect("doctree-read", say_how_long)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
