"""What the tests of the chapters share: the pages of the book, one test each."""

from pathlib import Path
from types import ModuleType

import pytest

from companion.book import notebooks, pages, toc

ROOT = Path(__file__).parents[2]


def finished_pages(part: str | None = None) -> list[str]:
    """Name the notebooks that stand in the table of contents, in all of it or in one part: ``attention/index``."""
    return [toc.page(path) for path in toc.notebooks(ROOT, part)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each notebook of the book (`chapter`) or for each that teaches a subject (`subject`)."""
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", finished_pages())
    if "subject" in metafunc.fixturenames:
        names = finished_pages("Chapters")
        asking = [name for name in names if pages.kind(name) == "questions"]
        apart = {toc.chapter(name) for name in asking}
        subjects = [name for name in names if toc.chapter(name) not in apart or name in asking]
        metafunc.parametrize("subject", subjects)


@pytest.fixture(scope="session")
def maker() -> ModuleType:
    """The module that makes the notebooks."""
    return notebooks


@pytest.fixture(scope="session")
def chapters() -> list[str]:
    """The finished chapters, in the order of the book."""
    return finished_pages()
