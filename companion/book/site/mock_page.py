"""The directive ``{mock-interview}``: every question of the book in folded lists, which ``mock.js`` draws from.

The order is that of the index of questions: by topic, and in a topic the easier ones first.
Sphinx renders the texts, so links and citations are those of any page, and the lists are readable without JavaScript.
Citations lead to their entries without a tooltip, since the whole entry at each of them was an eighth of the page.
"""

import re
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from companion.book.model import LEVELS, Question
from companion.book.questions import read_book
from companion.book.site.html import element, evidence, parse
from companion.book.topics import TOPICS, topic_title

MARK = "<!-- mock interview -->"
_TOOLTIP = re.compile(r'(<a [^>]*references\.html#[^"]*") title="[^"]*"')


class MockInterview(SphinxDirective):
    """The directive ``{mock-interview}``."""

    def run(self) -> list[nodes.Node]:
        """Return the lists of all questions, between two marks."""
        try:
            found = read_book(Path(self.env.srcdir))
        except ValueError as error:
            raise ExtensionError(f"mock interview: {error}") from None
        place = nodes.container(classes=["mock-lists"])
        order = list(dict.fromkeys([*TOPICS, *(question.topic for question in found)]))
        found.sort(key=lambda question: (order.index(question.topic), question.level))
        for topic, group in groupby(found, key=lambda question: question.topic):
            title = topic_title(topic)
            boxes = [self._question(question) for question in group]
            head = element("summary", "", nodes.inline("", f"{title} "), nodes.inline("", f"({len(boxes)})"))
            place += element("details", "mock-topic", head, *boxes, data_topic=topic, data_title=title)
        return [nodes.raw("", MARK, format="html"), place, nodes.raw("", MARK, format="html")]

    def _question(self, question: Question) -> nodes.Element:
        where = f"{question.page}.ipynb, {question.name}"
        children, messages = self.state.inline_text(question.question, self.lineno)
        asked = nodes.inline("", "", *children, *messages, classes=["mock-asked"])
        kind = nodes.inline("", question.kind, classes=["question-kind"])
        level = nodes.inline("", LEVELS[question.level], classes=["question-level"])
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
            *("details", "mock-question", element("summary", "", asked, kind, level)),
            *answers,
            nodes.paragraph("", "Follow-ups", classes=["mock-part"]),
            further,
            self._piece("evidence", [links], "Shown in"),
            data_name=question.name,
            data_kind=question.kind,
            data_level=question.level,
            data_topic=question.topic,
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


def on_page(app: Sphinx, page: str, template: str, context: dict[str, object], doctree: nodes.document | None) -> None:
    """Leave out the tooltips of the citations between the marks."""
    parts = str(context.get("body", "")).split(MARK)
    if len(parts) == 3:
        before, lists, after = parts
        context["body"] = before + _TOOLTIP.sub(r"\1", lists) + after


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives and the step on the page."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("mock-interview", MockInterview)
    for stage in ("mock-stage", "coding-stage"):
        app.add_directive(stage, Stage)
    app.connect("html-page-context", on_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
