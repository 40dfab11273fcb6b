"""The questions of a large training run, in order."""

from itertools import pairwise

from companion.pictures import LABEL, Canvas, picture


@picture
def large_run(wide: bool) -> Canvas:
    """Draw what is decided about a large training run, from the budget to the trained model."""
    labels = {
        "title": "A large training run",
        "desc": (
            "Five boxes in a row, each with an arrow to the next. A budget of FLOPs comes first. It is divided into a "
            "number of parameters and a number of tokens. The model is divided among processors, and its numbers "
            "get as few bits as they bear. The run has to stay stable to its end, and a trained model comes out."
        ),
        "budget": "budget",
        "budget-sub": "in FLOPs",
        "sizes": "sizes",
        "sizes-sub": "model and data",
        "division": "division",
        "division-sub": "processors, bits",
        "run": "run",
        "run-sub": "stable steps",
        "model": "trained model",
        "model-sub": "with its loss",
    }
    steps = ("budget", "sizes", "division", "run", "model")
    c = Canvas("large-run", wide, 96 if wide else 400, labels["title"], labels["desc"])
    boxes = []
    for k, name in enumerate(steps):
        x, y, w = (8 + 144 * k, 24, 120) if wide else (92, 16 + 76 * k, 160)
        bold = name == "sizes"
        tone = "attention" if bold else "ink"
        boxes.append(c.box(x, y, w, 56, labels[name], labels[f"{name}-sub"], tone=tone, bold=bold, size=LABEL))
    for first, second in pairwise(boxes):
        if wide:
            c.arrow(first.right, (second.x - 2, first.right[1]))
        else:
            middle = first.x + first.w / 2
            c.arrow((middle, first.y + first.h), (middle, second.y - 2))
    return c
