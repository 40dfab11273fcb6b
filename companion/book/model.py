"""What the book has beside its text: claims, questions, quiz items, drills, formulas and cards.

``companion.book.schemas`` has the rules of each.
"""

import re
from dataclasses import dataclass
from pathlib import Path

LEVELS = {1: "basic", 2: "solid", 3: "hard"}
"""Of questions and quiz items."""
TIERS = {1: "warm-up", 2: "core", 3: "hard"}
"""Of drills."""
RATINGS = ("No answer", "A part of it", "Right, with gaps", "Right and complete")
WEAK = 1
"""A rating up to this one is to be repeated."""
TARGETS = {1: 2, 2: 4, 3: 6}
"""Minutes to say an answer, by level: what the mock interview suggests, our assumption."""
FOLLOW_UP = 0.5
"""Of the time of its question."""
QUESTION_KINDS = ("concept", "derive", "compute", "code", "debug")
ITEM_KINDS = {"choice": "choose", "number": "compute", "order": "put in order", "bug": "find the bug"}
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
BASES = {
    "measured": "An experiment settles it, which could have come out the other way.",
    "derived": "Mathematics settles it, checked by machine.",
    "cited": "Numbers or words of somebody else settle it.",
}
"""What a verdict rests on, the strongest first."""


@dataclass(frozen=True)
class Turn:
    """One change, to the data, the model or the code, that turns the verdict of a measurement.

    Args:
        name: what the change makes of the experiment, in a few words.
        old: the text to replace, which stands in one place only.
        new: what replaces it.
        file: the changed file, from the root; empty for the chapter's page of claims.
        after: the first place behind this text is meant.
    """

    name: str
    old: str
    new: str
    file: str = ""
    after: str = ""


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger, or a part of one, whose id is ``claim/part``."""

    id: str
    chapter: str
    claim: str
    verdict: str
    documents: int
    evidence: str
    basis: str = ""
    conditions: str = ""
    correct: str = ""
    dropped: str = ""
    turn: Turn | None = None
    parts: tuple["Claim", ...] = ()

    @property
    def pieces(self) -> tuple["Claim", ...]:
        """What cells settle: the parts, or the claim itself where it has none."""
        return self.parts or (self,)

    @property
    def bases(self) -> tuple[str, ...]:
        """What its verdict rests on, the strongest first."""
        return tuple(basis for basis in BASES if any(piece.basis == basis for piece in self.pieces))


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
    rare: int = 0
    """How many follow-ups, the last ones, are seldom asked: its page folds them."""
    picture: str = ""
    """The page and the name of a picture that its page shows with the answer."""


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
class Term:
    """A term of the field and where the book answers it.

    Args:
        name: the standard term.
        aliases: what an interviewer says or a searcher types for it.
        label: of the section that is its home; None where the questions and exercises are.
        questions: the names of questions, which are their labels.
        exercises: the labels of coding exercises.
        see: the names of other terms that belong to it.
    """

    name: str
    aliases: tuple[str, ...]
    label: str | None = None
    questions: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()
    see: tuple[str, ...] = ()


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
