"""The drawn rooflines of three GPUs."""

import math
from collections.abc import Mapping, Sequence

from companion import cost
from companion.pictures import SMALL, Canvas, Number, number, picture

GPUS = {"V100": (125e12, 900e9), "A100": (312e12, 2039e9), "H100": (989e12, 3350e9)}
"""Peak of dense 16-bit products in FLOP/s and bytes a second of the memory, SXM versions, as NVIDIA states them: the
V100 in its white paper of 2017, the A100 of 80 GB and the H100 in their datasheets of 2021 and 2023."""
ROWS, WIDTH = (1, 32, 1024), 4096  # of the products whose intensities are marked


@picture
def roofline(wide: bool, gpus: Mapping[str, tuple[Number, Number]] = GPUS, rows: Sequence[int] = ROWS) -> Canvas:
    """Draw the rooflines of some GPUs, both axes logarithmic, and the intensities of some products.

    Args:
        gpus: for each its peak in FLOP/s, at most 10^15, and its bandwidth in bytes a second.
        rows: that are multiplied by a matrix of 4,096 by 4,096 in 16 bits.

    Returns:
        The picture.

    Raises:
        ValueError: a roof does not lie on the canvas.
    """
    if not all(1e13 <= peak <= 1e15 and 1 <= peak / bandwidth <= 1000 for peak, bandwidth in gpus.values()):
        raise ValueError(f"the picture has room for peaks from 10^13 to 10^15 FLOP/s: got {dict(gpus)}. Change them.")
    ridges = {gpu: peak / bandwidth for gpu, (peak, bandwidth) in gpus.items()}
    labels = {
        "title": "The rooflines of three GPUs",
        "desc": (
            "Speed over FLOPs per byte, both axes logarithmic. Each line rises in proportion, memory-bound, and is "
            f"flat, compute-bound, from its ridge on: {', '.join(f'{gpu} at {x:.0f}' for gpu, x in ridges.items())}. "
            f"The roofs are {', '.join(f'{peak / 1e12:.0f}' for peak, _ in gpus.values())} TFLOP/s. Vertical lines "
            f"mark products of {', '.join(f'{r:,}' for r in rows)} rows with one matrix."
        ),
        "across": "FLOPs per byte",
        "up": "TFLOP/s",
        "memory": "memory-bound",
        "arithmetic": "compute-bound",
        "row": "1 row",
        "rows": "rows",
    }
    left, right, top, step = (72, 640, 56, 60) if wide else (48, 296, 56, 60)
    floor, decades = top + 3.5 * step, 3.6  # from half a TFLOP/s up, and from half a FLOP per byte on
    c = Canvas("roofline", wide, int(floor) + 54, labels["title"], labels["desc"])

    def at(intensity: Number, teraflops: Number) -> tuple[Number, Number]:
        across = (math.log10(intensity) + math.log10(2)) * (right - left) / decades
        return left + across, top + step * (3 - math.log10(teraflops))

    c.add(f'<path d="M{left} {top - 16}V{number(floor)}H{right}" class="f-cell f-muted" style="fill:none"/>')
    for power in range(4):
        x, y = at(10**power, 10**power)
        c.text(x, floor + 14, f"{10**power:,}", SMALL, tone="muted")
        c.text(left - 8, y, f"{10**power:,}", SMALL, "end", "muted")
    c.text(right, floor + 36, labels["across"], SMALL, "end", "muted")
    c.text(left - 40, 16, labels["up"], SMALL, "start", "muted")
    for r in rows:
        x, _ = at(cost.matmul_intensity(r, WIDTH, WIDTH), 1)
        c.add(f'<path d="M{number(x)} {top - 16}V{number(floor)}" class="f-cell f-muted" style="fill:none"/>')
        c.text(x, top - 26, labels["row"] if r == 1 else f"{r:,} {labels['rows']}", SMALL)
    for index, (gpu, (peak, bandwidth)) in enumerate(gpus.items()):
        last = index == len(gpus) - 1
        start, corner = at(0.5, 0.5 * bandwidth / 1e12), at(ridges[gpu], peak / 1e12)
        c.arrow(start, corner, (right, corner[1]), tone="attention" if last else "ink", head=False, radius=0)
        c.text(right + 8, corner[1], gpu, SMALL, "start", "attention" if last else "ink", strong=last)
    c.text(at(6, 1)[0], at(1, 0.7)[1], labels["memory"], SMALL, wrap=0 if wide else 8)
    c.text(at(600, 1)[0], at(1, 30)[1], labels["arithmetic"], SMALL, "end", wrap=0 if wide else 8)
    return c
