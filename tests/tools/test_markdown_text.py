"""The questions of the book as plain Markdown, for the flash cards."""

import re
from itertools import chain
from pathlib import Path

import pytest

from companion.book import markdown_text
from companion.book.questions import read_book, read_questions
from tests.tools.small import contents, notebook

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
QUESTION = """::::{interview-question} What is NAME?
:name: q-NAME
:kind: concept
:level: 1
:topic: attention
:evidence: claim-x
:::{short}
It is {cite:t}`two2020`.
:::
:::{full}
Look.
:::
:::{follow-ups}
1. **Why?** Because {cite:p}`one2019,three2021`.
:::
:::{common-mistake}
See {doc}`/book/b/index`.
:::
::::
"""
SOURCES = r"""
@article{one2019, author = {van den B{\"e}rg, Ada}, year = {2019}}
@article{two2020, author = {One, A and Two, B}, year = {2020}}
@article{three2021, author = {One, A and Two, B and Three, C}, year = {2021}}
"""


@pytest.fixture
def small(tmp_path):
    """A book of two chapters, b before a, and sources for them."""
    book = tmp_path / "book"
    (tmp_path / "_toc.yml").write_text(contents("book/b/index.ipynb", "book/a/index.ipynb", "book/page.md"))
    for name, question in (("a", "one"), ("b", "two")):
        (book / name).mkdir(parents=True)
        (book / name / "index.ipynb").write_text(notebook("# Title", QUESTION.replace("NAME", question)), "utf8")
        (book / name / "index.md").write_text(f"---\nx: 1\n---\n\n# Chapter {name}\n\n(sec-{name})=\n## Part\n", "utf8")
    (book / "references.bib").write_text(SOURCES, "utf8")
    return tmp_path


def test_a_book_is_read_in_the_order_of_its_table_of_contents(small):
    found = read_book(small)
    assert [(question.name, question.page) for question in found] == [("q-two", "b/index"), ("q-one", "a/index")]


def test_two_chapters_with_a_question_of_one_name_are_refused(small):
    (small / "book" / "a" / "index.ipynb").write_text(notebook(QUESTION.replace("NAME", "two")), "utf8")
    with pytest.raises(ValueError, match=r"of its own: got q-two in b/index and in a/index\. Rename one"):
        read_book(small)


def test_a_notebook_or_a_table_of_contents_that_is_missing_is_named(small):
    (small / "book" / "a" / "index.ipynb").unlink()
    with pytest.raises(ValueError, match=r"names book/a/index\.ipynb: got no such file\. Run `make notebooks`"):
        read_book(small)
    (small / "_toc.yml").unlink()
    with pytest.raises(ValueError, match=r"_toc\.yml beside book/: got no such file"):
        read_book(small)


def test_citations_and_references_become_the_words_that_the_page_shows(small):
    question = markdown_text.plain_book(small)[0]
    assert question.short == "It is One and Two (2020)."
    assert question.follow_ups == (("Why?", "Because (van den Bërg, 2019; One et al., 2021)."),)
    assert question.common_mistake == "See Chapter b."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see {ref}`the part <sec-a>`", "see the part"),
        ("see {ref}`sec-a`", "see Part"),
        ("see {ref}`fig-causal-weights`", "see causal weights"),
        ("by {eq}`eq-soft-max`", "by the equation “soft max”"),
        ("{doc}`here </book/a/index>` and {doc}`/book/b/index`", "here and Chapter b"),
        ("{math}`x^2` of a {term}`key <keys>`", "$x^2$ of a key"),
        ("```python\nx = f'{ref}`sec-a`'\n```\n{ref}`sec-a`", "```python\nx = f'{ref}`sec-a`'\n```\nPart"),
        ("$\\frac{a}{b}$ and `{x}`", "$\\frac{a}{b}$ and `{x}`"),
    ],
)
def test_a_role_becomes_words_and_code_and_formulas_stay(small, text, words):
    assert markdown_text.Words(small).plain(text, "a, q-x") == words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{nope}`x`", r"a, q-x: a question outside the site knows the roles cite, .*: got \{nope\}"),
        ("{cite:t}`nobody1999`", r"a, q-x: \{cite:t\} names 'nobody1999': the book has none"),
    ],
)
def test_a_role_without_words_is_refused(small, text, message):
    with pytest.raises(ValueError, match=message):
        markdown_text.Words(small).plain(text, "a, q-x")


def test_every_question_of_every_chapter_comes_once_and_without_a_role(chapters):
    found = markdown_text.plain_book(ROOT)
    assert [question.name for question in found] == [
        question.name for name in chapters for question in read_questions(BOOK / f"{name}.ipynb")
    ]
    for question in found:
        texts = [question.question, question.short, question.full, question.common_mistake]
        assert re.search(r"\{[a-z:]+\}`", "\n".join(chain(texts, *question.follow_ups))) is None, question.name
