"""How a small book is cited, kept and corrected."""

import re
import zipfile

import pytest
import yaml

from companion.book.site.keep import bibtex
from tests.tools.small import ROOT, SmallBook, plain

CITATION = """
title: A small book
version: 1.2.3
authors: [{name: The authors of it}, {family-names: Who, given-names: Ada}]
date-released: 2031-05-04
"""
PAGE = """# Home

```{toctree}
one/index
```

```{cite-the-book}
```

Take {whole-site}`all of it`, take {project}`what it is made from`, or {report-error}`report it`.
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    texts = {"CITATION.cff": CITATION, "book/index.md": PAGE, "book/one/index.md": "# One\n"}
    made = SmallBook(tmp_path_factory.mktemp("book"), ["keep"], texts)
    assert made.warnings() == []
    return made


def test_the_page_shows_the_entry_made_from_the_file(book):
    lines = [
        "@misc{a-small-book,",
        "title = {{A small book}},",
        "author = {{The authors of it} and Who, Ada},",
        "year = {2031},",
        "note = {Version 1.2.3},",
        "}",
    ]
    assert " ".join(lines) in plain(re.sub(r"</?span[^>]*>", "", book.html("index")))


def test_a_book_without_a_date_has_the_year_of_its_copyright_and_the_address_that_is_known():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    entry = bibtex(citation, "2026", "https://a.example/")
    assert "  year = {2026},\n" in entry
    assert "  url = {https://a.example/},\n" in entry
    assert "url" not in bibtex(citation, "2026")
    assert "https://own.example" in bibtex({**citation, "url": "https://own.example"}, "2026", "https://a.example/")


def test_the_packed_site_has_every_file_once_and_no_dead_link_to_itself(book):
    html = book.folder / "_build" / "html"
    project, archive = sorted(html.glob("*.zip"))
    assert re.search(rf'<a class="[^"]*whole-site[^"]*" href="\.\./{archive.name}">all of it</a>', book.html("index"))
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
        files = [path.relative_to(html).as_posix() for path in html.rglob("*") if path.is_file()]
        left_out = {".buildinfo", archive.name, project.name}
        assert sorted(names) == sorted(f"{archive.stem}/{name}" for name in files if name not in left_out)
        front = packed.read(f"{archive.stem}/book/index.html").decode("utf8")
        other = packed.read(f"{archive.stem}/book/one/index.html").decode("utf8")
    assert "Take all of it, take what it is made from, or report it." in plain(front)
    assert "whole-site" not in front
    assert other == book.html("one/index")


def test_the_project_is_packed_without_what_is_built_or_ignored(book):
    book.write(".gitignore", "__pycache__/\n*.egg-info/\n")
    for name in ("book/__pycache__/one.pyc", "own.egg-info/two", ".git/three"):
        (book.folder / name).parent.mkdir(parents=True, exist_ok=True)
        book.write(name, "generated")
    script = book.folder / "start.sh"
    script.write_text("#!/bin/sh\n", "utf8")
    script.chmod(0o755)
    assert book.build("-E") == (0, "")
    project, _ = sorted((book.folder / "_build" / "html").glob("*.zip"))
    assert re.search(rf'href="\.\./{project.name}">what it is made from</a>', book.html("index"))
    with zipfile.ZipFile(project) as packed:
        names = {name.removeprefix(f"{project.stem}/") for name in packed.namelist()}
        assert {"CITATION.cff", "book/index.md", "book/one/index.md", ".gitignore", "start.sh"} <= names
        assert not [name for name in names if re.search(r"_build|pycache|egg-info|\.git/|\.zip$", name)]
        assert packed.getinfo(f"{project.stem}/start.sh").external_attr >> 16 & 0o111


def test_the_same_site_gives_the_same_bytes(book):
    archives = sorted((book.folder / "_build" / "html").glob("*.zip"))
    before = [archive.read_bytes() for archive in archives]
    assert len(before) == 2
    assert book.warnings() == []
    assert [archive.read_bytes() for archive in archives] == before


def test_errors_are_reported_where_the_repository_is_known(book, monkeypatch):
    assert "issues" not in book.html("index")
    monkeypatch.setenv("BOOK_REPOSITORY", "someone/some-book")
    assert book.build("-E") == (0, "")
    page = book.html("index")
    assert 'href="https://github.com/someone/some-book/issues">report it</a>' in page
    assert "url = {https://github.com/someone/some-book}" in plain(re.sub(r"</?span[^>]*>", "", page))
