r"""Quiz items: ``quiz.yml`` in the folder of a chapter, read by the site and, without Sphinx, by tests and other tools.

An item is a choice, a number, an order or a bug; CONTRIBUTING.md gives an example of each:

    - id: quiz-scale-variance
      topic: attention
      level: 1
      kind: choice
      question: What is the variance of $q \cdot k$?
      link: claim-dot-product-variance
      options:
        - {text: It is $d_k$., right: true, why: A sum of $d_k$ terms of variance 1.}
        - {text: It is 1., why: That is the variance after the division.}
        - {text: It is $d_k^2$., why: Variances of independent terms add, they do not multiply.}

``read_quiz`` returns the items or refuses them; a message names the file, the line, the item and the rule.
How they look on the site is the matter of ``companion.book.site.quiz_page``.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from companion.book import toc

KINDS = {"choice": "choose", "number": "compute", "order": "put in order", "bug": "find the bug"}
LEVELS = {1: "basic", 2: "solid", 3: "hard"}
COMMON = ("id", "topic", "level", "kind", "question", "link")
OWN = {  # the fields of each kind: those that it needs, then those that it may have
    "choice": (("options",), ("several",)),
    "number": (("answer", "key", "why", "wrong"), ("within", "unit")),
    "order": (("steps",), ()),
    "bug": (("code", "options", "repair", "shows"), ()),
}
_ID = re.compile(r"quiz(-[a-z0-9]+)+")
_LABEL = re.compile(r"(?!eq-)[A-Za-z0-9][\w.-]*")  # the link to an equation would read "(1)"


@dataclass(frozen=True)
class Option:
    """One answer to choose: a text, or for a bug the number of a line, from 1."""

    text: str
    right: bool
    why: str
    line: int = 0


@dataclass(frozen=True)
class Number:
    """A number with the Python expression that gives it. For a wrong one ``why`` says which error leads to it."""

    answer: str
    key: float
    why: str


@dataclass(frozen=True)
class Item:
    """One item of the quiz. Texts are MyST Markdown; fields that its kind does not have are empty."""

    id: str
    topic: str
    level: int
    kind: str
    question: str
    link: str
    source: Path
    line: int
    options: tuple[Option, ...] = ()
    several: bool = False
    answer: Number | None = None
    wrong: tuple[Number, ...] = ()
    within: float = 0.0
    unit: str = ""
    steps: tuple[Option, ...] = field(default=())
    code: str = ""
    repair: str = ""
    shows: str = ""

    @property
    def repaired(self) -> str:
        """The listing of a bug with the repair in place of the line at fault."""
        lines = self.code.splitlines()
        number = next(option.line for option in self.options if option.right)
        return "\n".join([*lines[: number - 1], *self.repair.splitlines(), *lines[number:]]) + "\n"


class _Loader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error, where PyYAML would drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if keys.count(key.value) > 1:
                raise ValueError(f"line {key.start_mark.line + 1}: the key {key.value} stands twice.")
        return super().construct_mapping(node, deep=deep)


def read_quiz(root: Path | None = None) -> list[Item]:
    """Read the items of the quiz, ``companion/chapters/CHAPTER/quiz.yml``.

    Args:
        root: of the book.

    Returns:
        The items; chapters in the order of the book.

    Raises:
        ValueError: an item breaks a rule, two have one id, or there is no file.
    """
    paths = [*toc.chapter_files("quiz.yml", root).values()]
    if not paths:
        raise ValueError("the items of the quiz lie in companion/chapters/CHAPTER/quiz.yml: got no such file.")
    items = [item for path in paths for item in read_items(path)]
    seen: dict[str, Item] = {}
    for item in items:
        if item.id in seen:
            first = _name(seen[item.id].source)
            raise ValueError(
                f"{_name(item.source)}, line {item.line}: the id {item.id} is taken, in {first}. Rename one."
            )
        seen[item.id] = item
    return items


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def read_items(path: Path) -> list[Item]:
    """Read the items of one file.

    Raises:
        ValueError: the file is not YAML, or an item breaks a rule.
    """
    loader = _Loader(path.read_text("utf8"))
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.SequenceNode) or not root.value:
            raise ValueError("a file of the quiz is a list of items.")
        raw = [(node.start_mark.line + 1, loader.construct_object(node, deep=True)) for node in root.value]
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{_name(path)}: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()
    return [_Rules(f"{_name(path)}, line {line}", path, line).item(entry) for line, entry in raw]


class _Rules:
    """The rules of one item; each refusal says where it stands."""

    def __init__(self, where: str, path: Path, line: int) -> None:
        self.where, self.path, self.line = where, path, line

    def fail(self, rule: str) -> ValueError:
        return ValueError(f"{self.where}: {rule}")

    def fields(self, entry: object, what: str, needs: tuple[str, ...], may: tuple[str, ...] = ()) -> Mapping:
        """Return the mapping if it has the fields that it needs and no others."""
        if not isinstance(entry, dict):
            raise self.fail(f"{what} is a mapping of fields: got {entry!r}.")
        missing = [name for name in needs if name not in entry]
        unknown = [str(name) for name in entry if name not in needs + may]
        if missing or unknown:
            parts = ([f"misses {', '.join(missing)}"] if missing else []) + (
                [f"has an unknown {', '.join(unknown)}"] if unknown else []
            )
            raise self.fail(f"{what} has {', '.join(needs + may)}: this one {' and '.join(parts)}.")
        return entry

    def text(self, value: object, what: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.fail(f"{what} is a text: got {value!r}.")
        return value.strip()

    def finite(self, value: object, what: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.fail(f"{what} is a finite number (YAML reads 1e9 as text, 1.0e+9 as a number): got {value!r}.")
        return value

    def true(self, value: object, what: str) -> bool:
        if not isinstance(value, bool):
            raise self.fail(f"{what} is true or false: got {value!r}.")
        return value

    def entries(self, value: object, what: str, at_least: int) -> list:
        if not isinstance(value, list) or len(value) < at_least:
            raise self.fail(f"{what} is a list of at least {at_least}: got {value!r}.")
        return value

    def item(self, entry: object) -> Item:
        """Check an item and return it."""
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            self.where += f", {entry['id']}"
        kind = entry.get("kind") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and (not isinstance(kind, str) or kind not in KINDS):
            raise self.fail(f"kind is one of {', '.join(KINDS)}: got {kind!r}.")
        needs, may = OWN.get(kind, ((), ()))
        entry = self.fields(entry, f"a {kind}" if kind else "an item", COMMON + needs, may)
        if not _ID.fullmatch(self.text(entry["id"], "id")):
            raise self.fail(f"an id is quiz- and lower-case words joined by hyphens: got {entry['id']!r}.")
        if entry["topic"] != self.path.parent.name.replace("_", "-"):
            raise self.fail(f"a file holds the topic of the chapter that it lies in: got {entry['topic']!r}.")
        if isinstance(entry["level"], bool) or entry["level"] not in LEVELS:
            raise self.fail(f"level is 1, 2 or 3: got {entry['level']!r}.")
        if not _LABEL.fullmatch(self.text(entry["link"], "link")):
            raise self.fail(f"link is the label of a claim, a section, a figure or a table: got {entry['link']!r}.")
        common = {name: entry[name] for name in ("id", "topic", "level", "kind", "link")}
        common |= {"question": self.text(entry["question"], "question"), "source": self.path, "line": self.line}
        return Item(**common, **getattr(self, kind)(entry))

    def options(self, value: object, keys: tuple[str, ...], *, several: bool) -> tuple[Option, ...]:
        """Check what there is to choose from; ``keys`` has the field that makes an option."""
        made = []
        for raw in self.entries(value, "options", 3):
            option = self.fields(raw, "an option", (*keys, "why"), ("right",))
            text = self.text(option["text"], "the text of an option") if "text" in keys else ""
            right = self.true(option.get("right", False), "right")
            made.append(Option(text, right, self.text(option["why"], "why"), option.get("line", 0)))
        marked = sum(option.right for option in made)
        if several and not 1 < marked < len(made):
            raise self.fail(f"with several, two options or more are right and one is not: got {marked} right.")
        if not several and marked != 1:
            raise self.fail(f"exactly one option is right, unless several is true: got {marked}.")
        if len({(option.text, option.line) for option in made}) < len(made):
            raise self.fail("options differ: two are the same.")
        return tuple(made)

    def choice(self, entry: Mapping) -> dict:
        several = self.true(entry.get("several", False), "several")
        return {"several": several, "options": self.options(entry["options"], ("text",), several=several)}

    def _numbered(self, entry: Mapping) -> Number:
        key, answer = self.finite(entry["key"], "key"), entry["answer"]
        written = repr(answer) if isinstance(answer, int | float) else self.text(answer, "answer")
        return Number(written, key, self.text(entry["why"], "why"))

    def number(self, entry: Mapping) -> dict:
        """Check a number: no known error may give what counts as right, nor two errors the same."""
        within = self.finite(entry.get("within", 0), "within")
        if not 0 <= within <= 0.2:
            raise self.fail(f"within is a relative tolerance from 0 to 0.2: got {within}.")
        unit = self.text(entry["unit"], "unit") if "unit" in entry else ""
        answer = self._numbered(entry)
        fields = ("answer", "key", "why")
        wrong = [
            self._numbered(self.fields(raw, "a wrong number", fields))
            for raw in self.entries(entry["wrong"], "wrong", 1)
        ]
        taken = [answer.key]
        for known in wrong:
            if any(math.isclose(known.key, other, rel_tol=max(2 * within, 1e-9)) for other in taken):
                raise self.fail(f"a wrong number is told from the key and from the other wrong ones: got {known.key}.")
            taken.append(known.key)
        return {"answer": answer, "wrong": tuple(wrong), "within": within, "unit": unit}

    def order(self, entry: Mapping) -> dict:
        steps = [self.fields(raw, "a step", ("text", "why")) for raw in self.entries(entry["steps"], "steps", 3)]
        made = tuple(
            Option(self.text(step["text"], "the text of a step"), True, self.text(step["why"], "why")) for step in steps
        )
        if len({step.text for step in made}) < len(made):
            raise self.fail("steps differ: two are the same.")
        return {"steps": made}

    def bug(self, entry: Mapping) -> dict:
        code = self.text(entry["code"], "code") + "\n"
        lines = code.splitlines()
        options = self.options(entry["options"], ("line",), several=False)
        for option in options:
            if isinstance(option.line, bool) or not isinstance(option.line, int) or not 1 <= option.line <= len(lines):
                raise self.fail(f"a line of the listing is from 1 to {len(lines)}: got {option.line!r}.")
            if not lines[option.line - 1].strip():
                raise self.fail(f"a line that is offered is not empty: got line {option.line}.")
        repair = self.fields(entry["repair"], "a repair", ("line", "text"))
        right = next(option.line for option in options if option.right)
        if repair["line"] != right:
            raise self.fail(f"the repair mends the line at fault, {right}: got line {repair['line']!r}.")
        mended = repair["text"].rstrip() if isinstance(repair["text"], str) else repair["text"]
        self.text(mended, "the text of a repair")
        shows = self.text(entry["shows"], "shows")
        return {"code": code, "options": options, "repair": mended, "shows": shows}
