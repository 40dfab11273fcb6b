"""The way of a question through a search to an answer."""

import itertools

from companion.pictures import SMALL, Canvas, picture


@picture
def retrieve_then_answer(wide: bool) -> Canvas:
    """Draw how passages come into a prompt."""
    labels = {
        "title": "Search, then answer",
        "desc": (
            "A question goes to a search, which scores the passages of an index that was made beforehand. The best "
            "passages and the question make the prompt. The model reads it and answers, and names the passage that "
            "its answer comes from."
        ),
        "index": "index of passages",
        "stations": ("question", "search", "prompt", "model", "answer [2]"),
        "notes": ("", "scores all", "passages 2 and 7,\nquestion", "", "with its source"),
    }
    c = Canvas("retrieve-then-answer", wide, 168 if wide else 392, labels["title"], labels["desc"])
    boxes = []
    for number, (station, note) in enumerate(zip(labels["stations"], labels["notes"], strict=True)):
        x, y = (8 + 148 * number, 80) if wide else (24, 8 + 80 * number)
        tone, bold = ("attention", True) if number == 1 else ("ink", number == 4)
        boxes.append(c.box(x, y, 112, 40, station, tone=tone, bold=bold))
        if note and wide:
            c.text(x + 56, y + 60, note, SMALL, tone="muted")
        elif note and number != 1:
            c.text(152, y + 20, note.replace("\n", " "), SMALL, "start", "muted")
    for last, box in itertools.pairwise(boxes):
        c.arrow(last.right if wide else last.bottom, (box.x - 2, box.y + 20) if wide else (box.x + 56, box.y - 2))
    if wide:
        index = c.box(136, 12, 152, 36, labels["index"])
        c.arrow(index.bottom, (212, 78))
    else:
        index = c.box(184, 90, 144, 36, labels["index"])
        c.arrow(index.left, (138, 108))
    return c
