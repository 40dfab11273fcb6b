"""Sorting positions by their bucket."""

from collections.abc import Sequence

from companion.pictures import SMALL, Canvas, picture

BUCKETS = (2, 0, 1, 2, 0, 1, 1, 2)
"""The bucket of each of eight positions; the chunks hold two."""
CHUNK = 2


@picture
def sorted_buckets(wide: bool, buckets: Sequence[int] = BUCKETS) -> Canvas:
    """Draw positions with their buckets, sorted by them, in chunks.

    Args:
        buckets: one of each position.

    Returns:
        The picture.
    """
    n = len(buckets)
    order = sorted(range(n), key=lambda place: buckets[place])
    one = 4  # the third chunk asks
    seen = order[one - CHUNK : one + CHUNK]
    labels = {
        "title": "Positions sorted by bucket",
        "desc": (
            f"A row of {n} positions, each with a bucket from 0 to {max(buckets)}. In a second row they are sorted by "
            f"bucket: {', '.join(map(str, order))}. The sorted row is divided into chunks of {CHUNK}. The third chunk, "
            f"with positions {order[one]} and {order[one + 1]}, looks at positions {', '.join(map(str, seen))}: its "
            "own and the chunk before."
        ),
        "position": "position",
        "bucket": "bucket",
        "sort": "sort by bucket",
        "looks": "looks at both",
    }
    c = Canvas("sorted-buckets", wide, 272, labels["title"], labels["desc"])
    left, cell = (120, 64) if wide else (72, 32)
    for k, places in enumerate((range(n), order)):
        y = 24 + 128 * k
        c.text(left - 12, y + 16, labels["position"], SMALL, "end")
        c.text(left - 12, y + 48, labels["bucket"], SMALL, "end", "muted")
        c.vector(left, y, list(places), "ink", cell, 32)
        c.vector(left, y + 32, [buckets[place] for place in places], "soft", cell, 32)
    c.arrow((left + 4 * cell, 92), (left + 4 * cell, 148), label=labels["sort"], off=(12, 0), anchor="start")
    start, end = left + (one - CHUNK) * cell, left + (one + CHUNK) * cell
    middle = left + one * cell
    c.add(f'<path d="M{middle} 152V216" class="f-line f-ink"/>')
    frame = f'x="{start - 3}" y="149" width="{end - start + 6}" height="70" rx="4"'
    c.add(f'<rect {frame} class="f-line f-attention f-bold"/>')
    asks = middle + cell
    c.arrow((asks, 220), (asks, 240), (middle - cell, 240), (middle - cell, 222), tone="attention")
    c.text(middle, 256, labels["looks"], SMALL, tone="attention")
    return c
