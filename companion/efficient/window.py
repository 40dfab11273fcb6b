"""Sliding-window attention in memory linear in the length: Beltagy et al. (2020), section 3.

Chapter: book/complexity.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from companion.checks import check_past
from companion.efficient.shapes import _check_shapes


def window_attention(
    query: Float[Tensor, "*batch t_q d_k"],
    key: Float[Tensor, "*batch t_k d_k"],
    value: Float[Tensor, "*batch t_k d_v"],
    size: int,
    *,
    causal: bool = True,
    scale: float | int | None = None,
) -> Float[Tensor, "*batch t_q d_v"]:
    """Let each query look at the ``size`` nearest positions, and compute no score of the others.

    The result is that of ``attention(query, key, value, masks.window(t_q, size, t_k, causal=causal))``. Queries are cut
    into blocks of ``size``; a block can see its own keys, those of the block before, and those of the block after where
    later keys are not hidden. So ``2 size`` or ``3 size`` scores a query are computed, of which the window lets
    ``size`` or ``2 size - 1`` through.

    >>> value = torch.tensor([[0.0], [4.0], [8.0], [0.0]])
    >>> window_attention(torch.zeros(4, 1), torch.zeros(4, 1), value, size=2)
    tensor([[0.],
            [2.],
            [6.],
            [4.]])

    Args:
        query: ``(*batch, t_q, d_k)``.
        key: ``(*batch, t_k, d_k)``. The last query stands at the last key.
        value: ``(*batch, t_k, d_v)``.
        size: number of positions. Causal: the query's own and the ``size - 1`` before it.
            Not causal: those less than ``size`` away on either side.
        causal: whether later positions stay hidden.
        scale: factor of the scores; ``None`` means ``1 / sqrt(d_k)``.

    Returns:
        ``(*batch, t_q, d_v)``.

    Raises:
        ValueError: shapes or dtypes do not fit together, an axis is empty, ``size`` is below 1, or there are more
            queries than keys.
    """
    _check_shapes(query, key, value)
    t_q, t_k = query.shape[-2], key.shape[-2]
    check_past(t_q, t_k)
    if size < 1:
        raise ValueError(f"a window holds at least the query's own position: got size={size}. Use size >= 1.")
    scale = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
    size = min(size, t_k)
    n_blocks, width = -(-t_q // size), (2 if causal else 3) * size
    rows = F.pad(query * scale, (0, 0, 0, n_blocks * size - t_q)).unflatten(-2, (n_blocks, size))
    # Block b of the queries meets the keys from one block before it on: the first block starts `size` keys before the
    # first query. A negative number cuts keys off: those before the first window of a long past.
    before = size - (t_k - t_q)
    after = (n_blocks - 1) * size + width - before - t_k
    keys = F.pad(key, (0, 0, before, after)).unfold(-2, width, size)  # (*batch, n_blocks, d_k, width)
    values = F.pad(value, (0, 0, before, after)).unfold(-2, width, size)
    mask = _band(n_blocks, size, width, before, t_k, causal, query.device)
    weights = (rows @ keys).masked_fill(~mask, -torch.inf).softmax(dim=-1)  # (*batch, n_blocks, size, width)
    return (weights @ values.mT).flatten(-3, -2)[..., :t_q, :]


def _band(
    n_blocks: int, size: int, width: int, before: int, t_k: int, causal: bool, device: torch.device
) -> Bool[Tensor, "n_blocks size width"]:
    """Allow what lies in the window and is a key, not padding; each row, even a padded one, has a key."""
    column = torch.arange(width, device=device)
    distance = torch.arange(size, device=device)[:, None] + size - column  # from query back to key
    near = (distance >= 0) & (distance < size) if causal else distance.abs() < size
    key = torch.arange(n_blocks, device=device)[:, None] * size - before + column  # (n_blocks, width)
    return near & ((key >= 0) & (key < t_k))[:, None]
