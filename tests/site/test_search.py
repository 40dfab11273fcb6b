"""The search: what it finds, what a reader sees and does, and what it loads, from a server and from a folder."""

import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from companion.book.questions import read_questions
from companion.book.site import lean_styles, search_file
from tests.site.accessibility import axe_faults
from tests.site.browser import tab_to

ROOT = Path(__file__).resolve().parents[2]
QUERIES = yaml.safe_load(Path(__file__).with_name("queries.yml").read_text("utf8"))
PAGE = "book/attention/masks.html"
LIBRARY = "03c27931eb603af1d3358579e9885eafdb6a2f5fa9929557b3e77d7e99d06d03"  # dist/umd/index.js of MiniSearch 7.2.0
SEARCH_FILES = ("js/search.js", "css/search.css", "js/vendor/minisearch.js", "js/search-engine.js", "search-data.js")


@pytest.fixture(scope="module")
def data(site: Path) -> dict:
    """What the build wrote for the search."""
    text = (site / "_static" / "search-data.js").read_text("utf8")
    return json.loads(text.removeprefix("window.bookSearchData = ").removesuffix(";\n"))


def places(data: dict) -> Iterator[tuple[str, str, str, str, str]]:
    """Kind, address, title, other names and text of each place, with its follow-ups."""
    for kind, page, given, title, terms, text, asks in zip(*data["columns"].values(), strict=True):
        anchor = search_file.anchor_of(data["kinds"][kind], title) if given == 1 else given
        address = data["pages"][page][0]
        names = ", ".join(data["terms"][number] for number in terms)
        yield data["kinds"][kind], f"{address}#{anchor}" if anchor else address, title, names, " ".join([text, *asks])


def test_the_library_is_the_one_that_its_authors_distribute() -> None:
    file = ROOT / "book" / "assets" / "js" / "vendor" / "minisearch.js"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == LIBRARY
    notice = (ROOT / "NOTICE").read_text("utf8")
    assert "MiniSearch 7.2.0" in notice
    assert LIBRARY in notice


def test_every_place_has_a_title_and_an_address_that_is_there(site: Path, data: dict) -> None:
    ids = {
        path.relative_to(site).as_posix(): set(re.findall(r'\bid="([^"]+)"', path.read_text("utf8")))
        for folder in ("book", "source")
        for path in (site / folder).rglob("*.html")
    }
    wrong = []
    for _, address, title, _, _ in places(data):
        page, _, anchor = address.partition("#")
        if not title or page not in ids or (anchor and anchor not in ids[page]):
            wrong.append((address, title))
    assert not wrong
    addresses = [address for _, address, *_ in places(data)]
    assert len(set(addresses)) == len(addresses)


def test_all_kinds_of_places_are_found(site: Path, data: dict) -> None:
    count = Counter(kind for kind, *_ in places(data))
    assert list(count.keys() ^ set(data["kinds"])) == []
    glossary = (site / "book" / "glossary.html").read_text("utf8")
    defined = len(re.findall(r"<dd>", glossary))
    assert defined < count["term"] < defined + len(data["terms"]), "what the glossary has stands there alone"
    pages = [path.read_text("utf8") for path in (site / "book").rglob("*.html")]
    assert count["question"] == sum(len(re.findall(r'<details class="interview-question', page)) for page in pages)
    assert min(count.values()) > 50
    assert count["section"] > 800


def test_the_follow_ups_of_all_questions_are_found(data: dict) -> None:
    questions = [one for path in ROOT.glob("book/*/questions*.md") for one in read_questions(path)]
    asks = data["columns"]["asks"]
    assert sum(map(len, asks)) == sum(len(one.follow_ups) for one in questions)
    assert {kind for kind, own in zip(data["columns"]["kind"], asks, strict=True) if own} == {
        data["kinds"].index("question")
    }


def test_no_result_shows_raw_latex(data: dict) -> None:
    tex = re.compile(r"\\[a-zA-Z]+|\\\\|\$[^$]+\$|[_^]\{|\\[()\[\]]")
    code = (
        "flash-cards.html#bring-them",
        "questions.html#q-digit-groups",
        "#exr-tokenizer-train",
    )  # with such signs as code
    found = [(address, one) for _, address, *texts in places(data) for one in texts if tex.search(one)]
    assert not [(address, one) for address, one in found if not any(name in address for name in code)]
    everything = " ".join(text for *_, text in places(data))
    assert everything.count("√d_k") > 10
    assert "QKᵀ" in everything


def test_the_search_weighs_little(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {name: len(gzip.compress((site / "_static" / name).read_bytes(), 9)) / 1000 for name in SEARCH_FILES}
    with capsys.disabled():
        print("\n" + ", ".join(f"{name} {size:.0f} kB" for name, size in sizes.items()) + " (gzipped) ", end="")
    assert sum(sizes.values()) < 350


def test_nothing_of_sphinxs_search_is_left(site: Path, pages: list[str]) -> None:
    for name in ("searchindex.js", *(f"_static/{name}" for name in lean_styles.UNUSED)):
        assert not (site / name).exists(), name
    for name in pages:
        assert "searchindex.js" not in (site / name).read_text("utf8"), name


def titles(page: object) -> list[str]:
    return page.eval_on_selector_all(".find-option .find-title", "all => all.map((one) => one.textContent)")


def open_search(page: object) -> None:
    page.keyboard.press("Control+K")
    page.wait_for_selector(".find-dialog[open]")


@pytest.fixture
def find(page: object, server: str):
    """The search opened on a page; types a query and waits for its results."""
    page.goto(f"{server}/{PAGE}")
    open_search(page)

    def ask(query: str) -> list[str]:
        page.fill(".find-dialog .find-input", query)
        page.wait_for_function("() => document.querySelector('.find-dialog .find-said').textContent !== ''")
        return titles(page)

    return ask


@pytest.mark.browser
def test_each_query_finds_its_place(page: object, server: str, find: object) -> None:
    find("softmax")
    queries = {query: wanted for group in QUERIES.values() for query, wanted in group.items()}
    assert len(queries) == 141
    found = page.evaluate(
        """(queries) => {
          const engine = searchEngine.make(bookSearchData, MiniSearch);
          return queries.map((query) => engine.search(query).results.slice(0, 3).map(
            ({ kind, title, address }) => (kind === "reference" ? `references#${title}` : address)));
        }""",
        list(queries),
    )
    wrong = {}
    for (query, wanted), addresses in zip(queries.items(), found, strict=True):
        short = [one.removeprefix("book/").replace(".html", "") for one in addresses]
        fits = [re.compile(re.escape(one).replace(r"\*", ".*")) for one in wanted]
        if not any(fit.fullmatch(one) for fit in fits for one in short):
            wrong[query] = short
    assert not wrong


@pytest.mark.browser
def test_nothing_is_loaded_before_it_is_opened(page: object, watch: object, server: str, settle: object) -> None:
    page.goto(f"{server}/{PAGE}")
    settle(page)
    assert not [url for url in watch.loaded if "search" in url]
    open_search(page)
    page.keyboard.type("softmax")
    page.wait_for_selector(".find-option")
    loaded = [url.partition("/_static/")[2] for url in watch.loaded if "search" in url]
    assert sorted(loaded) == sorted(SEARCH_FILES)
    page.keyboard.press("Escape")
    open_search(page)
    page.wait_for_selector(".find-option")
    assert len([url for url in watch.loaded if "search" in url]) == len(SEARCH_FILES)


@pytest.mark.browser
@pytest.mark.parametrize("place", ["server", "folder"])
def test_the_keyboard_alone_leads_to_a_place(page: object, site: Path, server: str, place: str) -> None:
    page.goto(f"{server if place == 'server' else site.as_uri()}/book/index.html")
    open_search(page)
    page.keyboard.type("causl mask")
    page.wait_for_selector(".find-option[aria-selected=true]")
    field = page.locator(".find-input")
    assert field.get_attribute("role") == "combobox"
    assert field.get_attribute("aria-expanded") == "true"
    first = field.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")
    second = field.get_attribute("aria-activedescendant")
    assert second != first
    assert page.get_attribute(f"#{second}", "aria-selected") == "true"
    assert page.locator(".find-option[aria-selected=true]").count() == 1
    page.keyboard.press("ArrowUp")
    assert field.get_attribute("aria-activedescendant") == first
    assert "“causal” instead of “causl”" in page.text_content(".find-said")
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/attention/masks.html#the-causal-mask")
    top = page.eval_on_selector("#the-causal-mask", "place => place.getBoundingClientRect().top")
    assert -5 < top < 300


@pytest.mark.browser
def test_words_are_marked_in_title_and_text(page: object, find: object) -> None:
    find("causal mask")
    first = page.locator(".find-option", has=page.locator(".find-kind", has_text="Section")).first
    assert [word.lower() for word in first.locator(".find-title mark").all_text_contents()] == ["causal", "mask"]
    assert "mask" in " ".join(first.locator(".find-text mark").all_text_contents()).lower()
    assert first.locator(".find-where").text_content() == "Attention › Masks"


@pytest.mark.browser
def test_a_class_of_the_package_is_found_by_its_name_and_leads_to_its_line(page: object, find: object) -> None:
    assert "MultiHeadAttention" in find("source code multi-head attention")[:3]
    assert find("MultiHeadAttention")[1] == "MultiHeadAttention"
    option = page.locator(".find-option", has=page.locator(".find-kind", has_text="Source")).first
    assert option.locator(".find-where").text_content() == "companion/multihead/layer.py"
    option.click()
    page.wait_for_url("**/source/companion/multihead/layer.html#line-*")
    line = page.locator(f"[id='{page.url.partition('#')[2]}']")
    assert line.text_content().strip().startswith("class MultiHeadAttention")


@pytest.mark.browser
def test_a_power_is_raised_in_a_result(page: object, find: object) -> None:
    find("multi-head attention")
    text = page.locator(".find-option", has=page.locator(".find-kind", has_text="Term")).first.locator(".find-text")
    assert text.locator("sup").first.text_content() == "O"
    assert "^" not in text.text_content()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "place", "wanted"),
    [
        ("scaled dot-product d_k", "formulas.html#formula-attention", "√d<sub>k</sub>)V · "),
        (
            "scaled_dot_product_attention",
            "glossary.html#term-scaled-dot-product-attention",
            "scaled_dot_product_attention",
        ),
        ("stable softmax", "formulas.html#formula-softmax-stable", "e<sup>s<sub>j</sub> − m</sup>"),
    ],
)
def test_a_formula_is_set_in_a_result_and_a_name_of_code_is_not(
    page: object, find: object, query: str, place: str, wanted: str
) -> None:
    find(query)
    option = page.locator(f".find-option[href*='{place}']").first
    assert wanted in re.sub("</?mark>", "", option.inner_html())


@pytest.mark.browser
def test_results_follow_the_typing(page: object, find: object) -> None:
    assert any("softmax" in title.lower() for title in find("softm"))
    assert find("softmax temperature")[0] != find("rotary")[0]


@pytest.mark.browser
def test_it_says_how_many_places_there_are(page: object, find: object) -> None:
    assert len(find("attention")) == 30
    best, count = re.fullmatch(r"the best (\d+) of (\d+) places", page.text_content(".find-said")).groups()
    assert int(best) == 30 < int(count)
    few = find("hadamard")
    assert 1 < len(few) < 30
    assert page.text_content(".find-said") == f"{len(few)} places"


@pytest.mark.browser
@pytest.mark.parametrize("place", ["dialog", "page"])
def test_all_places_are_shown_by_the_keyboard_alone(page: object, server: str, place: str) -> None:
    page.goto(f"{server}/{PAGE if place == 'dialog' else 'search.html'}")
    if place == "dialog":
        open_search(page)
    page.keyboard.type("RoPE")
    page.wait_for_selector(".find-more:not([hidden])")
    count = int(re.fullmatch(r"Show all (\d+) places", page.text_content(".find-more"))[1])
    assert page.locator(".find-option").count() == 30 < count
    tab_to(page, ".find-more")
    page.keyboard.press("Enter")
    page.wait_for_function("count => document.querySelectorAll('.find-option').length === count", arg=count)
    assert page.text_content(".find-said") == f"{count} places"
    assert page.locator(".find-more").is_hidden()
    assert page.evaluate("document.activeElement.matches('.find-input')")
    assert page.get_attribute(".find-input", "aria-activedescendant") == "find-30", "the first of the others"
    assert page.locator("#find-30").get_attribute("aria-selected") == "true"
    tops = [page.locator(one).bounding_box()["y"] for one in (".find-list", "#find-30")]
    assert -1 <= tops[1] - max(tops[0], 0) <= 100, "the first of the others stands at the top"
    page.keyboard.type(" base")
    page.wait_for_function("() => document.querySelectorAll('.find-option').length <= 30")


@pytest.mark.browser
def test_places_of_one_kind_are_shown_alone(page: object, find: object) -> None:
    find("RoPE")
    total = int(re.search(r"of (\d+) places", page.text_content(".find-said"))[1])
    chips = page.locator(".find-kinds button:visible")
    numbers = [int(words.split()[-1]) for words in chips.all_text_contents()]
    assert numbers[0] == total == sum(numbers[1:])
    for kind in ("Question", "Exercise", "Term", "Reference"):
        name = f"{kind}s"
        chip = page.locator(f".find-kinds button[data-name={name}]")
        chip.click()
        assert chip.get_attribute("aria-pressed") == "true"
        assert page.evaluate("document.activeElement.matches('.find-input')"), "one types on"
        page.wait_for_function(
            "kind => [...document.querySelectorAll('.find-kind')].every((one) => one.textContent === kind)", arg=kind
        )
        number = int(chip.text_content().split()[-1])
        assert page.text_content(".find-said") == ("1 place" if number == 1 else f"{number} places")
        assert page.locator(".find-option").count() == number
    page.fill(".find-input", "RoPE license")
    page.wait_for_function("() => document.querySelector('.find-said').textContent.startsWith('No place of this kind')")
    assert page.locator(".find-kinds button:visible").first.text_content() != "All 0"
    page.locator(".find-kinds button[data-name=All]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".find-option")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.matches('.find-input')"), "and the arrows go on in the list"
    page.locator(".find-kinds button[data-name=Terms]").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.wait_for_selector(".find-kinds button[data-name=All][aria-pressed=true]")
    assert page.input_value(".find-input") == "RoPE license"
    page.locator(".find-kinds button[data-name=Terms]").click()
    page.fill(".find-input", "license")
    page.wait_for_selector(".find-kinds button[data-name=All][aria-pressed=true]")


@pytest.mark.browser
def test_escape_closes_and_gives_the_focus_back(page: object, server: str) -> None:
    page.goto(f"{server}/{PAGE}")
    page.focus(".bd-sidebar-primary .search-button__button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".find-dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector(".find-dialog:not([open])", state="attached")
    assert page.evaluate("document.activeElement.matches('.bd-sidebar-primary .search-button__button')")


@pytest.mark.browser
def test_who_comes_back_from_a_result_asks_on(page: object, find: object, settle: object) -> None:
    titles_before = find("grouped-query attention")
    page.locator(".find-option").first.click()
    page.wait_for_function(f"() => !location.pathname.endsWith('{PAGE}')")
    page.go_back()
    settle(page)
    open_search(page)
    page.wait_for_selector(".find-dialog .find-option")
    assert page.input_value(".find-dialog .find-input") == "grouped-query attention"
    assert titles(page) == titles_before
    page.keyboard.type("RoPE")  # what was asked is selected, so that typing asks anew
    assert page.input_value(".find-dialog .find-input") == "RoPE"


def test_what_is_not_there_is_said_and_starts_are_offered(page: object, find: object) -> None:
    assert find("xqzzyv") == []
    assert "Nothing found" in page.text_content(".find-said")
    assert page.get_attribute(".find-input", "aria-expanded") == "false"
    page.click(".find-starts button >> text=RoPE")
    page.wait_for_selector(".find-option")
    assert page.input_value(".find-dialog .find-input") == "RoPE"


@pytest.mark.browser
def test_a_question_that_is_found_is_open(page: object, find: object) -> None:
    find("how should one understand attention")
    page.wait_for_selector(".find-option[href$='#q-what-is-attention']")
    page.click(".find-option[href$='#q-what-is-attention']")
    page.wait_for_url("**/attention/questions.html#q-what-is-attention")
    page.wait_for_load_state("load")
    assert page.eval_on_selector("#q-what-is-attention", "question => question.open")


@pytest.mark.browser
def test_the_page_of_the_search_shows_the_same(page: object, site: Path) -> None:
    page.goto(f"{site.as_uri()}/search.html?q=softmx")
    page.wait_for_selector(".find-page .find-option")
    assert page.input_value(".find-page .find-input") == "softmx"
    assert "softmax" in titles(page)[0].lower()
    page.fill(".find-page .find-input", "rope")
    page.wait_for_function("() => location.search === '?q=rope'")
    page.keyboard.press("Control+K")
    assert page.evaluate("document.activeElement.matches('.find-page .find-input')")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("query", ["", "causal mask", "xqzzyv"])
def test_the_dialog_is_accessible_and_fits(contexts: object, server: str, theme: str, width: int, query: str) -> None:
    tab = contexts(theme)[0].new_page()
    tab.set_viewport_size({"width": width, "height": 844})
    tab.goto(f"{server}/{PAGE}")
    open_search(tab)
    tab.keyboard.type(query)
    if query:
        tab.wait_for_function("() => document.querySelector('.find-said').textContent !== ''")
    wide = tab.eval_on_selector(".find-box", "box => box.scrollWidth - box.clientWidth")
    faults = axe_faults(tab)
    tab.close()
    assert wide <= 0
    assert faults == []


@pytest.mark.browser
def test_a_place_that_a_link_led_to_is_marked_for_a_moment(page: object, server: str) -> None:
    page.goto(f"{server}/{PAGE}#the-causal-mask")
    look = """() => {
      const style = getComputedStyle(document.querySelector("#the-causal-mask > h2"));
      return [style.backgroundColor, style.animationName];
    }"""
    assert page.evaluate(look) == ["rgba(0, 0, 0, 0)", "here"]


@pytest.mark.browser
def test_a_focused_field_does_not_look_wrong(page: object, server: str) -> None:
    page.goto(f"{server}/{PAGE}")
    colours = page.evaluate(
        """() => {
          const style = getComputedStyle(document.documentElement);
          return ["--book-focus", "--book-link", "--book-accent"].map((name) => style.getPropertyValue(name));
        }"""
    )
    assert colours[0] == colours[1] != colours[2]
    tab_to(page, ".bd-sidebar-primary .navbar-brand")
    ring = "getComputedStyle(document.activeElement).outlineColor === 'rgb(10, 92, 143)'"
    page.wait_for_function(ring)  # the colour may come by a transition


@pytest.mark.browser
@pytest.mark.parametrize("place", [PAGE, "search.html"])
def test_no_single_key_is_a_shortcut(page: object, server: str, place: str) -> None:
    page.goto(f"{server}/{place}")
    page.wait_for_load_state("load")
    taken = """() => {
      document.activeElement.blur();
      const keys = [..."/?abcdefghijklmnopqrstuvwxyz0123456789"];
      const press = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      return keys.filter((key) => !document.body.dispatchEvent(press(key)));
    }"""
    assert page.evaluate(taken) == [], "who speaks to the computer, or types where there is no field, would set it off"
