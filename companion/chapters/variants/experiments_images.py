"""A ViT beside a convolutional network by the number of examples, and what becomes of DETR without its matching."""

from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from companion.chapters.variants.detection import WAYS, canvases, judge, trained
from companion.measure import Experiment
from companion.seeding import seeded
from companion.tasks import digits
from companion.vision import VisionTransformer

TEST, UPDATES, BATCH = 797, 500, 32
"""Digits that no network is trained on; steps of the training, and examples in each."""
SIZES = (50, 200, 1000)
"""Training examples."""
RATES = {"ViT": 1e-2, "ViT, no positions": 3e-3, "CNN": 1e-2}
"""Of each network, for all sizes: chosen from 0.001, 0.003 and 0.01 with other seeds."""
RUNS = [
    *((way, 1.0, 400) for way in WAYS),
    *((way, 1.0, 800) for way in WAYS[:2]),
    *(("matched", none, 400) for none in (0.1, 0.0)),
]
"""How objects get their queries, the weight of the queries without one, and the steps."""
MARKS = {"right": "%", "found": "%", "extra": "predictions a canvas"}
"""What is counted, and its unit."""


def network(kind: str, seed: int) -> nn.Module:
    """Make an untrained network that names digits.

    Args:
        kind: one of ``RATES``.
        seed: of the parameters.

    Returns:
        From images ``(batch, 1, 8, 8)`` to logits.
    """
    if kind.startswith("ViT"):
        model = VisionTransformer(8, 2, 1, d_model=32, n_heads=4, d_ff=64, n_layers=2, classes=10, seed=seed)
        if kind == "ViT, no positions":
            model.position.requires_grad_(False).zero_()
        return model
    with seeded(seed):
        first, second = nn.Conv2d(1, 24, 3, padding=1), nn.Conv2d(24, 48, 3, padding=1)
        return nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.Flatten(), nn.Linear(768, 10))


@torch.enable_grad()
def named(seed: int, kind: str, size: int, rate: float | None = None) -> float:
    """Train a network on a number of digits, and let it name others.

    Args:
        seed: of the parameters, the split and the batches.
        kind: one of ``RATES``.
        size: training examples.
        rate: the largest of the schedule; ``None`` takes that of ``RATES``.

    Returns:
        Percent of 797 other digits named rightly.
    """
    rate = RATES[kind] if rate is None else rate
    model, generator = network(kind, seed), torch.Generator().manual_seed(seed)
    images, labels = digits()
    images, order = images[:, None] / 4, torch.randperm(len(labels), generator=generator)
    held, own = order[:TEST], order[TEST : TEST + size]
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, UPDATES, pct_start=0.1)
    for _ in range(UPDATES):
        batch = own[torch.randint(size, (BATCH,), generator=generator)]
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return 100 * (model(images[held]).argmax(-1) == labels[held]).float().mean().item()


@cache
@torch.no_grad()
def judged(seed: int, way: str, none: float, steps: int) -> dict[str, float]:
    """Train a small DETR, and judge it on 2,000 canvases with other digits.

    Args:
        seed: of the training.
        way: how objects get their queries.
        none: weight of the queries that have no object.
        steps: of the training.

    Returns:
        What :func:`judge` counts.
    """
    images, kinds, places = canvases(2000, torch.Generator().manual_seed(99), train=False)
    return judge(*trained(seed, way, none, steps)(images), kinds, places)


def mark(seed: int, way: str, none: float, steps: int, what: str) -> float:
    """Read what was counted of a small DETR.

    Args:
        seed: of the training.
        way: how objects get their queries.
        none: weight of the queries that have no object.
        steps: of the training.
        what: one of ``MARKS``.

    Returns:
        A percentage, or predictions a canvas.
    """
    return judged(seed, way, none, steps)[what]


IMAGES = [
    *(
        Experiment("digits named", "%", named, {"kind": kind, "size": size}, "median")
        for kind in RATES
        for size in SIZES
    ),
    *(
        Experiment(f"objects, {what}", unit, mark, {"way": way, "none": none, "steps": steps, "what": what}, "median")
        for what, unit in MARKS.items()
        for way, none, steps in RUNS
    ),
]
"""The plan: digits named by number of examples, and objects found by the way in which they get their queries."""
