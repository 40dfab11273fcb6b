"""The words of interviewers: terms, their other names, and where the book answers them (``terms.yml``).

``book/interview/terms.md`` shows them. A name or an alias belongs to one term, whatever its capitals, so that a word
that is typed leads to one place. A test and the build hold the labels to be there.
"""

import re
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
        ValueError: a field is missing, unknown or empty, a term leads nowhere, two entries share a word, or a term
            belongs to none of the file or to itself.
    """
    found = []
    for line, entry in entries(text, TERMS.name):
        named = entry["name"] if isinstance(entry, dict) and "name" in entry else f"line {line}"
        check(entry, TERM, f"{TERMS.name}, {named}")
        if entry.keys() <= {"name", "aliases", "see"}:
            raise ValueError(f"{TERMS.name}, {named}: a term has a label, questions or exercises: got none.")
        found.append(Term(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}))
    for term in found:
        if gone := [name for name in term.see if name == term.name or name not in {one.name for one in found}]:
            raise ValueError(
                f"{TERMS.name}, {term.name}: see has the names of other terms: got {', '.join(gone)}. Write each as "
                "its entry does."
            )
    refuse_doubles((word.casefold() for term in found for word in (term.name, *term.aliases)), TERMS.name)
    return tuple(found)


def related(term: Term, known: tuple[Term, ...]) -> list[Term]:
    """List the terms that belong to one: those that it names, then those that name it.

    Args:
        term: one of those known.
        known: all terms.

    Returns:
        The terms, each once.
    """
    named = [one for name in term.see for one in known if one.name == name]
    return [*named, *(one for one in known if term.name in one.see and one not in named)]


def is_looked_up(alias: str, term: Term) -> bool:
    """Tell whether an alias has a place of its own in an index: an abbreviation or a name, as ``RoPE`` or ``vLLM``.

    Args:
        alias: another name of the term.
        term: whose name may begin with it; it is found there then.

    Returns:
        Whether it is one word with two capitals or more.
    """
    begins = re.match(rf"{re.escape(alias)}\b", term.name)
    return re.fullmatch(r"[\w+-]+", alias) is not None and len(re.findall("[A-Z]", alias)) > 1 and not begins


@read_once
def _of_file(path: Path) -> tuple[Term, ...]:
    return parse_terms(path.read_text("utf8"))
