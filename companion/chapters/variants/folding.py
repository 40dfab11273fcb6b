"""A table of distances with gaps: half of the distances of points in a plane are known, the others are asked for."""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.measure import Experiment
from companion.seeding import seeded
from companion.triangles import TriangleAttention, TriangleMultiplication

POINTS, WIDTH, BLOCKS, STEPS, BATCH = 8, 16, 2, 2000, 32
NO_BIAS = "triangle attention, no bias"
UPDATES = ("each pair alone", "rows and columns", "triangle multiplication", "triangle attention", NO_BIAS)


def gaps(batch: int, generator: torch.Generator) -> tuple[Float[Tensor, "b n n"], Bool[Tensor, "b n n"]]:
    """Draw points in the unit square, and say which of their distances are told.

    Args:
        batch: number of tables.
        generator: what draws.

    Returns:
        The distances, and which of them are known: each pair with probability 1/2, in both orders.
    """
    points = torch.rand(batch, POINTS, 2, generator=generator)
    told = torch.rand(batch, POINTS, POINTS, generator=generator).triu(1) > 0.5
    return torch.cdist(points, points), told | told.mT


class Edges(nn.Module):
    """Attention along the rows, or the columns, of a table of pairs, without a bias from the third edge.

    Args:
        width: of the vectors.
        heads: of the attention.
        rows: whether along the rows.
    """

    def __init__(self, width: int = WIDTH, heads: int = 4, *, rows: bool = True) -> None:
        super().__init__()
        self.rows, self.norm = rows, nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, z: Float[Tensor, "b n n c"]) -> Float[Tensor, "b n n c"]:
        """Return what is added to ``z``."""
        x = self.norm(z if self.rows else z.transpose(1, 2))
        flat = x.flatten(0, 1)
        update = self.attention(flat, flat, flat, need_weights=False)[0].view_as(x)
        return update if self.rows else update.transpose(1, 2)


def biased(*, starting: bool, third: bool) -> TriangleAttention:
    """Make a triangle attention, with or without the bias from the third edge.

    Args:
        starting: around the first node of each edge, not the second.
        third: whether the bias is there; otherwise it is 0 and stays so, and all else is the same.

    Returns:
        The layer.
    """
    layer = TriangleAttention(WIDTH, 4, WIDTH // 4, starting=starting)
    if not third:
        layer.bias.weight.requires_grad_(False).zero_()
    return layer


class Filler(nn.Module):
    """Predict all distances of a table from those that are known.

    Args:
        update: one of ``UPDATES``, applied in both directions before the feed-forward network of each block.
        seed: of the initial parameters.
    """

    def __init__(self, update: str, seed: int) -> None:
        super().__init__()
        make = {
            "each pair alone": lambda first: None,
            "rows and columns": lambda first: Edges(rows=first),
            "triangle multiplication": lambda first: TriangleMultiplication(WIDTH, outgoing=first),
            "triangle attention": lambda first: biased(starting=first, third=True),
            NO_BIAS: lambda first: biased(starting=first, third=False),
        }[update]
        with seeded(seed):
            self.read = nn.Linear(2, WIDTH)
            layers: list[nn.Module] = []
            for _ in range(BLOCKS):
                layers += [layer for first in (True, False) if (layer := make(first)) is not None]
                hidden = nn.Linear(WIDTH, 4 * WIDTH)
                layers.append(nn.Sequential(nn.LayerNorm(WIDTH), hidden, nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH)))
            self.layers = nn.ModuleList(layers)
            self.write = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1))

    def forward(self, distances: Float[Tensor, "b n n"], known: Bool[Tensor, "b n n"]) -> Float[Tensor, "b n n"]:
        """Predict the distances; those that are not known are not read.

        Args:
            distances: between all pairs.
            known: which of them the model may read.

        Returns:
            A symmetric table.
        """
        z = self.read(torch.stack([known.to(distances.dtype), distances * known], dim=-1))
        for layer in self.layers:
            z = z + layer(z)
        predicted = self.write(z)[..., 0]
        return (predicted + predicted.mT) / 2


@cache
def errors(update: str, seed: int, steps: int = STEPS) -> tuple[float, float]:
    """Train a model and test it on 2,000 tables.

    Args:
        update: one of ``UPDATES``.
        seed: of the parameters and the tables.
        steps: of Adam, whose learning rate rises to 0.005 and falls.

    Returns:
        The root of the mean squared error of the distances that were not told, and that of always saying their mean.
    """
    model, generator = Filler(update, seed), torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, 5e-3, max(steps, 1), pct_start=0.1)
    others = ~torch.eye(POINTS, dtype=torch.bool)
    for _ in range(steps):
        distances, known = gaps(BATCH, generator)
        asked = ~known & others
        loss = F.mse_loss(model(distances, known)[asked], distances[asked])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    distances, known = gaps(2000, torch.Generator().manual_seed(99))
    asked = ~known & others
    with torch.no_grad():
        error = F.mse_loss(model(distances, known)[asked], distances[asked]).sqrt()
    return error.item(), distances[asked].std().item()


def error_of(seed: int, update: str) -> float:
    """Test a trained model.

    Args:
        seed: of the training.
        update: one of ``UPDATES``.

    Returns:
        The root of the mean squared error of the distances that were not told.
    """
    return errors(update, seed)[0]


FOLDING = [Experiment("distances filled in", "distance", error_of, {"update": update}, "median") for update in UPDATES]
