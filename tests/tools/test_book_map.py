"""The map of a small book: live where a directive or the index of a chapter shows it, and small in the margin."""

import re

import nbformat
import pytest

from companion.book.site.book_map import small_map
from companion.pictures import Canvas, picture
from tests.tools.small import SmallBook, notebook, plain

MAP = """
page: whole/index
picture: two-boxes
parts:
  encoder: {formula: 'a = b \\quad c = d', shapes: {in: [batch, t]}}
  output: {formula: 'p = q', shapes: {in: [batch, t], out: [batch, vocab]}}
places:
  one: {parts: [output], says: The output is here.}
  one/page: {parts: [encoder]}
  whole: {parts: []}
  three: {parts: [output], says: The output again.}
"""


@picture
def two_boxes(wide):
    canvas = Canvas("two-boxes", wide, 160, "Two boxes", "One sees a box. It holds a word.")
    for y, name, page in ((8, "encoder", "one/page"), (88, "output", "whole/index")):
        with canvas.part(name, f"{name.capitalize()}: a box of {name}", page):
            canvas.box(8, y, 80, 40, name)
    return canvas


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    def cell(data):
        output = nbformat.v4.new_output("execute_result", data=data, execution_count=1)
        return nbformat.v4.new_code_cell("two_boxes()", execution_count=1, outputs=[output])

    other = {"text/html": "<b>own</b>", "text/plain": "own"}
    hint = "Point at it.\n\nOr see {doc}`/book/one/page`."
    toctree = "```{toctree}\none/index\none/page\nthree/index\nwhole/index\ntwo/index\n```"
    pages = {
        "book/index.md": f"# Home\n\n{toctree}\n\n```{{transformer-map}}\n{hint}\n```\n",
        "book/one/index.ipynb": notebook("# One\n\nWords before.\n", cell(other)),
        "book/one/page.ipynb": notebook("# Page\n", cell(other)),
        "book/three/index.ipynb": notebook("# Three\n", cell(other)),
        "book/two/index.ipynb": notebook("# Two\n", cell(other)),
        "book/whole/index.ipynb": notebook("# Whole\n", cell(two_boxes()._repr_mimebundle_())),
        "companion/chapters/architecture/map.yml": MAP,
    }
    book = SmallBook(tmp_path_factory.mktemp("book"), ["mathjax", "book_map"], pages)
    assert book.warnings() == []
    return book


def test_the_front_page_has_both_layouts_and_a_note_on_every_part(site):
    page = site.html("index")
    assert len(re.findall(r'<svg [^>]*class="fig fig-(?:wide|narrow)"', page)) == 2
    assert re.findall(r'class="map-note(?!s)[^"]*"(?: data-part="(\w+)")?', page) == ["", "encoder", "output"]
    assert re.findall(r'class="([^"]*map-on-show[^"]*)"', page) == ["map-note map-hint map-on-show"]
    hint = re.search(r"map-hint.*?</div>", page, re.DOTALL)[0]
    assert re.search(r'<p>Point at it.</p>\s*<p>Or see <a [^>]*href="one/page.html"', hint)
    (note,) = re.findall(r'<div[^>]*data-part="output">.*?</div>', page, re.DOTALL)
    assert "Output : a box of output." in plain(note)
    assert "in (batch, t) out (batch, vocab)" in plain(note)
    assert re.search(r'data-tex="p = q"', note)
    assert 'href="whole/index.html"' in note
    assert page.count("mjx-container") >= 3


def test_a_part_is_a_link_with_a_name_and_its_shapes(site):
    page = site.html("index")
    links = re.findall(r'<a href="([^"]*)" aria-label="([^"]*)"><g data-part="(\w+)">', page)
    assert links == [
        ("one/page.html", "Encoder: a box of encoder. Shapes: in (batch, t)", "encoder"),
        ("whole/index.html", "Output: a box of output. Shapes: in (batch, t), out (batch, vocab)", "output"),
    ] * 2  # fmt: skip


def test_the_index_of_a_chapter_opens_with_the_map_and_its_part_is_lit(site):
    page = site.html("one/index")
    assert page.index("Words before") < page.index("book-map map-of") < page.index("<b>own</b>")
    assert "The output is here." in page
    assert page.count('class="fig f-dim fig-narrow"') == 1
    assert re.findall(r'data-part="(\w+)" class="f-lit"', page) == ["output"]
    assert re.findall(r'map-on-show" data-part="(\w+)"', page) == ["output"]
    assert "fig-wide" not in page


@pytest.mark.parametrize(("name", "met"), [("one/index", []), ("three/index", ["encoder"])])
def test_at_the_head_of_a_chapter_a_formula_and_shapes_are_of_parts_that_earlier_pages_explain(site, name, met):
    page = site.html(name)
    notes = dict(re.findall(r'<div class="map-note[^>]*data-part="(\w+)">(.*?)</div>', page, re.DOTALL))
    spoken = dict(re.findall(r'aria-label="([^"]*)"><g data-part="(\w+)"', page))
    assert list(notes) == ["encoder", "output"]
    assert [part for part, note in notes.items() if "mjx-container" in note] == met
    assert [part for part, note in notes.items() if "map-shapes" in note] == met
    assert [part for said, part in spoken.items() if "Shapes" in said] == met
    assert "Output : a box of output." in plain(notes["output"])


def test_the_chapter_of_the_map_has_the_notes_behind_it_and_no_second_map(site):
    page = site.html("whole/index")
    assert page.count('class="fig fig-wide"') == 1
    assert page.index("fig-wide") < page.index('class="map-notes"')
    assert "f-dim" not in page


def test_a_chapter_that_lies_nowhere_and_a_page_have_no_large_map(site):
    assert "book-map" not in site.html("two/index")
    assert "book-map" not in site.html("one/page")
    assert "map.js" not in site.html("two/index")


def test_the_small_map_is_light_and_lights_the_parts_of_a_page():
    drawn = two_boxes()._repr_html_()
    svg = small_map(drawn, {"encoder": "../one/page.html"}, ("output",))
    assert svg.count("<a ") == 1
    assert '<a href="../one/page.html" aria-label="Encoder"><path d="M8 8h80v40h-80z"/></a>' in svg
    assert '<path d="M8 88h80v40h-80z" class="lit"/>' in svg
