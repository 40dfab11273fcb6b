"""The drawn pictures of memory: tiles and the online softmax, and the bytes of a parameter."""

import math
from collections.abc import Mapping, Sequence

from companion.pictures import LABEL, SMALL, Canvas, number, picture

SCORES, VALUES, FIRST = (1, 2, 3), (9, 3, 6), 2  # e to the power of each score; the values; keys in the first tile
MIXED = {"weights": 2, "gradients": 2, "copy": 4, "mean": 4, "square": 4}  # bytes a parameter, Adam, mixed precision


@picture
def tiles(wide: bool, powers: Sequence[int] = SCORES, values: Sequence[int] = VALUES, first: int = FIRST) -> Canvas:
    """Draw the matrix of weights in tiles, and the three numbers that one query keeps from tile to tile.

    Args:
        powers: e to the power of each score; the largest lies in the second tile.
        values: one number a key.
        first: keys in the first tile.

    Returns:
        The picture.

    Raises:
        ValueError: the largest score lies in the first tile.
    """
    if max(powers) not in powers[first:]:
        raise ValueError(f"the second tile has the largest score: got {list(powers)}, first {first}. Move it.")
    states = [_state(powers[:first], values[:first]), _state(powers, values)]
    shown = [tuple(number(value) for value in state) for state in states]
    factor = f"{max(powers[:first])}/{max(powers)}"
    result = number(states[1][2] / states[1][1])
    labels = {
        "title": "Tiles and the online softmax",
        "desc": (
            "The square of all queries and keys has 16 tiles, of which one exists at a time. For one query, "
            f"the first tile leaves a maximum of ln {shown[0][0]}, a sum of {shown[0][1]} and a weighted sum of "
            f"{shown[0][2]}. The second tile raises the maximum to ln {shown[1][0]}, so both sums are multiplied by "
            f"{factor} before its terms are added: {shown[1][1]} and {shown[1][2]}. The output is {shown[1][2]} over "
            f"{shown[1][1]}, which is {result}."
        ),
        "keys": "keys",
        "queries": "queries",
        "now": "now",
        "first": "after the first tile",
        "second": "after the second tile",
        "shrink": f"sums × {factor}, then add",
        "output": f"output {shown[1][2]} / {shown[1][1]} = {result}",
    }
    c = Canvas("tiles", wide, 232 if wide else 456, labels["title"], labels["desc"])
    x, y, side = (88, 40, 44) if wide else (96, 40, 44)
    c.text(x + 2 * side, y - 20, labels["keys"], SMALL)
    c.text(x - 12, y + 2 * side, labels["queries"], SMALL, "end")
    for i in range(4):
        for j in range(4):
            now = (i, j) == (1, 1)
            tone = "attention" if now else "soft"
            c.box(
                x + side * j,
                y + side * i,
                side - 4,
                side - 4,
                labels["now"] * now,
                tone=tone,
                bold=now,
                size=SMALL,
                radius=3,
            )
    left, top, width = (344, 16, 352) if wide else (16, 248, 312)
    for k, name in enumerate(("first", "second")):
        at = top + 104 * k
        c.text(left, at + 8, labels[name], SMALL, "start", "muted")
        m, total, out = shown[k]
        cells = [f"$m$ = ln {m}", f"$ℓ$ = {total}", f"$o$ = {out}"]
        c.vector(left, at + 24, cells, "attention" if k else "ink", width / 3, 32, LABEL if wide else SMALL)
    c.arrow(
        (left + width / 2, top + 56), (left + width / 2, top + 102), label=labels["shrink"], off=(12, 0), anchor="start"
    )
    c.text(left + width, top + 184, labels["output"], LABEL, "end", strong=True)
    return c


def _state(powers: Sequence[int], values: Sequence[int]) -> tuple[float, float, float]:
    """Return e to the power of the maximum, the sum and the weighted sum, measured from the maximum."""
    weights = [math.exp(math.log(power) - math.log(max(powers))) for power in powers]
    return float(max(powers)), sum(weights), sum(w * v for w, v in zip(weights, values, strict=True))


@picture
def bytes_of_a_parameter(wide: bool, sizes: Mapping[str, int] = MIXED) -> Canvas:
    """Draw the bytes that training with Adam in mixed precision holds for one parameter.

    Args:
        sizes: bytes of each of the five numbers.

    Returns:
        The picture.
    """
    total = sum(sizes.values())
    labels = {
        "title": "The bytes of one parameter",
        "desc": (
            f"Training in mixed precision holds five numbers a parameter: the weight in {sizes['weights']} bytes, "
            f"the gradient in {sizes['gradients']}, and in {sizes['copy']} bytes each a copy of the weight and the two "
            f"running means of Adam. Together they are {total} bytes. The model alone is {sizes['weights']}."
        ),
        "weights": "weight, 16 bits",
        "gradients": "gradient, 16 bits",
        "copy": "weight, 32 bits",
        "mean": "Adam's mean",
        "square": "Adam's mean square",
        "total": f"together {total} bytes",
    }
    left, scale = (192, 28) if wide else (176, 9)
    c = Canvas("bytes-of-a-parameter", wide, 32 * len(sizes) + 40, labels["title"], labels["desc"])
    before = 0
    for i, (name, size) in enumerate(sizes.items()):
        c.text(left - 16, 8 + 32 * i + 12, labels[name], LABEL if wide else SMALL, "end")
        tone = "attention" if name == "weights" else "ink"
        drawn = c.box(left + scale * before, 8 + 32 * i, scale * size, 24, tone=tone, bold=name == "weights", radius=3)
        c.text(drawn.x + drawn.w + 8, 8 + 32 * i + 12, str(size), SMALL, "start")
        before += size
    c.text(left + scale * total, 32 * len(sizes) + 24, labels["total"], SMALL, "end", strong=True)
    return c
