"""The output of ``show_measured`` as it is stored: its table, what a text may quote, and how a later run compares."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from companion.book.table import as_html, as_text

MEASURED = "application/vnd.companion.measured+json"
"""The type of the entry of an output that holds the values and their tolerances."""
_WORDS = {math.inf: "∞", -math.inf: "−∞"}
_KINDS = {"within": "within {}", "within_factor": "within a factor of {}"}
_SLACK = 1e-9  # of a tolerance: 0.1 + 0.2 is within 0.3

Number = int | float
Value = int | float | str
"""A number, or the name of one that is not finite, which JSON does not have: ``nan``, ``inf``, ``-inf``."""
Leaf = Value | list[Value]


class Measured:
    """The numbers of an output, with what they are called, their unit and their tolerances."""

    def __init__(self, data: Mapping) -> None:
        self.data = data

    def __repr__(self) -> str:
        """Write the table in plain text, each column as wide as its widest entry."""
        return f"{as_text(_table(self.data))}\n{note(self.data)}"

    def bundle(self) -> dict:
        """Give the data of the output: for Jupyter and the site, for plain text, and for the comparison."""
        shown = as_html(_table(self.data), head=bool(_heads(self.data)))
        shown += f'\n<p class="measured-note">{escape(note(self.data))}</p>'
        return {MEASURED: self.data, "text/html": shown, "text/plain": repr(self)}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict:
        return self.bundle()


def note(data: Mapping) -> str:
    """Say in a line what the numbers are, and how far another machine may differ."""
    bounds = [(where, kind, bound) for kind in _KINDS for where, bound in sorted(data[kind].items())]
    texts = [(where, _KINDS[kind].format(number_text(bound)) if bound else "equal") for where, kind, bound in bounds]
    named = [f"{where} {text}" for where, text in texts if where]
    said = named + [f"all else {text}" if named else text for where, text in texts if not where]
    first = f"{data['unit']}. " if data["unit"] else ""
    return f"{first}On another machine: {', '.join(said)}."


def differences(stored: Mapping, fresh: Mapping) -> list[str]:
    """Say where the numbers of a later run are not those that were stored, within the stored tolerance."""
    keys = sorted({*stored, *fresh} - {"values"})
    found = [f"{key} is {stored.get(key)}, and in a run {fresh.get(key)}" for key in keys
             if stored.get(key) != fresh.get(key)]  # fmt: skip
    was, now = ({path: as_list(leaf) for path, leaf in leaves(data)} for data in (stored, fresh))
    shapes = [[(", ".join(path), len(leaf)) for path, leaf in numbers.items()] for numbers in (was, now)]
    if shapes[0] != shapes[1]:
        found.append(f"it has the names and lengths {shapes[0]}, and in a run {shapes[1]}")
    if found:
        return found
    for path, leaf in was.items():
        kind, bound = tolerance(stored, path)
        if not all(_agree(a, b, kind, bound) for a, b in zip(leaf, now[path], strict=True)):
            how = _KINDS[kind].format(bound)
            found.append(f"{', '.join(path)}: it has {leaf}, and a run gives {now[path]}, which is not {how}")
    return found


def _agree(stored: Value, fresh: Value, kind: str, bound: Number) -> bool:
    if isinstance(stored, str) or isinstance(fresh, str):
        return stored == fresh
    if kind == "within":
        return abs(stored - fresh) <= bound * (1 + _SLACK)
    return max(stored, fresh) <= bound * (1 + _SLACK) * min(stored, fresh)


def quotes(data: Mapping) -> dict[str, str]:
    """Give what a text may quote: name -> number as it is shown; of a list also its least, most and mean."""
    found = {}
    for path, leaf in leaves(data):
        place, digits = f"{data['name']}: {', '.join(path)}", digits_of(data, path)
        texts = [number_text(one, digits) for one in as_list(leaf)]
        found[place] = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
        numbers = [float(one) for one in as_list(leaf)]
        if isinstance(leaf, list):
            summary = {"least": min(numbers), "most": max(numbers), "mean": sum(numbers) / len(numbers)}
            found |= {f"{place}, {what}": number_text(number, digits) for what, number in summary.items()}
            found |= {f"{place}, {column}": text for column, text in zip(data["columns"], texts, strict=False)}
    return found


def leaves(data: Mapping) -> list[tuple[tuple[str, ...], Leaf]]:
    """List each value behind the names of its row and, where there is one, its column."""
    return [(tuple(path), leaf) for path, leaf in data.get("values", [])]


def tolerance(data: Mapping, path: Sequence[str]) -> tuple[str, Number]:
    """Find the kind of a value's tolerance, and the tolerance: one that names its row or column, else that of all.

    Raises:
        ValueError: there is none, or there are several.
    """
    named = [(kind, data[kind][one]) for kind in _KINDS for one in path if one in data[kind]]
    found = named or [(kind, data[kind][""]) for kind in _KINDS if "" in data[kind]]
    if len(found) != 1:
        raise ValueError(
            f"{', '.join(path)}: each value has one tolerance: got {len(found)}. State how far another machine may "
            "differ, by within or within_factor."
        )
    return found[0]


def digits_of(data: Mapping, path: Sequence[str]) -> int | None:
    """Find the decimals of a value, as its tolerance; None where none are given.

    Raises:
        ValueError: both its row and its column name some.
    """
    named = [data["digits"][one] for one in path if one in data["digits"]]
    if len(named) > 1:
        raise ValueError(
            f"{', '.join(path)}: a value has one number of digits: got {named}. Name its column or its row."
        )
    return named[0] if named else data["digits"].get("")


def as_list(leaf: Leaf) -> list:
    """Give the numbers of a value."""
    return leaf if isinstance(leaf, list) else [leaf]


def number_text(value: Value, digits: int | None = None) -> str:
    """Write a number as a reader sees it: with separators and a true minus."""
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if number in _WORDS:
        return _WORDS[number]
    if digits is not None:
        text = f"{number:,.{digits}f}"
    elif isinstance(value, int) or abs(number) >= 1000:
        text = f"{number:,.0f}"
    else:
        text = f"{number:.3g}"
    return text.replace("-", "−")


def _heads(data: Mapping) -> list[str]:
    """Name the columns, if they have names."""
    return list(dict.fromkeys(path[1] for path, _ in leaves(data) if len(path) > 1)) or data["columns"]


def _table(data: Mapping) -> list[list[str]]:
    """Write all cells: a row with the columns' names, if they have names, and a row for each row, equally long."""
    rows: dict[str, list[str]] = {"": _heads(data)}
    for path, leaf in leaves(data):
        texts = [number_text(one, digits_of(data, path)) for one in as_list(leaf)]
        rows.setdefault(path[0], []).extend([", ".join(texts)] if len(path) > 1 else texts)
    width = max(map(len, rows.values()))
    table = [[row, *texts, *[""] * (width - len(texts))] for row, texts in rows.items()]
    return table if _heads(data) else table[1:]
