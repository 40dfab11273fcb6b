"""A small DETR: digits on a canvas are found by object queries, whose loss is that of the best matching.

Carion et al. (2020), section 3. Three things are smaller: patches take the place of
a convolutional backbone, positions are added at the input only, and all digits have one size, so that a centre stands
for a box.
"""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.matching import assign
from companion.seeding import seeded
from companion.tasks import digits
from companion.tasks.digit import SIDE
from companion.vision import patchify

GRID, MOST, QUERIES = 3, 3, 6
"""Cells along a side of a canvas, the most digits on it, and the number of object queries."""
CANVAS = GRID * SIDE
NONE = 10
"""The class of a query that has found nothing."""
WIDTH, NEAR = 64, 2
"""Of the model; and how many pixels a centre may be off."""
STEPS, BATCH, RATE, PLACE = 400, 64, 2e-3, 5.0
"""Of the training; the last is the weight of the distance, in the cost and in the loss."""
TRAIN = 1000
"""The first digits are those of training, the others are for tests."""
WAYS = ("matched", "top to bottom", "as drawn")
"""How objects get their queries."""

Canvases = tuple[Float[Tensor, "count 1 canvas canvas"], Int[Tensor, "count objects"], Float[Tensor, "count objects 2"]]


def canvases(count: int, generator: torch.Generator, *, train: bool = True) -> Canvases:
    """Draw canvases with one, two or three digits, each in a cell of its own.

    Args:
        count: of canvases.
        generator: draws digits and cells.
        train: whether the digits are those of training.

    Returns:
        Images ``(count, 1, 24, 24)`` with numbers from 0 to 1; classes ``(count, 3)``, ``NONE`` where there is no
        further digit; and centres ``(count, 3, 2)``, down and across, as shares of the canvas.
    """
    images, labels = digits()
    images, labels = (x[:TRAIN] if train else x[TRAIN:] for x in (images, labels))
    cells = torch.rand(count, GRID**2, generator=generator).argsort(1)[:, :MOST]
    corners = SIDE * torch.stack([cells // GRID, cells % GRID], -1)
    which = torch.randint(len(images), (count, MOST), generator=generator)
    there = torch.arange(MOST) < torch.randint(1, MOST + 1, (count, 1), generator=generator)
    canvas, pixels = torch.zeros(count, CANVAS, CANVAS), torch.arange(SIDE)
    for k in range(MOST):
        down, across = corners[:, k, 0, None, None] + pixels[:, None], corners[:, k, 1, None, None] + pixels
        drawn = images[which[:, k]] * there[:, k, None, None] / 4
        canvas[torch.arange(count)[:, None, None], down, across] += drawn
    return canvas[:, None], labels[which].where(there, NONE), (corners + SIDE / 2) / CANVAS


class Detr(nn.Module):
    """Patches, one layer of an encoder, two of a decoder whose inputs are object queries, and two heads.

    Args:
        seed: of the parameters.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        d, choices = WIDTH, {"dim_feedforward": 2 * WIDTH, "dropout": 0.0, "batch_first": True}
        with seeded(seed):
            self.embed = nn.Linear(SIDE**2, d)
            self.position = nn.Parameter(0.1 * torch.randn(GRID**2, d))
            self.encoder = nn.TransformerEncoderLayer(d, 4, **choices)
            self.queries = nn.Parameter(torch.randn(QUERIES, d))
            self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d, 4, **choices) for _ in range(2))
            self.kind, self.place = nn.Linear(d, NONE + 1), nn.Linear(d, 2)

    def forward(
        self, images: Float[Tensor, "batch 1 canvas canvas"]
    ) -> tuple[Float[Tensor, "batch queries classes"], Float[Tensor, "batch queries 2"]]:
        """Let each query say what it has found, and where.

        Args:
            images: ``(batch, 1, 24, 24)``.

        Returns:
            Logits ``(batch, 6, 11)``, the last for no object, and centres ``(batch, 6, 2)``.
        """
        memory = self.encoder(self.embed(patchify(images, SIDE)) + self.position)
        x = self.queries.expand(len(images), -1, -1)
        for layer in self.decoder:
            x = layer(x, memory)
        return self.kind(x), self.place(x).sigmoid()


def chosen_queries(
    logits: Float[Tensor, "batch queries classes"],
    centres: Float[Tensor, "batch queries 2"],
    kinds: Int[Tensor, "batch objects"],
    places: Float[Tensor, "batch objects 2"],
    way: str = "matched",
) -> Int[Tensor, "batch objects"]:
    """Give each object a query.

    Args:
        logits: of the queries' classes.
        centres: that the queries predict.
        kinds: the objects' classes; those of ``NONE`` come last.
        places: the objects' centres.
        way: by the best matching; or the first query to the first object, from top to bottom or as they were drawn.

    Returns:
        ``(batch, objects)``; of no meaning where there is no object.

    Raises:
        ValueError: there is no such way.
    """
    if way not in WAYS:
        raise ValueError(f"way is one of {', '.join(WAYS)}: got {way!r}. Choose one.")
    if way == "as drawn":
        return torch.arange(kinds.shape[1]).expand_as(kinds)
    if way == "top to bottom":
        return (places[..., 0] + places[..., 1] / 1000 + 9 * (kinds == NONE)).argsort(1).argsort(1)
    chances = logits.detach().softmax(-1)[:, None].expand(-1, kinds.shape[1], -1, -1)
    index = kinds[:, :, None, None].expand(-1, -1, chances.shape[2], 1)
    cost = PLACE * torch.cdist(places, centres.detach(), p=1) - chances.gather(-1, index)[..., 0]
    found = torch.zeros_like(kinds)
    for row, (table, count) in enumerate(zip(cost, (kinds != NONE).sum(1).tolist(), strict=True)):
        found[row, :count] = assign(table[:count])
    return found


def set_loss(
    logits: Float[Tensor, "batch queries classes"],
    centres: Float[Tensor, "batch queries 2"],
    kinds: Int[Tensor, "batch objects"],
    places: Float[Tensor, "batch objects 2"],
    way: str = "matched",
    none: float = 1.0,
) -> Float[Tensor, ""]:
    """Compare what the queries say with the objects that they were given; all others must say that there is none.

    Args:
        logits: of the queries' classes.
        centres: that the queries predict.
        kinds: the objects' classes; those of ``NONE`` come last.
        places: the objects' centres.
        way: how objects get their queries, as for :func:`chosen_queries`.
        none: weight of the queries that have no object.

    Returns:
        The loss.
    """
    query, there = chosen_queries(logits, centres, kinds, places, way), kinds != NONE
    row = torch.arange(len(kinds))[:, None].expand_as(kinds)[there]
    targets = torch.full(logits.shape[:2], NONE)
    targets[row, query[there]] = kinds[there]
    weights = torch.ones(NONE + 1)
    weights[NONE] = none
    off = (centres[row, query[there]] - places[there]).abs().sum(-1)
    return F.cross_entropy(logits.mT, targets, weights) + PLACE * off.mean()


@cache
@torch.enable_grad()
def trained(seed: int, way: str = "matched", none: float = 1.0, steps: int = STEPS) -> Detr:
    """Train on canvases that are drawn anew in each step.

    Args:
        seed: of the parameters and the canvases.
        way: how objects get their queries.
        none: weight of the queries that have no object.
        steps: of AdamW.

    Returns:
        The model.
    """
    model, generator = Detr(seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, max(steps, 2), pct_start=0.1)
    for _ in range(steps):
        images, kinds, places = canvases(BATCH, generator)
        loss = set_loss(*model(images), kinds, places, way, none)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def judge(
    logits: Float[Tensor, "batch queries classes"],
    centres: Float[Tensor, "batch queries 2"],
    kinds: Int[Tensor, "batch objects"],
    places: Float[Tensor, "batch objects 2"],
) -> dict[str, float]:
    """Count what was found, and what was said too much.

    Args:
        logits: of the queries' classes.
        centres: that the queries predict.
        kinds: the objects' classes.
        places: the objects' centres.

    Returns:
        Of all objects, the percentage for which some query has the class, and a centre within two pixels; the number
        of predictions a canvas that are no object found, or one found again; and the percentage of canvases where all
        is right.
    """
    said, there = logits.argmax(-1), kinds != NONE
    near = (centres[:, None] - places[:, :, None]).abs().amax(-1) * CANVAS <= NEAR
    found = (near & (said[:, None] == kinds[:, :, None])).any(-1) & there
    extra = (said != NONE).sum(1) - found.sum(1)
    right = (found == there).all(1) & (extra == 0)
    return {
        "found": 100 * found.sum().item() / there.sum().item(),
        "extra": extra.double().mean().item(),
        "right": 100 * right.double().mean().item(),
    }
