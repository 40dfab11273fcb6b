"""What is in the built files: links, hosts, alternative texts, weights. No browser is needed for these."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from companion.book import pages as pages_of_the_book
from companion.book import toc
from companion.book.claims import read_ledger
from tests.mutants import load, stale

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(toc.page(path) for path in (ROOT / "book").rglob("*.ipynb"))
LOADING_RELATIONS = {
    "stylesheet", "preconnect", "dns-prefetch", "preload", "prefetch", "modulepreload", "icon", "apple-touch-icon",
    "manifest", "search",
}  # fmt: skip
LOADING_ATTRIBUTES = {
    "script": ["src"], "img": ["src", "srcset"], "source": ["src", "srcset"], "iframe": ["src"], "embed": ["src"],
    "object": ["data"], "video": ["src", "poster"], "audio": ["src"], "track": ["src"], "form": ["action"],
    "input": ["src"], "use": ["href", "xlink:href"], "image": ["href", "xlink:href"],
}  # fmt: skip
_ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
_IN_CSS = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*["']?\s*((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
_IN_JS = re.compile(
    r"""(?:\b(?:fetch|import)|importScripts|\.open)\s*\(\s*(?:["']GET["']\s*,\s*)?["'`](?:https?:)?//[^"'`]+"""
    r"""|\.(?:src|href)\s*=\s*["'`](?:https?:)?//[^"'`]+"""
)


@cache
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(str(tag["id"]) for tag in soup(path).find_all(id=True))


def addresses_that_load(page: BeautifulSoup) -> Iterator[str]:
    for name, attributes in LOADING_ATTRIBUTES.items():
        for tag in page.find_all(name):
            for attribute in attributes:
                value = str(tag.get(attribute, ""))
                if not value.startswith("data:"):  # the pixels of a heat map, in the page itself
                    yield from (part.split()[0] for part in value.split(",") if part.split())
    for tag in page.find_all("link", href=True):
        if LOADING_RELATIONS & {relation.lower() for relation in tag.get("rel", [])}:
            yield str(tag["href"])
    for tag in page.find_all("meta", attrs={"http-equiv": re.compile("refresh", re.IGNORECASE)}):
        yield str(tag.get("content", "")).partition("=")[2]
    for style in [str(tag["style"]) for tag in page.find_all(style=True)] + [t.get_text() for t in page("style")]:
        yield from _IN_CSS.findall(style)


def test_no_page_loads_anything_from_another_host(site: Path, pages: list[str]) -> None:
    found = {
        f"{name}: {address}"
        for name in [*pages, "index.html"]
        for address in addresses_that_load(soup(site / name))
        if _ELSEWHERE.match(address)
    }
    assert not found


def test_no_style_sheet_loads_anything_from_another_host(site: Path) -> None:
    found = {
        f"{path.relative_to(site)}: {address}"
        for path in site.rglob("*.css")
        for address in _IN_CSS.findall(path.read_text("utf-8"))
    }
    assert not found


def test_no_script_of_a_page_asks_another_host(site: Path, pages: list[str]) -> None:
    files = {
        (site / name).parent / urlsplit(str(tag["src"])).path
        for name in pages
        for tag in soup(site / name).find_all("script", src=True)
    }
    files |= set((site / "_static" / "light").glob("*.js"))
    inline = {f"{name}: {m}" for name in pages for t in soup(site / name)("script") for m in _IN_JS.findall(t.text)}
    found = {f"{path.name}: {match}" for path in files for match in _IN_JS.findall(path.read_text("utf-8"))}
    assert not (found | inline)


def test_every_internal_link_and_anchor_resolves(site: Path, pages: list[str]) -> None:
    dead = []
    for name in [*pages, "index.html"]:
        for tag in soup(site / name).find_all("a", href=True):
            address = urlsplit(str(tag["href"]))
            if address.scheme or address.netloc:
                continue
            target = ((site / name).parent / unquote(address.path)).resolve() if address.path else site / name
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(address.fragment) if target.suffix == ".html" else ""
            if not target.is_file() or (anchor and anchor not in anchors(target)):
                dead.append(f"{name}: {tag['href']}")
    assert not dead


def test_every_file_that_a_page_loads_is_there(site: Path, pages: list[str]) -> None:
    missing = {
        f"{name}: {address}"
        for name in pages
        for address in addresses_that_load(soup(site / name))
        if not _ELSEWHERE.match(address) and not address.startswith(("data:", "#"))
        if not ((site / name).parent / unquote(urlsplit(address).path)).is_file()
    }
    assert not missing


def test_an_id_stands_once_on_a_page(site: Path, pages: list[str]) -> None:
    twice = []
    for name in pages:
        ids = [str(tag["id"]) for tag in soup(site / name).find_all(id=True)]
        twice += [f"{name}: {one}" for one in sorted(set(ids)) if ids.count(one) > 1]
    assert not twice


def no_description(tag: Tag) -> bool:
    alt = str(tag.get("alt", "")).strip()
    is_name = re.search(r"\.(png|svg|jpe?g|gif|webp)$|_images/|^[0-9a-f]{16,}$", alt, re.IGNORECASE)
    return not alt or bool(is_name) or alt == Path(str(tag.get("src", ""))).stem


def test_every_image_has_a_text_that_describes_it(site: Path, pages: list[str]) -> None:
    bare = [f"{name}: {tag.get('src')}" for name in pages for tag in soup(site / name)("img") if no_description(tag)]
    assert not bare


def test_every_page_has_a_language_a_title_and_one_heading(site: Path, pages: list[str]) -> None:
    for name in pages:
        page = soup(site / name)
        assert page.html["lang"] == "en", name
        assert "Transformers, tested" in page.title.text, name
        headings = [tag.get_text() for tag in page.select("article h1, .find-page h1")]
        assert len(headings) == 1, f"{name}: {headings}"


def test_the_root_page_leads_to_the_book(site: Path) -> None:
    assert "book/index.html" in (site / "index.html").read_text("utf-8")


def test_the_icon_is_there_twice(site: Path, pages: list[str]) -> None:
    for name in pages:
        icons = {str(tag["href"]).rsplit("/", 1)[-1] for tag in soup(site / name).select("link[rel~=icon]")}
        assert icons == {"favicon.svg", "favicon-32.png"}, name


def test_every_formula_is_set_and_no_page_loads_a_script_for_it(site: Path, pages: list[str]) -> None:
    glyphs = (site / "_static" / "mathjax" / "mathjax.css").read_text("utf-8")
    fonts = re.findall(r'url\("fonts/([^"]+)"\)', glyphs)
    assert len(fonts) > 10
    assert not [name for name in fonts if not (site / "_static" / "mathjax" / "fonts" / name).is_file()]
    formulas = 0
    for name in pages:
        page = soup(site / name)
        assert not page.select('script[src*="mathjax" i]'), name
        for formula in page.select(".math"):
            formulas += 1
            assert formula["data-tex"].strip(), name
            assert formula.select_one("mjx-container mjx-math[aria-hidden=true]"), (name, formula["data-tex"])
            assert formula.select_one("mjx-assistive-mml math"), (name, formula["data-tex"])  # for a screen reader
            used = {c for glyph in formula.select("mjx-c") for c in glyph.get("class", []) if c.startswith("mjx-c")}
            missing = [c for c in used if f"mjx-c.{c}" not in glyphs]
            assert not missing, (name, formula["data-tex"], missing)
    assert formulas > 5_000


def test_no_page_loads_the_icon_script(site: Path, pages: list[str]) -> None:
    assert not [name for name in pages if soup(site / name).select('script[src*="fontawesome"]')]


def test_no_page_uses_a_slider_that_needs_a_kernel(site: Path, pages: list[str]) -> None:
    for name in pages:
        text = (site / name).read_text("utf-8")
        assert "require.min.js" not in text, name
        assert "vnd.jupyter.widget-view" not in text, name


def test_every_chapter_in_the_table_of_contents_is_a_page(site: Path) -> None:
    files = toc.files()
    assert all((ROOT / file).is_file() for file in files)
    assert all((site / file).with_suffix(".html").is_file() for file in files)
    assert sorted(toc.page(file) for file in files if file.endswith(".ipynb")) == CHAPTERS


@pytest.mark.parametrize("chapter", pages_of_the_book.indexed())
def test_the_page_of_a_whole_chapter_holds_the_pages_that_are_read(site: Path, chapter: str) -> None:
    page = soup(site / "book" / chapter / "whole-chapter.html")
    names = pages_of_the_book.chapter_pages(chapter)
    read = [
        toc.page(name).partition("/")[2] for name in names if pages_of_the_book.kind(name) in pages_of_the_book.READ
    ]
    assert [part["id"] for part in page.select(".chapter-part")] == read
    ids = {element["id"] for element in page.select("[id]")}
    named = re.findall(r' (?:for|aria-(?:controls|describedby|labelledby))="([^"]*)"', str(page.article))
    assert set(" ".join(named).split()) <= ids
    assert set(re.findall(r"url\(#([^)]*)\)", str(page.article))) <= ids


def test_a_chapter_offers_its_notebook(site: Path) -> None:
    for name in CHAPTERS:
        page = site / "book" / f"{name}.html"
        link = soup(page).select_one(".dropdown-download-buttons a.btn-download-source-button")
        notebook = json.loads((page.parent / str(link["href"])).read_text("utf-8"))
        assert notebook["nbformat"] == 4
        assert link.get_text(strip=True) == ".ipynb"


def test_the_landing_page_counts_from_the_ledger(site: Path) -> None:
    ledger = read_ledger()
    text = " ".join(soup(site / "book" / "index.html").article.get_text().split())
    assert f"{ledger.total} claims that can be checked" in text
    assert f"{sum(not claim.dropped for claim in ledger.claims)} of them are settled here" in text


def test_a_preview_of_a_claim_says_its_verdict(site: Path) -> None:
    verdicts = {f"claim-{claim.id}": claim.verdict.replace("-", " ") for claim in read_ledger().claims}
    seen = set()
    for path in (site / "_static" / "previews").rglob("*.js"):
        for address, html in json.loads(path.read_text("utf8").partition(" = ")[2].rstrip(";\n")).items():
            name = address.partition("#")[2]
            if name in verdicts:
                assert re.search(rf": {verdicts[name]}</strong>", html), (path, address)
                seen.add(name)
    assert len(seen) > 100


def zipped(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 6))


def weigh(site: Path, name: str) -> tuple[int, int, int]:
    """Return the gzipped bytes of a page: its own, the theme's, and the style sheet of its formulas."""
    page = site / name
    loaded = {page, *((page.parent / urlsplit(a).path).resolve() for a in addresses_that_load(soup(page)))}
    files = {path for path in loaded if path.is_file() and "favicon" not in path.name and path.name != "search.html"}
    parts = {"mathjax": 0, "own": 0, "theme": 0}
    for path in files:
        inside = path.resolve().relative_to(site.resolve()).as_posix()
        own = path == page or inside.startswith(("_images/", "_static/light/", "_static/css/", "_static/js/"))
        part = "mathjax" if "/mathjax/" in inside else "own" if own else "theme"
        parts[part] += zipped(path)
    return parts["own"], parts["theme"], parts["mathjax"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_weighs_less_than_250_kb(site: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    own, theme, mathjax = (size / 1000 for size in weigh(site, f"book/{name}.html"))
    with capsys.disabled():
        print(f"\n{name}: {own:.0f} kB of its own, theme {theme:.0f} kB, glyphs {mathjax:.0f} kB (gzipped) ", end="")
    assert own < 250
    assert theme < 80  # it was 980 kB with FontAwesome's script, and 127 kB with all the rules of the theme
    assert mathjax < 8  # the script that set formulas in the browser was 270 kB


def test_no_page_is_heavier_than_a_chapter_may_be(site: Path, pages: list[str]) -> None:
    assert not [name for name in pages if weigh(site, name)[0] > 250_000]


@pytest.fixture(scope="session")
def words_on() -> Callable[[Path], str]:
    """The text of a page."""
    return lambda path: " ".join(soup(path).article.get_text().split())


def test_no_exercise_pretends_a_judge(site: Path, words_on: Callable[[Path], str]) -> None:
    found = {path: words_on(path) for path in site.glob("book/*/exercises.html")}
    found |= {path: words_on(path) for path in site.glob("book/interview/task-*.html")}
    assert len(found) > 20
    assert all("To have your code checked, " in words for words in found.values())
    assert not [path for path, words in found.items() if "not answered yet. hint" in words or "Not kept: keep" in words]


def test_no_page_names_what_a_reader_cannot_open(site: Path, pages: list[str], words_on: Callable[[Path], str]) -> None:
    private = re.compile(r"/root/|/tmp/|/home/\w+/")
    assert not [name for name in pages if name.startswith("book/") and private.search(words_on(site / name))]


def test_an_open_fold_says_what_it_hides(site: Path, pages: list[str]) -> None:
    bars = {
        tuple(bar.get_text() for bar in fold.select("summary > p"))
        for name in pages
        for fold in soup(site / name).select("details.hide")
    }
    assert {("Show the code", "Hide the code"), ("Show a solution", "Hide the solution")} < bars
    assert [bar for bar in bars if "Hide the code" in bar] == [("Show the code", "Hide the code")]
    named = [bar for bar in bars if not bar[0].startswith("Show ")]
    assert named
    assert all(shown == hidden for shown, hidden in named)


@pytest.mark.usefixtures("site")
def test_every_planted_fault_of_a_built_file_fits_it() -> None:
    planted = [mutant for mutant in load() if mutant.built]
    assert len(planted) > 100
    assert [message for mutant in planted for message in stale(mutant, ROOT)] == []
