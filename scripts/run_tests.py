"""Run every check of the project: what `make test` does.

    .venv/bin/python -m scripts.run_tests

Environment: ``BROWSER=none`` leaves the browser tests out, and says so; nothing else does. A skipped test counts as a
failure unless it needs CUDA. All steps run even when one fails.

The notebooks are run as a reader has them: in a folder of their own, with the package installed from its wheel. One
that finds the package or a file only because it lies in the repository would fail on any other computer.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from scripts import build_site, find_browser
from scripts.checks import check_style, pytest, show
from scripts.console import LOGS, ROOT, Refusal, guarded, run_logged, step, tail

MOST_SECONDS = 4800.0  # of one run; the longest takes a quarter of an hour, and on a busy computer a few times as much
EVERY_PAGE = "tests/site/test_site_browser.py"  # takes as long as the other files of its folder together


@dataclass(frozen=True)
class Run:
    """One run of pytest, with variables of its own."""

    title: str
    log: str
    arguments: Sequence[str | Path]
    extra: dict[str, str] = field(default_factory=dict)


def as_a_reader() -> list[str]:
    """Return the pytest options that run the package as a reader imports it, without the runtime shape checks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    options = settings["tool"]["pytest"]["ini_options"]["addopts"]
    kept = [option for option in options if not option.startswith("--jaxtyping-packages")]
    return ["-o", f"addopts={' '.join(kept)}"]


def ignoring(*paths: str) -> list[str]:
    """Return the options of pytest that leave paths out."""
    return [f"--ignore={path}" for path in paths]


def runs(browser: str | None, outside: Path) -> list[Run]:
    """List the runs, those that take longest first, so that all cores are busy nearly to the end.

    The first is that of the notebooks, which needs no site.

    Args:
        browser: its path; None leaves the browser tests out.
        outside: the folder with the notebooks and the package of the wheel.
    """
    chrome = {"CHROME_PATH": browser} if browser else {}
    wheel = {"PYTHONPATH": str(outside / "packages")}
    judge = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/tools").glob("test_practice*.py"))]
    explorers = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/site").glob("test_explorers*.py"))]
    apart = ("tests/site", "tests/tools", "tests/chapters")
    stored = ["--nbval", "-p", "tests.tools.fresh_run", "-p", "no:cacheprovider", outside / "book"]
    site = [
        Run("The site: what its pages do", "browser", ["tests/site", *ignoring(EVERY_PAGE, *explorers)], chrome),
        Run("The site: every page", "pages", [EVERY_PAGE], chrome),
        Run("The site: explorers", "explorers", explorers, chrome),
    ]
    return [
        Run("Notebooks give their stored outputs", "notebooks", stored, wheel),
        *(site if browser else []),
        Run("Library, judge as a reader has them", "reader", ["tests/library", *judge, *as_a_reader()], chrome),
        Run("Chapters: exercises and explorers", "chapters", ["tests/chapters"], chrome),
        Run("Library, layers, set-up", "library", ["tests", *ignoring(*apart)], chrome),
        Run("Tools: notebooks, claims, questions, pages", "tools", ["tests/tools", *ignoring(*judge)], chrome),
    ]


def set_up_outside(folder: Path) -> None:
    """Copy the notebooks to a folder outside the repository, and install the package there from a wheel.

    Raises:
        Refusal: the wheel cannot be made or installed, or `import companion` finds another one.
    """
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    packages = folder / "packages"
    uv = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--no-deps", "--no-build-isolation"]
    code, output = run_logged([*uv, "--target", packages, "."], "wheel")
    if code:
        raise Refusal("the wheel of the package cannot be made, as said above.", details="\n" + tail(output, 8))
    found = subprocess.run(
        [sys.executable, "-c", "import companion; print(companion.__file__)"],
        cwd=folder / "book",
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
    ).stdout.strip()
    if not found or not Path(found).resolve().is_relative_to(packages.resolve()):
        raise Refusal(f"the notebooks are to use the package of the wheel, and find {found or 'none'}")


def run_side_by_side(first: Run, meanwhile: Callable[[], Sequence[Run]]) -> list[str]:
    """Run tests, as many runs at a time as there are cores, and return the logs of those that failed.

    Each keeps to one thread. What a test times has margins wide enough for neighbours.

    Args:
        first: the run that begins at once.
        meanwhile: does what the other runs need, beside the first, and lists them.
    """
    failures = []
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        jobs = {pool.submit(timed, first): first}
        jobs |= {pool.submit(timed, run): run for run in meanwhile()}
        print(f"  {len(jobs)} runs of tests side by side; this takes a few minutes", flush=True)
        for job in as_completed(jobs):
            seconds, well, what = job.result()
            print(f"  {jobs[job].title:<48}{seconds:6.1f} s  {what}", flush=True)
            failures += [] if well else [jobs[job].log]
    return failures


def timed(run: Run) -> tuple[float, bool, str]:
    """Do one run; return how many seconds it took, whether all is well, and what pytest said.

    One that does not end is stopped, and has failed: how many tests passed before tells which of them hangs.
    """
    start = time.monotonic()
    extra = {"OMP_NUM_THREADS": "1", **run.extra}  # two threads would wait for each other where all cores are busy
    well, what = pytest(run.log, *run.arguments, extra=extra, seconds=MOST_SECONDS)
    return time.monotonic() - start, well and not what.startswith("stopped"), what


def build_site_or_say_why() -> bool:
    """Build the site; where that fails, print why and go on, since the other checks can still say something."""
    try:
        with step("Build the site") as remark:
            remark(build_site.build(*(os.environ.get(name, "").strip() for name in ("REPOSITORY", "ADDRESS"))))
    except Refusal as refusal:
        print(refusal.details)
        return False
    return True


def main() -> int:
    """Build, check, and sum up."""
    start = time.monotonic()
    shutil.rmtree(LOGS, ignore_errors=True)
    browser = None
    if os.environ.get("BROWSER", "") != "none":
        with step("Find a browser") as remark:
            browser = find_browser.found_or_installed()
            remark(browser)
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="book-") as folder:
        with step("Install the wheel outside this folder"):
            set_up_outside(Path(folder))

        def build_and_look() -> list[Run]:
            """Build the site and check the style; list the runs that are left."""
            built = build_site_or_say_why()
            failures.extend([] if built else ["site"])
            failures.extend(check_style())
            return runs(browser if built else None, Path(folder))[1:]

        failures += run_side_by_side(runs(browser, Path(folder))[0], build_and_look)
    show(failures)
    if browser is None:
        print("Not tested: the site in a browser, because BROWSER=none asks for that.")
    seconds = time.monotonic() - start
    print(f"{'FAILED: ' + ', '.join(failures) if failures else 'All checks passed'} in {seconds:.0f} s.")
    return 1 if failures else 0


if __name__ == "__main__":
    guarded(main)
