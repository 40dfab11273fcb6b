"""The code of a page: one menu folds or opens it everywhere, and paper shows what a fold holds."""

import pytest

pytestmark = pytest.mark.browser
PAGE, NEXT, TASKS = "attention-in-fifteen-minutes", "masks", "exercises"
SWITCH = ".code-switch"
BACK, FOLDED, OPEN = "Code as the book has it", "Code folded, on all pages", "Code open, on all pages"
CELLS = ".bd-article .cell .cell_input"
# Which of the cells of code show, the checks and solutions left out.
SHOWN = """() => [...document.querySelectorAll(".bd-article .cell .cell_input")].filter((cell) => {
  const words = cell.closest("details.hide")?.querySelector(".collapsed").textContent ?? "Show the code";
  return !/check|solution|away/i.test(words);
}).map((cell) => cell.checkVisibility())"""


@pytest.fixture
def open_page(page, server, settle):
    """``open_page(name)`` opens a page of the chapter on attention; in the end nothing is kept."""

    def go(name, ready=SWITCH):
        page.goto(f"{server}/book/attention/{name}.html")
        page.wait_for_selector(ready)
        settle(page)
        return page

    yield go
    page.evaluate("() => localStorage.clear()")


def choose(page, words):
    page.get_by_label("Code", exact=True).select_option(words)


def test_one_menu_folds_and_opens_all_code_and_the_next_page_knows(open_page):
    page = open_page(PAGE)
    as_written = page.evaluate(SHOWN)
    assert True in as_written
    assert False in as_written
    choose(page, FOLDED)
    assert not any(page.evaluate(SHOWN))
    page.locator("summary", has_text="Show the code").first.click()
    assert page.evaluate(SHOWN).count(True) == 1, "a cell can still be opened by itself"
    page = open_page(NEXT)
    assert not any(page.evaluate(SHOWN))
    page.get_by_label("Code", exact=True).focus()
    page.keyboard.type("Code open")
    assert all(page.evaluate(SHOWN))
    page = open_page(PAGE)
    assert all(page.evaluate(SHOWN))
    folds = page.locator("details.hide").count()
    choose(page, BACK)
    assert page.evaluate(SHOWN) == as_written
    assert page.locator("details.hide").count() < folds, "what the book does not fold has no fold"
    assert page.evaluate("() => store.read('code')") == {}
    choose(page, FOLDED)
    assert not any(page.evaluate(SHOWN))


def test_the_menu_shows_its_state_and_a_press_at_its_sign_opens_it(open_page):
    page = open_page(PAGE)
    signs, switch = [], page.locator(SWITCH)
    place = switch.bounding_box()
    for words in (BACK, FOLDED, OPEN):
        choose(page, words)
        signs.append(switch.locator("span").inner_text())
        assert switch.bounding_box() == place, "no choice moves it"
    assert len(set(signs)) == 3
    at = [place["x"] + 5, place["y"] + 5]
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).localName", at) == "select"
    page.evaluate("() => scrollTo({ top: 2000, behavior: 'instant' })")
    page.mouse.move(*at)
    page.mouse.down()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("() => scrollY") == 2000, "nor does a press move the page"


def test_on_a_phone_the_menu_is_above_the_contents_and_shows_its_words(open_page):
    page = open_page(PAGE)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(f".sidebar-secondary-items > {SWITCH}", state="attached")
    assert not page.locator(f".article-header-buttons {SWITCH}").count(), "the title needs the room"
    page.locator(".bd-header-article .secondary-toggle").click()
    menu = page.get_by_label("Code", exact=True)
    assert menu.evaluate("(menu) => getComputedStyle(menu).opacity") == "1"
    assert menu.bounding_box()["height"] >= 40
    choose(page, FOLDED)
    assert not any(page.evaluate(SHOWN))
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator(f".article-header-buttons {SWITCH}").wait_for()


def test_what_another_tab_keeps_closes_no_fold_that_a_reader_opened(open_page):
    page = open_page(PAGE)
    choose(page, FOLDED)
    page.locator("summary", has_text="Show the code").first.click()
    page.evaluate("() => addEventListener('storage', () => (window.heard = true))")
    other = page.context.new_page()
    other.goto(page.url)
    other.evaluate("() => store.write('reading', {})")
    page.wait_for_function("() => window.heard")
    assert page.evaluate(SHOWN).count(True) == 1
    choose(other, OPEN)
    page.wait_for_function("sign => document.querySelector('.code-switch > span').textContent === sign", arg="<▼>")
    assert all(page.evaluate(SHOWN))
    other.close()


def test_the_menu_leaves_what_one_reads_in_its_place(open_page):
    page = open_page(PAGE)
    place = page.locator("section#the-code > h2")
    place.evaluate("(heading) => scrollBy({ top: heading.getBoundingClientRect().top - 100, behavior: 'instant' })")
    before = place.bounding_box()["y"]
    choose(page, FOLDED)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert place.bounding_box()["y"] == pytest.approx(before, abs=2)


def test_a_fold_with_words_of_its_own_follows_the_menu_unless_it_gives_something_away(page, server):
    folds = {"attention/a-translator-you-can-look-into": (13, 0), "training/the-clinic": (0, 3)}
    for name, (follow, stay) in folds.items():
        page.goto(f"{server}/book/{name}.html")
        page.wait_for_selector(SWITCH)
        choose(page, OPEN)
        own = "(all) => all.map((fold) => [fold.querySelector('.collapsed').textContent, fold.open])"
        found = page.locator(".cell details.hide").evaluate_all(own)
        named = [is_open for words, is_open in found if words != "Show the code"]
        assert (named.count(True), named.count(False)) == (follow, stay), found
    page.evaluate("() => localStorage.clear()")


def test_on_a_phone_no_number_that_a_cell_prints_lies_outside(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    wide = """() => [...document.querySelectorAll(".cell_output pre, .cell_output table.computed")]
      .filter((box) => box.checkVisibility() && box.scrollWidth > box.parentElement.clientWidth + 1)
      .map((box) => box.innerText.slice(0, 60))"""
    pages = ("history/why-gradients-vanish", "positional-encoding/rotary-positions", "add-norm/pre-norm-or-post-norm")
    for name in (*pages, "positional-encoding/longer-than-trained", "training/large-batches-small-numbers"):
        page.goto(f"{server}/book/{name}.html")
        page.eval_on_selector_all("details", "all => all.forEach((fold) => { fold.open = true; })")
        assert page.locator(".cell_output :is(pre, table.computed)").count() > 0, name
        assert page.evaluate(wide) == [], name


def test_exercises_and_pages_without_code_have_no_switch(open_page, page):
    for name in (TASKS, "index"):
        open_page(name, ".bd-article h1")
        page.wait_for_load_state("load")
        assert page.locator(SWITCH).count() == 0


def test_paper_shows_at_once_what_a_fold_holds(open_page):
    page = open_page(PAGE)
    page.emulate_media(media="print", reduced_motion="no-preference")
    faint = page.evaluate(
        f"""() => {{
          dispatchEvent(new Event("beforeprint"));
          const cells = [...document.querySelectorAll("{CELLS}")];
          return cells.filter((cell) => getComputedStyle(cell).opacity !== "1").length;
        }}"""
    )
    assert faint == 0
    assert all(page.evaluate(SHOWN))
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", reduced_motion="reduce")


def test_code_that_the_menu_folded_stays_off_paper(open_page):
    page = open_page(PAGE)
    choose(page, FOLDED)
    page.locator("summary", has_text="Show the code").first.click()
    for moment, media in (("beforeprint", "print"), ("afterprint", "screen")):
        page.emulate_media(media=media)
        page.evaluate("moment => { dispatchEvent(new Event(moment)); }", moment)
        assert page.evaluate(SHOWN).count(True) == 1, "what was opened by hand is printed"
        boxes = page.locator(".bd-article details.off-paper:not([open])")
        assert boxes.count() > 1
        assert boxes.first.is_visible() is (media == "screen")
    choose(page, BACK)
    assert page.locator(".off-paper").count() == 0
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert all(page.evaluate(SHOWN)), "as the book has it, paper shows all"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")


def test_an_exercise_is_printed_without_the_hints_and_solutions_that_are_closed(open_page, page):
    open_page(TASKS, ".exercise-about")
    folds = page.locator("section:has(> .exercise-about) details:not(.hide)")
    folds.first.locator("summary").first.click()
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert [fold.is_visible() for fold in folds.all()] == [True] + [False] * (folds.count() - 1)
    assert page.locator("details.hide:not([open])").count() == 0, "code is printed"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert folds.nth(1).is_visible()


def test_a_line_of_code_fits_paper_without_a_break(open_page):
    page = open_page("../efficient-attention/flash-attention")
    page.set_viewport_size({"width": 682, "height": 1000})  # A4 without its margins
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    widths = """() => {
      const pre = document.querySelector(".bd-article .cell_input pre");
      const style = getComputedStyle(pre);
      const context = document.createElement("canvas").getContext("2d");
      context.font = `${style.fontSize} ${style.fontFamily}`;
      const room = pre.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      return [context.measureText("0".repeat(85)).width, room];
    }"""
    line, room = page.evaluate(widths)
    assert 0.7 * room < line < 0.97 * room, "85 columns, in a wider letter too"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")


def test_paper_cuts_no_table_of_a_figure(open_page):
    for name in ("greedy-sampling-beam", "speculative-decoding"):
        page = open_page(f"../generation/{name}")
        page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
        page.emulate_media(media="print")
        cut = "found => found.filter((box) => box.scrollWidth > box.clientWidth + 1).length"
        assert page.locator(".explorer .ex-scroll").count() > 0
        assert page.eval_on_selector_all(".explorer .ex-scroll", cut) == 0
        page.emulate_media(media="screen")


def test_paper_keeps_the_colours_of_figures_and_has_nothing_to_press(open_page):
    page = open_page(PAGE)
    page.locator(".explorer .ex-toggle input").first.uncheck()
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    bleached = """() => [...document.querySelectorAll(".explorer .ex-thumb i, .explorer .ex-cell")].filter(
      (cell) => getComputedStyle(cell).printColorAdjust !== "exact").length"""
    assert page.locator(".explorer .ex-cell").count() > 0
    assert page.evaluate(bleached) == 0
    icon = "(title) => getComputedStyle(title, '::after').printColorAdjust"
    assert page.locator(".admonition.often-said > .admonition-title").first.evaluate(icon) == "exact"
    for pressed in (".cell details.hide > summary", ".explorer :is(button, input)"):
        assert page.locator(f".bd-article {pressed}:visible").count() == 0, pressed
    chosen = page.locator(".explorer .ex-choice .ex-option:visible")
    assert chosen.count() == page.locator(".explorer .ex-choice").count() > 0
    word = "(toggle) => [toggle.querySelector('input').checked, getComputedStyle(toggle, '::after').content]"
    toggles = page.locator(".explorer .ex-toggle:visible")
    assert toggles.count() > 0
    for toggle in toggles.all():
        checked, said = toggle.evaluate(word)
        assert said == ('": on"' if checked else '": off"')
    floating = """() => [["p", "tooltip"], ["dialog", "find-dialog"]].map(([name, className]) => {
      const made = document.body.appendChild(Object.assign(document.createElement(name), { className }));
      made.showModal?.();
      return getComputedStyle(made).display;
    })"""
    assert page.evaluate(floating) == ["none", "none"]
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
