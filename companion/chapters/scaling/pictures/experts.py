"""The drawn picture of a mixture of experts: a router, four experts on two processors, and the weighted sum."""

from collections.abc import Sequence

from companion.pictures import LABEL, SMALL, Canvas, picture

PROBABILITIES = (0.1, 0.5, 0.15, 0.25)
"""What the router gives the experts."""


@picture
def experts_and_router(wide: bool, probabilities: Sequence[float] = PROBABILITIES) -> Canvas:
    """Draw the way of one token through a mixture of four experts, of which it uses two.

    Args:
        probabilities: of the four experts, all different.

    Returns:
        The picture.

    Raises:
        ValueError: there are not four different probabilities.
    """
    if len(set(probabilities)) != 4 or len(probabilities) != 4:
        raise ValueError(f"the picture has four experts with different probabilities: got {tuple(probabilities)}.")
    chosen = sorted(range(4), key=probabilities.__getitem__)[2:]
    total = sum(probabilities[e] for e in chosen)
    weights = {e: probabilities[e] / total for e in chosen}
    second, first = chosen
    labels = {
        "title": "A router and four experts",
        "desc": (
            f"A token goes into the router, which gives four experts the probabilities "
            f"{', '.join(f'{p:.2f}' for p in probabilities)}. The token goes to experts {first + 1} and {second + 1} "
            f"only. Their outputs are multiplied by {weights[first]:.2f} and {weights[second]:.2f}, and added. Experts "
            "1 and 2 are on one processor, experts 3 and 4 on another."
        ),
        "token": "token",
        "router": "router",
        "expert": "expert",
        "processor": "processor",
        "output": "output",
    }
    c = Canvas("experts-and-router", wide, 264 if wide else 376, labels["title"], labels["desc"])
    if wide:
        token, router = c.box(16, 112, 72, 40, labels["token"]), c.box(120, 112, 80, 40, labels["router"])
        c.node(576, 132)
        c.box(624, 112, 80, 40, labels["output"])
        groups = [c.group(296, 8 + 128 * p, 168, 120, f"{labels['processor']} {p + 1}") for p in range(2)]
    else:
        token, router = c.box(16, 24, 72, 40, labels["token"]), c.box(136, 24, 88, 40, labels["router"])
        c.node(180, 304)
        c.box(136, 328, 88, 40, labels["output"])
        groups = [c.group(16 + 160 * p, 120, 152, 152, f"{labels['processor']} {p + 1}") for p in range(2)]
    c.arrow(token.right, (router.x - 2, router.y + 20))
    for e, probability in enumerate(probabilities):
        group, bold = groups[e // 2], e in weights
        x = group.x + 40 if wide else group.x + 8 + 70 * (e % 2)
        y = group.y + 32 + 44 * (e % 2) if wide else 184
        name = f"{labels['expert']} {e + 1}"
        box = c.box(x, y, 96 if wide else 66, 36, name, bold=bold, size=LABEL if wide else SMALL)
        text = f"{probability:.2f}"
        if wide:
            c.text(252, y + 8, text, SMALL, tone="attention" if bold else "muted", strong=bold)
            if bold:
                c.arrow(router.right, (224, 132), (224, y + 18), (x - 2, y + 18), tone="attention")
                c.arrow(box.right, (576, y + 18), (576, 118 if y < 132 else 146), tone="attention")
                c.text(524, y + 8, f"× {weights[e]:.2f}", SMALL)
        else:
            middle = x + 33
            c.text(middle, 168, text, SMALL, tone="attention" if bold else "muted", strong=bold)
            if bold:
                c.arrow(router.bottom, (180, 96), (middle, 96), (middle, 156), tone="attention")
                end = (166, 304) if middle < 180 else (194, 304)
                c.arrow(box.bottom, (middle, 304), end, tone="attention")
                c.text(middle - 12, 248, f"× {weights[e]:.2f}", SMALL, "end")
    if wide:
        c.arrow((588, 132), (622, 132))
    else:
        c.arrow((180, 316), (180, 326))
    return c
