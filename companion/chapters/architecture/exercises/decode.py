"""The exercise on generation: ``greedy-decode``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _greedy(logits: Tensor, start: int, end: int, max_new: int) -> Tensor:
    token, made = start, []
    while len(made) < max_new:
        token = int(logits[token].argmax())
        made.append(token)
        if token == end:
            break
    return torch.tensor(made)


def _cases() -> list[Case]:
    draw = RandomInputs(22)
    by_hand = torch.tensor([[0.0, 0, 3, 1], [0, 0, 0, 5], [0, 4, 0, 1], [2.0, 0, 0, 0]])
    return [
        Case((by_hand, 0, 3, 9), "the example"),
        Case((by_hand, 0, 3, 2), "no room for the end"),
        Case((by_hand, 1, 3, 9), "the end at once"),
        Case((draw.normal(11, 11), 4, 7, 6)),
        Case((draw.normal(13, 13, dtype=torch.float32), 2, 5, 8)),
        Case((draw.normal(7, 7, scale=1e3), 1, 3, 5), "large numbers"),
        Case((torch.eye(5).roll(1, 1) - 2.0, 0, 4, 7), "negative logits"),
        Case((by_hand, 3, 3, 9), "one symbol for start and end"),
        Case((torch.eye(5), 0, 4, 6), "a symbol that follows itself"),
        Case((torch.eye(5)[[1, 0, 2, 3, 4]], 0, 4, 6), "the start symbol written again"),
        Case((torch.eye(3)[[1, 0, 2]], 0, 2, 9), "a circle that is never left"),
        Case(
            (torch.tensor([[1.0, 1.0 + 1e-9], [0.0, 1.0]], dtype=torch.float64), 0, 1, 1), "logits that differ by 1e-9"
        ),
    ]


GREEDY_DECODE = Exercise(
    name="greedy-decode",
    title="Decode greedily",
    chapter="architecture",
    level=2,
    place=6,
    minutes=20,
    same_dtype=True,
    reference=_greedy,
    cases=_cases,
    tested="an end at once, no room for it, one symbol for both, symbols written again, a circle, negative logits and "
    "nearly equal ones, both dtypes",
    hints=(
        "Play it with a finger on the table: which row do you read first, and which row after you have written a word?",
        "A loop of at most max_new turns. In each, one row of the table, one argmax, one token more. When is it over "
        "before that?",
        "The end symbol is written, too, and then the loop ends. The start symbol is read and not written. Return "
        "`torch.tensor` of the list.",
    ),
    mistakes=(
        Mistake(
            "keeps-start",
            Edit("torch.tensor(made)", "torch.tensor([start, *made])"),
            "Your text begins with the start symbol. It is read and not written.",
        ),
        Mistake(
            "ends-before-it-begins",
            Edit("len(made) < max_new:", "len(made) < max_new and token != end:"),
            "You looked for the end symbol in what was given to start with. Where one symbol does both, as in some "
            "models, nothing is written. Look at what was written.",
            also=(
                (
                    Edit("len(made) < max_new:", "len(made) < max_new and token != end:"),
                    Edit("torch.tensor(made)", "torch.tensor(made, dtype=torch.int64)"),
                ),
            ),
        ),
        Mistake(
            "goes-on",
            Edit("        if token == end:\n            break\n", ""),
            "You go on after the end symbol.",
        ),
        Mistake(
            "stops-at-a-repeat",
            Edit(
                "        made.append(token)\n",
                "        if token in made:\n            break\n        made.append(token)\n",
            ),
            "You stop at a token that was written before. A text may repeat itself: only the end symbol ends it, or "
            "its length.",
            also=(Edit("token == end:", "token == end or token in made[:-1]:"),),
        ),
        Mistake(
            "drops-end",
            (
                Edit("        made.append(token)\n", ""),
                Edit("            break\n", "            break\n        made.append(token)\n"),
            ),
            "The end symbol is missing. It is written like any token, and the text ends with it.",
        ),
        Mistake(
            "forgets",
            Edit("logits[token]", "logits[start]"),
            "Each step reads the row of the start symbol. It must read the row of the token written last.",
        ),
        Mistake(
            "least",
            Edit("argmax", "argmin"),
            "You write the least probable token.",
        ),
        Mistake(
            "one-step-more",
            Edit("< max_new", "<= max_new"),
            "Your text may have one token too many: max_new counts the end symbol as well.",
        ),
        Mistake(
            "columns",
            Edit("logits[token]", "logits[:, token]"),
            "You read a column. The logits after a token are in its row.",
        ),
        Mistake(
            "one-too-few",
            Edit("< max_new", "< max_new - 1"),
            "You stop one token early: `max_new` tokens may be appended, without the start symbol.",
        ),
    ),
)
