"""The drawn pictures of translation: one vector for a sentence, and looking back at all states."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, tanh

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, Number, picture

ROW = ("3", "1", "4")  # the row that is written in reverse
STATES = (0, 2, 2)  # of the encoder, where attention is computed by hand


@picture
def one_vector(wide: bool, row: Sequence[str] = ROW) -> Canvas:
    """Draw an encoder and a decoder with one vector of fixed size between them.

    Args:
        row: three symbols, which are written in reverse.

    Returns:
        The picture.
    """
    target = row[::-1]
    labels = {
        "title": "Everything through one vector",
        "desc": (
            f"The encoder reads {', '.join(row)}, with a state after each symbol. Its last state is the vector that "
            f"leads on to the decoder. The decoder begins at a start mark and writes {', '.join(target)}. Each symbol "
            "that it writes is what it reads in the next step."
        ),
        "encoder": "Encoder",
        "decoder": "Decoder",
        "vector": "one vector",
        "size": "fixed size",
        "start": "start",
        "state": "state",
    }
    c = Canvas("one-vector", wide, 232 if wide else 464, labels["title"], labels["desc"])
    w, step = (64, 88) if wide else (72, 100)
    for side, read, wrote in (("encoder", row, ()), ("decoder", (labels["start"], *target[:-1]), target)):
        x, y = ((16 if side == "encoder" else 464), 0) if wide else (32, -64 if side == "encoder" else 232)
        c.text(x, max(y, 0) + 16, labels[side], TITLE, "start", strong=True)
        for index, symbol in enumerate(read):
            here = x + step * index
            box = c.box(here, y + 104, w, 36, labels["state"])
            c.box(here, y + 184, w, 32, symbol)
            c.arrow((here + w / 2, y + 184), (here + w / 2, y + 142))
            if index < len(read) - 1:
                c.arrow(box.right, (here + step - 2, y + 122))
            if wrote:
                c.box(here, y + 40, w, 32, wrote[index], tone="ink")
                c.arrow((here + w / 2, y + 104), (here + w / 2, y + 74))
    if wide:
        c.arrow((16 + 2 * step + w, 122), (302, 122), tone="attention", width=BOLD)
        c.vector(304, 106, [""] * 4, "attention", 26, 32)
        c.text(356, 90, labels["vector"], LABEL, tone="attention", strong=True)
        c.text(356, 154, labels["size"], SMALL, tone="muted")
        c.arrow((408, 122), (462, 122), tone="attention", width=BOLD)
    else:
        edge = 32 + 2 * step + w
        c.arrow((edge, 58), (edge + 20, 58), (edge + 20, 184), (226, 184), tone="attention", width=BOLD)
        c.vector(120, 168, [""] * 4, "attention", 26, 32)
        c.text(112, 176, labels["vector"], LABEL, "end", "attention", strong=True)
        c.text(112, 196, labels["size"], SMALL, "end", "muted")
        c.arrow((172, 200), (172, 220), (16, 220), (16, 354), (30, 354), tone="attention", width=BOLD)
    return c


@picture
def looking_back(wide: bool, states: Sequence[Number] = STATES) -> Canvas:
    """Draw additive attention by hand: the decoder's state 0 meets three encoder states of one number.

    Args:
        states: of the encoder, three.

    Returns:
        The picture.
    """
    scores = [tanh(state) for state in states]
    total = sum(map(exp, scores))
    weights = [exp(score) / total for score in scores]
    context = sum(weight * state for weight, state in zip(weights, states, strict=True))
    said = [f"{score:.3f}".replace("0.000", "0") for score in scores]
    labels = {
        "title": "Attention of 2014",
        "desc": (
            f"The decoder's state 0 meets the encoder states {', '.join(map(str, states))}, one after the other. The "
            f"tanh of each sum is a score: {', '.join(said)}. The softmax makes of them the weights "
            f"{', '.join(f'{weight:.3f}' for weight in weights)}. The states, averaged with these weights, are the "
            f"context {context:.3f}, which goes into the next step of the decoder."
        ),
        "decoder": "decoder",
        "encoder": "encoder states",
        "softmax": "softmax",
        "context": "context",
        "scores": "scores: tanh",
        "weights": "weights",
        "next": "next step",
    }
    c = Canvas("looking-back", wide, 360, labels["title"], labels["desc"])
    left, cols, w = (96, (296, 456, 616), 80) if wide else (52, (148, 224, 300), 60)
    c.text(cols[1], 16, labels["encoder"], SMALL, tone="muted")
    c.box(left - 44, 32, 88, 40, labels["decoder"], "$s$ = 0")
    c.arrow((left, 72), (left, 120), (cols[0] - 14, 120))
    for here, there in pairwise(cols):
        c.arrow((here + 12, 120), (there - 14, 120))
    c.text(left, 160, labels["scores"], SMALL, tone="muted")
    c.text(left, 248, labels["weights"], SMALL, tone="muted")
    for index, (x, state, weight) in enumerate(zip(cols, states, weights, strict=True)):
        c.box(x - w / 2, 32, w, 40, f"$h_{index + 1}$ = {state}")
        c.arrow((x, 72), (x, 106))
        c.node(x, 120, "+")
        c.arrow((x, 132), (x, 150))
        c.text(x, 162, said[index], SMALL)
        c.arrow((x, 172), (x, 190))
        c.arrow((x, 224), (x, 238))
        c.text(x, 250, f"{weight:.3f}", SMALL, strong=True)
        c.arrow((x, 262), (x, 310), tone="attention", width=1 + 9 * weight)
    c.box(cols[0] - w / 2, 192, cols[2] - cols[0] + w, 32, labels["softmax"])
    total = c.box(
        cols[0] - w / 2, 312, cols[2] - cols[0] + w, 36, f"{labels['context']} {context:.3f}", tone="attention"
    )
    after = c.box(left - 44, 312, 88, 36, labels["next"], size=LABEL if wide else SMALL)
    c.arrow(total.left, (after.right[0] + 2, total.left[1]), tone="attention")
    return c
