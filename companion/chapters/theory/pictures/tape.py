"""A decoder that finds the cell of a tape in its own history."""

from collections.abc import Sequence

from companion.pictures import SMALL, Canvas, picture

CELLS, WRITTEN = (0, 1, 0, -1, 0), ("1", "_", "0", "1", "")
"""Where the head is in five tokens of the counter that is given the number 1, and what each token writes there."""


@picture
def tape_in_history(wide: bool, cells: Sequence[int] = CELLS, written: Sequence[str] = WRITTEN) -> Canvas:
    """Draw tokens with the cell of each, and which one the last token reads.

    Args:
        cells: of the head, one a token.
        written: the symbol of each token; the last one has none yet.

    Returns:
        The picture.
    """
    n, here = len(cells), cells[-1]
    same = [i for i in range(n - 1) if cells[i] == here]
    found = same[-1]
    tape = dict(zip(cells[:-1], written[:-1], strict=True))
    labels = {
        "title": "A tape in the history of a decoder",
        "desc": (
            f"A row of {n} tokens with the cell of the tape that each of them visited: {', '.join(map(str, cells))}. "
            f"Below stands what each wrote: {', '.join(written[:-1])}; the last has not written yet. It is above cell "
            f"{here}, which tokens {' and '.join(str(i + 1) for i in same)} visited before. An arrow leads from it to "
            f"the later of them, token {found + 1}, so it reads {written[found]}. At the bottom is the tape that this "
            f"history stands for: {', '.join(tape[cell] for cell in sorted(tape))}."
        ),
        "token": "token",
        "cell": "cell",
        "wrote": "wrote",
        "looks": "last visit to this cell",
        "tape": "tape",
    }
    c = Canvas("tape-in-history", wide, 288, labels["title"], labels["desc"])
    left, size = (120, 96) if wide else (56, 52)
    for y, name in ((72, "token"), (104, "cell"), (136, "wrote")):
        c.text(left - 12, y + 16, labels[name], SMALL, "end", "muted")
    c.vector(left, 72, [str(i + 1) for i in range(n)], "soft", size, 32)
    c.vector(left, 104, list(cells), "ink", size, 32)
    c.vector(left, 136, list(written), "ink", size, 32)
    start, end = (left + (i + 0.5) * size for i in (n - 1, found))
    c.arrow((start, 70), (start, 40), (end, 40), (end, 70), tone="attention", width=2.5)
    c.text((start + end) / 2, 20, labels["looks"], SMALL, tone="attention")
    frame = f'x="{left + found * size - 2}" y="134" width="{size + 4}" height="36" rx="4"'
    c.add(f'<rect {frame} class="f-line f-attention f-bold"/>')
    order = sorted(tape)
    c.text(left - 12, 240, labels["tape"], SMALL, "end", "muted")
    c.vector(left, 224, [tape[cell] for cell in order], "ink", size, 32)
    at = left + (order.index(here) + 0.5) * size
    c.arrow((at, 196), (at, 222))
    for k, cell in enumerate(order):
        c.text(left + (k + 0.5) * size, 272, str(cell), SMALL, tone="muted")
    return c
