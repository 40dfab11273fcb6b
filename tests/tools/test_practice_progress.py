"""The page of what is missing as it is built: counts and links of a small book, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from companion.book import drills as tool
from companion.book.drills import read_drills
from companion.book.site.question_sheet import read_plan, read_sheet
from companion.book.topics import TOPICS
from companion.book.vocabulary import vocabulary_script
from companion.practice import listing
from tests.tools.small import SmallBook, notebook, plain

ROOT = Path(__file__).parents[2]
INDEX = """# Home

```{toctree}
one/index
quiz
interview/index
```

```{practice-place} desk
Without a script.
```

```{practice-table}
```

```{practice-lists}
```

## Index

```{question-index}
```
"""
QUESTION = """
::::{{interview-question}} Why is $\\sqrt{{d_k}}$ there, and what does {{ref}}`sec-one` say?
:name: {name}
:kind: derive
:level: {level}
:topic: attention
:evidence: sec-one
:::{{short}}
Short.
:::
:::{{full}}
Full.
:::
:::{{follow-ups}}
1. **And?** So.
:::
:::{{common-mistake}}
Wrong.
:::
::::
"""
ONE = """# One

(sec-one)=
## A section

(exr-scores)=
## A drill
""" + "".join(QUESTION.format(name=name, level=level) for name, level in (("q-hard", 3), ("q-easy", 1)))
PLAN = """# Plans

(sheet-attention)=
## A plan

```{list-table}
:header-rows: 1
:class: study-plan plan-two-days

* - Day
  - What
  - Time
* - 1
  - Read {doc}`/book/one/index`, then
    {doc}`the quiz </book/quiz>`.
  - 5 min
* - 1
  - {ref}`Attention <sheet-attention>`, without a break.
  - 5 min
* - 2
  - Write {ref}`the scores <exr-scores>`, then say {ref}`why <q-easy>`.
  - 9 min
```
"""
ITEMS = """
- id: quiz-which
  topic: training
  level: 2
  kind: choice
  question: |
    Which *one* holds?

    Think of {ref}`sec-one`.
  link: sec-one
  options:
  - {text: The first., right: true, why: It does.}
  - {text: The second., why: No.}
  - {text: The third., why: No.}
"""
DRILLS = [
    {"name": "scores", "title": "Write the scores", "topic": "attention", "tier": 1, "kind": "write", "minutes": 10}
]


def drill(**change):
    return [DRILLS[0] | change]


def small(folder, *, drills=DRILLS, items=ITEMS, index=INDEX, topic="training"):
    texts = {
        "book/index.md": index,
        "book/quiz.md": "# Quiz\n\n```{quiz}\n```\n",
        "book/one/index.ipynb": notebook(ONE),
        f"companion/chapters/{topic}/quiz.yml": items,
        "book/interview/drills.json": json.dumps(drills),
        "companion/chapters/interview/forty.yml": "- title: Attention\n  questions: [q-hard]\n",
        "book/interview/index.md": PLAN,
    }
    return SmallBook(folder, ["progress_page"], texts)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = small(tmp_path_factory.mktemp("book"))
    assert book.warnings() == []
    return book.html("index")


def test_the_table_counts_each_kind_of_each_topic_and_links_to_it(built):
    table = re.search(r'<table class="progress-table">.*?</table>', built, re.DOTALL)[0]
    rows = [plain(row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
    assert rows == [
        "Topic Questions Quiz items Drills",
        "Attention 2 none 1",
        "Training none 1 none",
        "All 2 1 1",
    ]
    assert re.findall(r'href="([^"]+)"', table) == [
        "#missing-attention",
        "#index-attention",
        "#missing-attention",
        "#missing-training",
        "quiz.html#quiz-topic-training",
    ]
    assert 'id="index-attention"' in built


def test_the_lists_hold_each_piece_once_the_easy_ones_first_and_no_link_in_a_link(built):
    lists = built[built.index('<div class="progress-lists">') : built.index("Index<")]
    pieces = re.findall(
        r'<li class="progress-piece" data-kind="(\w+)" data-name="([\w-]+)">(.*?)</li>',
        lists,
        re.DOTALL,
    )
    assert [(kind, name, re.findall(r'href="([^"]+)"', text)) for kind, name, text in pieces] == [
        ("question", "q-easy", ["one/index.html#q-easy"]),
        ("question", "q-hard", ["one/index.html#q-hard"]),
        ("drill", "scores", ["one/index.html#exr-scores"]),
        ("item", "quiz-which", ["quiz.html#quiz-which"]),
    ]
    words = [plain(text) for *_, text in pieces]
    assert words[0].endswith("say? basic")
    assert r"\(\sqrt{d_k}\)" in words[0]
    assert words[2:] == ["Write the scores warm-up", "Which one holds? solid"]
    folds = re.findall(r'<details class="progress-topic" ([^>]*)>', lists)
    assert [re.search(r'data-title="([^"]+)"', fold)[1] for fold in folds] == ["Attention", "Training"]
    assert plain(re.search(r"<summary>.*?</summary>", lists, re.DOTALL)[0]) == "Attention 2 questions, 1 drills"


def test_the_page_holds_the_steps_of_the_two_day_plan_with_what_they_ask(built):
    steps = re.search(r'<ol class="progress-steps" hidden="hidden">(.*?)</ol>', built, re.DOTALL)[1]
    step = r'<li class="progress-step" data-key="([^"]+)"(?: data-pieces="([^"]+)")?>(.*?)</li>'
    found = re.findall(step, steps, re.DOTALL)
    assert [(key, names) for key, names, _ in found] == [
        ("one/index", ""),
        ("sheet-attention", "q-hard"),
        ("exr-scores", "scores q-easy"),
    ]
    assert [plain(text) for *_, text in found][:2] == ["Read One , then the quiz .", "Attention , without a break."]
    assert re.findall(r'href="([^"]+)"', steps)[2] == "interview/index.html#sheet-attention"


def test_every_step_of_the_two_day_plan_is_read_with_its_questions_and_drills():
    steps = read_plan(ROOT)
    keys = [step.key for step in steps]
    assert len(steps) > 10
    assert len(set(keys)) == len(keys)
    pieces = [name for step in steps for name in step.pieces]
    forty = [name for _, names in read_sheet(ROOT) for name in names]
    assert [name for name in pieces if name in forty] == forty, "all of the sheet, in its order"
    drills = {one.name for one in read_drills(ROOT)}
    assert [name for name in pieces if name in drills] == ["attention", "multi-head", "grouped-query", "cached-step"]


def test_the_scripts_are_loaded_where_they_are_used(built):
    scripts = re.findall(r'<script defer="defer" src="[^"]*js/([\w-]+\.js)', built)
    assert scripts[:3] == ["util.js", "store.js", "reading.js"], "those of every page come first"
    assert scripts[3:6] == ["vocabulary.js", "dom.js", "practice.js"], "then the shared ones"
    assert sorted(scripts[6:]) == sorted(["questions.js", "progress-file.js", "progress.js"])
    assert "Without a script." in re.search(r'<div class="progress-desk">.*?</div>', built, re.DOTALL)[0]


@pytest.mark.parametrize(
    ("drills", "message"),
    [
        (None, "drills.json holds the drills: got no such file. Run `make notebooks`."),
        ("[{", "drills.json is a list of drills: got no JSON"),
        ({"name": "x"}, "drills.json is a list of drills: got something else."),
        (drill(tier="1"), "drills.json, drill 1: tier is 1, 2 or 3: got '1'."),
        (
            drill(mood="good"),
            "a drill has name, title, topic, tier, kind, minutes: this one has an unknown mood.",
        ),
        (drill(topic="heads"), "drill 1: topic is one of history, attention"),
        (drill(tier=4), "drill 1: tier is 1, 2 or 3: got 4."),
        (DRILLS * 2, "drills.json: each entry has a name of its own: got scores twice."),
    ],
)
def test_a_file_of_drills_that_breaks_a_rule_is_refused(tmp_path, drills, message):
    path = tmp_path / tool.DRILLS
    path.parent.mkdir(parents=True)
    if drills is not None:
        path.write_text(drills if isinstance(drills, str) else json.dumps(drills), "utf8")
    with pytest.raises(ValueError, match=re.escape(message)):
        read_drills(tmp_path)


def test_drills_come_by_topic_and_in_a_topic_by_tier(tmp_path):
    places = (("theory", 1), ("attention", 3), ("attention", 1))
    rows = [row for topic, tier in places for row in drill(name=f"{topic}-{tier}", topic=topic, tier=tier)]
    path = tmp_path / tool.DRILLS
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rows), "utf8")
    assert [one.name for one in read_drills(tmp_path)] == ["attention-1", "attention-3", "theory-1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drills": drill(name="nowhere")}, "reference target not found: exr-nowhere"),
        (
            {"items": ITEMS.replace("training", "heads"), "topic": "heads"},
            "heads/quiz.yml, line 2, quiz-which: topic is",
        ),
    ],
)
def test_what_cannot_be_counted_is_an_error_of_the_build(tmp_path, change, message):
    assert message in "\n".join(small(tmp_path, **change).warnings())


def test_the_file_of_drills_is_that_of_the_package(tmp_path, capsys):
    stored = ROOT / tool.DRILLS
    assert stored.read_text("utf8") == listing.listing(), "run `make notebooks`"
    stale = tmp_path / "drills.json"
    stale.write_text("[]", "utf8")
    assert listing.main(["--check", "--file", str(stale)]) == 1
    assert "run `make notebooks`" in capsys.readouterr().err
    assert stale.read_text("utf8") == "[]"
    assert listing.main(["--file", str(stale)]) == 0
    assert listing.main(["--check", "--file", str(stale)]) == 0
    assert stale.read_bytes() == stored.read_bytes()


def test_the_words_of_the_scripts_are_those_of_the_pages_and_of_the_package():
    words = json.loads(re.fullmatch(r"const vocabulary = Object.freeze\((.*)\);\n", vocabulary_script(), re.DOTALL)[1])
    page = (ROOT / "book" / "interview" / "mock-interview.md").read_text("utf8")
    ratings = [word.capitalize() for word in re.findall(r"^[0-3], \*(.+)\*$", page, re.MULTILINE)[:4]]
    assert words.pop("ratings") == ratings == ["No answer", "A part of it", "Right, with gaps", "Right and complete"]
    assert words.pop("weak") == 1
    said = ", ".join(map(str, words["targets"].values()))
    assert f"suggests, {said[:-3]}\nand {said[-1]} minutes" in page
    assert words.pop("targets").keys() == words["levels"].keys()
    assert words.pop("followUp") == 0.5
    assert "A follow-up gets half the\ntime of its question." in page
    assert words.pop("topics") == TOPICS
    assert words.pop("levels") == {"1": "basic", "2": "solid", "3": "hard"}
    assert words.pop("tiers") == {"1": "warm-up", "2": "core", "3": "hard"}
    assert words.pop("kinds") == ["concept", "derive", "compute", "code", "debug"]
    assert not words
