"""What the links of a page lead to, in a few words: shown beside a link on hover, focus and tap (``js/previews.js``).

Terms, questions, exercises and claims are read as the search reads them, with the indices and powers of their formulas
below and above the line; equations are shown as they were set. A citation needs nothing: its link has the entry as its
title. A page's previews are a script of its own, ``_static/previews/PAGE.js``, which is loaded when one is first
wanted.
"""

import json
import posixpath
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from companion.book.site import mathjax, search

FOLDER = "_static/previews"
KINDS = ("term", "question", "exercise", "claim")
_EQUATION = "equation-"
_OPEN, _CLOSE = "\ue000\ue001"  # around a formula, where an underscore is no part of a name


class Marked(search.Words):
    """Reads the text of nodes with a sign before and behind each formula."""

    def _formula(self, node: nodes.math | nodes.math_block) -> str:
        return f"{_OPEN}{super()._formula(node)}{_CLOSE}"


def as_html(text: str) -> str:
    """Write marked text as HTML: of its formulas, ``x_(i + 1)`` and ``e^x``, the indices and powers are set.

    Elsewhere a power in brackets is, as in the words of a claim, which has no other markup: no name of code has one.
    """
    plain = re.sub(r"\^\(([^()]*)\)", r"<sup>\1</sup>", escape(text))
    return re.sub(f"{_OPEN}(.*?)(?:{_CLOSE}|$)", lambda found: _set(found[1]), plain)


def _set(line: str) -> str:
    found = re.search(r"([_^])(?:\(|([^\W_⁰¹²³⁴-⁹ⁿᵀ]+))", line)
    if not found:
        return line.replace("\u2063", "")
    start, end, inner = found.start(), found.end(), found[2]
    if inner is None:
        depth = 1
        while depth and end < len(line):
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        inner = line[found.end() : end - (not depth)]
    tag = "sub" if found[1] == "_" else "sup"
    return f"{_set(line[:start])}<{tag}>{_set(inner)}</{tag}>{_set(line[end:])}"


def target(docname: str, address: str) -> tuple[str, str]:
    """Name the page and the anchor that an address within the site leads to; two empty texts for any other."""
    path, _, anchor = address.partition("#")
    if ":" in path or not anchor:
        return "", ""
    page = posixpath.normpath(posixpath.join(posixpath.dirname(docname), path)).removesuffix(".html")
    return (page if path else docname), anchor


class Previews:
    """Collects links and places while pages are resolved, and writes a script a page."""

    def __init__(self) -> None:
        self.links: dict[str, list[str]] = {}
        self.equations: dict[tuple[str, str], nodes.math_block] = {}
        self.words: Marked | None = None
        self.places: dict[tuple[str, str], tuple[str, str]] = {}

    def collect(self, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Read the links of a page and what others may lead to."""
        if app.builder.format != "html":
            return
        found = doctree.findall(nodes.reference)
        self.links[docname] = sorted({link.get("refuri") or f"#{link.get('refid', '')}" for link in found})
        for block in doctree.findall(nodes.math_block):
            self.equations |= {(docname, name): block for name in block.get("ids", ()) if name.startswith(_EQUATION)}
        self.words = self.words or Marked(mathjax.formulas_of(app))
        for kind, node in search.places(doctree):
            if kind in KINDS and not search.in_index(node):
                title, text = search.read(kind, node, self.words)
                if "verdict" in node:  # a claim begins with what is said, which may be wrong
                    title += f": {node['verdict'].replace('-', ' ')}"
                shown = search.shortened(text)[0]
                self.places[docname, search.anchor(kind, node)] = title, shown
                if kind == "term":
                    self.places |= {(docname, name): (title, shown) for one in node[:-1] for name in one.get("ids", ())}

    def write(self, app: Sphinx) -> Iterator[tuple[str, dict, str]]:
        """Write the scripts, when all pages are there."""
        if app.builder.format == "html":
            formulas = mathjax.formulas_of(app)
            for docname in sorted(self.links):
                found = {address: self.html(target(docname, address), formulas) for address in self.links[docname]}
                found = {address: html for address, html in found.items() if html}
                path = Path(app.outdir, FOLDER, f"{docname}.js")
                path.parent.mkdir(parents=True, exist_ok=True)
                data = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
                path.write_text(f"window.bookPreviews = {data};\n", "utf8")
        return iter(())

    def html(self, place: tuple[str, str], formulas: dict[tuple[str, bool], str]) -> str:
        """Write the preview of a place, or an empty text where it has none."""
        if place in self.equations:
            return formulas[mathjax.formula(self.equations[place])]
        if place in self.places:
            title, text = self.places[place]
            return f"<strong>{as_html(title)}</strong> {as_html(text)}"
        return ""


def setup(app: Sphinx) -> dict[str, object]:
    """Register the steps."""
    app.setup_extension("companion.book.site.search")
    previews = Previews()
    app.connect("doctree-resolved", previews.collect, priority=950)
    app.connect("html-collect-pages", previews.write, priority=950)  # the search has read what an earlier build wrote
    app.add_js_file("js/previews.js", loading_method="defer")
    app.add_css_file("css/previews.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
