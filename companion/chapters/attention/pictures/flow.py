"""Who asks whom, and what comes back: queries, keys and values, and the three uses of attention."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, sqrt

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, Number, picture

WORDS = ("the", "cat", "sat")
X = ((1, 0, 0), (0, 1, 0), (0, 1, 1))
W_Q = ((1, 1, 0, 0), (2, 0, 2, 0), (-2, 1, -1, 2))
W_K = ((0, 1, 0, 1), (1, 0, 0, 0), (0, 1, 1, 0))
W_V = ((0, 4), (4, 0), (-2, 2))
ASKING = 1  # the word whose query is drawn

Matrix = Sequence[Sequence[Number]]


def _product(row: Sequence[Number], matrix: Matrix) -> list[Number]:
    """Multiply a row by a matrix."""
    return [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*matrix, strict=True)]


def _softmax(scores: Sequence[Number]) -> list[float]:
    """Turn scores into weights."""
    terms = [exp(score - max(scores)) for score in scores]
    return [term / sum(terms) for term in terms]


def _written(values: Sequence[Number], digits: str = "g") -> list[str]:
    """Write the entries of a vector."""
    return [f"{value:{digits}}" for value in values]


@picture
def queries_keys_values(
    wide: bool,
    words: Sequence[str] = WORDS,
    x: Matrix = X,
    w_q: Matrix = W_Q,
    w_k: Matrix = W_K,
    w_v: Matrix = W_V,
    asking: int = ASKING,
) -> Canvas:
    """Draw how one word asks all words: its query meets their keys, and the weighted sum of their values comes back.

    Args:
        words: three.
        x: their vectors, one a row.
        w_q: the matrix of the queries, of width 4.
        w_k: that of the keys, of width 4.
        w_v: that of the values, of width 2.
        asking: the index of the word whose query is drawn.

    Returns:
        The picture.

    Raises:
        ValueError: a size is another one.
    """

    def said(values: Sequence[Number], digits: str = "g") -> str:
        return ", ".join(_written(values, digits))

    sizes = [len(words), len(x), *(len(matrix[0]) for matrix in (w_q, w_k, w_v))]
    if sizes != [3, 3, 4, 4, 2]:
        raise ValueError(
            f"the picture has room for 3 words, 3 vectors, queries and keys of width 4 and values of width 2: "
            f"got {sizes}. Make the example smaller."
        )
    query = _product(x[asking], w_q)
    keys, values = ([_product(row, matrix) for row in x] for matrix in (w_k, w_v))
    dots = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
    root = sqrt(len(query))
    weights = _softmax([dot / root for dot in dots])
    output = _product(weights, values)
    vectors = [f"({said(row)})" for row in x]
    most = weights.index(max(weights))
    labels = {
        "title": "Queries, keys and values",
        "desc": (
            f"The word {words[asking]} asks. Its query ({said(query)}) meets the keys of {', '.join(words)}; the dot "
            f"products are {said(dots)}. Divided by the root of the width 4, which is {root:g}, and passed through the "
            f"softmax, they become the weights {said(weights, '.3f')}. Each multiplies the value of its word. The sum "
            f"({said(output, '.2f')}) is the output for {words[asking]}; most of it comes from {words[most]}."
        ),
        "asks": "asks",
        "asked": "are asked",
        "scores": "scores ÷ √$d_k$",
        "softmax": "softmax",
        "weights": "weights, sum 1",
        "output": "output",
        "again": "the same words",
    }
    c = Canvas("queries-keys-values", wide, 592, labels["title"], labels["desc"])
    left, cols = (112, (312, 472, 632)) if wide else (50, (140, 222, 304))
    cell, wider, radius = (28, 28, 14) if wide else (18, 22, 12)
    half, small = (44, LABEL) if wide else (36, SMALL)
    side = left - 2 * wider

    # The query goes along the row of dot products; the sum comes back along the row of products.
    stops = [left + 2 * wider, *cols]
    for here, there in pairwise(stops):
        c.arrow((here + radius * (here != stops[0]), 176), (there - radius - 2, 176), tone="query")
    c.arrow((cols[2] - radius, 424), (left + 2 * wider + 2, 424), tone="attention")
    c.text(left, 16, labels["asks"], SMALL, tone="muted")
    c.text(cols[1], 16, labels["asked"], SMALL, tone="muted")

    c.box(left - half, 28, 2 * half, 40, words[asking], vectors[asking], "query")
    c.arrow((left, 68), (left, 160), tone="query", label="$W^Q$", off=(9, -10), anchor="start")
    c.vector(side, 162, _written(query), "query", wider, 28)
    c.text(side, 147, f"$q_{asking + 1}$", LABEL, "start", "query", strong=True)
    for i, x0 in enumerate(cols):
        start = x0 - 2 * cell
        c.box(x0 - half, 28, 2 * half, 40, words[i], vectors[i])
        c.arrow((x0, 68), (x0, 106), tone="key", label="$W^K$", off=(9, 0), anchor="start")
        c.vector(start, 108, _written(keys[i]), "key", cell, 28)
        c.text(start, 95, f"$k_{i + 1}$", LABEL, "start", "key", strong=True)
        c.arrow((x0, 136), (x0, 174 - radius), tone="key")
        c.node(x0, 176, "·", radius=radius)
        c.arrow((x0, 176 + radius), (x0, 216))
        c.text(x0, 228, f"{dots[i]:g} ÷ {root:g} = {dots[i] / root:g}", small)
        c.arrow((x0, 240), (x0, 264))
        c.arrow((x0, 298), (x0, 318))
        c.text(x0, 330, f"{weights[i]:.3f}", small, strong=i == most)
        c.bar(start, 342, 4 * cell, 10, weights[i])
        c.arrow((x0, 353), (x0, 422 - radius), tone="attention", width=1 + 9 * weights[i])
        c.node(x0, 424, "×", radius=radius)
        c.vector(x0 - cell, 468, _written(values[i]), "value", cell, 28)
        c.arrow((x0, 468), (x0, 426 + radius), tone="value")
        c.text(x0 - cell - 6, 482, f"$v_{i + 1}$", LABEL, "end", "value", strong=True)
        c.arrow((x0, 544), (x0, 498), tone="value", label="$W^V$", off=(9, 2), anchor="start")
        c.box(x0 - half, 544, 2 * half, 40, words[i], vectors[i])
    c.box(cols[0] - 2 * cell, 266, cols[2] - cols[0] + 4 * cell, 32, labels["softmax"], tone="attention")
    c.node((left + 2 * wider + cols[0]) / 2 if wide else 115, 424, "+", "attention", radius if wide else 8)
    c.vector(left - wider * 2, 410, _written(output, ".2f"), "attention", 2 * wider, 28)
    c.text(side, 398, labels["output"], SMALL, "start", "attention", strong=True)
    c.text(side, 228, labels["scores"], SMALL, "start", "muted")
    c.text(side, 338, labels["weights"], SMALL, "start", "muted", wrap=0 if wide else 9)
    c.text(side, 564, labels["again"], SMALL, "start", "muted", wrap=0 if wide else 9)
    return c


@picture
def three_uses(wide: bool) -> Canvas:
    """Draw who asks whom in self-attention, in causal self-attention and in cross-attention."""
    labels = {
        "title": "Three uses of attention",
        "desc": (
            "Three panels, each with a row of words that ask above a row of words that are asked. In self-attention "
            "both rows are the cat sat, and every word asks all three. In causal self-attention the asks only itself, "
            "cat asks the and itself, and sat asks all three. In cross-attention the German words die and Katze ask "
            "every word of the cat sat."
        ),
        "self": "Self-attention",
        "self-sub": "every word asks all words",
        "causal": "Causal self-attention",
        "causal-sub": "no word asks a later one",
        "cross": "Cross-attention",
        "cross-sub": "one text asks another",
        "asks": "asks",
        "asked": "asked",
        "source": "the cat sat",
        "target": "die Katze",
    }
    c = Canvas("three-uses", wide, 216 if wide else 648, labels["title"], labels["desc"])
    source, target = labels["source"].split(), labels["target"].split()
    uses = (
        ("self", source, lambda i, j: True),
        ("causal", source, lambda i, j: j <= i),
        ("cross", target, lambda i, j: True),
    )
    for k, (use, asking, may_look) in enumerate(uses):
        x0, y0 = (64 + 224 * k, 0) if wide else (72, 216 * k)
        step, w, top, bottom = (68, 56, y0 + 64, y0 + 176) if wide else (88, 68, y0 + 64, y0 + 160)
        c.text(x0, y0 + 16, labels[use], TITLE, "start", strong=True)
        c.text(x0, y0 + 38, labels[f"{use}-sub"], SMALL, "start", "muted")
        columns = [x0 + w / 2 + step * i for i in range(3)]
        if k == 0 or not wide:
            c.text(x0 - 10, top + 16, labels["asks"], SMALL, "end", "query", strong=True)
            c.text(x0 - 10, bottom + 16, labels["asked"], SMALL, "end", "key", strong=True)
        tops = [column + step / 2 * (3 - len(asking)) for column in columns[: len(asking)]]
        for i, here in enumerate(tops):
            last = i == len(tops) - 1
            for j, there in enumerate(columns):
                if may_look(i, j):
                    ends = (here + 12 * (j - 1), top + 32), (there + 12 * (i - (len(tops) - 1) / 2), bottom - 2)
                    c.arrow(*ends, tone="attention" if last else "muted", width=BOLD * last)
        for i, here in enumerate(tops):
            c.box(here - w / 2, top, w, 32, asking[i], tone="query", bold=i == len(tops) - 1)
        for j, there in enumerate(columns):
            c.box(there - w / 2, bottom, w, 32, source[j], tone="key")
    return c
