"""What sources are called: a letter tells those of the same authors and year apart, on the site and on the cards."""

import re
from unittest.mock import create_autospec

import pybtex.plugin
from pybtex.backends.plaintext import Backend
from pybtex.database import parse_string
from sphinx.application import Sphinx

from companion.book.citations import authors, tell_apart
from companion.book.site import citations
from tests.tools.small import SmallBook, plain

SOURCES = r"""
@article{wide, author = {One, A and Two, B and Three, C}, title = {Wide}, journal = {J}, year = {2020}}
@article{deep, author = {One, A and Two, B and Three, C}, title = {Deep}, journal = {J}, year = {2020}}
@article{late, author = {One, A and Two, B and Three, C}, title = {Late}, journal = {J}, year = {2021}}
@article{pair, author = {One, A and Two, B}, title = {Pair}, journal = {J}, year = {2020}}
@misc{none, author = {One, A and Two, B}, title = {None}}
@misc{soon, author = {One, A and Two, B}, title = {Soon}, year = {in press}}
"""
YEARS = {"wide": "2020b", "deep": "2020a", "late": "2021", "pair": "2020", "none": None, "soon": "in press"}


def test_a_letter_follows_the_order_of_the_bibliography_and_is_added_once():
    entries = parse_string(SOURCES, "bibtex").entries
    for _ in range(2):
        tell_apart(entries)
        assert {key: entry.fields.get("year") for key, entry in entries.items()} == YEARS


def test_a_source_that_is_alone_again_loses_its_letter():
    entries = parse_string(SOURCES, "bibtex").entries
    tell_apart(entries)
    del entries["deep"]
    tell_apart(entries)
    assert entries["wide"].fields["year"] == "2020"


def test_more_than_two_authors_are_the_first_and_others():
    entries = parse_string(SOURCES, "bibtex").entries
    assert [authors(entries[key].persons) for key in ("wide", "pair")] == ["One et al.", "One and Two"]


def test_the_site_shows_the_letters_in_the_text_and_in_the_bibliography(tmp_path):
    page = "# Home\n\n{cite:t}`wide`, {cite:p}`deep`, {cite:t}`late`.\n\n```{bibliography}\n```\n"
    book = SmallBook(tmp_path, ["citations"], {"book/index.md": page, "book/references.bib": SOURCES})
    assert book.warnings() == []
    for _ in range(2):  # the second build reads what the first one kept
        words = "".join(plain(book.html("index")).split())
        cited = "Oneetal.[2020b],[Oneetal.,2020a],Oneetal.[2021]."
        assert [part for part in (cited, "Deep.J,2020a.", "Wide.J,2020b.") if part not in words] == []
        book.write("book/index.md", page + "\nMore.\n")
        assert book.warnings() == []


def test_no_citation_looks_through_the_installed_packages(monkeypatch):
    """``sphinxcontrib.bibtex`` asks for the plain text of every citation by this name."""
    citations.setup(create_autospec(Sphinx, instance=True))
    asked, find = [], pybtex.plugin.entry_points
    monkeypatch.setattr(pybtex.plugin, "entry_points", lambda **names: asked.append(names) or find(**names))
    assert pybtex.plugin.find_plugin("pybtex.backends", "plaintext") is Backend
    assert not asked


def test_a_source_links_to_the_pages_that_cite_it_and_has_its_arxiv_number_once(tmp_path):
    source = "@misc{who1999what, author = {Who, A.}, title = {What}, year = {1999}, eprint = {1.2}, "
    source += "archiveprefix = {arXiv}, url = {https://arxiv.org/abs/1.2}}\n"
    texts = {
        "book/index.md": "# Home\n\n```{toctree}\none\nsources\n```\n",
        "book/one.md": "# One\n\n{cite:t}`who1999what` and again {cite:t}`who1999what`.\n",
        "book/sources.md": "# Sources\n\n```{bibliography}\n```\n",
        "book/references.bib": source,
    }
    book = SmallBook(tmp_path, ["citations"], texts)
    assert book.warnings() == []
    html = book.html("sources")
    (line,) = re.findall(r'<p class="cited-in">(.*?)</p>', html, re.DOTALL)
    assert plain(line) == "Cited in One"
    (place,) = re.findall(r'href="one.html#([^"]+)"', line)
    assert f'id="{place}"' in book.html("one")
    assert html.count("https://arxiv.org/abs/1.2") == 1
