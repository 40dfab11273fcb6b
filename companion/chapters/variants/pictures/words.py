"""What BERT reads and must say: masked words."""

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
