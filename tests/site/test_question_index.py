"""The index of all questions in a browser: the filter by keyboard, its words, and the plain list without JavaScript."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.site.accessibility import axe_faults

PLACE = "book/interview/index.html"
SHOWN = "() => [...document.querySelectorAll('.question-entry')].filter((e) => e.checkVisibility()).length"
pytestmark = pytest.mark.browser


@pytest.fixture
def index(page: object, server: str, settle: Callable[[object], None]) -> object:
    """The page of the index, loaded."""
    page.goto(f"{server}/{PLACE}")
    settle(page)
    page.wait_for_selector(".question-filter")
    return page


def said(page: object) -> str:
    return page.text_content(".question-said")


def test_every_question_of_the_book_is_listed_and_linked_once(site: Path, index: object) -> None:
    links = index.eval_on_selector_all(".question-entry a", "links => links.map((a) => a.getAttribute('href'))")
    here = site / PLACE
    there = {
        f"#{name}" if path == here else f"{os.path.relpath(path, here.parent)}#{name}"
        for path in (site / "book").rglob("*.html")
        for name in re.findall(r'<details class="interview-question"[^>]* id="(q-[\w-]+)"', path.read_text("utf8"))
    }
    assert len(links) == len(set(links))
    assert set(links) == there
    assert index.evaluate(SHOWN) == len(links)
    assert said(index) == f"{len(links)} of {len(links)} questions"


def test_the_filter_works_by_keyboard_alone(index: object) -> None:
    total = index.evaluate(SHOWN)
    index.focus("#question-filter-topic")
    index.keyboard.type("Generation")
    index.keyboard.press("Tab")
    index.keyboard.type("debug")
    assert index.evaluate("document.activeElement.id") == "question-filter-kind"
    shown = index.evaluate(SHOWN)
    assert 0 < shown < 10
    assert said(index) == f"{shown} of {total} questions"
    kinds = index.evaluate(
        "() => [...document.querySelectorAll('.question-entry')].filter((e) => e.checkVisibility())"
        ".map((e) => e.querySelector('.question-kind').textContent)"
    )
    assert set(kinds) == {"debug"}
    groups = "() => [...document.querySelectorAll('.question-group')].filter((e) => e.checkVisibility()).length"
    assert index.evaluate(groups) == 1
    for _ in range(3):  # level, rating, the button
        index.keyboard.press("Tab")
    index.keyboard.press("Enter")
    assert index.evaluate(SHOWN) == total
    assert index.evaluate("document.activeElement.id") == "question-filter-topic"
    assert index.is_disabled(".question-reset")


def test_levels_stand_in_their_order_and_an_empty_choice_says_so(index: object) -> None:
    levels = index.eval_on_selector_all("#question-filter-level option", "all => all.map((one) => one.textContent)")
    assert levels == ["all", "basic", "solid", "hard"]
    heads = index.locator(".question-counts thead th").all_inner_texts()
    kinds = index.eval_on_selector_all("#question-filter-kind option", "all => all.map((one) => one.textContent)")
    assert kinds == ["all", *heads[1:6]], "as in the table"
    index.evaluate("() => store.erase()")
    index.select_option("#question-filter-rating", "good")
    assert index.evaluate(SHOWN) == 0
    assert said(index).startswith("No question")


CHOSEN = "() => [...document.querySelectorAll('.question-filter select')].map((menu) => menu.value)"


def test_a_choice_stands_in_the_address_and_the_address_makes_the_choice(index: object, server: str) -> None:
    start = index.evaluate("() => history.length")
    index.select_option("#question-filter-topic", "scaling")
    index.select_option("#question-filter-level", "hard")
    assert index.url == f"{server}/{PLACE}?topic=scaling&level=hard"
    assert index.evaluate("() => history.length") == start, "Back leaves the page"
    words = said(index)
    index.reload()
    index.wait_for_selector(".question-filter")
    assert index.evaluate(CHOSEN) == ["scaling", "", "hard", ""]
    assert said(index) == words
    assert 0 < index.evaluate(SHOWN) < 60
    index.click(".question-reset")
    assert index.url == f"{server}/{PLACE}"


def test_an_address_chooses_only_what_the_menus_have(index: object, server: str) -> None:
    total = index.evaluate(SHOWN)
    index.goto(f"{server}/{PLACE}?topic=cooking&kind=debug&level=Hard&rating=%00&other=1")
    index.wait_for_selector(".question-filter")
    assert index.evaluate(CHOSEN) == ["", "debug", "", ""]
    assert 0 < index.evaluate(SHOWN) < total
    index.select_option("#question-filter-kind", "")
    assert index.url == f"{server}/{PLACE}?other=1", "and leaves what others wrote"
    assert index.evaluate(SHOWN) == total


def test_back_chooses_what_was_chosen_before(index: object, server: str) -> None:
    index.select_option("#question-filter-kind", "debug")
    index.evaluate("() => { location.hash = 'to-repeat-scaling'; }")
    index.wait_for_function(f"() => ({CHOSEN})()[3] === 'weak'")
    assert index.evaluate(CHOSEN) == ["scaling", "", "", "weak"]
    index.select_option("#question-filter-rating", "")
    assert index.url == f"{server}/{PLACE}?topic=scaling", "what is no longer shown is no longer asked for"
    index.go_back()
    index.wait_for_function(f"() => ({CHOSEN})()[1] === 'debug'")
    assert index.evaluate(CHOSEN) == ["", "debug", "", ""]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_link_to_a_choice_opens_at_its_list(
    page: object, server: str, resize: Callable, settle: Callable[[object], None], width: int, height: int
) -> None:
    resize(page, width, height)
    page.goto(f"{server}/{PLACE}?topic=scaling&level=hard")
    settle(page)
    first = page.locator(".question-entry:visible a").first
    first.wait_for()
    box, words = first.bounding_box(), page.locator(".question-said").bounding_box()
    assert 40 < words["y"] < box["y"], "below the bar, and what was chosen is said above the list"
    assert box["y"] + box["height"] < height
    assert page.evaluate("document.activeElement.className") == "question-said"
    page.keyboard.press("Tab")
    if page.evaluate("document.activeElement.matches('.question-heading a')"):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.href") == first.evaluate("link => link.href")


@pytest.mark.parametrize("address", [PLACE, f"{PLACE}?topic=cooking", f"{PLACE}?kind=debug#sec-plan-one-week"])
def test_an_address_without_a_choice_or_with_a_place_opens_there(
    page: object, server: str, settle: Callable[[object], None], address: str
) -> None:
    page.goto(f"{server}/{address}")
    settle(page)
    page.wait_for_selector(".question-filter")
    if "#" in address:
        assert page.locator("#the-one-week-plan").bounding_box()["y"] < 200
    else:
        assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.activeElement.className") != "question-said"


def test_the_filter_has_names_and_announces_what_it_shows(index: object) -> None:
    assert index.get_attribute(".question-said", "role") == "status"
    assert index.get_by_label("Topic").count() == 1
    assert index.get_by_role("form", name="Choose questions").count() == 1


@pytest.mark.parametrize("width", [390, 360])
def test_the_filter_fits_a_phone(index: object, resize: Callable, width: int) -> None:
    resize(index, width, 800)
    assert index.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    right = "all => Math.max(...all.map((e) => e.getBoundingClientRect().right))"
    assert index.eval_on_selector_all(".question-filter *", right) <= width


def test_axe_finds_nothing_in_the_filter(index: object) -> None:
    assert axe_faults(index, ".question-filter") == []


def test_without_javascript_the_list_is_whole_and_no_filter_shows(browser: object, server: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server}/{PLACE}")
    assert page.locator(".question-filter").count() == 0
    assert page.locator(".question-entry a").count() >= 130
    assert page.locator(".question-entry a").first.is_visible()
    context.close()


def test_a_question_that_is_chosen_here_keeps_its_answer_folded_until_the_reader_unfolds_it(
    index: object, server: str
) -> None:
    fold = "name => document.getElementById(name.slice(1)).open"
    chosen = index.locator(".question-entry a").nth(3)
    name = chosen.evaluate("link => link.hash")
    chosen.click()
    index.wait_for_url(f"**/*{name}")
    index.wait_for_load_state("load")
    assert index.evaluate(fold, name) is False
    assert 0 <= index.locator(f"{name} > summary").bounding_box()["y"] < 300
    index.evaluate("name => { location.hash = 'somewhere-else'; location.hash = name; }", name)
    index.wait_for_function(fold, arg=name)
    index.reload()
    index.wait_for_function(fold, arg=name)  # whoever comes by a link looks it up
