"""Sparse patterns as grids."""

from companion.pictures import SMALL, TITLE, Canvas, picture

N, STRIDE, WINDOW = 10, 3, 2
"""Positions; the stride of the Sparse Transformer; positions of the window, the query's own among them."""
RANDOM = (5, 7, 9, 6, 8, 2, 4, 3, 5, 7)
"""The key that BigBird drew for each query."""


@picture
def sparse_patterns(wide: bool) -> Canvas:
    """Draw six patterns, rows for queries and columns for keys."""
    near = WINDOW - 1
    kinds = {
        "causal": lambda i, j: j <= i,
        "window": lambda i, j: 0 <= i - j <= near,
        "strided": lambda i, j: j <= i and (i - j < STRIDE or (i - j) % STRIDE == 0),
        "fixed": lambda i, j: j <= i and (i // STRIDE == j // STRIDE or j % STRIDE == STRIDE - 1),
        "longformer": lambda i, j: abs(i - j) <= near or 0 in (i, j),
        "bigbird": lambda i, j: abs(i - j) <= near or 0 in (i, j) or RANDOM[i] == j,
    }
    pairs = {kind: sum(see(i, j) for i in range(N) for j in range(N)) for kind, see in kinds.items()}
    labels = {
        "title": "Six patterns of attention",
        "desc": (
            f"Six grids of {N} queries by {N} keys. Causal attention fills the lower triangle, {pairs['causal']} "
            f"pairs; a causal window of {WINDOW} leaves a band of {pairs['window']}. The Sparse Transformer adds to a "
            f"band every third diagonal ({pairs['strided']} pairs), or takes segments of three and the last column of "
            f"each ({pairs['fixed']}). Longformer has a band on both sides, and a first token with a full row and "
            f"column ({pairs['longformer']}). BigBird adds a random key for each query ({pairs['bigbird']})."
        ),
        "causal": "Causal",
        "window": "Window",
        "strided": "Strided",
        "fixed": "Fixed",
        "longformer": "Longformer",
        "bigbird": "BigBird",
        "axes": "rows: queries, columns: keys",
    }
    subs = {kind: f"{number} pairs" for kind, number in pairs.items()}
    cell, columns = (20, 3) if wide else (14, 2)
    c = Canvas("sparse-patterns", wide, 552 if wide else 656, labels["title"], labels["desc"])
    across, down = (232, 256) if wide else (172, 200)
    for k, (kind, see) in enumerate(kinds.items()):
        x, y = (24 if wide else 12) + across * (k % columns), 48 + down * (k // columns)
        c.text(x, y - 34, labels[kind], TITLE, "start", strong=True)
        c.text(x, y - 14, subs[kind], SMALL, "start", "muted")
        c.mask(x, y, [[see(i, j) for j in range(N)] for i in range(N)], cell, gap=2)
    c.text(24 if wide else 12, 528 if wide else 640, labels["axes"], SMALL, "start", "muted")
    return c
