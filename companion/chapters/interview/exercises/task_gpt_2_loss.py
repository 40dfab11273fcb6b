"""Second stage of a small GPT: ``gpt-loss``, from tokens to the mean loss of the next token."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.chapters.interview.exercises.task_gpt_1_block import _block, _block_weights, _norm
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal, gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]
Weights = dict[str, Tensor | list[tuple[Tensor, ...]]]


def _logits(tokens: Tensor, weights: Weights, n_heads: int) -> Tensor:
    x = weights["table"][tokens] + weights["positions"][: tokens.shape[1]]
    for block in weights["blocks"]:
        x = _block(x, *block, n_heads)
    return _norm(x, weights["gain"]) @ weights["table"].mT


def _loss(tokens: Tensor, weights: Weights, n_heads: int, padding: int) -> Tensor:
    logits, targets = _logits(tokens[:, :-1], weights, n_heads), tokens[:, 1:]
    each = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    real = targets.flatten() != padding
    return (each * real).sum() / real.sum().clamp(min=1)


def _weights(*stacked: Tensor) -> Weights:
    """Make the weights that an answer gets, each a leaf, from those of a case, where the blocks are stacked."""
    table, positions, gain, *blocks = stacked

    def leaf(x: Tensor) -> Tensor:
        return x.clone().requires_grad_()

    layers = [tuple(map(leaf, block)) for block in zip(*blocks, strict=True)]
    return {"table": leaf(table), "positions": leaf(positions), "blocks": layers, "gain": leaf(gain)}


def _parameters(weights: Weights) -> list[Tensor]:
    return [weights["table"], weights["positions"], weights["gain"], *(x for block in weights["blocks"] for x in block)]


def _joined(parts: list[Tensor]) -> tuple[Tensor, ...]:
    """Give the parts of the table, the positions and the last gain, and those of all blocks as one vector with a 0."""
    table, positions, gain, *blocks = parts
    return table, positions, gain, torch.cat([gain.new_zeros(1), *(x.flatten() for x in blocks)])


def _loss_trial(
    answer: Answer,
    tokens: Tensor,
    table: Tensor,
    positions: Tensor,
    gain: Tensor,
    gain_1: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    gain_2: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    n_heads: int,
    padding: int,
) -> tuple[Tensor, ...]:
    """Compare the loss and the gradients of all weights."""
    weights = _weights(table, positions, gain, gain_1, w_qkv, w_o, gain_2, w_up, w_down)
    loss = tensor(answer(tokens, weights, n_heads, padding))
    if not loss.requires_grad:
        raise Refusal("Your loss does not depend on the weights, so `backward` fails. It does also where it is 0.")
    return loss.detach(), *_joined(list(gradients(loss, _parameters(weights))))


def _stacked(
    draw: RandomInputs, vocab: int, longest: int, n_layers: int, n_heads: int, d_k: int, dtype: torch.dtype
) -> tuple[Tensor | int, ...]:
    """Draw the weights of a model, those of its blocks stacked, and the number of heads."""
    d = n_heads * d_k
    table, positions = draw.normal(vocab, d, dtype=dtype), draw.normal(longest, d, dtype=dtype)
    gain = 1 + 0.3 * draw.normal(d, dtype=dtype)
    layers = [_block_weights(draw, d, 2 * d + 1, dtype) for _ in range(n_layers)]
    empty = [x.new_zeros(0, *x.shape) for x in _block_weights(draw, d, 2 * d + 1, dtype)]
    blocks = [torch.stack(parts) for parts in zip(*layers, strict=True)] if layers else empty
    return table, positions, gain, *blocks, n_heads


def _no_blocks() -> tuple[Tensor | int, ...]:
    """Make the model of the example: three tokens, no block, and probabilities 4/7, 1/7 and 2/7."""
    table = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    gain = torch.full((2,), 0.5).mul(torch.tensor(2.0).log())
    shapes = (0, 2), (0, 2, 6), (0, 2, 2), (0, 2), (0, 2, 5), (0, 5, 2)
    return table, torch.zeros(3, 2), gain, *(torch.zeros(shape) for shape in shapes), 1


def _texts(seed: int, vocab: int, *lengths: int, t: int, padding: int) -> Tensor:
    """Draw texts without the padding token, padded on the right to the length ``t``."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, vocab - 1, (len(lengths), t), generator=generator)
    tokens = tokens + (tokens >= padding)
    return tokens.masked_fill(torch.arange(t) >= torch.tensor(lengths)[:, None], padding)


def _loss_cases() -> list[Case]:
    draw = RandomInputs(172)
    large = list(_stacked(draw, 7, 6, 2, 2, 3, F64))
    large[0] = 1e3 * large[0]
    return [
        Case((torch.tensor([[0, 0, 1]]), *_no_blocks(), 2), "the example"),
        Case((_texts(1, 4, 2, t=2, padding=3), *_stacked(draw, 4, 2, 1, 1, 3, F64), 3), "one target"),
        Case((_texts(2, 5, 4, 4, t=4, padding=0), *_stacked(draw, 5, 4, 1, 1, 4, F32), 0), "no padding"),
        Case((_texts(3, 6, 5, 3, 2, t=5, padding=0), *_stacked(draw, 6, 7, 2, 2, 3, F64), 0), "texts of three lengths"),
        Case((_texts(4, 5, 4, 1, t=4, padding=2), *_stacked(draw, 5, 4, 3, 2, 3, F64), 2), "a text of one token"),
        Case((_texts(5, 5, 1, 0, t=3, padding=4), *_stacked(draw, 5, 4, 1, 2, 2, F64), 4), "no target at all"),
        Case((_texts(6, 7, 6, 4, t=6, padding=6), *_stacked(draw, 7, 9, 0, 2, 3, F64), 6), "no block"),
        Case((_texts(7, 7, 6, 5, t=6, padding=1), *large, 1), "a large table"),
    ]


LOSS = Exercise(
    name="gpt-loss",
    title="Write the model and its loss",
    chapter="task-gpt",
    topic="training",
    level=2,
    place=2,
    minutes=10,
    reference=_loss,
    cases=_loss_cases,
    trial=_loss_trial,
    returns=("loss", "gradient for table", "gradient for positions", "gradient for gain", "gradient for the blocks"),
    tested="loss and gradients; no padding, texts of one token, no target at all, no block, large numbers, both dtypes",
    hints=(
        "What does the model read, and what is it asked for at each position? Write down a text of four tokens and the "
        "two rows below each other.",
        "The model reads all tokens but the last and is asked for all but the first. Table plus positions, the blocks "
        "in order, one norm more, and a product with the table again.",
        "A target that is padding counts neither in the sum nor in the number by which you divide. Ask what your "
        "division does when no target is left.",
    ),
    mistakes=(
        Mistake(
            "not-shifted",
            Edit("tokens[:, 1:]", "tokens[:, :-1]"),
            "Each position is asked for the token that it reads. The target is the next token.",
            also=(Edit("targets.flatten(), reduction", "tokens[:, :-1].flatten(), reduction"),),
        ),
        Mistake(
            "zero-without-gradients",
            Edit("    return (each", "    if not real.any():\n        return each.new_zeros(())\n    return (each"),
            "Without a target you return a new 0, from which no gradient can be taken. Divide an empty sum instead.",
        ),
        Mistake(
            "no-positions",
            Edit(' + weights["positions"][: tokens.shape[1]]', "", of=_logits),
            "Your model does not add the positions.",
        ),
        Mistake(
            "positions-from-one",
            Edit(
                'weights["positions"][: tokens.shape[1]]',
                'weights["positions"].roll(-1, 0)[: tokens.shape[1]]',
                of=_logits,
            ),
            "Your positions are off by one: the first token has position 0.",
        ),
        Mistake(
            "no-last-norm",
            Edit('_norm(x, weights["gain"])', "x", of=_logits),
            "The norm between the last block and the table is missing.",
        ),
        Mistake(
            "blocks-backwards",
            Edit('in weights["blocks"]', 'in weights["blocks"][::-1]', of=_logits),
            "Your blocks run from the last to the first.",
        ),
        Mistake(
            "one-block-for-all",
            Edit("*block, n_heads", '*weights["blocks"][0], n_heads', of=_logits),
            "Every layer uses the weights of the first block.",
        ),
        Mistake(
            "padding-counted",
            Edit("targets.flatten() != padding", "torch.ones_like(targets.flatten(), dtype=torch.bool)"),
            "Targets that are padding count in your loss.",
        ),
        Mistake(
            "mean-of-texts",
            Edit(
                "(each * real).sum() / real.sum().clamp(min=1)",
                "sum(x[y].sum() / y.sum().clamp(min=1) for x, y in zip(each.view_as(targets), real.view_as(targets), "
                "strict=True)) / (targets != padding).any(dim=1).sum().clamp(min=1)",
            ),
            "You took the mean of each text and then the mean of these. Every target weighs the same, so a longer text "
            "counts for more.",
        ),
        Mistake(
            "divided-by-all",
            Edit("real.sum().clamp(min=1)", "real.numel()"),
            "You leave padding out of the sum and still divide by all positions.",
        ),
        Mistake(
            "inputs-decide",
            Edit("real = targets.flatten() != padding", "real = tokens[:, :-1].flatten() != padding"),
            "You leave out the positions at which the model reads padding. What counts is whether its target is "
            "padding: the last token of a text has none.",
        ),
        Mistake(
            "mean-of-means",
            Edit(
                "(each * real).sum() / real.sum().clamp(min=1)",
                "((each * real).view(targets.shape).sum(1) / (targets != padding).sum(1).clamp(min=1)).mean()",
            ),
            "You took the mean of each text and then the mean of the texts, so a token of a short text weighs more. "
            "All targets weigh the same.",
        ),
        Mistake(
            "summed",
            Edit(" / real.sum().clamp(min=1)", ""),
            "Your loss is the sum over the targets. Their mean is asked for.",
        ),
        Mistake(
            "nan-without-targets",
            Edit(".clamp(min=1)", ""),
            "Without a single target your loss is 0 divided by 0. It is 0 then, with gradients of 0.",
        ),
        Mistake(
            "table-not-trained-twice",
            Edit('@ weights["table"].mT', '@ weights["table"].detach().mT', of=_logits),
            "The loss is right, and the gradient of the table lacks the part from the output: the two share one "
            "tensor.",
        ),
    ),
)
