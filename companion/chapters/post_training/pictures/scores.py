"""The way from questions to a score, with what can go wrong at each station."""

from companion.pictures import SMALL, Canvas, picture


@picture
def from_questions_to_a_score(wide: bool) -> Canvas:
    """Draw the stations of an evaluation, and below each what can make its score wrong."""
    labels = {
        "title": "From questions to a score",
        "desc": (
            "Five boxes follow each other: questions, model, answers, grader and score. Questions can be few, or "
            "leaked. A model can be too sure of itself. Of the answers one asks: the best of how many? A grader likes "
            "length, its own style, and in a score a guess costs nothing."
        ),
        "stations": ("questions", "model", "answers", "grader", "score"),
        "faults": (
            "few,\nor leaked",
            "too sure\nof itself",
            "the best\nof how many?",
            "likes length,\nits own style",
            "a guess\ncosts nothing",
        ),
    }
    c = Canvas("from-questions-to-a-score", wide, 120 if wide else 344, labels["title"], labels["desc"])
    last = None
    for number, (station, fault) in enumerate(zip(labels["stations"], labels["faults"], strict=True)):
        final = number == len(labels["stations"]) - 1
        x, y = (8 + 148 * number, 16) if wide else (24, 8 + 68 * number)
        box = c.box(x, y, 112, 40, station, tone="attention" if final else "ink", bold=final)
        if wide:
            c.text(x + 56, 88, fault, SMALL, tone="muted")
        else:
            c.text(160, y + 20, fault.replace("\n", " "), SMALL, "start", "muted")
        if last:
            c.arrow(last.right if wide else last.bottom, (x - 2, y + 20) if wide else (x + 56, y - 2))
        last = box
    return c
