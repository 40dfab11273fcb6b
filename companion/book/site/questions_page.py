"""The directive ``{interview-question}``: a question as a folded ``<details>``, whose summary is the question.

The rules of a question are those of ``questions.py``. Nothing of it needs JavaScript, and every text is a node of its
own, so that Sphinx can translate it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import set_source_info

from companion.book.questions import LEVELS, PARTS, check_fields, split_follow_ups, split_options, split_parts
from companion.book.site import questions_index


class question(nodes.General, nodes.Element):
    """A folded question."""


class question_summary(nodes.General, nodes.Element):
    """What of a question shows while it is folded."""


class question_label(nodes.General, nodes.TextElement):
    """A piece of text in the summary, of its own so that it can be translated."""


class InterviewQuestion(SphinxDirective):
    """The directive ``{interview-question}``."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the folded question."""
        where = f"{Path(self.get_source_info()[0]).name}, line {self.lineno}"
        text = " ".join(self.arguments[0].split())
        try:
            options, taken = split_options(list(self.content), where)  # not MyST's: it would take `:::` for an option
            values = check_fields(options, where)
            parts = split_parts(list(self.content)[taken:], where)
            split_follow_ups("\n".join(parts["follow-ups"][1]), where)
        except ValueError as error:
            raise self.error(str(error)) from None
        name = values["name"]
        box = question("", ids=[name], classes=["interview-question"])
        set_source_info(self, box)
        self.env.get_domain("std").note_hyperlink_target(name, self.env.docname, name, text)
        box += question_summary(
            "",
            self._label(text, "question-text"),
            self._label(values["kind"], "question-kind"),
            self._label(LEVELS[values["level"]], "question-level", f"level-{values['level']}"),
        )
        for part, title in PARTS.items():
            box += self._heading(title)
            inner = nodes.container(classes=[f"question-{part}"])
            first, lines = parts[part]
            self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), taken + first, inner)
            box += inner
        box += self._heading("Shown in")
        box += self._evidence(values["evidence"])
        return [box]

    def _label(self, text: str, *classes: str) -> question_label:
        children, messages = self.state.inline_text(text, self.lineno)
        label = question_label(text, "", *children, *messages, classes=list(classes))
        set_source_info(self, label)
        return label

    def _heading(self, text: str) -> nodes.rubric:
        heading = nodes.rubric(text, text)
        heading["heading-level"] = heading["level"] = 3  # Sphinx's name for it, and MyST-Parser's
        heading["classes"].append("question-heading")
        set_source_info(self, heading)
        return heading

    def _evidence(self, labels: Iterable[str]) -> nodes.bullet_list:
        """List links to the evidence; ``any`` finds claims, sections and figures as well as equations."""
        items = nodes.bullet_list(classes=["question-evidence"])
        for label in labels:
            link = addnodes.pending_xref(
                "",
                nodes.inline("", label),
                refdomain="",
                reftype="any",
                reftarget=label,
                refdoc=self.env.docname,
                refexplicit=False,
                refwarn=True,
            )
            set_source_info(self, link)
            paragraph = nodes.paragraph("", "", link)
            if label.startswith("eq-"):
                paragraph.insert(0, nodes.Text("Equation "))
            items += nodes.list_item("", paragraph)
        return items


def _open(tag: str, class_name: str = "") -> Callable:
    def visit(self: object, node: nodes.Element) -> None:
        self.body.append(self.starttag(node, tag, "", CLASS=class_name))

    return visit


def _close(tag: str) -> Callable:
    def depart(self: object, node: nodes.Element) -> None:
        self.body.append(f"</{tag}>\n")

    return depart


def _nothing(self: object, node: nodes.Element) -> None:
    """Let other builders write the children."""


def setup(app: Sphinx) -> dict[str, object]:
    """Register the nodes and the directive with Sphinx."""
    for node, tag in ((question, "details"), (question_summary, "summary"), (question_label, "span")):
        other = dict.fromkeys(("latex", "text", "man", "texinfo"), (_nothing, _nothing))
        app.add_node(node, html=(_open(tag), _close(tag)), **other)
    app.add_directive("interview-question", InterviewQuestion)
    app.add_css_file("css/questions.css")
    questions_index.register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
