"""A page of claims as a file of tests: which cells the test of a claim runs, and what makes it fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.small import FRONT

ROOT = Path(__file__).parents[2]
CELLS = (
    "# what every notebook begins with is put here",
    "from pathlib import Path\nran = Path('ran.txt').open('a')\ndef check_claim(name, least=0):\n"
    "    print(name, file=ran, flush=True)\n    assert value > least, name",
    "value = 1\nprint('one', file=ran, flush=True)",
    'check_claim("first")',
    "value += 1\nprint('two', file=ran, flush=True)",
    'check_claim("second/left")\ncheck_claim("second/right", 1)',
    'check_claim("third", 2)',
    "raise SystemExit('no claim needs this cell')",
)


@pytest.fixture
def run(tmp_path):
    """Write the page, and give a function that runs the tests of some claims and says what failed and what ran."""
    text = FRONT + "\n".join(f"```{{code-cell}} ipython3\n{cell}\n```\n\nText.\n" for cell in CELLS)
    (tmp_path / "claims.md").write_text(text, "utf8")

    def tests(*names):
        (tmp_path / "ran.txt").unlink(missing_ok=True)
        paths = [f"claims.md::{name}" for name in names] or ["claims.md"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.tools.claim_pages", "--rootdir", ".", *paths]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
        return failed, (tmp_path / "ran.txt").read_text().split(), done.stdout

    return tests


def test_the_test_of_a_claim_runs_the_cells_before_it_that_settle_no_other(run):
    assert run("first")[:2] == ([], ["one", "first"])
    failed, ran, said = run("second/left")
    assert (failed, ran) == ([], ["one", "two", "second/left", "second/right"])
    assert "1 passed" in said


def test_claims_are_settled_in_the_order_of_the_page_and_not_in_that_of_their_names(run):
    failed, ran, _ = run("second/right", "first")
    assert (failed, ran) == ([], ["one", "first", "two", "second/left", "second/right"])


def test_a_claim_that_its_cells_do_not_bear_out_fails_with_their_words(run):
    failed, ran, said = run("third")
    assert (failed, ran) == (["claims.md::third"], ["one", "two", "third"])
    assert "AssertionError: third" in said


def test_all_claims_of_a_page_run_each_cell_once(run):
    failed, ran, _ = run()
    assert ran == ["one", "first", "two", "second/left", "second/right", "third"]
    assert failed == ["claims.md::third"]
