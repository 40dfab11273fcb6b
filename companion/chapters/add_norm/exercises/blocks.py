"""Exercises on the blocks of a layer: ``feed-forward``, ``swiglu`` and ``norm-order``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _feed_forward(x: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor) -> Tensor:
    return (x @ w_1 + b_1).clamp(min=0) @ w_2 + b_2


def _by_gelu(x: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor) -> Tensor:
    hidden = x @ w_1 + b_1
    return hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2 @ w_2 + b_2


def _feed_forward_cases() -> list[Case]:
    draw = RandomInputs(26)

    def given(batch: int, t: int, d: int, d_ff: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        first = draw.normal(d, d_ff, dtype=dtype), draw.normal(d_ff, dtype=dtype)
        second = draw.normal(d_ff, d, dtype=dtype), draw.normal(d, dtype=dtype)
        return draw.normal(batch, t, d, dtype=dtype, scale=scale), *first, *second

    by_hand = (
        torch.tensor([[[2.0]]]),
        torch.tensor([[0.5, -1.0]]),
        torch.tensor([0.0, 1.0]),
        torch.tensor([[1.0], [4.0]]),
        torch.tensor([-2.0]),
    )
    return [
        Case(by_hand, "the example"),
        Case(given(1, 2, 2, 3, F64)),
        Case(given(1, 1, 3, 5, F32), "one position"),
        Case(given(2, 3, 5, 7, F32)),
        Case(given(3, 2, 4, 4, F64), "as wide inside as outside"),
        Case(given(2, 5, 7, 2, F64), "narrower inside"),
        Case(given(2, 3, 5, 11, F64, 1e3), "large numbers"),
        Case(given(1, 2, 3, 4, F64, 1e6), "numbers near a million"),
    ]


FEED_FORWARD = Exercise(
    name="feed-forward",
    title="Write the feed-forward network",
    chapter="add-norm",
    level=1,
    place=3,
    minutes=10,
    reference=_feed_forward,
    cases=_feed_forward_cases,
    tested="one position, hidden layers wider and narrower than the model, float32 and float64",
    hints=(
        "Two linear maps with a nonlinear function between them. Which of the five tensors belong to the first map?",
        "Rows are positions, so the matrices act from the right. The function that cuts negative numbers off acts on "
        "the result of the first map, its bias included.",
        "Count the steps: product, bias, cut, product, bias. `clamp` with a lower bound, or `relu`, is the third of "
        "them. Nothing happens after the last.",
    ),
    mistakes=(
        Mistake(
            "relu-at-the-end",
            lambda x, w_1, b_1, w_2, b_2: ((x @ w_1 + b_1) @ w_2 + b_2).clamp(min=0),
            "You cut off the result instead of the hidden layer. Without a nonlinear function between them the two "
            "matrices are one.",
        ),
        Mistake(
            "no-activation",
            lambda x, w_1, b_1, w_2, b_2: (x @ w_1 + b_1) @ w_2 + b_2,
            "There is no nonlinear function between your two maps, so together they are one linear map.",
        ),
        Mistake(
            "cut-twice",
            lambda x, w_1, b_1, w_2, b_2: _feed_forward(x, w_1, b_1, w_2, b_2).clamp(min=0),
            "You cut off the result as well. A network that only adds to the residual stream could never take away.",
        ),
        Mistake(
            "bias-after-the-cut",
            lambda x, w_1, b_1, w_2, b_2: ((x @ w_1).clamp(min=0) + b_1) @ w_2 + b_2,
            "You added the first bias after the cut. It decides where the cut lies, so it comes before.",
        ),
        Mistake(
            "biases-lost",
            lambda x, w_1, b_1, w_2, b_2: (x @ w_1).clamp(min=0) @ w_2,
            "Both biases are missing.",
        ),
        Mistake(
            "gelu",
            _by_gelu,
            "This is GELU. The equation of the paper has the maximum of 0 and the number.",
        ),
        Mistake(
            "residual-inside",
            lambda x, w_1, b_1, w_2, b_2: x + _feed_forward(x, w_1, b_1, w_2, b_2),
            "You added x. The residual connection stands around the network and is not part of it.",
        ),
        Mistake(
            "no-second-bias",
            Edit(" + b_2", ""),
            "The second bias is missing.",
        ),
    ),
)


def _swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    gate = x @ w_gate
    return (gate * gate.sigmoid() * (x @ w_up)) @ w_down


def _swiglu_cases() -> list[Case]:
    draw = RandomInputs(27)

    def given(batch: int, t: int, d: int, d_ff: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        gate, up = draw.normal(d, d_ff, dtype=dtype), draw.normal(d, d_ff, dtype=dtype)
        return draw.normal(batch, t, d, dtype=dtype, scale=scale), gate, up, draw.normal(d_ff, d, dtype=dtype)

    by_hand = (
        torch.tensor([[[1.0]]], dtype=F64),
        torch.tensor([[math.log(3.0), 0.0]], dtype=F64),
        torch.tensor([[4.0, 1.0]], dtype=F64),
        torch.tensor([[1.0], [1.0]], dtype=F64),
    )
    return [
        Case(by_hand, "the example"),
        Case(given(1, 2, 2, 3, F64)),
        Case(given(1, 1, 3, 5, F32), "one position"),
        Case(given(2, 3, 5, 7, F32)),
        Case(given(3, 2, 4, 4, F64), "as wide inside as outside"),
        Case(given(2, 5, 7, 2, F64), "narrower inside"),
        Case(given(2, 3, 5, 11, F64, 1e3), "large numbers"),
    ]


SWIGLU = Exercise(
    name="swiglu",
    title="Gate the hidden layer",
    chapter="add-norm",
    level=1,
    place=4,
    minutes=10,
    reference=_swiglu,
    cases=_swiglu_cases,
    tested="one position, hidden layers wider and narrower than the model, float32 and float64",
    hints=(
        "Two maps go up side by side, and one comes down. Which of the two carries the activation?",
        "The activation is a number times its own sigmoid, and it acts on the gate. `torch.nn.functional.silu` "
        "computes it.",
        "Multiply the activated gate with the other map entry by entry, then come down through the last matrix. The "
        "activation acts on one factor only, and before the product.",
    ),
    mistakes=(
        Mistake(
            "sigmoid-only",
            lambda x, w_gate, w_up, w_down: ((x @ w_gate).sigmoid() * (x @ w_up)) @ w_down,
            "Your gate is the sigmoid alone: this is GLU. In SwiGLU the number itself multiplies its sigmoid.",
        ),
        Mistake(
            "gate-and-up-swapped",
            lambda x, w_gate, w_up, w_down: _swiglu(x, w_up, w_gate, w_down),
            "The activation acts on the wrong one of the two maps. It belongs to the gate.",
        ),
        Mistake(
            "activation-on-the-product",
            lambda x, w_gate, w_up, w_down: torch.nn.functional.silu((x @ w_gate) * (x @ w_up)) @ w_down,
            "The activation acts on the product. It belongs to the gate alone, before the product.",
        ),
        Mistake(
            "relu",
            lambda x, w_gate, w_up, w_down: ((x @ w_gate).clamp(min=0) * (x @ w_up)) @ w_down,
            "Your gate is a ReLU: this is ReGLU. SwiGLU has the smooth function.",
        ),
        Mistake(
            "gate-alone",
            lambda x, w_gate, w_up, w_down: torch.nn.functional.silu(x @ w_gate) @ w_down,
            "The second map is not used: without the product nothing is gated.",
        ),
        Mistake(
            "added",
            Edit("gate.sigmoid() * (x @ w_up)", "gate.sigmoid() + (x @ w_up)"),
            "You added the two halves. The gate multiplies the other half.",
        ),
        Mistake(
            "gelu",
            lambda x, w_gate, w_up, w_down: (torch.nn.functional.gelu(x @ w_gate) * (x @ w_up)) @ w_down,
            "You gated with GELU, which is GEGLU. Here it is SiLU, the gate times its sigmoid.",
            also=(
                lambda x, w_gate, w_up, w_down: (
                    (torch.nn.functional.gelu(x @ w_gate, approximate="tanh") * (x @ w_up)) @ w_down
                ),
            ),
        ),
    ),
)


def _norm(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def _norm_order(x: Tensor, w_1: Tensor, w_2: Tensor, pre: bool) -> Tensor:
    for w in (w_1, w_2):
        x = x + _norm(x) @ w if pre else _norm(x + x @ w)
    return x


def _order_cases() -> list[Case]:
    draw = RandomInputs(28)

    def given(batch: int, t: int, d: int, pre: bool, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        w_1, w_2 = draw.normal(d, d, dtype=dtype), draw.normal(d, d, dtype=dtype)
        return draw.normal(batch, t, d, dtype=dtype, scale=scale), w_1, w_2, pre

    by_hand = (
        torch.tensor([[[1.0, 3.0]]]),
        torch.tensor([[0.0, 1.0], [0.0, 0.0]]),
        torch.tensor([[2.0, 0.0], [0.0, 0.0]]),
        True,
    )
    return [
        Case(by_hand, "the example, pre-norm"),
        Case(given(1, 1, 3, False, F64), "post-norm"),
        Case(given(1, 2, 3, True, F32), "pre-norm"),
        Case(given(2, 3, 5, False, F32), "post-norm"),
        Case(given(3, 2, 7, True, F64), "pre-norm"),
        Case(given(2, 5, 4, False, F64), "post-norm"),
        Case(given(2, 3, 5, True, F64, 1e3), "pre-norm, large numbers"),
        Case(given(2, 3, 5, False, F64, 1e3), "post-norm, large numbers"),
    ]


NORM_ORDER = Exercise(
    name="norm-order",
    title="Put add and norm in order",
    chapter="add-norm",
    level=2,
    place=5,
    minutes=15,
    reference=_norm_order,
    cases=_order_cases,
    tested="post-norm and pre-norm, one position, large numbers, float32 and float64",
    hints=(
        "A layer has two sub-layers, and each has a residual of its own. Write one of them down for both orders before "
        "you write code.",
        "Post-norm: the norm acts on the sum, and so on everything that goes on. Pre-norm: it acts on what the "
        "sub-layer reads, and the stream itself is never normalised.",
        "In pre-norm you need the vector twice, once as it is and once normalised. The second sub-layer starts from "
        "what the first one left. No norm stands at the end of a pre-norm layer.",
    ),
    mistakes=(
        Mistake(
            "orders-swapped",
            lambda x, w_1, w_2, pre: _norm_order(x, w_1, w_2, not pre),
            "You swapped the two orders: post-norm normalises the sum, pre-norm what the sub-layer reads.",
        ),
        Mistake(
            "norm-on-the-stream",
            Edit("x + _norm(x) @ w", "_norm(x) + _norm(x) @ w"),
            "In pre-norm you added to the normalised vector. The residual carries the vector as it came.",
        ),
        Mistake(
            "norm-of-the-branch",
            Edit("_norm(x + x @ w)", "x + _norm(x @ w)"),
            "In post-norm you normalised the output of the sub-layer alone. The norm acts on the sum. Some later "
            "models have your order, the paper has not.",
        ),
        Mistake(
            "old-residual",
            (
                Edit("    for", "    start = x\n    for"),
                Edit("x + _norm(x) @ w", "start + _norm(x) @ w"),
                Edit("_norm(x + x @ w)", "_norm(start + x @ w)"),
            ),
            "The residual of your second sub-layer starts at the input of the layer. It starts where the first "
            "sub-layer ended.",
        ),
        Mistake(
            "final-norm",
            Edit("return x", "return _norm(x) if pre else x"),
            "You normalised the end of a pre-norm layer. That norm stands once after the whole stack.",
        ),
        Mistake(
            "norm-after-the-sub-layer",
            Edit("x + _norm(x) @ w", "x + _norm(x @ w)"),
            "In pre-norm you normalised what the sub-layer returns. It is the input of the sub-layer that is "
            "normalised.",
        ),
    ),
)
