"""Exercise on how much a head matters: ``head-importance``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _importance(contributions: Tensor, gradient: Tensor) -> Tensor:
    return (contributions * gradient[:, None]).sum(dim=(2, 3)).abs().mean(dim=0)


def _importance_cases() -> list[Case]:
    draw = RandomInputs(17)

    def layer(batch: int, n_heads: int, t: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(batch, n_heads, t, d, dtype=dtype, scale=scale), draw.normal(batch, t, d, dtype=dtype)

    by_hand = (
        torch.tensor([[[[2.0, 0.0]], [[0.0, 1.0]]], [[[-4.0, 0.0]], [[0.0, 1.0]]]]),
        torch.tensor([[[1.0, 3.0]], [[1.0, -3.0]]]),
    )
    return [
        Case(by_hand, "the example"),
        Case(layer(2, 3, 1, 2, F64)),
        Case(layer(1, 2, 3, 2, F32), "one sentence"),
        Case(layer(3, 2, 5, 7, F32)),
        Case(layer(5, 1, 2, 3, F64), "one head"),
        Case(layer(3, 3, 2, 5, F64), "as many heads as sentences"),
        Case(layer(7, 5, 3, 2, F64, 1e3), "large numbers"),
        Case(layer(2, 3, 3, 2, F64), "as many heads as positions"),
    ]


HEAD_IMPORTANCE = Exercise(
    name="head-importance",
    title="Estimate the importance of heads",
    chapter="multi-head",
    level=3,
    place=7,
    minutes=35,
    reference=_importance,
    cases=_importance_cases,
    tested="one sentence, one head, signs that cancel, float32 and float64",
    hints=(
        "The output is the sum over the heads of gate times contribution. What is its derivative with respect to one "
        "gate, "
        "at one position?",
        "The chain rule then sums over everything that the gate reaches in its sentence: positions and features. One "
        "number "
        "a sentence and head is left.",
        "Two operations remain, and their order matters: the sign is dropped for each sentence on its own, before the "
        "sentences are averaged.",
    ),
    mistakes=(
        Mistake(
            "sign-dropped-last",
            Edit(".abs().mean(dim=0)", ".mean(dim=0).abs()"),
            "You averaged over the sentences first: a head that helps in one and hurts in another comes out as "
            "unimportant.",
        ),
        Mistake(
            "sign-dropped-first",
            Edit(".sum(dim=(2, 3)).abs()", ".abs().sum(dim=(2, 3))"),
            "You dropped the sign before the sum over positions and features. Within a sentence the parts may cancel, "
            "and "
            "the gate has only one derivative.",
        ),
        Mistake(
            "sign-dropped-by-position",
            Edit(".sum(dim=(2, 3)).abs()", ".sum(dim=3).abs().sum(dim=2)"),
            "You dropped the sign at each position. The gate reaches all positions of a sentence at once: add them up "
            "first, since they may cancel.",
        ),
        Mistake(
            "sign-kept",
            Edit(".abs()", ""),
            "Your importance has a sign. A strong influence in either direction counts.",
        ),
        Mistake(
            "summed-over-sentences",
            Edit(".mean(dim=0)", ".sum(dim=0)"),
            "You summed over the sentences. The importance is a mean: more sentences must not make heads more "
            "important.",
        ),
        Mistake(
            "gradient-ignored",
            lambda contributions, gradient: contributions.flatten(2).norm(dim=-1).mean(dim=0),
            "You measured how long the contributions are. A long one that the loss does not depend on is not "
            "important.",
        ),
        Mistake(
            "mean-over-positions",
            Edit(".sum(dim=(2, 3))", ".mean(dim=(2, 3))"),
            "You averaged over positions and features. The derivative of the loss is a sum over all that the gate "
            "reaches.",
        ),
        Mistake(
            "positions-averaged",
            Edit(".sum(dim=(2, 3)).abs()", ".sum(dim=3).mean(dim=2).abs()"),
            "You took the mean over the positions. The derivative with respect to a gate is a sum over positions and "
            "features; the mean is over sentences.",
            also=(Edit(".sum(dim=(2, 3)).abs().mean(dim=0)", ".sum(dim=3).abs().mean(dim=(0, 2))"),),
        ),
        Mistake(
            "squared",
            Edit(".abs()", ".square()"),
            "You squared the derivatives. Their absolute values are averaged.",
        ),
    ),
)
