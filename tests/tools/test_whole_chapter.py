"""A chapter on one page: its pages in order, with ids of their own and links that stay."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from companion.book.site.whole_chapter import moved
from tests.tools.small import SmallBook, notebook

BOTH = {"scale", "masks"}
PAGES = {
    "book/index.md": "# Home\n\n```{toctree}\none/index\n```\n",
    "book/one/index.ipynb": notebook(
        "# One\n\n```{toctree}\nscale\nmasks\nquestions\n```\n\n:::{chapter-pages}\n:::\n"
    ),
    "book/one/questions.ipynb": notebook("# Questions"),
    "book/one/scale.ipynb": notebook(
        "# Scale\n\n[There](#rows), {doc}`/book/one/masks`, {doc}`/book/one/questions`.\n\n## Of"
    ),
    "book/one/masks.ipynb": notebook("# Masks\n\nSee [the rows](#rows).\n\n(rows)=\n## Rows\n\n(of)=\n## Of"),
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<label for="x">', '<label for="scale--x">'),
        ('<p aria-describedby="x y">', '<p aria-describedby="scale--x scale--y">'),
        ('<input name="x" id="x">', '<input name="scale--x" id="scale--x">'),
        ('<a href="#">', '<a href="#scale">'),
        ('<a href="masks.html">', '<a href="#masks">'),
        ('<a href="masks.html#x">', '<a href="#masks--x">'),
        ('<a href="index.html#x">', '<a href="index.html#x">'),
        ('<a href="../masks.html#x">', '<a href="../masks.html#x">'),
        ('<a href="https://x.org/#x">', '<a href="https://x.org/#x">'),
        ('<a href="">', '<a href="">'),
        ('<path fill="url(#x)" style="mask: url(#y)">', '<path fill="url(#scale--x)" style="mask: url(#scale--y)">'),
        ('<use xlink:href="#x">', '<use xlink:href="#scale--x">'),
        ('<div data-model="x">', '<div data-model="scale--x">'),
        ('id="x" url(#x) href="#x"', 'id="x" url(#x) href="#x"'),
        ('<script>"<b id=\\"x\\">"</script>', '<script>"<b id=\\"x\\">"</script>'),
    ],
)
def test_what_names_a_place_of_the_page_has_its_name_in_front(before, after):
    assert moved(before, "scale", BOTH) == after


def test_the_pages_that_are_read_lie_on_one_in_their_order(tmp_path):
    book = SmallBook(tmp_path, ["chapter_pages", "whole_chapter"], PAGES)
    assert book.warnings() == []
    whole = BeautifulSoup(book.html("one/whole-chapter"), "html.parser")
    assert whole.title.get_text().startswith("One, the whole chapter")
    assert [part["id"] for part in whole.select(".chapter-part")] == ["index", "scale", "masks"]
    headings = [(heading.name, heading.find(string=True)) for heading in whole.select(".chapter-part :is(h1, h2, h3)")]
    assert headings == [("h1", "One"), ("h2", "Scale"), ("h3", "Of"), ("h2", "Masks"), ("h3", "Rows"), ("h3", "Of")]
    links = {link.get_text(): link["href"] for link in whole.select(".chapter-part#scale p a")}
    assert links == {"There": "#masks--rows", "Masks": "#masks", "Questions": "questions.html"}
    assert whole.select_one('meta[name="robots"]')["content"] == "noindex"


def test_a_build_of_one_page_leaves_the_whole_chapter_whole(tmp_path):
    book = SmallBook(tmp_path, ["chapter_pages", "whole_chapter"], PAGES)
    assert book.warnings() == []
    before = book.html("one/whole-chapter")
    book.write("book/one/masks.ipynb", notebook("# Masks\n\nNew.\n\n(rows)=\n## Rows\n\n(of)=\n## Of"))
    assert book.warnings() == []
    assert "New." in book.html("one/masks")
    assert book.html("one/whole-chapter") == before


def test_a_term_shows_on_the_page_of_a_whole_chapter_what_it_shows_on_its_own(tmp_path):
    folder = tmp_path / "_build" / "html" / "_static" / "previews" / "book" / "one"
    terms = "# Terms\n\n```{glossary}\nmask\n  What hides.\n```\n"
    texts = {"book/one/masks.ipynb": notebook("# Masks\n\nA {term}`mask`."), "book/terms.md": terms}
    SmallBook(tmp_path, ["chapter_pages", "previews", "whole_chapter"], PAGES | texts).warnings()
    own, whole = (
        json.loads((folder / f"{name}.js").read_text("utf8").partition(" = ")[2].rstrip(";\n"))
        for name in ("masks", "whole-chapter")
    )
    assert any("What hides" in html for html in own.values())
    assert own.items() <= whole.items()


def test_a_book_without_chapters_has_no_such_page(tmp_path):
    book = SmallBook(
        tmp_path,
        ["whole_chapter"],
        {"book/index.md": "# Home\n\n```{toctree}\nterms\n```\n", "book/terms.md": "# Terms\n"},
    )
    assert book.warnings() == []
    assert list(Path(tmp_path).rglob("whole-chapter.html")) == []
