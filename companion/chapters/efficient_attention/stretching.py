"""Small rotary models on sequences four times as long as those of their training, with other frequencies."""

from copy import deepcopy
from functools import cache, partial
from itertools import product

import torch
import torch.nn.functional as F

from companion.config import ModelConfig
from companion.measure import Experiment
from companion.positional import (
    RotaryPosition,
    interpolated_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    yarn_frequencies,
    yarn_scale,
)
from companion.transformer import DecoderOnly

SYMBOLS, BACK, TRAINED, NEW = 8, 3, 32, 128
METHODS = ("unchanged", "interpolated", "NTK-aware", "YaRN", "YaRN by turns")
"""The last two differ in the ramp: in the number of the pair, as programs have it, or in turns, as in the paper."""
TUNED = (0, 20, 1000)
"""Steps of training at the new length, with the new frequencies."""
STRETCHES = {"16–31": (16, 32), "32–63": (32, 64), "64–127": (64, 128)}
"""Positions whose results are averaged: the first stretch lies in the trained length, the others lie beyond it."""


yarn_by_turns = partial(llama3_frequencies, fast=32)
"""YaRN with the ramp of the paper; :func:`companion.positional.yarn_frequencies` has that of the released code."""


def stretched_position(method: str, d_k: int, factor: float | int, trained: int) -> RotaryPosition:
    """Make rotary positions for longer sequences.

    Args:
        method: one of ``METHODS``.
        d_k: width of a head.
        factor: the new length over the trained one.
        trained: the trained length.

    Returns:
        The positions of one layer.
    """
    if method == "interpolated":
        return RotaryPosition(d_k, frequencies=interpolated_frequencies(d_k, factor))
    if method == "NTK-aware":
        return RotaryPosition(d_k, frequencies=ntk_frequencies(d_k, factor))
    if method.startswith("YaRN"):
        ramp = yarn_by_turns if method == "YaRN by turns" else yarn_frequencies
        return RotaryPosition(d_k, frequencies=ramp(d_k, factor, trained), scale=yarn_scale(factor))
    return RotaryPosition(d_k)


def fit(model: DecoderOnly, steps: int, batch: int, t: int, rate: float, seed: int) -> None:
    """Train a model to say which symbol stood three positions before.

    Args:
        model: changed in place, and left in evaluation mode.
        steps: of Adam, whose learning rate rises for a fifth of them and falls.
        batch: number of sequences in a step.
        t: their length.
        rate: the largest learning rate.
        seed: of the sequences.
    """
    model.train()
    generator, adam = torch.Generator().manual_seed(seed), torch.optim.Adam(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, rate, max(steps, 1), pct_start=0.2)
    for _ in range(steps):
        x = torch.randint(SYMBOLS, (batch, t), generator=generator)
        loss = F.cross_entropy(model(x)[:, BACK:].mT, x[:, :-BACK])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    model.eval()


@cache
def trained_model(seed: int, steps: int = 3000) -> DecoderOnly:
    """Train a decoder of two layers, width 32 and four heads on sequences of 32 symbols.

    Args:
        seed: of the initial parameters and of the sequences.
        steps: of the training, 16 sequences each.

    Returns:
        The model: copy it before you change it.
    """
    sizes = {"vocab": SYMBOLS, "d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 64}
    config = ModelConfig(**sizes, dropout=0.0, max_len=NEW, norm_placement="pre", position="rope", tied=False)
    model = DecoderOnly(config, seed=seed)
    fit(model, steps, batch=16, t=TRAINED, rate=1e-2, seed=seed)
    return model


@cache
def right(seed: int, method: str, tuned: int, steps: int = 3000) -> dict[str, float]:
    """Stretch a trained model, train it a little at the new length, and test it on 96 sequences of 128 symbols.

    Args:
        seed: of the training.
        method: one of ``METHODS``.
        tuned: steps at the new length, four sequences each.
        steps: of the training before.

    Returns:
        The share of right answers, for each of ``STRETCHES``.
    """
    model = deepcopy(trained_model(seed, steps))
    for layer in model.decoder.layers:
        attention = layer.self_attention
        attention.position = stretched_position(method, attention.position.d_k, NEW / TRAINED, TRAINED)
    fit(model, tuned, batch=4, t=NEW, rate=1e-3, seed=seed + 100)
    x = torch.randint(SYMBOLS, (96, NEW), generator=torch.Generator().manual_seed(99))
    with torch.no_grad():
        hits = (model(x)[:, BACK:].argmax(-1) == x[:, :-BACK]).double().mean(0)
    return {name: hits[first - BACK : end - BACK].mean().item() for name, (first, end) in STRETCHES.items()}


def share_right(seed: int, method: str, tuned: int, positions: str) -> float:
    """Test a stretched model at some positions.

    Args:
        seed: of the training.
        method: one of ``METHODS``.
        tuned: steps at the new length.
        positions: one of ``STRETCHES``.

    Returns:
        The share of right answers.
    """
    return right(seed, method, tuned)[positions]


STRETCHING = [
    Experiment(
        "stretched, share right",
        "share",
        share_right,
        {"method": method, "tuned": tuned, "positions": positions},
        "median",
    )
    for method, tuned, positions in product(METHODS, TUNED, STRETCHES)
]
"""The plan: each method, with and without steps at the new length."""
