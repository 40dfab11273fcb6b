"""Exercise on the order of work in a pipeline: ``one-f-one-b``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _one_f_one_b(stage: int, stages: int, microbatches: int) -> tuple[Tensor, int]:
    ahead = min(stages - 1 - stage, microbatches)
    order = list(range(1, ahead + 1))
    for i in range(ahead + 1, microbatches + 1):
        order += [i, ahead - i]
    order += range(ahead - microbatches - 1, -microbatches - 1, -1)
    return torch.tensor(order), min(ahead + 1, microbatches)


def _all_forward_first(stage: int, stages: int, microbatches: int) -> tuple[Tensor, int]:
    numbers = torch.arange(1, microbatches + 1)
    return torch.cat([numbers, -numbers]), microbatches


def _newest_first(stage: int, stages: int, microbatches: int) -> tuple[Tensor, int]:
    ahead = min(stages - 1 - stage, microbatches)
    order = list(range(1, ahead + 1))
    for i in range(ahead + 1, microbatches + 1):
        order += [i, -i]
    return torch.tensor(order + [-i for i in range(ahead, 0, -1)]), min(ahead + 1, microbatches)


def _from_zero(stage: int, stages: int, microbatches: int) -> tuple[Tensor, int]:
    order, live = _one_f_one_b(stage, stages, microbatches)
    return order - order.sign(), live


ONE_F_ONE_B = Exercise(
    name="one-f-one-b",
    title="Write the order of a pipeline's stage",
    chapter="scaling",
    level=2,
    place=2,
    minutes=20,
    reference=_one_f_one_b,
    cases=lambda: [
        Case((2, 4, 3), "the example"),
        Case((0, 1, 1), "one stage, one microbatch"),
        Case((3, 4, 5), "the last stage"),
        Case((0, 6, 4), "fewer microbatches than stages"),
        Case((1, 5, 4), "as many microbatches as the stage can hold"),
        Case((0, 4, 8), "the first stage"),
        Case((2, 8, 16)),
        Case((5, 7, 1000), "many microbatches"),
    ],
    tested="the first and the last stage, one stage, fewer microbatches than stages, a thousand of them",
    returns=("order", "live"),
    hints=(
        "When does the first backward pass reach this stage? Until then it can only go forward.",
        "Microbatch 1 has to visit all later stages and come back. Each of them is one forward pass ahead.",
        "Three parts: forward passes alone, then one forward and one backward in turn, then what is left backward. The "
        "first part may already use up all microbatches.",
    ),
    mistakes=(
        Mistake(
            "all-forward-first",
            _all_forward_first,
            "You do all forward passes and then all backward ones, which is GPipe's order. In 1F1B a backward pass "
            "comes as soon as there is one.",
        ),
        Mistake(
            "one-ahead-too-many",
            Edit("stages - 1 - stage", "stages - stage"),
            "Your stage does one forward pass too many before the pairs begin. In the last stage there is none.",
        ),
        Mistake(
            "wrong-end",
            Edit("stages - 1 - stage", "stage"),
            "You count the stages before this one. How far a stage runs ahead depends on those after it.",
        ),
        Mistake(
            "same-everywhere",
            Edit("stages - 1 - stage", "stages - 1"),
            "All your stages run ahead as far as the first. A later stage gets its first backward pass earlier.",
        ),
        Mistake(
            "no-such-microbatch",
            Edit("min(stages - 1 - stage, microbatches)", "stages - 1 - stage"),
            "With fewer microbatches than stages your order has microbatches that do not exist.",
        ),
        Mistake(
            "never-drained",
            Edit("    order += range(ahead - microbatches - 1, -microbatches - 1, -1)\n", ""),
            "Some microbatches never go backward in your order: those that are left when the forward passes end.",
        ),
        Mistake(
            "newest-first",
            _newest_first,
            "Your stage takes the newest microbatch backward. The oldest one is the first to come back.",
        ),
        Mistake(
            "backward-first",
            Edit("[i, ahead - i]", "[ahead - i, i]"),
            "Your pairs begin with the backward pass. In the last stage it would come before its own forward pass.",
        ),
        Mistake(
            "from-zero",
            _from_zero,
            "Your microbatches begin at 0, where forward and backward have the same number. Count from 1.",
        ),
        Mistake(
            "holds-all",
            Edit("min(ahead + 1, microbatches)", "microbatches"),
            "Your order is right, but a stage does not keep the activations of all microbatches at once.",
        ),
        Mistake(
            "own-not-counted",
            Edit("min(ahead + 1, microbatches)", "ahead"),
            "Your order is right. It holds one microbatch more: that of the first pair, before its backward pass.",
        ),
        Mistake(
            "more-than-there-are",
            Edit("min(ahead + 1, microbatches)", "ahead + 1"),
            "Your order is right. With fewer microbatches than stages, no more can be live than there are.",
            also=(Edit("min(ahead + 1, microbatches)", "stages - stage"),),
        ),
    ),
)
