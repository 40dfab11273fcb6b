"""The directive ``{quiz}``: every item as a question with its answer and reasons folded under it, basic ones first.

The rules of an item are those of ``companion.book.quiz``. The page is complete without JavaScript: options carry
letters, and a ``<details>`` gives the answer and a reason for each. The scripts turn the same elements into controls.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from companion.book.claims import ledger_files, read_ledger
from companion.book.model import ITEM_KINDS, LEVELS, Item, Number, Option
from companion.book.quiz import read_quiz
from companion.book.site.html import element, link, parse, target
from companion.book.topics import topic_title


def shuffled(steps: Iterable[Option], item: str) -> list[tuple[int, Option]]:
    """Give steps with their places in an order that does not tell the right one, the same in each build."""
    placed = list(enumerate(steps, 1))
    mixed = sorted(placed, key=lambda step: hashlib.sha256(f"{item}/{step[1].text}".encode()).digest())
    return mixed if mixed != placed else [*placed[1:], placed[0]]


def written(number: Number, unit: str) -> str:
    """Write a key as a reader would: with separators, and without digits that nobody asked for."""
    value = f"{number.key:,}" if number.key == int(number.key) and abs(number.key) < 1e15 else f"{number.key:.6g}"
    return f"{value} {unit}".strip()


class Quiz(SphinxDirective):
    """The directive ``{quiz}``."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the controls and a section for each topic."""
        root = Path(self.env.srcdir)
        try:
            items = read_quiz(root)
        except ValueError as error:
            raise self.error(str(error)) from None
        self.claims = self._claims()
        result: list[nodes.Node] = [element("div", "quiz-desk", data_items=len(items))]
        for topic in dict.fromkeys(item.topic for item in items):
            chosen = sorted((item for item in items if item.topic == topic), key=lambda item: item.level)
            self.env.note_dependency(str(chosen[0].source))
            title = topic_title(topic)
            section = nodes.section("", ids=[f"quiz-topic-{topic}"], names=[], classes=["quiz-topic"])
            target(self.env, f"quiz-topic-{topic}", title)
            section += self._placed(nodes.title(title, title), chosen[0])
            section.extend(self._item(item, f"{title}, {number}") for number, item in enumerate(chosen, 1))
            result.append(section)
        return result

    def _claims(self) -> dict[str, str]:
        """Say what the claims say, by label. A claim may be wrong, so a link must not read as if it were a fact."""
        for path in ledger_files(Path(self.env.srcdir)).values():
            self.env.note_dependency(str(path))
        claims = read_ledger(Path(self.env.srcdir)).claims
        return {f"claim-{claim.id}": f"the test of “{claim.claim.strip().rstrip('.')}”" for claim in claims}

    def _placed(self, node: nodes.Element, item: Item) -> nodes.Element:
        node.source, node.line = str(item.source), item.line
        return node

    def _words(self, text: str, item: Item, name: str) -> nodes.Element:
        """Make a paragraph of words that the page adds itself."""
        return self._placed(nodes.paragraph(text, text, classes=[name]), item)

    def _parsed(self, text: str, item: Item) -> list[nodes.Node]:
        """Parse a text of an item as the Markdown of the page."""
        return parse(self, text, str(item.source), item.line - 1)

    def _line(self, text: str, item: Item) -> list[nodes.Node]:
        """Parse what becomes the label of a control: one paragraph, without a link inside."""
        parsed = self._parsed(text, item)
        inside = any(node.next_node(nodes.reference) or node.next_node(addnodes.pending_xref) for node in parsed)
        if len(parsed) != 1 or not isinstance(parsed[0], nodes.paragraph) or inside:
            raise self.error(f"{item.where}: an option or a step is one paragraph without a link: got {text!r}.")
        return parsed

    def _item(self, item: Item, name: str) -> nodes.Element:
        several = "choose all that hold" if item.several else ITEM_KINDS[item.kind]
        tags = [element("span", "quiz-tag", nodes.Text(word)) for word in (LEVELS[item.level], several)]
        head = element("div", "quiz-head", element("span", "quiz-name", nodes.Text(name)), *tags, id=f"{item.id}-head")
        question = element("div", "quiz-question", *self._parsed(item.question, item), id=f"{item.id}-question")
        offered, reasons = getattr(self, f"_{item.kind}")(item)
        summary = element("summary", "quiz-summary", self._words("Answer and reasons", item, "quiz-fold"))
        shown = element("div", "quiz-read", self._link(item))
        box = element(
            *(
                "div",
                "quiz-item",
                head,
                question,
                *offered,
                element("details", "quiz-answer", summary, *reasons, shown),
            ),
            id=item.id,
            role="group",
            aria_labelledby=f"{item.id}-head",
            data_topic=item.topic,
            data_level=item.level,
            data_kind=item.kind,
            data_several="true" if item.several else "",
        )
        target(self.env, item.id, name)
        return self._placed(box, item)

    def _link(self, item: Item) -> nodes.Element:
        """Link to the place that shows it; ``any`` finds claims, sections and figures as well as equations."""
        paragraph = self._words("Shown in: ", item, "quiz-link")
        words = [nodes.Text(self.claims[item.link])] if item.link in self.claims else []
        paragraph += self._placed(link(self, item.link, *words), item)
        return paragraph

    def _reason(self, item: Item, right: bool, *children: nodes.Node) -> nodes.Element:
        mark = self._words("Right." if right else "Not right.", item, "quiz-mark")
        return element("li", "quiz-reason", mark, *children, data_right="true" if right else "false")

    def _choice(self, item: Item) -> tuple[list[nodes.Node], list[nodes.Node]]:
        offered = [element("li", "quiz-option", *self._line(option.text, item)) for option in item.options]
        reasons = [self._reason(item, option.right, *self._parsed(option.why, item)) for option in item.options]
        return [element("ol", "quiz-options", *offered)], [element("ol", "quiz-reasons", *reasons)]

    def _bug(self, item: Item) -> tuple[list[nodes.Node], list[nodes.Node]]:
        listing = nodes.literal_block(item.code, item.code, language="python", linenos=True)
        lines, offered, reasons = item.code.splitlines(), [], []
        for option in sorted(item.options, key=lambda option: option.line):
            code = nodes.literal(text=lines[option.line - 1].strip())
            text = self._words(f"Line {option.line}: ", item, "quiz-line")
            text += code
            offered.append(element("li", "quiz-option", text, data_line=option.line))
            mended = nodes.literal_block(item.repair, item.repair, language="python") if option.right else None
            children = self._parsed(option.why, item) + (
                [self._words("Repaired:", item, "quiz-mended"), mended] if mended else []
            )
            reasons.append(self._reason(item, option.right, *children))
        return [
            element("div", "quiz-listing", self._placed(listing, item)),
            element("ol", "quiz-options", *offered),
        ], [element("ol", "quiz-reasons", *reasons)]

    def _order(self, item: Item) -> tuple[list[nodes.Node], list[nodes.Node]]:
        offered = [
            element("li", "quiz-option", *self._line(step.text, item), data_place=place)
            for place, step in shuffled(item.steps, item.id)
        ]
        reasons = [
            element("li", "quiz-reason", *self._parsed(step.text, item), *self._parsed(step.why, item))
            for step in item.steps
        ]
        return [element("ul", "quiz-options", *offered)], [element("ol", "quiz-reasons quiz-steps", *reasons)]

    def _number(self, item: Item) -> tuple[list[nodes.Node], list[nodes.Node]]:
        known = [
            element(
                *("li", "quiz-reason", self._words(f"{written(wrong, item.unit)}:", item, "quiz-mark")),
                *self._parsed(wrong.why, item),
                data_key=repr(wrong.key),
            )
            for wrong in item.wrong
        ]
        key = self._words(written(item.answer, item.unit), item, "quiz-key")
        data = {"data_key": repr(item.answer.key), "data_within": repr(item.within), "data_unit": item.unit}
        answer = element("div", "quiz-number", key, *self._parsed(item.answer.why, item), **data)
        title = self._words("Wrong numbers, and where they come from", item, "quiz-known")
        return [], [answer, title, element("ul", "quiz-reasons", *known)]


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive with Sphinx."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("quiz", Quiz)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
