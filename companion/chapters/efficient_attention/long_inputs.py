"""What the page on patterns reads from measurements/efficient-attention: time and memory of one head on long inputs."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from companion import masks
from companion.attention import attention
from companion.efficient import block_sparse_attention, window_attention
from companion.efficient.patterns import bigbird, strided
from companion.measure import Experiment, peak_bytes, time_call

BLOCK, WINDOW, WIDTH = 64, 256, 64
"""Positions in a block, positions in the window, and the width of the head."""


def one_head(kind: str, n: int, seed: int) -> Callable[[], Float[Tensor, "n d"]]:
    """Prepare one causal head on random numbers in float32; BigBird is not causal.

    Args:
        kind: ``"formula"``, ``"exact, fused"`` by PyTorch's kernel, ``"window"`` of 256, ``"strided"`` in blocks, with
            a stride near the square root of their number, or ``"BigBird"`` with three blocks in the window, one global
            and three random.
        n: positions, a multiple of 64.
        seed: of the numbers and of the random blocks.

    Returns:
        A function that computes the output; the layout of the blocks is made before.
    """
    generator = torch.Generator().manual_seed(seed)
    query, key, value = torch.randn(3, n, WIDTH, generator=generator)
    blocks = n // BLOCK
    if kind == "formula":
        return partial(attention, query, key, value, masks.causal(n))
    if kind == "exact, fused":
        batched = (x[None, None] for x in (query, key, value))
        return partial(F.scaled_dot_product_attention, *batched, is_causal=True)
    if kind == "window":
        return partial(window_attention, query, key, value, WINDOW)
    if kind == "strided":
        return partial(block_sparse_attention, query, key, value, strided(blocks, math.isqrt(blocks)), causal=True)
    return partial(block_sparse_attention, query, key, value, bigbird(blocks, 2, 1, 3, generator))


def head_seconds(seed: int, kind: str, n: int) -> float:
    """Time one head after one call that is not timed.

    Args:
        seed: of the numbers.
        kind: as in :func:`one_head`.
        n: positions.

    Returns:
        Seconds, on one thread of the CPU.
    """
    head = one_head(kind, n, seed)
    with torch.no_grad():
        if n < 65_536:
            head()
        return time_call(head)


def head_megabytes(seed: int, kind: str, n: int) -> float:
    """Find the peak of what torch allocates during one call.

    Args:
        seed: of the numbers.
        kind: as in :func:`one_head`.
        n: positions.

    Returns:
        Megabytes, inputs, mask and layout left out.
    """
    with torch.no_grad():
        return peak_bytes(one_head(kind, n, seed)) / 1e6


LENGTHS = (1024, 4096, 16_384, 65_536)
KINDS = {"formula": 4096, "exact, fused": 65_536, "window": 65_536, "strided": 65_536, "BigBird": 65_536}
"""The longest input of each kind."""
SIZES = [{"kind": kind, "n": n} for kind, longest in KINDS.items() for n in LENGTHS if n <= longest]
LONG_INPUTS = [
    *(Experiment("one head, time", "s", head_seconds, size, "min") for size in SIZES),
    *(Experiment("one head, memory", "MB", head_megabytes, size, "median", seeds=(0,)) for size in SIZES),
]
"""The plan: each kind of attention at each length."""
