"""Each topic has one name, and no page shows another: not the index, not the quiz, not an interview, not a card."""

import json
import re
from pathlib import Path

from companion.book.cards import cards
from companion.book.questions import read_book
from companion.book.quiz import read_quiz
from companion.book.topics import TOPICS, topic_title
from companion.practice import exercises, plan

ROOT = Path(__file__).parents[2]


def test_names_differ_and_a_topic_that_the_book_does_not_have_is_named_by_its_key():
    assert len(set(TOPICS.values())) == len(TOPICS)
    assert topic_title("add-norm") == "Residuals, norms, feed-forward"
    assert topic_title("sparse-experts") == "Sparse experts"


def test_the_menu_calls_a_chapter_by_its_name():
    assert len(TOPICS) == 14
    for key, name in TOPICS.items():
        assert f"\n# {name}\n" in (ROOT / "book" / key / "index.md").read_text("utf8")


def test_nothing_but_its_chapter_holds_the_name_of_a_topic():
    own = {key: name for key, name in TOPICS.items() if "," in name}  # long enough to be nothing else
    files = [*(ROOT / "book" / "assets" / "js").glob("*.js"), *(ROOT / "companion").rglob("*.py")]
    assert len(files) > 100
    folder = ROOT / "companion" / "chapters"
    for key, name in own.items():
        found = [path for path in files if name in path.read_text("utf8")]
        found = [path for path in found if path.parts[-2:] != ("book", "topics.py")]  # an example in its docstring
        assert found == [folder / key.replace("-", "_") / "__init__.py"]


def test_every_topic_of_a_question_an_item_and_a_drill_has_a_name():
    assert {question.topic for question in read_book()} <= TOPICS.keys()
    assert {item.topic for item in read_quiz()} <= TOPICS.keys()
    assert {step.topic for step in plan().steps} <= TOPICS.keys()


def test_the_list_of_drills_shows_names():
    cells = json.loads((ROOT / "book" / "interview" / "exercises.ipynb").read_text("utf8"))["cells"]
    parts = [part.get("data", {}) for cell in cells for part in cell.get("outputs", [])]
    shown = ["".join(data.get("text/markdown", "")) for data in parts]
    rows = re.findall(r"^\| \d+ \| \{ref\}`exr-[\w-]+` \| ([^|]+) \|", "\n".join(shown), re.MULTILINE)
    assert len(rows) == len(exercises())
    assert set(rows) <= set(TOPICS.values())


def test_cards_show_the_name_and_are_tagged_with_the_key():
    made = cards(ROOT)
    assert {card.fields[0].split(" · ")[0] for card in made} <= set(TOPICS.values())
    assert {card.topic for card in made} <= TOPICS.keys()
