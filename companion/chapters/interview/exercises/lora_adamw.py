"""Drills on changing weights: ``lora`` and ``adamw-step``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _lora(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    scale = alpha / a.shape[1]
    return x @ weight + x @ a @ b * scale, weight + a @ b * scale


def _lora_cases() -> list[Case]:
    draw = RandomInputs(68)

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
    level=1,
    place=18,
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
            Edit("alpha / a.shape[1]", "alpha"),
            "You multiply by alpha and do not divide by the rank.",
        ),
        Mistake("no-scale", Edit("alpha / a.shape[1]", "1.0"), "Alpha has no effect in your answer."),
        Mistake(
            "multiplied-by-rank",
            Edit("alpha / a.shape[1]", "alpha * a.shape[1]"),
            "You multiply by the rank. It divides alpha.",
        ),
        Mistake(
            "adapter-alone",
            Edit("x @ weight + ", ""),
            "Your output is the adapter's part alone. The frozen weight still does its work.",
        ),
        Mistake(
            "merged-without-scale",
            Edit("weight + a @ b * scale", "weight + a @ b"),
            "The scale is missing where you merge, so the merged weight gives another output than the adapter.",
        ),
        Mistake(
            "only-the-change",
            Edit("weight + a @ b * scale", "a @ b * scale"),
            "Your merged weight is the change alone. Add it to the frozen weight.",
        ),
        Mistake(
            "upside-down",
            Edit("alpha / a.shape[1]", "a.shape[1] / alpha"),
            "You divided the rank by alpha. Alpha is divided by the rank.",
        ),
        Mistake(
            "divided-by-a-width",
            Edit("alpha / a.shape[1]", "alpha / a.shape[0]"),
            "You divided alpha by a width of the weight. It is divided by the rank, the axis that `a` and `b` share.",
            also=(Edit("alpha / a.shape[1]", "alpha / b.shape[1]"),),
        ),
        Mistake(
            "divided-by-the-root",
            Edit("alpha / a.shape[1]", "alpha / a.shape[1] ** 0.5"),
            "You divided by the root of the rank, as a later variant does. Here it is the rank.",
        ),
        Mistake(
            "output-without-scale",
            Edit("x @ a @ b * scale", "x @ a @ b"),
            "The scale is missing in your output, and the merged weight has it.",
        ),
        Mistake(
            "frozen-weight-scaled",
            (
                Edit("x @ weight + x @ a @ b * scale", "(x @ weight + x @ a @ b) * scale"),
                Edit("weight + a @ b * scale", "(weight + a @ b) * scale"),
            ),
            "You scaled the frozen weight as well. The scale belongs to the adapter's part.",
            also=(Edit("x @ weight + x @ a @ b * scale", "(x @ weight + x @ a @ b) * scale"),),
        ),
    ),
)

BETAS, EPS = (0.9, 0.999), 1e-8


def _change(gradient: Tensor, m: Tensor, v: Tensor, step: int, rate: float) -> Tensor:
    first = BETAS[0] * m + (1 - BETAS[0]) * gradient
    second = BETAS[1] * v + (1 - BETAS[1]) * gradient**2
    first, second = first / (1 - BETAS[0] ** step), second / (1 - BETAS[1] ** step)
    return rate * first / (second.sqrt() + EPS)


def _adamw(
    weight: Tensor, gradient: Tensor, m: Tensor, v: Tensor, step: int, rate: float, decay: float
) -> tuple[Tensor, Tensor]:
    decoupled = weight * (1 - rate * decay) - _change(gradient, m, v, step, rate)
    coupled = weight - _change(gradient + decay * weight, m, v, step, rate)
    return decoupled, coupled


def _adamw_cases() -> list[Case]:
    draw = RandomInputs(69)

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
    level=2,
    place=19,
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
            Edit("return decoupled, coupled", "return coupled, coupled"),
            "Your decoupled step still has the decay in the gradient: it is divided by the root of the second mean, so "
            "weights with large gradients hardly decay.",
        ),
        Mistake(
            "both-decoupled",
            Edit("return decoupled, coupled", "return decoupled, decoupled"),
            "Your coupled step shrinks the weight directly. With an L2 term the decay is a part of the gradient.",
        ),
        Mistake(
            "rate-missing",
            Edit("1 - rate * decay", "1 - decay"),
            "The decoupled decay is not multiplied by the rate.",
        ),
        Mistake(
            "grown",
            Edit("1 - rate * decay", "1 + rate * decay"),
            "Your weights grow: the decay is subtracted.",
        ),
        Mistake(
            "decayed-after-the-step",
            Edit(
                "weight * (1 - rate * decay) - _change(gradient, m, v, step, rate)",
                "(weight - _change(gradient, m, v, step, rate)) * (1 - rate * decay)",
            ),
            "You shrink the weight after the step, and so the step as well. The decay uses the old weight.",
        ),
        Mistake(
            "not-corrected",
            Edit("first / (1 - BETAS[0] ** step), second / (1 - BETAS[1] ** step)", "first, second", of=_change),
            "The running means begin at zero and are too small at first: the correction is missing.",
        ),
        Mistake(
            "epsilon-under-the-root",
            Edit("second.sqrt() + EPS", "(second + EPS).sqrt()", of=_change),
            "Your epsilon stands under the root, where it is ten thousand times as much. Small gradients then hardly "
            "move the weight.",
        ),
        Mistake(
            "swapped",
            Edit("return decoupled, coupled", "return coupled, decoupled"),
            "The two results have changed places: the decoupled one comes first.",
        ),
        Mistake(
            "step-counted-twice",
            (
                Edit("BETAS[0] ** step", "BETAS[0] ** (step + 1)", of=_change),
                Edit("BETAS[1] ** step", "BETAS[1] ** (step + 1)", of=_change),
            ),
            "You added 1 to `step`, which is counted from 1 already.",
        ),
        Mistake(
            "one-mean-corrected",
            Edit("second / (1 - BETAS[1] ** step)", "second", of=_change),
            "You corrected one of the two running means for its start at zero. Both need it.",
            also=(Edit("first / (1 - BETAS[0] ** step)", "first", of=_change),),
        ),
        Mistake(
            "epsilon-before-the-correction",
            Edit("second.sqrt() + EPS", "second.sqrt() + EPS / (1 - BETAS[1] ** step) ** 0.5", of=_change),
            "You added epsilon before the correction of the second mean, which makes it larger in early steps.",
        ),
        Mistake(
            "no-root",
            Edit("second.sqrt()", "second", of=_change),
            "You divided by the second mean. Its root is the size of a gradient.",
        ),
        Mistake(
            "coupled-times-rate",
            Edit("gradient + decay * weight", "gradient + rate * decay * weight"),
            "You multiplied the decay in the gradient by the rate. Adam's step multiplies by the rate already.",
        ),
        Mistake(
            "twice-the-decay",
            Edit("gradient + decay * weight", "gradient + 2 * decay * weight"),
            "Your L2 term is twice as large: the decay times the weight is added to the gradient.",
        ),
        Mistake(
            "one-after-the-other",
            Edit("weight - _change(gradient + decay * weight", "decoupled - _change(gradient + decay * decoupled"),
            "Your second step begins where the first one ended. Both begin with the old weight.",
        ),
    ),
)
