"""Evaluation on held-out data: dropout off, no gradients, the mode of the model put back.

Made for this book. Chapter: book/training.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from companion.training.data import to_device
from companion.training.loss import Loss

Row = Sequence[int | str]
Decode = Callable[[nn.Module, Sequence[Row]], Sequence[Row]]  # (model, sources) -> outputs


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Turn dropout and gradients off for a while, then give every part of the model the mode that it had.

    >>> model = nn.Dropout(0.5)
    >>> with evaluating(model):
    ...     model(torch.ones(3))
    tensor([1., 1., 1.])
    >>> model.training
    True
    """
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def mean_loss(model: nn.Module, batches: Iterable[Any], loss_fn: Callable[[nn.Module, Any], Loss]) -> float:
    """Measure the loss per real token; each token counts the same, whatever batch it is in.

    Args:
        model: is put into evaluation mode meanwhile.
        batches: held-out data, a finite number of batches.
        loss_fn: gives the loss of ``(model, batch)``.

    Returns:
        The mean, in nats.

    Raises:
        ValueError: there is no batch.
    """
    device = next(model.parameters()).device
    with evaluating(model):
        losses = [loss_fn(model, to_device(batch, device)) for batch in batches]
    if not losses:
        raise ValueError("a mean needs at least one batch: got none. An iterator can be used up; give a list.")
    return sum(loss.total.item() for loss in losses) / sum(loss.tokens for loss in losses)


def decoding_accuracy(model: nn.Module, pairs: Sequence[tuple[Row, Row]], decode: Decode, *, size: int = 250) -> float:
    """Measure the share of sources for which the model's output is the target, token for token.

    Args:
        model: is put into evaluation mode meanwhile.
        pairs: sources and targets, as rows of numbers or of words.
        decode: gives the model's outputs for some sources, in the form of the targets.
        size: number of sources that are decoded together.

    Returns:
        A share from 0 to 1.

    Raises:
        ValueError: there are no pairs, or ``decode`` returned another number of outputs than it got sources.
    """
    if not pairs or size < 1:
        raise ValueError(f"there are pairs to decode, at least one at a time: got {len(pairs)} pairs and size={size}.")
    hits = 0
    with evaluating(model):
        for start in range(0, len(pairs), size):
            part = pairs[start : start + size]
            outputs = decode(model, [source for source, _ in part])
            if len(outputs) != len(part):
                raise ValueError(
                    f"decode gives one output for each source: got {len(outputs)} for {len(part)} sources."
                )
            hits += sum(list(output) == list(target) for output, (_, target) in zip(outputs, part, strict=True))
    return hits / len(pairs)
