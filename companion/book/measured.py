"""Numbers that differ between machines: a cell shows them with a tolerance, and a later run is compared within it.

What was trained or timed is not the same to the last digit on another processor. :func:`show_measured` writes such
numbers as a table, says below it how far another machine may differ, and stores both in the output
(``companion.book.measured_output``). ``make notebooks`` keeps the stored numbers as long as a new run agrees with them
within the tolerance, and the tests of the notebooks fail where it does not.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from companion.book.measured_output import Leaf, Measured, Number, Value, as_list, digits_of, leaves, tolerance

__all__ = ["show_measured"]

_RULES = {
    "within": ("a number, 0 or above", lambda value: 0 <= value < math.inf),
    "within_factor": ("a number above 1", lambda value: 1 < value < math.inf),
    "digits": ("a whole number from 0 to 12", lambda value: 0 <= value <= 12),
}
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def show_measured(
    values: Mapping,
    *,
    within: int | float | Mapping | None = None,
    within_factor: int | float | Mapping | None = None,
    unit: str = "",
    digits: int | Mapping | None = None,
    columns: Sequence[str] = (),
    name: str = "",
    finite: bool = True,
) -> None:
    """Show numbers that another machine gives a little differently, in a table with their tolerance.

    The cell carries the tag ``nbval-ignore-output``. Fix the tolerance before you look at a second machine.

    >>> show_measured({"before": [11.2, 9.1], "after": [98.7, 99.1]}, within=3, unit="% right", digits=1)
    before  11.2   9.1
    after   98.7  99.1
    % right. On another machine: within 3.

    Args:
        values: the rows by their names: each a number, numbers in a list, tensor or array with one axis, or again a
            mapping of such by the names of the columns, the same in each row.
        within: the largest difference. One number, or a mapping from names of rows or of columns; 0 means equal.
        within_factor: the largest ratio, in either direction, above 1; for positive numbers. As ``within``. Each value
            has one tolerance: a single number holds for all that no mapping names.
        unit: of all values, shown below the table.
        digits: decimals, one number or a mapping as for ``within``; without it, three digits that count.
        columns: the names of the columns, where the rows are lists.
        name: lower-case words joined by hyphens, by which the text of the page quotes the numbers.
        finite: False lets NaN and the infinities through, which must then be the same on every machine.

    Raises:
        ValueError: a value is no number, or not finite; a value has no tolerance, or two; a name fits no row or column.
    """
    rows = {_name(key): _row(key, value, finite=finite) for key, value in _mapping("values", values).items()}
    if len(rows) != len(values):
        raise ValueError(f"rows have names of their own: got {list(map(str, values))}. Rename one.")
    _check_columns(rows, columns)
    if name and not _NAME.fullmatch(name):
        raise ValueError(f"name is lower-case words joined by hyphens: got {name!r}. Write trained-lookup.")
    options = {"within": within, "within_factor": within_factor, "digits": digits}
    data = {"values": list(_flat(rows)), "unit": unit, "columns": list(columns), "name": name}
    data |= {what: _by_name(rows, what, given) for what, given in options.items()}
    for path, leaf in leaves(data):
        digits_of(data, path)
        kind, _ = tolerance(data, path)
        if kind == "within_factor" and any(isinstance(one, str) or one <= 0 for one in as_list(leaf)):
            raise ValueError(f"{', '.join(path)}: a ratio compares positive numbers: got {leaf}. Use within.")
    from IPython.display import display  # a notebook has it; the site does without

    display(Measured(data))


def _mapping(what: str, given: object) -> Mapping:
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{what} is a mapping from names to numbers: got {given!r}. Give each row a name.")
    return given


def _name(key: object) -> str:
    """Take a text or a number, such as a length, as a name."""
    text = str(key).strip()
    if isinstance(key, bool) or not isinstance(key, str | int | float) or not text or "\n" in text:
        raise ValueError(f"a name is a line of text or a number: got {key!r}. Say what the row or column holds.")
    return text


def _flat(rows: Mapping) -> Iterator[list]:
    """Yield each value behind the names of its row and, where there is one, its column."""
    for row, value in rows.items():
        if isinstance(value, dict):
            yield from ([[row, column], leaf] for column, leaf in value.items())
        else:
            yield [[row], value]


def _row(key: object, value: object, *, finite: bool) -> Leaf | dict[str, Leaf]:
    if isinstance(value, Mapping):
        return {_name(one): _leaf(f"{key}, {one}", x, finite=finite) for one, x in _mapping(str(key), value).items()}
    return _leaf(str(key), value, finite=finite)


def _leaf(where: str, value: object, *, finite: bool) -> Leaf:
    if hasattr(value, "tolist"):  # of torch or NumPy
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return _number(where, value, finite=finite)
    if not value:
        raise ValueError(f"{where}: a list has a number or more: got an empty one. Leave it out.")
    return [_number(where, one.tolist() if hasattr(one, "tolist") else one, finite=finite) for one in value]


def _number(where: str, value: object, *, finite: bool) -> Value:
    if isinstance(value, list | tuple | Mapping):
        raise ValueError(f"{where}: a value is a number or a list of numbers: got {value!r}. Give each row a name.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: a value is a number: got {value!r}. Show what was measured, not a verdict on it.")
    if not math.isfinite(value):
        if finite:
            raise ValueError(f"{where}: a value is finite: got {value}. Where it must not be, set finite=False.")
        return str(value)
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _check_columns(rows: Mapping, columns: Sequence[str]) -> None:
    """Refuse rows of which some have named columns and others not, or other ones."""
    nested = [list(row) if isinstance(row, dict) else None for row in rows.values()]
    if any(one != nested[0] for one in nested):
        raise ValueError(f"all rows have the same columns, in one order: got {list(rows.items())}. Show two tables.")
    lengths = {len(row) if isinstance(row, list) else 0 for row in rows.values()}
    if columns and (isinstance(columns, str) or lengths != {len(columns)}):
        raise ValueError(
            f"columns names each number of a row that is a list: got {columns!r} for {list(rows.values())}."
        )


def _by_name(rows: Mapping, what: str, given: object) -> dict[str, Number]:
    """Write one number as ``{"": number}``, and names as text; refuse a name that no row and no column has."""
    if given is None:
        return {}
    named = {_name(key): value for key, value in given.items()} if isinstance(given, Mapping) else {"": given}
    known = {"", *rows, *(column for row in rows.values() if isinstance(row, dict) for column in row)}
    if unknown := sorted(set(named) - known):
        raise ValueError(
            f"{what} names rows or columns: got {', '.join(unknown)}, and there are {sorted(known - {''})}."
        )
    for value in named.values():
        number = not isinstance(value, bool) and isinstance(value, int if what == "digits" else int | float)
        rule, fits = _RULES[what]
        if not number or not fits(value):
            raise ValueError(f"{what} is {rule}: got {value!r}. Use one number, or one for each name.")
    return dict(sorted(named.items()))  # as a stored notebook has them
