"""Write ``book/drills.json``: every drill of the book for the page of what is missing and the coding round.

    python scripts/make_drills.py [--check]

The site is built without torch, so it cannot ask the package. ``make_notebooks.py`` calls this script.
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "book" / "drills.json"


def text() -> str:
    """List the drills in the order of :func:`companion.exercises.plan`, one a line."""
    sys.path.insert(0, str(ROOT))
    try:
        from companion.exercises import plan
    finally:
        sys.path.remove(str(ROOT))
    rows = [
        {
            "name": step.exercise.name,
            "title": step.exercise.title,
            "topic": step.topic,
            "tier": step.level,
            "kind": step.kind,
            "minutes": step.minutes,
        }
        for step in plan().steps
    ]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def make(path: Path = FILE, *, check: bool = False) -> str:
    """Write the file, or compare it with the package.

    Args:
        path: of the file.
        check: write nothing.

    Returns:
        One word for the progress line.

    Raises:
        ValueError: ``check`` finds a difference.
    """
    fresh = text().encode("utf8")
    if path.exists() and path.read_bytes() == fresh:
        return "unchanged"
    if check:
        raise ValueError(f"{path.name} does not hold the drills of the package: run `make notebooks`.")
    path.write_bytes(fresh)
    return "written"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail where the file is not fresh")
    parser.add_argument("--file", type=Path, default=FILE, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        print(f"drills.json {make(options.file, check=options.check)}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
