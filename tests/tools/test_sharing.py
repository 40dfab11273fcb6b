"""What a shared link shows: descriptions, addresses and the picture. The built tags are in tests/site/test_map.py."""

import struct

import pytest
from docutils import nodes
from sphinx.errors import ConfigError

from companion.book.site import sharing
from companion.book.site.sharing import address, description, spoken
from scripts import share_image


def document(*paragraphs):
    page = nodes.document(None, None)
    section = nodes.section("", nodes.title("", "Title"))
    page += section
    section += paragraphs
    return page


def test_a_description_has_whole_sentences_up_to_its_length():
    long = "A third that is much longer " + "and longer " * 20 + "ends here."
    text = nodes.paragraph("", "The first question? A second answer. " + long)
    assert description(document(text)) == "The first question? A second answer."


def test_a_short_first_paragraph_is_followed_by_the_next():
    first, second = (nodes.paragraph("", text) for text in ("Short.", "And another sentence."))
    assert description(document(first, second)) == "Short. And another sentence."


def test_a_first_sentence_that_is_too_long_ends_at_a_word():
    said = description(document(nodes.paragraph("", "word " * 60 + "end.")))
    assert len(said) <= sharing.LONGEST
    assert said.endswith("word …")


def test_boxes_lists_and_drawings_give_no_description():
    box = nodes.note("", nodes.paragraph("", "Boxed."))
    item = nodes.bullet_list("", nodes.list_item("", nodes.paragraph("", "Listed.")))
    drawn = nodes.paragraph("", "", nodes.raw("", "<svg>", format="html"), nodes.Text("Said."))
    assert description(document(box, item, drawn)) == "Said."
    assert description(document(box, item)) == ""


def test_a_formula_is_read_without_its_signs():
    paragraph = nodes.paragraph("", "", nodes.Text("Divide by "), nodes.math("", r"\sqrt{d_k}"), nodes.Text("."))
    assert description(document(paragraph)) == "Divide by √d_k."
    assert spoken(r"\frac{1}{n} \times d_{\text{model}}") == "1/n × d_model"
    assert spoken(r"Q K^\top") == "Q K^T"


def test_paper_names_the_book_the_chapter_the_page_and_its_address():
    head = '--book-head: "Book · Chapter · A & B";'
    titles = ["Book", "Chapter", "A &amp; <em>B</em>"]
    assert sharing.paper(titles, "") == head
    assert (
        sharing.paper(titles, "https://a.example/c/p.html") == f'{head} --book-address: "https://a.example/c/p.html";'
    )


def test_the_address_is_that_of_the_variable_or_of_the_project_or_none(tmp_path, monkeypatch):
    monkeypatch.delenv("BOOK_ADDRESS", raising=False)
    assert address(tmp_path) == ""
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nHomepage = "https://a.example/book"\n', "utf8")
    assert address(tmp_path) == "https://a.example/book/"
    monkeypatch.setenv("BOOK_ADDRESS", "https://b.example/")
    assert address(tmp_path) == "https://b.example/"


@pytest.mark.parametrize("given", ["a.example/book", "ftp://a.example", "https://", "https://a.example/?x=1"])
def test_what_is_no_address_is_refused(tmp_path, monkeypatch, given):
    monkeypatch.setenv("BOOK_ADDRESS", given)
    with pytest.raises(ConfigError, match=r"begins with https:// and names a host: got .* Correct BOOK_ADDRESS"):
        address(tmp_path)


def test_the_stored_picture_is_drawn_from_the_map_as_it_is():
    png = share_image.OUT.read_bytes()
    chunks = share_image.chunks(png)
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == sharing.IMAGE_SIZE
    assert len(png) < 200_000
    assert chunks[b"tEXt"] == share_image.KEY + share_image.digest(), (
        "the map has changed: run python -m scripts.share_image"
    )


def test_another_drawing_has_another_digest(monkeypatch):
    before = share_image.digest()
    monkeypatch.setattr(share_image, "LINES", ("Other words.",))
    assert share_image.digest() != before
