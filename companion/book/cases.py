"""What a cell found about a claim, case by case, and the table that shows it: what ``check_claim`` is made of."""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape

from companion.book.model import Claim

EXPECTED = {
    "holds": {"inside": True},
    "holds-with-conditions": {"inside": True, "outside": False},
    "wrong": {"inside": False},
    "outdated": {"inside": False},
}
"""Whether the statement must be true in the cases, by verdict. No measurement settles the other verdicts."""
SIDES = {"inside": "Inside the conditions", "outside": "Outside them"}
MEASURED = "application/vnd.companion.measured+json"
"""The type under which an output holds values with a tolerance, for the comparison with a later run."""
WIDTH, MOST = 88, 8

Value = int | float | str
Values = dict[str, tuple[Value, ...]]
"""The numbers of a case by their names; a single number has the name ``""``."""


class ClaimError(AssertionError):
    """A measurement that disagrees with the ledger's verdict."""


@dataclass(frozen=True)
class Row:
    """One case: its name, on which side of the conditions it lies, what was measured, whether the statement is true."""

    name: str
    side: str
    values: Values
    true: bool

    def __str__(self) -> str:
        return f"{self.name} ({self.side}): {self.text or 'nothing'}, so it is {self.true}"

    @property
    def text(self) -> str:
        """The values in a line."""
        return "; ".join(f"{name} {texts(values)}".strip() for name, values in self.values.items())


def truth(name: str, value: object) -> bool:
    """Take one bool of Python, NumPy or PyTorch; a number or an array is an oversight.

    Raises:
        ValueError: it is something else.
    """
    shape = getattr(value, "shape", ())
    if isinstance(value, bool) or (shape == () and str(getattr(value, "dtype", "")) in ("bool", "torch.bool")):
        return bool(value)
    got = type(value).__name__ + (f" of shape {tuple(shape)}" if hasattr(value, "shape") else "")
    raise ValueError(f"{name} is one truth value: got {got}. Compare, then reduce with .all() or .any().")


def values_of(where: str, value: object) -> Values:
    """Read what a measurement returned: a number, a short text, a list of these, or a mapping from names to such.

    Raises:
        ValueError: it is something else, not finite, or too much for a reader.
    """
    named = value if isinstance(value, Mapping) else {"": value}
    found = {str(name): tuple(_value(where, one) for one in _list(entry)) for name, entry in named.items()}
    if not 1 <= sum(map(len, found.values())) <= MOST:
        raise ValueError(
            f"{where}: a case has 1 to {MOST} numbers: got {sum(map(len, found.values()))}. Reduce them to those that "
            "decide."
        )
    return found


def _list(entry: object) -> list:
    if hasattr(entry, "tolist"):  # of torch or NumPy
        entry = entry.tolist()
    return [*entry] if isinstance(entry, list | tuple) else [entry]


def _value(where: str, value: object) -> Value:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: a value is a number: got {value!r}. Show the numbers that decide, not a truth.")
    if not math.isfinite(value):
        raise ValueError(f"{where}: a value is finite: got {value}. Return a text that says what happened.")
    return value


def texts(values: tuple[Value, ...]) -> str:
    """Write numbers as a reader sees them: three digits that count, separators, a true minus."""
    return ", ".join(one if isinstance(one, str) else _text(one) for one in values)


def _text(number: float) -> str:
    whole = isinstance(number, int) or abs(number) >= 1000
    return (f"{number:,.0f}" if whole else f"{number:.3g}").replace("-", "−")


def nudged(value: object, within: float | int | Mapping) -> Iterator[object]:
    """Yield a value with one of its numbers moved by its tolerance, up and down: what another machine may give."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            tolerance = within.get(name, 0) if isinstance(within, Mapping) else within
            yield from ({**value, name: moved} for moved in nudged(entry, tolerance))
    elif isinstance(value, list | tuple):
        for place, entry in enumerate(value):
            yield from ((*value[:place], moved, *value[place + 1 :]) for moved in nudged(entry, within))
    elif not isinstance(value, str) and not isinstance(within, Mapping):
        yield from (value - within, value + within)


def rows(
    side: str,
    cases: Mapping[str, object],
    measure: Callable[[object], object],
    says: Callable[[object], object],
    within: float | int | Mapping | None,
) -> Iterator[Row]:
    """Measure each case of a side and ask whether the statement is true there.

    Raises:
        ValueError: a value or an answer is not what it must be, or the answer changes within the tolerance.
    """
    for name, case in cases.items():
        value = measure(case)
        true = truth(f"says, for {name!r},", says(value))
        if within is not None and any(bool(says(other)) != true for other in nudged(value, within)):
            raise ValueError(
                f"{name}: the statement is {true} of {Row(name, side, values_of(name, value), true).text}, but not of "
                f"all values within {within}. Measure more, or choose a case that is clear."
            )
        yield Row(name, side, values_of(name, value), true)


@dataclass(frozen=True)
class Result:
    """How a claim is settled: the cases and what was measured there, or the source; the verdict, and what is right."""

    claim: Claim
    rows: tuple[Row, ...] = ()
    evidence: str = ""
    within: float | int | Mapping | None = None

    def notes(self) -> list[str]:
        """Say what follows the table, a line each: what is right, the evidence, the tolerance."""
        notes = [
            f"{word}: {text}"
            for word, text in (("Conditions", self.claim.conditions), ("Right is", self.claim.correct))
            if text
        ]
        notes += [self.evidence] if self.evidence else []
        if isinstance(self.within, Mapping):
            notes.append(
                f"On another machine: {', '.join(f'{key} within {one:g}' for key, one in self.within.items())}."
            )
        elif self.within is not None:
            notes.append(f"On another machine: within {self.within:g}.")
        return [" ".join(note.split()) for note in notes]

    def table(self) -> tuple[list[str], list[tuple[str, list[list[str]]]]]:
        """Give the names of the columns, and for each side of the conditions its rows as texts."""
        names = list(self.rows[0].values)
        head = ["Case", *(name or "Measured" for name in names), "The claim"]
        sides = [
            (
                side,
                [
                    [row.name, *(texts(row.values[name]) for name in names), "holds" if row.true else "fails"]
                    for row in self.rows
                    if row.side == side
                ],
            )
            for side in dict.fromkeys(row.side for row in self.rows)
        ]
        return head, sides

    def __repr__(self) -> str:
        """Write the table and the verdict in plain text."""
        lines = []
        if self.rows:
            head, sides = self.table()
            widths = [
                max(map(len, column)) for column in zip(head, *(row for _, rows in sides for row in rows), strict=True)
            ]
            for side, rows in (("", [head]), *sides):
                lines += [SIDES[side]] if len(sides) > 1 and side else []
                lines += [
                    "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                    for row in rows
                ]
        lines.append(f"{self.claim.verdict.replace('-', ' ').capitalize()}, {self.claim.basis}.")
        for note in self.notes():
            lines += textwrap.wrap(note, WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n".join(lines)

    def html(self) -> str:
        """Write the same for Jupyter and the site."""
        lines = ['<div class="claim-result">']
        if self.rows:
            head, sides = self.table()
            cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
            lines += ['<table class="claim-cases">', f"<thead><tr>{cells}</tr></thead>"]
            for side, rows in sides:
                lines.append("<tbody>")
                if len(sides) > 1:
                    lines.append(f'<tr class="side"><th colspan="{len(head)}" scope="rowgroup">{SIDES[side]}</th></tr>')
                lines += [_html_row(head, row) for row in rows]
                lines.append("</tbody>")
            lines.append("</table>")
        verdict = self.claim.verdict
        badge = f'<span class="verdict verdict-{verdict}">{verdict.replace("-", " ")}</span>'
        lines.append(f'<p>{badge} · <span class="basis">{self.claim.basis}</span></p>')
        return "\n".join([*lines, *(f"<p>{escape(note)}</p>" for note in self.notes()), "</div>"])

    def data(self) -> dict:
        """Give the values and their tolerances as the comparison with a later run takes them."""
        within = self.within if isinstance(self.within, Mapping) else {"": self.within}
        values = {}
        for row in self.rows:
            leaves = {
                name: [*map(_stored, one)] if len(one) > 1 else _stored(one[0]) for name, one in row.values.items()
            }
            values[row.name] = leaves.get("", leaves)
        return {
            "values": values,
            "within": dict(within),
            "factor": {},
            "digits": {},
            "unit": "",
            "columns": [],
            "name": "",
        }

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict:
        found = {"text/html": self.html(), "text/plain": repr(self)}
        return found if self.within is None else {MEASURED: self.data(), **found}


def _stored(value: Value) -> Value:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _html_row(head: list[str], row: list[str]) -> str:
    cells = "".join(
        f'<td data-name="{escape(name)}">{escape(text)}</td>' for name, text in zip(head[1:], row[1:], strict=True)
    )
    return f'<tr class="{row[-1]}"><th scope="row">{escape(row[0])}</th>{cells}</tr>'
