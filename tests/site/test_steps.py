"""Derivations in steps, each in a page of its own, which needs no built site: motion, stills, print, keyboard.

What they show is compared with the package in ``tests/chapters/CHAPTER/test_*_steps_in_browser.py``.
"""

import json
import re

import pytest

from companion.book.site import explorers as static_explorers
from companion.explorers import RotarySteps, ScaleSteps, TileSteps
from tests.site.browser import tab_to

pytestmark = pytest.mark.browser
MOTION = 900  # milliseconds, in steps.js
EXAMPLE = [0.5, -1.0, 3.0, 0.2, 1.0], [9.0, 3.0, 6.0, 1.0, 2.0], 2
EACH = {"scale": ScaleSteps, "tiles": lambda: TileSteps(*EXAMPLE), "rotary": RotarySteps}
each = pytest.mark.parametrize("name", EACH)
MOVED = {"scale": {"cx", "height"}, "tiles": {"height", "opacity"}, "rotary": {"cx", "transform", "points"}}
MARKS = """(svg) => [...svg.children].map((node) => ({ words: node.textContent, ...Object.fromEntries(
  [...node.attributes].map(({ name, value }) => [name, value])
    .filter(([name]) => !/^(data-|aria-|role|tabindex)/.test(name))) }))"""
CLICK = """(trait) => {
  document.querySelector(`[data-trait="${trait}"]`).click();
  return document.querySelector(".ex-scene").hasAttribute("data-moving");
}"""


@pytest.fixture
def lay_out(browser, tmp_path):
    """Open a figure from ``file://``: the tab, which fails the test if a script fails."""
    contexts, errors = [], []

    def open_page(explorer, width=800, motion="reduce", clock=False):
        state = json.loads(json.dumps(explorer.get_state()))
        _, script, place = static_explorers.figure({"state": state}, "0")
        (tmp_path / "mount.js").write_text(static_explorers.MOUNT.read_text("utf8"), "utf8")
        (tmp_path / "figure.js").write_text(script, "utf8")
        tags = "".join(f'<script defer src="{name}.js"></script>' for name in ("mount", "figure"))
        page = tmp_path / "page.html"
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        page.write_text(f'{head}<meta name="viewport" content="width=device-width">{tags}{place}', "utf8")
        context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion=motion)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: errors.append(str(error)))
        if clock:
            tab.clock.install(time=0)
        tab.goto(page.as_uri())
        tab.wait_for_selector(".light-widget[data-ready=yes]")
        if clock:
            tab.clock.pause_at(1e6)  # from here on time goes on by `run_for` only
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def marks(tab, selector=".ex-moving .ex-scene"):
    return [tab.evaluate(MARKS, svg) for svg in tab.query_selector_all(selector)]


def readout(tab):
    return tab.query_selector(".ex-readout").text_content()


def each_step(tab, count):
    """The drawing and the sentence of each step, one after the other."""
    found = []
    for k in range(count):
        if k:
            tab.evaluate(CLICK, "next")
        found.append((marks(tab)[0], readout(tab)))
    return found


@each
def test_back_and_next_end_at_the_first_and_at_the_last_step(lay_out, name):
    explorer = EACH[name]()
    count = len(explorer.sentences)
    tab = lay_out(explorer)
    off = "() => [...document.querySelectorAll('.ex-turn [aria-disabled=true]')].map((b) => b.dataset.trait)"
    assert tab.evaluate(off) == ["back"]
    tab.evaluate(CLICK, "back")
    seen = [readout(tab)]
    for _ in range(count):  # once more than there are steps to go
        tab.evaluate(CLICK, "next")
        seen.append(readout(tab))
        assert tab.evaluate(off) == (["next"] if len(seen) >= count else [])
    assert [text.split(". ")[0] for text in seen] == [f"Step {min(k + 1, count)} of {count}" for k in range(count + 1)]
    tab.evaluate(CLICK, "back")
    assert readout(tab) == seen[count - 2]


def test_all_of_it_works_by_keyboard_and_is_heard(lay_out):
    tab = lay_out(TileSteps(*EXAMPLE))
    tab_to(tab, "[data-trait=step]")
    tab.keyboard.press("ArrowRight")
    assert readout(tab).startswith("Step 2 of ")
    tab_to(tab, "[data-trait=next]")
    tab.keyboard.press("Enter")
    assert readout(tab).startswith("Step 3 of ")
    told = readout(tab)
    tab.wait_for_function("told => document.querySelector('.ex-heard[aria-live]').textContent === told", arg=told)
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Enter")
    assert readout(tab).startswith("Step 2 of ")
    tab_to(tab, "[data-trait=all_steps]")
    tab.keyboard.press("Space")
    assert tab.locator(".ex-stills").is_visible()
    assert not tab.locator(".ex-moving").is_visible()
    tab.keyboard.press("Space")
    assert not tab.locator(".ex-stills").is_visible()
    assert tab.locator(".ex-moving").is_visible()


def test_what_is_pointed_at_is_said_until_the_pointer_leaves(lay_out):
    tab = lay_out(TileSteps(*EXAMPLE))
    sentence = readout(tab)
    tab.hover('[data-i="0"][data-j="2"]', force=True)
    assert readout(tab).startswith("Key 3: score 3.0")
    tab.mouse.move(0, 0)
    assert readout(tab) == sentence
    tab.focus('[data-i="0"][data-j="1"]')
    assert readout(tab).startswith("Key 2: score −1.0")
    tab.evaluate("() => document.activeElement.blur()")
    assert readout(tab) == sentence


@each
def test_the_stills_are_the_steps_one_by_one(lay_out, name):
    explorer = EACH[name]()
    tab = lay_out(explorer)
    steps = each_step(tab, len(explorer.sentences))
    tab.check("[data-trait=all_steps]")
    stills = list(zip(marks(tab, ".ex-stills svg"), tab.locator(".ex-stills p").all_text_contents(), strict=True))
    assert stills == steps
    assert len({json.dumps(step) for step in steps}) == len(steps)
    assert tab.locator(".ex-stills [tabindex], .ex-stills [role]").count() == 0


@each
def test_print_shows_every_step_and_nothing_to_press(lay_out, name):
    explorer = EACH[name]()
    tab = lay_out(explorer)
    tab.emulate_media(media="print")
    tab.wait_for_selector(".ex-stills li", state="attached")
    assert tab.locator(".ex-stills li:visible").count() == len(explorer.sentences)
    assert tab.locator(".ex-moving:visible, input:visible, button:visible, .ex-readout:visible").count() == 0


@each
def test_on_paper_two_steps_stand_in_a_row_and_the_figure_may_go_on(lay_out, name):
    tab = lay_out(EACH[name](), width=682)  # A4 without its margins
    tab.emulate_media(media="print")
    tab.wait_for_selector(".ex-stills li", state="attached")
    first, second, third = tab.locator(".ex-stills li").evaluate_all(
        "all => all.slice(0, 3).map((e) => e.getBoundingClientRect()).map(({ x, y, height }) => ({ x, y, height }))"
    )
    assert first["y"] == second["y"] < third["y"]
    assert first["x"] == third["x"] < second["x"]
    assert max(first["height"], second["height"]) < 340, "three rows on a page"
    assert tab.locator(".explorer").evaluate("e => getComputedStyle(e).breakInside") == "auto"


def test_printing_makes_the_stills(lay_out):
    tab = lay_out(TileSteps(*EXAMPLE))
    assert tab.locator(".ex-stills li").count() == 0
    tab.pdf()
    assert tab.locator(".ex-stills li").count() == len(TileSteps(*EXAMPLE).sentences)


@each
def test_with_reduced_motion_a_step_comes_at_once(lay_out, name):
    tab = lay_out(EACH[name]())
    before = marks(tab)
    assert tab.evaluate(CLICK, "next") is False
    assert marks(tab) != before


@each
def test_without_it_the_marks_move_from_step_to_step(lay_out, name):
    explorer = EACH[name]()
    calm = each_step(lay_out(explorer), 2)
    tab = lay_out(explorer, motion="no-preference", clock=True)
    assert marks(tab)[0] == calm[0][0]
    assert tab.evaluate(CLICK, "next") is True
    assert readout(tab) == calm[1][1]
    tab.clock.run_for(MOTION // 2)
    half = marks(tab)[0]
    moved = set()
    for first, now, last in zip(calm[0][0], half, calm[1][0], strict=True):
        for attribute in first.keys() - {"class", "words"}:
            texts = (mark[attribute] for mark in (first, now, last))
            for a, b, c in zip(*(re.findall(r"-?\d+(?:\.\d+)?", text) for text in texts), strict=True):
                assert min(float(a), float(c)) <= float(b) <= max(float(a), float(c)), (first, now, last)
                assert float(a) == float(c) or b not in (a, c), (first, now, last)
                moved |= {attribute} if a != c else set()
    assert moved >= MOVED[name]
    tab.clock.run_for(MOTION)
    assert marks(tab)[0] == calm[1][0]
    assert tab.query_selector(".ex-scene[data-moving]") is None


def test_a_new_step_takes_over_while_the_marks_still_move(lay_out):
    explorer = RotarySteps()
    calm = each_step(lay_out(explorer), 3)
    tab = lay_out(explorer, motion="no-preference", clock=True)
    tab.evaluate(CLICK, "next")
    tab.clock.run_for(MOTION // 3)
    tab.evaluate(CLICK, "next")
    tab.clock.run_for(2 * MOTION)
    assert marks(tab)[0] == calm[2][0]


@each
@pytest.mark.parametrize("width", [1000, 390, 360])
def test_the_height_stays_and_nothing_is_too_wide(lay_out, name, width):
    explorer = EACH[name]()
    tab = lay_out(explorer, width)
    heights = set()
    for k in range(len(explorer.sentences)):
        tab.check(f'[data-trait=step][value="{k + 1}"]', force=True)
        heights.add(tab.evaluate("() => document.querySelector('.explorer').getBoundingClientRect().height"))
        assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert len(heights) == 1
    tab.check("[data-trait=all_steps]")
    assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
