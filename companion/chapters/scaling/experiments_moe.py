"""Mixtures of experts trained on maps that differ by group, with and without a balance."""

import math
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.experts import MixtureOfExperts, balance_loss, balanced_bias, shares
from companion.feedforward import SwiGLU
from companion.measure import Experiment
from companion.seeding import seeded

GROUPS, WIDTH, HIDDEN, EXPERTS = 8, 16, 32, 8
WAYS = {
    "dense": {},
    "no balance": {},
    "balance loss, 0.01": {"weight": 0.01},
    "balance loss, 0.1": {"weight": 0.1},
    "bias, 0.001": {"rate": 0.001},
}
"""One network of the size of an expert; experts with the balance loss times a weight, or with a bias and its rate."""


def task(seed: int) -> tuple[Float[Tensor, "groups d_model"], Float[Tensor, "groups d_model d_model"]]:
    """Draw the groups of tokens.

    Args:
        seed: of the drawing.

    Returns:
        The centre of each group, and the matrix by which its tokens are multiplied.
    """
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(GROUPS, WIDTH, generator=generator)
    maps = torch.randn(GROUPS, WIDTH, WIDTH, generator=generator) / math.sqrt(WIDTH)
    return centres, maps


def batch(
    centres: Float[Tensor, "groups d_model"],
    maps: Float[Tensor, "groups d_model d_model"],
    size: int,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "size d_model"], Float[Tensor, "size d_model"], Int[Tensor, " size"]]:
    """Draw tokens around the centres, and what the map of their group makes of them.

    Args:
        centres: of the groups.
        maps: of the groups.
        size: number of tokens.
        generator: of the draws.

    Returns:
        Tokens, targets, and the group of each token.
    """
    group = torch.randint(len(centres), (size,), generator=generator)
    x = centres[group] + torch.randn(size, centres.shape[1], generator=generator)
    return x, torch.einsum("td,tde->te", x, maps[group]), group


@cache
def trained(seed: int, way: str, steps: int = 3000) -> dict[str, float]:
    """Train a layer of experts, and test it on 8,192 new tokens.

    Args:
        seed: of task, initial parameters and batches.
        way: one of ``WAYS``.
        steps: of Adam with a learning rate of 0.003, 256 tokens each.

    Returns:
        The mean squared error over the variance of the targets, the number of experts with at least 1% of the choices,
        the largest share, and the share of choices dropped at a capacity of 1.25.
    """
    generator, (centres, maps) = torch.Generator().manual_seed(seed + 1000), task(seed)
    dense, balance = way == "dense", WAYS[way]
    with seeded(seed):
        model = SwiGLU(WIDTH, HIDDEN) if dense else MixtureOfExperts(WIDTH, HIDDEN, EXPERTS, 1, normalised=False)
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y, _ = batch(centres, maps, 256, generator)
        output, routing = (model(x), None) if dense else model(x)
        loss = nn.functional.mse_loss(output, y)
        if "weight" in balance:
            loss = loss + balance["weight"] * balance_loss(routing)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if "rate" in balance:
            model.bias.copy_(balanced_bias(model.bias, routing.chosen, balance["rate"]))
    x, y, _ = batch(centres, maps, 8192, generator)
    with torch.no_grad():
        output, routing = (model(x), None) if dense else model(x)
    found = {"error": (nn.functional.mse_loss(output, y) / y.var()).item()}
    if dense:
        return found
    share = shares(routing.chosen, EXPERTS)
    over = (share - 1.25 / EXPERTS).clamp(min=0).sum()
    return found | {"used": (share >= 0.01).sum().item(), "largest": share.max().item(), "dropped": over.item()}


def measured(seed: int, way: str, quantity: str) -> float:
    """Train a layer of experts, and return one of its results.

    Args:
        seed: of task, initial parameters and batches.
        way: one of ``WAYS``.
        quantity: a key of what :func:`trained` returns.

    Returns:
        The result.
    """
    return trained(seed, way)[quantity]


MIXTURES = [
    Experiment(f"experts, {quantity}", unit, measured, {"way": way, "quantity": quantity}, "median")
    for quantity, unit in {
        "error": "share of the variance",
        "used": "experts",
        "largest": "share",
        "dropped": "share",
    }.items()
    for way in WAYS
    if quantity == "error" or way != "dense"
]
"""How good the layers get, and how many experts stay in use."""
