"""Second stage of repairing a whole model: ``repair-block``."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from companion.chapters.interview.exercises.task_repair_1_attention import _attention
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
attend = _attention  # as the page calls it


def norm(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """Divide each vector by its root mean square."""
    return F.rms_norm(x, x.shape[-1:])


def _broken_block(
    x: Tensor, w_qkv: Tensor, w_o: Tensor, gains: Tensor, w_up: Tensor, w_down: Tensor, n_heads: int
) -> Tensor:
    x = norm(x) * gains[0]
    y = x + attend(x, w_qkv, w_o, n_heads)
    return y + (norm(x) * gains[1] @ w_up).relu() @ w_down


def _block(x: Tensor, w_qkv: Tensor, w_o: Tensor, gains: Tensor, w_up: Tensor, w_down: Tensor, n_heads: int) -> Tensor:
    y = x + attend(norm(x) * gains[0], w_qkv, w_o, n_heads)
    return y + (norm(y) * gains[1] @ w_up).relu() @ w_down


def _weights(draw: RandomInputs, d: int, d_ff: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Draw the weights of one block: both maps of attention, two gains, both maps of the feed-forward network."""
    w_qkv, w_o, w_up = (draw.normal(d, wide, dtype=dtype) / d**0.5 for wide in (3 * d, d, d_ff))
    return w_qkv, w_o, 1 + draw.normal(2, d, dtype=dtype, scale=0.3), w_up, draw.normal(d_ff, d, dtype=dtype)


def _cases() -> list[Case]:
    draw = RandomInputs(192)

    def block(b: int, t: int, d: int, d_ff: int, n_heads: int, dtype: torch.dtype = F64, scale: float = 1.0) -> tuple:
        return draw.normal(b, t, d, dtype=dtype, scale=scale), *_weights(draw, d, d_ff, dtype), n_heads

    by_hand = torch.tensor([[[3.0, 3.0]]]), torch.zeros(2, 6), torch.zeros(2, 2), torch.ones(2, 2)
    by_hand = *by_hand, torch.ones(2, 1), torch.tensor([[1.0, 2.0]]), 1
    x, *rest = block(2, 5, 4, 6, 2)
    rest[1], x[1, 2] = torch.zeros_like(rest[1]), 0.0
    large = block(2, 5, 6, 4, 2, F64, 1e3)
    return [
        Case(by_hand, "the example"),
        Case(block(1, 1, 4, 3, 2), "one position"),
        Case((x, *rest), "an attention that gives 0, and a vector of zeros"),
        Case(block(2, 3, 4, 5, 2, F32)),
        Case(block(3, 4, 6, 8, 6)),
        Case(block(2, 6, 4, 4, 1, F32, 5.0), "larger inputs"),
        Case((*large[:3], 100 * large[3], *large[4:]), "inputs in the thousands, large gains"),
    ]


STREAM = Edit("y = x + attend(norm(x) * gains[0], ", "x = norm(x) * gains[0]\n    y = x + attend(x, ")
STALE = Edit("norm(y)", "norm(x)")

BLOCK = Exercise(
    name="repair-block",
    title="Repair its block",
    chapter="task-repair",
    topic="add-norm",
    level=2,
    place=2,
    minutes=10,
    reference=_block,
    broken=_broken_block,
    cases=_cases,
    tested="one position, attention that gives 0, large inputs, both dtypes",
    hints=(
        "There are two faults. Let attention and the feed-forward network give 0, by zeros in `w_o` and `w_down`: what "
        "must come out of a block then, and what does?",
        "Without both sublayers a pre-norm block hands on its input as it came. Which vector is it that runs through "
        "the residual connection here?",
        "The norm belongs to what a sublayer reads, and not to the stream beside it. And which vector has the second "
        "sublayer to read: the one before attention or the one after it?",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (STREAM, STALE),
            "This does what the code as given does. A block whose sublayers give 0 changes its input.",
        ),
        Mistake(
            "norm-in-the-stream",
            STREAM,
            "The second sublayer reads what it should now. The residual connection still carries the normalised "
            "vector in place of the input.",
        ),
        Mistake(
            "second-reads-the-input",
            STALE,
            "The residual connection is right now. The feed-forward network still reads what was there before "
            "attention.",
        ),
        Mistake(
            "norm-behind-the-sum",
            (
                Edit(
                    "y = x + attend(norm(x) * gains[0], w_qkv, w_o, n_heads)",
                    "y = norm(x + attend(x, w_qkv, w_o, n_heads)) * gains[0]",
                ),
                Edit("norm(y) * gains[1] @", "y @"),
                Edit("return y + ", "return norm(y + "),
                Edit("@ w_down", "@ w_down) * gains[1]"),
            ),
            "You normalise after the sums, as in the post-norm of 2017. The statement asks for pre-norm.",
        ),
        Mistake(
            "norm-by-hand",
            Edit("F.rms_norm(x, x.shape[-1:])", "x / x.square().mean(dim=-1, keepdim=True).sqrt()", of=norm),
            "Your own norm divides by 0 where a vector is 0. `norm`, which is right, adds an epsilon below the root.",
        ),
        Mistake(
            "gains-exchanged",
            (Edit("gains[0]", "gains[1]"), Edit("gains[1] @", "gains[0] @")),
            "The two gains are exchanged: the first belongs to attention.",
        ),
        Mistake(
            "no-residual",
            Edit("y = x + attend(", "y = attend("),
            "The residual connection around attention is gone.",
        ),
        Mistake(
            "no-second-norm",
            Edit("(norm(y) * gains[1]", "(y * gains[1]"),
            "The feed-forward network reads the stream as it is. It reads the normalised vector.",
        ),
        Mistake(
            "no-first-norm",
            Edit("norm(x) * gains[0]", "x * gains[0]"),
            "Attention reads the stream as it is. It reads the normalised vector.",
        ),
        Mistake(
            "added-to-the-input",
            Edit("return y + ", "return x + "),
            "You add the feed-forward network to the input of the block, and what attention added is lost.",
        ),
    ),
)
