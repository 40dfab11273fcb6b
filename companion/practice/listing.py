"""The list of all exercises as a file of the book, since the site is built without torch and cannot ask for them.

    python -m companion.practice.listing [--check]

``make notebooks`` runs this; ``companion.book.drills`` reads the file.
"""

import argparse
import json
import sys
from pathlib import Path

from companion.book import toc
from companion.book.drills import DRILLS
from companion.practice.catalogue import plan


def listing() -> str:
    """List the exercises in the order of :func:`companion.practice.plan`, one a line."""
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


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or with ``--check`` compare it; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail where the file is not fresh")
    parser.add_argument("--file", type=Path, default=toc.CHECKOUT / DRILLS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    fresh = listing().encode("utf8")
    if options.file.exists() and options.file.read_bytes() == fresh:
        print(f"{options.file.name} unchanged")
        return 0
    if options.check:
        print(f"{options.file.name} does not hold the exercises of the package: run `make notebooks`.", file=sys.stderr)
        return 1
    options.file.write_bytes(fresh)
    print(f"{options.file.name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
