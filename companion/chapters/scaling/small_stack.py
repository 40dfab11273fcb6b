"""The names among which the functions of the page on many processors run: a small model, its batch, torch's engine."""

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from companion.feedforward import FeedForward
from companion.parallel import Traffic
from companion.seeding import seeded
from companion.training import rank, world_size

__all__ = [
    "Block",
    "ColwiseParallel",
    "DistributedDataParallel",
    "PipelineStage",
    "RowwiseParallel",
    "ScheduleGPipe",
    "Traffic",
    "batch",
    "dist",
    "fully_shard",
    "init_device_mesh",
    "mse",
    "nn",
    "parallelize_module",
    "rank",
    "stack",
    "torch",
    "world_size",
]

WIDTH, HIDDEN, LAYERS, ROWS = 16, 64, 4, 8
mse = nn.functional.mse_loss


class Block(FeedForward):
    """A feed-forward network with a residual connection."""

    def forward(self, x: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows d_model"]:
        """Add what the network makes of x."""
        return x + super().forward(x)


def stack() -> nn.Sequential:
    """Make four blocks of width 16 in float64, the same each time.

    Returns:
        A model of 8,512 parameters.
    """
    with seeded(0):
        return nn.Sequential(*[Block(WIDTH, HIDDEN, activation="gelu") for _ in range(LAYERS)]).double()


def batch() -> tuple[Float[Tensor, "8 16"], Float[Tensor, "8 16"]]:
    """Draw eight rows and their targets, the same each time.

    Returns:
        Both.
    """
    x, y = torch.randn(2, ROWS, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return x, y
