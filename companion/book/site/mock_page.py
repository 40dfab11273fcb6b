"""The directive ``{mock-interview}``: every question of the book, which ``mock.js`` draws from.

The order is that of the index of questions: by topic, and in a topic the easier ones first. Sphinx renders the texts as
those of any page, so links, citations and formulas are right. They are 3 MB, so the page has only what a draw needs,
and the texts come from a script beside it when an interview begins. Citations lead to their entries without a tooltip.
"""

import hashlib
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from companion.book.model import Question
from companion.book.questions import read_book
from companion.book.site.html import element, evidence, parse
from companion.book.topics import TOPICS

MARK = "<!-- mock interview -->"
FILE = "_static/mock-questions.js"
_QUESTION = re.compile(r'<div class="mock-question[^>]*>')
_DATA = re.compile(r'data-([a-z]+)="([^"]*)"')
_FORMULA = re.compile(r"<mjx-container.*?</mjx-container>", re.DOTALL)
_TOOLTIP = re.compile(r'(<a [^>]*references\.html#[^"]*") title="[^"]*"')


class MockInterview(SphinxDirective):
    """The directive ``{mock-interview}``."""

    def run(self) -> list[nodes.Node]:
        """Return all questions, between two marks."""
        try:
            found = read_book(Path(self.env.srcdir))
        except ValueError as error:
            raise ExtensionError(f"mock interview: {error}") from None
        order = list(dict.fromkeys([*TOPICS, *(question.topic for question in found)]))
        found.sort(key=lambda question: (order.index(question.topic), question.level))
        place = nodes.container("", *map(self._question, found), classes=["mock-lists"])
        return [nodes.raw("", MARK, format="html"), place, nodes.raw("", MARK, format="html")]

    def _question(self, question: Question) -> nodes.Element:
        where = f"{question.page}.ipynb, {question.name}"
        children, messages = self.state.inline_text(question.question, self.lineno)
        asked = nodes.paragraph("", "", *children, *messages, classes=["mock-asked"])
        answers = [
            self._piece("short", parse(self, question.short, where), "Short answer"),
            self._piece("full", parse(self, question.full, where), "On the whiteboard"),
            self._piece("mistake", parse(self, question.common_mistake, where), "Common wrong answer"),
        ]
        further = nodes.enumerated_list(classes=["mock-follow-ups"])
        for line, answer in question.follow_ups:
            parts = (
                self._piece("follow-up", parse(self, line, where)),
                self._piece("answer", parse(self, answer, where)),
            )
            further += nodes.list_item("", *parts)
        links = evidence(self, (question.name, *question.evidence), **{question.name: "The question in its chapter"})
        return element(
            *("div", "mock-question", asked),
            *answers,
            nodes.paragraph("", "Follow-ups", classes=["mock-part"]),
            further,
            self._piece("evidence", [links], "Shown in"),
            data_name=question.name,
            data_kind=question.kind,
            data_level=question.level,
            data_topic=question.topic,
            data_further=len(question.follow_ups),
        )

    def _piece(self, part: str, inner: list[nodes.Node], title: str = "") -> nodes.Element:
        """Make a part of a question that is shown by itself."""
        head = [nodes.paragraph("", title, classes=["mock-part"])] if title else []
        return element("div", "", *head, *inner, data_part=part)


class Stage(SphinxDirective):
    """``{mock-stage}`` and ``{coding-stage}``: where scripts put what they show; the content is for lack of them."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        return [nodes.container("", *parse(self, self.content, offset=self.content_offset), classes=[self.name])]


def formulas_once(text: str) -> dict[str, str | list[str]]:
    """Take the set formulas out of a text, each but once: they are two thirds of it, and many are alike.

    Returns:
        ``texts``, with ``␟n␟`` in the place of formula n, and ``formulas``.
    """
    found: dict[str, int] = {}
    short = _FORMULA.sub(lambda match: f"␟{found.setdefault(match[0], len(found))}␟", text)
    return {"texts": short, "formulas": list(found)}


def on_page(app: Sphinx, page: str, template: str, context: dict[str, object], doctree: nodes.document | None) -> None:
    """Put what stands between the marks into a script, and leave in its place what a draw needs."""
    parts = str(context.get("body", "")).split(MARK)
    if len(parts) != 3:
        return
    before, lists, after = parts
    questions = [dict(_DATA.findall(tag)) for tag in _QUESTION.findall(lists)]
    stored = json.dumps(formulas_once(_TOOLTIP.sub(r"\1", lists)), ensure_ascii=False)
    script = f"window.mockQuestions = {stored};\n"
    place = Path(app.outdir) / FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script, "utf8")
    address = f"{context['pathto'](FILE, 1)}?v={hashlib.sha256(script.encode()).hexdigest()[:8]}"
    data = json.dumps(questions, separators=(",", ":"))
    inner = f'<script type="application/json">{data}</script>'
    context["body"] = f'{before}<div class="mock-texts" hidden data-file="{address}">{inner}</div>{after}'


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives and the step on the page."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("mock-interview", MockInterview)
    for stage in ("mock-stage", "coding-stage"):
        app.add_directive(stage, Stage)
    app.connect("html-page-context", on_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
