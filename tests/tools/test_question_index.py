"""The index of all questions: counts, entries, links, minutes, and what it refuses, in a small book."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

EXTENSIONS = Path(__file__).parents[2] / "book" / "extensions"
CONFIG = """
extensions = ["myst_nb", "questions"]
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
two
```

{question-count}`total` in all, {question-count}`attention 2` of them solid; read in {study-minutes}`read one two`,
answered in {study-minutes}`questions attention training`,
without the hard ones in {study-minutes}`questions attention training 1 2`.

```{question-index}
```
"""


def ask(name, kind, level, topic, text="Why?"):
    return f"""
::::{{interview-question}} {text}
:name: {name}
:kind: {kind}
:level: {level}
:topic: {topic}
:evidence: {name}
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


ONE = "# One\n\n" + "word " * 3100 + ask("q-hard", "code", 2, "attention") + ask("q-easy", "derive", 1, "attention")
TWO = "# Two\n" + ask("q-math", "compute", 3, "training", r"How large is $\sqrt{d_k}$ in `float16`?")


class Small:
    """A book of two notebooks and an index."""

    def __init__(self, folder, one=ONE, two=TWO, index=INDEX):
        self.folder = folder
        (folder / "book" / "assets").mkdir(parents=True)
        (folder / "conf.py").write_text(CONFIG, "utf8")
        (folder / "_toc.yml").write_text("root: book/index\n", "utf8")
        (folder / "book" / "index.md").write_text(index, "utf8")
        for name, text in (("one", one), ("two", two)):
            self.write(name, text)

    def write(self, name, text):
        cell = nbformat.v4.new_markdown_cell(text, id="cell-0")
        made = nbformat.v4.new_notebook(cells=[cell], metadata={"language_info": {"name": "python"}})
        (self.folder / "book" / f"{name}.ipynb").write_text(json.dumps(made), "utf8")

    def build(self):
        command = [sys.executable, "-W", "ignore", "-m", "sphinx", "-q", "-n", ".", "_build/html"]
        environment = os.environ | {"PYTHONPATH": str(EXTENSIONS), "NO_COLOR": "1"}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return "\n".join(line for line in done.stderr.splitlines() if re.search("WARNING|ERROR", line))

    def page(self, name="index"):
        return (self.folder / "_build" / "html" / "book" / f"{name}.html").read_text("utf8")


def plain(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = Small(tmp_path_factory.mktemp("book"))
    assert book.build() == ""
    return book


def test_roles_count_questions_and_estimate_minutes(built):
    words = plain(built.page())
    assert (
        "3 in all, 1 of them solid; read in 20 min, answered in 15 min, without the hard ones in 10 min." in words
    )  # 3,100 words at 175 a minute


def test_the_table_counts_by_topic_kind_and_level(built):
    rows = re.findall(r"<tr.*?</tr>", built.page(), re.DOTALL)
    cells = [[plain(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]
    assert cells == [
        ["Topic", "concept", "derive", "compute", "code", "debug", "basic", "solid", "hard", "all"],
        ["Attention", "0", "1", "0", "1", "0", "1", "1", "0", "2"],
        ["Training", "0", "0", "1", "0", "0", "0", "0", "1", "1"],
        ["All", "0", "1", "1", "1", "0", "1", "1", "1", "3"],
    ]


def test_each_question_is_an_entry_under_its_topic_the_basic_ones_first(built):
    page = built.page()
    headings = re.findall(r'<h3 class="[^"]*question-heading[^"]*">(.*?)</h3>', page)
    assert headings == ["Attention (2)", "Training (1)"]
    entries = re.findall(r'<li class="([^"]*question-entry[^"]*)">(.*?)</li>', page, re.DOTALL)
    assert [re.search(r'href="([^"]+)"', text)[1] for _, text in entries] == [
        "one.html#q-easy",
        "one.html#q-hard",
        "two.html#q-math",
    ]
    assert [" ".join(sorted(name.split())) for name, _ in entries] == [
        "kind-derive level-1 question-entry",
        "kind-code level-2 question-entry",
        "kind-compute level-3 question-entry",
    ]
    link = re.search(r"<a[^>]*>(.*?)</a>", entries[2][1], re.DOTALL)[1]
    assert r"\(\sqrt{d_k}\)" in link
    assert "<code" in link
    assert plain(entries[2][1]).endswith("? compute hard")


def test_the_filter_is_loaded_on_the_page_of_the_index_only(built):
    assert "js/questions.js" in built.page()
    assert "js/questions.js" not in built.page("one")


def test_the_index_is_made_again_when_a_chapter_changes(tmp_path):
    book = Small(tmp_path, index="# Home\n\n```{toctree}\none\ntwo\n```\n\n```{question-index}\n```\n")
    assert book.build() == ""
    book.write("two", TWO + ask("q-new", "debug", 1, "training"))
    path = tmp_path / "book" / "two.ipynb"
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))
    assert book.build() == ""
    assert "two.html#q-new" in book.page()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"two": TWO.replace("q-math", "q-easy")}, "q-easy names two questions, in book/one and book/two. Rename one."),
        ({"two": TWO.replace("topic: training", "topic: trains")}, "q-math: topic is one of history, attention"),
        ({"index": INDEX + "{question-count}`atention`\n"}, "a topic, a kind or a level: got 'atention'"),
        ({"index": INDEX + "{question-count}` `\n"}, "questions are counted by total"),
        ({"index": INDEX + "{study-minutes}`read three`\n"}, "minutes are those to read chapters"),
        ({"index": INDEX + "{study-minutes}`read index`\n"}, "got 'read index'"),
        ({"index": INDEX + "{study-minutes}`walk one`\n"}, "got 'walk one'"),
        ({"index": INDEX + "{study-minutes}`questions`\n"}, "got 'questions'"),
        ({"index": INDEX + "{study-minutes}`questions 1 2`\n"}, "got 'questions 1 2'"),
        ({"index": INDEX + "{study-minutes}`questions attention 4`\n"}, "got 'attention 4'"),
    ],
)
def test_what_cannot_be_counted_is_an_error_of_the_build(tmp_path, change, message):
    book = Small(tmp_path, **change)
    assert message in book.build()


def test_words_are_counted_without_questions_and_code(questions, tmp_path):
    path = tmp_path / "chapter.md"
    path.write_text(
        "# A title\n\nFour words of text.\n\n```\nnot these\n```\n" + ask("q-x", "code", 1, "theory"), "utf8"
    )
    assert questions.reading_words(path) == len(["#", "A", "title", "Four", "words", "of", "text."])


@pytest.mark.parametrize(("words", "number"), [("total", 2), ("attention", 2), ("attention 1", 1), ("derive 2", 0)])
def test_questions_are_counted_by_all_words_said(questions, words, number):
    assert questions.count(questions.read_questions(ONE), words) == number
