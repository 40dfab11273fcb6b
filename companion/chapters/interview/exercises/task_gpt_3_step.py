"""Third stage of a small GPT: ``gpt-step``, one update from several micro-batches."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, Optimizer

from companion.chapters.interview.exercises.task_gpt_2_loss import (
    Weights,
    _joined,
    _loss,
    _no_blocks,
    _parameters,
    _stacked,
    _texts,
    _weights,
)
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _step(
    batches: Sequence[Tensor], weights: Weights, n_heads: int, padding: int, optimizer: Optimizer, max_norm: float
) -> float:
    optimizer.zero_grad()
    counts = [(tokens[:, 1:] != padding).sum().item() for tokens in batches]
    total = 0.0
    for tokens, count in zip(batches, counts, strict=True):
        loss = _loss(tokens, weights, n_heads, padding) * count / max(sum(counts), 1)
        loss.backward()
        total += loss.item()
    clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)
    optimizer.step()
    return total


def _step_trial(
    answer: Answer,
    texts: Tensor,
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
    max_norm: float,
) -> tuple[Tensor, ...]:
    """Take a step for each entry of the first axis of ``texts``; compare the losses and the weights in the end."""
    weights = _weights(table, positions, gain, gain_1, w_qkv, w_o, gain_2, w_up, w_down)
    parameters, losses = _parameters(weights), []
    optimizer = SGD([{"params": parameters[:1]}, {"params": parameters[1:]}], lr=0.25, momentum=0.9)
    for batches in texts:
        for x in parameters:
            x.grad = torch.full_like(x, 0.5)
        loss = answer([tokens.clone() for tokens in batches], weights, n_heads, padding, optimizer, max_norm)
        if isinstance(loss, bool) or not isinstance(loss, int | float | Tensor) or torch.as_tensor(loss).numel() != 1:
            raise Refusal(f"Your function returned a {type(loss).__name__}; the loss is one number.")
        losses.append(torch.as_tensor(loss).detach().item())
    return torch.tensor(losses, dtype=table.dtype), *_joined([x.detach() for x in parameters])


def _step_cases() -> list[Case]:
    draw = RandomInputs(173)

    def texts(seed: int, vocab: int, padding: int, t: int, *steps: tuple[tuple[int, ...], ...]) -> Tensor:
        """Draw the texts of all steps from their lengths: a tuple for each step, in it one for each micro-batch."""
        drawn = _texts(seed, vocab, *(n for step in steps for batch in step for n in batch), t=t, padding=padding)
        return drawn.view(len(steps), len(steps[0]), len(steps[0][0]), t)

    large = list(_stacked(draw, 6, 5, 1, 2, 3, F64))
    large[0] = 1e3 * large[0]
    whole, uneven = ((4, 4), (4, 4)), ((4, 4), (2, 1))
    return [
        Case((torch.tensor([[[[0, 0, 1]]]]), *_no_blocks(), 2, 0.0), "the example"),
        Case((texts(1, 5, 4, 3, ((3,),)), *_stacked(draw, 5, 4, 1, 1, 3, F64), 4, math.inf), "one micro-batch"),
        Case((texts(2, 5, 0, 4, whole), *_stacked(draw, 5, 4, 1, 2, 2, F32), 0, math.inf), "equal micro-batches"),
        Case((texts(3, 6, 0, 4, uneven), *_stacked(draw, 6, 4, 1, 2, 2, F64), 0, math.inf), "unequal micro-batches"),
        Case((texts(4, 6, 2, 4, uneven, whole), *_stacked(draw, 6, 4, 2, 2, 2, F64), 2, 0.5), "two steps, clipped"),
        Case((texts(5, 6, 2, 4, whole, uneven), *_stacked(draw, 6, 4, 1, 2, 2, F64), 2, 1e3), "far below the limit"),
        Case(
            (texts(6, 5, 1, 4, ((4,), (1,), (3,))), *_stacked(draw, 5, 4, 1, 2, 2, F64), 1, 1.0), "one without target"
        ),
        Case((texts(7, 5, 3, 3, ((1, 1), (0, 1))), *_stacked(draw, 5, 4, 1, 2, 2, F64), 3, 1.0), "no target at all"),
        Case((torch.tensor([[[[0, 2, 2]]]]), *_no_blocks(), 2, 0.0), "no target, and a limit of 0"),
        Case((torch.tensor([[[[0, 0, 1]]], [[[0, 2, 2]]]]), *_no_blocks(), 2, math.inf), "momentum, then no target"),
        Case((texts(8, 6, 5, 5, ((5, 3), (4, 2))), *large, 5, 1.0), "a large table"),
        Case((texts(9, 6, 5, 5, ((5, 3), (4, 2))), *large, 5, math.inf), "a large table, no limit"),
    ]


STEP = Exercise(
    name="gpt-step",
    title="Write the training step",
    chapter="task-gpt",
    topic="training",
    level=2,
    place=3,
    minutes=10,
    reference=_step,
    cases=_step_cases,
    trial=_step_trial,
    may_change=("weights",),
    tolerance={F64: 1e-6, F32: 1e-5},  # the clipping of torch adds 1e-6 to the norm
    returns=("losses", "table", "positions", "gain", "blocks"),
    tested="losses and weights after one and two steps; unequal and empty micro-batches, clipping, both dtypes",
    hints=(
        "The update should be the one that all micro-batches joined would give. Which number must a micro-batch be "
        "weighted with, if it has three targets of twelve?",
        "Count the targets of all micro-batches before the first backward pass. Each loss is then multiplied by its "
        "own share of them, and the gradients add up by themselves.",
        "The order: clear what is in the gradients, forward and backward for each micro-batch, clip the norm of all "
        "parameters together, and step once.",
    ),
    mistakes=(
        Mistake(
            "old-gradients",
            Edit("    optimizer.zero_grad()\n", ""),
            "Gradients from before the call are still in your update. Clear them first.",
        ),
        Mistake(
            "mean-of-means",
            Edit("* count / max(sum(counts), 1)", "/ len(batches)"),
            "All micro-batches weigh the same in your update. A target is what weighs the same: one with more of them "
            "counts for more.",
        ),
        Mistake(
            "skipped-without-target",
            Edit("        loss = _loss(", "        if not count:\n            continue\n        loss = _loss("),
            "Without any target your parameters have no gradient, and the optimizer leaves them where they are. The "
            "gradient is 0 there, and momentum moves them.",
        ),
        Mistake(
            "summed-means",
            Edit(" * count / max(sum(counts), 1)", ""),
            "You added the means of the micro-batches, so the gradient grows with their number.",
        ),
        Mistake(
            "summed-targets",
            Edit("* count / max(sum(counts), 1)", "* count"),
            "Your loss is the sum over all targets. Their mean is asked for.",
        ),
        Mistake(
            "last-loss",
            Edit("total += loss.item()", "total = loss.item()"),
            "The weights are right, and the loss that you return is that of the last micro-batch alone.",
        ),
        Mistake(
            "unweighted-loss-returned",
            (
                Edit("loss.backward()", "loss.backward()\n        plain = _loss(tokens, weights, n_heads, padding)"),
                Edit("total += loss.item()", "total += plain.item() / len(batches)"),
            ),
            "The weights are right, and the loss that you return is the mean of the means of the micro-batches.",
        ),
        Mistake(
            "a-step-each",
            (
                Edit("        total += loss.item()\n", "        total += loss.item()\n        optimizer.step()\n"),
                Edit("max_norm)\n    optimizer.step()", "max_norm)"),
            ),
            "You step after every micro-batch. They make one update together.",
        ),
        Mistake(
            "cleared-each",
            Edit("        loss.backward()", "        optimizer.zero_grad()\n        loss.backward()"),
            "You clear the gradients before every micro-batch, so the last one alone is left.",
        ),
        Mistake(
            "clipped-each",
            Edit(
                "        total += loss.item()\n",
                "        total += loss.item()\n"
                '        clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)\n',
            ),
            "You clip after every micro-batch. The limit is for the gradient of the whole step.",
        ),
        Mistake(
            "not-clipped",
            Edit(
                '    clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)\n', ""
            ),
            "The norm of your gradient is not limited when you step.",
        ),
        Mistake(
            "each-tensor-clipped",
            Edit(
                'clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)',
                '[clip_grad_norm_(x, max_norm) for group in optimizer.param_groups for x in group["params"]]',
            ),
            "You clip the norm of each tensor. The limit is for the norm of all of them together.",
        ),
        Mistake(
            "groups-clipped-apart",
            Edit(
                'clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)',
                '[clip_grad_norm_(group["params"], max_norm) for group in optimizer.param_groups]',
            ),
            "You clip each group of the optimizer by itself. The limit is for the norm of all parameters together.",
        ),
        Mistake(
            "blocks-not-clipped",
            Edit(
                '[x for group in optimizer.param_groups for x in group["params"]]',
                '[weights["table"], weights["positions"], weights["gain"]]',
            ),
            "The weights of the blocks are missing where you clip: neither their norm counts nor are they limited.",
        ),
        Mistake(
            "always-scaled",
            Edit(
                '    clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)\n',
                '    parameters = [x for group in optimizer.param_groups for x in group["params"]]\n'
                "    norm = clip_grad_norm_(parameters, max_norm)\n"
                "    if 0 < norm < max_norm < math.inf:\n"
                "        [x.grad.mul_(max_norm / norm) for x in parameters]\n",
            ),
            "You scale the gradient up to the limit where its norm is below. Clipping only makes it smaller.",
        ),
        Mistake(
            "entries-clipped",
            Edit("clip_grad_norm_(", "torch.nn.utils.clip_grad_value_("),
            "You limit each entry of the gradient, which changes its direction. Its norm is limited.",
        ),
    ),
)
