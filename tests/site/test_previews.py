"""Previews of what a link leads to: by mouse, keyboard and finger; a key closes them; nothing is loaded before one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

PLACE = "book/positional-encoding/rotary-positions.html"
BOX = "#book-preview"
CITATION = ".bd-article p a.reference[href*='references.html#']"
EQUATION = ".bd-article p a.reference[href*='#equation-']"
QUESTION = "a.reference[href*='#q-']"
pytestmark = pytest.mark.browser


@pytest.fixture
def reading(page: object, server: str, settle: Callable[[object], None]) -> object:
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"{server}/{PLACE}")
    settle(page)
    return page


def previews_asked(page: object) -> int:
    return sum("/_static/previews/" in address for address in page.asked)


def test_a_mouse_opens_a_citation_and_can_enter_it_and_leaving_closes_it(reading: object) -> None:
    link, box = reading.locator(CITATION).first, reading.locator(BOX)
    entry = link.get_attribute("title")
    link.hover()
    box.wait_for(state="visible")
    assert box.text_content() == f"{entry}Open the references"
    assert link.get_attribute("title") is None
    assert link.get_attribute("aria-describedby") == "book-preview"
    box.hover()
    reading.wait_for_timeout(500)
    assert box.is_visible()
    reading.mouse.move(5, 5)
    box.wait_for(state="hidden")
    assert link.get_attribute("aria-describedby") is None
    assert previews_asked(reading) == 0


def test_an_equation_is_shown_as_it_is_set_and_the_script_comes_once(reading: object) -> None:
    assert previews_asked(reading) == 0
    for place in (0, 1, 0):
        link = reading.locator(EQUATION).nth(place)
        link.scroll_into_view_if_needed()
        reading.wait_for_timeout(100)
        link.hover()
        shown = reading.locator(f"{BOX} mjx-container")
        shown.wait_for(state="visible")
        size = reading.locator(BOX).bounding_box()
        assert size["x"] >= 0
        assert size["x"] + size["width"] <= 1440
        reading.keyboard.press("Escape")
        reading.locator(BOX).wait_for(state="hidden")
        reading.mouse.move(5, 5)
    assert previews_asked(reading) == 1


def test_a_link_that_is_hidden_while_its_preview_loads_shows_none(reading: object) -> None:
    asked = []
    reading.route("**/_static/previews/**", lambda route: asked.append(route))
    link = reading.locator(EQUATION).first
    link.scroll_into_view_if_needed()
    reading.wait_for_timeout(100)
    with reading.expect_request("**/_static/previews/**"):
        link.hover()
    link.evaluate("link => { link.style.display = 'none'; }")
    asked[0].continue_()
    reading.wait_for_function("() => window.bookPreviews")
    reading.wait_for_timeout(100)  # in which it would show
    assert not reading.locator(BOX).is_visible()  # and the page has said nothing


def test_focus_opens_one_and_escape_closes_it_and_the_focus_stays(reading: object) -> None:
    link = reading.locator(EQUATION).first
    reading.keyboard.press("Tab")  # from now on the focus shows
    link.focus()
    reading.locator(BOX).wait_for(state="visible")
    reading.keyboard.press("Escape")
    reading.locator(BOX).wait_for(state="hidden")
    assert link.evaluate("link => link === document.activeElement")


def test_a_first_tap_shows_and_a_second_follows(browser: object, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{server}/{PLACE}")
    link, box = page.locator(CITATION).first, page.locator(BOX)
    link.tap()
    box.wait_for(state="visible")
    assert page.url.endswith(PLACE)
    size = box.bounding_box()
    assert size["x"] >= 0
    assert size["x"] + size["width"] <= 390
    page.locator(".bd-article h1").tap()
    box.wait_for(state="hidden")
    link.tap()
    link.tap()
    page.wait_for_url("**/references.html#*")
    context.close()


LINES = {
    "#equation-": (PLACE, "equation"),
    "#term-": (PLACE, "glossary"),
    "#claim-": ("book/attention/masks.html", "claim"),
    "#q-": ("book/efficient-attention/states-that-forget.html", "question"),
    "references.html#": (PLACE, "references"),
}


@pytest.mark.parametrize("to", LINES)
def test_the_last_line_of_a_preview_opens_what_it_shows(page: object, server: str, to: str) -> None:
    place, name = LINES[to]
    page.goto(f"{server}/{place}")
    link = page.locator(f".bd-article a.reference[href*='{to}']").first
    target = link.evaluate("link => link.href")
    link.scroll_into_view_if_needed()
    link.hover()
    line = page.locator(f"{BOX} .book-preview-open")
    line.wait_for(state="visible")
    assert line.text_content() == f"Open the {name}"
    there = line.bounding_box()
    # A hand that is in no hurry: twenty steps on the straight way.
    page.mouse.move(there["x"] + there["width"] / 3, there["y"] + there["height"] / 2, steps=20)
    page.wait_for_timeout(400)  # longer than a preview that is left stays
    page.mouse.down()  # which moves the focus, and must not close it
    page.wait_for_timeout(100)
    page.mouse.up()
    page.wait_for_url(target)
    page.locator(BOX).wait_for(state="hidden")


def test_the_last_line_opens_by_finger_and_the_link_by_keyboard(browser: object, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{server}/{PLACE}")
    link, line = page.locator(EQUATION).first, page.locator(f"{BOX} .book-preview-open")
    target = link.evaluate("link => link.href")
    link.tap()
    line.wait_for(state="visible")
    assert line.bounding_box()["height"] >= 44
    line.tap()
    page.wait_for_url(target)
    page.goto(f"{server}/{PLACE}")
    page.keyboard.press("Tab")
    link.focus()
    line.wait_for(state="visible")
    page.keyboard.press("Enter")
    page.wait_for_url(target)
    context.close()


def test_a_preview_lies_at_the_line_of_its_link_that_is_pointed_at(page: object, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/{PLACE}")
    lines = page.evaluate(
        """(citation) => {
          const link = document.querySelector(citation);
          link.textContent = "a title that is longer than any line of a phone and so goes on in a second line";
          link.scrollIntoView({ block: "center", behavior: "instant" });
          return [...link.getClientRects()].map(({ x, y, width, height }) => ({ x, y, width, height }));
        }""",
        CITATION,
    )
    assert len(lines) > 1
    for line in lines:
        page.keyboard.press("Escape")
        page.mouse.move(5, 5)
        page.mouse.move(line["x"] + min(20, line["width"] / 2), line["y"] + line["height"] / 2, steps=3)
        page.locator(BOX).wait_for(state="visible")
        box = page.locator(BOX).bounding_box()
        assert box["y"] == pytest.approx(line["y"] + line["height"] + 6, abs=2)


def test_a_tap_on_a_link_without_a_preview_follows_it(browser: object, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{server}/book/glossary.html")
    page.locator(".term-more a[href*='terms.html#term-']").first.tap()
    page.wait_for_url("**/interview/terms.html#term-*")
    assert page.locator(BOX).count() == 0
    context.close()


def test_previews_come_from_a_folder_too(page: object, site: Path) -> None:
    page.goto((site / PLACE).as_uri())
    page.locator(EQUATION).first.hover()
    page.locator(f"{BOX} mjx-container").wait_for(state="visible")


def test_no_preview_shows_an_index_or_a_power_in_brackets(site: Path) -> None:
    """A name of code may have one: ``claim_(x)`` stands nowhere, and no formula does."""
    raw = re.compile(r"[^\s\"]*[_^]\([^\s\"]*")
    found = {path.stem: raw.findall(path.read_text("utf8")) for path in (site / "_static" / "previews").rglob("*.js")}
    assert {name: hits for name, hits in found.items() if hits} == {}
    assert sum("<sub>" in path.read_text("utf8") for path in (site / "_static" / "previews").rglob("*.js")) > 30


def test_every_link_to_an_equation_or_a_term_has_a_preview(site: Path) -> None:
    lacking = []
    for path in sorted(set(site.glob("book/*/*.html")) - {site / "book/interview/terms.html"}):  # that is a list
        article = path.read_text("utf8").partition("<article")[2].partition("</article>")[0]
        links = set(re.findall(r'<a class="reference internal" href="([^"]*#(?:equation-|term-)[^"]*)"', article))
        name = path.relative_to(site).with_suffix("")
        script = (site / "_static" / "previews" / f"{name}.js").read_text("utf8")
        lacking += [f"{name}: {link}" for link in links if f'"{link}":' not in script]
    assert lacking == []
