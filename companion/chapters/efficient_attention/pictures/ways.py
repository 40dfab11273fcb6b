"""Four ways to a long input."""

from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture

N, KEYS = 6, 2
"""Positions, and the keys that are left of them in the third way."""


@picture
def four_ways(wide: bool) -> Canvas:
    """Draw what one query of each of four kinds of attention reads."""
    labels = {
        "title": "Four ways to read a long input",
        "desc": (
            f"Four panels with {N} positions. In the first all {N * N} pairs are computed, but one tile at a time. In "
            "the second each query reads itself and the position before it. In the third the keys are reduced to "
            f"{KEYS}, and every query reads these. In the fourth there is no table of pairs: each token is added to "
            "a state of fixed size, and the query reads the state."
        ),
        "tiles": "All pairs, in tiles",
        "tiles-sub": "exact",
        "some": "Some pairs",
        "some-sub": "patterns, hashing",
        "few": "Fewer keys",
        "few-sub": "low rank",
        "state": "A state",
        "state-sub": "linear attention",
        "token": "token",
        "holds": "state",
        "query": "query",
        "output": "output",
    }
    c = Canvas("four-ways", wide, 224 if wide else 440, labels["title"], labels["desc"])
    grids = {
        "tiles": [[True] * N for _ in range(N)],
        "some": [[0 <= i - j < 2 for j in range(N)] for i in range(N)],
        "few": [[True] * KEYS for _ in range(N)],
    }
    across, down, cell = (180, 0, 22) if wide else (172, 216, 22)
    for k, kind in enumerate(("tiles", "some", "few", "state")):
        x, y = 16 + across * (k if wide else k % 2), 64 + down * (0 if wide else k // 2)
        c.text(x, y - 42, labels[kind], TITLE if wide else LABEL, "start", strong=True)
        c.text(x, y - 20, labels[f"{kind}-sub"], SMALL, "start", "muted")
        if kind in grids:
            c.mask(x, y, grids[kind], cell)
        if kind == "tiles":
            tile = (
                f'x="{x + 2 * cell - 1}" y="{y + 2 * cell - 1}" width="{2 * cell + 2}" height="{2 * cell + 2}" rx="4"'
            )
            c.add(f'<rect {tile} class="f-line f-ink f-bold"/>')
    c.box(x, y, 56, 28, labels["token"], size=SMALL)
    c.arrow((x + 28, y + 28), (x + 28, y + 58))
    c.box(x, y + 60, 56, 36, labels["holds"], tone="attention", bold=True, size=SMALL)
    c.arrow((x + 28, y + 96), (x + 28, y + 118))
    c.box(x, y + 120, 56, 28, labels["output"], size=SMALL)
    c.box(x + 88, y + 64, 52, 28, labels["query"], tone="query", size=SMALL)
    c.arrow((x + 114, y + 92), (x + 114, y + 134), (x + 58, y + 134), tone="query")
    return c
