"""Why the scores are divided by the root of the width of the keys."""

from collections.abc import Sequence
from math import exp, sqrt
from statistics import NormalDist

from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture

D_K = 64  # the width of a head in the paper


def _softmax(scores: Sequence[float]) -> list[float]:
    """Turn scores into weights."""
    terms = [exp(score - max(scores)) for score in scores]
    return [term / sum(terms) for term in terms]


@picture
def scale_freezes_softmax(wide: bool, d_k: int = D_K) -> Canvas:
    """Draw why the scores are divided by the root of their number of terms: without it the softmax saturates.

    Args:
        d_k: the width of queries and keys.

    Returns:
        The picture.
    """
    spread = sqrt(d_k)
    typical = [NormalDist().inv_cdf((i + 0.5) / 5) for i in range(5)]  # five scores, evenly spread over the normal
    panels = [[spread * t for t in typical], typical]
    weights = [_softmax(scores) for scores in panels]
    gradients = [max(row) * (1 - max(row)) for row in weights]
    labels = {
        "title": "Why the scores are divided",
        "desc": (
            f"A query and a key of {d_k} entries meet: {d_k} products, each of spread 1, add up to a score of spread "
            f"{spread:g}. First, five such scores, from {panels[0][0]:.1f} to {panels[0][-1]:.1f}, enter the softmax "
            f"undivided: one weight takes {max(weights[0]):.3f}, and its gradient is {gradients[0]:.3f}. Then the same "
            f"scores divided by {spread:g}: the largest weight is {max(weights[1]):.3f}, and its gradient is "
            f"{gradients[1]:.3f}."
        ),
        "entries": f"{d_k} entries each",
        "sum": f"{d_k} products add up",
        "spread": f"spread √{d_k} = {spread:g}",
        "undivided": "Scores as they are",
        "undivided-sub": f"spread {spread:g}",
        "divided": "Scores ÷ √$d_k$",
        "divided-sub": "spread 1",
        "softmax": "softmax",
        "weights": "weights",
        "gradient": "gradient $p$(1 − $p$)",
    }
    c = Canvas("scale-freezes-softmax", wide, 416 if wide else 760, labels["title"], labels["desc"])
    cell, size = (16, LABEL) if wide else (8, SMALL)
    x = 120 if wide else 24
    q = c.vector(x, 8, [""] * 12, "query", cell, 24)
    k = c.vector(x, 64, [""] * 12, "key", cell, 24)
    c.text(x - 10, 20, "$q$", LABEL, "end", "query", strong=True)
    c.text(x - 10, 76, "$k$", LABEL, "end", "key", strong=True)
    c.text(q.bottom[0], 48, labels["entries"], SMALL, tone="muted")
    node = q.right[0] + (48 if wide else 32)
    c.arrow(q.right, (node, 20), (node, 34), tone="query")
    c.arrow(k.right, (node, 76), (node, 62), tone="key")
    c.node(node, 48, "·")
    after = node + (64 if wide else 40)
    c.arrow((node + 12, 48), (after, 48))
    c.text(after + 10, 38, labels["sum"], size, "start")
    c.text(after + 10, 60, labels["spread"], size, "start", strong=True)

    w, tall = 280, 64
    for i, (kind, scores) in enumerate(zip(("undivided", "divided"), panels, strict=True)):
        x, y = (40 + 360 * i, 128) if wide else (32, 120 + 344 * i)
        step = w / 5
        c.text(x, y, labels[kind], TITLE, "start", strong=True)
        c.text(x + w, y, labels[f"{kind}-sub"], SMALL, "end", "muted")
        c.vector(x, y + 24, [f"{score:.1f}".replace("-", "−") for score in scores], "ink", step, 28)
        c.arrow((x + w / 2, y + 52), (x + w / 2, y + 74))
        c.box(x, y + 76, w, 32, labels["softmax"], tone="attention")
        c.text(x, y + 128, labels["weights"], SMALL, "start", "muted")
        base = y + 144 + tall
        for j, weight in enumerate(weights[i]):
            middle = x + (j + 0.5) * step
            c.bar(middle - 16, base - tall, 32, tall, weight, upright=True)
            c.text(middle, base + 14, f"{weight:.3f}", SMALL, strong=weight == max(weights[i]))
        c.text(x, base + 48, labels["gradient"], size, "start")
        c.text(x + w, base + 48, f"{gradients[i]:.3f}", TITLE, "end", strong=True)
        c.bar(x, base + 64, w, 12, gradients[i] / 0.25, "ink")  # p (1 - p) is at most 1/4
    return c
