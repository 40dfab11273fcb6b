"""The directive ``{mock-interview}``: every question of the book in folded lists, which ``mock.js`` draws from.

The order is that of the index of questions: by topic, and in a topic the easier ones first.
Sphinx renders the texts, so links and citations are those of any page, and the lists are readable without JavaScript.
Formulas wait: they are marked so that MathJax passes them by when the page opens, and ``mock.js`` has each one set when
its question is shown. A phone would otherwise typeset a thousand formulas that nobody looks at.
"""

import re
from itertools import groupby
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from questions import LEVELS, TOPICS, Question, read_book, topic_title
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from vocabulary import SHARED

OWN = ("mock-storage.js", "session.js", "mock-lists.js", "mock-report.js", "mock.js", "mock-coding.js")
SCRIPTS = (*SHARED, *OWN)
MARK = "<!-- mock interview -->"
_FORMULA = 'class="math notranslate nohighlight"'
_WAITING = 'class="math-waiting notranslate nohighlight"'


class folded(nodes.General, nodes.Element):
    """A ``<details>`` with the attributes in ``data``."""


class folded_summary(nodes.General, nodes.Element):
    """Its ``<summary>``."""


class piece(nodes.General, nodes.Element):
    """A ``<div>`` with the attributes in ``data``: a part of a question that is shown by itself, or a drill."""


class MockInterview(SphinxDirective):
    """The directive ``{mock-interview}``."""

    def run(self) -> list[nodes.Node]:
        """Return the lists of all questions, between two marks."""
        book = Path(self.env.srcdir, "book")
        try:
            found = read_book(book)
        except ValueError as error:
            raise ExtensionError(f"mock interview: {error}") from None
        self.env.metadata[self.env.docname]["mock-interview"] = "yes"
        place = nodes.container(classes=["mock-lists"])
        order = list(dict.fromkeys([*TOPICS, *(question.topic for question in found)]))
        found.sort(key=lambda question: (order.index(question.topic), question.level))
        for topic, group in groupby(found, key=lambda question: question.topic):
            title = topic_title(topic)
            boxes = [self._question(question) for question in group]
            head = folded_summary("", nodes.inline("", f"{title} "), nodes.inline("", f"({len(boxes)})"))
            place += folded("", head, *boxes, classes=["mock-topic"], data={"topic": topic, "title": title})
        return [nodes.raw("", MARK, format="html"), place, nodes.raw("", MARK, format="html")]

    def _question(self, question: Question) -> folded:
        where = f"{question.chapter}.ipynb, {question.name}"
        children, messages = self.state.inline_text(question.question, self.lineno)
        asked = nodes.inline("", "", *children, *messages, classes=["mock-asked"])
        badges = [
            nodes.inline("", question.kind, classes=["question-kind"]),
            nodes.inline("", LEVELS[question.level], classes=["question-level"]),
        ]
        data = {"name": question.name, "kind": question.kind, "level": question.level, "topic": question.topic}
        box = folded("", classes=["mock-question"], data=data)
        box += folded_summary("", asked, *badges)
        box += self._titled("short", "Short answer", question.short, where)
        box += self._titled("full", "On the whiteboard", question.full, where)
        box += self._titled("mistake", "Common wrong answer", question.common_mistake, where)
        further = nodes.enumerated_list(classes=["mock-follow-ups"])
        for line, answer in question.follow_ups:
            further += nodes.list_item("", self._piece("follow-up", line, where), self._piece("answer", answer, where))
        box += [nodes.paragraph("", "Follow-ups", classes=["mock-part"]), further, self._evidence(question)]
        return box

    def _piece(self, part: str, text: str, where: str) -> piece:
        inner = piece("", data={"part": part})
        self.state.nested_parse(StringList(text.splitlines(), source=where), 0, inner)
        return inner

    def _titled(self, part: str, title: str, text: str, where: str) -> piece:
        inner = self._piece(part, text, where)
        inner.insert(0, nodes.paragraph("", title, classes=["mock-part"]))
        return inner

    def _evidence(self, question: Question) -> piece:
        """Link to the question on its own page, and to what shows the answer there."""
        items = nodes.bullet_list()
        for label in (question.name, *question.evidence):
            words = "The question in its chapter" if label == question.name else label
            link = addnodes.pending_xref(
                "",
                nodes.inline("", words),
                refdomain="",
                reftype="any",
                reftarget=label,
                refdoc=self.env.docname,
                refexplicit=label == question.name,
                refwarn=True,
            )
            paragraph = nodes.paragraph("", "", link)
            if label.startswith("eq-"):
                paragraph.insert(0, nodes.Text("Equation "))
            items += nodes.list_item("", paragraph)
        return piece("", nodes.paragraph("", "Shown in", classes=["mock-part"]), items, data={"part": "evidence"})


class Stage(SphinxDirective):
    """``{mock-stage}`` and ``{coding-stage}``: where scripts put what they show; the content is for lack of them."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        place = nodes.container(classes=[self.name])
        self.state.nested_parse(self.content, self.content_offset, place)
        return [place]


def _data(node: folded | piece) -> dict[str, str]:
    return {f"data-{name}": str(value) for name, value in node["data"].items()}


def _open_folded(self: object, node: folded) -> None:
    self.body.append(self.starttag(node, "details", "", **_data(node)))


def _open_piece(self: object, node: piece) -> None:
    self.body.append(self.starttag(node, "div", "", **_data(node)))


def _open_summary(self: object, node: folded_summary) -> None:
    self.body.append(self.starttag(node, "summary", ""))


def _nothing(self: object, node: nodes.Element) -> None:
    """Let other builders write the children."""


def on_page(app: Sphinx, page: str, template: str, context: dict[str, object], doctree: nodes.document | None) -> None:
    """Let the formulas between the marks wait, and load the scripts on that page only."""
    if app.env.metadata.get(page, {}).get("mock-interview") != "yes" or "body" not in context:
        return
    before, lists, after = context["body"].split(MARK)
    context["body"] = before + re.sub(re.escape(_FORMULA), _WAITING, lists) + after
    app.add_css_file("css/mock.css")
    for script in SCRIPTS:
        app.add_js_file(f"js/{script}", loading_method="defer")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the nodes, the directives and the step on the page."""
    from drills_page import DrillList

    other = dict.fromkeys(("latex", "text", "man", "texinfo"), (_nothing, _nothing))
    for node, tag, visit in (
        (folded, "details", _open_folded),
        (folded_summary, "summary", _open_summary),
        (piece, "div", _open_piece),
    ):

        def close(self: object, node: nodes.Element, tag: str = tag) -> None:
            self.body.append(f"</{tag}>\n")

        app.add_node(node, html=(visit, close), **other)
    app.setup_extension("vocabulary")
    app.add_directive("mock-interview", MockInterview)
    app.add_directive("drill-list", DrillList)
    for stage in ("mock-stage", "coding-stage"):
        app.add_directive(stage, Stage)
    app.connect("html-page-context", on_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
