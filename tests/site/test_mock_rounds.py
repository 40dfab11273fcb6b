"""Target times, past interviews and the coding round in a real browser: told, kept, merged, by keyboard alone."""

import re

import pytest

from tests.site.accessibility import axe_faults
from tests.site.browser import fill, unfold

pytestmark = pytest.mark.browser
PLACE = "book/interview/mock-interview.html"
NOW = 1_800_000_000
DAY = "2026-01-{:02d}T10:00:00.000Z"


@pytest.fixture
def mock(browser, server):
    """The page in a context of its own, whose time the test moves."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    context.set_default_timeout(60_000)
    tab = context.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: errors.append(message.text))
    tab.clock.install(time=NOW)
    tab.goto(f"{server}/{PLACE}")
    tab.wait_for_selector(".mock-form")
    tab.clock.pause_at(NOW + 3600)  # from here on time passes only when a test lets it
    yield tab
    context.close()
    assert errors == []


def kept(page):
    return page.evaluate("() => store.read('mock')")


def write(page, **section):
    page.evaluate("section => store.write('mock', section)", section)
    page.reload()
    page.wait_for_selector(".mock-form")


def later(page, seconds):
    page.clock.fast_forward(1000 * seconds - 500)
    page.clock.run_for(500)  # in which every timer runs


def axe(page, selector):
    """Find faults while time passes, which axe needs, and stop it again."""
    page.clock.resume()
    found = axe_faults(page, selector)
    page.clock.pause_at(page.evaluate("() => Date.now() / 1000 + 1"))
    return found


def press(page, words, stage=".mock-stage"):
    page.focus(f"{stage} button:has-text('{words}')")
    page.keyboard.press("Enter")


def begin(page):
    """Start an interview, and wait for its texts."""
    press(page, "Start the interview")
    page.wait_for_selector(".mock-asking")


def entry(day, mean, **other):
    at = DAY.format(day)
    made = {"at": at, "questions": 2, "rated": 5, "mean": mean, "minutes": 7.5, "topics": ["attention"], "pool": "all"}
    return {at: made | other}


def answer(page, rating):
    press(page, "Show")
    page.check(f".mock-stage .mock-rating input[value='{rating}']")
    page.click(".mock-stage .mock-actions button:is(:text-matches('^Next'), :text('See the report'))")


def test_the_target_time_is_told_by_half_and_in_full_once_each_and_compared_in_the_report(mock):
    assert not mock.locator("[name=target-2]").is_visible()
    for words in ("0", "61", "-1"):
        unfold(mock)
        fill(mock.locator("[name=target-2]"), words)
        mock.evaluate("() => { document.querySelector('.mock-choice').open = false; }")
        press(mock, "Start the interview")
        assert mock.inner_text(".mock-form .mock-told").startswith("Type a target time from 0.1 to 60 minutes")
        assert mock.evaluate("() => document.activeElement.name") == "target-2"
    press(mock, "Fill in 2, 4, 6")
    assert [mock.input_value(f"[name=target-{level}]") for level in (1, 2, 3)] == ["2", "4", "6"]
    for level in ("2", "3"):
        mock.uncheck(f"[name=level][value='{level}']")
    mock.select_option("[name=minutes]", "")
    fill(mock.locator(".mock-form [name=number]"), "1")
    begin(mock)
    said = mock.locator(".mock-time")
    assert said.get_attribute("role") == "status"
    mock.evaluate(
        """() => {
          const place = document.querySelector(".mock-time");
          window.told = [];
          new MutationObserver(() => window.told.push(place.textContent)).observe(place, { childList: true });
        }"""
    )
    later(mock, 50)
    assert said.inner_text() == ""
    later(mock, 15)
    later(mock, 15)
    assert said.inner_text() == "Half of your time is used: 1 minute of 2 minutes."
    assert 0.5 < mock.evaluate("() => document.querySelector('.mock-timer progress').position") < 0.75
    later(mock, 50)
    later(mock, 50)
    assert said.inner_text().startswith("All of your time is used: 2 minutes.")
    assert len(mock.evaluate("() => window.told")) == 2
    assert re.match(r"Thinking: 3:0\d of 2:00", mock.inner_text(".mock-timer"))
    assert axe(mock, ".mock-stage") == []
    far = "() => document.querySelector('.mock-far').value"
    assert mock.evaluate(far) == 0
    answer(mock, 2)
    assert mock.evaluate(far) == 1
    later(mock, 40)
    assert said.inner_text() == "Half of your time is used: 30 seconds of 1 minute."
    mock.reload()  # the target goes on with the interview
    press(mock, "Go on with it")
    assert " of 1:00" in mock.inner_text(".mock-timer")
    later(mock, 20)
    answer(mock, 3)
    row, end = (mock.locator(place).bounding_box() for place in (".mock-actions", ".mock-actions button:last-child"))
    assert abs(row["x"] + row["width"] - end["x"] - end["width"]) < 2, "what ends it stands apart"
    press(mock, "End the interview")
    assert re.fullmatch(
        r"You took 3:[2-5]\d, and your targets add up to 3:00; 1 of 2 answers took longer than the target\.",
        mock.inner_text(".mock-against"),
    )
    row = mock.eval_on_selector_all("[data-by=time] tbody tr > *", "cells => cells.map(c => c.textContent)")
    assert (row[0], row[1], row[3], row[4]) == ("basic", "2", "3:00", "1")
    (made,) = kept(mock)["history"].values()
    assert (made["questions"], made["rated"], made["mean"], made["target"]) == (1, 2, 2.5, 3)
    assert 3.3 < made["minutes"] < 4
    press(mock, "New interview")
    assert mock.input_value("[name=target-1]") == "2"
    press(mock, "No target")
    begin(mock)
    later(mock, 1000)
    assert mock.is_visible(".mock-time") is False


def test_the_timer_stops_with_the_answer_and_stays_hidden_once_it_is(mock):
    begin(mock)
    timer = mock.locator(".mock-stage [role=timer]")
    later(mock, 65)
    assert timer.inner_text() == "1:05"
    press(mock, "Show the short answer")
    later(mock, 5)
    assert timer.inner_text() == "1:05"
    mock.uncheck(".mock-timer input")
    assert not timer.is_visible()
    press(mock, "Skip")
    assert not timer.is_visible()


def test_past_interviews_are_listed_the_newest_first_capped_and_merged_without_doubles(mock):
    history = {}
    for day in range(1, 31):
        history |= entry(day, day % 4)
        history |= {
            key.replace("T10", "T12"): value | {"at": key.replace("T10", "T12")} for key, value in history.items()
        }
    assert len(history) > 50
    spoiled = {"x": {"at": "x"}, **entry(31, 9), "y": 3}
    write(mock, history=history | spoiled, target={"1": -1, "2": "x", "3": 5})
    rows = mock.eval_on_selector_all(".mock-history tbody th", "all => all.map(e => e.innerText)")
    assert len(rows) == 10
    assert rows[0].startswith("2026-01-30")
    assert "2 questions, Attention" in rows[0]
    assert rows == sorted(rows, reverse=True)
    assert [mock.input_value(f"[name=target-{level}]") for level in (1, 2, 3)] == ["", "", "5"]
    mock.select_option("[name=minutes]", "")
    fill(mock.locator(".mock-form [name=number]"), "1")
    begin(mock)
    answer(mock, 1)
    press(mock, "End the interview")
    after = kept(mock)["history"]
    assert len(after) == 50
    assert all(key == value["at"] for key, value in after.items())
    assert min(after) > min(history)
    again = mock.evaluate("() => { const s = store; s.importText(s.exportText()); return s.read('mock').history; }")
    assert again == after
    other = {"version": 1, "sections": {"mock": {"history": entry(31, 2.5)}}}
    count = mock.evaluate("file => store.importText(JSON.stringify(file))", other)
    assert count == {"taken": 1, "kept": 0}
    assert len(kept(mock)["history"]) == 51  # the page keeps 50 of them when it writes next
    press(mock, "Ask me these again")
    later(mock, 5)
    answer(mock, 3)
    press(mock, "End the interview")
    press(mock, "New interview")
    assert len(kept(mock)["history"]) == 50
    assert "repeated" in mock.inner_text(".mock-history tbody tr:first-child")
    press(mock, "Forget my ratings")
    press(mock, "Press again")
    assert kept(mock)["history"] == {}
    assert mock.query_selector(".mock-history") is None


def test_an_interview_without_a_rating_leaves_no_entry(mock):
    begin(mock)
    press(mock, "End the interview")
    assert "You rated no answer" in mock.inner_text(".mock-sum")
    assert "history" not in kept(mock)


def test_a_coding_round_is_drawn_timed_rated_resumed_and_reported_by_keyboard(mock, site):
    stage = ".coding-stage"
    told = mock.locator(".coding-form .mock-told")
    total = mock.locator(".coding-drill").count()
    assert told.inner_text() == f"{total} drills to draw from."
    unfold(mock)
    press(mock, "None", f"{stage} .checkboxes:nth-of-type(2)")
    press(mock, "Draw the drills", stage)
    assert told.inner_text().startswith("No drill fits")
    press(mock, "All", f"{stage} .checkboxes:nth-of-type(2)")
    fill(mock.locator("[name=drill-number]"), "0")
    press(mock, "Draw the drills", stage)
    assert told.inner_text() == f"Type how many drills you want: a whole number from 1 to {total}."
    for tier in ("2", "3"):
        mock.uncheck(f"[name=drill-tier][value='{tier}']")
    fill(mock.locator("[name=drill-number]"), "2")
    press(mock, "Draw the drills", stage)
    assert mock.evaluate("() => document.activeElement.textContent") == "Drill 1 of 2"
    link = mock.get_attribute(f"{stage} a", "href")
    page, anchor = link.split("#")
    assert anchor.startswith("exr-")
    assert f'id="{anchor}"' in ((site / PLACE).parent / page).read_text("utf8")
    assert mock.get_attribute(f"{stage} a", "target") == "_blank"
    minutes = int(mock.inner_text(f"{stage} .mock-badges span:last-child").split()[0])
    press(mock, "Start the clock", stage)
    later(mock, 60 * minutes / 2 + 1)
    assert mock.inner_text(".mock-time").startswith("Half of your time is used")
    mock.reload()  # the clock runs on while the reader is away
    later(mock, 60)
    press(mock, "Go on with it", stage)
    begun = re.match(r"Coding: (\d+):(\d\d) of", mock.inner_text(f"{stage} .mock-timer"))
    assert 60 * int(begun[1]) + int(begun[2]) >= 30 * minutes + 60
    mock.check("[name=coding-aloud] >> nth=0")
    mock.check("[name=coding-aloud] >> nth=3")
    press(mock, "I am done", stage)
    assert mock.evaluate("() => document.activeElement.type") == "radio"
    press(mock, "Next drill", stage)
    assert "Say how it went" in mock.inner_text(f"{stage} [role=alert]")
    mock.keyboard.press("Space")
    mock.keyboard.press("ArrowDown")
    assert axe(mock, stage) == []
    press(mock, "Next drill", stage)
    mock.reload()
    press(mock, "Go on with it", stage)
    assert mock.inner_text(f"{stage} .mock-title") == "Drill 2 of 2"
    press(mock, "Start the clock", stage)
    later(mock, 10)
    press(mock, "I am done", stage)
    mock.check(f"{stage} .mock-rating input[value='3']")
    press(mock, "See the report", stage)
    assert mock.inner_text(f"{stage} .mock-sum").startswith("You rated 2 drills: 2.0 of 3 on average")
    cells = mock.eval_on_selector_all(
        f"{stage} tbody tr", "rows => rows.map(r => [...r.children].map(c => c.textContent))"
    )
    assert [(row[3], row[4]) for row in cells] == [("2 of 6", "1"), ("0 of 6", "3")]
    assert axe(mock, stage) == []
    assert mock.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    press(mock, "New round", stage)
    assert f"You have rated 2 of {total} drills; 1 of them to repeat." in mock.inner_text(stage)
    assert mock.locator(f"{stage} .mock-history tbody tr").count() == 1
    mock.select_option("[name=drill-pool]", "weak")
    assert told.inner_text() == "1 drill to draw from."
    found = kept(mock)
    assert found["round"] is None
    assert sorted(one["rating"] for one in found["drills"].values()) == [1, 3]
    ((at, made),) = found["coding"].items()
    assert (made["at"], made["drills"], made["mean"]) == (at, 2, 2)


def test_what_was_kept_of_a_coding_round_is_not_trusted(mock):
    bad = {"names": ["gone"], "index": 0, "done": [], "used": 0, "at": DAY.format(1)}
    write(mock, round=bad, drills={"attention": {"rating": 9, "minutes": 1, "at": DAY.format(1)}}, coding={"x": 3})
    assert mock.query_selector(".coding-stage .mock-unfinished") is None
    assert mock.inner_text(".coding-stage .mock-note").startswith("Ratings stay")
    worse = {"names": ["attention"], "index": 5, "done": [], "used": 0, "at": DAY.format(1)}
    write(mock, round=worse)
    assert mock.query_selector(".coding-stage .mock-unfinished") is None


def test_without_javascript_every_drill_is_a_link(browser, site):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((site / PLACE).as_uri())
    assert "needs JavaScript" in tab.inner_text(".coding-stage")
    tab.locator(".coding-topic > summary").first.click()
    assert tab.locator(".coding-drill a").first.is_visible() is True
    tab.close()
    text = (site / PLACE).read_text("utf8").split("coding-lists")[1]
    links = re.findall(r'class="coding-drill[^>]*>\s*<p>.*?href="([\w./-]+\.html)#(exr-[\w-]+)"', text, re.DOTALL)
    assert len(links) == text.count("coding-drill ") + text.count('coding-drill"') > 50
    for page, anchor in links:
        assert f'id="{anchor}"' in ((site / PLACE).parent / page).read_text("utf8"), anchor
    context.close()
