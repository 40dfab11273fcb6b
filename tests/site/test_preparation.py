"""The forty questions on paper, and the index of terms on a phone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from companion.book.site.question_sheet import read_sheet
from companion.book.terms import terms

ROOT = Path(__file__).resolve().parents[2]
MOST_SIDES = 8
pytestmark = pytest.mark.browser


def seen(page: object, selector: str) -> int:
    return page.eval_on_selector_all(selector, "found => found.filter((e) => e.checkVisibility()).length")


def test_the_forty_questions_print_in_two_columns_on_eight_sides_at_most(
    page: object, server: str, settle: Callable[[object], None]
) -> None:
    number = sum(len(names) for _, names in read_sheet(ROOT))
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 without its margins
    page.goto(f"{server}/book/interview/forty-questions.html")
    settle(page)
    page.emulate_media(media="print")
    assert number == 40
    assert seen(page, ".question-sheet li > .sheet-question") == number
    lefts = page.eval_on_selector_all(
        ".question-sheet li", "f => f.map((e) => Math.round(e.getBoundingClientRect().left))"
    )
    assert len(set(lefts)) == 2
    assert seen(page, ":is(.bd-sidebar, .bd-header-article, .prev-next-area, .bd-footer)") == 0
    assert seen(page, ".bd-article h1 ~ p") == 0
    paper = page.pdf(prefer_css_page_size=True)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= MOST_SIDES


def test_the_index_of_terms_is_a_list_on_a_phone(page: object, server: str, settle: Callable[[object], None]) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(f"{server}/book/interview/terms.html")
    settle(page)
    assert page.locator("ul.terms > li").count() == len(terms(ROOT))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    letters = page.locator(".term-letters a")
    assert letters.count() >= 20
    for letter in ("K", "T"):
        letters.get_by_text(letter, exact=True).click()
        assert page.evaluate("document.querySelector(location.hash).innerText.trim()[0]") == letter
