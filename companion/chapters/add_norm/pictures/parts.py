"""The parts of a block: what a norm averages, and the feed-forward network as a memory and with a gate."""

from collections.abc import Sequence
from math import sqrt

from companion.pictures import LABEL, SMALL, TITLE, Canvas, Number, picture

SENTENCES = (((1, 1, 5, 5), (3, 5, 1, 3), (0, 2, 2, -4)), ((2, -1, 3, 0), (-1, 3, 0, 2), (0, 0, 0, 0)))
LENGTHS = (3, 2)  # of the two sentences; the last row of the second is padding
MEMORY_INPUT, MEMORY_BIAS = (1, 0, 1, 0), -1
MEMORY_KEYS, MEMORY_VALUES = ((1, 0, 1, 0), (0, 1, 1, 0)), ((1, 0), (0, 1))
SWIGLU_SIZES = (768, 3072, 2048)  # d_model, d_ff of two matrices, d_ff of three


def _signed(value: Number, digits: str = "g") -> str:
    """Write a number with the sign of mathematics."""
    return f"{value + 0:{digits}}".replace("-", "−")


@picture
def what_a_norm_averages(wide: bool) -> Canvas:
    """Draw one batch three times, with the numbers marked that the norm of one number depends on."""
    first = SENTENCES[0][0]
    column = [row[0] for rows, n in zip(SENTENCES, LENGTHS, strict=True) for row in rows[:n]]

    def moments(values: Sequence[Number]) -> tuple[float, float]:
        mean = sum(values) / len(values)
        return mean, sqrt(sum((v - mean) ** 2 for v in values) / len(values))

    results = [(first[0] - mean) / root for mean, root in (moments(first), moments(column))]
    results.append(first[0] / sqrt(sum(v * v for v in first) / len(first)))
    said = [_signed(result, ".2f") for result in results]
    labels = {
        "title": "What a norm averages",
        "desc": (
            "Three copies of one batch: two sentences of three tokens with four features each; the last token of the "
            "second sentence is padding. LayerNorm and RMSNorm mark one row, the features of one token; BatchNorm "
            "marks one column, one feature of the five real tokens of both sentences. The first number becomes "
            f"{said[0]} with LayerNorm, {said[1]} with BatchNorm and {said[2]} with RMSNorm."
        ),
        "names": ("LayerNorm", "BatchNorm", "RMSNorm"),
        "statistics": ("mean, deviation", "mean, deviation", "root mean square"),
        "sentences": ("A", "B"),
        "padding": "padding",
        "becomes": [f"{_signed(first[0])} becomes {result}" for result in said],
    }
    cell, h = 40, 320
    c = Canvas("what-a-norm-averages", wide, h if wide else 3 * h, labels["title"], labels["desc"])
    for panel, name in enumerate(labels["names"]):
        x, y = (28 + 232 * panel, 0) if wide else (104, h * panel)
        c.text(x, y + 16, name, TITLE, "start", strong=True)
        c.text(x, y + 38, labels["statistics"][panel], SMALL, "start", "muted")
        for s, rows in enumerate(SENTENCES):
            top = y + 60 + 112 * s
            c.text(x - 18, top + 48, labels["sentences"][s], LABEL)
            for i, row in enumerate(rows):
                real = i < LENGTHS[s]
                for j, value in enumerate(row):
                    counts = real and j == 0 if name == "BatchNorm" else (s, i) == (0, 0)
                    tone = "attention" if counts else "ink" if real else "muted"
                    c.vector(x + j * cell, top + i * 32, [_signed(value)], tone, cell, 32)
        c.text(x + 4 * cell + 8, y + 252, labels["padding"], SMALL, "start", "muted")
        c.text(x, y + 292, labels["becomes"][panel], LABEL, "start", "attention", strong=True)
    return c


@picture
def feed_forward_memory(wide: bool) -> Canvas:
    """Draw a feed-forward network of two hidden units as a memory: compare with keys, rectify, add up values."""
    products = [sum(a * b for a, b in zip(MEMORY_INPUT, key, strict=True)) for key in MEMORY_KEYS]
    fires = [max(0, product + MEMORY_BIAS) for product in products]
    output = [sum(m * value[j] for m, value in zip(fires, MEMORY_VALUES, strict=True)) for j in range(2)]
    labels = {
        "title": "A feed-forward network as a memory",
        "desc": (
            f"The input {', '.join(map(str, MEMORY_INPUT))} has one feature each for Paris, Rome, capital and city in. "
            f"Its dot products with two keys, less 1, are {products[0] + MEMORY_BIAS} and {products[1] + MEMORY_BIAS}; "
            f"the ReLU leaves {fires[0]} and {fires[1]}. These weigh two values, for France and for Italy. "
            f"Their sum is the output, {output[0]} and {output[1]}."
        ),
        "input": "$x$",
        "inputs": ("Paris", "Rome", "capital", "city in"),
        "keys": "keys, in $W_1$",
        "values": "values, in $W_2$",
        "outputs": ("France", "Italy"),
        "relu": [f"ReLU({p} − {-MEMORY_BIAS}) = {m}" for p, m in zip(products, fires, strict=True)],
        "output": "output",
    }
    c = Canvas("feed-forward-memory", wide, 352 if wide else 528, labels["title"], labels["desc"])
    w, cell = 64, 48
    left, top = (16, 56) if wide else (56, 56)
    for j, name in enumerate(labels["inputs"]):
        c.text(left + (j + 0.5) * w, top - 16, name, SMALL, tone="muted")
    c.vector(left, top, MEMORY_INPUT, "query", w, 32)
    c.text(
        left - 10 if not wide else left + 4 * w + 12, top + 16, labels["input"], LABEL, "end" if not wide else "start"
    )
    c.text(left, top + 72, labels["keys"], SMALL, "start", "key")
    for i, (key, value) in enumerate(zip(MEMORY_KEYS, MEMORY_VALUES, strict=True)):
        y = top + 92 + 64 * i
        c.vector(left, y, key, "key", w, 32)
        if wide:
            c.arrow((left + 4 * w, y + 16), (318, y + 16), tone="key")
            c.box(320, y, 160, 32, labels["relu"][i], bold=fires[i] > 0)
            c.arrow((480, y + 16), (526, y + 16), tone="attention", width=1 + 9 * min(fires[i], 0.4))
            c.vector(528, y, value, "value", cell * 1.5, 32)
        else:
            below = top + 272 + 64 * i
            c.box(16, below, 160, 32, labels["relu"][i], bold=fires[i] > 0)
            c.arrow((176, below + 16), (206, below + 16), tone="attention", width=1 + 9 * min(fires[i], 0.4))
            c.vector(208, below, value, "value", 60, 32)
    if wide:
        c.arrow((144, top + 32), (144, top + 58))
        c.text(528, top + 72, labels["values"], SMALL, "start", "value")
        c.arrow((600, 244), (600, 278))
        x, y, size = 528, 280, cell * 1.5
    else:
        c.arrow((184, top + 32), (184, top + 58))
        c.arrow((96, 244), (96, 326))
        c.text(208, top + 252, labels["values"], SMALL, "start", "value")
        c.arrow((268, 424), (268, 454))
        x, y, size = 208, 456, 60
    c.vector(x, y, output, "attention", size, 32)
    c.text(x - 10, y + 16, labels["output"], LABEL, "end")
    for j, name in enumerate(labels["outputs"]):
        c.text(x + (j + 0.5) * size, y + 46, name, SMALL, tone="muted")
    return c


@picture
def swiglu_flow(wide: bool) -> Canvas:
    """Draw the feed-forward network of 2017 beside SwiGLU at the same number of parameters, read from below."""
    d_model, d_ff, gated = SWIGLU_SIZES
    sizes = f"{2 * d_model * d_ff:,} parameters", f"{3 * d_model * gated:,} parameters"
    labels = {
        "title": "A feed-forward network, and SwiGLU",
        "desc": (
            f"Two networks, read from below. The first takes a vector of width {d_model} to width {d_ff} by one "
            f"matrix, applies a ReLU, and comes back by a second matrix. SwiGLU takes it to width {gated} by two "
            "matrices; the result of one passes through SiLU, is multiplied by the other, and comes back by a third "
            f"matrix. Both have {2 * d_model * d_ff:,} parameters."
        ),
        "names": ("Feed-forward, 2017", "SwiGLU"),
        "sizes": sizes,
        "input": f"$x$, {d_model}",
        "widths": (f"{d_ff:,}", f"{gated:,}"),
        "output": f"{d_model}",
        "relu": "ReLU",
        "silu": "SiLU",
    }
    h = 392
    c = Canvas("swiglu-flow", wide, h if wide else 2 * h, labels["title"], labels["desc"])
    for panel, name in enumerate(labels["names"]):
        x, y = (180 + 360 * panel, 0) if wide else (172, h * panel)
        c.text(x, y + 16, name, TITLE, strong=True)
        c.text(x, y + 38, labels["sizes"][panel], SMALL, tone="muted")
        c.text(x + 12, y + 70, labels["output"], SMALL, "start", "muted")
        bottom = y + 344
        c.box(x - 48, bottom, 96, 32, labels["input"])
        width = labels["widths"][panel]
        if panel == 0:
            c.arrow((x, y + 96), (x, y + 60))
            c.box(x - 48, y + 96, 96, 32, "$W_2$")
            c.arrow((x, y + 176), (x, y + 130))
            c.text(x + 12, y + 154, width, SMALL, "start", "muted")
            c.box(x - 64, y + 176, 128, 32, labels["relu"], tone="attention")
            c.arrow((x, y + 264), (x, y + 210))
            c.text(x + 12, y + 238, width, SMALL, "start", "muted")
            c.box(x - 48, y + 264, 96, 32, "$W_1$")
            c.arrow((x, bottom), (x, y + 298))
            continue
        c.arrow((x, y + 96), (x, y + 60))
        c.box(x - 48, y + 96, 96, 32, "$W_{down}$")
        c.arrow((x, y + 156), (x, y + 130))
        c.node(x, y + 168, "×", "attention")
        for side, matrix in ((x - 76, "$W_{gate}$"), (x + 76, "$W_{up}$")):
            toward = x - 14 if side < x else x + 14
            c.arrow((side, y + 264), (side, y + 168), (toward, y + 168))
            c.box(side - 48, y + 264, 96, 32, matrix)
            c.arrow((x, bottom), (x, y + 320), (side, y + 320), (side, y + 298))
            c.text(side + (-12 if side < x else 12), y + 248, width, SMALL, "end" if side < x else "start", "muted")
        c.box(x - 76 - 40, y + 200, 80, 32, labels["silu"], tone="attention")
    return c
