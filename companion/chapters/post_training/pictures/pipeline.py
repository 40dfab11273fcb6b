"""From a pre-trained model to an assistant: the picture of the chapter."""

from itertools import pairwise

from companion.pictures import LABEL, Canvas, picture


@picture
def post_training_pipeline(wide: bool) -> Canvas:
    """Draw the stages after pre-training, with the data that each one learns from."""
    labels = {
        "title": "From text to an assistant",
        "desc": (
            "Four models in order, each with an arrow to the next: a base model, which continues text; a fine-tuned "
            "model, which answers; a model trained on preferences or rewards; and the model that is put to use. Beside "
            "each is what it learns from or is judged by: trillions of tokens for the base model, questions with "
            "answers for the fine-tuned one, pairs of answers or checks for the third, and tests that no stage has "
            "read for the last."
        ),
        "base": "base model",
        "base-sub": "continues text",
        "base-data": ("text,", "trillions of tokens"),
        "tuned": "fine-tuned",
        "tuned-sub": "answers",
        "tuned-data": ("questions with", "answers"),
        "aligned": "preferred",
        "aligned-sub": "answers better",
        "aligned-data": ("pairs of answers,", "or checks"),
        "used": "in use",
        "used-sub": "evaluated",
        "used-data": ("tests that no", "stage has read"),
    }
    stages = ("base", "tuned", "aligned", "used")
    c = Canvas("post-training-pipeline", wide, 168 if wide else 376, labels["title"], labels["desc"])
    boxes = []
    for k, name in enumerate(stages):
        x, y = (16 + 184 * k, 96) if wide else (176, 16 + 96 * k)
        bold = name == "tuned"
        tone = "attention" if bold else "ink"
        boxes.append(c.box(x, y, 136, 56, labels[name], labels[f"{name}-sub"], tone=tone, bold=bold, size=LABEL))
        for line, words in enumerate(labels[f"{name}-data"]):
            if wide:
                c.text(x + 68, 28 + 18 * line, words, tone="muted")
            else:
                c.text(72, y + 24 + 18 * line, words, tone="muted")
        if wide:
            c.arrow((x + 68, 60), (x + 68, 94), tone="muted")
        else:
            c.arrow((148, y + 28), (174, y + 28), tone="muted")
    for first, second in pairwise(boxes):
        if wide:
            c.arrow(first.right, (second.x - 2, first.right[1]))
        else:
            middle = first.x + first.w / 2
            c.arrow((middle, first.y + first.h), (middle, second.y - 2))
    return c
