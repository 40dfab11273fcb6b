"""The drawn ways of a signal through layers of four kinds."""

from collections.abc import Callable

from companion import cost
from companion.pictures import LABEL, Canvas, Number, number, picture

POSITIONS, KERNEL = 9, 3  # of the connection graphs


@picture
def connection_graphs(wide: bool, n: int = POSITIONS, size: int = KERNEL) -> Canvas:
    """Draw how a signal gets from the first of some positions to the last, in four kinds of layers.

    Args:
        n: positions, at most 9.
        size: width of the kernel.

    Returns:
        The picture.

    Raises:
        ValueError: there is no room for the positions or the layers.
    """
    kinds = ("self-attention", "recurrent", "convolution", "dilated")
    ways = {kind: cost.shortest_path(kind, n, size=size) for kind in kinds}
    lengths = {kind: len(way) - 1 for kind, way in ways.items()}
    if not 2 <= n <= 9 or lengths["convolution"] > 4:
        raise ValueError(
            f"the picture has room for 9 positions and 4 layers: got n={n} and kernels of {size}. Change one."
        )
    labels = {
        "title": "Four paths from first to last",
        "desc": (
            f"Each panel has {n} positions, inputs below. In self-attention the last output reads every input: the "
            f"path is {lengths['self-attention']} layer long. In a recurrent layer it goes up once and then from state "
            f"to state, {lengths['recurrent']} steps. Convolutions of width {size} move a signal by {size - 1} "
            f"positions a layer, so it takes {lengths['convolution']} layers. If the second layer reads positions "
            f"{size} apart, "
            f"{lengths['dilated']} layers suffice."
        ),
        "self-attention": "self-attention",
        "recurrent": "recurrent",
        "convolution": "convolution",
        "dilated": "dilated",
        "unit-self-attention": "1 layer",
        "unit-recurrent": f"{lengths['recurrent']} steps",
        "unit-convolution": f"{lengths['convolution']} layers",
        "unit-dilated": f"{lengths['dilated']} layers",
    }
    step, level, panel = (17, 32, 182 if wide else 172)
    rows = [kinds] if wide else [kinds[:2], kinds[2:]]
    tall = [48 + level * max(1 if kind == "recurrent" else lengths[kind] for kind in row) + 48 for row in rows]
    c = Canvas("connection-graphs", wide, sum(tall), labels["title"], labels["desc"])
    for k, kind in enumerate(kinds):
        column, row = (k, 0) if wide else (k % 2, k // 2)
        left, top = 14 + panel * column, sum(tall[:row])
        floor = top + tall[row] - 48
        layers = 1 if kind == "recurrent" else lengths[kind]
        c.text(left - 4, top + 16, labels[kind], LABEL, "start", strong=True)
        c.text(left - 4, floor + 28, labels[f"unit-{kind}"], LABEL, "start", "attention", strong=True)

        def at(node: tuple[int, int], left: Number = left, floor: Number = floor) -> tuple[Number, Number]:
            return left + step * node[1], floor - level * node[0]

        c.add(f'<path d="{_edges(kind, layers, n, size, at)}" class="f-cell f-muted" style="fill:none"/>')
        points = [at(node) for node in ways[kind]]
        line = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        c.add(f'<path d="M{line}" class="f-line f-attention f-bold"/>')
        for layer in range(layers + 1):
            for position in range(n):
                lit = (layer, position) in ways[kind]
                c.node(*at((layer, position)), sign="", tone="attention" if lit else "muted", radius=4)
    return c


def _edges(kind: str, layers: int, n: int, size: int, at: Callable[[tuple[int, int]], tuple[Number, Number]]) -> str:
    """Write all connections that reach the last output, as the data of one path."""
    edges, wanted = [], {n - 1}
    for layer in range(layers, 0, -1):
        apart = size ** (layer - 1) if kind == "dilated" else 1
        below = set()
        for position in sorted(wanted):
            if kind == "recurrent":
                edges += [((layer, p - 1), (layer, p)) for p in range(1, n)]
                edges += [((layer - 1, p), (layer, p)) for p in range(n)]
                continue
            reads = range(n) if kind == "self-attention" else range(position - apart * (size - 1), position + 1, apart)
            reads = [p for p in reads if p >= 0]
            edges += [((layer - 1, p), (layer, position)) for p in reads]
            below |= set(reads)
        wanted = below
    return "".join("M{} {}L{} {}".format(*map(number, (*at(a), *at(b)))) for a, b in edges)
