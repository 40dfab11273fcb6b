"""The drawn picture of reasoning: more tokens in one answer, or more answers."""

from collections.abc import Sequence
from itertools import accumulate

from companion.pictures import SMALL, Canvas, picture

PROBLEM, WRONG = (7, 5, 8, 9), 4
"""Digits to be added modulo 10, and an answer that is not their sum."""


@picture
def two_ways_to_spend_more(wide: bool, problem: Sequence[int] = PROBLEM, wrong: int = WRONG) -> Canvas:
    """Draw one answer with a thought, and several answers of which one is chosen.

    Args:
        problem: four digits.
        wrong: an answer that is not their sum.

    Returns:
        The picture.
    """
    thought = [total % 10 for total in accumulate(problem)][1:]
    right = thought[-1]
    labels = {
        "title": "Two ways to spend more computation",
        "desc": (
            f"In the first panel the digits {' '.join(map(str, problem))} are to be added modulo 10. At once "
            f"the answer is a guess. In steps the model writes {' '.join(map(str, thought))} and then {right}. In the "
            f"second panel three samples say {right}, {wrong} and {right}; a vote or a scorer chooses {right}."
        ),
        "longer": "1. think longer",
        "in_turn": "in sequence",
        "wider": "2. sample more",
        "beside": "in parallel",
        "once": "at once",
        "steps": "in steps",
        "thought": "thought",
        "samples": "samples",
        "choose": "vote or score",
    }
    c = Canvas("two-ways-to-spend-more", wide, 200 if wide else 400, labels["title"], labels["desc"])
    width = 348 if wide else 344
    left, top = (372, 8) if wide else (0, 208)
    c.group(0, 8, width, 184, labels["longer"], labels["in_turn"])
    c.group(left, top, width, 184, labels["wider"], labels["beside"])
    for y, name, value in ((64, labels["once"], "?"), (136, labels["steps"], right)):
        c.text(16, y - 12, name, SMALL, "start", "muted")
        asked = c.vector(16, y, problem, "ink")
        said = c.vector(300, y, [value], "ink")
        if value == right:
            steps = c.vector(164, y, thought, "attention")
            c.text(200, y - 12, labels["thought"], SMALL, tone="attention")
            c.arrow(asked.right, (steps.x - 2, y + 12))
            c.arrow(steps.right, (said.x - 2, y + 12))
        else:
            c.arrow(asked.right, (said.x - 2, y + 12))
    c.text(left + 28, top + 48, labels["samples"], SMALL, "start", "muted")
    chooser = c.box(left + 184, top + 60, 84, 88, labels["choose"], size=SMALL, wrap=8)
    for y, steps, answer in ((60, thought, right), (92, thought[:1], wrong), (124, thought, right)):
        c.vector(left + 100 - 24 * len(steps), top + y, steps, "attention")
        said = c.vector(left + 112, top + y, [answer], "ink")
        c.arrow(said.right, (chooser.x - 2, top + y + 12))
    last = c.vector(left + 308, top + 92, [right], "ink")
    c.arrow(chooser.right, (last.x - 2, top + 104))
    return c
