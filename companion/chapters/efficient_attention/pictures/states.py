"""Linear attention: one product in two orders."""

from companion.pictures import LABEL, SMALL, Canvas, picture


@picture
def product_orders(wide: bool) -> Canvas:
    """Draw the product of queries, keys and values, begun on the left and on the right."""
    labels = {
        "title": "One product, two orders",
        "desc": (
            "Two rows of boxes. In the first, queries meet keys and give n by n weights, which then meet the values. "
            "In the second, keys meet values first and give a state of d by d numbers, which the queries then read. "
            "Both rows end in the same output."
        ),
        "left": "queries, keys",
        "right": "keys, values",
        "weights": "weights",
        "weights-sub": "n × n",
        "state": "state",
        "state-sub": "d × d",
        "output": "output",
        "output-sub": "n × d",
        "values": "values",
        "queries": "queries",
        "quadratic": "work $n^2 d$",
        "linear": "work $n d^2$",
    }
    c = Canvas("product-orders", wide, 264 if wide else 312, labels["title"], labels["desc"])
    rows = (("left", "weights", "values", "quadratic"), ("right", "state", "queries", "linear"))
    width, across, left = (120, 200, 112) if wide else (88, 116, 8)
    for k, (first, middle, last, work) in enumerate(rows):
        y = 24 + (128 if wide else 168) * k
        bold = middle == "state"
        tone = "query" if last == "queries" else "value"
        start = c.box(left, y, width, 56, labels[first], size=LABEL if wide else SMALL, wrap=0 if wide else 8)
        held = c.box(
            left + across,
            y,
            width,
            56,
            labels[middle],
            labels[f"{middle}-sub"],
            tone="attention" if bold else "ink",
            bold=bold,
        )
        end = c.box(left + 2 * across, y, width, 56, labels["output"], labels["output-sub"])
        c.arrow(start.right, (held.x - 2, start.right[1]))
        c.arrow(held.right, (end.x - 2, held.right[1]))
        joint = held.right[0] + (end.x - held.right[0]) / 2 - 4
        c.arrow((joint, y + 84), (joint, y + 32), tone=tone)
        c.text(joint, y + 94, labels[last], SMALL, tone=tone)
        at = (left - 8, y + 28, "end") if wide else (left, y + 94, "start")
        c.text(*at[:2], labels[work], LABEL if wide else SMALL, at[2], strong=bold)
    return c
