"""Where a reader is: the bar of a page, the ticks of the pages that are read, and the way back from the front page."""

import json

import pytest
from bs4 import BeautifulSoup

pytestmark = pytest.mark.browser
PAGE = "book/attention/masks"
NEXT = "book/attention/a-translator-you-can-look-into"
KEPT = "() => JSON.parse(localStorage['transformers-tested'] ?? '{\"sections\": {}}').sections.reading ?? {}"
SHARE = "() => new DOMMatrix(getComputedStyle(document.querySelector('.reading-bar')).transform).a"
TOPS = """({ anchor, words }) => {
  const section = document.getElementById(anchor);
  const paragraph = [...section.querySelectorAll("p")].find((text) => text.textContent.trim().startsWith(words));
  const top = (node) => node.getBoundingClientRect().top;
  return { heading: top(section.querySelector("h2")), paragraph: top(paragraph) };
}"""
BARS = ".bd-header-article *, .sidebar-primary-item :is(.navbar-brand, .search-button__button)"


@pytest.fixture
def open_page(page, server):
    """Open a page of the site with a store that holds nothing but these readings."""
    yield opener(page, server)
    page.evaluate("() => localStorage.clear()")


@pytest.fixture
def open_in_time(browser, server):
    """The same in a context of its own, where a test lets seconds pass."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.clock.install()
    yield opener(page, server)
    context.close()


def opener(page, server):
    def go(name, reading=None, **sections):
        page.goto(f"{server}/book/index.html")
        sections |= {"reading": reading} if reading else {}
        kept = {"version": 1, "sections": sections} if sections else None
        page.evaluate(
            "(kept) => { localStorage.clear(); if (kept) localStorage['transformers-tested'] = kept; }",
            json.dumps(kept) if kept else None,
        )
        page.goto(f"{server}/{name}.html")
        return page

    return go


def entry(share, at="2026-01-01T00:00:00.000Z", **more):
    places = {"title": "Masks", "anchor": "", "section": "", "next": "", "nextTitle": ""}
    return {"at": at, "share": share, **places, **more}


def scroll_to(page, share):
    """To a share of the article, once its fonts are there and its height has settled.

    All fonts that the page declares are loaded, since one that layout asks for only later would move the lines again.
    """
    page.evaluate(
        """async (share) => {
          await Promise.all([...document.fonts].map((face) => face.load()));
          await document.fonts.ready;
          const frame = () => new Promise(requestAnimationFrame);
          let seen;
          do {
            seen = document.documentElement.scrollHeight;
            await frame();
            await frame();
          } while (seen !== document.documentElement.scrollHeight);
          const { height } = document.querySelector(".bd-article").getBoundingClientRect();
          const before = scrollY;
          const heard = new Promise((done) => addEventListener("scroll", done, { once: true }));
          scrollTo({ top: share * height, behavior: "instant" });
          if (scrollY !== before) await heard;
        }""",
        share,
    )


def stay(page, seconds):
    page.clock.run_for(1000 * seconds)


def test_a_page_keeps_how_far_it_was_read_and_the_section(open_in_time):
    page = open_in_time(PAGE)
    before = page.evaluate(SHARE)
    assert page.evaluate(KEPT) == {}
    stay(page, 300)
    scroll_to(page, 0.5)
    page.wait_for_function(f"() => ({KEPT})()['{PAGE}'].share > {before} + 0.1")
    kept = page.evaluate(KEPT)[PAGE]
    assert before < 0.4 < kept["share"] < 0.9
    assert page.evaluate(SHARE) == pytest.approx(kept["share"], abs=0.01)
    assert kept["section"] == page.inner_text(f"section#{kept['anchor']} > h2").rstrip("#").strip()
    assert (kept["title"], kept["next"]) == ("Masks", NEXT)
    scroll_to(page, 0)
    page.wait_for_function(f"() => ({KEPT})()['{PAGE}'].section !== {json.dumps(kept['section'])}")
    assert page.evaluate(KEPT)[PAGE]["share"] == kept["share"], "what was read stays read"
    # Figures may have grown since the page was opened, so the share is taken of its height now.
    now = page.evaluate(
        """() => {
          const { top, height } = document.querySelector(".bd-article").getBoundingClientRect();
          return (innerHeight - top) / height;
        }"""
    )
    assert page.evaluate(SHARE) == pytest.approx(now, abs=0.01)
    assert now < 0.4


def test_a_page_that_one_only_looked_at_is_not_kept(open_in_time, server):
    page = open_in_time(PAGE)
    scroll_to(page, 0.5)
    stay(page, 3)
    page.goto(f"{server}/{NEXT}.html")
    assert page.evaluate(KEPT) == {}
    stay(page, 18)
    scroll_to(page, 0)
    stay(page, 1)
    assert page.evaluate(KEPT) == {}, "at its top one reads no tenth of a page"
    stay(page, 2)
    assert list(page.evaluate(KEPT)) == [NEXT], "twenty seconds are enough, even for who does not scroll"
    page.goto(f"{server}/{PAGE}.html")
    stay(page, 15)
    scroll_to(page, 0.2)
    stay(page, 1)
    assert PAGE in page.evaluate(KEPT), "so is a tenth of the page"


def test_a_page_that_one_looks_up_for_some_seconds_is_not_kept(open_in_time, server):
    page = open_in_time(PAGE)
    stay(page, 60)
    scroll_to(page, 0.5)
    stay(page, 1)
    page.goto(f"{server}/{NEXT}.html")
    stay(page, 7)  # long enough for a tenth of it
    scroll_to(page, 0.4)
    stay(page, 0.5)
    page.goto(f"{server}/book/index.html")
    assert list(page.evaluate(KEPT)) == [PAGE]
    assert page.inner_text(".continue-reading").startswith("Go on reading: Masks")


def test_a_page_that_is_hidden_is_not_read(open_in_time):
    page = open_in_time(PAGE)
    page.evaluate("() => Object.defineProperty(document, 'hidden', { get: () => true })")
    stay(page, 300)
    scroll_to(page, 0.5)
    stay(page, 1)
    assert page.evaluate(KEPT) == {}


def test_a_jump_to_the_foot_of_a_page_does_not_read_it(open_in_time, server):
    page = open_in_time(PAGE)
    stay(page, 15)
    scroll_to(page, 1)
    stay(page, 1)
    assert page.evaluate(KEPT)[PAGE]["share"] < 0.6
    page.goto(f"{server}/book/attention/index.html")
    assert page.locator("a.page-read").count() == 0
    page.goto(f"{server}/{PAGE}.html")
    stay(page, 120)
    scroll_to(page, 1)
    stay(page, 1)
    assert page.evaluate(KEPT)[PAGE]["share"] > 0.9


def test_the_front_page_leads_to_where_one_stopped_and_behind_a_page_that_is_read(open_in_time, server, site):
    page = open_in_time(PAGE)
    stay(page, 300)
    scroll_to(page, 0.5)
    page.wait_for_function(f"() => ({KEPT})()['{PAGE}'].share > 0.4")
    kept = page.evaluate(KEPT)[PAGE]
    page.goto(f"{server}/book/index.html")
    place = page.locator(".continue-reading")
    assert place.inner_text() == f"Go on reading: Masks: {kept['section']}"
    assert len(kept["words"].split()) > 3
    sent = (site / f"{PAGE}.html").read_text("utf8")
    assert kept["words"] in " ".join(BeautifulSoup(sent, "html.parser").get_text().split()), "it is there at once"
    place.locator("a").click()
    page.wait_for_function("(hash) => location.hash === hash && scrollY > 0", arg=f"#{kept['anchor']}")
    tops = page.evaluate(TOPS, kept)
    assert tops["heading"] < 0 < tops["paragraph"] < 900, "it leads to the paragraph, and not to its heading"
    stay(page, 300)
    scroll_to(page, 1)
    page.wait_for_function(f"() => ({KEPT})()['{PAGE}'].share > 0.9")
    page.goto(f"{server}/book/index.html")
    title = "A translator that you can look into"
    assert place.inner_text() == f"Go on reading: {title}, the page after Masks"
    assert place.locator("a").get_attribute("href") == f"{server}/{NEXT}.html"


def test_the_words_of_the_map_are_no_place_to_go_on(open_in_time):
    page = open_in_time("book/generation/index")
    stay(page, 300)
    page.locator(".map-notes").first.evaluate("(notes) => notes.parentElement.scrollIntoView({ block: 'center' })")
    stay(page, 1)
    kept = page.evaluate(KEPT)["book/generation/index"]
    notes = " ".join(page.locator(".map-notes").all_text_contents())
    assert notes.strip()
    assert not kept["words"] or kept["words"] not in " ".join(notes.split())


def test_the_front_page_leads_to_the_newest_place(open_page):
    older, newer = entry(0.5), entry(0.3, at="2026-02-01T00:00:00.000Z", title="Heads")
    page = open_page("book/index", {"book/multi-head/several-heads": newer, PAGE: older})
    assert page.inner_text(".continue-reading") == "Go on reading: Heads"


def test_an_overview_is_named_without_a_section_and_the_line_keeps_off_what_is_below(open_page, server):
    overview = entry(0.5, title="Heads", anchor="pages", section="Pages")
    page = open_page("book/index", {"book/multi-head/index": overview})
    assert page.inner_text(".continue-reading") == "Go on reading: Heads"
    assert page.get_attribute(".continue-reading a", "href") == f"{server}/book/multi-head/index.html#pages"
    gap = """() => document.querySelector(".front").getBoundingClientRect().top
      - document.querySelector(".continue-reading").getBoundingClientRect().bottom"""
    assert page.evaluate(gap) >= 16


def test_the_front_page_leads_to_the_interview_or_the_plan_that_one_left_last(open_page, server):
    day = "2026-0{}-01T00:00:00.000Z".format
    interview = {"session": {"names": ["q-derive-sdpa"], "index": 0, "done": [], "pool": "all", "at": day(3)}}
    steps = {"read": {"done": True, "at": day(2)}, "write": {"done": False, "at": day(4)}}
    page = open_page("book/index", {PAGE: entry(0.3, day(1))}, mock=interview)
    assert page.inner_text(".continue-reading") == "Go on with your mock interview"
    assert page.get_attribute(".continue-reading a", "href") == f"{server}/book/interview/mock-interview.html"
    page = open_page("book/index", {PAGE: entry(0.3, day(1))}, mock=interview, plans={"plan-two-days": steps})
    assert page.inner_text(".continue-reading") == "Go on with the plan: two days, 1 step done"
    page.click(".continue-reading a")
    assert page.inner_text(":target h2, :target + h2").startswith("The two-day plan")
    page = open_page("book/index", {PAGE: entry(0.3, day(5))}, mock=interview, plans={"plan-two-days": steps})
    assert page.inner_text(".continue-reading") == "Go on reading: Masks"
    damaged = {"mock": {"session": {"at": 3}}, "plans": {"<b>": steps, "plan-one-week": [1]}}
    page = open_page("book/index", {PAGE: entry(0.3, day(1))}, **damaged)
    assert page.inner_text(".continue-reading") == "Go on reading: Masks"


def test_pages_that_are_read_have_a_tick_in_the_lists(open_page):
    overview = {"book/multi-head/index": entry(1)}  # a tick there would say that the chapter is read
    others = {"book/attention/why-divide-by-the-root": entry(0.5), "book/attention/questions": entry(1)}
    page = open_page("book/attention/index", {PAGE: entry(0.95), **others, "book/interview/quiz": entry(1), **overview})
    marked = page.eval_on_selector_all(
        "a.page-read", "links => [...new Set(links.map((a) => a.href.split('/').pop()))]"
    )
    assert marked == ["masks.html"]
    assert page.locator(".chapter-pages a.page-read").count() == 1
    read = page.locator(".bd-sidebar-primary a.page-read")
    assert read.count() == 1
    tick = read.evaluate("link => getComputedStyle(link, '::after').content")
    assert tick.startswith('"\u00a0✓"'), "the tick does not stand on a line of its own"


@pytest.mark.parametrize(
    "damaged",
    [
        {PAGE: entry(0.5, at="yesterday")},
        {PAGE: entry("most")},
        {PAGE: entry(0.5, title=3)},
        {PAGE: entry(0.95, next="javascript:alert(1)//")},
        {"../../../etc": entry(0.5)},
    ],
    ids=["date", "share", "title", "next", "name"],
)
def test_what_no_page_wrote_is_passed_over(open_page, damaged):
    page = open_page("book/index", damaged)
    assert page.inner_text(".continue-reading").startswith("Start here")


def test_words_from_a_file_are_shown_as_words_and_a_strange_anchor_is_left_out(open_page, server):
    page = open_page("book/index", {PAGE: entry(0.5, title="<img src=x>", anchor='"><b>', section="A & B")})
    assert page.inner_text(".continue-reading a") == "<img src=x>: A & B"
    assert page.get_attribute(".continue-reading a", "href") == f"{server}/{PAGE}.html"


def test_the_line_of_the_front_page_has_its_room_before(open_page):
    page = open_page("book/index", {PAGE: entry(0.5, section="What a mask does")})
    with_place = page.evaluate("() => document.querySelector('.front').getBoundingClientRect().top")
    page.evaluate("() => localStorage.clear()")
    page.reload()
    assert page.evaluate("() => document.querySelector('.front').getBoundingClientRect().top") == with_place


@pytest.mark.parametrize("name", ["questions", "questions-masks", "exercises", "claims"])
def test_a_page_of_a_chapter_that_is_looked_up_is_no_place_to_go_on(open_page, name):
    later = entry(0.95, "2026-03-01T00:00:00.000Z", next=NEXT, nextTitle="Heads")
    page = open_page("book/index", {PAGE: entry(0.3), f"book/attention/{name}": later})
    assert page.inner_text(".continue-reading") == "Go on reading: Masks"


def test_what_is_looked_up_is_no_place_to_go_on(open_page, server):
    later = entry(0.95, "2026-03-01T00:00:00.000Z", title="Quiz", next="book/interview/progress", nextTitle="Progress")
    page = open_page("book/index", {PAGE: entry(0.3), "book/interview/quiz": later})
    assert page.inner_text(".continue-reading") == "Go on reading: Masks"
    page = open_page("book/index", {"book/interview/quiz": later})
    assert page.inner_text(".continue-reading").startswith("Start here")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_tab_key_in_the_bar_of_a_page_does_not_move_the_page(open_page, width):
    page = open_page(PAGE)
    page.set_viewport_size({"width": width, "height": 844})
    scroll_to(page, 0.5)
    before = page.evaluate("() => scrollY")
    assert before > 1000
    seen = 0
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("(bars) => document.activeElement.matches(bars)", BARS):
            seen += 1
            assert page.evaluate("() => scrollY") == before
    assert seen > 1


MARKED = """() => [...document.querySelectorAll(".page-toc [aria-current=true]")].map((link) => link.textContent)"""


def test_the_contents_mark_the_section_that_one_jumped_into(open_page):
    page = open_page(PAGE)
    look = """(name) => {
      const { top, height } = document.getElementById(name).getBoundingClientRect();
      scrollBy({ top: top + height / 2, behavior: "instant" });
    }"""
    for name, words in (
        ("faults-that-raise-no-error", "Faults that raise no error"),
        ("the-padding-mask", "The padding mask"),  # up again, over two sections
    ):
        page.evaluate(look, name)
        page.wait_for_function(f"want => String(({MARKED})()) === want", arg=words)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.wait_for_function(f"() => !({MARKED})().length")


def test_the_contents_keep_the_mark_on_a_last_section_that_was_chosen(open_page):
    page = open_page(PAGE)
    page.locator(".page-toc a[href='#where-to-go-next']").click()
    page.wait_for_function(f"() => String(({MARKED})()) === 'Where to go next'")
    page.mouse.wheel(0, 5)
    assert page.evaluate(f"({MARKED})()") == ["Where to go next"]


def test_the_contents_mark_no_section_that_is_hidden(open_page):
    page = open_page("book/interview/quiz")
    page.wait_for_selector(".quiz-item:visible")
    page.locator(".page-toc a").last.evaluate("(a) => { a.classList.add('active'); a.ariaCurrent = 'true'; }")
    page.evaluate("scrollBy({ top: 200, behavior: 'instant' })")
    page.wait_for_function(f"() => !({MARKED})().length")
