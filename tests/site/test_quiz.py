"""The page of the quiz in a browser: by keyboard alone, wide and narrow, practice and exam, stored or not."""

import contextlib
import gzip
import json
import math
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from companion.book.quiz import read_quiz
from tests.site.accessibility import axe_faults
from tests.site.browser import AT_REST, fill, tab_to

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
NAME = "book/interview/quiz.html"
HEIGHTS = {1440: 900, 390: 844, 360: 800}
# Most of the tests need all items at once; a page with an exam that goes on has no such choice.
VIEW = """(value) => {
  const menu = document.querySelector("#quiz-view");
  if (!menu.closest(".quiz-filters").checkVisibility() || menu.value === value) return;
  menu.value = value;
  menu.dispatchEvent(new Event("change"));
}"""
SCRIPTS = (
    *("vocabulary.js", "util.js", "dom.js", "store.js", "practice.js"),
    *("quiz-logic.js", "quiz-item.js", "quiz-exam.js", "quiz.js"),
)


@pytest.fixture(scope="module")
def items():
    """The items by id, part by part as the build reads them, in each the basic ones first."""
    found = read_quiz()
    topics = list(dict.fromkeys(item.topic for item in found))
    return {item.id: item for item in sorted(found, key=lambda item: (topics.index(item.topic), item.level))}


def test_each_part_begins_with_its_basic_items(site):
    page = BeautifulSoup((site / NAME).read_text("utf8"), "html.parser")
    parts = page.select("section.quiz-topic")
    assert len(parts) > 10
    for part in parts:
        levels = [int(item["data-level"]) for item in part.select(".quiz-item")]
        assert levels == sorted(levels), part["id"]


@contextlib.contextmanager
def pages_of(browser, server, settle):
    """Open the page in a context of its own, with empty storage; each must stay silent and ask nobody else."""
    heard, contexts = [], []

    def go(
        *, width=1440, theme="light", script="", address=f"{server}/{NAME}", clock=None, ours="", view="list", **options
    ):
        context = browser.new_context(
            viewport={"width": width, "height": HEIGHTS[width]},
            color_scheme=theme,
            reduced_motion="reduce",
            accept_downloads=True,
            **options,
        )
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: ours in message.text and heard.append(message.text))
        page.on("pageerror", lambda error: ours in f"{error.stack}" and heard.append(str(error)))
        page.on(
            "request",
            lambda asked: asked.url.startswith((server, "file:", "data:", "blob:")) or heard.append(asked.url),
        )
        if script:
            page.add_init_script(f"if (location.protocol !== 'about:') {{ {script} }}")  # Firefox runs it there, too
        if clock is not None:
            page.clock.install(time=clock)
        page.goto(address)
        if clock is not None:
            page.wait_for_selector(".quiz-desk[data-ready]")
            page.clock.pause_at(clock + 60)
        elif options.get("java_script_enabled", True):
            settle(page)
            page.wait_for_selector(".quiz-desk[data-ready]")
        if options.get("java_script_enabled", True) and view:
            page.evaluate(VIEW, view)
        return page

    yield go
    for context in contexts:
        context.close()
    assert not heard, heard


@pytest.fixture
def visit(browser, server, settle):
    """Open the page in a context of its own, as often as a test asks for."""
    with pages_of(browser, server, settle) as go:
        yield go


@pytest.fixture(scope="module")
def still(browser, server, settle):
    """One page for all tests that change nothing on it."""
    with pages_of(browser, server, settle) as go:
        yield go()


def focus_text(page):
    return page.evaluate("() => document.activeElement.textContent")


def sorted_options(item):
    return sorted(
        item.options, key=lambda option: option.line
    )  # the page lists lines in their order; others keep theirs


def answer(page, item, *, right=True):
    """Answer an item on the page, rightly or not."""
    box = page.locator(f"#{item.id}")
    if item.kind == "number":
        fill(box.locator("input"), repr(item.answer.key if right else item.wrong[0].key))
    elif item.kind == "order":
        arrange(page, item, right=right)
    else:
        keys = [option.right == right for option in sorted_options(item)]
        for index, wanted in enumerate(keys):
            if wanted:
                box.locator(f"#{item.id}-option-{index}").check()
                if not (right and item.several):
                    break


def check(page, item, *, right=True):
    """Answer an item, check it, and return what the page says."""
    answer(page, item, right=right)
    page.locator(f"#{item.id} button[type=submit]").click()
    return page.locator(f"#{item.id} .quiz-verdict").inner_text()


def arrange(page, item, *, right=True):
    """Put the steps of an item in order with its buttons, then exchange two where it is to be wrong."""
    for row, button in moves(item, page.locator(f"#{item.id} .quiz-step").all_inner_texts(), right=right):
        page.locator(f"#{item.id} .quiz-step").nth(row).locator("button").nth(button).click()


def moves(item, rows, *, right):
    """Which buttons put the steps in order, each as the number of its row and 0 for up or 1 for down."""
    now, found = places(item, rows), []
    for step in range(len(now)):
        row = now.index(step)
        found += [(at, 0) for at in range(row, step, -1)]
        now.insert(step, now.pop(row))
    return found if right else [*found, (0, 1)]


def places(item, rows):
    """Which step stands in each row: by its words, formulas left out."""
    words = [plain(step.text) for step in item.steps]
    found = [[step for step, wanted in enumerate(words) if wanted in plain(row)] for row in rows]
    assert sorted(step for row in found for step in row) == list(range(len(words))), f"{words} stand at {found}"
    return [step for (step,) in found]


def plain(text):
    return re.sub(r"\W+", " ", text).strip()


def of_kind(items, kind, **fields):
    return next(
        item for item in items.values() if item.kind == kind and all(getattr(item, k) == v for k, v in fields.items())
    )


# ---- The page as it is built


def test_only_the_page_of_the_quiz_loads_its_scripts(site, pages):
    loading = {name for name in pages if "js/quiz.js" in (site / name).read_text("utf8")}
    assert loading == {NAME}
    text = (site / NAME).read_text("utf8")
    found = re.findall(r'<script defer="defer" src="[^"]*js/([\w-]+\.js)', text)
    assert sorted(name for name in found if name in SCRIPTS) == sorted(SCRIPTS)
    assert [name for name in found if name.startswith("quiz")] == [name for name in SCRIPTS if name.startswith("quiz")]


def test_the_page_of_the_quiz_weighs_less_than_240_kb(site, items):
    files = [site / NAME, *(site / "_static" / "js" / name for name in SCRIPTS), site / "_static" / "css" / "quiz.css"]
    weight = sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
    assert weight < 240_000
    assert weight / len(items) * 90 < 240_000  # and so it will with ninety


def test_every_item_is_on_the_page_and_complete_without_a_script(visit, items):
    page = visit(java_script_enabled=False)
    assert page.locator(".quiz-item").count() == len(items)
    assert not page.locator(".quiz-item button, .quiz-item input").count()
    for item in items.values():
        box = page.locator(f"#{item.id}")
        offered = len(item.options) + len(item.steps)
        assert box.locator(".quiz-options > li").count() == offered
        assert box.locator("details .quiz-reasons > li").count() == (offered or len(item.wrong))
        assert box.locator(".quiz-read a[href*='#']").count() == 1
        assert not box.locator("details .quiz-reasons").first.is_visible()
    item = of_kind(items, "choice")
    box = page.locator(f"#{item.id}")
    box.locator("summary").click()
    marks = box.locator(".quiz-mark").all_inner_texts()
    assert [mark == "Right." for mark in marks] == [option.right for option in item.options]
    assert box.locator(".quiz-reasons").is_visible()


def test_the_static_list_of_steps_does_not_give_the_order_away(site, items):
    text = (site / NAME).read_text("utf8")
    for item in items.values():
        if item.kind == "order":
            start = text.index(f'id="{item.id}"')
            listed = text[start : text.index("<details", start)]
            places = [int(place) for place in re.findall(r'data-place="(\d+)"', listed)]
            assert sorted(places) == list(range(1, len(item.steps) + 1))
            assert places != sorted(places), item.id


def test_a_link_to_a_claim_does_not_read_as_a_fact(still, items):
    words = still.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".quiz-item")].map((item) =>
          [item.id, item.querySelector(".quiz-read a").textContent]))"""
    )
    linking = [item.id for item in items.values() if item.link.startswith("claim-")]
    assert linking
    assert not [name for name in linking if not words[name].startswith("the test of “")]


# ---- Practice


@pytest.mark.parametrize("width", [1440, 390])
def test_practice_by_keyboard_alone(visit, items, width):
    page = visit(width=width, view="")
    if width == 390:
        tab_to(page, ".quiz-filters summary")
        page.keyboard.press("Enter")
    tab_to(page, "#quiz-topic")
    page.keyboard.type("Multi-head")
    tab_to(page, "#quiz-level")
    page.keyboard.type("basic")
    chosen = [item for item in items.values() if item.topic == "multi-head" and item.level == 1]
    assert page.locator(".quiz-filters [role=status]").inner_text() == f"{len(chosen)} items"
    seen = set()
    for turn in range(len(chosen)):
        assert page.locator(".quiz-item:visible").count() == 1
        item = items[page.locator(".quiz-item:visible").get_attribute("id")]
        seen.add(item.id)
        if item.kind == "number":
            tab_to(page, f"#{item.id}-number")
            page.keyboard.type(repr(item.answer.key))
            page.keyboard.press("Enter")
        elif item.kind == "choice":
            tab_to(page, f"#{item.id} input[type={'checkbox' if item.several else 'radio'}]")
            page.keyboard.press("Space")
            tab_to(page, f"#{item.id} button[type=submit]")
            page.keyboard.press("Enter")
            assert page.locator(f"#{item.id} .quiz-why:visible").count() == len(item.options)
        else:
            tab_to(page, f"#{item.id} .quiz-move")
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            tab_to(page, f"#{item.id} button[type=submit]")
            page.keyboard.press("Enter")
        verdict = page.locator(f"#{item.id} .quiz-verdict")
        assert verdict.get_attribute("role") == "status"
        assert re.match(r"[✓✗] (Right|Not right)", verdict.inner_text())
        assert page.evaluate("id => practice.items().get(id).tries", item.id) == 1
        assert not page.locator(f"#{item.id} .quiz-past").inner_text(), "the answer given now is no earlier one"
        if turn < len(chosen) - 1:
            tab_to(page, ".quiz-buttons:has(.quiz-where) > button:nth-child(2)")
            page.keyboard.press("Enter")
            assert page.evaluate("() => document.activeElement.closest('.quiz-item')?.id") not in seen
    assert seen == {item.id for item in chosen}
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("width", [1440, 390])
def test_the_menus_are_folded_on_a_phone_where_the_first_item_begins_on_the_first_screen(visit, width):
    page = visit(width=width, view="")
    menu = page.locator("#quiz-topic")
    assert menu.is_visible() == (width != 390)
    question = page.locator(".quiz-item:visible .quiz-question").bounding_box()
    assert question["y"] + 20 < HEIGHTS[width], "a line of it"
    page.set_viewport_size({"width": 1440 + 390 - width, "height": 900})
    if not menu.is_visible():
        page.locator(".quiz-filters summary").click()
    assert menu.is_visible(), "nor is it out of reach on a screen that turned"


def test_on_a_phone_the_next_item_folds_the_menus_away(visit):
    page = visit(width=390, view="")
    page.locator(".quiz-filters summary").click()
    assert page.locator("#quiz-topic").is_visible()
    page.get_by_role("button", name="Next item", exact=True).first.click()
    page.locator("#quiz-topic").wait_for(state="hidden")


def test_items_come_one_at_a_time_in_the_order_of_the_book_unless_another_way_is_chosen(visit, items):
    page = visit(view="")
    following = page.get_by_role("group", name="Items of the quiz").get_by_role("button", name="Next item", exact=True)

    def first(number):
        """Which items are shown first, one after the other."""
        found = []
        for _ in range(number):
            (shown,) = page.eval_on_selector_all(
                ".quiz-item", "found => found.filter((e) => e.checkVisibility()).map((e) => e.id)"
            )
            found.append(shown)
            following.click()
        return found

    words = "(e) => e.innerText + JSON.parse(getComputedStyle(e, '::after').content)"
    assert [one.evaluate(words) for one in page.locator(".prev-next-subtitle").all()] == [
        "Previous page",
        "Next page",
    ], "no second pair of buttons says Previous and Next"
    topics = list(dict.fromkeys(item.topic for item in items.values()))
    order = sorted(items, key=lambda name: (topics.index(items[name].topic), items[name].level))
    assert first(12) == order[:12]
    page.get_by_role("button", name="Your progress", exact=True).click()
    page.get_by_role("button", name="Practise", exact=True).click()
    assert first(2) == order[12:14], "practice goes on where it was left"
    page.reload()
    assert first(1) == order[14:15], "and so it does in a tab that was loaded anew"
    page.select_option("#quiz-level", "1")
    assert items[first(1)[0]].id == next(name for name in order if items[name].level == 1), "another choice begins anew"
    page.select_option("#quiz-level", "")
    page.select_option("#quiz-view", "shuffled")
    mixed = first(12)
    assert len(set(mixed)) == 12
    assert mixed != order[:12]
    page.reload()
    assert page.input_value("#quiz-view") == "shuffled", "what was chosen is remembered"
    assert page.locator(".quiz-where").inner_text().startswith("1 of"), "all others come behind the item that was left"
    assert first(12) != order[:12]
    page.goto(f"{page.url.partition('#')[0]}#{order[5]}")
    assert page.locator(f"#{order[5]}").is_visible(), "a link to an item shows it"
    page.goto(f"{page.url.partition('#')[0]}#quiz-topic-training")
    assert page.input_value("#quiz-topic") == "training"
    assert items[first(1)[0]].topic == "training"
    page.reload()
    page.goto(page.url.partition("#")[0])
    assert page.input_value("#quiz-view") == "shuffled", "and changes nothing that was chosen"


def test_an_item_of_each_kind_can_be_answered_rightly_and_wrongly(visit, items):
    page = visit()
    asked = [of_kind(items, "choice", several=False), *(of_kind(items, kind) for kind in ("number", "order", "bug"))]
    for item in asked:
        assert check(page, item, right=False).startswith("✗ Not right"), item.id
        assert check(page, item).startswith("✓ Right"), item.id
    several = of_kind(items, "choice", several=True)
    assert check(page, several).startswith("✓ Right")
    kept = page.evaluate("() => store.read('quiz').items")
    assert {name: (entry["tries"], entry["right"]) for name, entry in kept.items()} == {
        **{item.id: (2, True) for item in asked},
        several.id: (1, True),
    }


def test_every_item_of_the_page_has_the_key_of_its_file(site, items):
    page = BeautifulSoup((site / NAME).read_text("utf8"), "html.parser")
    for item in items.values():
        box = page.find(id=item.id)
        reasons = box.select(".quiz-reasons > .quiz-reason")
        if item.kind == "number":
            number = box.select_one(".quiz-number")
            assert float(number["data-key"]) == item.answer.key
            assert float(number["data-within"]) == item.within
            assert number.get("data-unit", "") == item.unit
            assert [float(reason["data-key"]) for reason in reasons] == [wrong.key for wrong in item.wrong]
        elif item.kind == "order":
            listed = [(int(row["data-place"]), plain(row.get_text())) for row in box.select(".quiz-options > li")]
            for place, words in listed:
                assert plain(item.steps[place - 1].text)[:12] in words or "$" in item.steps[place - 1].text, item.id
        else:
            found = [reason["data-right"] == "true" for reason in reasons]
            assert found == [option.right for option in sorted_options(item)], item.id
            assert box.has_attr("data-several") == item.several


def test_every_number_is_met_by_its_key_and_every_known_error_by_its_own(still, items):
    asked, expected = [], []
    for item in (item for item in items.values() if item.kind == "number"):
        wrong = [one.key for one in item.wrong]
        given = {"key": item.answer.key, "within": item.within, "unit": item.unit, "known": wrong}
        asked += [(repr(number), given) for number in (item.answer.key, *wrong, item.answer.key * 7.77 + 1.234)]
        expected += ["Right.", *["known error" for _ in wrong], "None of the errors that are explained here"]
    told = still.evaluate("all => all.map(([typed, given]) => quizLogic.judgeNumber(typed, given).said)", asked)
    assert not [(typed, said) for typed, said, words in zip(asked, told, expected, strict=True) if words not in said]


def test_each_option_has_its_reason_beside_it(visit, items):
    page = visit()
    item = of_kind(items, "choice", several=False)
    box = page.locator(f"#{item.id}")
    assert not box.locator(".quiz-why:visible").count()
    box.locator(f"#{item.id}-option-0").check()
    box.locator("button[type=submit]").click()
    for index, option in enumerate(item.options):
        row = box.locator(".quiz-choice", has=page.locator(f"#{item.id}-option-{index}"))
        mark = row.locator(".quiz-mark").inner_text()
        chosen = (
            ("Wrongly chosen.", "Rightly chosen.") if index == 0 else ("Not this one.", "This is the right answer.")
        )
        assert mark == chosen[option.right]
        first = re.match(r"[\w ,]+", option.why)
        if first and len(first[0]) > 15:
            assert plain(first[0]) in plain(row.locator(".quiz-why").inner_text())
    assert box.locator(".quiz-read a").is_visible()
    box.locator(f"#{item.id}-option-1").check()  # another choice takes the feedback away
    assert not box.locator(".quiz-why:visible").count()


def test_beside_a_verdict_that_is_not_right_stands_the_right_answer(visit, items):
    page = visit(width=390)
    item = of_kind(items, "choice", several=False)
    box = page.locator(f"#{item.id}")
    right = next(index for index, option in enumerate(item.options) if option.right)
    shown = box.locator(".quiz-right")
    for index in ((right + 1) % len(item.options), right):
        box.locator(f"#{item.id}-option-{index}").check()
        box.locator("button[type=submit]").click()
        signs = box.locator(".quiz-choice").evaluate_all(
            """rows => rows.map((row) => [row.querySelector("input").value,
              getComputedStyle(row.querySelector(".quiz-mark"), "::before").content[1] ?? ""])"""
        )
        assert {int(value): sign for value, sign in signs if sign in "✓✗"} == {index: "✗", right: "✓"}, (
            "one option has the green tick, and what nobody chose has none"
        )
        label = box.locator(f"label[for={item.id}-option-{right}]").inner_text()
        assert shown.inner_text() == ("" if index == right else f"Right answer: {label}")


def test_on_a_phone_the_verdict_is_in_view_and_the_button_that_judged_is_done(visit, items):
    page = visit(width=390)
    longest = max(
        (item for item in items.values() if item.kind == "choice" and not item.several),
        key=lambda item: sum(len(option.text + option.why) for option in item.options),
    )
    page.evaluate(
        "name => document.getElementById(name).querySelector('button[type=submit]').scrollIntoView({block: 'end'})",
        longest.id,
    )
    box = page.locator(f"#{longest.id}")
    right = next(index for index, option in enumerate(longest.options) if option.right)
    box.locator(f"#{longest.id}-option-{right}").check()
    check = box.locator("button[type=submit]")

    def ground():
        page.mouse.move(0, 0)  # a button under the pointer is darker, and the page moves under the pointer
        page.evaluate(AT_REST)
        return check.evaluate("e => getComputedStyle(e).backgroundColor")

    bright = ground()
    check.click()
    verdict = box.locator(".quiz-verdict")
    assert verdict.inner_text() == "✓ Right."
    place = verdict.bounding_box()
    assert 0 <= place["y"] <= page.viewport_size["height"] - place["height"]
    assert check.get_attribute("aria-disabled") == "true"
    assert ground() != bright
    page.keyboard.press("Enter")  # judges nothing a second time
    assert page.evaluate("name => practice.items().get(name).tries", longest.id) == 1
    box.locator(f"#{longest.id}-option-{(right + 1) % len(longest.options)}").check()
    assert check.get_attribute("aria-disabled") == "false"
    assert ground() == bright


def test_the_feedback_judges_each_decision_in_words_sign_and_colour(visit, items):
    page = visit(width=390)
    item = of_kind(items, "choice", several=True)
    box = page.locator(f"#{item.id}")
    right = [option.right for option in item.options]
    taken = {right.index(True), right.index(False)}  # one rightly, one wrongly; the others are left or missed
    for index in taken:
        box.locator(f"#{item.id}-option-{index}").check()
    box.locator("button[type=submit]").click()
    words = {
        (True, True): "Rightly ticked.",
        (True, False): "Wrongly ticked: this does not hold.",
        (False, True): "Missed: this holds.",
        (False, False): "Does not hold.",
    }
    colours = {"✓": set(), "✗": set(), "": set()}
    for index, holds in enumerate(right):
        row = box.locator(".quiz-choice", has=page.locator(f"#{item.id}-option-{index}"))
        mark = row.locator(".quiz-mark")
        assert mark.inner_text() == words[index in taken, holds]
        sign = "✓" if holds else "✗" if index in taken else ""  # of the option, whatever was made of it
        before = mark.evaluate("mark => getComputedStyle(mark, '::before').content")
        assert before == (f'"{sign} "' if sign else "none")
        colours[sign].add(mark.evaluate("mark => getComputedStyle(mark).color"))
        described = row.locator("input").get_attribute("aria-describedby")
        assert page.locator(f"#{described}").inner_text() == mark.inner_text()
    assert len(set().union(*colours.values())) == 3
    box.get_by_role("button", name="Try again").click()
    box.get_by_role("button", name="Show the answer").click()  # no decision to judge: the options themselves
    assert [box.locator(f"#{item.id}-option-{index}-mark").inner_text() for index in range(len(right))] == [
        "Right." if holds else "Not right." for holds in right
    ]


def test_a_number_with_too_few_digits_is_told_so_and_is_no_try(visit, items):
    page = visit()
    for item in (item for item in items.values() if item.kind == "number" and item.within):
        box = page.locator(f"#{item.id}")
        coarse = f"{item.answer.key:.1e}"
        needed = page.evaluate(
            "given => quizLogic.digitsMissing(...given)", [float(coarse), item.answer.key, item.within]
        )
        if needed and not any(math.isclose(float(coarse), wrong.key, rel_tol=item.within) for wrong in item.wrong):
            fill(box.locator("input"), coarse)
            box.locator("button[type=submit]").click()
            assert box.locator(".quiz-verdict").inner_text() == f"Too coarse: give {needed} significant digits."
            assert not box.locator(".quiz-past").inner_text()
            break
    else:
        pytest.fail("no item has a number that can be rounded too far")


def test_no_answer_is_no_try(visit, items):
    page = visit()
    for kind, words in (
        ("choice", "Choose"),
        ("number", "Type a number first."),
        ("order", "Move the steps"),
        ("bug", "Choose"),
    ):
        item = of_kind(items, kind)
        page.locator(f"#{item.id} button[type=submit]").click()
        assert page.locator(f"#{item.id} .quiz-verdict").inner_text().startswith(words)
        assert not page.locator(f"#{item.id} .quiz-past").inner_text()


def test_a_wrong_number_is_met_with_its_error(visit, items):
    page = visit()
    item = of_kind(items, "number")
    box = page.locator(f"#{item.id}")
    assert "known error" in check(page, item, right=False)
    assert box.locator(".quiz-error .quiz-mark").is_visible()
    assert not box.locator(".quiz-solution").is_visible()
    fill(box.locator("input"), repr(item.answer.key * 7.77 + 1.234))
    box.locator("button[type=submit]").click()
    assert "None of the errors that are explained here" in box.locator(".quiz-verdict").inner_text()
    assert not box.locator(".quiz-error").is_visible()
    box.get_by_role("button", name="Show the answer").click()
    assert box.locator(".quiz-solution .quiz-key").is_visible()


def test_steps_move_by_keyboard_and_are_announced(visit, items):
    page = visit()
    item = of_kind(items, "order")
    box = page.locator(f"#{item.id}")
    tab_to(page, f"#{item.id} .quiz-move")
    first = plain(box.locator(".quiz-step").first.inner_text())
    page.keyboard.press("Enter")
    said = box.locator(".quiz-heard")
    assert said.get_attribute("role") == "status"
    assert "is already first" in said.inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "Move down"
    for place in (2, 3):
        page.keyboard.press("Enter")
        assert said.inner_text().endswith(f"is now {place} of {len(item.steps)}.")
        assert plain(box.locator(".quiz-step").nth(place - 1).inner_text()) == first
        assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "Move down"
    arrange(page, item)
    box.locator("button[type=submit]").click()
    assert box.locator(".quiz-verdict").inner_text() == "✓ Right: every step stands in its place."
    assert box.locator(".quiz-solution .quiz-steps > li").count() == len(item.steps)


def test_a_step_follows_the_pointer(visit, items):
    page = visit()
    item = of_kind(items, "order")
    rows = page.locator(f"#{item.id} .quiz-step")
    rows.first.scroll_into_view_if_needed()
    first = plain(rows.first.inner_text())
    start, end = rows.first.locator(".quiz-grip").bounding_box(), rows.nth(2).bounding_box()
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(start["x"], end["y"] + end["height"] - 2, steps=8)
    page.mouse.up()
    assert plain(rows.nth(2).inner_text()) == first


def test_steps_never_start_in_order(visit, items):
    page = visit()
    item = of_kind(items, "order")
    for rows in page.evaluate(
        """id => [...Array(30)].map(() => {
          const box = document.getElementById(id);
          const press = (words) => [...box.querySelectorAll("button")].find((e) => e.textContent === words).click();
          press("↓");
          box.querySelector("button[type=submit]").click();
          press("Try again");
          return [...box.querySelectorAll(".quiz-step")].map((row) => row.innerText);
        })""",
        item.id,
    ):
        found = places(item, rows)
        assert found != sorted(found)


def test_a_found_bug_shows_its_repair(visit, items):
    page = visit()
    item = of_kind(items, "bug")
    box = page.locator(f"#{item.id}")
    assert box.locator(".quiz-listing .linenos").count() == len(item.code.splitlines())
    labels = [text.split(":")[0] for text in box.locator(".quiz-choice label").all_inner_texts()]
    assert labels == [f"Line {option.line}" for option in sorted_options(item)]
    assert not box.get_by_text("Repaired:").is_visible()
    answer(page, item)
    box.locator("button[type=submit]").click()
    assert box.locator(".quiz-why pre:visible").inner_text().strip() == item.repair.strip()


def test_only_what_is_not_right_yet(visit, items):
    page = visit()
    item = next(iter(items.values()))
    answer(page, item)
    page.locator(f"#{item.id} button[type=submit]").click()
    page.locator("#quiz-which").select_option("open")
    assert page.locator(".quiz-filters [role=status]").inner_text() == f"{len(items) - 1} items"
    assert not page.locator(f"#{item.id}").is_visible()
    assert page.locator(".quiz-item:visible").count() == len(items) - 1


def test_an_address_of_an_item_shows_it(visit, items, server):
    last = list(items)[-1]
    page = visit(address=f"{server}/{NAME}#{last}", view="")
    for view in ("one", "list"):
        assert page.input_value("#quiz-view") == view
        assert page.locator(f"#{last}").is_visible()
        assert page.evaluate("id => document.getElementById(id).getBoundingClientRect().top < innerHeight", last), view
        page.select_option("#quiz-view", "list")
        page.goto(f"{server}/404.html")  # a page that is loaded anew would be scrolled as it was
        page.goto(f"{server}/{NAME}#{last}")
        page.wait_for_selector(".quiz-desk[data-ready]")


# ---- The exam


def begin(page, *, number, minutes, topics=None):
    page.get_by_role("button", name="Sit an exam").click()
    if topics:
        for box in page.locator(".quiz-setup input[type=checkbox]").all():
            box.set_checked(box.get_attribute("value") in topics)
    fill(page.locator("#quiz-exam-minutes"), str(minutes))
    fill(page.locator("#quiz-exam-number"), str(number))
    page.get_by_role("button", name="Begin the exam").click()


def paper(page):
    """The items of the running exam, in order, and the order of the options of each."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".quiz-paper > .quiz-item")].map((item) => [item.id,
          [...item.querySelectorAll(".quiz-choice input, .quiz-step [id*=-step-]")].map((one) => one.id)])"""
    )


def test_an_exam_keeps_quiet_and_gives_a_result_by_topic(visit, items):
    page = visit()
    begin(page, number=8, minutes=0, topics={"attention", "multi-head"})
    assert not page.locator(".quiz-clock").is_visible()
    ids = [name for name, _ in paper(page)]
    assert len(ids) == 8
    assert {items[name].topic for name in ids} <= {"attention", "multi-head"}
    right = {}
    for number, name in enumerate(ids):
        item = items[name]
        assert page.locator(".quiz-item:visible").get_attribute("id") == name
        right[name] = number % 2 == 0
        if not right[name] and item.several:
            right[name] = True
        answer(page, item, right=right[name])
        assert not page.locator(".quiz-verdict:visible", has_text=re.compile("ight")).count()
        assert not page.locator(
            f"#{name} :is(.quiz-why, .quiz-solution, .quiz-read, button[type=submit]):visible"
        ).count()
        label = page.locator(".quiz-spot").nth(number).get_attribute("aria-label")
        assert label == f"Item {number + 1}, answered"
        if number < 7:
            page.get_by_role("button", name="Next item", exact=True).click()
            assert page.evaluate("() => document.activeElement.className") == "quiz-head"
    page.get_by_role("button", name="Hand in").click()
    page.get_by_role("button", name="Yes", exact=True).click()
    count = sum(right.values())
    assert focus_text(page) == f"{count} of 8 right"
    for row in page.locator(".quiz-panel:visible tbody tr").all():
        title = row.locator("th").inner_text()
        topic = {"Attention": "attention", "Multi-head attention": "multi-head"}[title]
        own = [name for name in ids if items[name].topic == topic]
        assert row.locator("td").first.inner_text() == f"{sum(right[name] for name in own)} of {len(own)}"
        wrong = {items[name].link for name in own if not right[name]}
        assert row.locator("a").count() == len(wrong)
    for name in ids:
        assert (
            page.locator(f"#{name} .quiz-verdict").inner_text().startswith("✓ Right" if right[name] else "✗ Not right")
        )
        assert page.locator(f"#{name} :is(.quiz-why, .quiz-solution):visible").count()
    kept = page.evaluate("() => store.read('quiz').items")
    assert {name: entry["right"] for name, entry in kept.items()} == right
    page.get_by_role("button", name="Close the result").click()
    assert focus_text(page) == "Sit an exam"
    assert page.get_by_role("button", name="Begin the exam").is_visible()
    assert not page.locator(".quiz-item:visible").count()


def test_the_last_result_stays_until_the_next_exam_or_erase(visit, items):
    page = visit(clock=1_800_000_000)
    scores = []
    for right in (True, False):
        begin(page, number=1, minutes=0)
        (name,) = [name for name, _ in paper(page)]
        answer(page, items[name], right=right)
        page.clock.run_for(75_000)
        page.get_by_role("button", name="Hand in").click()
        page.get_by_role("button", name="Yes", exact=True).click()
        scores.append(page.locator(".quiz-result:visible").inner_text())
        page.get_by_role("button", name="Close the result").click()
        page.reload()
        page.wait_for_selector(".quiz-desk[data-ready]")
        page.get_by_role("button", name="Your progress").click()
        last = page.locator(".quiz-last")
        assert last.locator("h2").inner_text() == f"Your last exam: {scores[-1]}"
        assert "You handed it in on 15 January 2027. It took 75 seconds." in last.inner_text()
        assert last.locator("tbody tr").count() == 1
    assert scores[0] == "1 of 1 right"
    page.evaluate("() => store.erase()")  # as the page of what is missing does
    page.get_by_role("button", name="Your progress").click()
    assert not last.is_visible()
    assert page.locator(".quiz-result").count() == 0


@pytest.mark.parametrize("width", [1440, 390])
def test_all_topics_or_none_are_chosen_by_keyboard(visit, items, width):
    page = visit(width=width)
    page.get_by_role("button", name="Sit an exam").click()
    said = page.locator(".quiz-panel:visible .quiz-said")
    assert said.get_attribute("role") == "status"
    fill(page.locator("#quiz-exam-number"), "12")
    boxes = page.locator(".quiz-setup input[type=checkbox]")
    page.get_by_role("button", name="None of the topics").focus()
    page.keyboard.press("Enter")
    assert said.inner_text() == "No topic is chosen."
    assert page.locator(".quiz-setup input:checked").count() == 0
    boxes.nth(1).check()
    page.get_by_role("button", name="All topics").focus()
    page.keyboard.press("Space")
    assert said.inner_text() == f"All {boxes.count()} topics are chosen, with {len(items)} items."
    assert page.locator(".quiz-setup input:checked").count() == boxes.count()
    assert page.locator("#quiz-exam-number").input_value() == "12"
    assert not outside(page)


def test_an_exam_by_keyboard_alone(visit, items):
    page = visit(width=390)
    tab_to(page, ".quiz-mode:nth-child(2)")
    page.keyboard.press("Enter")
    tab_to(page, "#quiz-exam-number")
    page.keyboard.press("Control+A")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    assert len(paper(page)) == 2
    assert "quiz-head" in page.evaluate("() => document.activeElement.className")
    tab_to(page, ".quiz-below button:nth-child(2)")
    page.keyboard.press("Enter")
    assert page.locator(".quiz-spot[aria-current=true]").inner_text().startswith("2")
    tab_to(page, ".quiz-below button:nth-child(3)")
    page.keyboard.press("Enter")
    assert focus_text(page) == "No, go on"
    assert "2 of 2 items have no answer" in page.locator(".quiz-sure:visible").inner_text()
    page.keyboard.press("Enter")
    assert focus_text(page) == "Hand in"
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert focus_text(page) == "0 of 2 right"
    assert page.evaluate("() => Object.keys(store.read('quiz').items ?? {}).length") == 0


def test_the_clock_can_be_hidden_and_speaks_twice(visit):
    page = visit(clock=1_800_000_000)
    begin(page, number=3, minutes=10)
    clock = page.locator("[role=timer]")
    assert clock.inner_text() == "10:00"
    said = page.locator(".quiz-panel:visible .quiz-said")
    page.clock.run_for(61_000)
    assert clock.inner_text() == "8:59"
    assert said.inner_text() == ""
    page.get_by_role("button", name="Hide the time").click()
    assert not clock.is_visible()
    assert not clock.get_attribute("aria-live")
    page.clock.run_for(4 * 60_000)
    assert said.inner_text() == "5 minutes left."
    page.get_by_role("button", name="Show the time").click()
    page.clock.run_for(4 * 60_000)
    assert said.inner_text() == "1 minute left."
    assert clock.inner_text() == "0:59"
    page.clock.run_for(60_000)
    assert "The time is up, and the exam was handed in." in page.locator(".quiz-panel:visible").inner_text()
    assert focus_text(page) == "0 of 3 right"
    assert "It took 10 minutes." in page.locator(".quiz-panel:visible").inner_text()


def test_a_reload_goes_on_with_the_same_exam(visit, items):
    page = visit(clock=1_800_000_000)
    begin(page, number=10, minutes=20)
    before = paper(page)
    name = before[0][0]
    answer(page, items[name])
    page.get_by_role("button", name="Next item", exact=True).click()
    page.clock.run_for(90_000)
    left = page.locator("[role=timer]").inner_text()
    page.reload()
    page.wait_for_selector(".quiz-desk[data-ready]")
    after = paper(page)
    assert [name for name, _ in after] == [name for name, _ in before]
    assert after[1:] == before[1:]
    if items[name].kind != "order":  # there the answer is the order
        assert after == before
    assert page.locator(".quiz-spot").first.get_attribute("aria-label") == "Item 1, answered"
    assert page.locator(".quiz-spot[aria-current=true]").inner_text().startswith("2")
    assert page.locator("[role=timer]").inner_text() == left
    page.clock.run_for(19 * 60_000)
    assert focus_text(page) == "1 of 10 right"
    page.reload()
    page.wait_for_selector(".quiz-desk[data-ready]")
    assert page.locator(".quiz-result").inner_text() == "1 of 10 right"
    tries = page.evaluate("name => store.read('quiz').items[name].tries", name)
    assert tries == 1  # the reload of a result is no second try


def test_two_exams_differ_and_draw_from_all_items(visit, items):
    page = visit()
    drawn = []
    for _ in range(6):
        begin(page, number=12, minutes=0)
        drawn.append(tuple(name for name, _ in paper(page)))
        assert len(set(drawn[-1])) == 12
        page.get_by_role("button", name="Stop without a result").click()
        page.get_by_role("button", name="Yes", exact=True).click()
    assert len(set(drawn)) == 6
    assert len({name for ids in drawn for name in ids}) > 0.5 * min(len(items), 72)
    assert page.evaluate("() => store.read('quiz').exam") is None


def test_a_kept_exam_that_does_not_fit_is_left(visit):
    bad = {
        "version": 1,
        "sections": {"quiz": {"items": {"quiz-x": {"tries": "many"}}, "exam": {"seed": "s", "ids": ["gone"]}}},
    }
    page = visit(script=f"localStorage.setItem('transformers-tested', {json.dumps(json.dumps(bad))})")
    assert page.locator("#quiz-topic").is_visible()
    assert page.locator(".quiz-item:visible").count() > 50


# ---- What is kept


def test_the_panel_counts_in_a_sentence_and_links_to_what_is_missing(visit, items):
    page = visit()
    item = next(iter(items.values()))
    answer(page, item)
    page.locator(f"#{item.id} button[type=submit]").click()
    other = [name for name in items if name != item.id][7]
    page.evaluate("id => practice.note(id, false)", other)
    page.get_by_role("button", name="Your progress").click()
    assert not page.locator(".quiz-item:visible").count()
    panel = page.locator(".quiz-panel:visible")
    assert panel.locator(".quiz-counts").inner_text() == (
        f"You have tried 2 of {len(items)} items. At the last try of each: 1 right, 1 not right."
    )
    page.get_by_role("button", name="Practise", exact=True).click()
    page.select_option("#quiz-topic", item.topic)
    page.get_by_role("button", name="Your progress", exact=True).click()
    own = [name for name in (item.id, other) if items[name].topic == item.topic]
    all_ = sum(one.topic == item.topic for one in items.values())
    assert panel.locator(".quiz-counts").inner_text().endswith(f"”: {len(own)} of {all_} tried, 1 right.")
    assert panel.locator(".quiz-repeat h2").inner_text() == "Items to repeat"
    shown = panel.locator(".quiz-wrong .quiz-link")
    assert shown.inner_text().startswith("Shown in: ")
    there = "e => e.querySelector('a').href"
    assert shown.evaluate(there) == page.locator(f"#{other} .quiz-link").evaluate(there)
    wrong = panel.locator(".quiz-wrong li > a")
    assert wrong.evaluate_all("all => all.map((a) => a.hash)") == [f"#{other}"]
    assert panel.get_by_role("link", name="Your progress in the book").get_attribute("href") == "progress.html"
    entry = page.evaluate("id => store.read('quiz').items[id]", item.id)
    assert (entry["tries"], entry["right"]) == (1, True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", entry["at"])
    wrong.click()
    assert page.locator(f"#{other}").is_visible()
    page.evaluate("id => practice.note(id, true)", other)
    page.get_by_role("button", name="Your progress").click()
    assert not panel.locator(".quiz-repeat").is_visible(), "a heading of nothing"


REFUSED = {
    "asking throws": """Object.defineProperty(window, "localStorage",
      { configurable: true, get() { throw new DOMException("no"); } });""",
    "writing throws": "Storage.prototype.setItem = () => { throw new DOMException('full'); };",
}


@pytest.mark.parametrize("way", REFUSED)
def test_it_works_where_storage_is_refused_and_says_so(visit, items, way):
    page = visit(script=REFUSED[way], ours="js/quiz")  # the theme's own script complains of it
    assert page.evaluate("() => store.available") is False
    item = next(iter(items.values()))
    answer(page, item)
    page.locator(f"#{item.id} button[type=submit]").click()
    page.locator(f"#{item.id}").get_by_role("button", name="Try again").click()
    assert page.locator(f"#{item.id} .quiz-past").inner_text() == "✓ last time right, 1 try"
    page.get_by_role("button", name="Your progress").click()
    panel = page.locator(".quiz-panel:visible")
    assert "does not let the page store anything" in panel.inner_text()
    assert "tried 1 of" in panel.inner_text()
    begin(page, number=3, minutes=0)
    assert len(paper(page)) == 3


def test_it_works_from_a_folder(visit, items, site):
    page = visit(address=(site / NAME).as_uri())
    item = of_kind(items, "number")
    answer(page, item, right=False)
    page.locator(f"#{item.id} button[type=submit]").click()
    assert "known error" in page.locator(f"#{item.id} .quiz-verdict").inner_text()
    begin(page, number=4, minutes=5)
    assert len(paper(page)) == 4
    page.get_by_role("button", name="Stop without a result").click()
    page.get_by_role("button", name="Yes", exact=True).click()
    page.get_by_role("button", name="Your progress").click()
    assert "tried 1 of" in page.locator(".quiz-panel:visible").inner_text()


# ---- How it looks and is read


UNREACHED = """() => [...document.querySelectorAll(".bd-article pre")].some((e) =>
  e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0)"""


def outside(page):
    """What sticks out of a narrow window, once boxes that scroll can be reached by keyboard."""
    page.wait_for_function(f"() => !({UNREACHED})()")
    return page.evaluate(
        """() => [...document.querySelectorAll(".bd-article :is(p, li, label, button, input, select, table, pre)")]
          .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1
            && !e.closest("pre, .quiz-wide, .quiz-heard, mjx-container")).map((e) => e.outerHTML.slice(0, 120))"""
    )


SET_ASIDE = """() => { // items that do not show, which axe would walk through all the same
  window.aside = [...document.querySelectorAll(".quiz-item")].filter((item) => !item.checkVisibility())
    .map((item) => { const place = new Comment(); item.replaceWith(place); return [item, place]; });
}"""
PUT_BACK = "() => { for (const [item, place] of window.aside) place.replaceWith(item); }"


def faults_of_what_shows(page):
    page.evaluate(SET_ASIDE)
    found = axe_faults(page, ".bd-article")
    page.evaluate(PUT_BACK)
    return found


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("light", 360), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_sticks_out_in_any_state(visit, items, theme, width):
    page = visit(theme=theme, width=width)
    for item in (of_kind(items, kind) for kind in ("choice", "number", "order", "bug")):
        check(page, item, right=False)
    for several in (False, True):
        check(page, of_kind(items, "choice", several=several, level=2))
    page.evaluate(
        """() => [...document.querySelectorAll(".quiz-item button")]
          .filter((button) => button.textContent === "Show the answer" && button.checkVisibility())
          .forEach((button) => button.click())"""
    )
    assert not outside(page)
    page.evaluate("() => document.activeElement.blur()")
    assert not faults_of_what_shows(page)
    page.reload()
    page.wait_for_selector(".quiz-desk[data-ready]")
    page.get_by_role("button", name="Your progress").click()
    assert not outside(page)
    assert not faults_of_what_shows(page)
    begin(page, number=5, minutes=30)
    page.get_by_role("button", name="Hand in").click()
    assert not outside(page)
    assert not faults_of_what_shows(page)
    page.get_by_role("button", name="Yes", exact=True).click()
    assert not outside(page)
    assert not faults_of_what_shows(page)


def test_controls_have_names_and_formulas_inside_labels_are_set(still):
    page = still
    nameless = page.evaluate(
        """() => [...document.querySelectorAll(".quiz-desk :is(input, select, button), .quiz-item :is(input, button)")]
          .filter((e) => !(e.labels?.length && [...e.labels].some((l) => l.textContent.trim()))
            && !e.textContent.trim() && !e.getAttribute("aria-label")).map((e) => e.outerHTML)"""
    )
    assert not nameless
    assert page.locator(".quiz-choice label mjx-container").count() > 5
    groups = page.locator(".quiz-item").evaluate_all(
        "items => items.map((item) => [item.getAttribute('role'),"
        " document.getElementById(item.getAttribute('aria-labelledby')).textContent.length > 5])"
    )
    assert all(group == ["group", True] for group in groups)
    assert math.isclose(page.locator(".quiz-item fieldset legend").count(), page.locator(".quiz-item fieldset").count())
