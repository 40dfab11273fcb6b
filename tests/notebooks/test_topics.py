"""Each topic has one name, and no page shows another: not the index, not the quiz, not an interview, not a card."""

import importlib
import json
import re
from pathlib import Path

from companion.exercises import exercises, plan
from companion.topics import TOPICS, topic_title

BOOK = Path(__file__).parents[2] / "book"


def test_names_differ_and_a_topic_that_the_book_does_not_have_is_named_by_its_key():
    assert len(set(TOPICS.values())) == len(TOPICS)
    assert topic_title("add-norm") == "Residuals, norms, feed-forward"
    assert topic_title("sparse-experts") == "Sparse experts"


def test_the_site_reads_the_names_of_the_package(questions, quiz):
    assert questions.TOPICS == TOPICS
    assert list(questions.TOPICS) == list(TOPICS)
    assert tuple(TOPICS) == quiz.TOPICS


def test_nothing_but_the_package_holds_the_names():
    own = [name for name in TOPICS.values() if "," in name]  # long enough to be nothing else
    files = [*(BOOK / "extensions").glob("*.py"), *(BOOK / "assets" / "js").glob("*.js")]
    files += (BOOK.parent / "companion").rglob("*.py")
    assert len(files) > 100
    found = {path.name for path in files if any(name in path.read_text("utf8") for name in own)}
    assert found == {"topics.py"}


def test_every_topic_of_a_question_an_item_and_a_drill_has_a_name(questions):
    assert {question.topic for question in questions.read_book(BOOK)} <= TOPICS.keys()
    assert {path.stem for path in (BOOK / "quiz").glob("*.yml")} <= TOPICS.keys()
    assert {step.topic for step in plan().steps} <= TOPICS.keys()


def test_the_list_of_drills_shows_names():
    cells = json.loads((BOOK / "exercises.ipynb").read_text("utf8"))["cells"]
    parts = [part.get("data", {}) for cell in cells for part in cell.get("outputs", [])]
    shown = ["".join(data.get("text/markdown", "")) for data in parts]
    rows = re.findall(r"^\| \d+ \| \{ref\}`exr-[\w-]+` \| ([^|]+) \|", "\n".join(shown), re.MULTILINE)
    assert len(rows) == len(exercises())
    assert set(rows) <= set(TOPICS.values())


def test_cards_show_the_name_and_are_tagged_with_the_key(monkeypatch):
    monkeypatch.syspath_prepend(str(BOOK / "extensions"))
    made = importlib.import_module("cards").cards(BOOK)
    assert {card.fields[0].split(" · ")[0] for card in made} <= set(TOPICS.values())
    assert {card.topic for card in made} <= TOPICS.keys()
