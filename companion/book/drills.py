"""The drills of the book, kept in ``book/interview/drills.json``: the site is built without torch, which they need.

``make notebooks`` writes the file. The page of what is missing and the coding round both read it here.
"""

import json
from pathlib import Path

from companion.book import toc
from companion.book.model import Drill
from companion.book.schemas import DRILL, check, refuse_doubles
from companion.book.topics import TOPICS

DRILLS = Path("book", "interview", "drills.json")  # from the root of the book


def read_drills(root: Path = toc.CHECKOUT) -> list[Drill]:
    """Read the drills of the file that ``companion.practice.listing`` wrote.

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
