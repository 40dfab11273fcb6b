"""The formula sheet in a browser: nothing cut on a phone, two to three sides of A4, links that lead somewhere."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from companion.book.site import formulas_page

ROOT = Path(__file__).resolve().parents[2]
LINES = yaml.safe_load((ROOT / formulas_page.FORMULAS).read_text("utf8"))
PLACE = "book/interview/formulas.html"
CUT = """() => [...document.querySelectorAll('.formulas span.math')].filter((formula) => formula.tabIndex !== 0
  && formula.querySelector('mjx-math').getBoundingClientRect().width > formula.getBoundingClientRect().width + 2)
  .map((formula) => formula.closest('.formula').id)"""
OUTSIDE = """() => [...document.querySelectorAll('.formulas mjx-math')].filter((formula) => {
  const { left, right } = formula.getBoundingClientRect(), column = formula.closest('ul').getBoundingClientRect();
  return left < column.left - 1 || right > column.right + 1; }).length"""
pytestmark = pytest.mark.browser


def seen(page: object, selector: str) -> int:
    return page.eval_on_selector_all(selector, "found => found.filter((e) => e.checkVisibility()).length")


def test_the_sheet_on_a_phone_and_on_paper(page: object, server: str, settle: Callable[[object], None]) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(f"{server}/{PLACE}")
    settle(page)
    page.wait_for_function("document.querySelectorAll('.formulas mjx-math').length > 100")
    page.wait_for_function(f"({CUT})().length === 0")  # the page looks for what scrolls once it is loaded
    assert page.eval_on_selector_all(".formula", "found => found.map((e) => e.id)") == [
        f"formula-{line['id']}" for line in LINES
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".formula-link a").count() == len(LINES)
    assert seen(page, ".formula-say") == len(LINES)

    page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
    page.emulate_media(media="print")
    page.wait_for_function(f"({OUTSIDE})() === 0")
    assert seen(page, ".formula") == len(LINES)
    assert page.locator(".bd-article h1").evaluate("e => [e.checkVisibility(), getComputedStyle(e).fontSize]") == [
        True,
        "16px",
    ], "a sheet on the desk says what it is"
    assert seen(page, ".bd-article :is(.cell, details, .formula-link)") == 0
    assert seen(page, ":is(.bd-sidebar, .bd-header-article, .prev-next-area, .bd-footer, .bd-footer-content)") == 0
    paper = page.pdf(prefer_css_page_size=True)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 3
