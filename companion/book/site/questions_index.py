"""Every question of the book on one page: the directive ``{question-index}``, and two roles that count.

``{question-count}`attention compute``` is a number of questions, ``{study-minutes}`read attention``` a time, estimated.
All read the questions of the notebooks that stand in the table of contents, so that nothing stands twice. Without
JavaScript the index is a plain list by topic; ``js/questions.js`` adds the filter.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import set_source_info

from companion.book import toc
from companion.book.model import LEVELS, QUESTION_KINDS, Question
from companion.book.pages import Page
from companion.book.questions import count, read_book
from companion.book.site.chapter_pages import chapter_pages
from companion.book.site.html import LABEL, heading, link, table, target, without_links
from companion.book.topics import TOPICS

MINUTES_A_QUESTION = 5  # our assumption: to say an answer aloud, and to compare it


def gather(env: BuildEnvironment) -> list[Question]:
    """Read every question of the book, and make the page that is read depend on those pages.

    Raises:
        ValueError: a question is not complete, two have one name, or a topic is unknown.
    """
    root = Path(env.srcdir)
    for path in [root / "_toc.yml", *toc.notebooks(root)]:
        env.note_dependency(str(path))
    found = read_book(root)
    for item in found:
        if item.topic not in TOPICS:
            raise ValueError(f"{item.name}: topic is one of {', '.join(TOPICS)}: got {item.topic!r}.")
    return found


class QuestionCount(SphinxRole):
    """The role ``{question-count}`attention compute```: the number of questions that have all the words said."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        try:
            return [nodes.Text(str(count(gather(self.env), self.text)))], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]


def minutes(env: BuildEnvironment, words: str) -> int:
    """Estimate the minutes to ``read`` chapters, or to answer the ``questions`` of topics, all or those of some levels.

    To read a chapter is to read its index and its core pages.

    Raises:
        ValueError: the first word is neither, or a chapter or topic is unknown.
    """
    what, *names = words.split()
    levels = [name for name in names if name.isdecimal()]
    topics = [name for name in names if name not in levels]
    if what == "questions" and topics:
        found = gather(env)
        wanted = [f"{topic} {level}" for topic in topics for level in levels or [""]]
        return MINUTES_A_QUESTION * sum(count(found, words) for words in wanted)
    core = {name: core_pages(env, name) for name in names}  # by chapter
    if what != "read" or not all(core.values()) or not names:
        raise ValueError(f"minutes are those to read chapters or for the questions of topics: got {words!r}.")
    return 5 * max(1, round(sum(page.minutes for found in core.values() for page in found) / 5))


def core_pages(env: BuildEnvironment, chapter: str) -> list[Page]:
    """Read the index and the core pages of a chapter."""
    return [page for page in chapter_pages(env, chapter) if page.kind in ("index", "core")]


class StudyMinutes(SphinxRole):
    """The role ``{study-minutes}`read attention```, ``questions attention`` or ``questions attention 1 2``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number, with its unit."""
        try:
            return [nodes.Text(f"{minutes(self.env, self.text)} min")], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]


class QuestionIndex(SphinxDirective):
    """The directive ``{question-index}``: every question by topic, the easier ones first, then counts."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        try:
            found = gather(self.env)
        except ValueError as error:
            raise self.error(str(error)) from None
        index = nodes.container(classes=["question-index"])
        for topic, title in TOPICS.items():
            here = sorted((item for item in found if item.topic == topic), key=lambda item: item.level)
            if here:
                name = f"index-{topic}"
                target(self.env, name, title)
                entries = nodes.bullet_list("", *map(self._entry, here), classes=["question-entries"])
                group = heading(self, f"{title} ({len(here)})", "question-heading"), entries
                index += nodes.container("", *group, ids=[name], classes=["question-group", f"topic-{topic}"])
        return [index, *self._table(found)]

    def _table(self, items: list[Question]) -> list[nodes.Node]:
        """Count by topic and kind, and by topic and level."""
        words = [*QUESTION_KINDS, *map(str, LEVELS), ""]
        rows = [["Topic", *QUESTION_KINDS, *LEVELS.values(), "all"]]
        rows += [
            [title, *(str(count(items, f"{topic} {word}")) for word in words)]
            for topic, title in TOPICS.items()
            if count(items, topic)
        ]
        rows.append(["All", *(str(count(items, word or "total")) for word in words)])
        return table(self, rows, "question-counts listed")

    def _entry(self, item: Question) -> nodes.list_item:
        """One question: a link to where it stands, its kind and its level."""
        words, messages = self.state.inline_text(item.question, self.lineno)
        to = link(self, item.name, *without_links(nodes.inline("", "", *words)).children, kind=LABEL)
        to["page"] = f"book/{item.page}"
        paragraph = nodes.paragraph("", "", to, *messages)
        for word, name in ((item.kind, "kind"), (LEVELS[item.level], "level")):
            paragraph += [nodes.Text(" "), nodes.inline(word, word, classes=[f"question-{name}"])]
        set_source_info(self, paragraph)
        return nodes.list_item("", paragraph, classes=["question-entry", f"kind-{item.kind}", f"level-{item.level}"])


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the roles with Sphinx."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("question-index", QuestionIndex)
    app.add_role("question-count", QuestionCount())
    app.add_role("study-minutes", StudyMinutes())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
