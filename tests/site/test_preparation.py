"""The forty questions on a screen and on paper, the ledger and its choices, and the index of terms on a phone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from companion.book.claims import read_ledger
from companion.book.site.question_sheet import read_plan, read_sheet
from companion.book.terms import terms
from tests.site.accessibility import axe_faults

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
    assert seen(page, ".sheet-group li > .sheet-question") == number
    lefts = page.eval_on_selector_all(
        ".sheet-group li", "f => f.map((e) => Math.round(e.getBoundingClientRect().left))"
    )
    assert len(set(lefts)) == 2
    assert seen(page, ":is(.bd-sidebar, .bd-header-article, .prev-next-area, .bd-footer, .bd-footer-content)") == 0
    assert seen(page, ".bd-article h1 ~ p") == 0
    assert seen(page, ".bd-article h1") == 1
    heading = page.locator(".sheet-group > h2").first
    assert heading.evaluate("e => getComputedStyle(e).borderTopWidth") == "0px"
    tops = page.eval_on_selector_all(
        ".sheet-group > *, .sheet-group li",
        "f => f.map((e) => [...e.getClientRects()].map((r) => [r.left, r.top])).flat()",
    )
    right = min(top for left, top in tops if left > 300)
    assert right == pytest.approx(heading.bounding_box()["y"], abs=3), "both columns begin at one height"
    paper = page.pdf(prefer_css_page_size=True)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= MOST_SIDES


@pytest.mark.parametrize("width", [1440, 390])
def test_a_button_at_the_top_of_the_sheet_prints_it(
    page: object, server: str, settle: Callable[[object], None], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script("window.print = () => { window.printed = (window.printed ?? 0) + 1; }")
    page.goto(f"{server}/book/interview/forty-questions.html")
    settle(page)
    button = page.get_by_role("button", name="Print", exact=True)
    box = button.bounding_box()
    assert box["y"] + box["height"] < 844, "in view before one scrolls"
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("window.printed") == 1
    page.emulate_media(media="print")
    assert not button.is_visible()


def test_the_answers_of_the_sheet_are_covered_and_are_all_on_paper(
    page: object, server: str, settle: Callable[[object], None]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/book/interview/forty-questions.html")
    settle(page)
    number = sum(len(names) for _, names in read_sheet(ROOT))
    assert (seen(page, ".sheet-answer"), seen(page, ".sheet-show")) == (0, number)
    button = page.locator(".sheet-cover")
    assert button.inner_text() == "Uncover all answers"
    first, second = (page.locator(".sheet-group li").nth(place) for place in (0, 1))
    first.locator(".sheet-show").focus()
    page.keyboard.press("Enter")
    assert first.locator(".sheet-answer").is_visible()
    assert not second.locator(".sheet-answer").is_visible()
    assert first.locator(".sheet-answer").evaluate("e => e === document.activeElement"), "one reads on from there"
    page.emulate_media(media="print")
    assert (seen(page, ".sheet-answer"), seen(page, ".sheet-show")) == (number, 0)
    page.emulate_media(media="screen")
    page.locator(".sheet-question a").nth(4).click()
    page.wait_for_url("**/questions.html#q-*")
    page.go_back()
    settle(page)
    assert (seen(page, ".sheet-answer"), seen(page, ".sheet-show")) == (1, number), "it is as it was left"
    show = first.locator(".sheet-show")
    assert show.inner_text() == "Cover the answer"
    show.click()
    assert (seen(page, ".sheet-answer"), show.inner_text()) == (0, "Show the answer"), "it is asked once more"
    button.click()
    assert (seen(page, ".sheet-answer"), seen(page, ".sheet-show")) == (number, 0)
    page.emulate_media(media="print")
    assert seen(page, ".question-rate") == 0
    page.emulate_media(media="screen")
    assert button.inner_text() == "Cover the answers"
    button.focus()
    page.keyboard.press("Enter")
    assert (seen(page, ".sheet-answer"), seen(page, ".sheet-show")) == (0, number)
    page.evaluate("() => store.erase()")


def test_without_scripts_the_answers_of_the_sheet_are_open(browser: object, server: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server}/book/interview/forty-questions.html")
    assert page.locator(".sheet-answer:visible").count() == sum(len(names) for _, names in read_sheet(ROOT))
    context.close()


def test_an_answer_of_the_sheet_is_rated_where_it_is_uncovered(
    page: object, server: str, settle: Callable[[object], None]
) -> None:
    page.goto(f"{server}/book/interview/forty-questions.html")
    settle(page)
    first = page.locator(".sheet-group li").first
    name = first.locator(".sheet-question a").evaluate("link => link.hash.slice(1)")
    assert page.locator(".question-rate").count() == 0
    first.locator(".sheet-show").click()
    first.get_by_label("1: A part of it").check()
    assert first.locator(".question-told").inner_text() == "Rated 1 of 3, kept in this browser."
    assert page.evaluate("name => practice.ratings().get(name).row", name) == [1]
    page.evaluate("() => store.write('sheet', {})")
    page.reload()
    settle(page)
    assert first.locator(".question-mark").inner_text() == "↻ rated 1"
    first.locator(".sheet-show").click()
    assert first.get_by_label("1: A part of it").is_checked()
    assert not axe_faults(page, ".sheet-group")
    page.evaluate("() => store.erase()")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_buttons_of_the_sheet_stay_in_view_above_the_group_that_a_link_leads_to(
    page: object, server: str, settle: Callable[[object], None], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{server}/book/interview/forty-questions.html#sheet-inference")
    settle(page)
    page.wait_for_function("() => scrollY > 500")
    bar, button = (page.locator(one).bounding_box() for one in (".bd-header-article", ".sheet-cover"))
    heading = page.locator(":target > h2").bounding_box()
    assert bar["y"] + bar["height"] <= button["y"] + 1
    assert button["y"] + button["height"] <= heading["y"] < 300


def test_who_comes_from_the_plan_and_the_sheet_finds_the_way_back_and_the_next_question(
    page: object, server: str, settle: Callable[[object], None]
) -> None:
    (_, first), (title, second), *_ = read_sheet(ROOT)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/book/attention/questions.html#{first[0]}")
    settle(page)
    trail = page.locator(".trail a")
    assert trail.count() == 0, "who comes from elsewhere is led nowhere"
    page.goto(f"{server}/book/interview/index.html")
    settle(page)
    page.locator(".plan-two-days a[href$='exr-multi-head']").click()
    page.wait_for_url("**/exercises.html#exr-multi-head")
    steps = len(read_plan(ROOT))
    expect(trail).to_have_text([f"Two-day plan: step 3 of {steps}"])
    trail.click()
    page.wait_for_url("**/interview/index.html#*")
    page.locator(".plan-two-days").get_by_role("link", name=title).click()
    page.wait_for_url("**/forty-questions.html#sheet-*")
    step = f"Two-day plan: step 5 of {steps}"
    expect(trail).to_have_text([step])
    page.locator(f".sheet-question a[href$='#{second[0]}']").click()
    page.wait_for_url(f"**/questions.html#{second[0]}")
    at = len(first) + 1
    expect(trail).to_have_text([step, f"Question {at} of 40", "Next question"])
    strip = page.locator(".trail")
    box = strip.bounding_box()
    assert box["y"] + box["height"] == pytest.approx(844, abs=1)
    assert box["height"] <= 96
    assert not axe_faults(page, ".trail")
    trail.nth(2).click()
    page.wait_for_url(f"**/questions.html#{second[1]}")
    expect(trail).to_have_text([step, f"Question {at + 1} of 40", "Next question"])
    page.emulate_media(media="print")
    assert not strip.is_visible()
    page.emulate_media(media="screen")
    trail.nth(1).click()
    page.wait_for_url("**/forty-questions.html#sheet-*")
    page.evaluate("() => { store.erase(); sessionStorage.clear(); }")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_page_that_the_plan_tells_to_read_leads_back_to_its_step(
    page: object, server: str, settle: Callable[[object], None], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{server}/book/interview/index.html")
    settle(page)
    page.locator(".plan-two-days a[href*='rotary-positions']").click()
    page.wait_for_url("**/rotary-positions.html")
    settle(page)
    trail = page.locator(".trail a")
    steps = len(read_plan(ROOT))
    expect(trail).to_have_text([f"Two-day plan: step 4 of {steps}"])
    page.evaluate("location.hash = document.querySelectorAll('.bd-article section[id]')[2].id")
    page.wait_for_function("location.hash")
    assert trail.count() == 1, "nor does a section of the page lose it"
    end = page.locator(".prev-next-area").first
    end.scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert end.bounding_box()["y"] + end.bounding_box()["height"] <= page.locator(".trail").bounding_box()["y"]
    trail.click()
    page.wait_for_url("**/interview/index.html#plan-two-days-step-4")
    settle(page)
    row, top = page.locator(":target"), page.locator(".bd-header-article").bounding_box()
    assert row.locator("a[href*='rotary-positions']").is_visible()
    assert top["y"] + top["height"] <= row.bounding_box()["y"] < 844 - row.bounding_box()["height"]
    page.goto(f"{server}/book/positional-encoding/rotary-positions.html?elsewhere")
    assert trail.count() == 0
    page.evaluate("sessionStorage.clear()")


def test_each_group_of_the_sheet_can_be_linked_to(page: object, server: str) -> None:
    page.goto(f"{server}/book/interview/index.html")
    links = page.locator(".plan-two-days a[href*='forty-questions.html#sheet-']")
    titles = [title for title, _ in read_sheet(ROOT)]
    assert links.all_inner_texts() == titles, "the plan leads through all groups in their order"
    addresses = links.evaluate_all("found => found.map((link) => link.href)")
    for title, address in zip(titles, addresses, strict=True):
        page.goto(address)
        assert page.inner_text(":target > h2").rstrip("#") == title


def test_the_ledger_shows_the_claims_of_a_verdict_a_basis_and_a_chapter(
    page: object, server: str, settle: Callable[[object], None]
) -> None:
    page.goto(f"{server}/book/ledger.html")
    settle(page)
    claims = read_ledger().claims
    assert seen(page, ".ledger-entry") == len(claims)

    def chosen(**values: str) -> int:
        for name in ("verdict", "basis", "chapter"):
            page.select_option(f"#ledger-{name}", values.get(name, ""))
        number = seen(page, ".ledger-entry")
        assert page.inner_text(".ledger-told") == f"{number} claim{'s' * (number != 1)}"
        return number

    for verdict in {claim.verdict for claim in claims}:
        fits = [claim for claim in claims if claim.verdict == verdict]
        assert chosen(verdict=verdict) == len(fits)
        assert page.locator("section[id^=ledger-chapter-]:visible").count() == len({claim.chapter for claim in fits})
    measured = [claim for claim in claims if claim.chapter == "attention" and "measured" in claim.bases]
    assert chosen(basis="measured", chapter="ledger-chapter-attention") == len(measured) > 1
    wrong = [claim for claim in measured if claim.verdict == "wrong"]
    assert chosen(verdict="wrong", basis="measured", chapter="ledger-chapter-attention") == len(wrong)
    page.reload()
    settle(page)
    assert seen(page, ".ledger-entry") == len(claims), "a link to any claim finds it"
    page.emulate_media(media="print")
    assert seen(page, ".ledger-filter") == 0


def test_on_a_phone_each_step_of_a_plan_in_prose_names_its_day(
    page: object, server: str, settle: Callable[[object], None]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/book/interview/index.html")
    settle(page)
    for table in page.locator("table.study-plan.prose-table").all():
        cell = table.locator("tbody td:first-child").first
        unit = table.locator("thead th").first.text_content().strip()
        assert cell.evaluate("e => getComputedStyle(e, '::before').content") == f'"{unit}"'
        assert cell.evaluate("e => getComputedStyle(e).display") == "flex"
        box, whole = cell.locator("input").bounding_box(), cell.bounding_box()
        assert box["x"] - whole["x"] < 2, "the box stands before the day"
        assert whole["height"] < 40


@pytest.mark.parametrize(
    ("place", "below"),
    [
        ("interview/terms.html#term-lora", ""),
        ("interview/formulas.html#formula-rope", ""),
        ("glossary.html#term-LoRA", "dd"),
    ],
)
def test_the_entry_that_one_comes_to_has_a_frame_off_its_text(
    page: object, server: str, settle: Callable[[object], None], place: str, below: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/book/{place}")
    settle(page)
    frame = """(entry) => {
      const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(entry);
      return [outlineStyle, parseFloat(outlineWidth), parseFloat(outlineOffset)];
    }"""
    style, width, offset = page.eval_on_selector(":target", frame)
    assert style == "solid"
    assert width == 2
    assert offset >= 3
    if below:
        entry, text = page.locator(":target").bounding_box(), page.locator(f":target + {below}").bounding_box()
        assert entry["y"] + entry["height"] + offset + width < text["y"] + 4, "letters begin lower than their line"


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("place", "letters"), [("glossary", "MT"), ("references", "BO")])
def test_letters_lead_through_a_long_page_and_stay_in_view(
    page: object, server: str, settle: Callable[[object], None], place: str, letters: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{server}/book/{place}.html")
    settle(page)
    bar = page.locator(".term-letters")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = bar.locator("a").all_inner_texts()
    assert shown == page.locator(".term-letter").evaluate_all("f => f.map((e) => e.firstChild.textContent)")
    for letter in letters:
        link = bar.get_by_text(letter, exact=True)
        link.focus()
        page.keyboard.press("Enter")
        head = page.locator(f"#terms-{letter.lower()}")
        page.wait_for_function("(e) => Math.abs(e.getBoundingClientRect().top) < 400", arg=head.element_handle())
        over, under = bar.bounding_box(), head.bounding_box()
        top = page.evaluate("document.querySelector('.bd-header-article').getBoundingClientRect().bottom")
        assert top - 1 <= over["y"], "the bar of the page covers no letter"
        assert over["y"] + over["height"] <= under["y"] < 300, "the letters cover no heading"
        entry = page.locator(f"#terms-{letter.lower()} + :is(dl, .citation-list)").first
        first = entry.locator("dt, .citation").first
        first.evaluate("e => { location.hash = e.id; }")
        page.wait_for_function("(e) => Math.abs(e.getBoundingClientRect().top) < 400", arg=first.element_handle())
        assert over["y"] + over["height"] <= first.bounding_box()["y"], "nor an entry that a link leads to"
    page.emulate_media(media="print")
    assert not bar.is_visible()


def test_the_index_of_terms_is_a_list_on_a_phone(page: object, server: str, settle: Callable[[object], None]) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(f"{server}/book/interview/terms.html")
    settle(page)
    assert page.locator("ul.terms > li:not(.term-see)").count() == len(terms(ROOT))
    assert (
        page.locator("ul.terms > .term-see", has_text=re.compile("^RoPE: see Rotary position embedding$")).count() == 1
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    letters = page.locator(".term-letters a")
    assert letters.count() >= 20
    for letter in ("K", "T"):
        letters.get_by_text(letter, exact=True).click()
        assert page.evaluate("document.querySelector(location.hash).innerText.trim()[0]") == letter
        bar = page.locator(".term-letters").bounding_box()
        head = page.locator(f"#terms-{letter.lower()}").bounding_box()
        assert 40 < bar["y"] + bar["height"] <= head["y"] < 300, "the letters stay, above what they lead to"
    page.fill("#term-words", "embed rope")
    known = [[one.name, ", ".join((one.name, *one.aliases)).lower()] for one in terms(ROOT)]
    fit = [name for name, words in known if "embed" in words and "rope" in words]
    assert 0 < len(fit) < 5
    assert page.locator("ul.terms > li:visible .term-name").all_inner_texts() == fit
    assert page.inner_text(".term-filter [role=status]").endswith(f" of {len(terms(ROOT))} terms")
    assert seen(page, ".term-letter") == seen(page, ".term-letters a")
