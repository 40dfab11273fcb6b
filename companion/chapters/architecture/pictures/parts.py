"""The drawn pictures of the whole model: merges of pairs, its classes, and decoding step by step."""

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, picture

MERGES = ("es", "est", "lo", "low", "ew", "new")  # what byte-pair encoding learns on the page, in its order


@picture
def byte_pair_merges(wide: bool) -> Canvas:
    """Draw how two words become tokens, one merge after the other."""
    labels = {
        "title": "Merges make tokens",
        "desc": (
            "Two words, newest and lowest, in seven lines. In the first line each letter is a piece. Each further line "
            "applies one merge to both words: e and s become es, es and t become est, l and o become lo, lo and w "
            "become low, e and w become ew, n and ew become new. At the end there are two tokens each, new and est, "
            "low and est."
        ),
        "words": ("newest", "lowest"),
        "start": "letters",
        "merge": "merge",
    }
    c = Canvas("byte-pair-merges", wide, 304, labels["title"], labels["desc"])
    cell, step, left = (40, 40, 136) if wide else (21, 40, 68)
    starts = (left, left + 6 * cell + (64 if wide else 16))
    split = [list(word) for word in labels["words"]]
    for line, made in enumerate(("", *MERGES)):
        y = 16 + step * line
        said = f"{labels['merge']} {made}" if wide and made else made or labels["start"]
        c.text(left - (24 if wide else 12), y + 16, said, SMALL, "end", "muted")
        for word, x in enumerate(starts):
            pieces = _merged(split[word], made)
            at = x
            for piece in pieces:
                new = piece == made and pieces != split[word]
                c.box(at + 1, y, cell * len(piece) - 2, 32, piece, tone="attention" if new else "ink", bold=new)
                at += cell * len(piece)
            split[word] = pieces
    return c


def _merged(pieces: list[str], made: str) -> list[str]:
    """Replace each pair of neighbours that make a token."""
    merged = []
    for piece in pieces:
        if merged and merged[-1] + piece == made:
            merged[-1] = made
        else:
            merged.append(piece)
    return merged


@picture
def model_in_classes(wide: bool) -> Canvas:
    """Draw which class of the plain model contains which, and how the data flow."""
    labels = {
        "title": "The model in five classes",
        "desc": (
            "The class Transformer holds two stacks. Source tokens are embedded and pass through layers of the class "
            "EncoderLayer, each with an Attention and a FeedForward. Target tokens are embedded and pass through "
            "layers of the class DecoderLayer, each with an Attention under a causal mask, an Attention that reads the "
            "memory, and a FeedForward. An arrow leads the memory, which is the encoder's output, to this second "
            "Attention. The product with the table gives the logits."
        ),
        "model": "Transformer",
        "encoder": "EncoderLayer",
        "decoder": "DecoderLayer",
        "times": "× n",
        "attention": "Attention",
        "causal": "causal",
        "cross": "cross",
        "both": "both sides",
        "network": "FeedForward",
        "embed": "embed",
        "source": "source",
        "target": "target",
        "memory": "memory",
        "output": "logits",
    }
    c = Canvas("model-in-classes", wide, 424, labels["title"], labels["desc"])
    c.group(4, 4, 712 if wide else 336, 376, labels["model"])
    w, pad = (176, 24) if wide else (112, 12)
    middles, out = ((208, 512), 44) if wide else ((92, 250), 50)
    for x, name, top, boxes in (
        (middles[0], "encoder", 160, (("attention", "both"), ("network", ""))),
        (middles[1], "decoder", 88, (("attention", "causal"), ("attention", "cross"), ("network", ""))),
    ):
        c.group(x - w / 2 - pad, top, w + 2 * pad, 312 - top, labels[name], labels["times"] if wide else "")
        c.arrow((x, 408), (x, 370))
        c.box(x - w / 2, 336, w, 32, labels["embed"])
        c.arrow((x, 336), (x, 298))
        for k, (part, sub) in enumerate(boxes):
            y = 256 - 64 * k
            c.box(x - w / 2, y, w, 40, labels[part], labels.get(sub, ""), "attention" if sub else "ink", size=LABEL)
            if k:
                c.arrow((x, y + 64), (x, y + 42))
    c.text(middles[0] + 12, 398, labels["source"], SMALL, "start", "muted")
    c.text(middles[1] + 12, 398, labels["target"], SMALL, "start", "muted")
    c.arrow((middles[1] + out, 128), (middles[1] + out, 66))
    c.box(middles[1] - w / 2, 32, w, 32, labels["output"])
    between = (middles[0] + middles[1]) / 2
    c.arrow(
        (middles[0] + out, 192),
        (middles[0] + out, 128),
        (between, 128),
        (between, 212),
        (middles[1] - w / 2 - 2, 212),
        width=BOLD,
    )
    c.text(middles[0] + out - 10, 142, labels["memory"], SMALL, "end", strong=True)
    return c


@picture
def decoding_steps(wide: bool) -> Canvas:
    """Draw what the decoder reads and predicts, pass after pass in generation, and in one pass in training."""
    labels = {
        "title": "Decoding step by step",
        "desc": (
            "On one side, generation in four passes. The first reads the start symbol and predicts die. The second "
            "reads the start symbol and die and predicts Katze, the third predicts saß, the fourth the end symbol: "
            "each predicted word is read in the next pass. On the other side, training in one pass: the decoder reads "
            "the start symbol and the three words, and predicts die, Katze, saß and the end symbol, each above the "
            "position before it."
        ),
        "generation": "Generation: four passes",
        "training": "Training: one pass",
        "words": "⟨s⟩ die Katze saß ⟨/s⟩",
        "reads": "reads",
        "predicts": "predicts",
    }
    c = Canvas("decoding-steps", wide, 232 if wide else 440, labels["title"], labels["desc"])
    words = labels["words"].split()
    box, step, left = (56, 60, 8) if wide else (52, 54, 8)
    c.text(left, 16, labels["generation"], TITLE, "start", strong=True)
    for i in range(4):
        y = 40 + 48 * i
        for j in range(i + 1):
            c.box(left + step * j, y, box, 32, words[j], size=SMALL, tone="attention" if i and j == i else "ink")
        edge = left + step * i + box
        c.arrow((edge, y + 16), (edge + 28, y + 16))
        c.box(edge + 30, y, box, 32, words[i + 1], size=SMALL, bold=True, tone="attention")
    x, top = (428, 40) if wide else (64, 288)
    c.text(x if wide else left, top - 24, labels["training"], TITLE, "start", strong=True)
    for j in range(4):
        across = x + (72 if wide else 68) * j
        c.box(across, top + 112, 64 if wide else 60, 32, words[j], size=SMALL)
        c.arrow((across + 30, top + 112), (across + 30, top + 34))
        c.box(across, top, 64 if wide else 60, 32, words[j + 1], size=SMALL, bold=True, tone="attention")
    for name, y in (("predicts", top + 16), ("reads", top + 128)):
        c.text(x - 8, y, labels[name], SMALL, "end", "muted")
    return c
