"""The text of a question must read well away from its page: as a flash card and in the mock interview."""

import re
from pathlib import Path

import pytest

from companion.book.model import Question
from companion.book.questions import read_questions
from tests.tools.test_question_coverage import numbers

BOOK = Path(__file__).parents[2] / "book"
LEAST_WORDS = 5  # of an answer to a follow-up: fewer give no reason
MOST_NUMBERS = 4  # in an answer on the whiteboard
MOST_WORDS = {"question": 30, "short": 40, "full": 120}
OWN_RUNS = (
    r"\b(?:in (?:a|one) (?:small|toy) (?:run|task|test|experiment|simulation)"
    r"|in (?:small|toy|these|our) runs?|in a trial|a simulation of)\b"
)
"""A candidate cannot cite the experiments of a book; they are the evidence below an answer."""
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


def spoken(text):
    """Count the words that are said; a formula counts as one, a citation and a block of code as none."""
    text = re.sub(r"```.*?```|\{cite[^`]*`[^`]*`", "", text, flags=re.DOTALL)
    text = re.sub(r"\{\w+\}`([^`<]*)(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "formula", text, flags=re.DOTALL)
    return len(re.findall(r"\w[\w'’.,-]*", text))


def too_long(item):
    """Name the parts of a question that take longer to say than an interview allows."""
    lengths = {part: spoken(text) for part, text in texts(item) if part in MOST_WORDS}
    return [f"{item.name}, {part}: {n} words" for part, n in lengths.items() if n > MOST_WORDS[part]]


def too_many_numbers(item):
    """Name the whiteboard answer that has more numbers to remember than it may, beside those that the question gave."""
    cited = re.sub(r"\{cite[^`]*`[^`]*`", "", item.full)  # a source does not make a number easier to say
    said = {number for number, _ in numbers(cited)} - {number for number, _ in numbers(item.question)}
    return [f"{item.name}: {len(said)} numbers"] if len(said) > MOST_NUMBERS else []


def own_runs(item):
    """Name the phrases of a short or a whiteboard answer that cite an experiment which only the book has."""
    parts = {"short": item.short, "full": item.full}
    return [
        f"{item.name}, {part}: {match[0]!r}"
        for part, text in parts.items()
        for match in re.finditer(OWN_RUNS, " ".join(text.split()), re.IGNORECASE)
    ]


def test_a_question_and_its_answers_are_short_enough_to_say(chapter):
    items = read_questions(BOOK / f"{chapter}.ipynb")
    assert [problem for item in items for problem in too_long(item)] == []
    assert [problem for item in items for problem in too_many_numbers(item)] == []


def test_no_answer_cites_an_experiment_of_the_book(chapter):
    items = read_questions(BOOK / f"{chapter}.ipynb")
    assert [problem for item in items for problem in own_runs(item)] == []


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


def test_an_answer_that_is_too_long_or_cites_a_run_of_the_book_is_named():
    item = ask(
        question="why " * 31, short="$a + b$ {cite:p}`who1999what` " * 41, full="In a small\nrun it is so. " * 21
    )
    assert too_long(item) == ["q-x, question: 31 words", "q-x, short: 41 words", "q-x, full: 147 words"]
    assert own_runs(ask(full="It was so in small\nruns. Fitted to small runs.")) == ["q-x, full: 'in small runs'"]
    assert too_long(ask(question="why " * 30, short="two-thirds " * 40, full="```\na b c\n```" + "so " * 120)) == []


def test_a_whiteboard_answer_with_too_many_numbers_is_named():
    said = "It is 1.25 GB, 256, 31.4 and 4,096"
    assert too_many_numbers(ask(full=f"{said}, of 256.")) == []
    assert too_many_numbers(ask(full=f"{said} and 768.", question="What of 768?")) == []
    assert too_many_numbers(ask(full=f"{said}. In 2020 it was 128 {{cite:p}}`who2020what`.")) == ["q-x: 5 numbers"]
