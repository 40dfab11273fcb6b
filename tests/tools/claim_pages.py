"""A pytest plugin: a chapter's page of claims is a file of tests, one for each claim that its cells settle.

    python -m pytest --jaxtyping-packages= -p tests.tools.claim_pages book/attention/claims.md
    python -m pytest --jaxtyping-packages= -p tests.tools.claim_pages book/attention/claims.md::softmax-20-23

The test of a claim runs the cells that it needs: those up to its own that settle no other claim. A cell that has run is
not run again, so that all claims of a page take no longer than the page. `make mutants` plants the turn of each
measured claim, and requires that the test of this claim fails. The option keeps the shape hook away, which wants to be
there before the package is imported.
"""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.book.claims import settlements
from companion.book.notebooks import read_source
from companion.book.stable import LIVE_TAG


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take the sources of the pages of claims for files of tests."""
    return ClaimsPage.from_parent(parent, path=file_path) if file_path.name == "claims.md" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Settle claims in the order of their pages, however they are named: a cell may set what later ones use."""
    items.sort(key=lambda item: (item.path, item.place) if isinstance(item, SettledClaim) else (Path(), 0))


class ClaimsPage(pytest.File):
    """The source of a page of claims."""

    def collect(self) -> Iterator[pytest.Item]:
        """Make a test of each claim that a cell settles, in the order of the page."""
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.ran: set[int] = set()
        self.cells = read_source(self.path).cells
        self.settled = settlements(self.cells)
        for item in self.settled:
            test = SettledClaim.from_parent(self, name=item.claim_id)
            test.place = item.cell
            yield test

    def run(self, claim_id: str) -> None:
        """Run the cells that a claim needs, except those that have run."""
        others = {item.cell for item in self.settled}
        own = {item.cell for item in self.settled if item.claim_id == claim_id}
        for index, cell in enumerate(self.cells[: max(own) + 1]):
            left_out = cell.cell_type != "code" or LIVE_TAG in cell.metadata.get("tags", [])
            if left_out or index in self.ran or (index in others and index not in own):
                continue
            exec(compile(cell.source, f"{self.path.name}, cell {index}", "exec"), self.names)
            self.ran.add(index)


class SettledClaim(pytest.Item):
    """The test of a claim: its cells run, and `check_claim` does not object."""

    def runtest(self) -> None:
        """Run them as a notebook does: in the folder of the page, and a warning is no error."""
        with contextlib.chdir(self.path.parent), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.parent.run(self.name)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the claim in reports."""
        return self.path, 0, self.name
