"""Checkpoints: files from which a stopped run goes on to the very numbers it would have reached.

A checkpoint holds tensors, numbers, texts, lists and dictionaries, nothing that could run code when it is read.

Made for this book. Chapter: book/training.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from jaxtyping import UInt8
from torch import Tensor


def save_checkpoint(path: Path | str, state: dict[str, Any]) -> None:
    """Write a file whole or not at all: a run that is stopped in between leaves the earlier file as it was.

    Args:
        path: the file, which is replaced.
        state: what ``state_dict()`` of a :class:`companion.training.Trainer` returns, or the like.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/run.pt", {"weight": torch.ones(2), "step": 5})
    ...     load_checkpoint(f"{folder}/run.pt")
    {'weight': tensor([1., 1.]), 'step': 5}
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        part = Path(folder) / path.name
        with part.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())  # on the disk before it takes the place of the earlier one
        part.replace(path)  # in one step, as both are in one file system


def load_checkpoint(path: Path | str) -> dict[str, Any]:
    """Read what :func:`save_checkpoint` wrote, onto the CPU.

    Args:
        path: the file.

    Returns:
        The state.

    Raises:
        ValueError: there is no such file.
    """
    if not Path(path).exists():
        raise ValueError(f"there is no checkpoint {str(path)!r}. Save one first, or start a new run.")
    return torch.load(path, map_location="cpu", weights_only=True)


def random_state() -> dict[str, UInt8[Tensor, " bytes"]]:
    """Return the state of torch's own generators, from which dropout draws: the CPU's, and the GPU's if in use."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def set_random_state(states: dict[str, UInt8[Tensor, " bytes"]]) -> None:
    """Put torch's own generators into a state that :func:`random_state` returned."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])
