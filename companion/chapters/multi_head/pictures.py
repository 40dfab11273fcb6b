"""The drawn pictures of the chapter: several heads side by side, and heads that share keys and values."""

from companion.pictures import LABEL, SMALL, TITLE, Canvas, number, picture

D_MODEL, N_HEADS = 512, 8  # of the paper's base model
PAIRS = {"mha": 8, "gqa": 2, "mqa": 1}  # pairs of key and value heads for eight query heads


@picture
def split_attend_concatenate(wide: bool, d_model: int = D_MODEL, n_heads: int = N_HEADS) -> Canvas:
    """Draw how queries, keys and values are split into heads, and how the outputs of the heads come together again.

    Args:
        d_model: the width of the tokens' vectors.
        n_heads: at most eight, and a divisor of the width.

    Returns:
        The picture.

    Raises:
        ValueError: there is no room for the heads, or they do not divide the width.
    """
    if not 2 <= n_heads <= 8 or d_model % n_heads:
        raise ValueError(f"the picture has 2 to 8 heads that divide d_model: got {n_heads} and {d_model}. Change one.")
    width = d_model // n_heads
    labels = {
        "title": "Split, attend, concatenate",
        "desc": (
            f"From the tokens' vectors three matrices make queries, keys and values of width {d_model}. Each is split "
            f"into {n_heads} parts of width {width}. Head 1 takes the first part of all three and attends on its own; "
            f"so does every other head. The {n_heads} outputs of width {width} are concatenated to width {d_model}, "
            "and one more matrix mixes them."
        ),
        "input": "vectors of the tokens",
        "width": f"width {d_model}",
        "split": f"split: {n_heads} parts of width {width}",
        "attend": "attend",
        "attend-sub": "each head alone",
        "concatenate": "concatenate",
        "output": "output",
    }
    c = Canvas("split-attend-concatenate", wide, 376 if wide else 432, labels["title"], labels["desc"])
    x, step, top = (184, 512 / n_heads, 40) if wide else (48, 288 / n_heads, 96)
    span, heads = step * n_heads, top + 144
    if wide:
        c.box(16, top - 8, 104, 112, tone="ink")
        c.text(68, top + 38, labels["input"], LABEL, wrap=10)
        c.text(68, top + 68, labels["width"], SMALL, tone="muted")
    else:
        c.box(8, 8, x + span - 8, 40, labels["input"], labels["width"], size=SMALL)
    c.text(x, top - 20, labels["split"], SMALL, "start", "muted")
    for row, (letter, tone) in enumerate((("Q", "query"), ("K", "key"), ("V", "value"))):
        y = top + 36 * row
        start = [(120, y + 12)] if wide else [(10, 48), (10, y + 12)]
        c.arrow(*start, (x - 2, y + 12), tone=tone if wide else "ink")
        c.text(x - 34 if wide else 29, y - 1, f"$W^{letter}$", SMALL, tone=tone)
        c.vector(x, y, [f"${letter}_{head}$" for head in range(1, n_heads + 1)], tone, step)
    for head in range(n_heads):
        left, first = x + head * step, head == 0
        frame = f'x="{number(left + 1)}" y="{top - 5}" width="{number(step - 2)}" height="106" rx="6"'
        c.add(f'<rect {frame} class="f-line {"f-attention f-bold" if first else "f-muted"}"/>')
        middle, tone = left + step / 2, "attention" if first else "muted"
        c.arrow((middle, top + 102), (middle, heads - 2), tone=tone)
        c.box(left + 4, heads, step - 8, 32, str(head + 1), tone="attention", bold=first)
        c.arrow((middle, heads + 32), (middle, heads + 70), tone=tone)
    joined = c.vector(x, heads + 72, [""] * n_heads, "attention", step)
    if wide:
        c.text(120, heads + 8, labels["attend"], anchor="end")
        c.text(120, heads + 28, labels["attend-sub"], SMALL, "end", "muted")
        c.text(120, heads + 84, labels["concatenate"], anchor="end")
    else:
        c.text(x - 4, heads + 16, labels["attend"], SMALL, "end")
        c.text(x, heads + 112, labels["concatenate"], anchor="start", size=SMALL)
    c.arrow(joined.bottom, (joined.bottom[0], heads + 142), label="$W^O$", off=(9, 0), anchor="start")
    c.box(x, heads + 144, span, 40, labels["output"], labels["width"])
    return c


@picture
def sharing(wide: bool) -> Canvas:
    """Draw eight query heads over eight, two or one pair of key and value heads."""
    shares = {kind: pairs / PAIRS["mha"] for kind, pairs in PAIRS.items()}
    percent = {kind: f"{100 * share:g}%" for kind, share in shares.items()}
    labels = {
        "title": "MHA, GQA and MQA",
        "desc": (
            "Eight query heads in each. Multi-head attention has eight key heads and eight value heads, one pair for "
            "each query head. Grouped-query attention has two pairs, each shared by four query heads. Multi-query "
            f"attention has one pair, shared by all eight. The KV cache takes {percent['mha']}, {percent['gqa']} and "
            f"{percent['mqa']}."
        ),
        "mha": "MHA",
        "mha-sub": "multi-head",
        "gqa": "GQA",
        "gqa-sub": "grouped-query",
        "mqa": "MQA",
        "mqa-sub": "multi-query",
        "cache": "KV cache:",
    }
    c = Canvas("sharing", wide, 248 if wide else 744, labels["title"], labels["desc"])
    heads = PAIRS["mha"]
    for k, (kind, pairs) in enumerate(PAIRS.items()):
        step = 24 if wide else 36
        x, y = (40 + 232 * k, 0) if wide else (40, 248 * k)
        size, span, group = step - 6, heads * step - 6, heads // pairs
        c.text(x + 3, y + 20, labels[kind], TITLE, "start", strong=True)
        c.text(x + 52, y + 20, labels[f"{kind}-sub"], SMALL, "start", "muted")
        if k == 0 or not wide:
            for letter, down, tone in (("$V$", 64, "value"), ("$K$", 100, "key"), ("$Q$", 172, "query")):
                c.text(x - 14, y + down, letter, LABEL, "end", tone, strong=True)
        for pair in range(pairs):
            centre = x + (pair + 0.5) * group * step
            for head in range(pair * group, (pair + 1) * group):
                c.arrow((x + (head + 0.5) * step, y + 160), (centre, y + 112), head=False)
            c.vector(centre - size / 2, y + 52, [""], "value", size)
            c.vector(centre - size / 2, y + 88, [""], "key", size)
            c.arrow((centre, y + 76), (centre, y + 88), head=False)
        for head in range(heads):
            c.vector(x + head * step + 3, y + 160, [""], "query", size)
        c.bar(x + 3, y + 200, span, 16, shares[kind])
        c.text(x + 3, y + 232, f"{labels['cache']} {percent[kind]}", SMALL, "start")
    return c
