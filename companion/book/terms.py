"""The words of interviewers: terms, their other names, and where the book answers them (``terms.yml``).

``book/interview/terms.md`` shows them. A name or an alias belongs to one term, whatever its capitals, so that a word
that is typed leads to one place. A test and the build hold the labels to be there.
"""

from pathlib import Path

from companion.book import toc
from companion.book.entries import entries, read_once
from companion.book.model import Term
from companion.book.schemas import TERM, check, refuse_doubles

TERMS = Path("companion", "chapters", "interview", "terms.yml")  # from the root of the book


def terms(root: Path = toc.CHECKOUT) -> tuple[Term, ...]:
    """Read the terms of the book in the order of the file, which is that of the chapters.

    Args:
        root: of the book.

    Raises:
        ValueError: as ``parse_terms``.
    """
    return _of_file(root / TERMS)


def parse_terms(text: str) -> tuple[Term, ...]:
    """Read terms and refuse those that are not complete.

    Raises:
        ValueError: a field is missing, unknown or empty, a term leads nowhere, or two entries share a word.
    """
    found = []
    for line, entry in entries(text, TERMS.name):
        named = entry["name"] if isinstance(entry, dict) and "name" in entry else f"line {line}"
        check(entry, TERM, f"{TERMS.name}, {named}")
        if entry.keys() == {"name", "aliases"}:
            raise ValueError(f"{TERMS.name}, {named}: a term has a label, questions or exercises: got none.")
        found.append(Term(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}))
    refuse_doubles((word.casefold() for term in found for word in (term.name, *term.aliases)), TERMS.name)
    return tuple(found)


@read_once
def _of_file(path: Path) -> tuple[Term, ...]:
    return parse_terms(path.read_text("utf8"))
