"""The formula sheet: the directive ``{formulas}`` shows the lines of a group, ``{formula-count}`` counts them.

The lines stand in ``formulas.yml`` beside ``companion.chapters.interview.formulas``, by which the cells of the page
evaluate them. Each statement of a formula is a piece of mathematics of its own, so that a narrow page breaks between
them. Every text is a node of its own, so that Sphinx can translate it. A line has the label ``formula-ID``.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.book.formulas import FORMULAS, SHEET, read_formulas
from companion.book.model import Formula
from companion.book.site.html import link, parse


class Formulas(SphinxDirective):
    """The directive ``{formulas}``, with a group as its argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list with an entry for each line."""
        self.path = Path(self.env.srcdir, FORMULAS)
        self.env.note_dependency(str(self.path))
        try:
            formulas = read_formulas(self.path)
        except ValueError as error:
            raise self.error(str(error)) from None
        chosen = [formula for formula in formulas if formula.group == self.arguments[0]]
        if not chosen:
            raise self.error(f"{SHEET} has no group {self.arguments[0]!r}: use one of {self._groups(formulas)}.")
        return [nodes.bullet_list("", *(self._line(formula) for formula in chosen), classes=["formulas"])]

    def _groups(self, formulas: tuple[Formula, ...]) -> str:
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
        parsed = parse(self, formula.say, str(self.path))
        if len(parsed) != 1 or not isinstance(parsed[0], nodes.paragraph):
            raise self.error(f"{SHEET}, formula {formula.id}: say is one paragraph: got {formula.say!r}.")
        paragraph = parsed[0]
        paragraph["classes"].append("formula-say")
        words, _, label = formula.link.rpartition(" <")
        label = label.removesuffix(">")
        to = link(self, label, *map(nodes.Text, [words] * bool(words)), kind="ref")
        to.source, to.line = str(self.path), 1
        paragraph += nodes.inline("", "", nodes.Text(" Shown in: "), to, nodes.Text("."), classes=["formula-link"])
        return paragraph


class FormulaCount(SphinxRole):
    """The role ``{formula-count}``: how many lines a group has, or ``all`` of them."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        path = Path(self.env.srcdir, FORMULAS)
        self.env.note_dependency(str(path))
        try:
            groups = [formula.group for formula in read_formulas(path)]
            number = len(groups) if self.text == "all" else groups.count(self.text)
            if not number:
                raise ValueError(f"{SHEET} has no group {self.text!r}.")
        except ValueError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.Text(str(number))], []


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the role with Sphinx."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("formulas", Formulas)
    app.add_role("formula-count", FormulaCount())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
