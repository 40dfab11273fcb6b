"""The drawn picture of weights that are rounded by groups."""

from collections.abc import Sequence

from companion.pictures import SMALL, SUB, Canvas, picture

WEIGHTS = (0.1, -0.3, 0.22, 0.4, 0.1, -0.2, 5.0, 0.3)
BITS, GROUP = 4, 4


@picture
def absmax_groups(wide: bool, weights: Sequence[float] = WEIGHTS) -> Canvas:
    """Draw eight weights that become integers of four bits in two groups, and weights again.

    Args:
        weights: eight, the largest of the second group an outlier.

    Returns:
        The picture.

    Raises:
        ValueError: there are not eight, or a group is all zero.
    """
    groups = [weights[i : i + GROUP] for i in range(0, len(weights), GROUP)]
    if len(weights) != 2 * GROUP or not all(map(any, groups)):
        raise ValueError(f"the picture has room for two groups of four, none all zero: got {weights}. Change them.")
    most = 2 ** (BITS - 1) - 1
    scales = [max(map(abs, group)) / most for group in groups]
    integers = [round(w / scales[i // GROUP]) for i, w in enumerate(weights)]
    rounded = [z * scales[i // GROUP] for i, z in enumerate(integers)]
    labels = {
        "title": "Two groups of weights in four bits",
        "desc": (
            f"Eight weights in two groups of four. The largest of each group is divided by {most}, which gives the "
            f"scales {scales[0]:.3f} and {scales[1]:.3f}. Below are the integers, {', '.join(map(str, integers))}, and "
            "the integers times their scale. In the first group each rounded weight is near its weight. In the second, "
            "the outlier is kept and the other three become 0."
        ),
        "weights": "weights",
        "scale": "scale",
        "integers": "integers",
        "rounded": "rounded",
    }
    cell, left, skip = (60, 112, 16) if wide else (38, 16, 8)
    high = 48 if wide else 56
    c = Canvas("absmax-groups", wide, 208 if wide else 232, labels["title"], labels["desc"])
    rows = {
        "weights": [f"{w:.2f}" for w in weights],
        "integers": [str(z) for z in integers],
        "rounded": [f"{w:.2f}" for w in rounded],
    }
    tops = {"weights": 24, "integers": 24 + 2 * high, "rounded": 24 + 3 * high}
    for name, texts in rows.items():
        y = tops[name]
        if wide:
            c.text(left - 16, y + 12, labels[name], SMALL, "end", "muted")
        else:
            c.text(left, y - 10, labels[name], SMALL, "start", "muted")
        for k in range(2):
            x = left + k * (GROUP * cell + skip)
            tone = "attention" if name == "integers" else "ink"
            c.vector(x, y, texts[GROUP * k : GROUP * (k + 1)], tone, cell, size=SMALL if wide else SUB)
    for k, scale in enumerate(scales):
        x = left + k * (GROUP * cell + skip) + GROUP * cell / 2
        text = f"{labels['scale']} {max(map(abs, groups[k])):g} / {most} = {scale:.3f}"
        c.text(x, 24 + high + 12 if wide else 24 + high + 2, text, SMALL if wide else SUB, strong=True)
    return c
