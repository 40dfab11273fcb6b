"""The index of all questions: counts, entries, links, minutes, and what it refuses, in a small book."""

import re

import pytest

from companion.book import questions
from tests.tools.small import SmallBook, notebook, plain

INDEX = """# Home

```{toctree}
one/index
two/index
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


ONE = "# One\n\n" + "word " * 3600 + ask("q-hard", "code", 2, "attention") + ask("q-easy", "derive", 1, "attention")
TWO = "# Two\n" + ask("q-math", "compute", 3, "training", r"How large is $\sqrt{d_k}$ in `float16`?")


def small(folder, one=ONE, two=TWO, index=INDEX):
    """A book of two notebooks and an index."""
    texts = {"book/index.md": index, "book/one/index.ipynb": notebook(one), "book/two/index.ipynb": notebook(two)}
    return SmallBook(folder, ["questions_page"], texts)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = small(tmp_path_factory.mktemp("book"))
    assert book.warnings() == []
    return book


def test_roles_count_questions_and_estimate_minutes(built):
    words = plain(built.html("index"))
    assert (
        "3 in all, 1 of them solid; read in 20 min, answered in 15 min, without the hard ones in 10 min." in words
    )  # 3,600 words at 200 a minute, rounded to 5


def test_the_table_counts_by_topic_kind_and_level(built):
    rows = re.findall(r"<tr.*?</tr>", built.html("index"), re.DOTALL)
    cells = [[plain(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]
    assert cells == [
        ["Topic", "concept", "derive", "compute", "code", "debug", "basic", "solid", "hard", "all"],
        ["Attention", "0", "1", "0", "1", "0", "1", "1", "0", "2"],
        ["Training", "0", "0", "1", "0", "0", "0", "0", "1", "1"],
        ["All", "0", "1", "1", "1", "0", "1", "1", "1", "3"],
    ]


def test_each_question_is_an_entry_under_its_topic_the_basic_ones_first(built):
    page = built.html("index")
    headings = re.findall(r'<h3 class="[^"]*question-heading[^"]*">(.*?)</h3>', page)
    assert headings == ["Attention (2)", "Training (1)"]
    entries = re.findall(r'<li class="([^"]*question-entry[^"]*)">(.*?)</li>', page, re.DOTALL)
    assert [re.search(r'href="([^"]+)"', text)[1] for _, text in entries] == [
        "one/index.html#q-easy",
        "one/index.html#q-hard",
        "two/index.html#q-math",
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
    assert "js/questions.js" in built.html("index")
    assert "js/questions.js" not in built.html("one/index")


def test_the_index_is_made_again_when_a_chapter_changes(tmp_path):
    book = small(tmp_path, index="# Home\n\n```{toctree}\none/index\ntwo/index\n```\n\n```{question-index}\n```\n")
    assert book.warnings() == []
    book.write("book/two/index.ipynb", notebook(TWO + ask("q-new", "debug", 1, "training")))
    assert book.warnings() == []
    assert "two/index.html#q-new" in book.html("index")


def shown(question, *labels):
    return question.replace(f":evidence: {question.split(':name: ')[1].split()[0]}", f":evidence: {', '.join(labels)}")


def test_a_page_of_text_ends_with_the_questions_that_it_answers_the_basic_ones_first(tmp_path):
    text = "(sec-here)=\n# Text\n\nWords.\n\n## Next\n\n$$\na = b\n$$ (eq-here)\n"
    asked = [
        shown(ask("q-hard", "derive", 3, "attention", r"Is $\sqrt{d}$ in `f`?"), "sec-there", "eq-here"),
        shown(ask("q-easy", "derive", 1, "attention", "Why here?"), "sec-here", "eq-here"),
        shown(ask("q-other", "derive", 1, "attention", "Why there?"), "sec-there", "sec-asked"),
    ]
    names = ("one/text", "one/other", "one/questions")
    texts = {
        "book/index.md": "# Home\n\n```{toctree}\n" + "\n".join(names) + "\n```\n",
        "book/one/text.ipynb": notebook(text),
        "book/one/other.ipynb": notebook("(sec-there)=\n# Other\n\nWords.\n"),
        "book/one/questions.ipynb": notebook("(sec-asked)=\n# Questions\n" + "".join(asked)),
    }
    book = SmallBook(tmp_path, ["questions_page"], texts)
    assert book.warnings() == []
    fold = re.search(r'<details class="[^"]*page-questions.*?</details>', book.html("one/text"), re.DOTALL)[0]
    assert plain(fold) == r"Interview questions on this page (2) Why here? Is \(\sqrt{d}\) in f?"
    links = re.findall(r'href="([^"]+)"', fold)
    assert links == ["questions.html#q-easy", "questions.html#q-hard"]
    assert book.html("one/text").index("page-questions") > book.html("one/text").index("Next")
    assert "this page (2)" in book.html("one/other"), "the section of q-hard and q-other"
    assert "page-questions" not in book.html("one/questions")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"two": TWO.replace("q-math", "q-easy")},
            "of its own: got q-easy in one/index and in two/index. Rename one.",
        ),
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
    book = small(tmp_path, **change)
    assert message in "\n".join(book.warnings())


@pytest.mark.parametrize(("words", "number"), [("total", 2), ("attention", 2), ("attention 1", 1), ("derive 2", 0)])
def test_questions_are_counted_by_all_words_said(words, number):
    assert questions.count(questions.read_questions(ONE), words) == number
