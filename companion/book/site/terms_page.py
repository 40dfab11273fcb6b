"""The index of terms: ``{term-list}`` shows those of ``terms.yml`` from A to Z, ``{term-count}`` counts them.

Every term has the label ``term-`` and its words. A section, a question or an exercise that no page has is warned of.
An abbreviation stands at its own letter and leads to its term: who looks for RoPE need not know what it stands for.
"""

import re
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import set_source_info

from companion.book.model import Question, Term
from companion.book.site.html import LABEL, link, target, without_links
from companion.book.site.letters import bar, heading, letter, order
from companion.book.site.questions_index import gather
from companion.book.terms import TERMS, is_looked_up, related, terms


def label_of(term: Term) -> str:
    """Return the label of the entry of a term."""
    return "term-" + "-".join(re.findall("[a-z0-9]+", term.name.casefold()))


class TermList(SphinxDirective):
    """The directive ``{term-list}``: letters to jump to, then the terms; ``js/terms.js`` adds a filter."""

    def run(self) -> list[nodes.Node]:
        """Return a box."""
        self.env.note_dependency(str(Path(self.env.srcdir, TERMS)))
        try:
            self.known = terms(Path(self.env.srcdir))
            self.questions = {item.name: item for item in gather(self.env)}
            gone = [name for term in self.known for name in term.questions if name not in self.questions]
            if gone:
                raise ValueError(f"{TERMS.name} names questions of the book: got {', '.join(gone)}.")
        except ValueError as error:
            raise self.error(str(error)) from None
        found = [(term.name, term) for term in self.known]
        found += [(alias, term) for term in self.known for alias in term.aliases if is_looked_up(alias, term)]
        found.sort(key=lambda one: order(one[0]))
        letters = bar(dict.fromkeys(letter(name) for name, _ in found))
        box = nodes.container("", nodes.container(classes=["term-filter"]), letters, classes=["term-list"])
        for first, group in groupby(found, lambda one: letter(one[0])):
            entries = [self._entry(term) if name == term.name else self._leads(name, term) for name, term in group]
            box += [heading(first), nodes.bullet_list("", *entries, classes=["terms"])]
        for node in (letters, *box.findall(nodes.rubric)):
            set_source_info(self, node)
        return [box]

    def _entry(self, term: Term) -> nodes.list_item:
        """Make the term, its other names, and a line for each kind of place."""
        label = label_of(term)
        target(self.env, label, term.name)
        other = ", ".join(term.aliases)
        name = nodes.paragraph("", "", nodes.strong(term.name, term.name), classes=["term-name"])
        entry = nodes.list_item("", name, nodes.paragraph(other, other, classes=["term-other"]), ids=[label])
        sections = [link(self, term.label, kind="ref")] if term.label else []
        drills = [link(self, exercise, kind="ref") for exercise in term.exercises]
        questions = [self._question(self.questions[name]) for name in term.questions]
        others = [self._to(other) for other in related(term, self.known)]
        for kind, links in (("Read", sections), ("Asked", questions), ("Write", drills), ("See also", others)):
            if links:
                line = nodes.paragraph("", "", nodes.inline(kind, kind, classes=["term-kind"]), classes=["term-place"])
                for to in links:
                    line += [nodes.Text(" "), nodes.inline("", "", to, classes=["term-link"])]
                entry += line
        for node in entry.findall(nodes.paragraph):
            set_source_info(self, node)
        return entry

    def _to(self, term: Term) -> nodes.Node:
        return link(self, label_of(term), nodes.Text(term.name), kind="ref")

    def _leads(self, name: str, term: Term) -> nodes.list_item:
        """Make the line of another name, which leads to the entry of its term."""
        line = nodes.paragraph("", "", nodes.strong(name, name), nodes.Text(": see "), self._to(term))
        set_source_info(self, line)
        return nodes.list_item("", line, classes=["term-see"])

    def _question(self, item: Question) -> nodes.Node:
        words, _ = self.state.inline_text(item.question, self.lineno)
        to = link(self, item.name, *without_links(nodes.inline("", "", *words)).children, kind=LABEL)
        to["page"] = f"book/{item.page}"
        return to


class TermCount(SphinxRole):
    """The role ``{term-count}``: how many ``terms`` there are, or ``words`` that lead to them."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        self.env.note_dependency(str(Path(self.env.srcdir, TERMS)))
        try:
            found = terms(Path(self.env.srcdir))
            numbers = {"terms": len(found), "words": sum(1 + len(term.aliases) for term in found)}
            if self.text not in numbers:
                raise ValueError(f"term-count knows {', '.join(numbers)}: got {self.text!r}.")
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]
        return [nodes.Text(f"{numbers[self.text]:,}")], []


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the role with Sphinx."""
    app.setup_extension("companion.book.site.questions_index")
    app.add_directive("term-list", TermList)
    app.add_role("term-count", TermCount())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
