"""What `make check` and `make test` share, and `make check` itself: the quick part, for the hand that edits.

    .venv/bin/python -m scripts.checks [BASE]

Checks style and format everywhere, that each notebook has the cells of its source, and runs the tests that name what
changed since BASE (HEAD, if none is given), that find it in its folder, or that changed themselves. It ends after 90
seconds, and says when that was not enough for all of them. The pages in a browser and the outputs of the notebooks are
left to `make test`.
"""

import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Container
from pathlib import Path

from scripts.console import LOGS, ROOT, Refusal, guarded, run_logged, step, tail

SECONDS = 90
NO_TESTS = 5  # pytest's exit code where it collected nothing
LEFT_OUT = ("tests/site/", "tests/gpu/")  # need a built site or CUDA
# Tests that find what they try in folders, and so name none of it: what they find, and the tests. {} is the chapter.
ANSWERS, MISTAKES = "tests/tools/test_practice_answers.py", "tests/tools/test_practice_mistakes.py"
ON_PAGE = "tests/tools/test_chapter_exercises.py"
QUESTIONS = ("tests/tools/test_question_texts.py", "tests/tools/test_question_coverage.py")
FINDING = {
    r"companion/chapters/(\w+)/exercises/\w+\.py": ("tests/chapters/{}/test_exercises.py", ON_PAGE, ANSWERS, MISTAKES),
    r"tests/chapters/(\w+)/right_answers\w*\.py": ("tests/chapters/{}/test_exercises.py", ANSWERS, MISTAKES),
    r"companion/chapters/(\w+)/explorers/\w+\.(?:py|js|css)": (
        "tests/chapters/{}/test_explorers.py",
        "tests/tools/test_explorers.py",
    ),
    r"tests/chapters/(\w+)/\w+_in_browser\.py": ("tests/tools/test_explorers.py",),
    r"book/([\w-]+)/[\w-]+\.(?:md|ipynb)": (ON_PAGE, *QUESTIONS),
}
PAIRS = ("tests/tools/test_pairs.py", "-k", "source_and_notebook_agree or every_source or cells_have_their_form")


def style() -> dict[str, list[str | Path]]:
    """List the commands that check style and format, by the name of their logs."""
    ruff = [sys.executable, "-m", "ruff"]
    notebooks = sorted((ROOT / "book").rglob("*.ipynb"))
    return {
        "ruff": [*ruff, "check", "."],
        "format": [*ruff, "format", "--check", "."],
        "scripts": [sys.executable, "-m", "scripts.check_js"],  # JavaScript and CSS: style, format, types, unit tests
        "cells": [*ruff, "format", "--check", "--line-length", "85", *notebooks],  # so that a page does not scroll
    }


def check_style() -> list[str]:
    """Run the commands of `style`; return the logs of those that failed."""
    with step("Code style and format") as remark:
        failures = [log for log, command in style().items() if run_logged(command, log)[0]]
        remark(f"failed: {', '.join(failures)}" if failures else "")
    return failures


def pytest(
    log: str, *arguments: str | Path, extra: dict[str, str] | None = None, seconds: float | None = None
) -> tuple[bool, str]:
    """Run pytest; return whether all is well, and how many tests passed or what is wrong.

    A skipped test counts as wrong unless it needs CUDA.
    """
    report = LOGS / f"{log}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-rs", f"--junit-xml={report}", *arguments]
    code, output = run_logged(command, log, extra, seconds)
    if code is None:
        marks = "".join(re.findall(r"^([.FEsxX]+)(?: +\[ *\d+%\])?$", output, re.MULTILINE))
        bad = marks.count("F") + marks.count("E")
        parts = [f"{marks.count('.')} passed"] + ([f"{bad} failed"] if bad else [])
        return not bad, f"stopped after {seconds:.0f} s with {', '.join(parts)}"
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


def show(failures: list[str]) -> None:
    """Print the end of each log of a failure."""
    for log in failures:
        end = tail((LOGS / f"{log}.log").read_text("utf-8"), 40)
        print(f"\n{log} failed (all of it: _build/logs/{log}.log)\n{end}")


def changed(base: str) -> list[str]:
    """List the files that differ from a commit, and those that git does not know yet.

    Raises:
        Refusal: git does not know the commit.
    """
    found = []
    for question in (["diff", "--name-only", base, "--"], ["ls-files", "--others", "--exclude-standard"]):
        answer = subprocess.run(["git", *question], cwd=ROOT, capture_output=True, text=True)
        if answer.returncode:
            raise Refusal(f"git cannot say what changed since {base}: name a commit with BASE=main.")
        found += answer.stdout.splitlines()
    return found


def naming(path: str) -> re.Pattern[str]:
    """Return what a test has in its text that is about a file: the name of the module, or that of the file.

    Every chapter has a page `index`, so of that the chapter is named as well.
    """
    file = Path(path)
    if file.stem == "index":
        return re.compile(rf"(?<![\w-]){re.escape(file.parent.name)}/index\b")
    if file.suffix != ".py":
        return re.compile(rf"(?<![\w-]){re.escape(file.name)}\b")
    parts = file.parent.parts if file.stem == "__init__" else (*file.parent.parts, file.stem)
    *package, module = parts or (file.stem,)
    within = re.escape(".".join(package))
    return re.compile(rf"\b{within}\.{module}\b|from {within} import [^\n]*\b{module}\b")


def finding(path: str, tests: Container[str]) -> list[str]:
    """List those of the test files that find a file in its folder."""
    found = []
    for pattern, names in FINDING.items():
        if match := re.fullmatch(pattern, path):
            found += [name.format(match[1]) for name in names]
    return [name for name in found if name in tests]


def affected(paths: list[str]) -> list[str]:
    """List the test files that changed, or that find or name a changed file; those that merely name it come last."""
    tests = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    tests = {name: text for name, text in tests.items() if not name.startswith(LEFT_OUT)}
    own, others = [path for path in paths if path in tests], []
    for path in paths:
        pattern, stem = naming(path), Path(path).stem
        found = [name for name, text in sorted(tests.items()) if pattern.search(text)]
        own += [name for name in found if stem in Path(name).stem] + finding(path, tests)
        others += found
    return list(dict.fromkeys([*own, *others]))


def main() -> int:
    """Check, and sum up."""
    start = time.monotonic()
    tests = affected(changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))
    failures = check_style()
    runs = {"pairs": ("Notebooks have the cells of their sources", PAIRS)}
    if tests:
        runs["changed"] = (f"Tests of what changed ({len(tests)} files)", ("-x", *tests))
    well_done = "Well"
    for log, (title, arguments) in runs.items():
        with step(title) as remark:
            well, what = pytest(log, *arguments, seconds=max(1.0, SECONDS - (time.monotonic() - start)))
            remark(f"{what}: `make test` runs all" if what.startswith("stopped") else what)
        failures += [] if well else [log]
        if what.startswith("stopped"):
            well_done = "Well as far as it came,"
    show(failures)
    print(f"{'FAILED: ' + ', '.join(failures) if failures else well_done} in {time.monotonic() - start:.0f} s.")
    return 1 if failures else 0


if __name__ == "__main__":
    guarded(main)
