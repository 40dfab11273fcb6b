"""The drawn pictures of the chapter: why several heads, how they work together, what one looks at, what they share."""

from collections.abc import Mapping, Sequence

from companion.pictures import LABEL, SMALL, TITLE, Canvas, number, picture

D_MODEL, N_HEADS = 512, 8  # of the paper's base model
PAIRS = {"mha": 8, "gqa": 2, "mqa": 1}  # pairs of key and value heads for eight query heads
TOKENS, ASKING = ("c0", "b1", "d0", "a0", "b2", "d2", "a3", "c1"), 1  # a sequence of the synthetic task, one position
KEYS = ("[CLS]", "animal", "street", "13 others")
IT_LOOKS = {
    (head, last): dict(zip(KEYS, weights, strict=True))
    for head, last, weights in (
        ("layer 3, head 1", "tired", (0.10, 0.68, 0.05, 0.17)),
        ("layer 3, head 1", "wide", (0.33, 0.28, 0.12, 0.27)),
        ("layer 5, head 11", "tired", (0.13, 0.67, 0.02, 0.18)),
        ("layer 5, head 11", "wide", (0.19, 0.56, 0.04, 0.22)),
    )
}
"""Weights of two of MiniLM's heads, from *it*, in *The animal didn't cross the street because it was too …*."""


@picture
def two_averages(wide: bool) -> Canvas:
    """Draw what one head and what two heads bring of two values: their mixture, or both."""
    labels = {
        "title": "One average, or two",
        "desc": (
            "Four words have values, 1 to 4. With one head, the last word gives weight 0.5 to the first value "
            "and 0.5 to the third, and gets one vector, half of each. With two heads, the first head gives weight 1 to "
            "the first value and the second head gives weight 1 to the third. The last word gets both, side by side."
        ),
        "one": "one head",
        "two": "two heads",
        "mixture": "mixture",
        "both": "both, side by side",
    }
    c = Canvas("two-averages", wide, 208 if wide else 424, labels["title"], labels["desc"])
    for k, (name, result) in enumerate((("one", "mixture"), ("two", "both"))):
        x, y = (16 + 376 * k, 0) if wide else (16, 216 * k)
        c.text(x, y + 20, labels[name], TITLE, "start", strong=True)
        drawn = [c.box(x + 80 * i, y + 48, 64, 32, f"$v_{i + 1}$", tone="value") for i in range(4)]
        cells = ["0.5 $v_1$ + 0.5 $v_3$"] if name == "one" else ["$v_1$", "$v_3$"]
        out = c.vector(x + 72, y + 144, cells, "attention", 160 / len(cells))
        weight = 1 / (2 - k)
        for i, source in enumerate((0, 2)):
            end = (out.x + out.w * (i + 0.5) / 2, out.y - 2)
            c.arrow(drawn[source].bottom, end, tone="attention", width=1 + 9 * weight)
            c.text(drawn[source].centre[0] + (-8 + 36 * i), y + 112, f"{weight:g}", SMALL, tone="attention")
        c.text(out.centre[0], y + 184, labels[result], SMALL, tone="muted")
    return c


@picture
def two_questions(wide: bool, tokens: Sequence[str] = TOKENS, at: int = ASKING) -> Canvas:
    """Draw the two questions of the synthetic task: what one token asks of the token before and of its twin.

    Args:
        tokens: eight, each a letter and a digit; each letter comes twice.
        at: the position of the token that asks, 1 to 7.

    Returns:
        The picture.

    Raises:
        ValueError: there is no token before, or the letter does not come twice.
    """
    twins = [i for i, token in enumerate(tokens) if 0 < at < len(tokens) and i != at and token[0] == tokens[at][0]]
    if len(twins) != 1:
        raise ValueError(f"a token that asks has one before it and one twin: got position {at} of {list(tokens)}.")
    (twin,) = twins
    labels = {
        "title": "Two questions of one token",
        "desc": (
            f"Eight tokens, {', '.join(tokens)}. The token {tokens[at]} asks for the letter of the token before "
            f"it, which is {tokens[at - 1]}, so the letter is {tokens[at - 1][0]}. It also asks for the digit of its "
            f"twin, the other token with the letter {tokens[at][0]}, which is {tokens[twin]}, so the digit is "
            f"{tokens[twin][1]}."
        ),
        "position": "by position: the token before",
        "content": "by content: the same letter",
        "asks": "asks",
        "letter": f"letter {tokens[at - 1][0]}",
        "digit": f"digit {tokens[twin][1]}",
    }
    step, w, left = (80, 56, 48) if wide else (40, 36, 14)
    c = Canvas("two-questions", wide, 224, labels["title"], labels["desc"])
    middles = [left + step * i + w / 2 for i in range(len(tokens))]
    row = 96
    for i, token in enumerate(tokens):
        c.box(middles[i] - w / 2, row, w, 32, token, tone="query" if i == at else "key", bold=i == at, size=SMALL)
    top, bottom = row - 32, row + 64
    c.arrow(
        (middles[at] - 6, row),
        (middles[at] - 6, top),
        (middles[at - 1], top),
        (middles[at - 1], row - 2),
        tone="attention",
    )
    c.arrow(
        (middles[at], row + 32),
        (middles[at], bottom),
        (middles[twin], bottom),
        (middles[twin], row + 34),
        tone="attention",
    )
    c.text(left, top - 40, labels["position"], SMALL, "start")
    c.text(left, top - 20, labels["letter"], SMALL, "start", strong=True)
    c.text(left, bottom + 24, labels["content"], SMALL, "start")
    c.text(left, bottom + 44, labels["digit"], SMALL, "start", strong=True)
    return c


@picture
def it_looks_at(wide: bool, looks: Mapping[tuple[str, str], Mapping[str, float]] = IT_LOOKS) -> Canvas:
    """Draw where heads look from a word, each in versions of a sentence that differ in their last word.

    Args:
        looks: for each head and last word the weight on each key; ``it`` looks.

    Returns:
        The picture.

    Raises:
        ValueError: there are not two heads with two versions each, or the weights of one are no distribution.
    """
    if len(looks) != 4 or any(abs(sum(weights.values()) - 1) > 0.05 for weights in looks.values()):
        sums = [round(sum(weights.values()), 2) for weights in looks.values()]
        raise ValueError(f"the picture has four panels, each with weights that sum to 1: got the sums {sums}.")
    labels = {
        "title": "What two heads look at",
        "desc": "Lines lead from the word it to the keys of its sentence, the wider, the more weight. "
        + " ".join(
            f"In {head}, where the sentence ends in {last}, the weights are "
            f"{', '.join(f'{weight:.2f} on {key}' for key, weight in weights.items())}."
            for (head, last), weights in looks.items()
        ),
        "query": "it",
        "version": "… too",
    }
    height = 64 + 28 * max(map(len, looks.values()))
    columns = 2 if wide else 1
    c = Canvas("it-looks-at", wide, height * len(looks) // columns - 16, labels["title"], labels["desc"])
    for k, ((head, last), weights) in enumerate(looks.items()):
        x, y, most = 16 + 360 * (k % columns), height * (k // columns), max(weights, key=weights.get)
        c.text(x, y + 20, f"{head}: {labels['version']} {last}", TITLE, "start", strong=True)
        asks = c.box(x, y + 24 + 14 * len(weights), 48, 32, labels["query"], tone="query")
        for i, (key, weight) in enumerate(weights.items()):
            middle = y + 54 + 28 * i
            c.arrow(asks.right, (x + 160, middle), tone="attention", width=20 * weight, head=False)
            c.text(x + 172, middle, key, SMALL, "start", strong=key == most)
            c.text(x + 296, middle, f"{weight:.2f}", SMALL, "end", strong=key == most)
    return c


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
