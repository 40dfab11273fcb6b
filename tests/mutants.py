"""Plant faults, one at a time, in a copy of the tree, and require that the tests named for each one fail.

A test that cannot fail proves nothing, and nothing but a planted fault shows that it can. Run by `make mutants`:

    python tests/mutants.py                     every fault
    python tests/mutants.py --area package      those in the lists tests/faults/package*.py
    python tests/mutants.py --only scale        those with "scale" in their name
    python tests/mutants.py --resume            leave out those caught before, while nothing has changed
    python tests/mutants.py --list              name them

A fault counts as caught only if the tests pass on a clean copy, and on the broken copy a test fails by an assertion
(or by the reason that the fault names): an error while tests are collected, or no test at all, does not count.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from faults import Fault, areas, broken, stale, target
from tqdm import tqdm

ROOT = Path(__file__).parent.parent
SITE = "_build/html"
RESULTS = ROOT / "_build" / "mutants.json"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "venv", "_build", "__pycache__", ".*_cache", ".hypothesis", ".ipynb_checkpoints", "node_modules"
)
LEFT_BEHIND = ("BOOK_SITE", "JAXTYPING_DISABLE", "MPLBACKEND")  # a notebook shows its figures in Jupyter's own backend
TIMEOUT = 300  # seconds; the slowest fault re-executes a notebook


@dataclass(frozen=True)
class Outcome:
    """What running the tests of one fault showed."""

    verdict: str  # "caught", "survived", or what else went wrong
    seconds: float
    detail: str


def copy_tree(folder: Path, *, site: bool) -> Path:
    """Copy the working tree, without what git ignores; the built site only where asked for."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT, symlinks=True)
    if site:
        shutil.copytree(ROOT / SITE, tree / SITE)
    return tree


def environment(tree: Path, *, site: bool) -> dict[str, str]:
    """Make `import companion` find the copy before an installed package, and the site tests its built pages."""
    changed = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    if site:
        changed["BOOK_SITE"] = str(tree / SITE)
    inherited = {key: value for key, value in os.environ.items() if key not in LEFT_BEHIND}
    return inherited | changed


def run(arguments: list[str], tree: Path, *, site: bool) -> tuple[int, str]:
    """Run a command in the copy; return its exit status and what it printed."""
    try:
        done = subprocess.run(
            arguments,
            cwd=tree,
            env=environment(tree, site=site),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no answer within {TIMEOUT} s"
    return done.returncode, done.stdout


def run_pytest(tests: tuple[str, ...], tree: Path, *, site: bool, stop: bool) -> tuple[int, str, list[tuple[str, str]]]:
    """Run tests in the copy; return the exit status, the output, and (test, message) of each test that failed."""
    report = tree.parent / f"report-{uuid.uuid4().hex}.xml"
    options = ["-q", "--tb=short", f"--junitxml={report}", *(["-x"] if stop else [])]
    status, output = run([sys.executable, "-m", "pytest", *options, *tests], tree, site=site)
    failures = []
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            failures += [
                (case.get("name", ""), f"{failure.get('message') or ''}\n{failure.text or ''}")
                for failure in case.iter("failure")
            ]
    return status, output, failures


def last_lines(text: str, number: int = 6) -> str:
    return "\n".join(text.strip().splitlines()[-number:])


def matches(reason: str, message: str) -> bool:
    return re.search(reason, message, re.MULTILINE) is not None


def plant(fault: Fault) -> Outcome:
    """Break a fresh copy and run what is named for the fault."""
    started = time.perf_counter()
    site = fault.built
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        tree = copy_tree(Path(folder), site=site)
        path = target(fault, tree)
        path.write_text(broken(fault, path.read_text("utf-8")), "utf-8")
        if fault.command:
            status, output = run([*fault.command], tree, site=site)
            caught = status > 0 and matches(fault.reason, output)
            verdict = "caught" if caught else "survived" if status == 0 else "failed for another reason"
            return Outcome(verdict, time.perf_counter() - started, "" if caught else last_lines(output))
        status, output, failures = run_pytest(fault.tests, tree, site=site, stop=True)
    seconds = time.perf_counter() - started
    right = [name for name, message in failures if matches(fault.reason, message)]
    if status == 1 and right:
        return Outcome("caught", seconds, right[0])
    if status == 0:
        return Outcome("survived", seconds, last_lines(output, 1))
    verdict = "failed for another reason" if status == 1 else f"no test failed (pytest exit status {status})"
    return Outcome(verdict, seconds, last_lines(failures[0][1] if failures else output))


def check_clean(faults: list[Fault], workers: int) -> list[str]:
    """Run every named test on an unbroken copy, and make sure that it is the copy that they import."""
    site = any(fault.built or "tests/site" in " ".join(fault.tests) for fault in faults)
    plain = {test for fault in faults for test in fault.tests if not any(t.startswith("-") for t in fault.tests)}
    special = {fault.tests for fault in faults if any(test.startswith("-") for test in fault.tests)}
    commands = {fault.command for fault in faults if fault.command}
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder, ThreadPoolExecutor(workers) as pool:
        tree = copy_tree(Path(folder), site=site)
        status, output = run([sys.executable, "-c", "import companion; print(companion.__file__)"], tree, site=site)
        if status or not Path(output.strip()).resolve().is_relative_to(tree.resolve()):
            return [f"the copy is not what `import companion` finds: {last_lines(output)}"]

        def test(names: tuple[str, ...]) -> str:
            status, output, _ = run_pytest(names, tree, site=site, stop=False)
            return f"pytest {' '.join(names)}: exit status {status}\n{last_lines(output)}" if status else ""

        def call(command: tuple[str, ...]) -> str:
            status, output = run([*command], tree, site=site)
            return f"{' '.join(command)}: exit status {status}\n{last_lines(output)}" if status else ""

        groups = [*sorted(special), *([tuple(sorted(plain))] if plain else [])]
        running = [*(pool.submit(test, names) for names in groups), *(pool.submit(call, one) for one in commands)]
        return [problem for done in running if (problem := done.result())]


def fingerprint(fault: Fault, tree: str) -> str:
    """Name a fault together with all that its outcome depends on; an edit by a function is never the same twice."""
    return hashlib.sha256(f"{fault!r}{tree}".encode()).hexdigest()


def fingerprint_of_tree() -> str:
    """Hash the working tree: after any change every fault is planted again."""
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        tree = copy_tree(Path(folder), site=(ROOT / SITE).exists())
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            digest.update(path.relative_to(tree).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def read_results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def choose(arguments: argparse.Namespace) -> list[tuple[str, Fault]]:
    chosen = [(name, fault) for name, faults in areas().items() for fault in faults]
    if arguments.area:
        chosen = [(name, fault) for name, fault in chosen if name.startswith(tuple(arguments.area))]
    if arguments.only:
        chosen = [(name, fault) for name, fault in chosen if any(text in fault.name for text in arguments.only)]
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", action="append", metavar="NAME", help="only the lists whose name begins so")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only faults with TEXT in their name")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--resume", action="store_true", help="leave out what was caught in this very tree")
    parser.add_argument("--list", action="store_true", help="name the faults and stop")
    arguments = parser.parse_args()
    chosen = choose(arguments)
    if not chosen:
        print("No fault has this name or area. See --list.", file=sys.stderr)
        return 2
    if arguments.list:
        print("\n".join(f"{name:18} {fault.name}" for name, fault in chosen))
        return 0
    if any(fault.built for _, fault in chosen) and not (ROOT / SITE).exists():
        print("Faults of the site need a built site: run `make book` first, or name other areas.", file=sys.stderr)
        return 2
    if old := [message for _, fault in chosen for message in stale(fault, ROOT)]:
        print("The list no longer fits the tree:", *old, sep="\n  ", file=sys.stderr)
        return 2

    started = time.perf_counter()
    tree, results = fingerprint_of_tree(), read_results()
    todo = [pair for pair in chosen if not (arguments.resume and results.get(fingerprint(pair[1], tree)))]
    print(f"{len(todo)} faults to plant; first, the tests that are to catch them, on a clean copy.", flush=True)
    if todo and (problems := check_clean([fault for _, fault in todo], arguments.workers)):
        print("The tests do not pass without a fault:", *problems, sep="\n", file=sys.stderr)
        return 2
    outcomes = dict.fromkeys((fault.name for _, fault in chosen), Outcome("caught", 0.0, "in an earlier run"))
    with ThreadPoolExecutor(arguments.workers) as pool:
        running = {pool.submit(plant, fault): fault for _, fault in todo}
        for done in tqdm(as_completed(running), total=len(running), unit="fault", disable=None):
            fault, outcome = running[done], done.result()
            outcomes[fault.name] = outcome
            if outcome.verdict == "caught":
                results[fingerprint(fault, tree)] = {"name": fault.name, "by": outcome.detail}
                RESULTS.parent.mkdir(exist_ok=True)
                RESULTS.write_text(json.dumps(results, indent=1), "utf-8")
    return report(chosen, outcomes, time.perf_counter() - started)


def report(chosen: list[tuple[str, Fault]], outcomes: dict[str, Outcome], seconds: float) -> int:
    for name, fault in chosen:
        outcome = outcomes[fault.name]
        print(f"{outcome.verdict:9} {outcome.seconds:5.1f} s  {name:18} {fault.name}")
    missed = [(fault, outcomes[fault.name]) for _, fault in chosen if outcomes[fault.name].verdict != "caught"]
    for fault, outcome in missed:
        print(f"\n{fault.name} ({fault.file}): {outcome.verdict}\n{outcome.detail}", file=sys.stderr)
    print(f"\n{len(chosen) - len(missed)} of {len(chosen)} faults caught in {seconds:.0f} s.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
