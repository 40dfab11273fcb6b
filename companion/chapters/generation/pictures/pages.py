"""The drawn picture of a page table."""

from collections.abc import Mapping, Sequence

from companion.pictures import SMALL, TITLE, Canvas, Number, picture

LENGTHS, TABLES = {"A": 7, "B": 5}, {"A": (0, 2), "B": (3, 5)}
"""Positions of two sequences, and the pages of the pool in which they lie."""
LIMIT, SIZE, PAGES = 12, 4, 6


@picture
def page_table(
    wide: bool, lengths: Mapping[str, int] = LENGTHS, tables: Mapping[str, Sequence[int]] = TABLES
) -> Canvas:
    """Draw two sequences in contiguous caches and in a pool of pages.

    Args:
        lengths: of two sequences, at most twelve positions each.
        tables: the pages of each, of four positions: the first sequence has two of 0 to 2, the second two of 3 to 5.

    Returns:
        The picture.

    Raises:
        ValueError: a sequence does not fill its two pages as said.
    """
    rows = {"A": range(3), "B": range(3, 6)}
    if any(not SIZE < lengths[k] <= 2 * SIZE or len(tables[k]) != 2 or {*tables[k]} - {*rows[k]} for k in rows):
        raise ValueError(
            f"the picture has two sequences of two pages each: got lengths {dict(lengths)} and tables {dict(tables)}."
        )
    used, kept = sum(lengths.values()), 2 * LIMIT
    paged = SIZE * sum(map(len, tables.values()))
    labels = {
        "title": "Two sequences in pages of a pool",
        "desc": (
            f"Above, sequences A and B of {lengths['A']} and {lengths['B']} positions have {LIMIT} contiguous "
            f"positions each, so {used} of {kept} reserved positions are filled. Below, a pool of {PAGES} pages with "
            f"{SIZE} positions. The page table of A leads to pages {' and '.join(map(str, tables['A']))}, that of B to "
            f"pages {' and '.join(map(str, tables['B']))}. They take {paged} positions, and "
            f"{PAGES - paged // SIZE} pages are free."
        ),
        "contiguous": "contiguous",
        "paged": "paged",
        "table": "page table of",
        "free": "free",
    }
    cell = 24 if wide else 20
    c = Canvas("page-table", wide, 264 if wide else 440, labels["title"], labels["desc"])

    def cells(x: Number, y: Number, filled: int, room: int, word: str) -> None:
        if filled:
            c.vector(x, y, [word] * filled, "attention", cell)
        if filled < room:
            c.vector(x + cell * filled, y, [""] * (room - filled), "soft", cell)

    c.text(16, 16, labels["contiguous"], TITLE, "start", strong=True)
    for i, (name, length) in enumerate(lengths.items()):
        x, y = (16 + 368 * i, 40) if wide else (16, 40 + 40 * i)
        c.text(x, y + 12, name, strong=True, anchor="start")
        cells(x + 24, y, length, LIMIT, name.lower())
    top = 104 if wide else 144
    c.text(16, top, labels["paged"], TITLE, "start", strong=True)
    for i, (name, table) in enumerate(tables.items()):
        x = (136 + 320 * i) if wide else 136
        y = top + 24 if wide else top + 24 + 208 * i
        above = wide or not i
        c.text(x + 40, y - 14 if above else y + 40, f"{labels['table']} {name}", SMALL)
        for k, page in enumerate(table):
            entry = c.box(x + 40 * k, y, 40, 24, str(page), size=SMALL, radius=3)
            px = 16 + 116 * page if wide else 24 + 104 * (page % 3)
            py = top + 96 if wide else top + 88 + 80 * i
            start, end = (entry.bottom, (px + 2 * cell, py - 2)) if above else (entry.top, (px + 2 * cell, py + 26))
            c.arrow(start, end, tone="attention")
            cells(px, py, min(SIZE, lengths[name] - SIZE * k), SIZE, name.lower())
    for page in range(PAGES):
        px, py = (16 + 116 * page, top + 96) if wide else (24 + 104 * (page % 3), top + 88 + 80 * (page // 3))
        free = not any(page in table for table in tables.values())
        if free:
            cells(px, py, 0, SIZE, "")
        below = py + 40 if wide or page < 3 else py - 14
        c.text(px + 2 * cell, below, f"{page}, {labels['free']}" if free else str(page), SMALL, tone="muted")
    return c
