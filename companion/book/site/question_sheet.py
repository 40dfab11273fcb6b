"""The forty questions on paper: ``{question-sheet}`` shows each with its short answer, ``{sheet-count}`` counts them.

``{sheet-minutes}`` estimates their time, ``{linked-minutes}`` that of what a row of a plan links to.
``forty.yml`` of the chapter on interviews names the questions; their words come from the pages where they stand.
``read_plan`` tells what the steps of the two-day plan are, which the page of progress counts.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import set_source_info

from companion.book.drills import DRILLS, read_drills
from companion.book.entries import entries
from companion.book.model import Question
from companion.book.pages import page_file, read_page
from companion.book.schemas import SHEET_GROUP, check, refuse_doubles
from companion.book.site.html import LABEL, element, link, parse, target, without_links
from companion.book.site.questions_index import MINUTES_A_QUESTION, gather

logger = logging.getLogger(__name__)
SHEET = Path("companion", "chapters", "interview", "forty.yml")  # from the root of the book
PLAN = Path("book", "interview", "index.md")
_TABLE = re.compile(r":class: study-plan plan-two-days\n(.*?)\n```", re.DOTALL)
_PLACE = re.compile(r"\{(?:ref|doc)\}`(?:[^`<]*<)?([^`<>]+)>?`")


def read_sheet(root: Path) -> list[tuple[str, list[str]]]:
    """Read the groups of the sheet: a title, and names of questions in their order.

    Raises:
        ValueError: a group is not complete, or a question stands twice.
    """
    groups = []
    for line, entry in entries((root / SHEET).read_text("utf8"), SHEET.name):
        check(entry, SHEET_GROUP, f"{SHEET.name}, line {line}")
        groups.append((entry["title"], entry["questions"]))
    refuse_doubles((name for _, names in groups for name in names), SHEET.name)
    return groups


def group_label(title: str) -> str:
    """Return the label of a group of the sheet."""
    return f"sheet-{nodes.make_id(title)}"


@dataclass(frozen=True)
class Step:
    """A step of the two-day plan.

    Args:
        key: the first place that it leads to, by which the script keeps its tick.
        text: its Markdown.
        pieces: the questions of the groups of the sheet, the questions and the drills that it leads to.
    """

    key: str
    text: str
    pieces: tuple[str, ...]


def read_plan(root: Path) -> list[Step]:
    """Read the steps of the two-day plan from its table, in their order."""
    groups = {group_label(title): names for title, names in read_sheet(root)}
    table = _TABLE.search((root / PLAN).read_text("utf8"))
    steps = []
    for row in re.split(r"^\* - ", table[1], flags=re.MULTILINE)[2:]:
        text = " ".join(re.split(r"^  - ", row, flags=re.MULTILINE)[1].split())
        places = [place.removeprefix("/book/") for place in _PLACE.findall(text)]
        own = {place: [place.removeprefix("exr-")] for place in places if place.startswith(("q-", "exr-"))}
        names = (name for place in places for name in (groups | own).get(place, ()))
        steps.append(Step(places[0], text, tuple(names)))
    return steps


class QuestionSheet(SphinxDirective):
    """The directive ``{question-sheet}``: a section for each group, and its questions, numbered through."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        self.env.note_dependency(str(Path(self.env.srcdir, SHEET)))
        try:
            groups = read_sheet(Path(self.env.srcdir))
            known = {item.name: item for item in gather(self.env)}
            gone = [name for _, names in groups for name in names if name not in known]
            if gone:
                raise ValueError(f"{SHEET.name} names questions of the book: got {', '.join(gone)}.")
        except ValueError as error:
            raise self.error(str(error)) from None
        sections, start = [], 1
        for title, names in groups:
            label = group_label(title)
            list_ = nodes.enumerated_list("", *(self._entry(known[name]) for name in names), start=start)
            list_["enumtype"], list_["prefix"], list_["suffix"] = "arabic", "", "."
            heading = nodes.title(title, title)
            set_source_info(self, heading)
            sections += [nodes.section("", heading, list_, ids=[label], classes=["sheet-group"])]
            set_source_info(self, sections[-1])
            target(self.env, label, title)
            start += len(names)
        return [element("p", "sheet-tools"), *sections]  # where a script puts its button: it has its room before

    def _entry(self, item: Question) -> nodes.list_item:
        """Make a question, which links to its whole answer, and its short answer."""
        words, messages = self.state.inline_text(item.question, self.lineno)
        to = link(self, item.name, *without_links(nodes.inline("", "", *words)).children, kind=LABEL)
        to["page"] = f"book/{item.page}"
        asked = nodes.paragraph("", "", to, *messages, classes=["sheet-question"])
        set_source_info(self, asked)
        answer = parse(self, item.short, source=f"book/{item.page}, {item.name}")
        return nodes.list_item("", asked, nodes.container("", *answer, classes=["sheet-answer"]))


class SheetCount(SphinxRole):
    """The role ``{sheet-count}`Attention```: how many questions a group of the sheet has, or ``all`` of it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        self.env.note_dependency(str(Path(self.env.srcdir, SHEET)))
        try:
            groups = dict(read_sheet(Path(self.env.srcdir)))
            if self.text != "all" and self.text not in groups:
                raise ValueError(f"{SHEET.name} has no group {self.text!r}: use all, {', '.join(groups)}.")
            chosen = groups.values() if self.text == "all" else [groups[self.text]]
            return [nodes.Text(self.said(sum(map(len, chosen))))], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]

    def said(self, questions: int) -> str:
        """Return what stands on the page."""
        return str(questions)


class SheetMinutes(SheetCount):
    """The role ``{sheet-minutes}`Attention```: the time for these questions, with its unit."""

    def said(self, questions: int) -> str:
        """Return what stands on the page."""
        return f"{MINUTES_A_QUESTION * questions} min"


class linked_minutes(nodes.inline):
    """The place of a time that is known once its row of a table is read."""


class LinkedMinutes(SphinxRole):
    """The role ``{linked-minutes}``: the time for the pages, questions and exercises to which its row links."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return its place."""
        self.env.note_dependency(str(Path(self.env.srcdir, DRILLS)))
        return [linked_minutes("", self.text)], []


def add_up(app: Sphinx, doctree: nodes.document) -> None:
    """Put in the minutes of each row; one without a link to a question or an exercise is warned of."""
    places = list(doctree.findall(linked_minutes))
    drills = {f"exr-{drill.name}": drill.minutes for drill in read_drills(Path(app.srcdir))} if places else {}
    for place in places:
        row = place
        while row.parent is not None and not isinstance(row, nodes.row):
            row = row.parent
        minutes = 0
        for name in [to["reftarget"] for to in row.findall(addnodes.pending_xref)]:
            if page := name.partition("/book/")[2]:
                app.env.note_dependency(str(page_file(page, Path(app.srcdir))))
                minutes += read_page(page, Path(app.srcdir)).minutes
            minutes += drills.get(name, MINUTES_A_QUESTION * name.startswith("q-"))
        if not minutes:
            text = "linked-minutes: the row links to a page, a question or an exercise: got none."
            logger.warning(text, location=place)
        place.replace_self(nodes.Text(f"{minutes} min"))


def name_steps(app: Sphinx, doctree: nodes.document) -> None:
    """Give each step of a study plan an id, so that the way back leads to it."""
    for table in doctree.findall(nodes.table):
        if "study-plan" in table["classes"]:
            plan = next((name for name in table["classes"] if name.startswith("plan-")), "plan")
            for number, row in enumerate(table.next_node(nodes.tbody).findall(nodes.row), start=1):
                row["ids"].append(f"{plan}-step-{number}")


def note_stops(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Note the pages that the study plans lead to, and return those whose files change with it."""
    plan, stops = PLAN.with_suffix("").as_posix(), set()
    tables = env.get_doctree(plan).findall(nodes.table) if plan in env.found_docs else ()
    for table in (one for one in tables if "study-plan" in one["classes"]):
        for to in table.findall(addnodes.pending_xref):
            label = env.get_domain("std").anonlabels.get(to["reftarget"])
            stops.add(label[0] if label else to["reftarget"].strip("/"))
    stops &= env.found_docs
    changed = stops ^ getattr(env, "book_stops", set())
    env.book_stops = stops
    return sorted(changed & env.found_docs)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the roles with Sphinx."""
    app.setup_extension("companion.book.site.questions_index")
    app.add_directive("question-sheet", QuestionSheet)
    for name, role in (("sheet-count", SheetCount), ("sheet-minutes", SheetMinutes)):
        app.add_role(name, role())
    app.add_role("linked-minutes", LinkedMinutes())
    app.connect("doctree-read", add_up)
    app.connect("doctree-read", name_steps)
    app.connect("env-updated", note_stops)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
