"""Exercise on the labels of fine-tuning: ``answer-labels``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _answer_labels(tokens: Tensor, assistant: int, end: int) -> Tensor:
    labels, speaking = torch.full_like(tokens, -100), False
    for t, token in enumerate(tokens.tolist()):
        if speaking:
            labels[t] = token
        if token == assistant:
            speaking = True
        if token == end:
            speaking = False
    return labels


def _alternating(tokens: Tensor, assistant: int, end: int) -> Tensor:
    labels, speaking, first = torch.full_like(tokens, -100), bool(tokens[0] != assistant), True
    for t, token in enumerate(tokens.tolist()):
        if first:
            speaking, first = not speaking and (t == 0 or token == assistant), False
        elif speaking:
            labels[t] = token
        first = token == end
    return labels


def _cases() -> list[Case]:
    draw = RandomInputs(67)

    def talk(rounds: int, longest: int) -> Tensor:
        parts = []
        for _ in range(rounds):
            for role in (90, 91):
                words = (longest * draw.normal(longest).abs()).long() % 50
                parts += [role, *words[: 1 + int(words[0]) % longest].tolist(), 92]
        return torch.tensor(parts)

    padded = torch.tensor([1, 5, 3, 2, 7, 3, 3, 3])
    return [
        Case((torch.tensor([1, 5, 6, 3, 2, 7, 3]), 2, 3), "the example"),
        Case((padded, 2, 3), "padding with the end token"),
        Case((torch.tensor([1, 5, 3]), 2, 3), "no answer"),
        Case((torch.tensor([1, 5, 3, 2, 3]), 2, 3), "an empty answer"),
        Case((torch.tensor([1, 5, 3, 2, 7, 8, 9]), 2, 3), "an answer without its end"),
        Case((torch.tensor([2, 7, 3, 2, 8, 3]), 2, 3), "two messages of the assistant in a row"),
        Case((torch.tensor([1, 5, 3, 1, 6, 3, 2, 7, 3]), 2, 3), "two messages of the user in a row"),
        Case((talk(2, 6), 91, 92), "two rounds"),
        Case((talk(5, 9), 91, 92), "five rounds"),
    ]


ANSWER_LABELS = Exercise(
    name="answer-labels",
    title="Label the tokens that the assistant says",
    chapter="post-training",
    level=1,
    place=1,
    minutes=10,
    reference=_answer_labels,
    cases=_cases,
    tested="one round and several, no answer, an empty one, one without its end, two messages of one "
    "speaker in a row, padding with the end token",
    hints=(
        "Go through the tokens and remember one thing: is the assistant speaking? Which tokens begin and end that?",
        "The assistant says its end token, but not its role. In which order do you label and change the state?",
        "End tokens of the user, and those that fill up the row, come while the assistant is not speaking.",
    ),
    mistakes=(
        Mistake(
            "role-counts",
            Edit("speaking:\n            labels", "speaking or token == assistant:\n            labels"),
            "You label the role of the assistant too. The program that asks for an answer writes it.",
        ),
        Mistake(
            "end-left-out",
            Edit("if speaking:", "if speaking and token != end:"),
            "The end of an answer has no label in your result, so the model would never learn to stop.",
        ),
        Mistake(
            "all-ends",
            Edit("if speaking:", "if speaking or token == end:"),
            "You label every end token. Only the end of an answer counts, not that of a question, and not padding.",
        ),
        Mistake(
            "alternating",
            _alternating,
            "You take the messages to alternate. The first token of each message says who speaks.",
        ),
        Mistake(
            "everything",
            lambda tokens, assistant, end: tokens.clone(),
            "You label all tokens. What the user says gets -100.",
        ),
        Mistake(
            "never-stops",
            Edit("        if token == end:\n            speaking = False\n", ""),
            "In your answer the assistant never stops speaking. Its message ends with the token `end`.",
        ),
        Mistake(
            "shifted",
            lambda tokens, assistant, end: _answer_labels(tokens, assistant, end).roll(-1),
            "Your labels stand one position early, where they are predicted. Asked for are labels of the same "
            "positions; the loss shifts them.",
        ),
        Mistake(
            "first-message-only",
            lambda tokens, assistant, end: torch.where(
                (tokens == assistant).cumsum(0) == 1, _answer_labels(tokens, assistant, end), -100
            ),
            "You label the first message of the assistant only. There may be several.",
        ),
        Mistake(
            "all-ends-counted",
            lambda tokens, assistant, end: tokens.masked_fill(
                ((tokens == assistant).cumsum(0) <= (tokens == end).cumsum(0)) | (tokens == assistant), -100
            ),
            "You compare how many messages have begun and ended. Those of the user and the filling end with `end` too, "
            "so the counts say nothing about the assistant.",
            also=(
                lambda tokens, assistant, end: tokens.masked_fill(
                    ((tokens == assistant).cumsum(0) <= (tokens == end).cumsum(0) - (tokens == end).long())
                    | (tokens == assistant),
                    -100,
                ),
            ),
        ),
    ),
)
