"""The map of the Transformer: live on the front page and at the head of a chapter, and small in the margin.

The drawing is a picture of the book and is made once. ``companion/chapters/architecture/map.yml`` has the shapes and
the formula of each part, and the parts that a chapter is about. The directive ``{transformer-map}`` shows the map with
a note on each part; the index of a chapter opens with it by itself. There a note has formula and shapes only if an
earlier chapter explains the part. All notes lie in one place, so that the page stays where it is when ``map.js`` shows
another. The small map is drawn from the boxes of the same picture.
"""

import re
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from companion.book import pages, toc
from companion.book.entries import read_once
from companion.book.site import html
from companion.book.site.html import element
from companion.book.site.pictures import notebook, stored

FILE = Path("companion", "chapters", "architecture", "map.yml")
_PART = re.compile(r'<a data-page="([^"]*)"><g data-part="([^"]*)"><title>([^<]*)</title>(.*?)</g></a>', re.DOTALL)
_LINK = re.compile(r'(<a href="[^"]*")>(<g data-part="([^"]*)")><title>([^<]*)</title>')
_RECT = re.compile(r'<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"[^>]*class="f-box')
_ROUND = re.compile(r'<circle cx="([^"]*)" cy="([^"]*)" r="([^"]*)"')
_WIRE = re.compile(r'<path d="([^"]*)" class="f-line')
_NARROW = re.compile(r'<svg [^>]*class="fig fig-narrow".*?</svg>', re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A part of the map: its formula, as statements, and its shapes by what they are shapes of."""

    formula: str
    shapes: dict[str, list[str]]

    @property
    def statements(self) -> list[str]:
        """The parts that a narrow page may put on lines of their own."""
        return [one.strip() for one in re.split(r"\\quad\b", self.formula)]

    @property
    def spoken(self) -> str:
        """The shapes in a line."""
        return ", ".join(f"{what} ({', '.join(sizes)})" for what, sizes in self.shapes.items())


@dataclass(frozen=True)
class Place:
    """Where a chapter or a page lies on the map; ``says`` is the sentence beside it at the head of a chapter."""

    parts: tuple[str, ...]
    says: str = ""


@dataclass(frozen=True)
class Map:
    """What ``map.yml`` says."""

    page: str
    picture: str
    parts: dict[str, Part]
    places: dict[str, Place]

    def place(self, docname: str) -> Place | None:
        """Return where a page lies, else its chapter; None for a chapter that lies on no part."""
        page = toc.page(docname)
        return self.places.get(page) or self.places.get(toc.chapter(page))


@read_once
def read_map(path: Path) -> Map:
    """Read a map.

    Raises:
        ValueError: a place names a part that the map has not.
    """
    told = yaml.safe_load(path.read_text("utf8"))
    parts = {name: Part(part["formula"], part["shapes"]) for name, part in told["parts"].items()}
    places = {name: Place(tuple(place["parts"]), place.get("says", "")) for name, place in told["places"].items()}
    for name, place in places.items():
        if unknown := sorted(set(place.parts) - set(parts)):
            raise ValueError(
                f"{path.name}, {name}: a place names parts of the map: got {', '.join(unknown)}. "
                f"Use {', '.join(parts)}."
            )
    return Map(told["page"], told["picture"], parts, places)


def the_map(env: BuildEnvironment) -> Map | None:
    """Return the map of a book that has one."""
    path = Path(env.srcdir, FILE)
    return read_map(path) if path.exists() else None


def _picture(env: BuildEnvironment, found: Map) -> str:
    """Return the drawing, or an empty text where the book has no such cell."""
    return stored(notebook(env, found.page), found.picture)


def _depend(env: BuildEnvironment, found: Map) -> None:
    """Let the page being read be read again when the map changes."""
    for path in (Path(env.srcdir, FILE), notebook(env, found.page)):
        env.note_dependency(str(path))


def _titles(picture: str) -> dict[str, tuple[str, str]]:
    """Read of each part of a drawing the page that it opens and what it is called."""
    return {part: (page, unescape(title)) for page, part, title, _ in _PART.findall(picture)}


def _met(env: BuildEnvironment, docname: str, page: str) -> bool:
    """Say whether the pages before a page of the book, or a page outside of its order, explain what a page explains."""
    order = [toc.page(name) for name in toc.files(Path(env.srcdir))]
    here = toc.page(docname)
    return here not in order or page in order[: order.index(here)]


def _facts(part: Part) -> list[nodes.Node]:
    """Write the formula and the shapes of a part."""
    formula = nodes.paragraph("", "", classes=["map-formula"])
    for statement in part.statements:
        formula += [nodes.math(statement, rf"\displaystyle {statement}"), nodes.Text(" ")]
    shapes = nodes.bullet_list("", classes=["map-shapes"])
    for what, sizes in part.shapes.items():
        size = nodes.literal("", f"({', '.join(sizes)})")
        shapes += nodes.list_item("", nodes.paragraph("", "", nodes.Text(f"{what} "), size))
    return [formula, shapes]


def _notes(env: BuildEnvironment, found: Map, picture: str, lit: tuple[str, ...], *hint: nodes.Node) -> nodes.Node:
    """Make the notes on all parts, of which the page shows one."""
    notes = [element("div", "map-note map-hint", *hint)] * bool(hint)
    for part, (page, title) in _titles(picture).items():
        name, _, about = title.partition(": ")
        head = nodes.paragraph("", "", nodes.strong("", name), nodes.Text(f": {about}."), classes=["map-name"])
        facts = _facts(found.parts[part]) if hint or _met(env, env.docname, page) else []
        note = element("div", "map-note", head, *facts, data_part=part)
        docname = f"book/{page}"
        if docname in env.found_docs and docname != env.docname:
            refers = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{docname}", "refdoc": env.docname}
            words = html.addnodes.pending_xref("", nodes.inline("", ""), refexplicit=False, refwarn=True, **refers)
            note += nodes.paragraph("", "", nodes.Text("Read on: "), words, classes=["map-on"])
        notes.append(note)
    shown = 0 if hint else list(_titles(picture)).index(lit[0])
    notes[shown]["classes"].append("map-on-show")
    return element("div", "map-notes", *notes, tabindex="-1")


class TheMap(SphinxDirective):
    """The directive ``{transformer-map}``, in both layouts; its content stands until a part is met."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the map with its notes."""
        found = the_map(self.env)
        picture = _picture(self.env, found) if found else ""
        if not picture:
            raise self.error(f"{{transformer-map}} needs {FILE} and the picture that it names.")
        _depend(self.env, found)
        notes = _notes(self.env, found, picture, (), *html.parse(self, self.content))
        return [element("div", "book-map", nodes.raw("", picture, format="html"), notes)]


class HeadOfChapter(SphinxTransform):
    """Let the index of a chapter open with the map, its parts lit."""

    default_priority = 400

    def apply(self, **_: object) -> None:
        """Put it before the first cell with a picture; where that is the map itself, its notes go behind it."""
        found = the_map(self.env)
        place = found and found.places.get(toc.chapter(self.env.docname))
        if not place or pages.kind(toc.page(self.env.docname)) != "index":
            return
        picture = _picture(self.env, found)
        cells = [cell for cell in self.document.findall(nodes.container) if "cell" in cell.get("classes", ())]
        first = next((cell for cell in cells if any("output" in str(part.get("classes")) for part in cell)), None)
        if not picture or first is None:
            return
        _depend(self.env, found)
        where = first.parent.index(first)
        if toc.page(self.env.docname) == found.page:
            hint = "Point at a part, or tap it, to see what it does, its formula and its shapes."
            first.parent.insert(where + 1, _notes(self.env, found, picture, (), nodes.paragraph("", hint)))
        elif place.says:
            narrow = nodes.raw("", f'<div class="fig-pair">{_NARROW.search(picture)[0]}</div>', format="html")
            narrow["lit"] = place.parts
            says = nodes.paragraph("", place.says, classes=["map-says"])
            notes = _notes(self.env, found, picture, place.parts)
            first.parent.insert(where, element("div", "book-map map-of-chapter", says, narrow, notes))


def make_live(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Name the linked parts of a map for a screen reader, and light those of the chapter."""
    found = the_map(app.env) if app.builder.format == "html" else None
    for raw in doctree.findall(nodes.raw) if found else ():
        if f'aria-labelledby="{found.picture}' not in raw.astext():
            continue
        lit, explained = raw.get("lit", ()), _titles(_picture(app.env, found))

        def name(link: re.Match, lit: tuple = lit, explained: dict = explained) -> str:
            start, group, part, title = link.groups()
            shapes = not lit or _met(app.env, docname, explained[part][0])
            spoken = f"{title}. Shapes: {escape(found.parts[part].spoken)}" if shapes else title
            return f'{start} aria-label="{spoken}">{group}>'

        text = _LINK.sub(name, raw.astext())
        for part in lit:
            text = text.replace(f'data-part="{part}"', f'data-part="{part}" class="f-lit"')
        text = text.replace('class="fig fig-', 'class="fig f-dim fig-') if lit else text
        raw.children = [nodes.Text(text)]


def small_map(picture: str, links: dict[str, str], lit: tuple[str, ...]) -> str:
    """Draw the small map from the boxes of the narrow layout.

    Args:
        picture: both layouts.
        links: the address of each part; a part without one is drawn and leads nowhere.
        lit: the parts of the page.
    """
    narrow, drawn = _NARROW.search(picture)[0], {}
    for _, part, title, inside in _PART.findall(narrow):
        boxes = _RECT.findall(inside)[-1 if part in ("encoder", "decoder") else 0 :]  # the last of a stack of sheets
        rounds = [(float(x) - float(r), y, float(r)) for x, y, r in _ROUND.findall(inside)] if not boxes else []
        d = "".join(f"M{x} {y}h{w}v{h}h-{w}z" for x, y, w, h in boxes)
        d += "".join(f"M{x:g} {y}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 -{2 * r:g} 0" for x, y, r in rounds)
        wires = "" if d else "".join(_WIRE.findall(inside))
        drawn[part] = title.partition(": ")[0], drawn.get(part, ("", ""))[1] + d + wires
    out = []
    for part, (title, d) in drawn.items():
        classes = " ".join(["lit"] * (part in lit) + ["wire"] * (part == "keys-values"))
        path = f'<path d="{d}"' + (f' class="{classes}"' if classes else "") + "/>"
        out.append(f'<a href="{links[part]}" aria-label="{title}">{path}</a>' if part in links else path)
    height = re.search(r'viewBox="0 0 344 (\d+)"', narrow)[1]
    box = f'viewBox="0 84 344 {max(int(height) - 116, 1)}"'  # without the title above and the words below
    return f'<svg {box} role="group" aria-label="Parts">{"".join(out)}</svg>'


def add_to_margin(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Give the template of the margin the small map of a page."""
    found = the_map(app.env) if doctree is not None else None
    place = found and found.place(pagename)
    if not place:
        return
    picture = _picture(app.env, found)
    if not picture:
        return
    titles = _titles(picture)
    there = {part: f"book/{page}" for part, (page, _) in titles.items() if f"book/{page}" in app.env.found_docs}
    links = {part: app.builder.get_relative_uri(pagename, page) for part, page in there.items() if page != pagename}
    here = [titles[part][1].partition(": ")[0] for part in place.parts]
    context["small_map"] = small_map(picture, links, place.parts)
    context["small_map_here"] = ", ".join(dict.fromkeys(here)) or "The whole model"
    app.add_css_file("css/map.css")
    app.add_js_file("js/map.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive, the head of a chapter and the margin."""
    app.setup_extension("companion.book.site.pictures")
    html.FILES["book-map"] = ("css/map.css", "js/map.js")
    app.add_directive("transformer-map", TheMap)
    app.add_transform(HeadOfChapter)
    app.connect("doctree-resolved", make_live, priority=600)
    app.connect("html-page-context", add_to_margin)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
