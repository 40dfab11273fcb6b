"""What a cell found about a claim, case by case, and the table that shows it: what ``check_claim`` is made of."""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from companion.book.measured_output import MEASURED, as_list, leaves, note, number_text, tolerance
from companion.book.model import Claim

EXPECTED = {
    "holds": {"inside": True},
    "holds-with-conditions": {"inside": True, "outside": False},
    "wrong": {"inside": False},
    "outdated": {"inside": False},
}
"""Whether the statement must be true in the cases, by verdict. No measurement settles the other verdicts."""
OUTCOMES = {True: "holds", False: "fails", None: "undecided"}
SIDES = {"inside": "Inside the conditions", "outside": "Outside them"}
WIDTH, MOST = 88, 8

Value = int | float | str
Values = dict[str, tuple[Value, ...]]
"""The numbers of a case by their names; a single number has the name ``""``."""


class ClaimError(AssertionError):
    """A measurement that disagrees with the ledger's verdict."""


@dataclass(frozen=True)
class Row:
    """One case: its name, its side of the conditions, whether the statement is true, what was measured.

    ``true`` is ``None`` where the case decides nothing, as a tie of runs that all failed. ``clear`` says that the
    statement is as true, or as false, of all values within the tolerance.
    """

    name: str
    side: str
    true: bool | None
    values: Values
    clear: bool = True

    def __str__(self) -> str:
        return f"{self.name} ({self.side}): {self.text}, so it is {OUTCOMES[None] if self.true is None else self.true}"

    @property
    def text(self) -> str:
        """The values in a line."""
        return "; ".join(f"{name} {texts(values)}".strip() for name, values in self.values.items())


def truth(name: str, value: object) -> bool | None:
    """Take one bool of Python, NumPy or PyTorch, or ``None`` for ``"undecided"``; all else is an oversight.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(value, str) and value == OUTCOMES[None]:
        return None
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
    """Write values as a reader sees them."""
    return ", ".join(one if isinstance(one, str) else number_text(one) for one in values)


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
    """Measure each case of a side and ask whether the statement is true there, and in the whole tolerance.

    Raises:
        ValueError: a value or an answer is not what it must be.
    """
    for name, case in cases.items():
        value = measure(case)
        true = truth(f"says, for {name!r},", says(value))
        others = nudged(value, within) if within is not None else ()
        yield Row(name, side, true, values_of(name, value), all(truth(name, says(other)) == true for other in others))


@dataclass(frozen=True)
class Result:
    """How a claim is settled: its verdict and basis, what was measured in which cases, what is right, the tolerance.

    ``part`` is the text of a part, which the page does not say otherwise.
    """

    verdict: str
    basis: str
    part: str = ""
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    within: Mapping[str, float | int] | None = None

    @classmethod
    def of(
        cls, claim: Claim, rows: Sequence[Row] = (), evidence: str = "", within: float | int | Mapping | None = None
    ) -> "Result":
        """Make the result of a claim from its entry in the ledger.

        Raises:
            ValueError: a value has no tolerance while others have one.
        """
        right = {"Conditions": claim.conditions, "Right is": claim.correct}
        notes = [f"{word}: {text}" for word, text in right.items() if text] + [evidence] * bool(evidence)
        named = within if isinstance(within, Mapping) or within is None else {"": within}
        part = " ".join(claim.claim.split()) if "/" in claim.id else ""
        lines = tuple(" ".join(note.split()) for note in notes)
        made = cls(claim.verdict, claim.basis, part, tuple(rows), lines, named)
        if within is not None:
            for path, _ in leaves(made.data()):
                tolerance(made.data(), path)
        return made

    @classmethod
    def read(cls, data: Mapping) -> "Result":
        """Make a result from the data of a stored output."""
        said, values = data["claim"], {}
        for (case, *name), leaf in leaves(data):
            values.setdefault(case, {})["".join(name)] = tuple(as_list(leaf))
        rows = tuple(Row(case, *said["cases"][case], found) for case, found in values.items())
        return cls(said["verdict"], said["basis"], said["part"], rows, tuple(said["notes"]), data["within"])

    def data(self) -> dict:
        """Give the values with their tolerances, as ``measured_output`` compares them, and all else to the letter."""
        values = [
            [[row.name, name] if name else [row.name], [*map(_stored, found)] if len(found) > 1 else _stored(found[0])]
            for row in self.rows
            for name, found in row.values.items()
        ]
        cases = {row.name: [row.side, row.true] for row in self.rows}
        said = {"verdict": self.verdict, "basis": self.basis, "part": self.part, "notes": [*self.notes]}
        said["cases"] = cases
        rest = {"within_factor": {}, "digits": {}, "unit": "", "columns": [], "name": ""}
        return {"values": values, "within": dict(self.within), "claim": said, **rest}

    def bundle(self) -> dict:
        """Give the data of the output: for Jupyter and the site, for plain text, and for the comparison."""
        found = {"text/html": self.html(), "text/plain": repr(self)}
        return found if self.within is None else {MEASURED: self.data(), **found}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict:
        return self.bundle()

    def lines(self) -> list[str]:
        """Give what stands below the table, a line each: what is right, the evidence, the tolerance."""
        return [*self.notes] + ([note(self.data())] if self.within is not None else [])

    def table(self) -> tuple[list[str], list[tuple[str, list[list[str]]]]]:
        """Give the names of the columns, and for each side of the conditions its rows as texts."""
        names = list(self.rows[0].values)
        cells = {
            row.name: [row.name, *(texts(row.values[name]) for name in names), OUTCOMES[row.true]] for row in self.rows
        }
        sides = dict.fromkeys(row.side for row in self.rows)
        head = ["Case", *(name or "Measured" for name in names), "The claim"]
        return head, [(side, [cells[row.name] for row in self.rows if row.side == side]) for side in sides]

    def __repr__(self) -> str:
        """Write the table and the verdict in plain text."""
        lines = [self.part] if self.part else []
        if self.rows:
            head, sides = self.table()
            all_rows = [head, *(row for _, rows in sides for row in rows)]
            widths = [max(map(len, column)) for column in zip(*all_rows, strict=True)]
            for side, rows in (("", [head]), *sides):
                lines += [SIDES[side]] if len(sides) > 1 and side else []
                padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
                lines += ["  ".join(row).rstrip() for row in padded]
        lines.append(f"{self.verdict.replace('-', ' ').capitalize()}, {self.basis}.")
        for line in self.lines():
            lines += textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n".join(lines)

    def html(self) -> str:
        """Write the same for Jupyter and the site."""
        lines = ['<div class="claim-result">', *([f"<p><em>{escape(self.part)}</em></p>"] if self.part else [])]
        if self.rows:
            head, sides = self.table()
            cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
            lines += ['<table class="claim-cases">', f"<thead><tr>{cells}</tr></thead>"]
            for side, rows in sides:
                lines.append("<tbody>")
                if len(sides) > 1:
                    lines.append(f'<tr class="side"><th colspan="{len(head)}" scope="rowgroup">{SIDES[side]}</th></tr>')
                lines += [*(_html_row(head, row) for row in rows), "</tbody>"]
            lines.append("</table>")
        badge = f'<span class="verdict verdict-{self.verdict}">{self.verdict.replace("-", " ")}</span>'
        lines.append(f'<p>{badge} · <span class="basis">{self.basis}</span></p>')
        return "\n".join([*lines, *(f"<p>{escape(line)}</p>" for line in self.lines()), "</div>"])


def _stored(value: Value) -> Value:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _html_row(head: list[str], row: list[str]) -> str:
    cells = "".join(
        f'<td data-name="{escape(name)}">{escape(text)}</td>' for name, text in zip(head[1:], row[1:], strict=True)
    )
    return f'<tr class="{row[-1]}"><th scope="row">{escape(row[0])}</th>{cells}</tr>'
