"""What the Evoformer holds, and the triangle that an update looks at."""

from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture


@picture
def evoformer(wide: bool) -> Canvas:
    """Draw the two tables of the Evoformer and the triangle of three residues."""
    labels = {
        "title": "Two tables, and a triangle",
        "desc": (
            "A table with a row for each related sequence and a column for each residue, and a square table with a "
            "vector for each pair of residues. Products of columns of the first are added to the pairs, and the pairs "
            "bias the attention in its rows. Beside them three residues i, j and k: the edge from i to j is updated "
            "from the edge from i to k and the edge from j to k."
        ),
        "rows": "sequences",
        "rows-sub": "rows × residues",
        "pairs": "pairs",
        "pairs-sub": "residues × residues",
        "bias": "bias",
        "product": "products",
        "triangle": "One update of a pair",
    }
    c = Canvas("evoformer", wide, 240 if wide else 456, labels["title"], labels["desc"])
    x, y, cell = 24, 56, 22
    c.text(x, 22, labels["rows"], TITLE if wide else LABEL, "start", strong=True)
    c.text(x, 44, labels["rows-sub"], SMALL, "start", "muted")
    for i in range(4):
        for j in range(5):
            c.box(x + j * cell, y + 8 + i * cell, cell - 3, cell - 3, radius=3)
    right = 272 if wide else 208
    c.text(right, 22, labels["pairs"], TITLE if wide else LABEL, "start", strong=True)
    c.text(right, 44, labels["pairs-sub"], SMALL, "start", "muted")
    for i in range(5):
        for j in range(5):
            emphasis = (i, j) == (0, 1)
            c.box(
                right + j * cell,
                y + 8 + i * cell,
                cell - 3,
                cell - 3,
                tone="attention" if emphasis else "ink",
                radius=3,
            )
    left, end = x + 5 * cell, right
    c.arrow((left + 2, 84), (end - 6, 84))
    c.arrow((end - 6, 132), (left + 2, 132))
    middle = (left + end) / 2 - 2
    c.text(middle, 72, labels["product"], SMALL)
    c.text(middle, 150, labels["bias"], SMALL)
    across, down = (456, 0) if wide else (56, 216)
    c.text(across, down + 22, labels["triangle"], TITLE if wide else LABEL, "start", strong=True)
    i, j, k = ((across + dx, down + dy) for dx, dy in ((24, 200), (200, 200), (112, 80)))
    for name, (px, py) in zip("ijk", (i, j, k), strict=True):
        c.box(px - 18, py - 18, 36, 36, f"${name}$", radius=18)
    c.arrow((i[0] + 22, 200 + down), (j[0] - 22, 200 + down), tone="attention", width=2.5)
    for start, shift in ((i, 1), (j, -1)):
        c.add(
            f'<path d="M{start[0] + shift * 14} {start[1] - 18}L{k[0] - shift * 14} {k[1] + 18}" class="f-line f-ink"/>'
        )
    return c
