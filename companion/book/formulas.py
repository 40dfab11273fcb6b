"""The lines of the formula sheet, ``formulas.yml`` beside ``companion.chapters.interview.formulas``."""

from pathlib import Path

from companion.book.entries import entries, read_once
from companion.book.model import Formula
from companion.book.schemas import FORMULA, check, refuse_doubles

FORMULAS = Path("companion", "chapters", "interview", "formulas", "formulas.yml")  # from the root of the book
SHEET = FORMULAS.name


def parse_formulas(text: str) -> tuple[Formula, ...]:
    """Read the lines of a sheet and refuse those that are not complete.

    Raises:
        ValueError: a field is missing, unknown or empty, an id has another form or stands twice.
    """
    found = []
    for line, entry in entries(text, SHEET):
        named = f"formula {entry['id']}" if isinstance(entry, dict) and "id" in entry else f"line {line}"
        check(entry, FORMULA, f"{SHEET}, {named}")
        found.append(Formula(**{name: value.strip() for name, value in entry.items()}))
    refuse_doubles((formula.id for formula in found), SHEET)
    return tuple(found)


@read_once
def read_formulas(path: Path) -> tuple[Formula, ...]:
    """Read the lines of a file."""
    return parse_formulas(path.read_text("utf8"))
