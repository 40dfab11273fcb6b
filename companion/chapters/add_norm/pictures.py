"""The drawn pictures of the chapter: where the norm stands in a block."""

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, picture


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
