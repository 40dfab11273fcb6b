"""Every question of the book on one page: the directive ``{question-index}``, and two roles that count.

``{question-count}`attention compute``` is a number of questions, ``{study-minutes}`read attention``` a time, estimated.
All read the questions of the notebooks that stand in the table of contents, as ``questions.py`` reads them, so that
nothing stands twice. Without JavaScript the index is a plain list by topic; ``js/questions.js`` adds the filter.
"""

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from questions import KINDS, LEVELS, TOPICS, Question, count, read_questions, reading_words
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode, set_source_info
from vocabulary import SHARED

LINK = "interview-question"
SCRIPTS = {"interview-question": "question-rating.js", "question-index": "questions.js", "study-plan": "plans.js"}
WORDS_A_MINUTE = 175  # the slow end of what Brysbaert (2019) gives for most adults and English non-fiction
MINUTES_A_QUESTION = 5  # our assumption: to say an answer aloud, and to compare it


def gather(env: BuildEnvironment) -> list[tuple[str, Question]]:
    """Read every question of the book with its page, and make the page that is read depend on those pages.

    Raises:
        ValueError: a question is not complete, two have one name, or a topic is unknown.
    """
    found: list[tuple[str, Question]] = []
    env.note_dependency(str(Path(env.srcdir, "_toc.yml")))
    for docname in sorted(env.found_docs):
        path = Path(env.doc2path(docname))
        if path.suffix != ".ipynb":
            continue
        env.note_dependency(str(path))
        found += [(docname, item) for item in read_questions(path)]
    names: dict[str, str] = {}
    for docname, item in found:
        if item.name in names:
            raise ValueError(f"{item.name} names two questions, in {names[item.name]} and {docname}. Rename one.")
        if item.topic not in TOPICS:
            raise ValueError(f"{item.name}: topic is one of {', '.join(TOPICS)}: got {item.topic!r}.")
        names[item.name] = docname
    return found


class QuestionCount(SphinxRole):
    """The role ``{question-count}`attention compute```: the number of questions that have all the words said."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        try:
            return [nodes.Text(str(count([item for _, item in gather(self.env)], self.text)))], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]


def minutes(env: BuildEnvironment, words: str) -> int:
    """Estimate the minutes to ``read`` chapters, or to answer the ``questions`` of topics, all or those of some levels.

    Raises:
        ValueError: the first word is neither, or a chapter or topic is unknown.
    """
    what, *names = words.split()
    levels = [name for name in names if name.isdecimal()]
    topics = [name for name in names if name not in levels]
    if what == "questions" and topics:
        found = [item for _, item in gather(env)]
        wanted = [f"{topic} {level}" for topic in topics for level in levels or [""]]
        return MINUTES_A_QUESTION * sum(count(found, words) for words in wanted)
    pages = {Path(page).name: Path(env.doc2path(page)) for page in env.found_docs}
    missing = [name for name in names if pages.get(name, Path()).suffix != ".ipynb"]
    if what != "read" or not names or missing:
        raise ValueError(f"minutes are those to read chapters or for the questions of topics: got {words!r}.")
    for name in names:
        env.note_dependency(str(pages[name]))
    return 5 * max(1, round(sum(reading_words(pages[name]) for name in names) / WORDS_A_MINUTE / 5))


class StudyMinutes(SphinxRole):
    """The role ``{study-minutes}`read attention```, ``questions attention`` or ``questions attention 1 2``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number, with its unit."""
        try:
            return [nodes.Text(f"{minutes(self.env, self.text)} min")], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]


def without_links(text: nodes.Element) -> nodes.Element:
    """Keep the words of every link in a text, which becomes a link itself."""
    for link in [*text.findall(addnodes.pending_xref), *text.findall(nodes.reference)]:
        link.replace_self(link.children)
    return text


class QuestionIndex(SphinxDirective):
    """The directive ``{question-index}``: counts, then every question by topic, the easier ones first."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        try:
            found = gather(self.env)
        except ValueError as error:
            raise self.error(str(error)) from None
        items = [item for _, item in found]
        index = nodes.container(classes=["question-index"])
        for topic, title in TOPICS.items():
            here = sorted(((doc, item) for doc, item in found if item.topic == topic), key=lambda pair: pair[1].level)
            if here:
                name = f"index-{topic}"
                group = nodes.container(ids=[name], classes=["question-group", f"topic-{topic}"])
                self.env.get_domain("std").note_hyperlink_target(name, self.env.docname, name, title)
                group += self._heading(f"{title} ({len(here)})")
                entries = nodes.bullet_list(classes=["question-entries"])
                entries.extend(self._entry(doc, item) for doc, item in here)
                group += entries
                index += group
        return [*self._table(items), index]

    def _table(self, items: list[Question]) -> list[nodes.Node]:
        """Count by topic and kind, and by topic and level."""
        columns = [*KINDS, *LEVELS.values(), "all"]
        words = [*KINDS, *map(str, LEVELS), ""]
        rows = [["Topic", *columns]]
        rows += [
            [title, *(str(count(items, f"{topic} {word}")) for word in words)]
            for topic, title in TOPICS.items()
            if count(items, topic)
        ]
        rows.append(["All", *(str(count(items, word or "total")) for word in words)])
        lines = ["```{list-table}", ":header-rows: 1", ":class: question-counts", ""]
        for row in rows:
            lines += [f"{'  -' if number else '* -'} {cell}" for number, cell in enumerate(row)]
        hint = "The table is wider than a narrow screen: it scrolls sideways, and the topics stay."
        box = nodes.container("", nodes.paragraph(hint, hint, classes=["question-sideways"]))
        set_source_info(self, box[0])
        self.state.nested_parse(StringList([*lines, "```"], source=self.get_source_info()[0]), 0, box)
        return box.children

    def _heading(self, text: str) -> nodes.rubric:
        heading = nodes.rubric(text, text)
        heading["heading-level"] = heading["level"] = 3
        heading["classes"].append("question-heading")
        set_source_info(self, heading)
        return heading

    def _entry(self, docname: str, item: Question) -> nodes.list_item:
        """One question: a link to where it stands, its kind and its level."""
        words, messages = self.state.inline_text(item.question, self.lineno)
        text = without_links(nodes.inline("", "", *words))
        link = addnodes.pending_xref(
            "", text, refdomain="", reftype=LINK, reftarget=item.name, refdoc=self.env.docname, refwarn=True
        )
        link["page"] = docname
        set_source_info(self, link)
        paragraph = nodes.paragraph("", "", link, *messages)
        for word, name in ((item.kind, "kind"), (LEVELS[item.level], "level")):
            badge = nodes.inline(word, word, classes=[f"question-{name}"])
            paragraph += [nodes.Text(" "), badge]
        set_source_info(self, paragraph)
        return nodes.list_item("", paragraph, classes=["question-entry", f"kind-{item.kind}", f"level-{item.level}"])


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Make the link of an entry; a question that is not on its page is left unresolved, and so warned of."""
    if node["reftype"] != LINK:
        return None
    docname, label = env.get_domain("std").anonlabels.get(node["reftarget"], ("", ""))
    if docname != node["page"]:
        return None
    return make_refnode(app.builder, node["refdoc"], docname, label, content)


def add_script(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Load the scripts of questions, of their index and of plans on pages that have them, and on no others."""
    if doctree is None:
        return
    boxes = [name for box in doctree.findall(nodes.Element) for name in box.get("classes", [])]
    scripts = [script for name, script in SCRIPTS.items() if name in boxes]
    for script in [*SHARED, *scripts] if scripts else []:
        app.add_js_file(f"js/{script}", loading_method="defer")


def register(app: Sphinx) -> None:
    """Register the directive, the role and the steps of the build with Sphinx."""
    app.setup_extension("vocabulary")
    app.add_directive("question-index", QuestionIndex)
    app.add_role("question-count", QuestionCount())
    app.add_role("study-minutes", StudyMinutes())
    app.connect("missing-reference", resolve)
    app.connect("html-page-context", add_script)
