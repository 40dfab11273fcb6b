"""Mark the tables of prose, which a phone shows as lists: each cell of theirs carries the heading of its column.

The style sheet ``css/tables.css`` does the rest. A table of short words or numbers stays a table, and scrolls, unless
it has the class ``stacked``.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

CLASS = "prose-table"
ASKED = "stacked"  # a class by which a page asks for it where the cells are shorter
COLUMNS = 3  # a table of fewer fits
LONG = 24  # characters: a row of cells as long as this on average does not fit on a phone


def rows(part: nodes.Element | None) -> list[list[nodes.entry]]:
    """List the cells of a head or a body, row by row."""
    return [[*row.findall(nodes.entry)] for row in part.findall(nodes.row)] if part else []


def is_prose(head: list[list[nodes.entry]], body: list[list[nodes.entry]], long: int = LONG) -> bool:
    """Tell whether a table of one line of headings, without joined cells, has cells too long for a phone."""
    if len(head) != 1 or len(head[0]) < COLUMNS or not body:
        return False
    if any(cell.next_node(nodes.math) for cell in head[0]):  # no attribute can show a formula
        return False
    cells = [cell for row in body for cell in row]
    joined = any("morerows" in cell or "morecols" in cell for cell in [*head[0], *cells])
    return not joined and sum(len(cell.astext()) for cell in cells) >= long * len(cells)


def on_read(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the tables of a page, and label their cells."""
    for table in doctree.findall(nodes.table):
        head, body = (rows(table.next_node(part)) for part in (nodes.thead, nodes.tbody))
        if is_prose(head, body, 0 if ASKED in table["classes"] else LONG):
            table["classes"].append(CLASS)
            for row in body:
                for heading, cell in zip(head[0], row, strict=True):
                    cell["heading"] = " ".join(heading.astext().split())


def visit_entry(self: HTML5Translator, node: nodes.entry) -> None:
    """Open a cell as ever, with the heading of its column where it has one."""
    HTML5Translator.visit_entry(self, node)
    if node.get("heading"):
        label = self.attval(node["heading"])
        self.body[-1] = self.body[-1].rstrip().removesuffix(">") + f' data-label="{label}">'


def depart_entry(self: HTML5Translator, node: nodes.entry) -> None:
    """Close it."""
    HTML5Translator.depart_entry(self, node)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.add_node(nodes.entry, html=(visit_entry, depart_entry), override=True)
    app.connect("doctree-read", on_read)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
