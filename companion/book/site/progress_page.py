"""Your progress: ``{practice-table}`` counts what can be practised, ``{practice-lists}`` links to each piece.

Both read the questions from the notebooks, the items from the quiz and the drills from their file, so that nothing
stands twice. ``{practice-place} NAME`` is a place that a script fills; its content shows without JavaScript. The script
``progress.js`` writes into the table and the lists what the reader has done, as ``store.js`` keeps it.
"""

from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import set_source_info

from companion.book.drills import DRILLS, read_drills
from companion.book.model import LEVELS, TIERS
from companion.book.quiz import read_quiz
from companion.book.site.html import LABEL, element, heading, link, parse, target, without_links
from companion.book.site.question_sheet import PLAN, SHEET, read_plan
from companion.book.site.questions_index import gather
from companion.book.topics import TOPICS

KINDS = {"question": "Questions", "item": "Quiz items", "drill": "Drills"}


@dataclass(frozen=True)
class Piece:
    """Something to practise: a question, a quiz item or a drill.

    Args:
        kind: one of ``KINDS``.
        name: by which the store knows it.
        target: the label that it is linked by.
        text: one line of Markdown.
        topic: one of ``TOPICS``.
        level: how hard it is, in a word.
        order: pieces of one kind and topic stand in this order, the easy ones first.
    """

    kind: str
    name: str
    target: str
    text: str
    topic: str
    level: str
    order: int


def pieces(env: BuildEnvironment) -> list[Piece]:
    """Gather everything that can be practised, by kind, topic and level.

    Raises:
        ValueError: a source is missing or broken.
    """
    found = [
        Piece("question", one.name, one.name, one.question, one.topic, LEVELS[one.level], one.level)
        for one in gather(env)
    ]
    for item in read_quiz(Path(env.srcdir)):
        env.note_dependency(str(item.source))
        if item.topic not in TOPICS:
            raise ValueError(f"{item.where}: topic is one of {', '.join(TOPICS)}: got {item.topic!r}.")
        first = item.question.strip().split("\n\n")[0]
        found.append(Piece("item", item.id, item.id, first, item.topic, LEVELS[item.level], item.level))
    env.note_dependency(str(Path(env.srcdir, DRILLS)))
    found += [
        Piece("drill", one.name, f"exr-{one.name}", one.title, one.topic, TIERS[one.tier], one.tier)
        for one in read_drills(Path(env.srcdir))
    ]
    kinds, topics = list(KINDS), list(TOPICS)
    return sorted(found, key=lambda one: (topics.index(one.topic), kinds.index(one.kind), one.order))


class Practice(SphinxDirective):
    """What the two directives share: what is gathered, and links."""

    def gathered(self) -> dict[str, dict[str, list[Piece]]]:
        """Read the pieces by topic and kind."""
        try:
            found = pieces(self.env)
        except ValueError as error:
            raise self.error(str(error)) from None
        return {
            topic: {kind: [one for one in found if (one.topic, one.kind) == (topic, kind)] for kind in KINDS}
            for topic in dict.fromkeys(one.topic for one in found)
        }

    def link(self, target: str, *words: nodes.Node) -> nodes.paragraph:
        """Make a paragraph of a link."""
        paragraph = nodes.paragraph("", "", link(self, target, *words, kind=LABEL))
        set_source_info(self, paragraph)
        return paragraph

    def words(self, text: str, **options: object) -> nodes.paragraph:
        """Make a paragraph of words."""
        paragraph = nodes.paragraph(text, text, **options)
        set_source_info(self, paragraph)
        return paragraph


class PracticeTable(Practice):
    """The directive ``{practice-table}``: how much there is of each topic."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        found = self.gathered()
        head = [element("th", "", self.words(word), scope="col") for word in ("Topic", *KINDS.values())]
        rows = [self._row(topic, groups) for topic, groups in found.items()]
        total = {kind: sum(len(groups[kind]) for groups in found.values()) for kind in KINDS}
        rows.append(
            element(
                *("tr", "progress-total", element("th", "", self.words("All"), scope="row")),
                *(element("td", "", self.words(str(number)), data_kind=kind) for kind, number in total.items()),
            )
        )
        for path in (SHEET, PLAN):
            self.env.note_dependency(str(Path(self.env.srcdir, path)))
        steps = [
            element(
                "li", "progress-step", *parse(self, step.text), data_key=step.key, data_pieces=" ".join(step.pieces)
            )
            for step in read_plan(Path(self.env.srcdir))
        ]
        caption = element("caption", "", nodes.Text("What can be practised"))
        body = element("tbody", "", *rows)
        choose = element("p", "progress-choose progress-only")  # where a script puts its box: it has its room before
        return [
            choose,
            element("table", "progress-table", caption, element("thead", "", element("tr", "", *head)), body),
            element("ol", "progress-steps", *steps, hidden="hidden"),  # where the script finds the two-day plan
        ]

    def _row(self, topic: str, groups: dict[str, list[Piece]]) -> nodes.Element:
        name = element("th", "", self.link(f"missing-{topic}", nodes.Text(TOPICS[topic])), scope="row")
        places = {"question": f"index-{topic}", "item": f"quiz-topic-{topic}", "drill": f"missing-{topic}"}
        cells = [
            element(
                *("td", ""),
                self.link(places[kind], nodes.Text(str(len(group)))) if group else self.words("none"),
                data_kind=kind,
            )
            for kind, group in groups.items()
        ]
        return element("tr", "", name, *cells, data_topic=topic)


class PracticeLists(Practice):
    """The directive ``{practice-lists}``: every piece by topic, folded, with a link to where it stands."""

    def run(self) -> list[nodes.Node]:
        """Return the lists."""
        place = element("div", "progress-lists")
        for topic, groups in self.gathered().items():
            name = f"missing-{topic}"
            counts = ", ".join(f"{len(group)} {KINDS[kind].lower()}" for kind, group in groups.items() if group)
            title = element("span", "progress-name", nodes.Text(TOPICS[topic]))
            summary = element("summary", "", title, element("span", "progress-left", nodes.Text(counts)))
            parts = [part for kind, group in groups.items() if group for part in self._list(kind, group)]
            data = {"data_topic": topic, "data_title": TOPICS[topic]}
            place += element("details", "progress-topic", summary, *parts, id=name, **data)
            target(self.env, name, TOPICS[topic])
        return [place]

    def _list(self, kind: str, group: list[Piece]) -> list[nodes.Node]:
        head = heading(self, KINDS[kind], "progress-kind")
        return [head, element("ul", "progress-pieces", *(self._piece(one) for one in group), data_kind=kind)]

    def _piece(self, one: Piece) -> nodes.Element:
        children, messages = self.state.inline_text(" ".join(one.text.split()), self.lineno)
        paragraph = self.link(one.target, without_links(nodes.inline("", "", *children)))
        paragraph += [*messages, nodes.Text(" "), nodes.inline(one.level, one.level, classes=["question-level"])]
        return element("li", "progress-piece", paragraph, data_kind=one.kind, data_name=one.name)


class PracticePlace(SphinxDirective):
    """The directive ``{practice-place} NAME``: what a script fills; its content shows without JavaScript."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        return [element("div", f"progress-{self.arguments[0]}", *parse(self, self.content, offset=self.content_offset))]


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives with Sphinx."""
    for part in ("html", "questions_page", "quiz_page"):
        app.setup_extension(f"companion.book.site.{part}")
    app.add_directive("practice-table", PracticeTable)
    app.add_directive("practice-lists", PracticeLists)
    app.add_directive("practice-place", PracticePlace)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
