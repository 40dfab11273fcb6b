"""Handwritten digits, moved about on a larger canvas, and three small networks that name them.

Chapter: book/theory/inductive-bias.
"""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.encoder import Encoder, EncoderLayer
from companion.measure import Experiment
from companion.seeding import seeded
from companion.tasks.digit import SIDE, digits

CANVAS, TEST = 10, 797
"""Pixels along a side of the canvas; digits that no network is trained on."""
STEPS, BATCH, RATE = 800, 32, 3e-3
SIZES = (100, 1000)
"""Training examples."""
KINDS = ("convolution", "recurrence", "attention", "attention, moved anew")


def move(images: Float[Tensor, "count side side"], generator: torch.Generator) -> Float[Tensor, "count canvas canvas"]:
    """Put each image somewhere on an empty canvas of 10 by 10.

    Args:
        images: ``(count, 8, 8)``.
        generator: draws the places.

    Returns:
        ``(count, 10, 10)``.
    """
    count = len(images)
    down, across = torch.randint(CANVAS - SIDE + 1, (2, count, 1, 1), generator=generator)
    canvas = torch.zeros(count, CANVAS, CANVAS)
    rows, columns = down + torch.arange(SIDE)[:, None], across + torch.arange(SIDE)
    canvas[torch.arange(count)[:, None, None], rows, columns] = images
    return canvas


class Convolution(nn.Module):
    """Two convolutions of 3 by 3, then the largest number of each channel on the canvas."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 24, 3, padding=1), nn.Conv2d(24, 48, 3, padding=1)
        self.output = nn.Linear(48, 10)

    def forward(self, images: Float[Tensor, "batch side side"]) -> Float[Tensor, "batch classes"]:
        """Name the digits: logits ``(batch, 10)``."""
        x = F.max_pool2d(self.first(images[:, None]).relu(), 2)
        return self.output(self.second(x).relu().amax((2, 3)))


class Recurrence(nn.Module):
    """An LSTM that reads the canvas row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.output = nn.LSTM(CANVAS, 48, batch_first=True), nn.Linear(48, 10)

    def forward(self, images: Float[Tensor, "batch side side"]) -> Float[Tensor, "batch classes"]:
        """Name the digits: logits ``(batch, 10)``."""
        return self.output(self.lstm(images)[0][:, -1])


class Attention(nn.Module):
    """Two layers of an encoder on 25 patches of 2 by 2 with learned positions, then the mean: a small ViT."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Linear(4, 28)
        self.positions = nn.Parameter(torch.randn((CANVAS // 2) ** 2, 28))
        layers = [EncoderLayer(28, 4, 56, norm_placement="pre", dropout=0.0) for _ in range(2)]
        self.encoder, self.output = Encoder(layers, nn.LayerNorm(28)), nn.Linear(28, 10)

    def forward(self, images: Float[Tensor, "batch side side"]) -> Float[Tensor, "batch classes"]:
        """Name the digits: logits ``(batch, 10)``."""
        patches = F.unfold(images[:, None], 2, stride=2).mT  # (batch, 25, 4)
        return self.output(self.encoder(self.embedding(patches) + self.positions).mean(1))


NETWORKS = {"convolution": Convolution, "recurrence": Recurrence, "attention": Attention}


def network(kind: str, seed: int) -> nn.Module:
    """Make an untrained network.

    Args:
        kind: one of ``KINDS``.
        seed: of the initial parameters.

    Returns:
        From canvases to logits.
    """
    with seeded(seed):
        return NETWORKS[kind.split(",")[0]]()


@cache
def shares(kind: str, size: int, seed: int) -> tuple[float, float]:
    """Train a network, and count its right answers.

    Args:
        kind: one of ``KINDS``; the last sees each digit at a new place in each step, the others always at one.
        size: training examples.
        seed: of initial parameters, of the split, and of places and batches.

    Returns:
        The shares of right answers on the training examples and on 797 others.
    """
    generator, model = torch.Generator().manual_seed(seed), network(kind, seed)
    images, labels = digits()
    order = torch.randperm(len(images), generator=generator)
    held, own = order[:TEST], order[TEST : TEST + size]
    held_images, own_images = move(images[held], generator), move(images[own], generator)
    adam = torch.optim.Adam(model.parameters(), RATE, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, STEPS, pct_start=0.2)
    for _ in range(STEPS):
        batch = torch.randint(size, (BATCH,), generator=generator)
        seen = move(images[own[batch]], generator) if "anew" in kind else own_images[batch]
        loss = F.cross_entropy(model(seen), labels[own[batch]])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    with torch.no_grad():
        right = [
            (model(x).argmax(-1) == labels[which]).float().mean().item()
            for x, which in ((own_images, own), (held_images, held))
        ]
    return right[0], right[1]


def share_right(seed: int, kind: str, size: int, on: str) -> float:
    """Read a share of right answers.

    Args:
        seed: of the run.
        kind: one of ``KINDS``.
        size: training examples.
        on: ``"training"`` or ``"others"``.

    Returns:
        From 0 to 1.
    """
    return shares(kind, size, seed)[on == "others"]


DIGITS = [
    Experiment("digits, share right", "share", share_right, {"kind": kind, "size": size, "on": on}, "median")
    for kind in KINDS
    for size in SIZES
    for on in ("training", "others")
]
"""The plan: three networks, and one of them with digits moved anew, by the number of examples."""
