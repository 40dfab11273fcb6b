"""What the pages are made of: elements of HTML, links, headings, tables, and the scripts that belong to them.

Every text is a node of its own, so that Sphinx can translate it. A link to a label is made once all pages are read; one
that leads nowhere is left unresolved, and so warned of.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode, set_source_info
from sphinx.writers.html5 import HTML5Translator

_FORMULA = re.compile(r"\$([^$]+)\$")
LABEL = "label"  # the kind of a link whose words stay as they are
READING = ("js/util.js", "js/store.js", "js/reading.js")  # of every page
_SHARED = tuple(f"js/{name}.js" for name in ("vocabulary", "util", "dom", "store", "practice"))  # of any page, in order
_TRAIL = ("js/dom.js", "js/trail.js", "css/trail.css")
STOP = "plan-stop"  # no class of an element: a page that a study plan leads to
COPIED = ("js/copy-formula.js", "css/copy-formula.css")
FILES = {
    "interview-question": (*_SHARED, "js/question-rating.js", "css/questions.css", *_TRAIL),
    "question-index": (*_SHARED, "js/questions.js", "css/questions.css"),
    "study-plan": (*_SHARED, "js/plans.js", "css/questions.css", *_TRAIL),
    "quiz-desk": (*_SHARED, "js/quiz-logic.js", "js/quiz-item.js", "js/quiz-exam.js", "js/quiz.js", "css/quiz.css"),
    "mock-lists": (
        *_SHARED,
        *(f"js/{name}.js" for name in ("mock-storage", "session", "mock-lists", "mock-report", "mock", "mock-coding")),
        "css/mock.css",
    ),
    "progress-table": (
        *_SHARED,
        *(f"js/{name}.js" for name in ("progress-file", "progress")),
        *(f"css/{name}.css" for name in ("progress", "questions", "tables")),
    ),
    "cell": ("css/code.css", "css/tables.css"),
    "table": ("css/tables.css",),
    "cell_input": ("js/code.js",),
    "math_block": COPIED,
    "formulas": ("css/formulas.css", *COPIED),
    "front-page": ("css/front.css",),
    "term-list": ("js/util.js", "js/dom.js", "js/terms.js", "css/terms.css"),
    "lettered": ("css/terms.css",),
    "sheet-group": (
        *_SHARED,
        *("js/question-rating.js", "js/sheet.js", "css/questions.css", "css/question-sheet.css"),
        *_TRAIL,
    ),
    "exercise-about": _TRAIL,
    STOP: _TRAIL,
    "fig-pair": ("picture.css",),
    "plot-pair": ("css/plots.css",),
    "ledger-filter": ("js/util.js", "js/dom.js", "js/ledger.js", "css/ledger-filter.css"),
}
"""The scripts and styles that a page loads if it has an element of the class, or such a node; no other page does."""


class html_element(nodes.General, nodes.Element):
    """An element of the page: ``tag`` names it, ``data`` holds its attributes."""


class html_text(nodes.General, nodes.TextElement):
    """The same for an element whose text is translated by itself."""


def _attributes(tag: str, classes: str, id: str, data: dict[str, object]) -> dict[str, object]:
    named = {key.replace("_", "-"): str(value) for key, value in data.items() if value not in ("", None)}
    return {"tag": tag, "classes": classes.split(), "ids": [id] if id else [], "data": named}


def element(tag: str, classes: str, *children: nodes.Node, id: str = "", **data: object) -> html_element:
    """Make an element of classes; ``data_kind="bug"`` becomes ``data-kind="bug"``, and an empty value is left out."""
    return html_element("", *children, **_attributes(tag, classes, id, data))


def label(directive: SphinxDirective, tag: str, classes: str, text: str) -> html_text:
    """Make an element of a line of Markdown."""
    children, messages = directive.state.inline_text(text, directive.lineno)
    made = html_text(text, "", *children, *messages, **_attributes(tag, classes, "", {}))
    set_source_info(directive, made)
    return made


def heading(directive: SphinxDirective, text: str, name: str, level: int = 3) -> nodes.rubric:
    """Make a heading that stands in no table of contents."""
    made = nodes.rubric(text, text, classes=[name])
    made["heading-level"] = made["level"] = level  # Sphinx's name for it, and MyST-Parser's
    set_source_info(directive, made)
    return made


def parse(
    directive: SphinxDirective, text: str | list[str] | StringList, source: str = "", offset: int = 0
) -> list[nodes.Node]:
    """Parse Markdown as that of the page; ``source`` is what a warning names, by default the page."""
    box, content = nodes.container(), text
    if not isinstance(text, StringList):
        lines = text.splitlines() if isinstance(text, str) else text
        content = StringList(lines, source=source or directive.get_source_info()[0])
    directive.state.nested_parse(content, offset, box)
    return list(box.children)


def table(directive: SphinxDirective, rows: Iterable[Sequence[str]], classes: str) -> list[nodes.Node]:
    """Make a table of Markdown cells; the first row is its head."""
    lines = ["```{list-table}", ":header-rows: 1", f":class: {classes}", ""]
    lines += [f"{'  -' if number else '* -'} {cell}" for row in rows for number, cell in enumerate(row)]
    return parse(directive, [*lines, "```"])


def link(directive: SphinxDirective, target: str, *words: nodes.Node, kind: str = "any") -> addnodes.pending_xref:
    """Make a link to a label where a directive stands: see ``link_on``."""
    made = link_on(directive.env.docname, target, *words, kind=kind)
    set_source_info(directive, made)
    return made


def link_on(docname: str, target: str, *words: nodes.Node, kind: str = "any") -> addnodes.pending_xref:
    """Make a link to a label.

    Args:
        docname: the page that it is on.
        target: the label.
        words: what it reads; without any, what Sphinx finds there: for a claim its text, for a section its title.
        kind: ``any`` finds claims, sections, figures and equations, ``ref`` no equations, ``LABEL`` each by its words.
    """
    return addnodes.pending_xref(
        "",
        nodes.inline("", "", *(words or [nodes.Text(target)])),
        refdomain="std" if kind == "ref" else "",
        reftype=kind,
        reftarget=target,
        refdoc=docname,
        refexplicit=bool(words),
        refwarn=True,
    )


def evidence(directive: SphinxDirective, labels: Iterable[str], **words: str) -> nodes.bullet_list:
    """List links to what shows an answer; ``words`` has those of some labels."""
    items = nodes.bullet_list(classes=["question-evidence"])
    for name in labels:
        own = [nodes.Text(words[name])] if name in words else []
        paragraph = nodes.paragraph("", "", link(directive, name, *own))
        if name.startswith("eq-"):
            paragraph.insert(0, nodes.Text("Equation "))
        items += nodes.list_item("", paragraph)
    return items


def without_links(text: nodes.Element) -> nodes.Element:
    """Keep the words of every link in a text, which becomes a link itself."""
    for inner in [*text.findall(addnodes.pending_xref), *text.findall(nodes.reference)]:
        inner.replace_self(inner.children)
    return text


def target(env: BuildEnvironment, name: str, title: str) -> None:
    """Let other pages refer to an id of this one."""
    env.get_domain("std").note_hyperlink_target(name, env.docname, name, title)


def _open(self: HTML5Translator, node: html_element) -> None:
    self.body.append(self.starttag(node, node["tag"], "", **node["data"]))


def _close(self: HTML5Translator, node: html_element) -> None:
    self.body.append("" if node["tag"] == "input" else f"</{node['tag']}>\n")


def _nothing(self: object, node: nodes.Element) -> None:
    """Let other builders write the children."""


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Make a link to a label; one that no page has, or another than it should, is left unresolved."""
    if node["reftype"] != LABEL:
        return None
    docname, name = env.get_domain("std").anonlabels.get(node["reftarget"], ("", ""))
    if not docname or docname != node.get("page", docname):
        return None
    return make_refnode(app.builder, node["refdoc"], docname, name, content)


class FormulasOfTitles(SphinxPostTransform):
    """Set the formulas of a title that a link took over: Sphinx keeps the words of a title, with the dollars."""

    default_priority = 20  # links are resolved at 10

    def run(self, **_: object) -> None:
        """Put a formula in the place of each ``$...$`` in the words of a link."""
        for words in [text for to in self.document.findall(nodes.reference) for text in to.findall(nodes.Text)]:
            pieces = _FORMULA.split(words)  # words and formulas in turn
            if len(pieces) > 1:
                made = [
                    nodes.math(piece, piece) if place % 2 else nodes.Text(piece) for place, piece in enumerate(pieces)
                ]
                words.parent.replace(words, [node for node in made if node.astext()])


def files_for(doctree: nodes.document, more: Collection[str] = ()) -> list[str]:
    """List the scripts and styles that the elements of a page ask for, in the order of ``FILES``."""
    names = {name for box in doctree.findall(nodes.Element) for name in (box.tagname, *box.get("classes", []))}
    names |= set(more)
    return [file for name, files in FILES.items() if name in names for file in files]


def add_files(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Load the scripts and styles of every page and of what this one has, each once and in the order of ``FILES``."""
    if doctree is None:
        return
    stop = {STOP} if page in getattr(app.env, "book_stops", ()) else set()
    for file in dict.fromkeys((*READING, *files_for(doctree, stop))):
        if file.endswith(".css"):
            app.add_css_file(file)
        else:
            app.add_js_file(file, loading_method="defer")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the elements, the links and the files with Sphinx."""
    app.setup_extension("companion.book.site.vocabulary")
    other = dict.fromkeys(("latex", "text", "man", "texinfo"), (_nothing, _nothing))
    for node in (html_element, html_text):
        app.add_node(node, html=(_open, _close), **other)
    app.add_post_transform(FormulasOfTitles)
    app.connect("missing-reference", resolve)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
