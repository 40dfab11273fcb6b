"""Show drawn pictures on the site: their style sheet once, and their parts as links to the pages that they name.

A cell leaves a picture with its own style sheet and with the words that stand in for it; here only its two layouts are
kept. On a page without cells, ``{picture} PAGE NAME`` shows one of another page. A part names a page without the
folder of the book, ``attention/masks``: in a notebook it is no link, and on the site it is one if the page exists.

A drawing that somebody saves as a file is without the style sheet of the page. So each holds the light colours itself,
in rules for ``svg:root``: they apply where the drawing is the whole document, and nowhere on a page.
"""

import functools
import json
import re
from pathlib import Path

import tinycss2
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from companion.book import toc

SHEET = toc.CHECKOUT / "companion" / "pictures" / "picture.css"
CLASS = "fig-pair"  # of the element that holds both layouts
_SVG = re.compile(r'<svg [^>]*class="fig .*?</svg>', re.DOTALL)
_PART = re.compile(r'<a data-page="([^"]*)">(.*?)</a>', re.DOTALL)


class Show(SphinxDirective):
    """The directive ``{picture} PAGE NAME``: a picture that a cell of another page shows, by its name."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return the picture as that cell left it."""
        try:
            return show(self.env, *self.arguments)
        except ValueError as error:
            raise self.error(str(error)) from None


def show(env: BuildEnvironment, page: str, name: str) -> list[nodes.Node]:
    """Make a picture as a cell of a page left it.

    Raises:
        ValueError: the page has no cells, or shows no such picture.
    """
    path = notebook(env, page)
    env.note_dependency(str(path))
    html = stored(path, name)
    if not html:
        raise ValueError(f"{{picture}} names a page with cells and a picture on it: got {page} and {name}.")
    return [nodes.figure("", nodes.raw("", html, format="html"))]


def notebook(env: BuildEnvironment, page: str) -> Path:
    """Return the file with the cells of a page."""
    return Path(env.srcdir) / "book" / f"{page}.ipynb"


def stored(path: Path, name: str) -> str:
    """Return a picture as a cell of a notebook left it, or an empty text."""
    for cell in json.loads(path.read_text("utf8"))["cells"] if path.exists() else ():
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ()))
            if html.startswith(f'<div class="{CLASS}">') and f'aria-labelledby="{name}-t"' in html:
                return html
    return ""


@functools.cache
def style_alone() -> str:
    """Return the rules of the style sheet for what a drawing shows in light colours, as an element of the drawing."""
    rules = []
    for rule in tinycss2.parse_stylesheet(SHEET.read_text("utf8"), skip_comments=True, skip_whitespace=True):
        selector = tinycss2.serialize(rule.prelude).strip()
        if rule.type == "qualified-rule" and re.fullmatch(r"\.fig( text|( \.f-[\w.-]+,?\s*(\.fig)?)+)?", selector):
            body = re.sub(r"\s*([:;,])\s*", r"\1", " ".join(tinycss2.serialize(rule.content).split()))
            rules.append(f"{re.sub(r'[.]fig(?![-])', 'svg:root', ' '.join(selector.split()))}{{{body.rstrip(';')}}}")
    return f"<style>{''.join(rules)}</style>"


def on_resolved(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep of every picture of a page its drawings, and link their parts."""
    if app.builder.format != "html":
        return

    def link(part: re.Match) -> str:
        page = f"book/{part[1]}"
        if page == docname or page not in app.env.found_docs:
            return part[2]
        return f'<a href="{app.builder.get_relative_uri(docname, page)}">{part[2]}</a>'

    for output in doctree.findall(nodes.raw):
        if output.get("format") != "html" or not output.astext().startswith(f'<div class="{CLASS}">'):
            continue
        drawn = [_PART.sub(link, svg) for svg in _SVG.findall(output.astext())]
        # Inside an image no link can be reached: a drawing with links is a group.
        drawn = [svg.replace('role="img"', 'role="group"', 1) if "<a href" in svg else svg for svg in drawn]
        if docname != app.config.root_doc:  # which must be light
            drawn = [svg.removesuffix("</svg>") + style_alone() + "</svg>" for svg in drawn]
        output.children = [nodes.Text("".join(drawn))]
        output["classes"].append(CLASS)


def add_sheet(app: Sphinx, config: Config) -> None:
    """Let Sphinx copy the style sheet; ``html.FILES`` names the pages that load it."""
    config.html_static_path.append(str(SHEET))


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("picture", Show)
    app.connect("config-inited", add_sheet)
    app.connect("doctree-resolved", on_resolved)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
