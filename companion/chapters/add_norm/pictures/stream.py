"""The residual stream: who reads it and writes to it, what the gradient needs, and where the norm is."""

from collections.abc import Sequence
from itertools import pairwise

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, picture

ARRIVES = (1e-7, 9e8, 6.0)  # of the gradient, at the first of 24 layers that are bare, added, added and normed


@picture
def residual_stream(wide: bool) -> Canvas:
    """Draw the residual stream through two layers of a pre-norm model, and the sub-layers that read and write it."""
    labels = {
        "title": "The residual stream",
        "desc": (
            "A thick line leads from the embedding to the output. Four sub-layers lie beside it: attention, a "
            "feed-forward network, and both again. Each reads the line through a norm, and adds its output to it at a "
            "plus sign. Nothing else acts on the line. A last norm follows at its end, before the output."
        ),
        "start": "embedding",
        "end": "output",
        "norm": "Norm",
        "parts": ("attention", "feed-forward") * 2,
        "reads": "reads",
        "writes": "writes",
        "layers": ("layer 1", "layer 2"),
    }
    c = Canvas("residual-stream", wide, 240 if wide else 728, labels["title"], labels["desc"])
    if wide:
        y, step = 192, 128
        c.box(0, y - 16, 96, 32, labels["start"])
        marks = [96, *(196 + step * k for k in range(4)), 624]
        for left, right in pairwise(marks):
            c.arrow((left + 12 * (left != 96), y), (right - 14 * (right != 624), y), width=BOLD, tone="attention")
        c.box(624, y - 16, 56, 32, labels["norm"])
        c.arrow((680, y), (710, y))
        c.text(692, y - 28, labels["end"], SMALL, tone="muted")
        c.text(112, y + 28, "$x_0$", LABEL)
        for k, part in enumerate(labels["parts"]):
            read, write = 132 + step * k, 196 + step * k
            c.arrow((read, y), (read, 138))
            c.box(read - 28, 104, 56, 32, labels["norm"])
            c.arrow((read, 104), (read, 74))
            c.box(read - 28, 40, 112, 32, part)
            c.arrow((write, 72), (write, y - 14))
            c.node(write, y)
            c.text(write + 24, y + 28, f"$x_{k + 1}$", LABEL)
            c.text(read - 6, 160, labels["reads"] if not k else "", SMALL, "end", "muted")
            c.text(write + 6, 160, labels["writes"] if not k else "", SMALL, "start", "muted")
        for k, layer in enumerate(labels["layers"]):
            c.text(196 + 2 * step * k, 16, layer, TITLE, strong=True)
        return c
    x, step = 88, 136
    c.box(x - 52, 688, 104, 32, labels["start"])
    marks = [688, *(568 - step * k for k in range(4)), 96]
    for low, high in pairwise(marks):
        c.arrow((x, low - 12 * (low != 688)), (x, high + 14 * (high != 96)), width=BOLD, tone="attention")
    c.box(x - 28, 64, 56, 32, labels["norm"])
    c.arrow((x, 64), (x, 36))
    c.text(x, 22, labels["end"], SMALL, tone="muted")
    c.text(x - 16, 668, "$x_0$", LABEL, "end")
    for k, part in enumerate(labels["parts"]):
        read, write = 648 - step * k, 568 - step * k
        c.arrow((x, read), (158, read))
        c.box(160, read - 16, 56, 32, labels["norm"])
        c.arrow((216, read), (268, read), (268, write + 18))
        c.box(212, write - 16, 112, 32, part)
        c.arrow((212, write), (x + 14, write))
        c.node(x, write)
        c.text(x - 16, write - 28, f"$x_{k + 1}$", LABEL, "end")
        c.text(124, read - 12, labels["reads"] if not k else "", SMALL, tone="muted")
        c.text(156, write - 12, labels["writes"] if not k else "", SMALL, tone="muted")
    for k, layer in enumerate(labels["layers"]):
        c.text(8, 500 - 2 * step * k, layer, TITLE, "start", strong=True)
    return c


@picture
def three_connections(wide: bool, arrives: Sequence[float] = ARRIVES) -> Canvas:
    """Draw a sub-layer alone, with a residual connection, and with a norm in its branch too.

    Args:
        arrives: how many times the gradient at the end reaches the first of 24 layers, for each of the three.

    Returns:
        The picture.
    """
    said = [f"{factor:.0e}" if not 0.01 < factor < 100 else f"{factor:.0f}" for factor in arrives]
    said = [_power(text) for text in said]
    labels = {
        "title": "Three ways to connect a sub-layer",
        "desc": (
            "Three panels, read from the bottom up. Bare: the vector goes through the sub-layer. Added: the sub-layer "
            "is in a branch, and its output is added to the vector. Added and normed: there is also a norm in the "
            "branch, before the sub-layer. The gradient at the first of 24 layers is that at the last times "
            f"{arrives[0]:.0e}, {arrives[1]:.0e} and {arrives[2]:.0f}."
        ),
        "names": ("Bare", "Added", "Added, normed"),
        "formulas": ("$F$($x$)", "$x$ + $F$($x$)", "$x$ + $F$(Norm($x$))"),
        "norm": "Norm",
        "arrives": [f"gradient × {text}" for text in said],
    }
    c = Canvas("three-connections", wide, 296 if wide else 3 * 304, labels["title"], labels["desc"])
    for panel, name in enumerate(labels["names"]):
        x, y = (64 + 240 * panel, 0) if wide else (104, 304 * panel)
        c.text(x + 48, y + 16, name, TITLE, strong=True)
        c.text(x + 48, y + 40, labels["formulas"][panel], SMALL, tone="muted")
        bottom, top = y + 240, y + 64
        c.text(x - 12, bottom - 6, "$x$", LABEL, "end")
        c.text(x + 48, y + 272, labels["arrives"][panel], LABEL, tone="attention", strong=True)
        if panel == 0:
            c.arrow((x, bottom), (x, y + 170))
            c.box(x - 32, y + 136, 64, 32, "$F$")
            c.arrow((x, y + 136), (x, top))
            continue
        c.arrow((x, bottom), (x, y + 110), width=BOLD)
        c.arrow((x, y + 84), (x, top), width=BOLD)
        start = (x, y + 224)
        if panel == 2:
            c.arrow(start, (x + 96, y + 224), (x + 96, y + 202))
            c.box(x + 64, y + 168, 64, 32, labels["norm"])
            start = (x + 96, y + 168)
        middle = () if panel == 2 else ((x + 96, y + 224),)
        c.arrow(start, *middle, (x + 96, y + 154))
        c.box(x + 64, y + 120, 64, 32, "$F$")
        c.arrow((x + 96, y + 120), (x + 96, y + 96), (x + 14, y + 96))
        c.node(x, y + 96)
    return c


@picture
def norm_placements(wide: bool) -> Canvas:
    """Draw the norm on the residual stream, and in the branch before, around or after the sublayer."""
    labels = {
        "title": "Four placements of the norm",
        "desc": (
            "Four residual blocks, read from the bottom up. Post-norm: the norm is on the residual stream, after the "
            "sum. Pre-norm: it is in the branch, before the sublayer. Sandwich: in the branch, before and after the "
            "sublayer; after the branch, as in OLMo 2: in the branch, after the sublayer only. Only post-norm "
            "interrupts the stream."
        ),
        "post": "Post-norm",
        "post-sub": "2017, BERT",
        "pre": "Pre-norm",
        "pre-sub": "GPT-2, Llama",
        "sandwich": "Sandwich",
        "sandwich-sub": "Gemma 2",
        "after": "After the branch",
        "after-sub": "OLMo 2",
        "norm": "Norm",
    }
    norm = labels["norm"]
    kinds = (  # name, formula, what stands in the branch from the bottom up, and how far down each of these is
        ("post", f"{norm}($x$ + $F$($x$))", "F", (216,)),
        ("pre", f"$x$ + $F$({norm}($x$))", "NF", (248, 184)),
        ("sandwich", f"$x$ + {norm}($F$({norm}($x$)))", "NFN", (264, 212, 160)),
        ("after", f"$x$ + {norm}($F$($x$))", "FN", (248, 184)),
    )
    c = Canvas("norm-placements", wide, 376 if wide else 760, labels["title"], labels["desc"])
    for k, (kind, formula, branch, downs) in enumerate(kinds):
        x0, y0 = (180 * k, 0) if wide else (172 * (k % 2), 384 * (k // 2))
        middle = x0 + (90 if wide else 86)
        stream, beside = middle - 48, middle + 32
        c.text(middle, y0 + 20, labels[kind], TITLE, strong=True)
        c.text(middle, y0 + 41, labels[f"{kind}-sub"], SMALL, tone="muted")
        top, plus, bottom = y0 + 64, y0 + (144 if kind == "post" else 112), y0 + 328
        c.arrow((stream, bottom), (stream, plus + 14), width=BOLD)
        if kind == "post":
            c.arrow((stream, plus - 12), (stream, y0 + 120), width=BOLD, head=False)
            c.arrow((stream, y0 + 88), (stream, top), width=BOLD)
            c.box(stream - 32, y0 + 88, 64, 32, norm, tone="attention", bold=True)
        else:
            c.arrow((stream, plus - 12), (stream, top), width=BOLD)
        start = (stream, y0 + 304)
        for what, down in zip(branch, downs, strict=True):
            corner = [(beside, start[1])] * (start[0] == stream)
            c.arrow(start, *corner, (beside, y0 + down + 18))
            is_norm = what == "N"
            label, tone = (norm, "attention") if is_norm else ("$F$", "ink")
            c.box(beside - 40, y0 + down - 16, 80, 32, label, tone=tone, bold=is_norm)
            start = (beside, y0 + down - 16)
        c.arrow(start, (beside, plus), (stream + 14, plus))
        c.node(stream, plus)
        c.text(stream - 10, bottom - 6, "$x$", LABEL, "end")
        c.text(middle, y0 + 356, formula, SMALL)
    return c


def _power(text: str) -> str:
    """Write a power of ten as a reader does: ``9e+08`` becomes ``9 · 10^8``."""
    digits, mark, exponent = text.partition("e")
    if not mark:
        return text
    written = f"{int(exponent)}".replace("-", "−")  # the sign of mathematics
    return f"{digits} · 10$^{{{written}}}$"
