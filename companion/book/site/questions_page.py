"""The directive ``{interview-question}``: a question as a folded ``<details>``, whose summary is the question.

The rules of a question are those of ``companion.book.questions``. Nothing of it needs JavaScript. A page of text ends
with the questions whose *Shown in* names a place of it.
"""

from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import set_source_info

from companion.book import pages, toc
from companion.book.model import LEVELS
from companion.book.questions import PARTS, check_fields, read_book, split_follow_ups, split_options, split_parts
from companion.book.site.html import LABEL, element, evidence, heading, label, link_on, parse, target
from companion.book.site.pictures import show


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
            follow_ups = split_follow_ups("\n".join(parts["follow-ups"][1]), where)
            rare = values.get("rare", 0)
            if rare >= len(follow_ups):
                raise ValueError(f"{where}: rare follow-ups are fewer than all {len(follow_ups)}: got {rare}.")
            picture = show(self.env, *values["picture"].split()) if "picture" in values else []
        except ValueError as error:
            raise self.error(str(error)) from None
        level = values["level"]
        summary = element(
            *("summary", "", label(self, "span", "question-text", text)),
            label(self, "span", "question-kind", values["kind"]),
            label(self, "span", f"question-level level-{level}", LEVELS[level]),
        )
        box = element("details", "interview-question", summary, id=values["name"])
        set_source_info(self, box)
        target(self.env, values["name"], text)
        for part, title in PARTS.items():
            first, lines = parts[part]
            inner = parse(self, lines, offset=taken + first)
            if part == "full":
                inner = [*picture, *inner]
            elif part == "follow-ups" and rare:
                inner += self._fold(inner[0], rare)
            box += [
                heading(self, title, "question-heading"),
                nodes.container("", *inner, classes=[f"question-{part}"]),
            ]
        box += [heading(self, "Shown in", "question-heading"), evidence(self, values["evidence"])]
        return [box]

    def _fold(self, all_: nodes.enumerated_list, rare: int) -> list[nodes.Node]:
        """Take the last follow-ups off a list, into a fold; they keep their numbers."""
        last = all_.children[-rare:]
        del all_.children[-rare:]
        rest = nodes.enumerated_list("", *last, **all_.attributes, start=len(all_) + 1)
        return [element("details", "question-rare", label(self, "summary", "", f"Asked less often ({rare})"), rest)]


def lead_to_code(app: Sphinx, doctree: nodes.document) -> None:
    """Let *Shown in* lead to the code below a question where it would name the section that the reader is in."""
    for shown in [box for box in doctree.findall(nodes.bullet_list) if "question-evidence" in box["classes"]]:
        box, section = shown.parent, shown.parent.parent
        code = None
        for below in section[section.index(box) + 1 :]:
            if isinstance(below, nodes.section) or "interview-question" in below.get("classes", []):
                break
            if below.get("nb_element") == "cell_code":
                code = below
                break
        own = {*section["ids"], *section["names"]}
        for to in [to for to in shown.findall(addnodes.pending_xref) if to["reftarget"] in own]:
            if code is not None:
                if not code["ids"]:
                    code["ids"].append(f"code-{box['ids'][0]}")
                to.replace_self(nodes.reference("", "the code below this answer", refid=code["ids"][0]))


def lead_to_questions(app: Sphinx, doctree: nodes.document) -> None:
    """Close a page of text with the interview questions that it answers, the basic ones first."""
    sections = list(doctree.findall(nodes.section))
    if not sections or pages.kind(toc.page(app.env.docname)) not in ("core", "deeper"):
        return
    own = {name for node in doctree.findall(nodes.Element) for name in node.get("names", ())}
    own |= {node["label"] for node in doctree.findall(nodes.math_block) if node.get("label")}
    asked = [item for item in read_book(Path(app.srcdir)) if own & {*item.evidence}]
    links = nodes.bullet_list()
    for item in sorted(asked, key=lambda item: item.level):
        app.env.note_dependency(app.env.doc2path(f"book/{item.page}"))
        to = link_on(app.env.docname, item.name, nodes.Text(item.question.replace("`", "")), kind=LABEL)
        links += nodes.list_item("", nodes.paragraph("", "", to))
    if asked:
        title = f"Interview questions on this page ({len(asked)})"
        summary = element("summary", "sd-summary-title sd-card-header", nodes.Text(title))
        box = element("details", "sd-dropdown sd-card page-questions", summary, element("div", "sd-card-body", links))
        sections[-1] += box


def join_folds(doctree: nodes.document) -> None:
    """Put cells that are folded whole, with no word between them, into the fold of the first."""
    kept = None
    for cell in [box for box in doctree.findall(nodes.container) if box.get("nb_element") == "cell_code"]:
        if len(cell) != 1 or not isinstance(cell[0], HideCodeCellNode):
            kept = None
        elif kept and cell.previous_sibling() is kept and cell[0]["prompt_show"] == kept[0]["prompt_show"]:
            kept[0].extend(cell[0].children)
            kept["ids"].extend(cell["ids"])
            cell.parent.remove(cell)
        else:
            kept = cell


class JoinedFolds(SphinxPostTransform):
    """On a page of questions one fold holds the code below an answer."""

    default_priority = 200  # the folds are made at 199
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Join them."""
        if toc.page(self.env.docname).split("/")[-1].startswith("questions"):
            join_folds(self.document)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive with Sphinx."""
    for part in ("html", "questions_index", "pictures"):
        app.setup_extension(f"companion.book.site.{part}")
    app.add_directive("interview-question", InterviewQuestion)
    app.connect("doctree-read", lead_to_code)
    app.connect("doctree-read", lead_to_questions)
    app.add_post_transform(JoinedFolds)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
