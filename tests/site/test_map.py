"""The map in a browser, the front page in one screen, the way home, and the tags and pages for shared links."""

import gzip
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.site.browser import AT_REST
from tests.site.test_site_launch import make_book

FRONT = "book/index.html"
LIMIT = 150_000  # bytes, gzipped, of all that the front page loads
SHOWN = "() => document.querySelector('.map-on-show').textContent.trim().slice(0, 14)"
ACTIVE = "() => document.activeElement.querySelector('[data-part]')?.dataset.part"


def part(layout: str, name: str) -> str:
    return f'svg.fig-{layout} [data-part="{name}"]'


@pytest.mark.browser
def test_the_first_screen_says_what_it_is_for_whom_and_where_to_start(page: object, server: str) -> None:
    bottom = "e => e.getBoundingClientRect().bottom"
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{server}/{FRONT}")
        for words in (".lead", ".for-whom", ".front"):
            assert page.eval_on_selector(words, bottom) <= height, (width, words)
        starts = page.eval_on_selector_all(".front .start > p:first-child a", "all => all.map(a => a.textContent)")
        assert starts == ["Read", "Run", "Prepare"]
    assert page.eval_on_selector("svg.fig-narrow", "e => e.getBoundingClientRect().top") < 844 * 0.87
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.eval_on_selector("svg.fig-wide", bottom) <= 900


@pytest.mark.browser
def test_read_leads_where_next_leads(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    read = page.eval_on_selector(".front .start > p:first-child a", "a => a.href")
    assert read == page.eval_on_selector(".prev-next-footer .right-next", "a => a.href")


@pytest.mark.browser
def test_a_part_that_is_pointed_at_shows_its_note_and_moves_nothing(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    height = page.evaluate("() => document.documentElement.scrollHeight")
    assert page.evaluate(SHOWN).startswith("Point at a par")
    for name, words in (
        ("cross-attention", "Cross-attentio"),
        ("positions", "Positional enc"),
        ("output", "Linear layer a"),
    ):
        page.locator(part("wide", name)).first.hover()
        assert page.evaluate(SHOWN) == words
        assert page.evaluate("() => document.documentElement.scrollHeight") == height
    page.locator(".map-on-show mjx-container").first.wait_for(state="visible")


@pytest.mark.browser
def test_a_mouse_that_crosses_the_map_finds_the_two_models_and_one_that_stays_its_note(
    browser: object, server: str
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.clock.install()
    page.goto(f"{server}/{FRONT}")
    page.clock.pause_at(page.evaluate("() => Date.now()") + 1000)
    parts = page.locator(part("wide", "encoder-self-attention")).first
    box = page.locator(".map-notes")
    page.mouse.move(5, 5)
    parts.hover()
    assert page.evaluate(SHOWN) != "Point at a par"
    box.hover()
    assert page.evaluate(SHOWN) == "Point at a par"
    page.mouse.move(5, 5)
    parts.hover()
    page.clock.run_for(2000)
    box.hover()
    assert page.evaluate(SHOWN) != "Point at a par"
    page.close()


@pytest.mark.browser
def test_at_rest_the_box_under_the_map_opens_a_model_and_says_what_that_loads(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    said = page.eval_on_selector_all(
        ".map-on-show li", "all => all.map(li => [li.innerText, li.querySelector('a').href])"
    )
    assert [words.split()[0] for words, _ in said] == ["Translate", "Let"]
    for words, address in said:
        page.goto(address)
        button = page.locator('button[data-trait="open"]')
        assert button.inner_text().endswith(re.search(r"\d+ kB", words)[0])


@pytest.mark.browser
def test_escape_and_a_click_beside_the_parts_bring_back_what_was_there_first(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    svg = page.locator("svg.fig-wide")
    corner = svg.bounding_box()
    for leave in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.mouse.click(corner["x"] + 2, corner["y"] + 2),
    ):
        page.mouse.move(5, 5)
        page.locator(part("wide", "feed-forward")).first.hover()
        assert page.evaluate(SHOWN).startswith("Feed-forward")
        leave()
        assert page.evaluate(SHOWN).startswith("Point at a par")


@pytest.mark.browser
def test_the_focus_is_on_the_lines_and_boxes_of_a_part_and_holds_no_other(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    strokes = "all => all.map((one) => getComputedStyle(one).strokeWidth)"
    for name, drawn in (("keys-values", ".f-line"), ("add-norm", ".f-box")):
        link = page.locator(f'svg.fig-wide a:has([data-part="{name}"])').first
        before = link.locator(drawn).evaluate_all(strokes)
        page.keyboard.press("Tab")  # so that the browser shows the focus
        link.focus()
        page.evaluate(AT_REST)
        assert link.locator(drawn).evaluate_all(strokes) == ["4px"] * len(before) != before
        assert link.locator("[data-part]").evaluate("e => getComputedStyle(e).outlineStyle") == "none"
    assert "&" not in page.text_content(".map-notes"), "an apostrophe of a title is one in its note"


@pytest.mark.browser
def test_on_paper_too_the_parts_of_a_chapter_stand_out(page: object, server: str) -> None:
    page.goto(f"{server}/book/multi-head/index.html")
    page.emulate_media(media="print")
    opacity = "e => getComputedStyle(e).opacity"
    shown = {name: page.eval_on_selector(part("narrow", name), opacity) for name in ("cross-attention", "feed-forward")}
    page.emulate_media(media="screen")
    assert shown == {"cross-attention": "1", "feed-forward": "0.45"}


@pytest.mark.browser
def test_the_keyboard_goes_through_the_parts_leads_on_and_leaves(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    first = "svg.fig-wide a[href]"
    page.locator(first).first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate(ACTIVE) == "decoder"
    page.locator('svg.fig-wide a:has([data-part="encoder-self-attention"])').focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(ACTIVE) == "decoder-self-attention"
    assert page.evaluate(SHOWN) == "Masked self-at"
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.className") == "map-notes"
    assert page.evaluate(SHOWN).startswith("Point at a par")
    page.locator('svg.fig-wide a:has([data-part="cross-attention"])').focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/a-translator-you-can-look-into.html")


@pytest.mark.browser
def test_every_part_is_said_with_its_shapes(page: object, server: str) -> None:
    page.goto(f"{server}/{FRONT}")
    said = page.eval_on_selector_all("svg.fig-wide a[href]", "all => all.map(a => a.getAttribute('aria-label'))")
    assert len(set(said)) == 11
    assert all(". Shapes: " in name and "(batch, t" in name for name in said)


@pytest.mark.browser
@pytest.mark.parametrize("place", ["start", "end"])
def test_a_tap_shows_and_the_second_leads_on(browser: object, server: str, place: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{server}/{FRONT}")
    page.mouse.move(195, 100)  # a mouse may rest where the note will be
    target = page.locator(part("narrow", "cross-attention"))
    page.add_style_tag(content="svg.fig a { scroll-margin: 80px 0 20px; }")  # clear of the bar at the head
    target.evaluate("(part, block) => part.scrollIntoView({ block, behavior: 'instant' })", place)
    height = page.evaluate("() => document.documentElement.scrollHeight")
    middle = target.bounding_box()
    target.tap()
    expect(page.locator(".map-on-show")).to_contain_text("Cross-attention: each word")
    assert page.url.endswith(FRONT)
    box = page.locator(".map-on-show").bounding_box()
    assert -1 <= box["y"] <= 845 - box["height"], "the note is not in view"
    middle = middle["y"] + middle["height"] / 2
    assert not box["y"] <= middle <= box["y"] + box["height"], "the note lies on what was tapped"
    assert page.evaluate("() => document.documentElement.scrollHeight") == height
    target.tap()
    page.wait_for_url("**/a-translator-you-can-look-into.html")
    context.close()


@pytest.mark.browser
def test_the_map_is_links_without_javascript(browser: object, server: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{server}/{FRONT}")
    page.locator(part("wide", "feed-forward")).first.click()
    page.wait_for_url("**/the-feed-forward-network.html")
    assert page.locator('.small-map a[aria-label="Feed-forward network"]').count() == 0  # the page itself
    assert page.locator(".small-map path.lit").count() == 1
    context.close()


@pytest.mark.browser
def test_the_margin_has_one_stop_and_names_what_is_pointed_at(page: object, server: str) -> None:
    page.goto(f"{server}/book/attention/masks.html")
    name = page.locator(".small-map-name")
    assert name.text_content() == "Masked self-attention"
    assert page.locator('.small-map a:not([tabindex="-1"])').count() == 1
    page.locator('.small-map a[aria-label="Cross-attention"]').focus()
    assert name.text_content() == "Cross-attention"
    page.keyboard.press("ArrowDown")
    assert name.text_content() == "Positional encoding"  # masked self-attention is this page, and no link
    page.keyboard.press("Escape")
    assert name.text_content() == "Masked self-attention"
    page.set_viewport_size({"width": 390, "height": 844})
    assert not page.locator(".small-map").is_visible()


@pytest.mark.browser
def test_the_margin_has_room_for_the_longest_list_of_parts(page: object, server: str, site: Path) -> None:
    names = {path: re.search(r'data-here="([^"]*)"', path.read_text("utf8")) for path in site.glob("book/*/*.html")}
    longest = max((path for path, name in names.items() if name), key=lambda path: len(names[path][1]))
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{server}/{longest.relative_to(site).as_posix()}")
    assert page.locator(".small-map-name").inner_text().count(",") >= 2
    assert page.eval_on_selector(".small-map-name", "name => name.scrollHeight <= name.clientHeight")


@pytest.mark.browser
def test_the_ways_home_and_to_the_chapter_are_in_view(page: object, server: str) -> None:
    ways = page.locator(".book-home")
    for width, where in ((1440, page.locator(".book-brand a")), (390, ways.first), (390, ways.last)):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{server}/book/attention/masks.html")
        box = where.bounding_box()
        assert 0 <= box["x"] < 300
        assert 0 <= box["y"] < 100
        assert box["height"] >= 24
    assert ways.last.inner_text().split("\n") == ["Attention", "Masks"]
    ways.last.click()
    page.wait_for_url("**/book/attention/index.html")
    assert ways.last.inner_text() == "Attention"
    ways.first.click()  # an overview has one way: home
    page.wait_for_url(f"**/{FRONT}")


@pytest.mark.browser
def test_the_buttons_of_a_phone_stay_where_they_are_on_a_page_without_contents(page: object, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    places = []
    for name in ("attention/masks", "glossary", "index"):
        page.goto(f"{server}/book/{name}.html")
        places.append(page.locator(".bd-header-article .search-button").bounding_box()["x"])
        contents = page.locator(".bd-header-article .secondary-toggle")
        assert contents.is_visible() == (name == "attention/masks"), "what opens nothing is not there"
    assert places == pytest.approx([places[0]] * 3, abs=1)


@pytest.mark.browser
def test_the_list_of_pages_shows_the_page_that_one_is_on(page: object, server: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 600})
    page.goto(f"{server}/book/attention/masks.html")
    sidebar = page.locator("div.bd-sidebar-primary")
    sidebar.evaluate("list => list.scrollTo(0, list.scrollHeight)")
    page.goto(f"{server}/book/positional-encoding/rotary-positions.html")
    here = sidebar.locator("a.current").last
    assert here.inner_text() == "Rotary positions"
    page.wait_for_function(
        "link => { const { top, bottom } = link.getBoundingClientRect(); return top > 0 && bottom < innerHeight; }",
        arg=here.element_handle(),
    )
    assert page.evaluate("scrollY") == 0
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{server}/book/scaling/scaling-laws.html")
    chapter, search = sidebar.locator("li.toctree-l1.current > a"), sidebar.locator(".search-button__button")
    chapter.evaluate(
        "link => link.closest('div.bd-sidebar-primary').scrollBy(0, link.getBoundingClientRect().top - 10)"
    )
    page.reload()  # the theme leaves the list where it was
    page.wait_for_load_state("load")
    end = search.bounding_box()
    assert chapter.bounding_box()["y"] >= end["y"] + end["height"], "the chapter is below the search"
    page.goto(f"{server}/{FRONT}")
    page.wait_for_function("() => document.querySelector('div.bd-sidebar-primary').scrollTop === 0")


@pytest.mark.browser
def test_the_front_page_loads_at_most_its_share(
    page: object, site: Path, server: str, capsys: pytest.CaptureFixture
) -> None:
    seen = set()
    page.on("requestfinished", lambda request: seen.add(urlsplit(request.url).path))
    page.goto(f"{server}/{FRONT}", wait_until="networkidle")
    weights = {path: len(gzip.compress((site / path[1:]).read_bytes(), 9)) for path in seen}
    with capsys.disabled():
        print(f"\nfront page: {sum(weights.values()) / 1000:.1f} kB gzipped in {len(weights)} files ", end="")
    assert sum(weights.values()) < LIMIT


def test_on_a_phone_the_code_of_the_front_page_is_read_whole(page: object, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/{FRONT}")
    widths = page.eval_on_selector_all(
        ".bd-article .highlight pre", "all => all.map((e) => e.scrollWidth - e.clientWidth)"
    )
    assert widths == [0] * len(widths) != []


def test_the_margin_adds_little_to_a_page(site: Path) -> None:
    page = (site / "book/attention/masks.html").read_text("utf8")
    start, end = page.index('<nav class="small-map"'), page.index("</nav>", page.index('<nav class="small-map"'))
    without = page[:start] + page[end:]
    assert len(gzip.compress(page.encode())) - len(gzip.compress(without.encode())) < 1_000


# ---- Shared links


def tags(page: object) -> dict[str, str]:
    return {str(tag.get("name") or tag.get("property")): str(tag["content"]) for tag in page.head("meta", content=True)}


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("placed")
    return folder / "_build" / "html", make_book(folder, {"BOOK_ADDRESS": "https://a.example/name"})


def test_every_page_has_a_description_one_viewport_and_its_title(site: Path, pages: list[str]) -> None:
    from tests.site.test_site import soup

    said = {}
    for name in pages:
        assert len(soup(site / name).select('meta[name="viewport"]')) == 1, name
        if name.startswith("book/"):
            found = tags(soup(site / name))
            assert found["og:title"].endswith("Transformers, tested"), name
            assert "og:image" not in found, name
            assert 20 < len(found["description"]) <= 200, (name, found["description"])
            assert "\\" not in found["description"], name
            said[name] = found["description"]
    others = re.compile(r"/(exercises|questions(-.+)?)\.html$")
    chapters = {name: text for name, text in said.items() if not others.search(name)}
    assert len(set(chapters.values())) == len(chapters)


def test_without_an_address_no_page_claims_one(site: Path, pages: list[str]) -> None:
    from tests.site.test_site import soup

    for name in pages:
        assert not soup(site / name).select('link[rel="canonical"]'), name
        assert "og:url" not in tags(soup(site / name)), name
    assert not (site / "sitemap.xml").exists()
    assert not (site / "robots.txt").exists()


def test_with_an_address_a_shared_link_has_its_picture(placed: tuple[Path, dict]) -> None:
    html, pages = placed
    found = tags(pages["tiny"])
    assert found["og:image"] == "https://a.example/name/_static/img/share.png"
    assert (html / "_static/img/share.png").exists()
    assert found["og:url"] == "https://a.example/name/book/tiny.html"
    assert found["twitter:card"] == "summary_large_image"
    assert [tag["href"] for tag in pages["tiny"].select('link[rel="canonical"]')] == [found["og:url"]]
    assert found["og:title"] == "Tiny – Transformers, tested"
    assert tags(pages["index"])["og:title"] == "Transformers, tested"
    assert tags(pages["index"])["description"] == "A formula x. unknown here"


def test_with_an_address_there_are_a_sitemap_and_robots(placed: tuple[Path, dict]) -> None:
    html, _ = placed
    sitemap = (html / "sitemap.xml").read_text("utf8")
    assert sitemap.count("<loc>") == 2
    assert "<loc>https://a.example/name/book/tiny.html</loc>" in sitemap
    assert "Sitemap: https://a.example/name/sitemap.xml" in (html / "robots.txt").read_text("utf8")
    assert '<base href="/name/"/>' in (html / "404.html").read_text("utf8")


@pytest.mark.browser
@pytest.mark.parametrize("missing", ["book/attention/maskz.html", "maskz.html", "book/a/b/maskz.html"])
def test_the_page_for_a_wrong_address_leads_home_from_any_depth(
    page: object, site: Path, server: str, missing: str
) -> None:
    text = (site / "404.html").read_text("utf8")
    page.route(f"**/{missing}", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(f"{server}/{missing}")
    home = page.eval_on_selector("article p a", "a => a.href")
    assert home == f"{server}/book/index.html"
    assert page.input_value("input[name=q]") == "maskz"
    page.keyboard.press("Tab")
    page.locator("button").click()
    page.wait_for_url(f"{server}/search.html?q=maskz")


def test_on_a_desk_the_front_page_gives_the_map_its_whole_width(page, server):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{server}/book/index.html")
    drawing = page.locator(".book-map svg:visible").first.bounding_box()
    assert drawing["width"] > 600, "the style that makes the front page wide is overruled"
    words = page.locator(".front").bounding_box()
    assert words["x"] + words["width"] <= drawing["x"]
