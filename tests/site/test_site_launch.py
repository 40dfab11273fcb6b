"""A tiny book, built with this project's settings: its launch buttons, and what it loads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from sphinx.errors import ConfigError

from companion.book.site import launch

ROOT = Path(__file__).resolve().parents[2]
PROJECT = '[project]\nname = "x"\n'
INDEX = (
    "# Book\n\nA formula $x$.\n\n:::{only} repository\nknown here\n:::\n\n:::{only} not repository\nunknown here\n:::\n"
)


def make_book(folder: Path, variables: dict[str, str], project: str = PROJECT) -> dict[str, BeautifulSoup]:
    """Build a book of one page and one notebook with this project's settings."""
    book = folder / "book"
    shutil.copytree(ROOT / "book" / "assets", book / "assets")
    shutil.copy(ROOT / "_config.yml", folder)
    (folder / "pyproject.toml").write_text(project, "utf-8")
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n  - file: book/tiny.ipynb\n", "utf-8"
    )
    (book / "index.md").write_text(INDEX, "utf-8")
    (book / "references.bib").write_text("", "utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Tiny", id="tiny")])
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(notebook, book / "tiny.ipynb")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BOOK_")}
    environment = kept | variables | {"PYTHONPATH": str(ROOT)}
    start = "from jupyter_book.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "build", ".", "-W", "-n", "--keep-going"],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    pages = folder / "_build" / "html" / "book"
    return {
        name: BeautifulSoup((pages / f"{name}.html").read_text("utf-8"), "html.parser") for name in ("index", "tiny")
    }


def links(page: BeautifulSoup) -> list[str]:
    found = [str(tag["href"]) for tag in page.select(".article-header-buttons a[href]")]
    return [address for address in found if "://" in address]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BeautifulSoup]:
    """The pages of a book that knows its repository."""
    return make_book(tmp_path_factory.mktemp("known"), {"BOOK_REPOSITORY": "someone/some-book"})


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BeautifulSoup]:
    """The pages of one that does not."""
    return make_book(tmp_path_factory.mktemp("unknown"), {})


def test_a_book_that_knows_its_repository_has_right_links(known: dict[str, BeautifulSoup]) -> None:
    assert links(known["tiny"]) == [
        "https://mybinder.org/v2/gh/someone/some-book/main?urlpath=lab/tree/book/tiny.ipynb",
        "https://colab.research.google.com/github/someone/some-book/blob/main/book/tiny.ipynb",
        "https://github.com/someone/some-book",
    ]
    assert links(known["index"]) == ["https://github.com/someone/some-book"]
    assert "known here" in known["index"].article.text
    assert "unknown here" not in known["index"].article.text


def test_a_book_that_does_not_know_its_repository_has_no_dead_button(unknown: dict[str, BeautifulSoup]) -> None:
    for page in unknown.values():
        assert links(page) == []
        assert not page.select(".dropdown-launch-buttons, .btn-source-repository-button")
        assert "mybinder.org" not in str(page)
        assert "executablebooks" not in str(page)  # Jupyter Book's own default address
    assert "unknown here" in unknown["index"].article.text


def test_a_notebook_can_be_downloaded_in_both_cases(known: dict, unknown: dict) -> None:
    for pages in (known, unknown):
        download = pages["tiny"].select_one(".dropdown-download-buttons a")
        assert str(download["href"]).endswith("_sources/book/tiny.ipynb")


def test_no_script_sets_formulas_or_comes_from_another_host(unknown: dict[str, BeautifulSoup]) -> None:
    scripts = [str(tag["src"]) for tag in unknown["index"]("script", src=True)]
    assert [script for script in scripts if "mathjax" in script.lower()] == []
    assert [script for script in scripts if "://" in script] == []


def test_the_theme_comes_without_its_icon_script_and_with_the_mark_of_the_book(known: dict, unknown: dict) -> None:
    for page in [*known.values(), *unknown.values()]:
        assert not page.select('script[src*="fontawesome"]')
        assert len(page.select("nav.book-brand svg.book-mark")) == 1


@pytest.mark.parametrize(
    "given", ["owner/name", "https://github.com/owner/name", "https://github.com/owner/name/", " owner/name.git "]
)
def test_the_address_comes_in_several_spellings(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOK_REPOSITORY", given)
    assert launch.repository(tmp_path) == "https://github.com/owner/name"


def test_the_variable_wins_over_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = '[project.urls]\nRepository = "https://github.com/owner/name"\n'
    (tmp_path / "pyproject.toml").write_text(PROJECT + urls, "utf-8")
    monkeypatch.setenv("BOOK_REPOSITORY", "")
    assert launch.repository(tmp_path) == "https://github.com/owner/name"
    monkeypatch.setenv("BOOK_REPOSITORY", "a-fork/name")
    assert launch.repository(tmp_path) == "https://github.com/a-fork/name"


def test_no_address_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT, "utf-8")
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    assert launch.repository(tmp_path) is None


@pytest.mark.parametrize("given", ["name", "https://example.org/owner/name", "owner/name/tree/main", "owner name"])
def test_an_address_that_binder_and_colab_cannot_use_is_refused(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOK_REPOSITORY", given)
    with pytest.raises(ConfigError, match=r"must be owner/name or https://github\.com/owner/name: got"):
        launch.repository(tmp_path)
