"""A chapter on one page, to be printed or read in one go: ``whole-chapter`` in its folder.

It holds the pages that are read, from the chapter's own page to the last that may be left out, as they are. The ids of
a page get its name in front, so that none is there twice, links within the chapter stay on this page, and below the
chapter's heading all others are a level lower. The list of a chapter's pages leads to it; the sidebar, the search and
the sitemap, which lead to the pages themselves, do not.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from companion.book import pages, toc
from companion.book.site import previews
from companion.book.site.html import files_for
from companion.book.site.sharing import paper

PAGE = "whole-chapter"
SAID = '<p class="d-print-none">This is the whole chapter on one page. To print it, use your browser’s command.</p>'
_ARIA = tuple(f"aria-{name}" for name in ("controls", "describedby", "details", "labelledby", "owns"))
NAMED = ("id", "name", "for", "data-model", *_ARIA)
"""The attributes that hold ids of the page, or names that are to differ from page to page."""
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_NAMED = re.compile(rf'(\s(?:{"|".join(NAMED)})=")([^"]*)"')
_HREF = re.compile(r'((?:\s|:)href=")(?:([\w-]+)\.html)?(?:#([^"]*))?"')
_URL = re.compile(r"url\(#")
_HEADING = re.compile(r"(?<=[</]h)[1-5]\b")


def lower(body: str) -> str:
    """Put every heading a level lower.

    >>> lower("<h1>Masks</h1><h2>Rows</h2>")
    '<h2>Masks</h2><h3>Rows</h3>'
    """
    return _HEADING.sub(lambda found: str(int(found[0]) + 1), body)


def moved(body: str, page: str, others: set[str]) -> str:
    """Return the HTML of a page as a part of a page that holds others too.

    Args:
        body: the HTML.
        page: its name within the chapter, which is put before every id.
        others: the names of all pages that are parts.

    >>> moved('<a href="#rows">1</a> <a href="masks.html#rows">2</a> <b id="rows">3</b>', "scale", {"scale", "masks"})
    '<a href="#scale--rows">1</a> <a href="#masks--rows">2</a> <b id="scale--rows">3</b>'
    """

    def name(found: re.Match) -> str:
        return f'{found[1]}{" ".join(f"{page}--{one}" for one in found[2].split())}"'

    def lead(found: re.Match) -> str:
        to, place = found[2] or page, found[3]
        if (found[2] is None and place is None) or to not in others:
            return found[0]
        return f'{found[1]}#{to}--{place}"' if place else f'{found[1]}#{to}"'

    def tag(found: re.Match) -> str:
        return _URL.sub(f"url(#{page}--", _HREF.sub(lead, _NAMED.sub(name, found[0])))

    pieces = _SCRIPT.split(body)  # pages and scripts in turn
    return "".join(piece if odd % 2 else _TAG.sub(tag, piece) for odd, piece in enumerate(pieces))


def _tags(title: str, book: str) -> str:
    """Write the tags of the page's head: it is no page for a search engine."""
    about = f"The pages of the chapter “{title}”, one after the other, to print or to read in one go."
    return "\n    ".join(
        (
            '<meta name="robots" content="noindex"/>',
            f'<meta name="description" content="{about}"/>',
            f'<meta property="og:title" content="{title}, the whole chapter – {book}"/>',
            f"<style>html {{ {paper([book, title], '')} }}</style>",
        )
    )


class Chapters:
    """The pages that are read, as they are written."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}
        self.styles: dict[str, list[str]] = {}

    def keep(self, app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
        """Keep a page, with the style sheets that it asks for."""
        page = toc.page(pagename)
        if doctree is not None and pages.kind(page) in pages.READ:
            self.bodies[page] = context["body"]
            self.styles[page] = [file for file in files_for(doctree) if file.endswith(".css")]

    def write(self, app: Sphinx) -> Iterator[tuple[str, dict, str]]:
        """Put the pages of each chapter together."""
        root = Path(app.srcdir)
        for chapter in pages.indexed(root):
            names = [name for name in pages.chapter_pages(chapter, root) if pages.kind(name) in pages.READ]
            if not self.bodies.keys() >= set(names):
                continue  # a build of some pages leaves what the last build of all has written
            self._write_previews(app, chapter, names)
            title = escape(app.env.titles[f"book/{chapter}/index"].astext())
            context = {
                "title": f"{title}, the whole chapter",
                "body": self._body(names),
                "metatags": _tags(title, app.config.html_title),
                "parents": [{"link": "index.html", "title": title}],
            }
            yield f"book/{chapter}/{PAGE}", context, "page.html"

    def _body(self, names: list[str]) -> str:
        own = {name.rpartition("/")[2]: self.bodies[name] for name in names}
        parts = {name: moved(body, name, set(own)) for name, body in own.items()}
        first = next(iter(parts))
        parts = {name: body if name == first else lower(body) for name, body in parts.items()}
        parts[first] = parts[first].replace("</h1>", f"</h1>\n{SAID}", 1)
        return "\n".join(f'<div class="chapter-part" id="{name}">{body}</div>' for name, body in parts.items())

    @staticmethod
    def _write_previews(app: Sphinx, chapter: str, names: list[str]) -> None:
        """Let a term show here what it shows on its own page."""
        folder, known = Path(app.outdir, previews.FOLDER, "book"), {}
        for script in filter(Path.exists, (folder / f"{name}.js" for name in names)):
            known |= json.loads(script.read_text("utf8").partition(" = ")[2].rstrip(";\n"))
        if known:
            data = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
            (folder / chapter / f"{PAGE}.js").write_text(f"window.bookPreviews = {data};\n", "utf8")

    def load(self, app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
        """Load on such a page the styles of its pages, and the scripts that draw their figures."""
        chapter, _, name = toc.page(pagename).rpartition("/")
        if name != PAGE:
            return
        names = [page for page in self.bodies if toc.chapter(page) == chapter]
        for file in dict.fromkeys(file for page in names for file in self.styles[page]):
            app.add_css_file(file)
        drawn = getattr(app.env, "static_explorers", {})
        scripts = [key for page in names for key in drawn.get(f"book/{page}", ())]
        for key in dict.fromkeys(["mount", *scripts] if scripts else []):
            app.add_js_file(f"light/{key}.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx, after what else changes a page."""
    made = Chapters()
    app.connect("html-page-context", made.keep, priority=950)
    app.connect("html-page-context", made.load)
    app.connect("html-collect-pages", made.write, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
