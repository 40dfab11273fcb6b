"""Drills on changing weights: ``lora`` and ``adamw-step``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw

F32, F64 = torch.float32, torch.float64


def _lora(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    return _adapted(x, weight, a, b, alpha)


def _adapted(
    x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float, *, how: str = "right"
) -> tuple[Tensor, Tensor]:
    """Run and merge an adapter, with one thing changed."""
    scale = {"no rank": alpha, "no scale": 1.0, "times rank": alpha * a.shape[1]}.get(how, alpha / a.shape[1])
    output = x @ weight + x @ a @ b * scale
    if how == "adapter alone":
        output = x @ a @ b * scale
    if how == "merged without scale":
        return output, weight + a @ b
    return output, a @ b * scale if how == "only the change" else weight + a @ b * scale


def _lora_cases() -> list[Case]:
    draw = Draw(68)

    def layer(n: int, d_in: int, d_out: int, rank: int, alpha: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        x, weight = draw.normal(n, d_in, dtype=dtype, scale=scale), draw.normal(d_in, d_out, dtype=dtype)
        return x, weight, draw.normal(d_in, rank, dtype=dtype), draw.normal(rank, d_out, dtype=dtype), alpha

    one = torch.ones(1, 1)
    a, b = torch.tensor([[1.0, 1.0]]), torch.tensor([[3.0], [1.0]])
    return [
        Case((2 * one, 5 * one, a, b, 1.0), "the example"),
        Case(layer(2, 3, 4, 1, 1.0, F64), "rank 1"),
        Case(layer(3, 5, 2, 2, 8.0, F32)),
        Case(layer(2, 5, 7, 3, 0.5, F64)),
        Case(layer(1, 7, 5, 4, 16.0, F32)),
        Case(layer(5, 11, 3, 2, 2.0, F64)),
        Case(layer(3, 5, 7, 3, 6.0, F64, 1e3), "large inputs"),
    ]


LORA = Exercise(
    name="lora",
    title="Run a low-rank adapter, and merge it",
    chapter="exercises",
    tier=1,
    minutes=10,
    topic="variants",
    reference=_lora,
    cases=_lora_cases,
    tested="ranks from 1 to 4, sizes that differ, large inputs, both dtypes",
    returns=("output", "merged"),
    hints=(
        "The frozen weight does its work as before, and the adapter adds something. Which shapes do the two small "
        "matrices have, and in which order can they meet x?",
        "The adapter's part is multiplied by alpha over the rank, so that a larger rank does not by itself mean a "
        "larger change.",
        "The merged weight is the one matrix that gives the same output: frozen weight plus scaled product of the two "
        "small matrices. Check it against your output.",
    ),
    mistakes=(
        Mistake(
            "not-divided-by-rank",
            lambda *given: _adapted(*given, how="no rank"),
            "You multiply by alpha and do not divide by the rank.",
        ),
        Mistake("no-scale", lambda *given: _adapted(*given, how="no scale"), "Alpha has no effect in your answer."),
        Mistake(
            "multiplied-by-rank",
            lambda *given: _adapted(*given, how="times rank"),
            "You multiply by the rank. It divides alpha.",
        ),
        Mistake(
            "adapter-alone",
            lambda *given: _adapted(*given, how="adapter alone"),
            "Your output is the adapter's part alone. The frozen weight still does its work.",
        ),
        Mistake(
            "merged-without-scale",
            lambda *given: _adapted(*given, how="merged without scale"),
            "The scale is missing where you merge, so the merged weight gives another output than the adapter.",
        ),
        Mistake(
            "only-the-change",
            lambda *given: _adapted(*given, how="only the change"),
            "Your merged weight is the change alone. Add it to the frozen weight.",
        ),
    ),
)

BETAS, EPS = (0.9, 0.999), 1e-8


def _adamw(
    weight: Tensor, gradient: Tensor, m: Tensor, v: Tensor, step: int, rate: float, decay: float
) -> tuple[Tensor, Tensor]:
    return _both(weight, gradient, m, v, step, rate, decay)


def _both(
    weight: Tensor,
    gradient: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    rate: float,
    decay: float,
    *,
    how: str = "right",
) -> tuple[Tensor, Tensor]:
    """Take one step with decoupled decay and one with an L2 term, with one thing changed."""

    def moved(g: Tensor) -> Tensor:
        first, second = (b * old + (1 - b) * new for b, old, new in zip(BETAS, (m, v), (g, g * g), strict=True))
        if how != "not corrected":
            first, second = first / (1 - BETAS[0] ** step), second / (1 - BETAS[1] ** step)
        return rate * first / ((second + EPS).sqrt() if how == "epsilon inside" else second.sqrt() + EPS)

    shrunk = weight * (1 - decay if how == "no rate" else 1 - rate * decay)
    shrunk = weight * (1 + rate * decay) if how == "grown" else shrunk
    decoupled = shrunk - moved(gradient)
    coupled = weight - moved(gradient + decay * weight)
    if how == "both coupled":
        decoupled = coupled
    if how == "both decoupled":
        coupled = decoupled
    if how == "decayed after":
        decoupled = (weight - moved(gradient)) * (1 - rate * decay)
    return (coupled, decoupled) if how == "swapped" else (decoupled, coupled)


def _adamw_cases() -> list[Case]:
    draw = Draw(69)

    def state(n: int, step: int, rate: float, decay: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        weight, gradient, m = (draw.normal(n, dtype=dtype, scale=s) for s in (scale, 1.0, 0.1))
        signs = gradient.sign()
        gradient = signs * (0.5 + gradient.abs())  # none near 0, where a step may turn on rounding
        return weight, gradient, signs * m.abs(), 0.1 + m.square(), step, rate, decay

    one, zero = torch.tensor([1.0], dtype=F64), torch.tensor([0.0], dtype=F64)
    return [
        Case((10 * one, one, zero, zero, 1, 0.1, 0.5), "the example"),
        Case(state(1, 2, 0.1, 0.1, F64)),
        Case(state(3, 1, 0.01, 0.5, F32), "the first step"),
        Case(state(4, 5, 0.1, 0.2, F64)),
        Case(state(5, 100, 0.3, 1.0, F32), "a late step"),
        Case(state(7, 3, 0.5, 0.01, F64)),
        Case(state(6, 10, 0.1, 0.1, F64, 1e3), "large weights"),
        Case((one, 1e-6 * one, zero, zero, 1, 0.1, 0.1), "a small gradient"),
    ]


ADAMW_STEP = Exercise(
    name="adamw-step",
    title="Decay weights inside and outside Adam",
    chapter="exercises",
    tier=2,
    minutes=20,
    topic="training",
    reference=_adamw,
    cases=_adamw_cases,
    tested="first and late steps, small and large rates and decays, large weights, a small gradient, both dtypes",
    returns=("decoupled", "coupled"),
    hints=(
        "Write Adam's step as a function of a gradient, and call it twice. What is the gradient in each of the two "
        "calls?",
        "Coupled: the decay is a term of the gradient, and goes through both running means. Decoupled: the gradient is "
        "the one given, and the weight itself shrinks.",
        "The decoupled shrinking has the factor 1 minus rate times decay, and uses the old weight. Correct both "
        "running means for their start at zero.",
    ),
    mistakes=(
        Mistake(
            "both-coupled",
            lambda *given: _both(*given, how="both coupled"),
            "Your decoupled step still has the decay in the gradient: it is divided by the root of the second mean, so "
            "weights with large gradients hardly decay.",
        ),
        Mistake(
            "both-decoupled",
            lambda *given: _both(*given, how="both decoupled"),
            "Your coupled step shrinks the weight directly. With an L2 term the decay is a part of the gradient.",
        ),
        Mistake(
            "rate-missing",
            lambda *given: _both(*given, how="no rate"),
            "The decoupled decay is not multiplied by the rate.",
        ),
        Mistake(
            "grown",
            lambda *given: _both(*given, how="grown"),
            "Your weights grow: the decay is subtracted.",
        ),
        Mistake(
            "decayed-after-the-step",
            lambda *given: _both(*given, how="decayed after"),
            "You shrink the weight after the step, and so the step as well. The decay uses the old weight.",
        ),
        Mistake(
            "not-corrected",
            lambda *given: _both(*given, how="not corrected"),
            "The running means begin at zero and are too small at first: the correction is missing.",
        ),
        Mistake(
            "epsilon-under-the-root",
            lambda *given: _both(*given, how="epsilon inside"),
            "Your epsilon stands under the root, where it is ten thousand times as much. Small gradients then hardly "
            "move the weight.",
        ),
        Mistake(
            "swapped",
            lambda *given: _both(*given, how="swapped"),
            "The two results have changed places: the decoupled one comes first.",
        ),
    ),
)
