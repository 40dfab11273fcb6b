"""What BERT reads and must say, how T5 writes every task as text, and a task as a prompt."""

from companion.pictures import LABEL, SMALL, Canvas, picture

SENTENCE = ["these", "calm", "sailors", "find", "this", "boat"]
READ = ["these", "[MASK]", "sailors", "find", "drum", "boat"]
CHOSEN = (1, 3, 4)
"""The positions that must be predicted: masked, kept, and replaced by a random word."""


@picture
def masked_words(wide: bool) -> Canvas:
    """Draw what becomes of three words that were chosen, and what the encoder must say."""
    labels = {
        "title": "Masked words",
        "desc": (
            "The sentence: these calm sailors find this boat. Above it, what the model reads. Of the three words that "
            "were chosen, calm is replaced by the symbol [MASK], find is kept, and this is replaced by the random "
            "word drum. All six go through an encoder, in which each position looks at all others. Above the three "
            "positions it must say calm, find and this; the other three have no loss."
        ),
        "sentence": "sentence",
        "read": "read",
        "encoder": "encoder, without a mask over positions",
        "said": "must say",
        "how": ("masked", "kept", "random"),
    }
    c = Canvas("masked-words", wide, 288, labels["title"], labels["desc"])
    left, width = (96, 100) if wide else (4, 56)
    said, encoder, read, sentence = 24, 80, 160, 248
    if wide:
        for y, name in ((said, "said"), (read, "read"), (sentence, "sentence")):
            c.text(8, y + 16, labels[name], SMALL, "start", "muted")
    c.box(left, encoder, 6 * width - 4, 40, labels["encoder"], size=LABEL if wide else SMALL)
    ways = dict(zip(CHOSEN, labels["how"], strict=True))
    for i, (word, seen) in enumerate(zip(SENTENCE, READ, strict=True)):
        x, chosen = left + i * width, i in CHOSEN
        middle = x + width / 2 - 2
        size = LABEL if wide else 12
        c.text(middle, sentence + 16, word, size)
        c.box(x + 2, read, width - 8, 32, seen, size=size, tone="attention" if chosen else "ink")
        c.arrow((middle, sentence), (middle, read + 34), tone="ink" if chosen else "muted")
        c.arrow((middle, read), (middle, encoder + 42), tone="ink" if chosen else "muted")
        if chosen:
            c.text(middle, (sentence + read + 32) / 2 + 2, ways[i], SMALL, tone="attention", halo=True)
            c.arrow((middle, encoder), (middle, said + 34))
            c.box(x + 2, said, width - 8, 32, word, size=size, tone="attention", bold=True)
    return c


TEXTS = [
    ("this salty <X> follows these <Y>", "<X> boat <Y> sailors"),
    ("topic: this salty boat follows these sailors", "sea"),
    ("number: this salty boat follows these sailors", "these salty boats follow these sailors"),
]
"""What the encoder reads and the decoder says: first in pre-training, then in two tasks."""
SHOTS = [
    ("Write the plural. drum:", "drums"),
    ("Write the plural. goat: goats. drum:", "drums"),
    ("goat: goats. boat: boats. pot: pots. drum:", "drums"),
]
"""A task as a prompt, with no example, one, and three."""


@picture
def text_to_text(wide: bool) -> Canvas:
    """Draw three tasks that one model answers in words."""
    labels = {
        "title": "Text to text",
        "desc": (
            "Three texts go into one encoder-decoder, and three come out. From: this salty <X> follows these <Y>, it "
            "makes: <X> boat <Y> sailors. From: topic: this salty boat follows these sailors, it makes: sea. From: "
            "number: this salty boat follows these sailors, it makes: these salty boats follow these sailors."
        ),
        "model": ("one", "encoder-", "decoder"),
        "stacked": "one encoder-decoder",
        "read": "the encoder reads",
        "said": "the decoder writes",
    }
    c = Canvas("text-to-text", wide, 216 if wide else 360, labels["title"], labels["desc"])
    _through_a_model(c, wide, TEXTS, labels, ("attention", "ink", "ink"))
    return c


@picture
def prompts_with_examples(wide: bool) -> Canvas:
    """Draw one task as three prompts."""
    labels = {
        "title": "Prompts with examples",
        "desc": (
            "Three prompts go into a decoder, as it is, and each time it continues with drums. The zero-shot prompt "
            "says: Write the plural, drum. The one-shot prompt adds an example, goat and goats. The few-shot prompt "
            "has three examples and no instruction: goat and goats, boat and boats, pot and pots."
        ),
        "model": ("decoder,", "as it is"),
        "stacked": "a decoder, as it is",
        "read": "zero-shot, one-shot and few-shot prompts",
        "said": "it continues",
    }
    c = Canvas("prompts-with-examples", wide, 216 if wide else 360, labels["title"], labels["desc"])
    _through_a_model(c, wide, SHOTS, labels, ("ink", "ink", "attention"))
    return c


def _through_a_model(
    c: Canvas, wide: bool, texts: list[tuple[str, str]], labels: dict, tones: tuple[str, str, str]
) -> None:
    """Draw three texts, the model that reads them, and what it says to each."""
    rows = list(zip(texts, tones, strict=True))
    if wide:
        c.text(164, 28, labels["read"], SMALL, tone="muted")
        c.text(583, 28, labels["said"], SMALL, tone="muted")
        c.box(348, 40, 80, 168, "")
        for i, line in enumerate(labels["model"]):
            c.text(388, 138 + 20 * i - 10 * len(labels["model"]), line, LABEL)
        for i, ((read, said), tone) in enumerate(rows):
            y = 48 + 56 * i
            c.box(8, y, 312, 40, read, size=SMALL, tone=tone)
            c.box(454, y, 258, 40, said, size=SMALL, tone=tone)
            c.arrow((320, y + 20), (346, y + 20), tone=tone)
            c.arrow((428, y + 20), (452, y + 20), tone=tone)
        return
    c.text(172, 16, labels["read"], SMALL, tone="muted")
    c.box(8, 160, 328, 40, labels["stacked"], size=LABEL)
    c.text(172, 352, labels["said"], SMALL, tone="muted")
    for i, ((read, said), tone) in enumerate(rows):
        c.box(8, 24 + 40 * i, 328, 32, read, size=SMALL, tone=tone)
        c.box(8, 224 + 40 * i, 328, 32, said, size=SMALL, tone=tone)
    c.arrow((172, 138), (172, 158))
    c.arrow((172, 200), (172, 222))
