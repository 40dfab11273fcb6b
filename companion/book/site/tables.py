"""Mark the tables that a phone shows as lists: each cell of theirs carries the heading of its column.

The style sheet ``css/tables.css`` does the rest. A table of prose has a line for each cell. A table of short words or
numbers stays a table, and scrolls, unless it has the class ``stacked``, with a line for each cell, or ``listed``, with
the cells of a row one behind the other, as those have that a cell computed and that are too wide.
"""

import re
from html import escape, unescape

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

CLASS = "prose-table"
LISTED = "listed"
ASKED = {"stacked", LISTED}  # the classes by which a page asks for it where the cells are shorter
COLUMNS = 3  # a table of fewer fits
LONG = 24  # characters: a row of cells as long as this on average does not fit on a phone
WIDE = 49  # characters: a computed row of so many does not either, and each column takes as much as one and a half more
_COMPUTED = re.compile(r'<table class="(measured[^"]*)">(.*?)</table>', re.DOTALL)
_ROW, _CELL = re.compile(r"<tr>(.*?)</tr>", re.DOTALL), re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.DOTALL)


def rows(part: nodes.Element | None) -> list[list[nodes.entry]]:
    """List the cells of a head or a body, row by row."""
    return [[*row.findall(nodes.entry)] for row in part.findall(nodes.row)] if part else []


def words(heading: nodes.entry) -> str:
    """Return the words of a heading; a citation, which at this time is only its key, is left out."""
    bare = heading.deepcopy()
    for citation in [ref for ref in bare.findall(pending_xref) if ref.get("refdomain") == "cite"]:
        citation.parent.remove(citation)
    return " ".join(bare.astext().split())


def is_prose(head: list[list[nodes.entry]], body: list[list[nodes.entry]], long: int = LONG) -> bool:
    """Tell whether a table of one line of headings, without joined cells, has cells too long for a phone."""
    if len(head) != 1 or len(head[0]) < COLUMNS or not body:
        return False
    if any(cell.next_node(nodes.math) for cell in head[0]):  # no attribute can show a formula
        return False
    cells = [cell for row in body for cell in row]
    joined = any("morerows" in cell or "morecols" in cell for cell in [*head[0], *cells])
    return not joined and sum(len(cell.astext()) for cell in cells) >= long * len(cells)


def width(head: list[str], body: list[list[str]]) -> float:
    """Estimate how many characters wide a computed table is: headings and names of rows may break, numbers do not."""
    wraps = [[name, *(row[0] for row in body)] if not place else [name] for place, name in enumerate(head)]
    words = (max(map(len, re.split(r"[\s-]", " ".join(cells)))) for cells in wraps)
    numbers = (max((len(row[place]) for row in body if place), default=0) for place in range(len(head)))
    return sum(map(max, words, numbers)) + 1.5 * len(head)


def listed(html: str) -> str:
    """Mark the computed tables in the HTML of an output that are too wide for a phone, and label their cells."""

    def mark(found: re.Match) -> str:
        rows = [[unescape(cell[2]) for cell in _CELL.findall(row)] for row in _ROW.findall(found[2])]
        if "<thead>" not in found[2] or width(rows[0], rows[1:]) <= WIDE:
            return found[0]
        heads, body = found[2].split("</thead>")
        labels = iter([escape(label) for label in rows[0]] * len(rows[1:]))
        body = _CELL.sub(lambda cell: f'<{cell[1]}{cell[2]} data-label="{next(labels)}">{cell[3]}</{cell[1]}>', body)
        return f'<table class="{found[1]} {CLASS} {LISTED}">{heads}</thead>{body}</table>'

    return _COMPUTED.sub(mark, html)


def on_read(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the tables of a page, and label their cells."""
    for table in doctree.findall(nodes.table):
        head, body = (rows(table.next_node(part)) for part in (nodes.thead, nodes.tbody))
        if is_prose(head, body, 0 if ASKED & set(table["classes"]) else LONG):
            table["classes"].append(CLASS)
            for row in body:
                for heading, cell in zip(head[0], row, strict=True):
                    cell["heading"] = words(heading)
    for output in [node for node in doctree.findall(nodes.raw) if node.get("format") == "html"]:
        if _COMPUTED.search(output.astext()):
            output.children = [nodes.Text(listed(output.astext()))]


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
