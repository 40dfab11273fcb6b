"""The pictures of the chapter on positions: what attention cannot see, and three ways to tell it."""

from collections.abc import Sequence
from math import cos, exp, sin, sqrt

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, Number, picture

WORDS = ("dog", "bites", "man")
VECTORS = ((2, 0), (1, 1), (0, 3))
ROTARY = ((2, 1), (12, 11))  # positions of query and key in the two panels
SLOPES = {1: 1 / 2, 3: 1 / 8}  # of two of the eight heads of ALiBi


def _softmax(scores: Sequence[Number]) -> list[float]:
    """Turn scores into weights."""
    terms = [exp(score - max(scores)) for score in scores]
    return [term / sum(terms) for term in terms]


def _signed(value: Number, digits: str = "g") -> str:
    """Write a number with the sign of mathematics."""
    return f"{value + 0:{digits}}".replace("-", "−")


@picture
def two_orders(wide: bool) -> Canvas:
    """Draw one word that asks the same three words in two orders, and gets the same answer."""
    (asking, *_), root = VECTORS, sqrt(2)
    weights = _softmax([sum(a * b for a, b in zip(asking, row, strict=True)) / root for row in VECTORS])
    output = [sum(w * row[i] for w, row in zip(weights, VECTORS, strict=True)) for i in range(2)]
    said = dict(zip(WORDS, (f"{weight:.2f}" for weight in weights), strict=True))
    written = f"({output[0]:.2f}, {output[1]:.2f})"
    labels = {
        "title": "Two orders, one answer",
        "desc": (
            "Two panels with the sentences dog bites man and man bites dog. In both, dog asks all three words. "
            f"It gives {said['dog']} of its weight to dog, {said['bites']} to bites and {said['man']} to man. Its "
            f"output is {written} both times."
        ),
        "sentences": ("dog bites man", "man bites dog"),
        "asks": "dog asks",
        "output": "output",
    }
    c = Canvas("two-orders", wide, 280 if wide else 560, labels["title"], labels["desc"])
    for panel, sentence in enumerate(labels["sentences"]):
        x, y = (40 + 360 * panel, 0) if wide else (32, 280 * panel)
        step, w = 100, 80
        middle = x + w / 2 + step
        c.text(x, y + 16, sentence, TITLE, "start", strong=True)
        for place, word in enumerate(sentence.split()):
            index = WORDS.index(word)
            here = x + w / 2 + step * place
            c.arrow(
                (middle + 16 * (place - 1), y + 168),
                (here, y + 88),
                tone="attention",
                width=1 + 9 * weights[index],
                label=said[word],
                at=0.45,
                off=((-32, 0), (20, 0), (32, 0))[place],  # beside it: one is too thick to write on
            )
            vector = f"({', '.join(map(str, VECTORS[index]))})"
            c.box(here - w / 2, y + 40, w, 44, word, vector, "key")
        c.box(middle - w / 2, y + 168, w, 32, labels["asks"], tone="query")
        c.arrow((middle, y + 200), (middle, y + 230))
        c.box(middle - 88, y + 232, 176, 32, f"{labels['output']} {written}", bold=True, tone="attention")
    return c


@picture
def where_positions_enter(wide: bool) -> Canvas:
    """Draw the three places where positions enter: the input, queries and keys, the scores."""
    labels = {
        "title": "Where positions enter",
        "desc": (
            "Three panels, read from below. In the first, the vectors of word and position are added, once, and the "
            "sum enters the layers. In the second, query and key are rotated by their positions in every layer, and "
            "their dot product goes to the softmax. In the third, a bias for the distance is added to the dot product "
            "of query and key in every layer."
        ),
        "input": "Added to the input",
        "input-sub": "sinusoidal, learned",
        "rotary": "Rotating Q and K",
        "rotary-sub": "RoPE",
        "bias": "Added to the scores",
        "bias-sub": "T5, ALiBi",
        "layers": "all layers",
        "word": "word",
        "position": "position",
        "rotate": "rotate",
        "softmax": "softmax",
        "distance": "distance",
    }
    height = 304
    c = Canvas("where-positions-enter", wide, height if wide else 3 * height, labels["title"], labels["desc"])
    for panel, kind in enumerate(("input", "rotary", "bias")):
        x, y = (32 + 232 * panel, 0) if wide else (72, height * panel)
        left, right, centre, w = x + 44, x + 148, x + 96, 88
        c.text(x, y + 16, labels[kind], TITLE, "start", strong=True)
        c.text(x, y + 38, labels[f"{kind}-sub"], SMALL, "start", "muted")
        bottom = y + 256
        top = "layers" if kind == "input" else "softmax"
        c.box(centre - w / 2, y + 60, w, 32, labels[top])
        if kind == "input":
            for side, name in ((left, "word"), (right, "position")):
                tone = "attention" if name == "position" else "ink"
                c.arrow((side, bottom), (side, y + 168), (centre + (14 if side > centre else -14), y + 168), tone=tone)
                c.box(side - w / 2, bottom, w, 32, labels[name], tone=tone)
            c.node(centre, y + 168, "+")
            c.arrow((centre, y + 156), (centre, y + 94))
            continue
        for side, tone, letter in ((left, "query", "$Q$"), (right, "key", "$K$")):
            meet = y + (136 if kind == "rotary" else 200)
            c.arrow((side, bottom), (side, meet), (centre + (14 if side > centre else -14), meet), tone=tone)
            c.box(side - 24, bottom, 48, 32, letter, tone=tone)
            if kind == "rotary":
                c.box(side - 36, y + 184, 72, 32, labels["rotate"], tone="attention")
        if kind == "rotary":
            c.node(centre, y + 136, "·")
            c.arrow((centre, y + 124), (centre, y + 94))
        else:
            c.node(centre, y + 200, "·")
            c.arrow((centre, y + 188), (centre, y + 150))
            c.node(centre, y + 136, "+")
            c.box(centre + 36, y + 120, 80, 32, labels["distance"], tone="attention")
            c.arrow((centre + 36, y + 136), (centre + 14, y + 136), tone="attention")
            c.arrow((centre, y + 124), (centre, y + 94))
    return c


@picture
def position_products(wide: bool, d_model: int = 8) -> Canvas:
    """Draw the dot products of the sinusoidal encodings of six positions, and the same by distance.

    Args:
        d_model: the width of the encodings, even.

    Returns:
        The picture.
    """
    n, shown = 6, 2
    rates = [10000 ** (-2 * i / d_model) for i in range(d_model // 2)]
    products = [sum(cos(rate * distance) for rate in rates) for distance in range(n)]
    written = [_signed(product, ".2f") for product in products]
    labels = {
        "title": "Dot products of six positions",
        "desc": (
            f"A table with six positions as rows and as columns. The diagonal holds {written[0]}, the entries at the "
            f"distances 1 to 5 hold {', '.join(written[1:])}, on both sides alike. The two diagonals of distance "
            f"{shown} are marked. Bars beside the table repeat the six values by distance: they fall up to distance 3 "
            "and rise again."
        ),
        "rows": "$p$",
        "columns": "$p + k$",
        "distance": "distance",
        "product": "dot product",
    }
    c = Canvas("position-products", wide, 328 if wide else 528, labels["title"], labels["desc"])
    cell = 44
    x, y = (72, 48) if wide else (56, 48)
    c.text(x - 32, y - 14, labels["rows"], LABEL)
    c.text(x + n * cell / 2, y - 36, labels["columns"], LABEL)
    for p in range(n):
        c.text(x - 14, y + (p + 0.5) * cell, str(p), SMALL, tone="muted")
        c.text(x + (p + 0.5) * cell, y - 12, str(p), SMALL, tone="muted")
        for q in range(n):
            tone = "attention" if abs(p - q) == shown else "ink"
            c.vector(x + q * cell, y + p * cell, [written[abs(p - q)]], tone, cell, cell)
    x, y = (432, 64) if wide else (32, 352)
    step, w = (40, 152) if wide else (28, 136)
    c.text(x, y - 20, labels["distance"], SMALL, "start", "muted")
    c.text(x + 84, y - 20, labels["product"], SMALL, "start", "muted")
    for distance, product in enumerate(products):
        here = y + step * distance
        c.text(x + 12, here + 8, str(distance), SMALL, strong=distance == shown)
        c.bar(x + 84, here, w, 16, product / products[0], "attention" if distance == shown else "ink")
        c.text(x + 92 + w, here + 8, written[distance], SMALL, "start", strong=distance == shown)
    return c


@picture
def rope_rotation(wide: bool, positions: Sequence[tuple[int, int]] = ROTARY) -> Canvas:
    """Draw a pair of features of query and key, rotated by their positions, at two places of a text.

    Args:
        positions: of query and key, for the left panel and for the right one.

    Returns:
        The picture.
    """
    scores = [f"{cos(m - n):.3f}" for m, n in positions]
    labels = {
        "title": "Query and key, rotated by their positions",
        "desc": (
            f"Two circles, each with the arrows of one query and one key that both start to the right. First the query "
            f"is rotated by {positions[0][0]} radians and the key by {positions[0][1]}; their score is {scores[0]}. "
            f"Then they are rotated by {positions[1][0]} and {positions[1][1]} radians. The angle between them is "
            f"still {positions[1][0] - positions[1][1]}, and the score {scores[1]}."
        ),
        "panels": [f"Positions {m} and {n}" for m, n in positions],
        "start": "start",
        "angle": [f"angle {m - n}" for m, n in positions],
        "score": [f"score {score}" for score in scores],
    }
    c = Canvas("rope-rotation", wide, 288 if wide else 576, labels["title"], labels["desc"])
    r = 72
    for panel, pair in enumerate(positions):
        x, y = (152 + 352 * panel, 168) if wide else (136, 168 + 288 * panel)
        c.text(x - 112, y - 152, labels["panels"][panel], TITLE, "start", strong=True)
        c.add(f'<circle cx="{x}" cy="{y}" r="{r}" class="f-line f-muted"/>')
        c.arrow((x, y), (x + r - 2, y), tone="muted")
        c.text(x + r + 10, y, labels["start"], SMALL, "start", "muted")
        tips = [(x + r * cos(angle), y - r * sin(angle)) for angle in pair]
        for tip, angle, tone, letter in zip(tips, pair, ("query", "key"), ("Q", "K"), strict=True):
            c.arrow((x, y), tip, tone=tone, width=BOLD)
            out = (x + (r + 32) * cos(angle), y - (r + 24) * sin(angle))
            c.text(*out, f"${letter}$ {angle}", LABEL, tone=tone, strong=True)
        arc = [pair[1] + (pair[0] - pair[1]) * step / 8 for step in range(9)]
        points = "L".join(f"{x + 30 * cos(angle):.1f} {y - 30 * sin(angle):.1f}" for angle in arc)
        c.add(f'<path d="M{points}" class="f-line f-attention f-bold"/>')
        c.text(x + 88, y + 80, labels["angle"][panel], LABEL, "start")
        c.text(x + 88, y + 104, labels["score"][panel], LABEL, "start", "attention", strong=True)
    return c


@picture
def alibi_bias(wide: bool) -> Canvas:
    """Draw the bias of two heads of ALiBi over four positions, and the weights that follow from equal scores."""
    n, cell = 4, 52
    weights = {head: _softmax([-slope * (n - 1 - j) for j in range(n)]) for head, slope in SLOPES.items()}
    said = {head: [f"{weight:.2f}" for weight in row] for head, row in weights.items()}
    labels = {
        "title": "The bias of ALiBi in two heads",
        "desc": (
            "Two tables with four queries as rows and four keys as columns; later keys are hidden. In the first head "
            "the bias falls by 0.5 with each step away from the diagonal, in the third head by 0.125. Bars below show "
            f"the weights of the last query if all scores are equal: {', '.join(said[1])} in the first head, "
            f"{', '.join(said[3])} in the third."
        ),
        "heads": {1: "Head 1", 3: "Head 3"},
        "slopes": {1: "slope 1/2", 3: "slope 1/8"},
        "weights": "weights of the last query",
    }
    c = Canvas("alibi-bias", wide, 416 if wide else 832, labels["title"], labels["desc"])
    for panel, (head, slope) in enumerate(SLOPES.items()):
        x, y = (96 + 312 * panel, 56) if wide else (72, 56 + 416 * panel)
        c.text(x, y - 40, labels["heads"][head], TITLE, "start", strong=True)
        c.text(x, y - 18, labels["slopes"][head], SMALL, "start", "muted")
        for i in range(n):
            c.vector(x, y + i * cell, [_signed(-slope * (i - j)) for j in range(i + 1)], "ink", cell, cell)
            if i < n - 1:
                c.mask(x + (i + 1) * cell, y + i * cell, [[False] * (n - 1 - i)], cell)
        c.text(x, y + n * cell + 24, labels["weights"], SMALL, "start", "muted")
        base = y + n * cell + 40
        for j, weight in enumerate(weights[head]):
            c.bar(x + j * cell + 10, base, 32, 72, weight, upright=True)
            c.text(x + (j + 0.5) * cell, base + 86, said[head][j], SMALL)
    return c
