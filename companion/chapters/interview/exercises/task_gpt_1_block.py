"""First stage of a small GPT: ``gpt-block``, a pre-norm block with causal attention."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _norm(x: Tensor, gain: Tensor) -> Tensor:
    return F.layer_norm(x, gain.shape, gain)


def _block(
    x: Tensor,
    gain_1: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    gain_2: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    n_heads: int,
) -> Tensor:
    mixed = (_norm(x, gain_1) @ w_qkv).chunk(3, dim=-1)
    query, key, value = (y.unflatten(-1, (n_heads, -1)).transpose(1, 2) for y in mixed)
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    x = x + heads.transpose(1, 2).flatten(2) @ w_o
    return x + F.gelu(_norm(x, gain_2) @ w_up) @ w_down


def _block_trial(
    answer: Answer,
    x: Tensor,
    gain_1: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    gain_2: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    n_heads: int,
) -> tuple[Tensor, ...]:
    """Compare the output and all gradients."""
    leaves = [y.clone().requires_grad_() for y in (x, gain_1, w_qkv, w_o, gain_2, w_up, w_down)]
    output = tensor(answer(*leaves, n_heads), *x.shape)
    return output.detach(), *gradients(output, leaves)


def _block_weights(draw: RandomInputs, d: int, d_ff: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Draw gains around 1 and the four matrices of a block."""
    gain_1, gain_2 = (1 + 0.3 * draw.normal(d, dtype=dtype) for _ in range(2))
    w_qkv, w_o = draw.normal(d, 3 * d, dtype=dtype, scale=d**-0.5), draw.normal(d, d, dtype=dtype, scale=d**-0.5)
    w_up, w_down = draw.normal(d, d_ff, dtype=dtype, scale=d**-0.5), draw.normal(d_ff, d, dtype=dtype, scale=d**-0.5)
    return gain_1, w_qkv, w_o, gain_2, w_up, w_down


def _block_cases() -> list[Case]:
    draw = RandomInputs(171)

    def block(
        batch: int, t: int, n_heads: int, d_k: int, d_ff: int, dtype: torch.dtype, scale: float = 1.0, shift: float = 0
    ) -> tuple:
        d = n_heads * d_k
        x = shift + draw.normal(batch, t, d, dtype=dtype, scale=scale)
        smaller = 0.5 if dtype == F32 else 1.0  # keeps rounding far below the tolerance
        weights = [w if w.ndim == 1 else smaller * w for w in _block_weights(draw, d, d_ff, dtype)]
        return x, *weights, n_heads

    eye, zero = torch.eye(2), torch.zeros(2, 2)
    x = torch.tensor([[[1.0, -1.0], [-3.0, 3.0]]])
    by_hand = x, torch.ones(2), torch.cat([zero, zero, eye], 1), eye, torch.ones(2), zero, zero, 1
    x, w_qkv = torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]]), torch.cat([15 * eye, -15 * eye, eye], 1)
    far = x, torch.ones(2), w_qkv, eye, torch.ones(2), zero, zero, 1
    first = torch.tensor([[1e10, 0.0], [0.0, 0.0]])  # the width of a head is 2, the scores are -7e19 and 7e19
    farther = x, torch.ones(2), torch.cat([first, -first, eye], 1), eye, torch.ones(2), zero, zero, 1
    flat = block(2, 3, 2, 2, 5, F64)
    flat = (flat[0].index_fill(1, torch.tensor([1]), 0.5), *flat[1:])
    return [
        Case(by_hand, "the example"),
        Case(block(1, 1, 1, 3, 2, F64), "one token"),
        Case(block(2, 4, 1, 5, 3, F32), "one head"),
        Case(block(2, 5, 3, 2, 7, F64), "three heads"),
        Case(block(3, 3, 3, 3, 4, F64, shift=2.0), "batch, length and heads equal, features with a mean"),
        Case(flat, "a token with equal features"),
        Case(block(2, 4, 6, 1, 7, F64, scale=1e-3), "tiny features"),
        Case(block(2, 6, 2, 3, 5, F64, scale=1e3), "large features"),
        Case(block(2, 3, 2, 2, 5, F64, shift=1e5), "features far from 0"),
        Case(far, "scores far below 0"),
        Case(farther, "scores farther below 0"),
    ]


BLOCK = Exercise(
    name="gpt-block",
    title="Write the block",
    chapter="task-gpt",
    topic="training",
    level=2,
    place=1,
    minutes=12,
    reference=_block,
    cases=_block_cases,
    trial=_block_trial,
    returns=(
        "output",
        *(f"gradient for {name}" for name in ("x", "gain_1", "w_qkv", "w_o", "gain_2", "w_up", "w_down")),
    ),
    tested="outputs and gradients; one token, one head, tiny, large and equal features, features and scores far from "
    "0, both dtypes",
    hints=(
        "Two branches, and each is added to what it read. Draw the one line that goes straight through the block, and "
        "mark where a norm stands on it: nowhere.",
        "The first branch: norm, one product, three equal parts, heads, causal attention, merge, product. The second: "
        "norm, product, GELU, product. It reads what the first has left.",
        "`chunk` cuts the product into queries, keys and values. Each is split into heads with an axis after the "
        "positions that is swapped to the front; `F.scaled_dot_product_attention` has a flag for the causal mask.",
    ),
    mistakes=(
        Mistake(
            "sees-the-future",
            Edit("is_causal=True", "is_causal=False"),
            "Your tokens look at later ones: the attention is not causal.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit(
                "heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)",
                "later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)\n"
                "    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(later, -1e4)\n"
                "    heads = scores.softmax(dim=-1) @ value",
            ),
            "You hide scores by a finite number, and scores far below 0 can be smaller than it. Use -inf.",
        ),
        Mistake(
            "no-first-residual",
            Edit("x = x + heads", "x = heads"),
            "The output of attention replaces x. It is added to it.",
        ),
        Mistake(
            "no-second-residual",
            Edit("return x + F.gelu", "return F.gelu"),
            "The feed-forward branch replaces what it read. It is added to it.",
        ),
        Mistake(
            "post-norm",
            (
                Edit("(_norm(x, gain_1) @ w_qkv)", "(x @ w_qkv)"),
                Edit(
                    "x = x + heads.transpose(1, 2).flatten(2) @ w_o",
                    "x = _norm(x + heads.transpose(1, 2).flatten(2) @ w_o, gain_1)",
                ),
                Edit(
                    "return x + F.gelu(_norm(x, gain_2) @ w_up) @ w_down",
                    "return _norm(x + F.gelu(x @ w_up) @ w_down, gain_2)",
                ),
            ),
            "Your norms stand after the sums. A pre-norm block normalises what a branch reads, and leaves the sum "
            "alone.",
        ),
        Mistake(
            "norm-on-the-stream",
            (
                Edit("mixed = (_norm(x, gain_1) @ w_qkv)", "x = _norm(x, gain_1)\n    mixed = (x @ w_qkv)"),
                Edit(
                    "return x + F.gelu(_norm(x, gain_2) @ w_up)",
                    "x = _norm(x, gain_2)\n    return x + F.gelu(x @ w_up)",
                ),
            ),
            "You add each branch to the normalised x. The norm belongs to the branch: the stream itself goes on "
            "unchanged.",
        ),
        Mistake(
            "parallel-branches",
            (
                Edit("x = x + heads", "after = x + heads"),
                Edit("return x + F", "return after + F"),
            ),
            "Both branches read the input of the block. The second reads what the first has left.",
        ),
        Mistake(
            "one-gain-for-both",
            Edit("_norm(x, gain_2)", "_norm(x, gain_1)"),
            "Both norms use the first gain. The second branch has its own.",
        ),
        Mistake(
            "no-second-norm",
            Edit("_norm(x, gain_2)", "x"),
            "The feed-forward branch reads x without a norm.",
        ),
        Mistake(
            "rms-norm",
            Edit("F.layer_norm(x, gain.shape, gain)", "F.rms_norm(x, gain.shape, gain, eps=1e-5)", of=_norm),
            "Your norm does not take the mean off. That is RMSNorm; LayerNorm is asked for.",
        ),
        Mistake(
            "unbiased-variance",
            Edit(
                "F.layer_norm(x, gain.shape, gain)",
                "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * gain",
                of=_norm,
            ),
            "Your variance divides by one less than the number of features. LayerNorm divides by their number.",
        ),
        Mistake(
            "epsilon-outside-the-root",
            Edit(
                "F.layer_norm(x, gain.shape, gain)",
                "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0).sqrt() + 1e-5) * gain",
                of=_norm,
            ),
            "Your epsilon is added to the standard deviation. It is added to the variance, below the root.",
        ),
        Mistake(
            "keys-first",
            Edit("query, key, value = (y", "key, query, value = (y"),
            "Your queries are the second part of the product. The parts are queries, keys, values.",
        ),
        Mistake(
            "interleaved-parts",
            (
                Edit(
                    "(_norm(x, gain_1) @ w_qkv).chunk(3, dim=-1)",
                    "(_norm(x, gain_1) @ w_qkv).unflatten(-1, (n_heads, -1)).chunk(3, dim=-1)",
                ),
                Edit("y.unflatten(-1, (n_heads, -1)).transpose(1, 2) for", "y.transpose(1, 2) for"),
            ),
            "You split into heads first and into queries, keys and values within each head. The three parts come "
            "first: all queries, all keys, all values.",
        ),
        Mistake(
            "split-by-view",
            Edit("y.unflatten(-1, (n_heads, -1)).transpose(1, 2)", "y.reshape(len(y), n_heads, y.shape[1], -1)"),
            "You split into heads with a new shape alone, so each head holds whole positions instead of a part of "
            "each. Make the axis of the heads after the positions, then swap the two.",
        ),
        Mistake(
            "merge-by-view",
            Edit("heads.transpose(1, 2).flatten(2)", "heads.reshape(x.shape)"),
            "You merged the heads without swapping the positions back in front of them.",
        ),
        Mistake(
            "no-scale",
            Edit("is_causal=True", "is_causal=True, scale=1.0"),
            "The scores are not divided by the root of the width of a head.",
        ),
        Mistake(
            "scale-of-all-heads",
            Edit("is_causal=True", "is_causal=True, scale=x.shape[-1] ** -0.5"),
            "You scaled by the width of the model. The scores of a head are sums over the width of one head.",
        ),
        Mistake(
            "relu",
            Edit("F.gelu(_norm(x, gain_2) @ w_up)", "F.relu(_norm(x, gain_2) @ w_up)"),
            "Your feed-forward branch has a ReLU. GELU is asked for.",
        ),
        Mistake(
            "tanh-gelu",
            Edit("@ w_up) @", "@ w_up, approximate='tanh') @"),
            "You use the approximation of GELU by tanh, as GPT-2 does. The exact one is asked for.",
        ),
        Mistake(
            "output-not-projected",
            Edit(".flatten(2) @ w_o", ".flatten(2)"),
            "The merged heads are added without the product with `w_o`.",
        ),
    ),
)
