"""What one output of a convolution, of a recurrence and of attention sees."""

from companion.pictures import SMALL, TITLE, Canvas, picture

INPUTS, KERNEL = 5, 3
"""Inputs, and those that a convolution reads."""


@picture
def three_biases(wide: bool) -> Canvas:
    """Draw three layers, one output of each, and what changes nothing."""
    labels = {
        "title": "Three layers and their biases",
        "desc": (
            f"Three panels with {INPUTS} inputs each. An output of a convolution reads {KERNEL} neighbouring inputs, "
            f"by position; shifting the inputs shifts the outputs. The output of a recurrence reads its last input "
            "and a state, which was passed on from input to input by the same step. An output of attention reads all "
            f"{INPUTS} inputs, with weights that depend on what they are; reordering the inputs reorders the outputs."
        ),
        "convolution": "Convolution",
        "convolution-sub": "shift in, shift out",
        "recurrence": "Recurrence",
        "recurrence-sub": "one step, repeated",
        "attention": "Attention",
        "attention-sub": "reorder in, reorder out",
        "output": "output",
    }
    c = Canvas("three-biases", wide, 232 if wide else 656, labels["title"], labels["desc"])
    side, pitch = 28, 42 if wide else 56
    for k, kind in enumerate(("convolution", "recurrence", "attention")):
        x0, y0 = (20 + 240 * k, 24) if wide else (36, 24 + 216 * k)
        c.text(x0, y0, labels[kind], TITLE, "start", strong=True)
        c.text(x0, y0 + 22, labels[f"{kind}-sub"], SMALL, "start", "muted")
        low, high = y0 + 160, y0 + 44
        x = [x0 + pitch * i for i in range(INPUTS)]
        inputs = [c.box(at, low, side, side, f"$x_{i + 1}$", size=SMALL) for i, at in enumerate(x)]
        centre = INPUTS // 2 if kind != "recurrence" else INPUTS - 1
        tone, bold = ("attention", True) if kind == "attention" else ("ink", False)
        wide_out = 64
        out = c.box(
            x[centre] + side - wide_out if kind == "recurrence" else x[centre] + (side - wide_out) / 2,
            high,
            wide_out,
            28,
            labels["output"],
            tone=tone,
            bold=bold,
            size=SMALL,
        )
        below = high + 30
        if kind == "recurrence":
            states = [c.node(at + side / 2, y0 + 116, "") for at in x]
            for i, state in enumerate(states):
                c.arrow((x[i] + side / 2, low), (x[i] + side / 2, y0 + 130))
                if i:
                    c.arrow((states[i - 1].x + 24, y0 + 116), (state.x - 2, y0 + 116))
            c.arrow((x[-1] + side / 2, y0 + 104), (x[-1] + side / 2, below))
            continue
        for i, box in enumerate(inputs):
            if kind == "convolution" and abs(i - centre) > KERNEL // 2:
                continue
            end = out.x + out.w / 2 + 12 * (i - centre)
            weight = (1.5, 3, 1.5, 6, 1.5)[i] if kind == "attention" else 0
            c.arrow((box.x + side / 2, low), (end, below), tone=tone, width=weight)
    return c
