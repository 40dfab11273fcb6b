"""Exercises on the step: ``warmup-rate``, ``clip-gradient`` and ``adam-steps``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _rate(step: Tensor, d_model: int, warmup: int) -> Tensor:
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


def _rate_cases() -> list[Case]:
    def steps(*numbers: int, d_model: int, warmup: int, dtype: torch.dtype) -> tuple:
        return torch.tensor(numbers, dtype=dtype), d_model, warmup

    return [
        Case(steps(1, 4, 16, d_model=4, warmup=4, dtype=F64), "the example"),
        Case(steps(1, 2, d_model=1, warmup=1, dtype=F64), "width 1, no warm-up"),
        Case(steps(1, 2, 3, d_model=4, warmup=9, dtype=F32), "all in the warm-up"),
        Case(steps(20, 30, d_model=9, warmup=5, dtype=F64), "all after it"),
        Case(steps(9, 10, 11, d_model=2, warmup=10, dtype=F32), "around the peak"),
        Case(steps(1, 7, 60, d_model=16, warmup=6, dtype=F64)),
        Case(steps(1000, 4000, 16_000, d_model=512, warmup=4000, dtype=F64), "the base model"),
        Case(steps(1, 4, 16, d_model=4, warmup=4, dtype=torch.int64), "whole numbers"),
    ]


WARMUP_RATE = Exercise(
    name="warmup-rate",
    title="Compute the rate of Equation 3",
    chapter="training",
    level=1,
    place=2,
    minutes=10,
    same_dtype=True,
    reference=_rate,
    cases=_rate_cases,
    tested="steps before, at and after the peak, the base model, whole numbers, float32 and float64",
    hints=(
        "Two expressions, and one of them counts at each step. Draw both by hand: which is the smaller at first, and "
        "where do they meet?",
        "The smaller of the two counts. `torch.minimum` compares two tensors entry by entry; Python's own function "
        "compares whole tensors.",
        "The factor of the width stands in front of both. Check the step that equals the warm-up: there both branches "
        "have one value.",
    ),
    mistakes=(
        Mistake(
            "maximum",
            Edit("minimum", "maximum"),
            "You took the larger of the two branches. The rate then begins high and ends in growth without end.",
        ),
        Mistake(
            "no-width",
            Edit("d_model**-0.5 * ", ""),
            "The width of the model is missing.",
        ),
        Mistake(
            "width-not-inverted",
            Edit("d_model**-0.5", "d_model**0.5"),
            "The width has the wrong sign in its exponent: wider models take smaller steps.",
        ),
        Mistake(
            "no-warm-up",
            Edit("torch.minimum(step**-0.5, step * warmup**-1.5)", "step**-0.5"),
            "There is no warm-up in your rate: the first step is the largest.",
        ),
        Mistake(
            "warm-up-too-steep",
            Edit("step * warmup**-1.5", "step / warmup"),
            "Your two branches do not meet at the end of the warm-up. Look at the exponent in the second.",
        ),
        Mistake(
            "counted-from-zero",
            lambda step, d_model, warmup: _rate(step + 1, d_model, warmup),
            "Your steps are off by one. They are given counted from 1, as in the paper.",
        ),
        Mistake(
            "exponent-of-the-warmup",
            Edit("warmup**-1.5", "warmup**-0.5"),
            "Your exponent of the warm-up is -0.5, and it is -1.5. At the step that equals the warm-up both branches "
            "have one value.",
        ),
    ),
)


def _clip(a: Tensor, b: Tensor, max_norm: float) -> tuple[Tensor, Tensor]:
    length = (a.square().sum() + b.square().sum()).sqrt()
    factor = (max_norm / length).clamp(max=1.0)
    return a * factor, b * factor


def _each_by_itself(a: Tensor, b: Tensor, max_norm: float) -> tuple[Tensor, ...]:
    return tuple(x * max_norm / x.square().sum().sqrt().clamp(min=max_norm) for x in (a, b))


def _clip_cases() -> list[Case]:
    draw = RandomInputs(34)

    def gradients(n: int, m: int, k: int, max_norm: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(n, m, dtype=dtype, scale=scale), draw.normal(k, dtype=dtype, scale=scale), max_norm

    by_hand = torch.tensor([[3.0]]), torch.tensor([4.0]), 1.0
    return [
        Case(by_hand, "the example"),
        Case(gradients(1, 2, 2, 0.5, F64)),
        Case(gradients(2, 1, 3, 1e3, F32), "short already"),
        Case(gradients(2, 3, 5, 1.0, F32)),
        Case(gradients(3, 2, 2, 2.5, F64)),
        Case(gradients(5, 3, 7, 100.0, F64), "short already, some entries above 1"),
        Case(gradients(3, 7, 5, 1.0, F64, 1e3), "very long"),
        Case((torch.tensor([[6.0]]), torch.tensor([8.0]), 50.0), "short already, with a square above the limit"),
    ]


CLIP_GRADIENT = Exercise(
    name="clip-gradient",
    title="Clip the gradient of two parameters",
    chapter="training",
    level=1,
    place=3,
    minutes=10,
    reference=_clip,
    cases=_clip_cases,
    tested="long and short gradients, very long ones, a square above the limit, float32 and float64",
    returns=("a", "b"),
    hints=(
        "The two tensors are one long vector that happens to be stored in two places. How long is that vector, from "
        "the squares of all its entries?",
        "Both are multiplied by one factor, so that the direction stays. What must the factor be where the vector is "
        "too long, and what where it is short enough?",
        "The factor is the greatest length over the length, but it is never above 1: clipping shortens and does "
        "not stretch.",
    ),
    mistakes=(
        Mistake(
            "each-by-itself",
            _each_by_itself,
            "You clipped each parameter by its own length. That turns the gradient: only long parts shrink.",
        ),
        Mistake(
            "entry-by-entry",
            lambda a, b, max_norm: (a.clamp(-max_norm, max_norm), b.clamp(-max_norm, max_norm)),
            "You clipped each entry. The length is meant: all entries are multiplied by one factor.",
        ),
        Mistake(
            "stretched",
            Edit(".clamp(max=1.0)", ""),
            "A gradient that is short enough stays as it is. Yours is stretched to the greatest length.",
        ),
        Mistake(
            "lengths-added",
            Edit("(a.square().sum() + b.square().sum()).sqrt()", "a.square().sum().sqrt() + b.square().sum().sqrt()"),
            "You added the two lengths. The squares are added, and the root comes last.",
        ),
        Mistake(
            "root-forgotten",
            Edit(".sqrt()", ""),
            "You took the sum of the squares for the length: the root is missing.",
        ),
    ),
)


def _adam(gradients: Tensor, rate: float, beta_1: float, beta_2: float, eps: float) -> Tensor:
    m, v, w = (torch.zeros_like(gradients[0]) for _ in range(3))
    for t, g in enumerate(gradients, start=1):
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g.square()
        m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)
        w = w - rate * m_hat / (v_hat.sqrt() + eps)
    return w


def _adam_cases() -> list[Case]:
    draw = RandomInputs(35)

    def steps(
        t: int,
        n: int,
        eps: float,
        dtype: torch.dtype,
        scale: float = 1.0,
        betas: tuple = (0.9, 0.98),
        rate: float = 0.1,
    ) -> tuple:
        signs = draw.normal(t, n, dtype=dtype).sign()  # no entry near 0, where a step may turn on rounding
        return signs * (scale * (0.5 + draw.normal(t, n, dtype=dtype).abs())), rate, *betas, eps

    by_hand = torch.tensor([[0.5], [0.5], [-1.0]], dtype=F64), 0.1, 0.9, 0.98, 1e-9
    return [
        Case(by_hand, "the example"),
        Case(steps(1, 1, 1e-9, F64), "one step"),
        Case(steps(2, 3, 0.5, F32), "a large epsilon"),
        Case(steps(5, 2, 1e-9, F32)),
        Case(steps(3, 4, 1e-9, F64, betas=(0.0, 0.9)), "no memory of the gradient"),
        Case(steps(7, 3, 1e-3, F64, betas=(0.8, 0.999))),
        Case(steps(11, 5, 1e-9, F64, 1e3), "large gradients"),
        Case(steps(4, 3, 1e-6, F64, rate=0.02), "a smaller rate"),
    ]


ADAM_STEPS = Exercise(
    name="adam-steps",
    title="Take the steps of Adam",
    chapter="training",
    level=2,
    place=6,
    minutes=20,
    reference=_adam,
    cases=_adam_cases,
    tested="one step and many, two rates, a large epsilon, no memory, large gradients, float32 and float64",
    hints=(
        "Three quantities are carried from step to step, all of them zero at first: two running means and the weights. "
        "Which of them does a gradient change first?",
        "After the two means are renewed, each is divided by what its own weights sum to so far, one minus a power of "
        "its beta. Only the corrected ones enter the step; the carried ones stay uncorrected.",
        "The step divides the corrected mean by the root of the corrected mean of squares, to which epsilon is added "
        "after the root was taken. Count the steps from 1.",
    ),
    mistakes=(
        Mistake(
            "not-corrected",
            Edit("m / (1 - beta_1**t), v / (1 - beta_2**t)", "m, v"),
            "The means begin at zero and are too small at first: the correction is missing.",
        ),
        Mistake(
            "half-corrected",
            Edit("v / (1 - beta_2**t)", "v"),
            "Only the mean of the gradients is corrected. The mean of the squares begins at zero too.",
        ),
        Mistake(
            "epsilon-inside-the-root",
            Edit("v_hat.sqrt() + eps", "(v_hat + eps).sqrt()"),
            "Your epsilon stands under the root. It is added to the root.",
        ),
        Mistake(
            "epsilon-before-correction",
            Edit("v_hat.sqrt() + eps", "(v.sqrt() + eps) / (1 - beta_2**t) ** 0.5"),
            "You add epsilon before the mean of the squares is corrected, so that the correction enlarges it. "
            "Correct first.",
        ),
        Mistake(
            "betas-swapped",
            lambda gradients, rate, beta_1, beta_2, eps: _adam(gradients, rate, beta_2, beta_1, eps),
            "The two betas are swapped: the first belongs to the gradient, the second to its square.",
        ),
        Mistake(
            "not-squared",
            Edit("g.square()", "g.abs()"),
            "The second mean is that of the squares. Yours averages something else.",
        ),
        Mistake(
            "uphill",
            Edit("w - rate", "w + rate"),
            "You walk uphill: the step goes against the gradient.",
        ),
        Mistake(
            "first-mean-not-corrected",
            Edit("m / (1 - beta_1**t)", "m"),
            "Only the mean of the squares is corrected. The mean of the gradients begins at zero too.",
        ),
        Mistake(
            "one-step-ahead",
            Edit("start=1", "start=2"),
            "Your correction is one step ahead: the first step has the number 1.",
        ),
        Mistake(
            "not-a-mean",
            Edit("(1 - beta_1) * g", "g"),
            "You added the whole gradient to the running mean, as momentum of SGD does. Adam adds its part 1 - beta_1.",
        ),
        Mistake(
            "corrected-means-kept",
            (
                Edit("m / (1 - beta_1**t), v / (1 - beta_2**t)", "m, v"),
                Edit(
                    "        w =",
                    "        m, v = m / (1 - beta_1**t), v / (1 - beta_2**t)\n        m_hat, v_hat = m, v\n        w =",
                ),
            ),
            "You carried the corrected means on, so that each step corrects them again. Keep the uncorrected ones.",
        ),
    ),
)
