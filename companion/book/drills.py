"""The drills of the book, kept in ``book/interview/drills.json``: the site is built without torch, which they need.

``make notebooks`` writes the file. The page of what is missing and the coding round both read it here.
"""

import json
from dataclasses import asdict
from pathlib import Path

from companion.book import toc
from companion.book.model import DRILL, Drill, check, refuse_doubles
from companion.book.topics import TOPICS

DRILLS = Path("book", "interview", "drills.json")  # from the root of the book


def read_drills(root: Path = toc.CHECKOUT) -> list[Drill]:
    """Read the drills of a file that :func:`write_drills` wrote.

    Args:
        root: of the book.

    Returns:
        The drills by topic in the order of the book, in a topic by tier.

    Raises:
        ValueError: there is no such file, it holds something else, or a drill stands twice.
    """
    path = root / DRILLS
    if not path.exists():
        raise ValueError(f"{path.name} holds the drills: got no such file. Run `make notebooks`.")
    try:
        rows = json.loads(path.read_text("utf8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is a list of drills: got no JSON ({error}). Run `make notebooks`.") from None
    if not isinstance(rows, list):
        raise ValueError(f"{path.name} is a list of drills: got something else. Run `make notebooks`.")
    for number, row in enumerate(rows, 1):
        check(row, DRILL, f"{path.name}, drill {number}")
    refuse_doubles((row["name"] for row in rows), path.name)
    order = list(TOPICS)
    return sorted((Drill(**row) for row in rows), key=lambda drill: (order.index(drill.topic), drill.tier))


def drills_text() -> str:
    """List the drills in the order of :func:`companion.practice.plan`, one a line."""
    from companion.practice import plan  # which loads torch: the site does without

    drills = [
        Drill(step.exercise.name, step.exercise.title, step.topic, step.tier, step.kind, step.minutes)
        for step in plan().steps
    ]
    return "[\n" + ",\n".join(json.dumps(asdict(drill), ensure_ascii=False) for drill in drills) + "\n]\n"


def write_drills(path: Path = toc.CHECKOUT / DRILLS, *, check: bool = False) -> str:
    """Write the file, or compare it with the package.

    Args:
        path: of the file.
        check: write nothing.

    Returns:
        One word for the progress line.

    Raises:
        ValueError: ``check`` finds a difference.
    """
    fresh = drills_text().encode("utf8")
    if path.exists() and path.read_bytes() == fresh:
        return "unchanged"
    if check:
        raise ValueError(f"{path.name} does not hold the drills of the package: run `make notebooks`.")
    path.write_bytes(fresh)
    return "written"
