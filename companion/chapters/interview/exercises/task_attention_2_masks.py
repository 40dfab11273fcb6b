"""Second stage of growing attention: ``grow-masks``, a causal layer that sees no padding."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_attention_1_heads import _attend
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _causal_layer(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor) -> Tensor:
    t = x.shape[1]
    causal = torch.ones(t, t, dtype=torch.bool).tril()
    allowed = causal & real[:, None]
    return _attend(x @ w_q, x @ w_k, x @ w_v, n_heads, allowed) @ w_o


def _layer_trial(
    answer: Answer, x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor
) -> tuple[Tensor, ...]:
    """Compare the output at real positions, and the gradients that come from there."""
    leaves = [y.clone().requires_grad_() for y in (x, w_q, w_k, w_v, w_o)]
    output = tensor(answer(*leaves, n_heads, real), *x.shape).masked_fill(~real[..., None], 0.0)
    return output.detach(), *gradients(output, leaves)


def _layer_weights(draw: RandomInputs, d: int, n_heads: int, n_kv_heads: int, d_k: int, dtype: torch.dtype) -> tuple:
    wide, narrow = n_heads * d_k, n_kv_heads * d_k
    sizes = (d, wide), (d, narrow), (d, narrow), (wide, d)
    return tuple(draw.normal(*size, dtype=dtype, scale=size[0] ** -0.5) for size in sizes)


def _padded(*lengths: int, t: int, left: bool = False) -> Tensor:
    real = torch.arange(t) < torch.tensor(lengths)[:, None]
    return real.flip(1) if left else real


def _layer_cases() -> list[Case]:
    draw = RandomInputs(142)

    def layer(d: int, n_heads: int, d_k: int, dtype: torch.dtype, real: Tensor, scale: float = 1.0) -> tuple:
        w_q, w_k, w_v, w_o = _layer_weights(draw, d, n_heads, n_heads, d_k, dtype)
        x = draw.normal(*real.shape, d, dtype=dtype)
        return x, w_q, w_k, scale * w_v, w_o, n_heads, real

    eye = torch.eye(2)
    by_hand = torch.tensor([[[2.0, 4.0], [4.0, 8.0], [5.0, 5.0]]]), 0 * eye, eye, eye, eye, 2, _padded(2, t=3)
    one = torch.ones(1, 1)
    far = torch.tensor([[[1.0], [1e10]]]), one, -one, one, one, 1, _padded(1, t=2, left=True)
    return [
        Case(by_hand, "the example"),
        Case(layer(4, 2, 2, F64, _padded(3, t=3))),
        Case(layer(5, 3, 2, F32, _padded(3, 3, t=3)), "no padding"),
        Case(layer(7, 2, 3, F64, _padded(5, 2, 1, t=5)), "padding on the right"),
        Case(layer(7, 2, 3, F64, _padded(5, 2, 1, t=5, left=True)), "padding on the left"),
        Case(layer(5, 3, 2, F32, _padded(4, 3, 2, t=4, left=True)), "as many heads as sentences"),
        Case(layer(6, 2, 4, F64, torch.tensor([[True, False, True, True], [False, True, False, True]])), "gaps"),
        Case(layer(5, 2, 3, F64, _padded(6, 4, t=6), 1e4), "large weights"),
        Case((torch.tensor([[[0.0], [2.0], [4.0]]]), 0 * one, *[one] * 3, 1, _padded(3, t=3)), "a real token of zeros"),
        Case(far, "scores far below 0"),
    ]


MASKS = Exercise(
    name="grow-masks",
    title="Grow masks",
    chapter="task-attention",
    topic="multi-head",
    level=2,
    place=2,
    minutes=8,
    reference=_causal_layer,
    cases=_layer_cases,
    trial=_layer_trial,
    returns=("output", *(f"gradient for {name}" for name in ("x", "w_q", "w_k", "w_v", "w_o"))),
    tested="outputs, gradients; padding on either side, none, gaps, real zeros, low scores, both dtypes",
    hints=(
        "There are two reasons why a query may not look at a key: the key is later, or it is padding. Make one mask of "
        "each, with the shapes beside it, and join them.",
        "The causal mask is (t, t) and the same for all sentences. The padding is (batch, t) and belongs to the keys, "
        "so it needs an axis for the queries before it broadcasts.",
        "A pair is allowed where both allow it. Rows at padding on the left are then empty, and stage 1 has made sure "
        "that an empty row is harmless.",
    ),
    mistakes=(
        Mistake(
            "sees-the-future",
            Edit("causal & real[:, None]", "real[:, None].expand(-1, t, -1)"),
            "Your queries look at later keys: the layer is not causal.",
        ),
        Mistake(
            "sees-padding",
            Edit("causal & real[:, None]", "causal.expand(len(x), -1, -1)"),
            "Your queries look at padding. It is hidden as a key, from every query: a column, not a row.",
            also=(Edit("real[:, None]", "real[..., None]"),),
        ),
        Mistake(
            "either-is-enough",
            Edit("causal & real[:, None]", "causal | real[:, None]"),
            "You allow a pair where either mask does. Both must.",
        ),
        Mistake(
            "not-itself",
            Edit(".tril()", ".tril(-1)"),
            "A query does not see its own position. The diagonal of a causal mask is allowed.",
        ),
        Mistake(
            "looks-ahead-only",
            Edit(".tril()", ".triu()"),
            "The causal mask is upside down: queries see themselves and what follows. Rows are queries, columns keys.",
        ),
        Mistake(
            "padding-inverted",
            Edit("& real", "& ~real"),
            "The padding is read the other way round: `real` is True for tokens that count.",
        ),
        Mistake(
            "no-output-projection",
            Edit(" @ w_o", ""),
            "The last product is missing: the heads are merged, but nothing mixes them.",
        ),
        Mistake(
            "one-later-seen",
            Edit(".tril()", ".tril(1)"),
            "A position sees the one after it. The mask ends at the diagonal.",
        ),
    ),
)
