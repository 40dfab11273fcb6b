"""The page of what is missing as it is built: counts and links of a small book, and what it refuses."""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from companion.exercises.definition import TIERS
from companion.topics import TOPICS

ROOT = Path(__file__).parents[2]
EXTENSIONS = ROOT / "book" / "extensions"
CONFIG = """
extensions = ["myst_nb", "practice_progress"]
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath"]
root_doc = "book/index"
exclude_patterns = ["_build"]
html_theme = "basic"
suppress_warnings = ["config.cache"]
nitpicky = True
html_static_path = ["book/assets"]
"""
INDEX = """# Home

```{toctree}
one
quiz
```

```{practice-place} desk
Without a script.
```

```{practice-table} quiz drills.json
```

```{practice-lists} quiz drills.json
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


def build(folder, *, drills=DRILLS, items=ITEMS, index=INDEX, topic="training"):
    """Build a small book, and return its warnings and its first page."""
    book = folder / "book"
    (book / "assets").mkdir(parents=True)
    (book / "quiz").mkdir()
    (folder / "conf.py").write_text(CONFIG, "utf8")
    (folder / "_toc.yml").write_text("root: book/index\n", "utf8")
    (book / "index.md").write_text(index, "utf8")
    (book / "quiz.md").write_text("# Quiz\n\n```{quiz} quiz\n```\n", "utf8")
    (book / "quiz" / f"{topic}.yml").write_text(items, "utf8")
    if drills is not None:
        (book / "drills.json").write_text(drills if isinstance(drills, str) else json.dumps(drills), "utf8")
    cell = nbformat.v4.new_markdown_cell(ONE, id="cell-0")
    made = nbformat.v4.new_notebook(cells=[cell], metadata={"language_info": {"name": "python"}})
    (book / "one.ipynb").write_text(json.dumps(made), "utf8")
    command = [sys.executable, "-W", "ignore", "-m", "sphinx", "-q", "-n", ".", "_build/html"]
    environment = os.environ | {"PYTHONPATH": str(EXTENSIONS), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr, (folder / "_build" / "html" / "book" / "index.html").read_text("utf8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    warnings, page = build(tmp_path_factory.mktemp("book"))
    assert "WARNING" not in warnings
    assert "ERROR" not in warnings
    return page


def plain(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


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
        r'<li class="progress-piece" data-kind="(\w+)" data-name="([\w-]+)">(.*?)</li>', lists, re.DOTALL
    )
    assert [(kind, name, re.findall(r'href="([^"]+)"', text)) for kind, name, text in pieces] == [
        ("question", "q-easy", ["one.html#q-easy"]),
        ("question", "q-hard", ["one.html#q-hard"]),
        ("drill", "scores", ["one.html#exr-scores"]),
        ("item", "quiz-which", ["quiz.html#quiz-which"]),
    ]
    words = [plain(text) for _, _, text in pieces]
    assert words[0].endswith("say? basic")
    assert r"\(\sqrt{d_k}\)" in words[0]
    assert words[2:] == ["Write the scores warm-up", "Which one holds? solid"]
    folds = re.findall(r'<details class="progress-topic" ([^>]*)>', lists)
    assert [re.search(r'data-title="([^"]+)"', fold)[1] for fold in folds] == ["Attention", "Training"]
    assert plain(re.search(r"<summary>.*?</summary>", lists, re.DOTALL)[0]) == "Attention 2 questions, 1 drills"


def test_the_scripts_are_loaded_where_they_are_used(built):
    scripts = re.findall(r'<script defer="defer" src="[^"]*js/([\w-]+\.js)', built)
    own = ["questions.js", "progress-file.js", "progress.js"]
    assert scripts[:5] == ["vocabulary.js", "util.js", "dom.js", "store.js", "practice.js"], "shared ones come first"
    assert sorted(scripts[5:]) == sorted(own)
    assert "Without a script." in re.search(r'<div class="progress-desk">.*?</div>', built, re.DOTALL)[0]


@pytest.mark.parametrize(
    ("drills", "message"),
    [
        (None, "drills.json holds the drills: got no such file. Run `make notebooks`."),
        ("[{", "drills.json is a list of drills with name, title, topic, tier, kind, minutes: got no JSON"),
        ({"name": "x"}, "minutes: got something else."),
        (drill(tier="1"), "minutes: drill 1 has name, title, topic, tier, kind, minutes."),
        (drill(mood="good"), "drill 1 has name, title, topic, tier, kind, minutes, mood."),
        (drill(topic="heads"), "and its tier 1, 2 or 3: scores has 'heads' and 1."),
        (drill(tier=4), "scores has 'attention' and 4."),
        (DRILLS * 2, "drills.json: a drill stands once: got scores twice."),
    ],
)
def test_a_file_of_drills_that_breaks_a_rule_is_refused(monkeypatch, tmp_path, drills, message):
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    path = tmp_path / "drills.json"
    if drills is not None:
        path.write_text(drills if isinstance(drills, str) else json.dumps(drills), "utf8")
    with pytest.raises(ValueError, match=re.escape(message)):
        importlib.import_module("drills").read_drills(path)


def test_drills_come_by_topic_and_in_a_topic_by_tier(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    places = (("theory", 1), ("attention", 3), ("attention", 1))
    rows = [row for topic, tier in places for row in drill(name=f"{topic}-{tier}", topic=topic, tier=tier)]
    path = tmp_path / "drills.json"
    path.write_text(json.dumps(rows), "utf8")
    found = importlib.import_module("drills").read_drills(path)
    assert [one.name for one in found] == ["attention-1", "attention-3", "theory-1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drills": drill(name="nowhere")}, "reference target not found: exr-nowhere"),
        ({"items": ITEMS.replace("training", "heads"), "topic": "heads"}, "heads.yml, quiz-which: topic is one of"),
    ],
)
def test_what_cannot_be_counted_is_an_error_of_the_build(tmp_path, change, message):
    assert message in build(tmp_path, **change)[0]


@pytest.fixture(scope="module")
def maker():
    """`scripts/make_drills.py`."""
    spec = importlib.util.spec_from_file_location("loaded_make_drills", ROOT / "scripts" / "make_drills.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_of_drills_is_that_of_the_package(maker, tmp_path, capsys):
    assert maker.FILE.read_text("utf8") == maker.text(), "run scripts/make_drills.py"
    stale = tmp_path / "drills.json"
    stale.write_text("[]", "utf8")
    assert maker.main(["--check", "--file", str(stale)]) == 1
    assert "run `make notebooks`" in capsys.readouterr().err
    assert stale.read_text("utf8") == "[]"
    assert maker.main(["--file", str(stale)]) == 0
    assert maker.main(["--check", "--file", str(stale)]) == 0
    assert stale.read_bytes() == maker.FILE.read_bytes()


def test_the_words_of_the_scripts_are_those_of_the_pages_and_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    script = importlib.import_module("vocabulary").vocabulary_script()
    words = json.loads(re.fullmatch(r"const vocabulary = Object.freeze\((.*)\);\n", script, re.DOTALL)[1])
    assert words.pop("ratings") == ["No answer", "A part of it", "Right, with gaps", "Right and complete"]
    assert words.pop("weak") == 1
    assert words.pop("topics") == TOPICS
    assert words.pop("levels") == {"1": "basic", "2": "solid", "3": "hard"}
    assert words.pop("tiers") == {str(tier): word for tier, word in TIERS.items()}
    assert words.pop("kinds") == ["concept", "derive", "compute", "code", "debug"]
    assert not words
