"""The drawn pictures of the chapter: the map of the Transformer, whose parts open their pages, and its details."""

from collections.abc import Callable
from math import pi, sin

from companion.pictures import BOLD, DISPLAY, LABEL, SMALL, TITLE, Canvas, Number, number, picture

PAGES = {  # part: the page that it opens
    "encoder": "architecture/the-whole-model-on-one-page",
    "decoder": "architecture/why-a-decoder",
    "encoder-self-attention": "attention/attention-in-fifteen-minutes",
    "decoder-self-attention": "attention/masks",
    "cross-attention": "attention/a-translator-you-can-look-into",
    "keys-values": "multi-head/several-heads",
    "feed-forward": "add-norm/the-feed-forward-network",
    "add-norm": "add-norm/the-residual-stream",
    "embedding": "architecture/from-text-to-tokens",
    "positions": "positional-encoding/why-positions",
    "output": "architecture/why-a-decoder",
}
NEXT_WORDS = (0.7, 0.2, 0.1)  # shares of the three words at the top, invented
WIDTHS = ((6, -10), (12, -2), (6, 6))  # half the width and the place of the three bars of a feed-forward network
Draw = Callable[[Number, Number], object]  # an icon, by its centre
FULL = [[True] * 4] * 4
CAUSAL = [[column <= row for column in range(4)] for row in range(4)]
MERGES = ("es", "est", "lo", "low", "ew", "new")  # what byte-pair encoding learns on the page, in its order
PROMPT, ROWS = 3, 6  # tokens of the prompt, and of the whole sequence, in the masks of the families
PARAMETERS = {  # of published models: embedding and output, attention, feed-forward networks
    "base": (18_944_000, 18_911_232, 25_196_544),
    "gpt-2": (39_383_808, 28_348_416, 56_669_184),
    "llama": (262_144_000, 2_147_483_648, 4_328_521_728),
    "gpt-3": (642_723_840, 57_986_777_088, 115_970_015_232),
}


@picture
def transformer_map(wide: bool) -> Canvas:
    """Draw the Transformer of 2017; each part can be lit and opens its page."""
    labels = {
        "title": "The Transformer of 2017",
        "desc": (
            "Left the encoder, right the decoder, each of six equal layers, read from the bottom up. The words the cat "
            "sat become vectors, get their positions, and pass through self-attention and a feed-forward network, each "
            "followed by add and norm. The decoder reads the words written so far: masked self-attention, then "
            "cross-attention, which takes its keys and values from the encoder's output, then a feed-forward network. "
            "A linear layer and a softmax give a probability for each next word."
        ),
        "name": "The Transformer",
        "task": "English in, German out, one word at a time",
        "encoder": "Encoder",
        "encoder-about": "Encoder: reads the whole sentence at once",
        "decoder": "Decoder",
        "decoder-about": "Decoder: writes one word at a time",
        "layers": "6 layers",
        "encoder-self-attention": "Self-attention",
        "encoder-self-attention-sub": "each word looks at all",
        "encoder-self-attention-about": "Self-attention: each word of the sentence looks at all of them",
        "decoder-self-attention": "Masked self-attention",
        "decoder-self-attention-sub": "each word looks back",
        "decoder-self-attention-about": "Masked self-attention: each word looks at itself and at earlier words",
        "cross-attention": "Cross-attention",
        "cross-attention-sub": "looks at the source",
        "cross-attention-about": "Cross-attention: each word written so far looks at the sentence to translate",
        "feed-forward": "Feed-forward",
        "feed-forward-sub": "each word on its own",
        "feed-forward-about": "Feed-forward network: the same two layers for each word on its own",
        "keys-values-about": "The encoder's output gives the keys and values of every cross-attention",
        "add-norm": "add & norm",
        "add-norm-about": "Add and norm: the residual connection, then LayerNorm",
        "embedding": "Embedding",
        "embedding-about": "Embedding: a vector for each token",
        "source": "the cat sat",
        "source-sub": "the sentence to translate",
        "target": "⟨s⟩ die Katze",
        "target-sub": "the words written so far",
        "positions": "positions",
        "positions-about": "Positional encoding: where each word stands",
        "output": "Linear, softmax",
        "output-about": "Linear layer and softmax: a probability for each next word",
        "next": "saß sitzt lag",
    }
    c = Canvas("transformer-map", wide, 648 if wide else 624, labels["title"], labels["desc"])
    encoder, decoder = (176, 544) if wide else (84, 258)  # the middles of the columns
    w, pad = (224, 24) if wide else (120, 16)  # of a box; from a box to the edge of its group
    size, shift = (LABEL, -20) if wide else (SMALL, -16)
    icon = w / 2 - (28 if wide else 19)

    def part(name: str) -> object:
        return c.part(name, labels[f"{name}-about"], PAGES[name])

    def sublayer(x: Number, y: Number, side: int, name: str, tone: str, draw: Draw) -> None:
        """Draw one sublayer, its residual connection on a side (-1 left, 1 right), and add and norm; `y` is its end."""
        with part(name):
            label, sub = labels[name], labels[f"{name}-sub"] if wide else ""
            two_lines = 0 if wide else min(12, len(label) - 1)
            c.box(x - w / 2, y - 44, w, 44, label, sub, tone, size=size, shift=shift, wrap=two_lines)
            draw(x + icon, y - 22)
        with part("add-norm"):
            edge = x + side * (w / 2 + pad / 2)
            c.arrow((x, y + 17), (edge, y + 17), (edge, y - 61), (x + side * w / 2, y - 61), radius=6)
            c.arrow((x, y - 44), (x, y - 50), head=False)
            c.box(x - w / 2, y - 72, w, 22, labels["add-norm"], size=SMALL, tone="muted", radius=11)

    def looks(rows: list[list[bool]]) -> Draw:
        return lambda x, y: c.mask(x - 12, y - 12, rows, 6, 1.5)

    def widens(x: Number, y: Number) -> None:
        """Draw three bars for the three widths of a feed-forward network."""
        bars = "".join(f"M{number(x - half)} {number(y + dy)}h{2 * half}v4h-{2 * half}z" for half, dy in WIDTHS)
        c.add(f'<path d="{bars}" class="f-full f-muted"/>')

    edge = encoder - w / 2 - pad
    c.text(edge, 36, labels["name"], DISPLAY if wide else TITLE, "start", strong=True)
    c.text(edge, 80, labels["task"], size, "start", "muted", wrap=24 if wide else 15)
    for name, x, top in (("encoder", encoder, 260), ("decoder", decoder, 160)):
        with part(name):
            sheets = 2 if wide else 1
            c.group(x - w / 2 - pad, top, w + 2 * pad, 496 - top, labels[name], labels["layers"], sheets)
    with c.wires():
        for x in (encoder, decoder):
            c.arrow((x, 548), (x, 534))
            c.arrow((x, 508), (x, 470))
            c.arrow((x, 396), (x, 370), tone="query" if x == decoder else "ink")
        c.arrow((decoder, 296), (decoder, 270))
        c.arrow((decoder, 196), (decoder, 130))
    with part("keys-values"):
        between, out, left = 362 if wide else 171, encoder + 2 * (not wide), decoder - w / 2 - 1
        c.arrow((out - 4, 296), (out - 4, 228), (between + 4, 228), (between + 4, 338), (left, 338), tone="key")
        c.arrow((out + 4, 296), (out + 4, 236), (between - 4, 236), (between - 4, 354), (left, 354), tone="value")
        spots = ((388, 324), (388, 369)) if wide else ((128, 217), (128, 247))
        for letter, spot, tone in zip("KV", spots, ("key", "value"), strict=True):
            c.text(*spot, f"${letter}$", size, tone=tone, strong=True)
        c.text(decoder - 14, 383, "$Q$", size, tone="query", strong=True)

    sublayer(encoder, 468, -1, "encoder-self-attention", "attention", looks(FULL))
    sublayer(encoder, 368, -1, "feed-forward", "ink", widens)
    sublayer(decoder, 468, 1, "decoder-self-attention", "attention", looks(CAUSAL))
    sublayer(decoder, 368, 1, "cross-attention", "attention", looks(FULL))
    sublayer(decoder, 268, 1, "feed-forward", "ink", widens)

    for x, name, side in ((encoder, "source", -1), (decoder, "target", 1)):
        with part("embedding"):
            c.box(x - w / 2, 548, w, 32, labels["embedding"], shift=shift, size=size)
            c.vector(x + icon - 12, 558, [""] * 4, "muted", 6, 12)
            for i, word in enumerate(labels[name].split()):
                across = x + (i - 1) * (68 if wide else 42)
                c.text(across, 612, word, SMALL)
                c.arrow((across, 602), (across, 582))
            if wide:
                c.text(x, 634, labels[f"{name}-sub"], SMALL, tone="muted")
        with part("positions"):
            source = x + side * (56 if wide else 42)
            c.arrow((source, 520), (x + side * 14, 520))
            c.node(x, 520)
            c.node(source, 520, "", "muted")
            wave = " ".join(f"{number(source - 9 + 1.5 * i)} {number(520 - 5 * sin(pi * i / 6))}" for i in range(13))
            c.add(f'<path d="M{wave}" class="f-line f-muted"/>')
            if wide:
                c.text(source + side * 20, 520, labels["positions"], SMALL, "end" if side < 0 else "start", "muted")
    with part("output"):
        c.box(decoder - w / 2, 96, w, 32, labels["output"], size=size)
        for i, (word, share) in enumerate(zip(labels["next"].split(), NEXT_WORDS, strict=True)):
            c.text(decoder - 12, 20 + 24 * i, word, SMALL, "end", strong=i == 0)
            c.bar(decoder - 4, 13 + 24 * i, w / 2 - 4, 14, share, "ink")
    return c


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


@picture
def where_the_parameters_are(wide: bool) -> Canvas:
    """Draw the shares of embedding, attention and feed-forward networks in four published models."""
    totals = {name: sum(parts) for name, parts in PARAMETERS.items()}
    shares = {name: [part / totals[name] for part in parts] for name, parts in PARAMETERS.items()}
    said = {name: ", ".join(f"{share:.0%}" for share in parts) for name, parts in shares.items()}
    labels = {
        "title": "Where the parameters are",
        "desc": (
            "Four bars of one length, each divided into embedding, attention and feed-forward networks. The base model "
            f"of 2017: {said['base']}. GPT-2: {said['gpt-2']}; LLaMA-7B: {said['llama']}; GPT-3: {said['gpt-3']}. The "
            "two small models have a third of their parameters in the embedding. The two large ones have hardly any "
            "there, and two thirds in feed-forward networks."
        ),
        "parts": ("embedding", "attention", "feed-forward"),
        "base": "base, 2017",
        "gpt-2": "GPT-2, 2019",
        "llama": "LLaMA-7B, 2023",
        "gpt-3": "GPT-3, 2020",
        "million": "million",
        "billion": "billion",
    }
    c = Canvas("where-the-parameters-are", wide, 256 if wide else 328, labels["title"], labels["desc"])
    left, width, step = (136, 496, 52) if wide else (8, 328, 68)
    tones = ("soft", "attention", "ink")
    for k, part in enumerate(labels["parts"]):
        x = left + (0, 120, 232)[k] if wide else 8 + (0, 108, 208)[k]
        c.box(x, 8, 16, 16, tone=tones[k], radius=3)
        c.text(x + 24, 16, part, SMALL, "start")
    for k, (model, parts) in enumerate(shares.items()):
        y = 40 + step * k + (0 if wide else 24)
        size = totals[model] / 1e9
        whole = f"{size:.0f} {labels['billion']}" if size >= 1 else f"{1000 * size:.0f} {labels['million']}"
        name, year = labels[model].split(", ")
        if wide:
            c.text(left - 12, y + 10, name, SMALL, "end", strong=True)
            c.text(left - 12, y + 28, year, SMALL, "end", "muted")
            c.text(left + width + 8, y + 20, whole, SMALL, "start", "muted")
        else:
            c.text(left, y - 12, name, SMALL, "start", strong=True)
            c.text(left + width, y - 12, f"{year}, {whole}", SMALL, "end", "muted")
        x = left
        for share, tone in zip(parts, tones, strict=True):
            c.box(x, y, width * share, 36, f"{share:.0%}" if share > 0.08 else "", tone=tone, size=SMALL, radius=3)
            x += width * share
    return c


@picture
def family_masks(wide: bool) -> Canvas:
    """Draw the masks of an encoder, a decoder and a prefix model as grids."""
    labels = {
        "title": "One layer, three masks",
        "desc": (
            "Three grids of six tokens by six, three of a prompt and three of an answer. Encoder-only: each token may "
            "look at all. Decoder-only: each token may look at itself and at what comes before, the lower triangle. "
            "Prefix: every token may look at the whole prompt, and answer tokens also at earlier answer tokens and "
            "themselves."
        ),
        "names": ("Encoder-only", "Decoder-only", "Prefix"),
        "prompt": "prompt",
        "answer": "answer",
        "axes": "rows: who looks, columns: at what",
    }
    c = Canvas("family-masks", wide, 264 if wide else 472, labels["title"], labels["desc"])
    kinds = (lambda i, j: True, lambda i, j: j <= i, lambda i, j: j <= i or j < PROMPT)
    for k, (name, look) in enumerate(zip(labels["names"], kinds, strict=True)):
        x, y, cell = (72 + 224 * k, 72, 26) if wide else (72 + 144 * (k % 2), 72 + 232 * (k // 2), 20)
        c.text(x, y - 48, name, LABEL, "start", strong=True)
        c.mask(x, y, [[look(i, j) for j in range(ROWS)] for i in range(ROWS)], cell)
        middle = PROMPT * cell
        for side, at in (("prompt", middle / 2), ("answer", middle * 1.5)):
            c.text(x + at, y - 14, labels[side], SMALL)
            if k == 0 or (not wide and k == 2):
                c.text(x - 8, y + at, labels[side], SMALL, "end")
    c.text(72, 248 if wide else 456, labels["axes"], SMALL, "start", "muted")
    return c


@picture
def two_blocks(wide: bool) -> Canvas:
    """Draw the block of 2017 beside one of today: what lies on the residual path, and what beside it."""
    labels = {
        "title": "A block of 2017 and one of today",
        "desc": (
            "Two blocks, read from the bottom up along the path from input to output. In the block of 2017, attention "
            "and then a ReLU network branch off the path and are added to it, and after each sum a LayerNorm lies on "
            "the path itself. In the block of today, each branch begins with an RMSNorm; attention has rotary "
            "positions and shared keys and values, the network is a SwiGLU, and no norm lies on the path."
        ),
        "names": ("2017", "today"),
        "norms": ("LayerNorm", "RMSNorm"),
        "attention": "attention",
        "attention-sub": ("own $K$, $V$", "RoPE, GQA"),
        "network": "feed-forward",
        "network-sub": ("ReLU", "SwiGLU"),
    }
    c = Canvas("two-blocks", wide, 456, labels["title"], labels["desc"])
    w = 208 if wide else 100
    for k, name in enumerate(labels["names"]):
        path = (72, 440)[k] if wide else (44, 216)[k]
        branch = path + (56 if wide else 20)
        centre = branch + w / 2
        c.text(path - (32 if wide else 36), 16, name, TITLE, "start", strong=True)
        marks, y = [], 440
        for part, tone in (("attention", "attention"), ("network", "ink")):
            fork, plus = y - 16, y - 136
            if k:
                c.arrow((path, fork), (centre, fork), (centre, fork - 14), radius=6)
                c.box(branch, fork - 40, w, 24, labels["norms"][k], size=SMALL, tone="muted", radius=11)
                c.arrow((centre, fork - 40), (centre, fork - 54))
            else:
                c.arrow((path, fork), (centre, fork), (centre, fork - 54), radius=6)
            c.box(branch, fork - 96, w, 40, labels[part], labels[f"{part}-sub"][k], tone, size=LABEL if wide else SMALL)
            c.arrow((centre, fork - 96), (centre, plus), (path + 14, plus), radius=6)
            c.node(path, plus)
            marks.append(plus)
            y = plus - (64 if not k else 24)
            if not k:
                c.box(
                    path - (48 if wide else 40),
                    plus - 56,
                    96 if wide else 80,
                    28,
                    labels["norms"][0],
                    size=SMALL,
                    tone="muted",
                    radius=11,
                )
        low = 448
        for plus in marks:
            c.arrow((path, low), (path, plus + 14), width=BOLD if k else 0)
            low = plus - 12
            if not k:
                c.arrow((path, low), (path, plus - 26))
                low = plus - 56
        c.arrow((path, low), (path, 36), width=BOLD if k else 0)
    return c
