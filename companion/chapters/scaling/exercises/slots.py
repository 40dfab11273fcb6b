"""Exercise on the capacity of experts: ``expert-slots``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _expert_slots(expert: Tensor, n_experts: int, capacity: int) -> Tensor:
    chosen = expert[:, None] == torch.arange(n_experts)
    before = (chosen.long().cumsum(0) - 1)[chosen]
    return torch.where(before < capacity, before, -1)


def _cases() -> list[Case]:
    draw = RandomInputs(61)

    def tokens(t: int, n_experts: int) -> Tensor:
        return (n_experts * draw.normal(t).abs().clamp(max=0.999)).long()

    return [
        Case((torch.tensor([1, 0, 1, 1, 0]), 2, 2), "the example"),
        Case((torch.tensor([2, 2, 2, 2]), 4, 3), "all tokens at one expert"),
        Case((torch.tensor([0]), 1, 1), "one token"),
        Case((torch.tensor([3, 1, 2, 0]), 4, 1), "one token each"),
        Case((tokens(40, 5), 5, 6)),
        Case((tokens(64, 8), 8, 8)),
        Case((tokens(25, 3), 3, 30), "room for all"),
        Case((torch.zeros(300, dtype=torch.long), 1, 300), "300 slots"),
    ]


EXPERT_SLOTS = Exercise(
    name="expert-slots",
    title="Give each token a slot of its expert",
    chapter="scaling",
    level=2,
    place=1,
    minutes=15,
    reference=_expert_slots,
    cases=_cases,
    tested="one token, one expert, all tokens at one expert, a full expert, room for all, 300 slots",
    hints=(
        "A token's slot is the number of earlier tokens that chose the same expert. Which table shows who chose whom?",
        "One row a token, one column an expert, 1 where the token chose it: what does a running sum down a column say?",
        "The running sum counts the token itself. Take 1 off, read the token's own column, replace what is too large.",
    ),
    mistakes=(
        Mistake(
            "counts-itself",
            Edit("chosen.long().cumsum(0) - 1", "chosen.long().cumsum(0)"),
            "Your slots begin at 1: the running sum counts the token itself.",
        ),
        Mistake(
            "one-too-many",
            Edit("before < capacity", "before <= capacity"),
            "An expert of capacity C has the slots 0 to C - 1. You let one token more in.",
        ),
        Mistake(
            "all-experts",
            lambda expert, n_experts, capacity: torch.where(
                torch.arange(len(expert)) < capacity, torch.arange(len(expert)), -1
            ),
            "You count all earlier tokens. Only those that chose the same expert take its slots.",
        ),
        Mistake(
            "last-slot",
            Edit("torch.where(before < capacity, before, -1)", "before.clamp(max=capacity - 1)"),
            "Tokens beyond the capacity share the last slot in your answer, and would overwrite each other. They are "
            "dropped: -1.",
        ),
        Mistake(
            "no-capacity",
            Edit("torch.where(before < capacity, before, -1)", "before"),
            "Your slots have no bound. A token whose slot would be `capacity` or more gets -1.",
        ),
        Mistake(
            "zero-for-a-dropped-token",
            Edit(", before, -1)", ", before, 0)"),
            "Dropped tokens get slot 0 in your answer, where another token is. They get -1.",
        ),
    ),
)
