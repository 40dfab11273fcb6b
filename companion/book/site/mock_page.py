"""The directive ``{mock-interview}``: every question of the book, which ``mock.js`` draws from.

The order is that of the index of questions: by topic, and in a topic the easier ones first. Sphinx renders the texts as
those of any page, so links, citations and formulas are right. They are 3 MB, so the page has only what a draw needs,
and the texts of each question are a script, which is loaded when an interview asks it. Citations lead to their entries
without a tooltip.
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
from companion.book.site.question_sheet import SHEET, read_sheet
from companion.book.topics import TOPICS

MARK = "<!-- mock interview -->"
FOLDER = "_static/mock"
_QUESTION = re.compile(r'<div class="mock-question[^>]*>')
_DATA = re.compile(r'data-([a-z]+)="([^"]*)"')
_TOOLTIP = re.compile(r'(<a [^>]*references\.html#[^"]*") title="[^"]*"')


class MockInterview(SphinxDirective):
    """The directive ``{mock-interview}``."""

    def run(self) -> list[nodes.Node]:
        """Return all questions, each between two marks."""
        try:
            found = read_book(Path(self.env.srcdir))
        except ValueError as error:
            raise ExtensionError(f"mock interview: {error}") from None
        self.sheet = {name for _, names in read_sheet(Path(self.env.srcdir)) for name in names}
        self.env.note_dependency(str(Path(self.env.srcdir, SHEET)))
        order = list(dict.fromkeys([*TOPICS, *(question.topic for question in found)]))
        found.sort(key=lambda question: (order.index(question.topic), question.level))
        mark = nodes.raw("", MARK, format="html")
        texts = (node for question in found for node in (self._question(question), mark.deepcopy()))
        return [nodes.container("", mark, *texts, classes=["mock-lists"])]

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
            data_sheet="yes" if question.name in self.sheet else "",
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
    """Put each question between the marks into a script of its own, and leave in their place what a draw needs."""
    parts = str(context.get("body", "")).split(MARK)
    if len(parts) < 3:
        return
    before, *texts, after = parts
    folder, version, questions = Path(app.outdir, FOLDER), hashlib.sha256(), []
    folder.mkdir(parents=True, exist_ok=True)
    for text in texts:
        question = dict(_DATA.findall(_QUESTION.search(text)[0]))
        stored = json.dumps(_TOOLTIP.sub(r"\1", text.strip()), ensure_ascii=False)
        script = f"window.mockText = {stored};\n"
        (folder / f"{question['name']}.js").write_text(script, "utf8")
        version.update(script.encode())
        questions.append(question)
    data = json.dumps(questions, separators=(",", ":"))
    inner = f'<script type="application/json">{data}</script>'
    named = f'data-folder="{context["pathto"](FOLDER, 1)}" data-version="{version.hexdigest()[:8]}"'
    context["body"] = f'{before}<div class="mock-texts" hidden {named}>{inner}</div>{after}'


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives and the step on the page."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("mock-interview", MockInterview)
    for stage in ("mock-stage", "coding-stage"):
        app.add_directive(stage, Stage)
    app.connect("html-page-context", on_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
