"""Exercise on weights in few bits: ``group-quantise``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _group_quantise(weight: Tensor, bits: int, group: int) -> tuple[Tensor, Tensor]:
    groups = weight.unflatten(-1, (-1, group))
    scales = groups.abs().amax(-1) / (2 ** (bits - 1) - 1)
    return ((groups / scales[..., None]).round() * scales[..., None]).flatten(1), scales


def _in_columns(weight: Tensor, bits: int, group: int) -> tuple[Tensor, Tensor]:
    rounded, scales = _group_quantise(weight.mT.reshape(weight.shape), bits, group)
    return rounded.reshape(weight.mT.shape).mT, scales


def _strided(weight: Tensor, bits: int, group: int) -> tuple[Tensor, Tensor]:
    groups = weight.unflatten(-1, (group, -1))
    scales = groups.abs().amax(1, keepdim=True) / (2 ** (bits - 1) - 1)
    return ((groups / scales).round() * scales).flatten(1), scales[:, 0]


def _whole(weight: Tensor, bits: int, group: int) -> tuple[Tensor, Tensor]:
    scale = weight.abs().max() / (2 ** (bits - 1) - 1)
    return (weight / scale).round() * scale, scale.expand(len(weight), weight.shape[-1] // group)


def _cases() -> list[Case]:
    draw = RandomInputs(83)
    return [
        Case((torch.tensor([[0.7, -0.24, 3.4, 14.0]]), 4, 2), "the example"),
        Case((draw.normal(1, 6, dtype=F64), 8, 6), "one group"),
        Case((draw.normal(3, 4, dtype=F64), 4, 1), "a scale for each weight"),
        Case((draw.normal(2, 6, dtype=F64), 3, 3)),
        Case((draw.normal(5, 8, dtype=F64), 4, 4)),
        Case((draw.normal(4, 10, dtype=F64), 2, 5), "two bits"),
        Case((draw.normal(7, 12, dtype=F64, scale=1e3), 6, 4), "large weights"),
        Case((torch.tensor([[7.0, 0.5, 7e-4, -3.6e-4]]), 4, 2), "a tie, and small weights"),
    ]


GROUP_QUANTISE = Exercise(
    name="group-quantise",
    title="Round weights by groups",
    chapter="generation",
    level=2,
    place=4,
    minutes=15,
    reference=_group_quantise,
    cases=_cases,
    tested="2 to 8 bits, one group, a scale for each weight, large and small weights, a tie",
    returns=("rounded", "scales"),
    hints=(
        "Give the matrix a third axis first, so that a group of neighbours is one row of it.",
        "The largest absolute value of a group becomes the largest integer. How large is that with `bits` bits, if the "
        "integers are symmetric about 0?",
        "Divide by the scales (with a new last axis), round, multiply by them, and flatten the last two axes.",
    ),
    mistakes=(
        Mistake("one-scale", _whole, "You used one scale for the whole matrix. Each group has its own."),
        Mistake("columns", _in_columns, "Your groups run down the columns. Neighbours in a row share a scale."),
        Mistake(
            "sign-bit-forgotten",
            Edit("(2 ** (bits - 1) - 1)", "(2**bits - 1)"),
            "You used all bits for the size. One of them is the sign: the largest integer is 2^(bits - 1) - 1.",
        ),
        Mistake(
            "one-too-many",
            Edit("(2 ** (bits - 1) - 1)", "2 ** (bits - 1)"),
            "Your largest integer is 2^(bits - 1), which `bits` bits cannot hold with a sign.",
        ),
        Mistake("no-sign", Edit(".abs()", ""), "You took the largest weight of a group and not the largest size."),
        Mistake("floor", Edit(".round()", ".floor()"), "You rounded down. The nearest integer makes half the error."),
        Mistake(
            "integers-returned",
            Edit(".round() * scales[..., None]", ".round()"),
            "You returned the integers. Multiply them by their scales.",
        ),
        Mistake(
            "half-up",
            Edit("(groups / scales[..., None]).round()", "(groups / scales[..., None] + 0.5).floor()"),
            "You round ties up. `torch.round` takes the even one of the two integers.",
        ),
        Mistake(
            "fraction-cut-off",
            Edit(".round()", ".trunc()"),
            "You cut the fraction off, as a conversion to integers does. Round to the nearest integer first.",
        ),
        Mistake(
            "neighbours-apart",
            _strided,
            "You swapped the number of groups and their size in a reshape. A row has c / group groups of `group` "
            "neighbours each.",
            also=(Edit("(-1, group)", "(group, -1)"),),
        ),
    ),
)
