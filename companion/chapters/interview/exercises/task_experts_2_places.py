"""Second stage of a mixture-of-experts layer: ``experts-places``, slots in the buffers, in the order of the choices."""

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _places(chosen: Tensor, n_experts: int, capacity: int) -> Tensor:
    order = chosen.mT.reshape(-1)
    ours = F.one_hot(order, n_experts)
    before = (ours.cumsum(dim=0) - ours).gather(1, order[:, None])
    return torch.where(before < capacity, before, -1).view(chosen.mT.shape).mT


def _rank_by_rank(chosen: Tensor, n_experts: int, capacity: int) -> Tensor:
    return torch.cat([_places(column[:, None], n_experts, capacity) for column in chosen.mT], dim=1)


def _places_cases() -> list[Case]:
    draw = RandomInputs(182)

    def chosen(t: int, k: int, n_experts: int, capacity: int) -> tuple[Tensor, int, int]:
        return draw.normal(t, n_experts).topk(k, dim=-1).indices, n_experts, capacity

    skewed = (draw.normal(8, 4) + torch.tensor([3.0, 1.0, 0.0, -3.0])).topk(2, dim=-1).indices
    seventh = (torch.arange(300) % 7 == 3).long()
    return [
        Case((torch.tensor([[0, 1], [0, 1], [1, 0]]), 2, 2), "the example"),
        Case(chosen(5, 1, 3, 2), "one expert a token"),
        Case(chosen(6, 2, 4, 3)),
        Case((torch.zeros(5, 1, dtype=torch.int64), 3, 2), "one expert that all want"),
        Case((skewed, 4, 3), "an uneven router"),
        Case((skewed, 4, 1), "one slot an expert"),
        Case(chosen(4, 4, 4, 4), "room for all"),
        Case(chosen(7, 3, 9, 2), "more experts than tokens"),
        Case(chosen(40, 2, 8, 9), "many tokens"),
        Case((torch.stack([seventh, 1 - seventh], dim=1), 2, 290), "hundreds of choices of one expert"),
    ]


PLACES = Exercise(
    name="experts-places",
    title="Give out the slots",
    chapter="task-experts",
    topic="scaling",
    level=2,
    place=2,
    minutes=12,
    same_dtype=True,
    reference=_places,
    cases=_places_cases,
    tested="one and several choices, uneven routers, one slot, room for all, more experts than tokens",
    hints=(
        "Write the choices as one list, in the order in which the slots are given out. For each entry, how many before "
        "it want the same expert?",
        "All first choices come before all second ones, so the list is the transpose, read row by row. One-hot rows "
        "and a running sum down the list count for all experts at once.",
        "The running sum counts the entry itself, so take it off again. What is not below the capacity becomes -1, and "
        "the list goes back to its shape.",
    ),
    mistakes=(
        Mistake(
            "token-by-token",
            (
                Edit("order = chosen.mT.reshape(-1)", "order = chosen.reshape(-1)"),
                Edit("view(chosen.mT.shape).mT", "view(chosen.shape)"),
            ),
            "You give out the slots token by token, so a second choice can take the place of a later first one.",
        ),
        Mistake(
            "rank-by-rank",
            _rank_by_rank,
            "You count the second choices from 0 again, so two tokens get one slot. They follow the first choices.",
        ),
        Mistake(
            "counted-from-one",
            Edit("ours.cumsum(dim=0) - ours", "ours.cumsum(dim=0)"),
            "Your slots begin at 1. They begin at 0.",
        ),
        Mistake(
            "one-too-many",
            Edit("before < capacity", "before <= capacity"),
            "An expert takes one choice more than its capacity in your answer.",
        ),
        Mistake(
            "all-placed",
            Edit("torch.where(before < capacity, before, -1)", "before"),
            "Choices beyond the capacity keep a slot. They get -1.",
        ),
        Mistake(
            "last-slot-shared",
            Edit("torch.where(before < capacity, before, -1)", "before.clamp(max=capacity - 1)"),
            "Choices beyond the capacity share the last slot. They get -1.",
        ),
        Mistake(
            "from-the-start-again",
            Edit("torch.where(before < capacity, before, -1)", "before % capacity"),
            "A full expert begins at slot 0 again and overwrites. Choices beyond the capacity get -1.",
        ),
        Mistake(
            "transposed",
            Edit("view(chosen.mT.shape).mT", "view(chosen.shape)"),
            "You read the list back by tokens. It was written by ranks.",
        ),
        Mistake(
            "zero-for-a-full-expert",
            Edit(", before, -1)", ", before, 0)"),
            "Choices of a full expert get slot 0 in your answer, where another token is. They get -1.",
        ),
    ),
)
