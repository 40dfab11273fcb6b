"""What the make targets share: short lines on the terminal, full output in a log, one sentence for a refusal."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOGS = ROOT / "_build" / "logs"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Settings of the person at the keyboard, and of a make around this one, that would change what is tested or printed.
_PERSONAL = {"PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS", "MPLBACKEND", "JAXTYPING_DISABLE", "FORCE_COLOR"}
_PERSONAL |= {"PYTHONDONTWRITEBYTECODE", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}


class Refusal(Exception):
    """A step that cannot be done: one sentence that the user reads, and what to print before it."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


def environ() -> dict[str, str]:
    """Return the variables with which everything runs: this environment first, personal settings left out."""
    variables = {name: value for name, value in os.environ.items() if name not in _PERSONAL}
    variables["PATH"] = f"{VENV / 'bin'}{os.pathsep}{variables.get('PATH', os.defpath)}"
    variables["VIRTUAL_ENV"] = str(VENV)
    variables["PYTHONNOUSERSITE"] = "1"
    variables["JUPYTER_PREFER_ENV_PATH"] = "1"  # the kernel python3 is ours, not one in the home folder
    variables["IPYTHONDIR"] = str(VENV / "ipython")  # no start-up files of the user
    variables["MPLCONFIGDIR"] = str(VENV / "matplotlib")
    return variables


@contextmanager
def step(title: str) -> Iterator[Callable[[str], None]]:
    """Print the title, do the work, print how long it took; the yielded function adds a remark to the line."""
    print(f"  {title:<48}", end="", flush=True)
    remarks: list[str] = []
    start = time.monotonic()
    try:
        yield remarks.append
    except BaseException:
        print(f"{time.monotonic() - start:6.1f} s  failed", flush=True)
        raise
    print(f"{time.monotonic() - start:6.1f} s  {', '.join(remarks)}".rstrip(), flush=True)


def run_logged(
    command: Sequence[str | Path], log: str, extra: Mapping[str, str] | None = None, seconds: float | None = None
) -> tuple[int | None, str]:
    """Run a command in the project's folder, its output in ``_build/logs/LOG.log``; return exit code and output.

    The exit code is None where the command took longer than ``seconds``, and was ended.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{log}.log"
    with path.open("w", encoding="utf-8") as file:
        try:
            code = subprocess.run(
                [str(part) for part in command],
                cwd=ROOT,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(extra or {})},
                timeout=seconds,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
    return code, _COLOUR.sub("", path.read_text("utf-8", errors="replace"))


def tail(text: str, lines: int) -> str:
    """Return the last lines of a text, indented, for the terminal."""
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines()[-lines:])


def guarded(main: Callable[[], int]) -> None:
    """Run a script's main function; a refusal becomes one sentence and exit code 1."""
    try:
        sys.exit(main())
    except Refusal as refusal:
        if refusal.details:
            print(refusal.details, flush=True)
        sys.exit(f"make: {refusal}")
    except KeyboardInterrupt:
        sys.exit("make: stopped.")
