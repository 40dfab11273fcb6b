"""The masks as grids."""

from companion.pictures import SMALL, TITLE, Canvas, picture


@picture
def four_masks(wide: bool) -> Canvas:
    """Draw four masks, rows for queries and columns for keys."""
    labels = {
        "title": "Four masks",
        "desc": (
            "Four grids of five queries by five keys, with the row of sat framed. No mask: every cell is allowed. "
            "Causal: a query sees itself and what comes before it, the lower triangle. Padding: the last two columns, "
            "which are padding, are hidden for every query. Both, with the padding on the left: the lower triangle "
            "without the first two columns, so that the rows of the padding see nothing."
        ),
        "none": "No mask",
        "none-sub": "every key is visible",
        "causal": "Causal",
        "causal-sub": "no later keys",
        "padding": "Padding",
        "padding-sub": "no padding keys",
        "both": "Both",
        "both-sub": "causal, left padding",
        "text": "the cat sat up .",
        "padded": "the cat sat",
        "pad": "pad",
        "allowed": "may look: True",
        "hidden": "hidden: False",
        "axes": "rows: queries, columns: keys",
    }
    n, cell = 5, 26
    c = Canvas("four-masks", wide, 272 if wide else 544, labels["title"], labels["desc"])
    full, padded = labels["text"].split(), labels["padded"].split()
    right, left = [*padded, "", ""], ["", "", *padded]
    kinds = (
        ("none", full, lambda i, j: True),
        ("causal", full, lambda i, j: j <= i),
        ("padding", right, lambda i, j: j < len(padded)),
        ("both", left, lambda i, j: n - len(padded) <= j <= i),
    )
    across = 172 if wide else 168
    for k, (kind, words, may_look) in enumerate(kinds):
        x, y = (56 + across * k, 88) if wide else (36 + across * (k % 2), 88 + 248 * (k // 2))
        c.text(x, y - 66, labels[kind], TITLE, "start", strong=True)
        c.text(x, y - 45, labels[f"{kind}-sub"], SMALL, "start", "muted")
        for j, word in enumerate(words):
            c.text(x + (j + 0.5) * cell, y - 13, word, SMALL)
        for i, word in enumerate(words):
            tone = "ink" if word else "muted"
            c.text(x - 8, y + (i + 0.5) * cell, word or labels["pad"], SMALL, "end", tone)
        pads = [j for j, word in enumerate(words) if not word]
        if pads:
            c.text(x + (sum(pads) / len(pads) + 0.5) * cell, y - 13, labels["pad"], SMALL, tone="muted")
        asks = words.index(full[2])
        c.mask(x, y, [[may_look(i, j) for j in range(n)] for i in range(n)], cell, focus=asks)
        frame = f'x="{x - 2}" y="{y + asks * cell - 2}" width="{n * cell + 4}" height="{cell + 4}" rx="4"'
        c.add(f'<rect {frame} class="f-line f-ink f-bold"/>')
    x, y = (56, 248) if wide else (36, 496)
    for k, (kind, allowed) in enumerate((("allowed", True), ("hidden", False))):
        c.mask(x + across * k, y - 9, [[allowed]], 18)
        c.text(x + across * k + 26, y, labels[kind], SMALL, "start")
    if wide:
        c.text(x + 3 * across + n * cell, y, labels["axes"], SMALL, "end", "muted")
    else:
        c.text(x, y + 28, labels["axes"], SMALL, "start", "muted")
    return c
