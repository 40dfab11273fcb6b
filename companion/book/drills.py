"""The drills of the book, kept in ``book/interview/drills.json``: the site is built without torch, which they need.

``make notebooks`` writes the file. The page of what is missing and the coding round both read it here.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path

from companion.book import toc
from companion.book.topics import TOPICS

DRILLS = Path("book", "interview", "drills.json")  # from the root of the book
TIERS = {1: "warm-up", 2: "core", 3: "hard"}


@dataclass(frozen=True)
class Drill:
    """One drill.

    Args:
        name: by which the package and the store know it; its label is ``exr-`` and the name.
        title: what to do, in a line.
        topic: one of ``TOPICS``.
        tier: one of ``TIERS``.
        kind: what is asked: to write, to write within limits of cost, or to repair.
        minutes: an estimate.
    """

    name: str
    title: str
    topic: str
    tier: int
    kind: str
    minutes: int


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
    needed = {field.name: field.type for field in fields(Drill)}
    rule = f"{path.name} is a list of drills with {', '.join(needed)}"
    try:
        rows = json.loads(path.read_text("utf8"))
    except ValueError as error:
        raise ValueError(f"{rule}: got no JSON ({error}). Run `make notebooks`.") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{rule}: got something else. Run `make notebooks`.")
    for number, row in enumerate(rows, 1):
        if set(row) != set(needed) or not all(isinstance(row[name], type_) for name, type_ in needed.items()):
            raise ValueError(f"{rule}: drill {number} has {', '.join(row)}. Run `make notebooks`.")
        if row["topic"] not in TOPICS or row["tier"] not in TIERS:
            raise ValueError(
                f"{path.name}: the topic of a drill is one of {', '.join(TOPICS)}, and its tier 1, 2 or 3: "
                f"{row['name']} has {row['topic']!r} and {row['tier']}."
            )
    names = [row["name"] for row in rows]
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise ValueError(f"{path.name}: a drill stands once: got {doubled[0]} twice. Run `make notebooks`.")
    order = list(TOPICS)
    return sorted((Drill(**row) for row in rows), key=lambda drill: (order.index(drill.topic), drill.tier))
