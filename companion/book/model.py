"""What the book has beside its text: claims, questions, quiz items, drills, formulas and cards, and the rules of each.

A schema says which fields an entry has and what each must be; where an entry breaks it, :func:`check` names the place
and the rule, in the words of the schema's ``description``. What a schema cannot say stands beside the reader of the
entry: ``claims``, ``questions``, ``quiz``, ``drills``, ``formulas``.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from companion.book.topics import TOPICS

LEVELS = {1: "basic", 2: "solid", 3: "hard"}
"""Of questions and quiz items."""
TIERS = {1: "warm-up", 2: "core", 3: "hard"}
"""Of drills."""
RATINGS = ("No answer", "A part of it", "Right, with gaps", "Right and complete")
WEAK = 1
"""A rating up to this one is to be repeated."""
QUESTION_KINDS = ("concept", "derive", "compute", "code", "debug")
ITEM_KINDS = {"choice": "choose", "number": "compute", "order": "put in order", "bug": "find the bug"}
CLAIM_KINDS = ("math", "measurement", "code", "history-fact", "opinion")
VERDICTS = {
    "holds": "True as stated.",
    "holds-with-conditions": "True under conditions that the documents leave out, and false without them.",
    "wrong": "False. The entry says what is right.",
    "unsupported": "No evidence is given for it, and none was found.",
    "outdated": "It was true once.",
    "disputed": "The documents, or the sources, contradict each other.",
}
DOCUMENTS = 5
"""The source documents, whose claims the ledger settles."""


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger."""

    id: str
    chapter: str
    claim: str
    verdict: str
    kind: str
    documents: int
    evidence: str
    conditions: str = ""
    correct: str = ""
    dropped: str = ""


@dataclass(frozen=True)
class Question:
    """One interview question. ``short``, ``full``, ``common_mistake`` and the answers are MyST Markdown."""

    name: str
    question: str
    kind: str
    level: int
    topic: str
    evidence: tuple[str, ...]
    short: str
    full: str
    follow_ups: tuple[tuple[str, str], ...]
    common_mistake: str
    page: str
    """Where it stands, as ``companion.book.toc.page`` names it."""


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
    key: int | float
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
    within: int | float = 0
    unit: str = ""
    steps: tuple[Option, ...] = ()
    code: str = ""
    repair: str = ""
    shows: str = ""

    @property
    def where(self) -> str:
        """Name the place of the item for a message."""
        return f"{self.source.parent.name}/{self.source.name}, line {self.line}, {self.id}"

    @property
    def repaired(self) -> str:
        """The listing of a bug with the repair in place of the line at fault."""
        lines = self.code.splitlines()
        number = next(option.line for option in self.options if option.right)
        return "\n".join([*lines[: number - 1], *self.repair.splitlines(), *lines[number:]]) + "\n"


@dataclass(frozen=True)
class Drill:
    """One drill.

    Args:
        name: by which the package and the store know it; its label is ``exr-`` and the name.
        title: what to do, in a line.
        topic: one of ``TOPICS``.
        tier: one of ``TIERS``.
        kind: what is asked: to write, to write within limits of cost, or to repair.
        minutes: an estimate.
    """

    name: str
    title: str
    topic: str
    tier: int
    kind: str
    minutes: int


@dataclass(frozen=True)
class Formula:
    """One line of the formula sheet.

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


@dataclass(frozen=True)
class Card:
    """One flash card. ``front`` and ``back`` are for the table, ``fields`` for Anki, whose templates join them."""

    name: str
    follow_up_of: str
    kind: str
    level: int
    topic: str
    fields: tuple[str, ...]
    front: str
    back: str

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of Anki: kind, level and topic."""
        return (f"kind::{self.kind}", f"level::{self.level}-{LEVELS[self.level]}", f"topic::{self.topic}")


def _object(title: str, needs: dict, may: dict | None = None) -> dict:
    return {
        "title": title,
        "type": "object",
        "description": "a mapping of fields",
        "required": [*needs],
        "properties": needs | (may or {}),
        "additionalProperties": False,
    }


def _one_of(names: Iterable[object]) -> dict:
    names = [*names]
    return {"enum": names, "description": f"one of {', '.join(map(str, names))}"}


def _list(entry: dict, at_least: int, description: str = "") -> dict:
    description = description or f"a list of at least {at_least}"
    return {"type": "array", "items": entry, "minItems": at_least, "description": description}


_TEXT = {"type": "string", "pattern": r"\S", "description": "a text"}
_TRUTH = {"type": "boolean", "description": "true or false"}
_LEVEL = {"enum": [*LEVELS], "description": "1, 2 or 3"}
_NUMBER = {
    "type": "number",
    "format": "finite",
    "description": "a finite number (YAML reads 1e9 as text, 1.0e+9 as a number)",
}


def _name(prefix: str = "") -> dict:
    words = "lower-case words joined by hyphens"
    pattern = f"^{prefix}[a-z0-9]+(-[a-z0-9]+)*$"
    return {"type": "string", "pattern": pattern, "description": f"{prefix} and {words}" if prefix else words}


CLAIM = _object(
    "a claim",
    {
        "id": _name(),
        "claim": _TEXT,
        "verdict": _one_of(VERDICTS),
        "kind": _one_of(CLAIM_KINDS),
        "documents": {
            "type": "integer",
            "minimum": 1,
            "maximum": DOCUMENTS,
            "description": f"a number from 1 to {DOCUMENTS}",
        },
        "evidence": _TEXT,
    },
    {"conditions": _TEXT, "correct": _TEXT, "dropped": _TEXT},
)
QUESTION = _object(
    "a question",
    {
        "name": _name("q-"),
        "kind": _one_of(QUESTION_KINDS),
        "level": _LEVEL,
        "topic": _TEXT,
        "evidence": _list({**_TEXT, "description": "a label, and commas stand between two"}, 1),
    },
)
_ITEM = {
    "id": _name("quiz-"),
    "topic": _TEXT,
    "level": _LEVEL,
    "kind": _one_of(ITEM_KINDS),
    "question": _TEXT,
    "link": {  # to an equation it would read "(1)"
        "type": "string",
        "pattern": r"^\s*(?!eq-)[A-Za-z0-9][\w.-]*\s*$",
        "description": "the label of a claim, a section, a figure or a table",
    },
}
_ANSWER = {
    "answer": {"type": ["string", "number"], "pattern": r"\S", "description": "a Python expression"},
    "key": _NUMBER,
    "why": _TEXT,
}
_LINE = {"type": "integer", "minimum": 1, "description": "the number of a line of the listing, from 1"}
ITEMS = {
    "choice": _object(
        "a choice",
        _ITEM | {"options": _list(_object("an option", {"text": _TEXT, "why": _TEXT}, {"right": _TRUTH}), 3)},
        {"several": _TRUTH},
    ),
    "number": _object(
        "a number",
        _ITEM | _ANSWER | {"wrong": _list(_object("a wrong number", _ANSWER), 1)},
        {
            "within": {
                "type": "number",
                "format": "finite",
                "minimum": 0,
                "maximum": 0.2,
                "description": "a relative tolerance from 0 to 0.2",
            },
            "unit": _TEXT,
        },
    ),
    "order": _object("an order", _ITEM | {"steps": _list(_object("a step", {"text": _TEXT, "why": _TEXT}), 3)}),
    "bug": _object(
        "a bug",
        _ITEM
        | {
            "code": _TEXT,
            "options": _list(_object("an option", {"line": _LINE, "why": _TEXT}, {"right": _TRUTH}), 3),
            "repair": _object("a repair", {"line": _LINE, "text": _TEXT}),
            "shows": _TEXT,
        },
    ),
}
"""The schema of a quiz item by its kind."""
DRILL = _object(
    "a drill",
    {
        "name": _name(),
        "title": _TEXT,
        "topic": _one_of(TOPICS),
        "tier": {"enum": [*TIERS], "description": "1, 2 or 3"},
        "kind": _TEXT,
        "minutes": {"type": "integer", "minimum": 1, "description": "a whole number"},
    },
)
FORMULA = _object("a formula", {"id": _name()} | dict.fromkeys(("group", "name", "latex", "say", "link"), _TEXT))
_FORMATS = FormatChecker(formats=())


@_FORMATS.checks("finite")
def _is_finite(value: object) -> bool:
    return not isinstance(value, int | float) or math.isfinite(value)


def check(entry: object, schema: Mapping[str, object], where: str) -> None:
    """Hold an entry to its schema.

    Args:
        entry: what a file holds.
        schema: one of this module.
        where: what to name in a message: the file and the line or the entry.

    Raises:
        ValueError: it breaks a rule; the message has every rule that it breaks.
    """
    errors = Draft202012Validator(schema, format_checker=_FORMATS).iter_errors(entry)
    wrong = [_rule(error) for error in sorted(errors, key=lambda error: [*map(str, error.absolute_path)])]
    if wrong:
        raise ValueError(f"{where}: {'; '.join(dict.fromkeys(wrong))}.")


def _rule(error: ValidationError) -> str:
    """Say which rule an entry breaks, in our words."""
    schema, value = error.schema, error.instance
    if error.validator in ("required", "additionalProperties"):
        missing = [name for name in schema["required"] if name not in value]
        unknown = [str(name) for name in value if name not in schema["properties"]]
        parts = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has an unknown {', '.join(unknown)}"] * bool(
            unknown
        )
        return f"{schema['title']} has {', '.join(schema['properties'])}: this one {' and '.join(parts)}"
    names = [f"number {part + 1}" if isinstance(part, int) else part for part in error.absolute_path]
    return f"{', '.join(names) or schema['title']} is {schema['description']}: got {value!r}"


def refuse_doubles(names: Iterable[str], where: str) -> None:
    """Refuse a name that stands twice.

    Raises:
        ValueError: two entries have one name.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{where}: each entry has a name of its own: got {name} twice. Rename or remove one.")
        seen.add(name)
