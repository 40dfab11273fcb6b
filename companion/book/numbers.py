"""Numbers in the text of a notebook: what ``companion.book.glue_number`` printed goes where its name stands.

A source holds ``{{kv-7b}}`` in its Markdown. The executed notebook holds the printed number in its place, so that a
number in an answer is always the one that a cell of the same page computed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

_PLACE = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
_PRINTED = re.compile(r"^([a-z0-9]+(?:-[a-z0-9]+)+) = (.+)$", re.MULTILINE)
_CALL = "glue_number("


def printed_numbers(cells: Iterable[Mapping]) -> dict[str, str]:
    """Collect what the cells that call ``glue_number`` printed: name -> number as it is written.

    Raises:
        ValueError: two numbers have one name.
    """
    found: list[tuple[str, str]] = []
    for cell in cells:
        if cell["cell_type"] == "code" and _CALL in cell["source"]:
            text = "".join(out["text"] for out in cell["outputs"] if out.get("name") == "stdout")
            found += _PRINTED.findall(text)
    twice = sorted(name for name, times in Counter(name for name, _ in found).items() if times > 1)
    if twice:
        raise ValueError(f"two numbers of the answers have one name: {', '.join(twice)}. Rename one.")
    return dict(found)


def fill(cells: Iterable[dict], numbers: Mapping[str, str]) -> None:
    """Put the numbers into the Markdown cells, in place.

    Raises:
        ValueError: a place names no number, or a number has no place.
    """
    used, unknown = set(), []

    def number(match: re.Match) -> str:
        name = match[1]
        used.add(name)
        if name not in numbers:
            unknown.append(name)
        return numbers.get(name, match[0])

    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = _PLACE.sub(number, cell["source"])
    if unknown:
        raise ValueError(f"the text asks for {', '.join(sorted(set(unknown)))}, and no cell prints such a number.")
    idle = sorted(set(numbers) - used)
    if idle:
        raise ValueError(f"a cell prints {', '.join(idle)}, and no text uses it. Use it, or print it without a name.")
