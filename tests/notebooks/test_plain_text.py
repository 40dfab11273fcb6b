"""The questions of the book as plain Markdown, for the flash cards."""

import importlib
import json
import re
from itertools import chain
from pathlib import Path

import pytest

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
See {doc}`b`.
:::
::::
"""
SOURCES = r"""
@article{one2019, author = {van den B{\"e}rg, Ada}, year = {2019}}
@article{two2020, author = {One, A and Two, B}, year = {2020}}
@article{three2021, author = {One, A and Two, B and Three, C}, year = {2021}}
"""


@pytest.fixture(scope="module")
def plain():
    """`book/extensions/plain_text.py`, which imports its neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BOOK / "extensions"))
        yield importlib.import_module("plain_text")


def notebook(*texts):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in texts]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def small(tmp_path):
    """A book of two chapters, b before a, and sources for them."""
    book = tmp_path / "book"
    book.mkdir()
    (tmp_path / "_toc.yml").write_text(
        "parts:\n  - chapters:\n      - file: book/b.ipynb\n      - file: book/a.ipynb\n      - file: book/page.md\n"
    )
    for name, question in (("a", "one"), ("b", "two")):
        (book / f"{name}.ipynb").write_text(notebook("# Title", QUESTION.replace("NAME", question)), "utf8")
        (book / f"{name}.md").write_text(f"---\nx: 1\n---\n\n# Chapter {name}\n\n(sec-{name})=\n## Part\n", "utf8")
    (book / "references.bib").write_text(SOURCES, "utf8")
    return book


def test_a_book_is_read_in_the_order_of_its_table_of_contents(plain, small):
    found = plain.read_book(small)
    assert [(question.name, question.chapter) for question in found] == [("q-two", "b"), ("q-one", "a")]


def test_two_chapters_with_a_question_of_one_name_are_refused(plain, small):
    (small / "a.ipynb").write_text(notebook(QUESTION.replace("NAME", "two")), "utf8")
    with pytest.raises(ValueError, match=r"a question has a name of its own: got q-two in b and in a\. Rename one"):
        plain.read_book(small)


def test_a_notebook_or_a_table_of_contents_that_is_missing_is_named(plain, small):
    (small / "a.ipynb").unlink()
    with pytest.raises(ValueError, match=r"_toc\.yml names book/a\.ipynb: got no such file\. Run `make notebooks`"):
        plain.read_book(small)
    (small.parent / "_toc.yml").unlink()
    with pytest.raises(ValueError, match=r"_toc\.yml beside book/: got no such file"):
        plain.read_book(small)


def test_citations_and_references_become_the_words_that_the_page_shows(plain, small):
    question = plain.plain_book(small)[0]
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
        ("{doc}`here <a>` and {doc}`/b`", "here and Chapter b"),
        ("{math}`x^2` of a {term}`key <keys>`", "$x^2$ of a key"),
        ("```python\nx = f'{ref}`sec-a`'\n```\n{ref}`sec-a`", "```python\nx = f'{ref}`sec-a`'\n```\nPart"),
        ("$\\frac{a}{b}$ and `{x}`", "$\\frac{a}{b}$ and `{x}`"),
    ],
)
def test_a_role_becomes_words_and_code_and_formulas_stay(plain, small, text, words):
    assert plain.Words(small).plain(text, "a, q-x") == words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{nope}`x`", r"a, q-x: a question outside the site knows the roles cite, .*: got \{nope\}"),
        ("{cite:t}`nobody1999`", r"a, q-x: \{cite:t\} names 'nobody1999': the book has none"),
    ],
)
def test_a_role_without_words_is_refused(plain, small, text, message):
    with pytest.raises(ValueError, match=message):
        plain.Words(small).plain(text, "a, q-x")


def test_every_question_of_every_chapter_comes_once_and_without_a_role(plain, questions, chapters):
    found = plain.plain_book(BOOK)
    assert [question.name for question in found] == [
        question.name for name in chapters for question in questions.read_questions(BOOK / f"{name}.ipynb")
    ]
    for question in found:
        texts = [question.question, question.short, question.full, question.common_mistake]
        assert re.search(r"\{[a-z:]+\}`", "\n".join(chain(texts, *question.follow_ups))) is None, question.name
