"""Parity answered at once, and in steps."""

from companion.pictures import SMALL, TITLE, Canvas, picture

BITS = (1, 0, 1, 1)
"""The string whose parity is asked for."""


@picture
def once_or_in_steps(wide: bool) -> Canvas:
    """Draw two layers that see all bits at once, and the same layers applied to one bit after the other."""
    parities = [sum(BITS[: i + 1]) % 2 for i in range(len(BITS))]
    labels = {
        "title": "Parity at once, or in steps",
        "desc": (
            f"Left, the bits {', '.join(map(str, BITS))} all enter two layers together, and the answer {parities[-1]} "
            f"comes out. Right, each bit has a pass through two layers of its own. The passes give "
            f"{', '.join(map(str, parities))}, each is handed to the next pass, and the last one is the answer."
        ),
        "once": "At once",
        "steps": "In steps",
        "layers": "2 layers",
        "pass": "2 layers" if wide else "2",
        "depth-once": "depth 2",
        "depth-steps": f"depth {2 * len(BITS)}",
    }
    c = Canvas("once-or-in-steps", wide, 224 if wide else 424, labels["title"], labels["desc"])
    # At once.
    x, y = 16, 16
    c.text(x, y + 8, labels["once"], TITLE, "start", strong=True)
    c.text(x + 176, y + 8, labels["depth-once"], SMALL, "end", "muted")
    size = 44
    c.vector(x, y + 152, list(BITS), "ink", size, 36)
    layers = c.box(x, y + 80, size * len(BITS), 40, labels["layers"])
    for i in range(len(BITS)):
        c.arrow((x + size * (i + 0.5), y + 150), (x + size * (i + 0.5), y + 122))
    c.text(layers.top[0], y + 36, str(parities[-1]), TITLE, strong=True)
    c.arrow(layers.top, (layers.top[0], y + 50))
    # In steps.
    x, y, across, width = (264, 16, 112, 80) if wide else (16, 216, 80, 56)
    c.text(x, y + 8, labels["steps"], TITLE, "start", strong=True)
    right = x + across * (len(BITS) - 1) + width
    c.text(right, y + 8, labels["depth-steps"], SMALL, "end", "muted")
    for i, (bit, parity) in enumerate(zip(BITS, parities, strict=True)):
        left = x + across * i
        middle = left + width / 2
        last = i == len(BITS) - 1
        c.box(left, y + 80, width, 40, labels["pass"])
        c.box(middle - 22, y + 152, 44, 36, str(bit), radius=3)
        c.arrow((middle, y + 150), (middle, y + 122))
        c.arrow((middle, y + 78), (middle, y + 50))
        c.text(middle, y + 36, str(parity), TITLE, strong=last)
        if not last:
            turn = middle + across / 2
            c.arrow(
                (middle + 12, y + 36), (turn, y + 36), (turn, y + 100), (left + across - 2, y + 100),
                tone="attention", width=2.5,
            )  # fmt: skip
    return c
