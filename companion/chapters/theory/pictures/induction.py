"""An induction head: two heads, one after the other."""

from companion.pictures import LABEL, SMALL, Canvas, picture

TOKENS = (4, 9, 2, 7, 9)
"""The sequence, whose last token has occurred before."""


@picture
def induction_heads(wide: bool) -> Canvas:
    """Draw how a head of the second layer finds what followed the earlier copy of the last token."""
    last = len(TOKENS) - 1
    found = TOKENS.index(TOKENS[last]) + 1
    labels = {
        "title": "Two heads make an induction head",
        "desc": (
            f"The tokens {', '.join(map(str, TOKENS))} stand in a row. A head of the first layer lets each position "
            f"note the token before it, so that the {TOKENS[found]} is noted as the one after {TOKENS[last]}. A head "
            f"of the second layer, at the last position, asks which position comes after a {TOKENS[last]}. It finds "
            f"position {found}, counted from 0, and copies its token: {TOKENS[found]} is predicted."
        ),
        "tokens": "tokens",
        "first": "layer 1",
        "second": "layer 2",
        "before": [f"after {token}" for token in TOKENS],
        "asks": f"after {TOKENS[last]}?",
        "copies": "copy",
        "next": f"next: {TOKENS[found]}",
    }
    c = Canvas("induction-heads", wide, 320, labels["title"], labels["desc"])
    left, across, width = (104, 120, 88) if wide else (6, 68, 60)
    low, middle, high = 264, 144, 24
    boxes = []
    for i, token in enumerate(TOKENS):
        x = left + across * i
        c.box(x, low, width, 36, str(token))
        sub = labels["before"][i - 1] if i else ""
        tone, bold = ("key", True) if i == found else ("ink", False)
        boxes.append(c.box(x, middle, width, 48, str(token), sub, tone=tone, bold=bold))
        c.arrow((x + width * 0.7, low), (x + width * 0.7, middle + 50))
        if i:
            turn = (x - across + width * 0.4, low), (x - across + width * 0.4, 228), (x + width * 0.3, 228)
            c.arrow(*turn, (x + width * 0.3, middle + 50), tone="value")
    out = c.box(left + across * last + width - (112 if wide else 92), high, 112 if wide else 92, 40, labels["next"])
    asks, seen = boxes[last], boxes[found]
    at = asks.x + width * 0.6
    c.arrow((at, middle), (at, high + 42), tone="query", label=labels["asks"], off=(-8, 0), anchor="end")
    start = (seen.x + width / 2, middle)
    c.arrow(start, (start[0], high + 20), (out.x - 2, high + 20), tone="attention", width=2.5)
    c.text(start[0] - 8, high + 56, labels["copies"], SMALL, "end", "attention")
    if wide:
        for name, y in (("tokens", low + 18), ("first", middle + 24), ("second", high + 20)):
            c.text(16, y, labels[name], LABEL, "start", "muted")
    return c
