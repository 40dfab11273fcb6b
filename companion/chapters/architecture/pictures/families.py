"""The drawn pictures of published models: where their parameters are, their masks, an old block and a modern one."""

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, picture

PROMPT, ROWS = 3, 6  # tokens of the prompt, and of the whole sequence, in the masks of the families
PARAMETERS = {  # of published models: embedding and output, attention, feed-forward networks
    "base": (18_944_000, 18_911_232, 25_196_544),
    "gpt-2": (39_383_808, 28_348_416, 56_669_184),
    "llama": (262_144_000, 2_147_483_648, 4_328_521_728),
    "gpt-3": (642_723_840, 57_986_777_088, 115_970_015_232),
}


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
            "Three grids of six tokens by six. Encoder-only: each token of a sentence may look at all. In the other "
            "two, three tokens are a prompt and three an answer. Decoder-only: each token may look at itself and at "
            "what comes before, the lower triangle. Prefix: every token may look at the whole prompt, and answer "
            "tokens also at earlier answer tokens and themselves."
        ),
        "names": ("Encoder-only", "Decoder-only", "Prefix"),
        "sentence": "sentence",
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
        halves = (("prompt", middle / 2), ("answer", middle * 1.5))
        for side, at in (("sentence", middle),) if k == 0 else halves:
            c.text(x + at, y - 14, labels[side], SMALL)
            if k == (1 if wide else 2):
                c.text(x - 8, y + at, labels[side], SMALL, "end")
    c.text(72, 248 if wide else 456, labels["axes"], SMALL, "start", "muted")
    return c


@picture
def two_blocks(wide: bool) -> Canvas:
    """Draw the block of 2017 beside a modern one: what lies on the residual path, and what beside it."""
    labels = {
        "title": "The block of 2017 and a modern one",
        "desc": (
            "Two blocks, read from the bottom up along the path from input to output. In the block of 2017, attention "
            "and then a ReLU network branch off the path and are added to it, and after each sum a LayerNorm lies on "
            "the path itself. In the modern block, each branch begins with an RMSNorm; attention has rotary "
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
