"""The directives ``{chapter-pages}`` and ``{chapters}``, and the way on from a chapter's last core page.

The pages of a chapter: first the path, in order and with the sum of its minutes; then what may be left out; then what
there is to practise and to look up; then the page that holds the whole chapter. That directive stands on the chapter's
page ``index``, which it does not list. The chapters of a part of the book are listed with the minutes of their core
pages. At the foot of the last core page, *next* leads to the next chapter, past the pages that may be left out, and
*previous* leads back the same way.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from companion.book import pages, toc
from companion.book.site import whole_chapter
from companion.book.site.html import element, parse

BESIDE = {
    "questions": "from basic to hard, with folded answers",
    "exercises": "with a checker, hints and solutions",
    "claims": "a verdict on each statement, and its evidence",
}
"""What the pages are that are worked through."""
_LONGER = "to read; trying the figures and working the examples takes longer"
PATH = ("index", "core")
"""The kinds of pages that a reader of a chapter does not leave out."""


def chapter_pages(env: BuildEnvironment, chapter: str) -> list[pages.Page]:
    """Read the pages of a chapter for the page being read, which is read again when they change."""
    root = Path(env.srcdir)
    names = pages.chapter_pages(chapter, root)
    for path in (toc.toc_file(root), *(pages.page_file(name, root) for name in names)):
        env.note_dependency(str(path))
    return [pages.read_page(name, root) for name in names]


class ChapterPages(SphinxDirective):
    """The directive ``{chapter-pages}``, without options or content."""

    def run(self) -> list[nodes.Node]:
        """Return the lists."""
        chapter = toc.chapter(self.env.docname)
        found = chapter_pages(self.env, chapter)
        core, deeper = ([page for page in found if page.kind == kind] for kind in ("core", "deeper"))
        lines = [f"1. {_link(page)}, {page.minutes} min" for page in core]
        if core:
            path = [page for page in found if page.kind in PATH]
            sum_of_path = sum(page.minutes for page in path)
            lines += ["", f"With this page, the path takes about {sum_of_path} minutes {_LONGER}.", ""]
        if deeper:
            lines += ["To go deeper; no later page needs these:", ""]
            lines += [f"- {_link(page)}, {page.minutes} min" for page in deeper]
        lines += ["", "Beside the path:", ""] * any(page.kind in BESIDE for page in found)
        lines += [f"- {_link(page)}: {BESIDE[page.kind]}" for page in found if page.kind in BESIDE]
        way = [_to_whole()] * bool(core or deeper)
        return [element("div", "chapter-pages", *parse(self, lines), *way)]


class Chapters(SphinxDirective):
    """The directive ``{chapters} CAPTION``: the chapters of a part of the book."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        root = Path(self.env.srcdir)
        names = dict.fromkeys(map(toc.chapter, toc.files(root, self.arguments[0])))
        if not names:
            raise self.error(f"a part of the book has a caption in _toc.yml: got {self.arguments[0]!r}.")
        lines, total = [], 0
        for name in names:
            core = [page for page in chapter_pages(self.env, name) if page.kind in PATH]
            minutes = sum(page.minutes for page in core)
            total += minutes
            lines.append(f"1. {_link(core[0])}, {minutes} min")
        lines += ["", f"All core pages together take about {round(total / 60)} hours {_LONGER}."]
        return [element("div", "chapters", *parse(self, lines))]


def _to_whole() -> nodes.paragraph:
    link = nodes.reference("", "The whole chapter on one page", refuri=f"{whole_chapter.PAGE}.html", internal=True)
    words = nodes.Text(", to print, or to read in one go")
    return nodes.paragraph("", "", link, words, classes=["to-whole-chapter"])


def _link(page: pages.Page) -> str:
    return f"{{doc}}`/book/{page.name}`"


def lead_past(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Let *next* on a chapter's last core page, and *previous* on its first page, pass over what may be left out."""
    listed = [str(Path(name).with_suffix("")) for name in toc.files(Path(app.srcdir))]
    if pagename not in listed:
        return
    place, kind = listed.index(pagename), pages.kind(toc.page(pagename))
    after, before = listed[place + 1 :], listed[:place]
    if kind == "core" and after and pages.kind(toc.page(after[0])) != "core":
        chapter = toc.chapter(pagename)
        _lead(app, context, "next", pagename, [name for name in after if toc.chapter(name) != chapter][:1])
    if kind == "index" and before and pages.kind(toc.page(before[-1])) not in PATH:
        chapter = toc.chapter(before[-1])
        path = [name for name in before if toc.chapter(name) == chapter and pages.kind(toc.page(name)) in PATH]
        _lead(app, context, "prev", pagename, path[-1:])


def _lead(app: Sphinx, context: dict, way: str, pagename: str, to: list[str]) -> None:
    for name in to if context.get(way) else []:
        title = app.builder.render_partial(app.env.titles[name])["title"]
        context[way] = {"link": app.builder.get_relative_uri(pagename, name), "title": title}


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives, and the way on."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("chapter-pages", ChapterPages)
    app.add_directive("chapters", Chapters)
    app.connect("html-page-context", lead_past)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
