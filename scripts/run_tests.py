"""Run every check of the project: what `make test` does.

    python3.11 scripts/run_tests.py

Environment: ``BROWSER=none`` leaves the browser tests out, and says so; nothing else does. A skipped test counts as a
failure unless it needs CUDA. All steps run even when one fails. Only the standard library is used here.
"""

import os
import shutil
import subprocess
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import build_site
import environment
import outside
from console import LOGS, ROOT, Refusal, environ, guarded, run_logged, step, tail, venv_python

Check = tuple[str, str, Sequence[str], dict[str, str]]  # title, name of the log, arguments of pytest, environment
NO_TESTS = 5  # pytest's exit code where it collected nothing


def find_browser() -> str:
    """Return the path of a browser, which is installed where there is none.

    Raises:
        Refusal: there is none and none could be installed.
    """
    command = [str(venv_python()), "scripts/find_browser.py", "--install"]
    answer = subprocess.run(command, cwd=ROOT, env=environ(), capture_output=True, text=True)
    if answer.returncode:
        said = [line for line in answer.stderr.splitlines() if line.startswith("make: ")]
        raise Refusal(said[-1].removeprefix("make: ") if said else f"no browser: {answer.stderr.strip()}")
    return answer.stdout.strip().splitlines()[-1]


def without_shape_hook() -> list[str]:
    """Return the pytest options that run the package as a reader imports it, without the runtime shape checks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    options = settings["tool"]["pytest"]["ini_options"]["addopts"]
    kept = [option for option in options if not option.startswith("--jaxtyping-packages")]
    return ["-o", f"addopts={' '.join(kept)}"]


def pytest(log: str, *arguments: str, extra: dict[str, str] | None = None) -> tuple[bool, str]:
    """Run pytest; return whether all is well, and how many tests passed or what is wrong."""
    report = LOGS / f"{log}.xml"
    report.unlink(missing_ok=True)
    command = [venv_python(), "-m", "pytest", "-q", "--no-header", "-rs", f"--junit-xml={report}", *arguments]
    code, _ = run_logged(command, log, extra)
    if code == NO_TESTS:
        return False, "no tests found"
    if not report.exists():
        return False, f"pytest stopped with exit code {code}"
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    wrong = [case for case in skipped if "tests.gpu" not in case.get("classname", "")]
    bad = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    parts = [f"{len(cases) - len(skipped) - bad} passed"]
    parts += [f"{bad} failed"] if bad else []
    parts += [f"{len(wrong)} skipped, which is not allowed"] if wrong else []
    parts += [f"{len(skipped) - len(wrong)} need CUDA"] if len(skipped) > len(wrong) else []
    return code == 0 and not wrong, ", ".join(parts)


def ruff() -> tuple[bool, str]:
    """Check the code's style and its format; cells have 85 columns, so that a page does not scroll."""
    notebooks = [str(path) for path in sorted((ROOT / "book").glob("*.ipynb"))]
    commands = {
        "check": ["check", "."],
        "format": ["format", "--check", "."],
        "cells": ["format", "--check", "--line-length", "85", *notebooks],
    }
    codes = [run_logged([venv_python(), "-m", "ruff", *given], f"ruff-{name}")[0] for name, given in commands.items()]
    if not any(codes):
        (LOGS / "ruff.log").unlink(missing_ok=True)
        return True, "check and format"
    logs = [(LOGS / f"ruff-{name}.log").read_text("utf-8") for name in commands]
    (LOGS / "ruff.log").write_text("\n".join(logs), "utf-8")
    return False, "see `ruff check .` and `ruff format .`, for notebooks with --line-length 85"


def checks(browser: str | None, notebooks: Path, wheel: dict[str, str]) -> list[Check]:
    """List the pytest runs, those that take longest first.

    Args:
        browser: its path; None leaves the browser tests out.
        notebooks: the folder outside the repository that holds them.
        wheel: the environment variables with which they find the package of the wheel.
    """
    there = {"CHROME_PATH": browser} if browser else {}
    judge = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/unit").glob("test_exercises*.py"))]
    others = ["tests", "--ignore=tests/site", "--ignore=tests/notebooks", *(f"--ignore={path}" for path in judge)]
    reader = ["tests/unit", "tests/parity", *without_shape_hook()]
    stored = ["--nbval", "-p", "no:cacheprovider", str(notebooks)]
    return [
        *([("The site in a browser", "browser", ["tests/site"], there)] if browser else []),
        ("Notebooks agree with sources and ledger", "chapters", ["tests/notebooks"], there),
        ("Notebooks give their stored outputs", "notebooks", stored, wheel),
        ("Unit, parity, layers, set-up", "unit", others, there),
        ("Exercises and how answers are judged", "exercises", judge, there),
        ("Unit, parity as a reader runs them", "reader", reader, there),
    ]


def run_side_by_side(runs: Sequence[Check]) -> list[str]:
    """Run the checks two at a time, and return the logs of those that failed.

    Each keeps to one thread, so two use two cores. What a test times has margins wide enough for a neighbour.
    """
    failures = []
    print(f"  {len(runs)} runs of tests, two at a time; this takes a few minutes", flush=True)
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = {pool.submit(run_timed, run): run for run in runs}
        for job in as_completed(jobs):
            title, log, *_ = jobs[job]
            seconds, (well, what) = job.result()
            print(f"  {title:<48}{seconds:6.1f} s  {what}", flush=True)
            if not well:
                failures.append(log)
    return failures


def run_timed(run: Check) -> tuple[float, tuple[bool, str]]:
    """Run one check; return how many seconds it took, and what pytest said."""
    _, log, arguments, extra = run
    start = time.monotonic()
    result = pytest(log, *arguments, extra=extra)
    return time.monotonic() - start, result


def main() -> int:
    """Install, build, check, and sum up."""
    start = time.monotonic()
    environment.ensure("run")
    browser = None
    if os.environ.get("BROWSER", "") != "none":
        with step("Find a browser") as remark:
            browser = find_browser()
            remark(browser)
    failures: list[str] = []
    try:
        with step("Build the site") as remark:
            remark(build_site.build(os.environ.get("REPOSITORY", "").strip()))
    except Refusal as refusal:  # the other checks can still say something
        print(refusal.details)
        failures.append("site")
    with step("Code style") as remark:
        well, what = ruff()
        remark(what)
    if not well:
        failures.append("ruff")
    with tempfile.TemporaryDirectory(prefix="book-") as folder:
        with step("Install the wheel outside this folder"):
            notebooks, wheel = outside.set_up(Path(folder))
        failures += run_side_by_side(checks(None if failures[:1] == ["site"] else browser, notebooks, wheel))
    for log in failures:
        print(
            f"\n{log} failed (all of it: _build/logs/{log}.log)\n{tail((LOGS / f'{log}.log').read_text('utf-8'), 40)}"
        )
    if browser is None:
        print("Not tested: the site in a browser, because BROWSER=none asks for that.")
    seconds = time.monotonic() - start
    print(f"{'FAILED: ' + ', '.join(failures) if failures else 'All checks passed'} in {seconds:.0f} s.")
    return 1 if failures else 0


if __name__ == "__main__":
    shutil.rmtree(LOGS, ignore_errors=True)
    guarded(main)
