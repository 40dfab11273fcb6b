"""What a source is called in the text: its authors and year, with a letter where two would be called the same."""

import re
from collections import defaultdict
from collections.abc import Mapping, MutableMapping
from string import ascii_lowercase

from pybtex.backends.plaintext import Backend
from pybtex.database import Entry
from pybtex.style.sorting.author_year_title import SortingStyle


def names(persons: Mapping) -> list[str]:
    """List the last names of the authors, else of the editors."""
    people = persons.get("author") or persons.get("editor") or []
    text = Backend()  # `render_as("text")` would look through all installed packages for it, at each name
    return [" ".join(part.render(text) for part in [*one.rich_prelast_names, *one.rich_last_names]) for one in people]


def authors(persons: Mapping) -> str:
    """Name the authors, else the editors; more than two are the first and "et al."."""
    people = names(persons)
    return f"{people[0]} et al." if len(people) > 2 else " and ".join(people) or "unknown"


def tell_apart(entries: MutableMapping[str, Entry]) -> None:
    """Add a letter to the years of entries with the same authors and year, in the order of the bibliography.

    Args:
        entries: by their keys; letters of an earlier call are taken off first.
    """
    alike = defaultdict(list)
    for entry in entries.values():
        if "year" in entry.fields:
            year = re.sub(r"(?<=\d)[a-z]$", "", entry.fields["year"])
            entry.fields["year"] = year
            alike[authors(entry.persons), year].append(entry)
    for (_, year), group in alike.items():
        if len(group) > 1:
            for letter, entry in zip(ascii_lowercase, SortingStyle().sort(group), strict=False):
                entry.fields["year"] = year + letter
