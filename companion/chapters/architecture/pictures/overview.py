"""The map of the Transformer, whose parts open their pages."""

from collections.abc import Callable
from math import pi, sin

from companion.pictures import DISPLAY, LABEL, SMALL, TITLE, Canvas, Number, number, picture

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
        "keys-values-about": "Keys and values: the encoder's output gives those of every cross-attention",
        "add-norm": "add & norm",
        "add-norm-about": "Add and norm: input and output are added, then each vector is brought to one size",
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
