"""What the search of the site finds: every section, term, question, exercise, claim, formula, definition and source.

A page loads it, with MiniSearch, when a reader opens the search. ``search-engine.js`` ranks, ``search.js`` shows.
Formulas are written in Unicode, ``√d_k``, from the MathML that MathJax made of them.
``search_file.py`` adds what stands on no page of text, the library's definitions and the bibliography, and packs all.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from companion.book import toc
from companion.book.model import Term
from companion.book.site import mathjax, search_file, unicode_math
from companion.book.site.html import html_element
from companion.book.terms import TERMS, terms
from companion.book.topics import TOPICS

DATA = "search-data.js"
INTERACTIVE = "Interactive figure"  # the term of terms.yml that every section with an explorer gets
LONGEST = 150  # characters of a text that are kept as they are; of the rest, each word once
COMMON = 0.012  # of all places: a word of the rest that stands in the rest of more than these tells nothing
KINDS = search_file.KINDS
_OWN_PLACE = {"claim-": "claim", "exr-": "exercise"}
# What stands elsewhere in the book, or is no text: lists of links, outputs of cells, and what only scripts read.
_LEFT_OUT = {
    "cell_output", "toctree-wrapper", "chapter-pages", "claims-table", "ledger-entry", "ledger-counts", "term-more",
    "term-see", "question-index", "question-entry", "quiz-topic", "quiz-item", "mock-lists", "coding-lists",
    "study-plan", "progress-table", "question-evidence", "formula-link", "headerlink", "exercise-about",
    "page-questions",
}  # fmt: skip
_SKIPPED = (
    nodes.raw, nodes.comment, nodes.image, nodes.system_message, nodes.substitution_definition, addnodes.index,
    nodes.literal_block,
)  # fmt: skip


class Words:
    """Reads the text of nodes, with formulas as they were set."""

    def __init__(self, formulas: dict[tuple[str, bool], str]) -> None:
        self.formulas = formulas
        self._known: dict[tuple[str, bool], str] = {}

    def of(self, *given: nodes.Node) -> str:
        """Return the text of nodes in a line."""
        return " ".join("".join(piece for node in given for piece in self._pieces(node)).split())

    def _pieces(self, node: nodes.Node) -> Iterator[str]:
        if isinstance(node, nodes.Text):
            yield node.astext()
        elif isinstance(node, nodes.math | nodes.math_block):
            yield self._formula(node) + " " * isinstance(node, nodes.math_block)
        elif isinstance(node, nodes.superscript) and "transposed" in node["classes"]:
            yield "ᵀ"
        elif isinstance(node, nodes.Element) and not left_out(node):
            for child in node.children:
                yield from self._pieces(child)
            if not isinstance(node, nodes.Inline) or isinstance(node, nodes.image):
                yield " "

    def _formula(self, node: nodes.math | nodes.math_block) -> str:
        key = mathjax.formula(node)
        if key not in self._known:
            found = re.search(r"<math.*</math>", self.formulas[key], re.DOTALL)
            self._known[key] = unicode_math.compact(ElementTree.fromstring(found[0].replace("&nbsp;", "\u00a0")))
        return self._known[key]


def left_out(node: nodes.Element) -> bool:
    """Tell whether a node holds no text of its own."""
    return isinstance(node, _SKIPPED) or bool(_LEFT_OUT.intersection(node.get("classes", [])))


def kind_of(node: nodes.Node) -> str:
    """Name the kind of place that a node is; an empty text where it is none."""
    if isinstance(node, nodes.section):
        named = [kind for start, kind in _OWN_PLACE.items() if any(name.startswith(start) for name in node["ids"])]
        return named[0] if named else "page" if isinstance(node.parent, nodes.document) else "section"
    classes = node.get("classes", []) if isinstance(node, nodes.Element) else []
    if isinstance(node, html_element) and "interview-question" in classes:
        return "question"
    if isinstance(node, nodes.list_item) and "formula" in classes:
        return "formula"
    return "term" if in_glossary(node) or in_index(node) else ""


def in_glossary(node: nodes.Node) -> bool:
    """Tell whether a node is a term of the glossary, with its definition."""
    return isinstance(node, nodes.definition_list_item) and "glossary" in node.parent.get("classes", [])


def in_index(node: nodes.Node) -> bool:
    """Tell whether a node is an entry of the index of terms."""
    return isinstance(node, nodes.list_item) and "terms" in node.parent.get("classes", [])


def places(doctree: nodes.document) -> list[tuple[str, nodes.Element]]:
    """List the places of a page in its order, each with its kind."""
    found = []
    stack: list[nodes.Node] = [doctree]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Element) and not left_out(node):
            if kind := kind_of(node):
                found.append((kind, node))
            stack += reversed(node.children)
    return found


def anchor(kind: str, node: nodes.Element) -> str:
    """Name the id by which a link finds a place; a page needs none."""
    if kind == "page":
        return ""
    if in_glossary(node):
        return node[0]["ids"][0]
    return next((name for name in node["ids"] if _OWN_PLACE.get(f"{name.partition('-')[0]}-") == kind), node["ids"][0])


def read(kind: str, node: nodes.Element, words: Words) -> tuple[str, str]:
    """Return title and text of a place, without the text of places within it."""
    if in_index(node):
        return words.of(node[0]), ""
    if kind == "term":
        terms = [words.of(one) for one in node.children if isinstance(one, nodes.term)]
        return ", ".join(terms), words.of(*(one for one in node.children if isinstance(one, nodes.definition)))
    inner = [one for one in node.children if not kind_of(one)]
    if kind == "formula":
        return words.of(inner[0]), " · ".join(filter(None, map(words.of, inner[1:])))
    if kind == "question":
        return words.of(inner[0][0]), words.of(*(one for one in inner[1:] if not isinstance(one, nodes.rubric)))
    text = words.of(*(piece for one in inner[1:] for piece in _own(one)))
    return words.of(inner[0]), text


def asked(node: nodes.Element, words: Words) -> list[str]:
    """List the questions that follow up an interview question: what its numbered list has in bold at the start."""
    found = []
    for box in node.findall(nodes.container):
        if "question-follow-ups" in box["classes"]:
            starts = [(item, item.next_node(nodes.strong)) for item in box.findall(nodes.list_item)]
            found += [words.of(bold) for item, bold in starts if bold and item.astext().startswith(bold.astext())]
    return found


def _own(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the parts of a node that are within no inner place."""
    if not any(kind_of(inner) for inner in node.findall(nodes.Element)):
        yield node
    elif not kind_of(node):
        for child in node.children:
            yield from _own(child)


def shortened(text: str, title: str = "") -> tuple[str, str]:
    """Part a text: its beginning, at most ``LONGEST`` characters, and the words that neither it nor ``title`` has."""
    if len(text) <= LONGEST:
        return text, ""
    start = text[:LONGEST].rpartition(" ")[0]
    start = re.sub(r"\S*[_^]\(([^()]|\([^()]*(\)|$))*$", "", start).strip()  # no part of an index or a power
    known = set(re.findall(r"\w+", f"{title} {start}".lower()))
    rest = dict.fromkeys(word for word in re.findall(r"\w+", text[len(start) :].lower()) if len(word) > 2)
    return f"{start} …", " ".join(word for word in rest if word not in known and not word[0].isdigit())


def without_common(made: list[list]) -> list[list]:
    """Leave out of the rests the words that too many of them have."""
    counts = Counter(word for entry in made for word in entry[-1].split())
    most = COMMON * len(made)
    rests = [" ".join(word for word in entry[-1].split() if counts[word] <= most) for entry in made]
    return [[*entry[:-1], rest] for entry, rest in zip(made, rests, strict=True)]


def without_twins(made: list[list]) -> list[list]:
    """Leave out entries of the index of terms, which have no text, where the glossary has the term and links there."""
    term = KINDS.index("term")
    defined = {singular(name) for entry in made if entry[0] == term and entry[5] for name in entry[3].split(", ")}
    return [entry for entry in made if entry[0] != term or entry[5] or singular(entry[3]) not in defined]


def called(term: Term) -> set[str]:
    """Return the words of a term, in the forms in which they are compared: the glossary prefers the singular."""
    return {singular(word) for word in (term.name, *term.aliases)}


def singular(word: str) -> str:
    """Return a word without capitals and without the ending of a plural."""
    return re.sub(r"(?<=[a-z]{3}[^s])s$", "", word.casefold())


def terms_of(kind: str, node: nodes.Element, title: str, known: tuple[Term, ...]) -> list[int]:
    """List the numbers of the terms of a place: that have it as their home, are called as it is, or lead to it."""
    labels, words = set(node.get("ids", ())), {singular(name) for name in title.split(", ")}
    shows = kind in ("page", "section") and any(map(shows_figure, _parts(node)))
    found = []
    for number, term in enumerate(known):
        if kind == "term":
            own = bool(words & called(term))
        elif kind in ("question", "exercise"):
            own = not labels.isdisjoint((*term.questions, *term.exercises))
        else:
            own = term.label in labels or (shows and term.name == INTERACTIVE)
        found += [number] if own else ()
    return found


def _parts(node: nodes.Element) -> Iterator[nodes.Node]:
    """Yield what a section holds, without its inner sections."""
    for child in node.children:
        if not isinstance(child, nodes.section):
            yield from child.findall()


def shows_figure(node: nodes.Node) -> bool:
    """Tell whether a node is an interactive figure."""
    return isinstance(node, nodes.raw) and "light-widget" in node.astext()


def entries(doctree: nodes.document, words: Words, known: tuple[Term, ...]) -> list[list]:
    """Make the entries of a page: kind, anchor, title, numbers of its terms, text, follow-ups, other words."""
    made = []
    for kind, node in places(doctree):
        title, text = read(kind, node, words)
        asks = asked(node, words) if kind == "question" else []
        start, rest = shortened(text, " ".join([title, *asks]))
        made.append([kind, anchor(kind, node), title, terms_of(kind, node, title, known), start, asks, rest])
    return made


class Search:
    """Collects the places while pages are written, and writes the script."""

    def __init__(self) -> None:
        self.words: Words | None = None
        self.known: tuple[Term, ...] = ()
        self.found: dict[str, list[list]] = {}

    def start(self, app: Sphinx) -> None:
        """Leave Sphinx's own index out, and read the terms of the book."""
        if app.builder.format == "html":
            app.builder.search = False
            self.known = terms(Path(app.srcdir)) if Path(app.srcdir, TERMS).exists() else ()

    def collect(self, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Read the places of a page."""
        if app.builder.format == "html":
            self.words = self.words or Words(mathjax.formulas_of(app))
            self.found[docname] = entries(doctree, self.words, self.known)

    def pages(self, app: Sphinx) -> Iterator[tuple[str, dict, str]]:
        """Make the page of the search, and write what it reads."""
        if app.builder.format != "html":
            return
        for docname in sorted(app.env.all_docs.keys() - self.found.keys()):  # of an earlier build
            self.collect(app, app.env.get_and_resolve_doctree(docname, app.builder), docname)
        Path(app.outdir, "_static", DATA).write_text(self.script(app), "utf8")
        yield "search", {}, "search.html"

    def script(self, app: Sphinx) -> str:
        """Return the script that defines ``bookSearchData``."""
        order, address = [name for name in _order(app) if self.found.get(name)], app.builder.get_target_uri
        pages = [[address(name), self.found[name][0][2], TOPICS.get(toc.chapter(name), "")] for name in order]
        made = [
            [KINDS.index(kind), number, *rest] for number, name in enumerate(order) for kind, *rest in self.found[name]
        ]
        made = without_common(without_twins(made))
        made += search_file.sources(app.env, order, self.known)
        for page, own in search_file.modules(app.env, address):
            made += [[KINDS.index("source"), len(pages), *entry] for entry in own]
            pages.append(page)
        words = [", ".join((term.name, *term.aliases)) for term in self.known]
        return search_file.script({"kinds": KINDS, "pages": pages, "terms": words}, made)


def _order(app: Sphinx) -> list[str]:
    """List the pages in the order of the book."""
    env, seen, waiting = app.env, {}, [app.config.root_doc]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = True
            waiting += reversed(env.toctree_includes.get(name, []))
    return [*seen, *sorted(env.all_docs.keys() - seen.keys())]


def setup(app: Sphinx) -> dict[str, object]:
    """Register the steps."""
    app.setup_extension("companion.book.site.mathjax")
    search = Search()
    app.connect("builder-inited", search.start)
    app.connect("doctree-resolved", search.collect, priority=900)
    app.connect("html-collect-pages", search.pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
