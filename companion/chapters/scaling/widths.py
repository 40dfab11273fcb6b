"""A coordinate check of small GPTs: how far a few steps of Adam move them, by width."""

from typing import Any

import torch
import torch.nn.functional as F

from companion.chapters.scaling.laws import CONTEXT, SYMBOLS
from companion.chapters.scaling.stability import batch
from companion.config import ModelConfig
from companion.transformer import DecoderOnly

BASE, RATE, STEPS = 32, 0.01, 3
"""The width at which both parametrisations are the same; Adam's rate there; and the steps of the check."""


def wide_model(width: int) -> DecoderOnly:
    """Make a small GPT with two layers, heads of width 8 and an output matrix of its own.

    Args:
        width: of the vector of a token, a multiple of 8.

    Returns:
        In training mode; there is no dropout.
    """
    sizes = {"d_model": width, "n_layers": 2, "n_heads": width // 8, "d_ff": 4 * width, "max_len": CONTEXT}
    kinds = {"position": "rope", "activation": "gelu-tanh", "norm_placement": "pre", "scale_embedding": False}
    config = ModelConfig(vocab=SYMBOLS, dropout=0.0, tied=False, **sizes, **kinds)
    return DecoderOnly(config, seed=0)


def standard(model: DecoderOnly, width: int) -> list[dict[str, Any]]:
    """Give all parameters of a model the same rate.

    Args:
        model: of :func:`wide_model`.
        width: of the model; it changes nothing here.

    Returns:
        The groups for ``torch.optim.Adam``.
    """
    return [{"params": list(model.parameters()), "lr": RATE}]


def mup(model: DecoderOnly, width: int) -> list[dict[str, Any]]:
    """Scale initial values and rates by the rules of maximal update parametrisation, Yang et al. (2022), Table 3.

    Args:
        model: of :func:`wide_model`; its table of characters and its output matrix are scaled in place.
        width: of the model.

    Returns:
        The groups for ``torch.optim.Adam``.
    """
    thin = BASE / width
    with torch.no_grad():
        model.embedding.token.weight *= thin**-0.5
        model.output.weight *= thin**0.5
    layers = [p for p in model.decoder.layers.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    return [
        {"params": [*layers, model.output.weight], "lr": RATE * thin},
        {"params": [*vectors, model.embedding.token.weight], "lr": RATE},
    ]


def moves(model: DecoderOnly, groups: list[dict[str, Any]]) -> tuple[float, float]:
    """Take three steps of Adam on one batch, and measure how far they moved the model.

    Args:
        model: changed in place.
        groups: its parameters with their rates.

    Returns:
        The root mean square of the change of the residual stream after the last layer, and of the logits.
    """
    rows, adam = batch(torch.Generator().manual_seed(0)), torch.optim.Adam(groups)
    streams, outputs = [], []
    model.decoder.final_norm.register_forward_pre_hook(lambda _, inputs: streams.append(inputs[0].detach()))
    for _ in range(STEPS + 1):
        logits = model(rows[:, :-1])
        outputs.append(logits.detach())
        adam.zero_grad()
        F.cross_entropy(logits.mT, rows[:, 1:]).backward()
        adam.step()
    return tuple((values[-1] - values[0]).square().mean().sqrt().item() for values in (streams, outputs))
