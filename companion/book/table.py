"""A table that a cell computes: text in a notebook, and on the site columns that scroll in a box of their own."""

from collections.abc import Mapping, Sequence
from html import escape


class Table:
    """Rows by their names, each with an entry for each column.

    >>> Table({"GPT-2": {"layers": 12, "width": 768}, "GPT-2 XL": {"layers": 48, "width": "1,600"}})
              layers  width
    GPT-2         12    768
    GPT-2 XL      48  1,600

    Args:
        rows: the entries of each row by the names of the columns, the same in each.

    Raises:
        ValueError: there is no row, two rows have other columns, or an entry is ``None``.
    """

    def __init__(self, rows: Mapping[str, Mapping[str, object]]) -> None:
        heads = {tuple(row) for row in rows.values()}
        if len(heads) != 1:
            raise ValueError(
                f"all rows of a table have the same columns: got {sorted(heads)}. Pass an empty text where one has "
                "nothing."
            )
        (head,) = heads
        gone = [f"{column!r} of {name!r}" for name, row in rows.items() for column in head if row[column] is None]
        if gone:
            raise ValueError(
                f"each entry of a table is a value: got None for {', '.join(gone)}. Pass what it stands for, or "
                "an empty text."
            )
        self.lines = [["", *head], *([name, *map(str, row.values())] for name, row in rows.items())]

    def __repr__(self) -> str:
        """Write it in plain text."""
        return as_text(self.lines)

    def _repr_html_(self) -> str:
        return as_html(self.lines, kind="measured computed")


def as_text(lines: Sequence[Sequence[str]]) -> str:
    """Write lines of cells in plain text, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(cells))
        for cells in (list(zip(line, widths, strict=True)) for line in lines)
    )
    return "\n".join(line.rstrip() for line in padded)


def as_html(lines: Sequence[Sequence[str]], head: bool = True, kind: str = "measured") -> str:
    """Write lines of cells as a table of a kind; their first cells name them, and the first line names the columns."""
    names, *table = [[escape(cell) for cell in line] for line in (lines if head else [[], *lines])]
    top = "".join(f'<th scope="col">{cell}</th>' for cell in names[1:])
    top = ["<thead>", f"<tr><td></td>{top}</tr>", "</thead>"] if head else []
    cells = (f'<th scope="row">{line[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in line[1:]) for line in table)
    body = [f"<tr>{line}</tr>" for line in cells]
    return "\n".join([f'<table class="{kind}">', *top, "<tbody>", *body, "</tbody>", "</table>"])
