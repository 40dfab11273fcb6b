"""Data-parallel training with torch's own engine: each process takes its share of every batch, gradients are added.

Without ``torchrun`` all of this is one process and does nothing, so that a script is the same in both cases::

    torchrun --standalone --nproc-per-node=2 script.py

The engine is ``DistributedDataParallel``: Li et al. (2020).

Chapter: book/training.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@contextmanager
def process_group() -> Iterator[torch.device]:
    """Join the processes that ``torchrun`` started, and leave them at the end; alone, do neither.

    The models of all processes begin with the weights of process 0. Dropout draws from torch's generator in each
    process: seed it with another number in each, such as ``seed + rank()``.

    Yields:
        The device of this process: its own GPU where there is CUDA, else the CPU.
    """
    local = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if not dist.is_torchelastic_launched():
        yield device
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device
    finally:
        dist.destroy_process_group()


def rank() -> int:
    """Number of this process, from 0: the one that shows progress and writes files."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """Number of processes that train together; 1 without ``torchrun``.

    >>> rank(), world_size()
    (0, 1)
    """
    return dist.get_world_size() if dist.is_initialized() else 1


def data_parallel(model: nn.Module) -> nn.Module:
    """Wrap a model so that ``backward`` averages the gradients over all processes; alone, return it as it is.

    Only a call of the wrapped model itself does so, not a call of one of its methods.
    """
    return DistributedDataParallel(model) if dist.is_initialized() else model


def all_reduce_sum(*numbers: float | int, device: torch.device | str = "cpu") -> list[float | int]:
    """Add numbers over all processes.

    Args:
        *numbers: those of this process.
        device: where the processes exchange them.

    Returns:
        The sums, the same in every process, in the order given.
    """
    if not dist.is_initialized():
        return list(numbers)
    sums = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(sums)
    return sums.tolist()


def all_gather(value: object) -> list[Any]:
    """Collect one value from each process, in the order of their numbers."""
    if not dist.is_initialized():
        return [value]
    values = [None] * world_size()
    dist.all_gather_object(values, value)
    return values
