"""What the chapter's pages read from measurements/add-norm: how soon stacks learn, by the place of their norms."""

import math
from itertools import product

import torch
import torch.nn.functional as F
from torch import nn

from companion.config import ModelConfig
from companion.measure import Experiment
from companion.transformer import EncoderOnly

SYMBOLS, LENGTH, BATCH = 5, 4, 16
LEARNED, WINDOW, WARM = 0.05, 20, 300
STEPS = {6: 8000, 12: 2500}
"""The most steps of a run, by the number of layers."""
PLACEMENTS = ("pre", "post", "none")
CAP = 1000
"""The most steps of a run from smaller weights: pre-norm needs fewer than half of that from the usual ones."""
SCHEDULES = ((5e-3, False), (5e-3, True), (1e-3, False))
"""Peak of the learning rate, and whether it rises over the first 300 steps."""


def untrained(placement: str, n_layers: int, seed: int) -> EncoderOnly:
    """Draw an encoder of width 32 with two heads.

    Args:
        placement: of the norms, ``"pre"`` or ``"post"``; ``"none"`` keeps the last norm of ``"pre"`` only.
        n_layers: number of layers.
        seed: of the initial parameters.

    Returns:
        The model, in training mode.

    Raises:
        ValueError: there is no such placement.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"the placement is one of {', '.join(PLACEMENTS)}: got {placement!r}. Use one of these.")
    sizes = {"vocab": SYMBOLS, "d_model": 32, "n_layers": n_layers, "n_heads": 2, "d_ff": 64}
    name = "post" if placement == "post" else "pre"
    model = EncoderOnly(ModelConfig(**sizes, dropout=0.0, norm_placement=name, tied=False), seed=seed).train()
    if placement == "none":
        for layer in model.encoder.layers:
            layer.norm_1 = layer.norm_2 = nn.Identity()
    return model


def scale_matrices(model: EncoderOnly, scale: float) -> None:
    """Multiply the initial matrices of the layers, in place; tables and the last map stay as they are.

    Args:
        model: an encoder as it was drawn.
        scale: of every matrix.
    """
    with torch.no_grad():
        for weight in model.encoder.layers.parameters():
            if weight.ndim == 2:
                weight.mul_(scale)


def rate(step: int, peak: float, warm_up: bool) -> float:
    """Return the learning rate: it falls with the root of the step from step 300 on.

    Args:
        step: from 1.
        peak: the largest rate.
        warm_up: whether the rate rises linearly to its peak at step 300, instead of starting there.

    Returns:
        The rate.
    """
    return peak * min(step / WARM if warm_up else 1.0, math.sqrt(WARM / step))


def steps_to_learn(seed: int, placement: str, layers: int, peak: float, warm_up: bool, scale: float = 1.0) -> float:
    """Train an encoder to reverse four symbols out of five, until it does, with Adam.

    Args:
        seed: of the initial parameters and of the sequences.
        placement: of the norms, as in ``untrained``.
        layers: number of layers.
        peak: the largest learning rate.
        warm_up: as in ``rate``.
        scale: of the initial matrices.

    Returns:
        The first step at which the mean of the last 20 losses is below 0.05; ``STEPS[layers]``, or ``CAP`` from
        smaller weights, where there is none, or where the run diverges.
    """
    model, losses, most = untrained(placement, layers, seed), [], STEPS[layers] if scale == 1 else CAP
    scale_matrices(model, scale)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, most + 1):
        adam.param_groups[0]["lr"] = rate(step, peak, warm_up)
        x = torch.randint(SYMBOLS, (BATCH, LENGTH), generator=generator)
        try:
            logits = model.logits(model(x))
        except ValueError:  # the attention refuses NaN: without norms a run can diverge
            return float(most)
        loss = F.cross_entropy(logits.mT, x.flip(1))
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
        if step >= WINDOW and sum(losses[-WINDOW:]) < WINDOW * LEARNED:
            break
    return float(step)


EXPERIMENTS = [
    Experiment(
        "steps to learn",
        "steps",
        steps_to_learn,
        {"placement": placement, "layers": layers, "peak": peak, "warm_up": warm_up},
        "median",
    )
    for layers, placement, (peak, warm_up) in product(STEPS, PLACEMENTS, SCHEDULES)
    if placement != "none" or not warm_up
] + [
    Experiment(
        "steps to learn from smaller weights",
        "steps",
        steps_to_learn,
        {"placement": placement, "layers": layers, "peak": peak, "warm_up": False, "scale": 0.5},
        "median",
    )
    for placement, layers, peak in product(("pre", "none"), STEPS, (5e-3, 1e-3))
]
