"""Drill on trading work for memory: ``checkpointed-backward``."""

import math

import torch
from torch import Tensor

from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _checkpointed(x: Tensor, weights: Tensor, every: int, d_output: Tensor) -> tuple[Tensor, Tensor]:
    starts = range(0, len(weights), every)
    kept, h = [], x
    for i, w in enumerate(weights):
        if i in starts:
            kept.append(h)
        h = torch.tanh(h @ w)
    d_weights, d = torch.zeros_like(weights), d_output
    for start in reversed(starts):
        inputs, part = [kept.pop()], weights[start : start + every]
        for w in part:
            inputs.append(torch.tanh(inputs[-1] @ w))
        for i in reversed(range(len(part))):
            d_before = d * (1 - inputs[i + 1] ** 2)
            d_weights[start + i] = inputs[i].mT @ d_before
            d = d_before @ part[i].mT
    return d, d_weights


def _all_kept(x: Tensor, weights: Tensor, every: int, d_output: Tensor) -> tuple[Tensor, Tensor]:
    return _checkpointed(x, weights, len(weights), d_output)


def _checkpoint_cases() -> list[Case]:
    draw = RandomInputs(70)

    def chain(n: int, d: int, layers: int, every: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        weights = draw.normal(layers, d, d, dtype=dtype, scale=1 / d**0.5)
        return draw.normal(n, d, dtype=dtype), weights, every, draw.normal(n, d, dtype=dtype, scale=scale)

    one = torch.ones(1, 1, dtype=F64)
    return [
        Case((math.atanh(0.5) * one, one[None], 1, 4 * one), "the example"),
        Case(chain(2, 3, 4, 2, F64)),
        Case(chain(3, 2, 5, 2, F32), "a last part that is shorter"),
        Case(chain(4, 3, 3, 1, F64), "a checkpoint at each layer"),
        Case(chain(2, 5, 4, 7, F64), "one checkpoint"),
        Case(chain(3, 4, 6, 3, F64, 1e3), "large gradients"),
        Case(chain(96, 4, 49, 7, F64), "many layers"),
    ]


def _checkpoint_budget(x: Tensor, weights: Tensor, every: int, d_output: Tensor) -> Budget:
    layers = len(weights)
    parts = -(-layers // every)
    return Budget(held=(parts + every + 8) * x.numel() + 2 * weights.numel()) if layers >= 32 else Budget()


CHECKPOINTED_BACKWARD = Exercise(
    name="checkpointed-backward",
    title="Go backward with checkpoints within a limit of memory",
    chapter="exercises",
    level=3,
    place=21,
    minutes=40,
    topic="training",
    reference=_checkpointed,
    cases=_checkpoint_cases,
    budget=_checkpoint_budget,
    tested="parts that fit and that do not, one checkpoint and one a layer, many layers within a limit, both dtypes",
    returns=("d_x", "d_weights"),
    hints=(
        "Forward, keep only the input of every `every`-th layer. Backward, take the parts from the last to the first. "
        "What does a part need that was not kept?",
        "A part begins by running its own layers forward once more from its checkpoint, this time keeping every input. "
        "Then it goes backward through them and forgets them.",
        "With out = tanh(h w) the gradient before the tanh is d times 1 - out squared. From it come the gradient of "
        "the weight, with h transposed, and that of h, with w transposed.",
    ),
    mistakes=(
        Mistake(
            "all-kept",
            _all_kept,
            "The numbers are right, and you held as much as the inputs of all layers, or more. Keep one for each part, "
            "and compute the others again when the part is due.",
        ),
        Mistake(
            "no-slope",
            Edit(" * (1 - inputs[i + 1] ** 2)", ""),
            "The slope of the tanh is missing on the way back.",
        ),
        Mistake(
            "slope-without-square",
            Edit("inputs[i + 1] ** 2", "inputs[i + 1]"),
            "The slope of the tanh is 1 minus the square of its output.",
        ),
        Mistake(
            "slope-of-the-input",
            Edit("inputs[i + 1] ** 2", "inputs[i] ** 2"),
            "You took the slope from the input of the layer. It is 1 minus the square of the layer's output.",
        ),
        Mistake(
            "weight-not-transposed",
            Edit("part[i].mT", "part[i]"),
            "On the way back through a product the weight is transposed.",
        ),
        Mistake(
            "order-reversed",
            Edit("return d, d_weights", "return d, d_weights.flip(0)"),
            "The gradients of the weights stand in the order in which you found them, from the last layer to the "
            "first.",
        ),
        Mistake(
            "checkpoints-not-moved",
            Edit("h = torch.tanh(h @ w)", "h = h if i else torch.tanh(h @ w)"),
            "Your checkpoints are not the inputs of their own layers: each part has to start from what reached it.",
        ),
        Mistake(
            "slope-of-a-second-tanh",
            Edit("inputs[i + 1] ** 2", "torch.tanh(inputs[i + 1]) ** 2"),
            "You took the tanh of what is a tanh already. The slope is 1 minus the square of the layer's output.",
        ),
        Mistake(
            "weight-gradient-transposed",
            Edit("inputs[i].mT @ d_before", "d_before.mT @ inputs[i]"),
            "Your gradients of the weights are transposed: the input comes first, since h is multiplied from the left.",
        ),
    ),
)
