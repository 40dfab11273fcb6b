"""The text of a question must read well away from its page: as a flash card and in the mock interview."""

import re
from pathlib import Path

import pytest

from companion.book.model import Question
from companion.book.questions import read_questions

BOOK = Path(__file__).parents[2] / "book"
LEAST_WORDS = 5  # of an answer to a follow-up: fewer give no reason
# Words that point at something on the page, which a card does not show.
POINTERS = {
    "the page": r"\b(?:this|the same) (?:chapter|page|section|notebook|figure|plot|listing|cell)\b",
    "a part of the page": r"\bthe (?:chapter|page|section|notebook|figure|plot|listing|cell|table)s?\b",
    "a cell or a line": r"\bthe (?:first|second|third|last|next|previous) (?:cell|line|figure|table|question|answer)\b",
    "a place above or below": (
        r"\b(?:measured|shown|seen|printed|derived|cells?|bytes|gradients|counter|equation|formula|dependence|see|as|code)"
        r" (?:above|below)\b(?! (?:\$|\d|the\b|a\b|it\b))"
    ),
    "above or below": r"(?<!from )(?<!row )(?<!layers )(?<!layer )\b(?:above|below)(?= ?(?:[.,:;)]|$))",
    "a question beside it": r"\b(?:next|previous|last) question\b",
    "a page to turn to": r"\bsee (?:the |our )?\{(?:doc|ref|numref|eq)\}",
    "the authors' own": r"\bours?\b",
}


def texts(item):
    yield "question", item.question
    yield "short", item.short
    yield "full", item.full
    for number, (further, answer) in enumerate(item.follow_ups, 1):
        yield f"follow-up {number}", f"{further} {answer}"
    yield "common mistake", item.common_mistake


def pointers(item):
    """Name the phrases of a question that say nothing away from its page."""
    found = []
    for part, text in texts(item):
        plain = " ".join(text.split())
        for what, pattern in POINTERS.items():
            found += [
                f"{item.name}, {part}: {match[0]!r} ({what})" for match in re.finditer(pattern, plain, re.IGNORECASE)
            ]
    return found


def bare(item):
    """Name the answers to follow-ups that give no reason."""
    return [
        f"{item.name}, follow-up {number}: {answer!r}"
        for number, (_, answer) in enumerate(item.follow_ups, 1)
        if len(answer.split()) < LEAST_WORDS
    ]


def test_no_question_points_at_what_only_its_page_shows(chapter):
    items = read_questions(BOOK / f"{chapter}.ipynb")
    assert [problem for item in items for problem in pointers(item)] == []


def test_an_answer_to_a_follow_up_gives_a_reason(chapter):
    items = read_questions(BOOK / f"{chapter}.ipynb")
    assert [problem for item in items for problem in bare(item)] == []


def ask(*, question="Why?", short="", full="", follow_ups=(), mistake=""):
    return Question("q-x", question, "concept", 1, "attention", ("x",), short, full, follow_ups, mistake, "attention")


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("In this chapter it learns.", "this chapter"),
        ("The difference is in the\ncell.", "the cell"),
        ("And the first cell finds it.", "the first cell"),
        ("A score of 383, as the second line has.", "the second line"),
        ("Measured above: 3.", "Measured above"),
        ("The counter above gives 4.", "counter above"),
        ("Two tests: the dependence above and a loop.", "dependence above"),
        ("It is as was said below.", "below"),
        ("It is that of the table.", "the table"),
        ("Then padding, see {doc}`attention`.", "see {doc}"),
        ("Then padding, as the next question has it.", "the next question"),
        ("It fails in our run.", "our"),
        ("Ours began at 2.6.", "Ours"),
    ],
)
def test_a_phrase_that_points_at_the_page_is_named_with_question_and_part(text, phrase):
    for part, name in (("question", "question"), ("short", "short"), ("full", "full"), ("mistake", "common mistake")):
        assert pointers(ask(**{part: text}))[0].startswith(f"q-x, {name}: {phrase!r} (")
    for further in ((text, "It is so for a good reason."), ("Why?", text)):
        assert pointers(ask(follow_ups=(further,)))[0].startswith(f"q-x, follow-up 1: {phrase!r} (")


@pytest.mark.parametrize(
    "text",
    [
        "Entries above the diagonal; below 1, above $x$; a bound from below. The layers below, and the row above.",
        "Table 2 of 2017, the embedding table, the three cells of an LSTM, four hours.",
        "Training loss above validation loss. Far above it nothing is gained. It was seen below 0.1.",
    ],
)
def test_a_word_that_points_at_nothing_on_the_page_is_let_through(text):
    assert pointers(ask(full=text)) == []


def test_an_answer_without_a_reason_is_named():
    item = ask(follow_ups=(("Is it?", "No, it is $2 d$."), ("And so?", "No."), ("Why?", "The mean alone.")))
    assert bare(item) == ["q-x, follow-up 2: 'No.'", "q-x, follow-up 3: 'The mean alone.'"]
