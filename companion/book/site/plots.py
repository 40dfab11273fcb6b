"""Put plots into the page: both layouts, of which CSS shows the one that fits, in the colours of the theme.

A cell leaves a plot as SVG with the layout for a phone inside (``companion/plot_svg.py``); MyST-NB writes it to a file
and refers to it by an image, which no theme and no width can change. Here the image gives way to the drawings.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

START = '<svg class="plot '
CLASS = "plot-pair"  # of the element around both


def layouts(svg: str) -> tuple[str, str]:
    """Take a stored plot apart into its layout for a column of text and that for a phone."""
    inner = svg.rindex(START)
    narrow = svg[inner : svg.rindex("</svg>")]
    return svg[:inner] + "</svg>", narrow.replace(' display="none"', "", 1)


def inlined(svg: str, words: str) -> str:
    """Write a stored plot as HTML, one image for a screen reader."""
    return f'<div role="img" aria-label="{escape(words)}">{"".join(layouts(svg))}</div>'


def on_read(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the images of plots, before Sphinx collects what it copies."""
    if app.builder.format != "html":
        return
    for image in list(doctree.findall(nodes.image)):
        if image["uri"].endswith(".svg"):
            path = Path(app.env.relfn2path(image["uri"], app.env.docname)[1])
            svg = path.read_text("utf8") if path.exists() else ""
            if svg.startswith(START):
                words = image.get("alt", "")
                image.replace_self(nodes.raw("", inlined(svg, words), format="html", classes=[CLASS]))


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.setup_extension("companion.book.site.html")
    app.connect("doctree-read", on_read, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
