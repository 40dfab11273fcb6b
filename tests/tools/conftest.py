"""What the tests of the chapters share: the sources, the stored notebooks, and one fresh run of each."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from companion.book import notebooks, toc

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"


def finished_pages(part: str | None = None) -> list[str]:
    """Name the notebooks that stand in the table of contents, in all of it or in one part: ``attention/index``."""
    return [toc.page(path) for path in toc.notebooks(ROOT, part)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each notebook of the book (`chapter`) or for each that teaches a subject (`subject`)."""
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", finished_pages())
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", finished_pages("Chapters"))


@pytest.fixture(scope="session")
def maker() -> ModuleType:
    """The module that makes the notebooks."""
    return notebooks


@pytest.fixture(scope="session")
def chapters() -> list[str]:
    """The finished chapters, in the order of the book."""
    return finished_pages()


class FreshNotebooks(Mapping):
    """Each finished chapter's source, executed when it is first asked for and then kept."""

    def __init__(self, maker: ModuleType) -> None:
        self.maker = maker
        self.done: dict[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name not in finished_pages():
            raise KeyError(name)
        if name not in self.done:
            with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
                warnings.simplefilter("ignore")  # those of Jupyter's client are not ours
                patch.delenv("BOOK_REPOSITORY", raising=False)  # the stored notebooks do not have it either
                self.done[name] = self.maker.run(BOOK / f"{name}.md")
        return self.done[name]

    def __iter__(self) -> Iterator[str]:
        return iter(finished_pages())

    def __len__(self) -> int:
        return len(finished_pages())


@pytest.fixture(scope="session")
def fresh_notebooks(maker: ModuleType) -> FreshNotebooks:
    """The notebooks of one fresh run, by chapter; shared by all tests of a session. Copy before you change one."""
    return FreshNotebooks(maker)
