"""The formula sheet: the directive ``{formulas}`` shows the lines of a group, ``{formula-count}`` counts them.

The lines stand in ``formulas.yml`` beside ``companion.chapters.interview.formulas``, by which the cells of the page
evaluate them. Each statement of a formula is a piece of mathematics of its own, so that a narrow page breaks between
them. Every text is a node of its own, so that Sphinx can translate it. A line has the label ``formula-ID``.
"""

import re
from dataclasses import dataclass, fields
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

FORMULAS = Path("companion", "chapters", "interview", "formulas", "formulas.yml")  # from the root of the book
SHEET = FORMULAS.name
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Formula:
    """One line of the sheet.

    Args:
        id: lower-case words joined by hyphens.
        group: the section of the sheet.
        name: what it is.
        latex: statements separated by a ``quad``.
        say: the condition or the trap, in a line of Markdown.
        link: the label of a section that derives or measures it, or words of our own and the label, ``words <label>``.
    """

    id: str
    group: str
    name: str
    latex: str
    say: str
    link: str

    @property
    def statements(self) -> list[str]:
        """The parts that a narrow page may put on lines of their own."""
        return [part.strip() for part in re.split(r"\\quad\b", self.latex)]


def read_formulas(text: str) -> list[Formula]:
    """Read the sheet and refuse one whose lines are not complete.

    Raises:
        ValueError: a field is missing, unknown or empty, an id has another form or stands twice, or an entry has no id.
    """
    entries = yaml.safe_load(text)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{SHEET} is a list of lines with an id: got {type(entries).__name__}.")
    known, found = [field.name for field in fields(Formula)], []
    for entry in entries:
        name = f"{SHEET}, formula {entry.get('id', '?')}"
        if wrong := sorted(set(known) ^ set(entry)):
            raise ValueError(f"{name}: the fields are {', '.join(known)}. Missing or unknown: {', '.join(wrong)}.")
        if empty := [key for key in known if not isinstance(entry[key], str) or not entry[key].strip()]:
            raise ValueError(f"{name}: each field is a text. Empty or no text: {', '.join(empty)}.")
        formula = Formula(**{key: value.strip() for key, value in entry.items()})
        if not _ID.fullmatch(formula.id) or formula.id in {other.id for other in found}:
            raise ValueError(f"{name}: an id is lower-case words joined by hyphens, and no other line has it.")
        found.append(formula)
    return found


class Formulas(SphinxDirective):
    """The directive ``{formulas}``, with a group as its argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list with an entry for each line."""
        self.path = Path(self.env.srcdir, FORMULAS)
        self.env.note_dependency(str(self.path))
        try:
            formulas = read_formulas(self.path.read_text("utf8"))
        except ValueError as error:
            raise self.error(str(error)) from None
        chosen = [formula for formula in formulas if formula.group == self.arguments[0]]
        if not chosen:
            raise self.error(f"{SHEET} has no group {self.arguments[0]!r}: use one of {self._groups(formulas)}.")
        return [nodes.bullet_list("", *(self._line(formula) for formula in chosen), classes=["formulas"])]

    def _groups(self, formulas: list[Formula]) -> str:
        return ", ".join(dict.fromkeys(formula.group for formula in formulas))

    def _line(self, formula: Formula) -> nodes.Node:
        name = nodes.paragraph("", "", nodes.strong(formula.name, formula.name), classes=["formula-name"])
        shown = nodes.paragraph("", "", classes=["formula-math"])
        for statement in formula.statements:
            math = nodes.math(statement, rf"\displaystyle {statement}", classes=["formula-part"])
            shown += [math, nodes.Text(" ")]
        label = f"formula-{formula.id}"
        line = nodes.list_item("", name, shown, self._say(formula), ids=[label], classes=["formula"])
        for node in (line, name, shown):
            node.source, node.line = str(self.path), 1
        domain = self.env.get_domain("std")
        domain.anonlabels[label] = self.env.docname, label
        domain.labels[label] = self.env.docname, label, formula.name
        return line

    def _say(self, formula: Formula) -> nodes.Node:
        """Make the paragraph of the condition, with the link behind it."""
        box = nodes.container()
        self.state.nested_parse(StringList(formula.say.splitlines(), source=str(self.path)), 0, box)
        if len(box.children) != 1 or not isinstance(box[0], nodes.paragraph):
            raise self.error(f"{SHEET}, formula {formula.id}: say is one paragraph: got {formula.say!r}.")
        paragraph = box[0]
        paragraph["classes"].append("formula-say")
        words, _, label = formula.link.rpartition(" <")
        label = label.removesuffix(">")
        target = addnodes.pending_xref(
            "",
            nodes.inline("", words or label),
            refdomain="std",
            reftype="ref",
            reftarget=label,
            refdoc=self.env.docname,
            refexplicit=bool(words),
            refwarn=True,
        )
        target.source, target.line = str(self.path), 1
        paragraph += nodes.inline("", "", nodes.Text(" Shown in: "), target, nodes.Text("."), classes=["formula-link"])
        return paragraph


class FormulaCount(SphinxRole):
    """The role ``{formula-count}``: how many lines a group has, or ``all`` of them."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        path = Path(self.env.srcdir, FORMULAS)
        self.env.note_dependency(str(path))
        try:
            groups = [formula.group for formula in read_formulas(path.read_text("utf8"))]
            number = len(groups) if self.text == "all" else groups.count(self.text)
            if not number:
                raise ValueError(f"{SHEET} has no group {self.text!r}.")
        except ValueError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.Text(str(number))], []


def add_style(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Load the style of the sheet on its page, and nowhere else."""
    if doctree is not None and any("formulas" in node["classes"] for node in doctree.findall(nodes.bullet_list)):
        app.add_css_file("css/formulas.css")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive, the role and the style with Sphinx."""
    app.add_directive("formulas", Formulas)
    app.add_role("formula-count", FormulaCount())
    app.connect("html-page-context", add_style)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
