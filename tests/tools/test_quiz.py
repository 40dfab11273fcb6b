"""The quiz: what is not an item is refused with its place and the rule; what the items of the book say is true."""

import collections
import importlib
import math
import re
from pathlib import Path

import pytest
import torch

import companion
from companion.book.claims import read_ledger
from companion.book.questions import read_book
from companion.book.quiz import read_quiz
from tests.tools.small import contents

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
MODULES = ("attention", "cache", "config", "cost", "efficient", "masks", "multihead", "norm", "positional", "recurrent")

GOOD = r"""
- id: quiz-one
  topic: heads
  level: 1
  kind: choice
  question: What is $d_k$?
  link: sec-one
  options:
  - {text: A width., right: true, why: So it is.}
  - {text: A length., why: That is another one.}
  - {text: A number of heads., why: That is $h$.}
- id: quiz-two
  topic: heads
  level: 2
  kind: number
  question: How many?
  link: claim-two
  answer: 2**10
  key: 1024
  within: 0.01
  unit: bytes
  why: Ten doublings.
  wrong:
  - {answer: 2 * 10, key: 20, why: A product.}
- id: quiz-three
  topic: heads
  level: 3
  kind: order
  question: In order?
  link: tab-three
  steps:
  - {text: First, why: It is first.}
  - {text: Second, why: It follows.}
  - {text: Third, why: It ends.}
- id: quiz-four
  topic: heads
  level: 3
  kind: bug
  question: Which line?
  link: sec-four
  code: |
    def twice(x):
        y = x + 1
        return y

    z = twice(3)
  options:
  - {line: 1, why: A name.}
  - {line: 2, right: true, why: A product was meant.}
  - {line: 3, why: It returns it.}
  repair: {line: 2, text: "    y = x * 2"}
  shows: z == 4
"""


@pytest.fixture
def read(tmp_path):
    """Read a text as the items of a chapter heads."""

    def read_text(text):
        path = tmp_path / "companion" / "chapters" / "heads" / "quiz.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
        (tmp_path / "_toc.yml").write_text("root: book/index\n", "utf8")
        return read_quiz(tmp_path)

    return read_text


def test_the_four_kinds_are_read(read):
    one, two, three, four = read(GOOD)
    assert [item.kind for item in (one, two, three, four)] == ["choice", "number", "order", "bug"]
    assert [(option.text, option.right) for option in one.options][:2] == [("A width.", True), ("A length.", False)]
    assert (two.answer.key, two.within, two.unit, two.wrong[0].key) == (1024, 0.01, "bytes", 20)
    assert [step.text for step in three.steps] == ["First", "Second", "Third"]
    assert [option.line for option in four.options] == [1, 2, 3]
    assert (one.level, one.topic, one.link, one.line, two.line) == (1, "heads", "sec-one", 2, 12)


def test_a_repair_takes_the_place_of_the_line_at_fault(read):
    four = read(GOOD)[3]
    assert four.repaired == "def twice(x):\n    y = x * 2\n    return y\n\nz = twice(3)\n"


CASES = [
    ("id: quiz-one", "id: Quiz One", "line 2, Quiz One: id is quiz- and lower-case words"),
    (
        "topic: heads\n  level: 1",
        "topic: hands\n  level: 1",
        "a file holds the topic of the chapter that it lies in: got 'hands'",
    ),
    ("level: 1", "level: 4", "line 2, quiz-one: level is 1, 2 or 3: got 4"),
    ("level: 1", "level: true", "level is 1, 2 or 3: got True"),
    ("kind: choice", "kind: riddle", "kind is one of choice, number, order, bug: got 'riddle'"),
    ("  kind: choice\n", "", "line 2, quiz-one: an item has id, topic, level, kind"),
    ("  link: sec-one\n", "", "this one misses link"),
    ("link: sec-one", "link: eq-one", "link is the label of a claim, a section, a figure or a table: got 'eq-one'"),
    ("link: sec-one", "link: sec one", "link is the label"),
    ("question: What is $d_k$?", "question: ''", "question is a text: got ''"),
    ("link: sec-one", "link: sec-one\n  mood: good", "has an unknown mood"),
    ("right: true, why: So it is.", "why: So it is.", "exactly one option is right, unless several is true: got 0"),
    ("A length., why", "A length., right: true, why", "exactly one option is right, unless several is true: got 2"),
    (
        "kind: choice",
        "kind: choice\n  several: true",
        "with several, two options or more are right and one is not: got 1",
    ),
    ("kind: choice", "kind: choice\n  several: maybe", "several is true or false: got 'maybe'"),
    (", right: true, why: So it is.}", ", right: 1, why: So it is.}", "right is true or false: got 1"),
    (", why: So it is.}", "}", "an option has text, why, right: this one misses why"),
    ("why: That is another one.", "why: ''", "why is a text: got ''"),
    ("A length.", "A width.", "options differ: two are the same"),
    ("  - {text: A number of heads., why: That is $h$.}\n", "", "options is a list of at least 3"),
    ("key: 1024", "key: 1e9", "line 12, quiz-two: key is a finite number (YAML reads 1e9 as text"),
    ("key: 1024", "key: .inf", "key is a finite number"),
    ("key: 1024", "key: true", "key is a finite number"),
    ("within: 0.01", "within: 2", "within is a relative tolerance from 0 to 0.2: got 2"),
    ("key: 20,", "key: 1025,", "a wrong number is told from the key and from the other wrong ones: got 1025"),
    ("  - {answer: 2 * 10, key: 20, why: A product.}\n", "", "wrong is a list of at least 1"),
    ("why: A product.", "cause: A product.", "a wrong number has answer, key, why: this one misses why"),
    ("  why: Ten doublings.\n", "", "this one misses why"),
    ("  - {text: Third, why: It ends.}\n", "", "steps is a list of at least 3"),
    ("text: Third", "text: First", "steps differ: two are the same"),
    ("{line: 1, why: A name.}", "{line: 9, why: A name.}", "a line of the listing is from 1 to 5: got 9"),
    ("{line: 1, why: A name.}", "{line: 4, why: A name.}", "a line that is offered is not empty: got line 4"),
    (
        "{line: 1, why: A name.}",
        "{line: one, why: A name.}",
        "line is the number of a line of the listing, from 1: got 'one'",
    ),
    ("repair: {line: 2,", "repair: {line: 3,", "the repair mends the line at fault, 2: got line 3"),
    ('text: "    y = x * 2"', "text: ''", "repair, text is a text"),
    ("  shows: z == 4\n", "", "line 35, quiz-four: a bug has"),
    ("level: 1", "level: 1\n  level: 1", "heads/quiz.yml: line 4: the key level stands twice"),
    ("id: quiz-two", "id: quiz-one", "heads/quiz.yml, line 12, quiz-one: the id is taken, in heads/quiz.yml"),
]


@pytest.mark.parametrize(("old", "new", "message"), CASES, ids=[case[2][:60] for case in CASES])
def test_what_breaks_a_rule_is_refused_with_its_place(read, old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError, match=r"^heads/quiz\.yml[:,]") as caught:
        read(GOOD.replace(old, new, 1))
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "id: quiz-one", "[]"])
def test_a_file_is_a_list(read, text):
    with pytest.raises(ValueError, match=r"heads/quiz\.yml: the file is a list of entries"):
        read(text)


def test_an_item_is_a_mapping(read):
    with pytest.raises(ValueError, match=r"heads/quiz\.yml, line 1: an item is a mapping of fields: got 'text'"):
        read("- text\n")


def test_what_is_not_yaml_is_named_with_its_line(read):
    with pytest.raises(ValueError, match=r"heads/quiz\.yml: .*line 2"):
        read("- a: 1\n  b: c: d\n")


def test_a_book_without_items_is_refused(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: book/index\n", "utf8")
    with pytest.raises(ValueError, match=r"companion/chapters/CHAPTER/quiz\.yml: got no such file"):
        read_quiz(tmp_path)


def test_topics_come_in_the_order_of_the_book(tmp_path):
    (tmp_path / "_toc.yml").write_text(contents("book/two-words/index.ipynb", "book/complexity/index.ipynb"), "utf8")
    for topic in ("zebra", "complexity", "two-words"):
        text = GOOD.replace("topic: heads", f"topic: {topic}").replace("quiz-", f"quiz-{topic}-")
        path = tmp_path / "companion" / "chapters" / topic.replace("-", "_") / "quiz.yml"
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf8")
    found = dict.fromkeys(item.topic for item in read_quiz(tmp_path))
    assert list(found) == ["two-words", "complexity", "zebra"]


# --- the items of the book -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def items():
    return read_quiz()


@pytest.fixture
def names():
    """What an expression and a listing may use; each run starts from the same random numbers."""
    for module in MODULES:
        importlib.import_module(f"companion.{module}")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield {"torch": torch, "math": math, "companion": companion}


def recomputed(number, within, names):
    """Whether a key is what its expression gives; where it is rounded, by a tenth of what counts as right at most."""
    value = float(eval(number.answer, dict(names)))
    return value == number.key or math.isclose(value, number.key, rel_tol=max(within / 10, 1e-9))


def test_each_number_is_what_its_expression_gives(items, names):
    numbers = [(item, number) for item in items for number in ((item.answer, *item.wrong) if item.answer else ())]
    assert len(numbers) > 40
    wrong = [f"{item.id}: {n.answer} is not {n.key}" for item, n in numbers if not recomputed(n, item.within, names)]
    assert not wrong


def test_a_listing_shows_its_fault_and_the_repair_removes_it(items, names):
    bugs = [item for item in items if item.kind == "bug"]
    assert len(bugs) > 6
    wrong = []
    for item in bugs:
        for code, faulty in ((item.code, True), (item.repaired, False)):
            torch.manual_seed(0)
            run = dict(names)
            exec(compile(code, item.id, "exec"), run)
            if bool(eval(item.shows, run)) is not faulty:
                wrong.append(
                    f"{item.id}: {item.shows} is {not faulty} of the {'listing' if faulty else 'repaired listing'}"
                )
    assert not wrong


def test_a_listing_is_short_enough_for_the_page(items):
    long = [item.id for item in items if max(map(len, item.code.splitlines()), default=0) > 88]
    assert not long
    assert not [item.id for item in items if len(item.code.splitlines()) > 20]


def test_each_link_names_a_label_of_the_book(items):
    text = "\n".join(path.read_text("utf8") for path in BOOK.rglob("*.md"))
    labels = set(re.findall(r"^\(([\w.-]+)\)=", text, re.MULTILINE)) | set(re.findall(r"\bname: ([\w.-]+)", text))
    labels |= {f"claim-{claim.id}" for claim in read_ledger().claims}
    labels |= set(re.findall(r"^:name: ([\w.-]+)", text, re.MULTILINE))
    assert not [f"{item.id}: {item.link}" for item in items if item.link not in labels]


def test_the_topics_have_items_of_several_kinds_and_levels(items):
    for topic in ("history", "attention", "multi-head", "positional-encoding"):
        own = [item for item in items if item.topic == topic]
        assert len(own) >= 11
        assert {item.kind for item in own} == {"choice", "number", "order", "bug"}
        assert {item.level for item in own} == {1, 2, 3}


def test_the_right_option_has_no_usual_place(items):
    choices = [item for item in items if item.kind == "choice" and not item.several]
    places = collections.Counter([option.right for option in item.options].index(True) for item in choices)
    assert max(places.values()) <= 0.45 * len(choices), places
    assert min(places[place] for place in range(3)) >= 0.1 * len(choices), places
    bugs = collections.Counter(
        [option.right for option in item.options].index(True) for item in items if item.kind == "bug"
    )
    assert max(bugs.values()) <= 0.6 * sum(bugs.values()), bugs


def test_the_right_option_is_not_the_longest_or_the_shortest(items):
    choices = [item for item in items if item.kind == "choice" and not item.several]
    for pick in (max, min):
        found = [item.id for item in choices if pick(item.options, key=lambda option: len(option.text)).right]
        assert len(found) <= 0.5 * len(choices), f"{pick.__name__} gives {len(found)} of {len(choices)}: {found}"


def test_no_two_items_and_no_interview_question_say_the_same(items):
    def plain(text):
        return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())

    asked = [plain(item.question) for item in items if item.kind in ("choice", "number")]
    assert len(set(asked)) == len(asked)
    spoken = {plain(question.question) for question in read_book()}
    assert len(spoken) > 60
    assert not spoken & set(asked)


def test_no_reason_stands_twice(items):
    reasons = [option.why for item in items for option in (*item.options, *item.steps)]
    reasons += [number.why for item in items for number in ((item.answer, *item.wrong) if item.answer else ())]
    twice = [text for text, times in collections.Counter(reasons).items() if times > 1]
    assert not twice
