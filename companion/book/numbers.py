"""Numbers in the text of a notebook: what ``companion.book.glue_number`` printed goes where its name stands.

A source holds ``{{kv-7b}}`` in its Markdown. The executed notebook holds the printed number in its place, so that a
number in an answer is always the one that a cell of the same page computed. Of a table of ``show_measured`` that has a
name it holds ``{{trained-lookup: after, least}}``, and the text quotes what is stored.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from companion.book.measured_output import MEASURED, quotes

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


def measured_numbers(cells: Iterable[Mapping]) -> dict[str, str]:
    """Collect what a text may quote of the tables that have a name: name of the number -> number as it is shown.

    Raises:
        ValueError: two tables have one name.
    """
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    named = [data[MEASURED] for data in outputs if data.get(MEASURED, {}).get("name")]
    shared = sorted(name for name, times in Counter(one["name"] for one in named).items() if times > 1)
    if shared:
        raise ValueError(f"two tables of measured numbers have one name: {', '.join(shared)}. Rename one.")
    return {place: number for one in named for place, number in quotes(one).items()}


def fill(cells: Iterable[dict], numbers: Mapping[str, str], measured: Mapping[str, str]) -> None:
    """Put the numbers into the Markdown cells, in place.

    Args:
        cells: of a notebook.
        numbers: what ``glue_number`` printed.
        measured: what the tables of measured numbers hold, by table, row and column.

    Raises:
        ValueError: a place names no number, or a printed number or a named table has no place.
    """
    used, unknown, known = set(), [], {**numbers, **measured}

    def number(match: re.Match) -> str:
        name = match[1]
        used.add(name)
        if name not in known:
            unknown.append(name)
        return known.get(name, match[0])

    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = _PLACE.sub(number, cell["source"])
    if unknown:
        there = f" The tables have {'; '.join(measured)}." if measured else ""
        raise ValueError(
            f"the text asks for {', '.join(sorted(set(unknown)))}, and no cell prints such a number.{there}"
        )
    idle = sorted(set(numbers) - used)
    if idle:
        raise ValueError(f"a cell prints {', '.join(idle)}, and no text uses it. Use it, or print it without a name.")
    unquoted = sorted({place.split(":")[0] for place in measured} - {place.split(":")[0] for place in used})
    if unquoted:
        raise ValueError(
            f"the measured numbers {', '.join(unquoted)} have a name, and no text quotes them. Leave it out."
        )
