"""A conversation with its loss mask, and the two paths of an adapter."""

from companion.pictures import LABEL, SMALL, Canvas, picture

TOKENS = ("U", "B", "e", "␣", "s", "o", "E", "A", "S", "O", "E")
"""The user sends "Be so", and the assistant answers "SO": U, A and E are the special tokens."""
COUNTED = 3
"""Tokens at the end that the loss counts."""


@picture
def loss_mask(wide: bool) -> Canvas:
    """Draw the tokens of a short conversation above those that the model should predict."""
    labels = {
        "title": "Which tokens the loss counts",
        "desc": (
            "Two rows of ten cells. The upper row is read: U for the user, the letters of Be so, E for the end, A for "
            "the assistant, and S and O. The lower row is the same conversation one step later, what should be "
            "predicted. The loss leaves out its first seven cells. Its last three, S, O and E, count."
        ),
        "reads": "reads",
        "predicts": "predicts",
        "left-out": "left out of the loss",
        "counts": "in the loss",
    }
    c = Canvas("loss-mask", wide, 136 if wide else 184, labels["title"], labels["desc"])
    cell, x = (56, 128) if wide else (32, 12)
    upper, lower = (16, 72) if wide else (32, 112)
    reads, predicts = TOKENS[:-1], TOKENS[1:]
    out = len(predicts) - COUNTED
    for name, y in (("reads", upper), ("predicts", lower)):
        if wide:
            c.text(112, y + 16, labels[name], anchor="end")
        else:
            c.text(x, y - 14, labels[name], anchor="start")
    c.vector(x, upper, reads, "ink", cell, 32, LABEL)
    c.vector(x, lower, predicts[:out], "muted", cell, 32, LABEL)
    c.vector(x + out * cell, lower, predicts[out:], "attention", cell, 32, LABEL)
    c.text(x + out * cell / 2, lower + 48, labels["left-out"], SMALL, tone="muted")
    c.text(x + (out + COUNTED / 2) * cell, lower + 48, labels["counts"], SMALL)
    return c


@picture
def low_rank_adapter(wide: bool) -> Canvas:
    """Draw the frozen matrix, the two narrow matrices beside it, and their sum."""
    labels = {
        "title": "A matrix and its adapter",
        "desc": (
            "The input x goes two ways. One way leads through a large box, the frozen matrix. The other leads through "
            "two narrow boxes, first A, which makes r numbers of d, then B, which makes d numbers of r. Both ways end "
            "in a sum, the output h."
        ),
        "x": "$x$",
        "frozen": "$W$, frozen",
        "frozen-sub": "d × d",
        "down": "$A$",
        "down-sub": "r × d",
        "up": "$B$",
        "up-sub": "d × r",
        "h": "$h$",
    }
    c = Canvas("low-rank-adapter", wide, 200 if wide else 400, labels["title"], labels["desc"])
    if wide:
        start = c.box(24, 84, 64, 32, labels["x"])
        frozen = c.box(216, 16, 288, 64, labels["frozen"], labels["frozen-sub"], size=LABEL)
        down = c.box(216, 128, 112, 56, labels["down"], labels["down-sub"], tone="attention", bold=True, size=LABEL)
        up = c.box(392, 128, 112, 56, labels["up"], labels["up-sub"], tone="attention", bold=True, size=LABEL)
        total = c.node(584, 100)
        end = c.box(632, 84, 64, 32, labels["h"])
        c.arrow(start.right, (152, 100), (152, 48), (frozen.x - 2, 48))
        c.arrow(start.right, (152, 100), (152, 156), (down.x - 2, 156))
        c.arrow(down.right, (up.x - 2, 156))
        c.arrow(frozen.right, (584, 48), (584, total.y - 2))
        c.arrow(up.right, (584, 156), (584, total.y + total.h + 2))
        c.arrow(total.right, (end.x - 2, 100))
        return c
    start = c.box(140, 8, 64, 32, labels["x"])
    frozen = c.box(16, 104, 136, 152, labels["frozen"], labels["frozen-sub"], size=LABEL)
    down = c.box(200, 104, 112, 56, labels["down"], labels["down-sub"], tone="attention", bold=True, size=LABEL)
    up = c.box(200, 200, 112, 56, labels["up"], labels["up-sub"], tone="attention", bold=True, size=LABEL)
    total = c.node(172, 304)
    end = c.box(140, 352, 64, 32, labels["h"])
    c.arrow(start.bottom, (172, 72), (84, 72), (84, frozen.y - 2))
    c.arrow(start.bottom, (172, 72), (256, 72), (256, down.y - 2))
    c.arrow(down.bottom, (256, up.y - 2))
    c.arrow(frozen.bottom, (84, 304), (total.x - 2, 304))
    c.arrow(up.bottom, (256, 304), (total.x + total.w + 2, 304))
    c.arrow(total.bottom, (172, end.y - 2))
    return c
