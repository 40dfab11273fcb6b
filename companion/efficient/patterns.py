"""Patterns of sparse attention as masks, and a kernel that skips the blocks that a pattern leaves empty.

Strided and fixed patterns: Child et al. (2019), sections 4.2 and 4.3. A window with global tokens: Beltagy et al.
(2020), section 3.1. Random keys beside them, and patterns made of blocks: Zaheer et al. (2020), section 2.

Chapter: book/efficient-attention.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from companion.checks import check_sizes
from companion.efficient.shapes import _check_shapes


def strided(n: int, stride: int) -> Bool[Tensor, "n n"]:
    r"""Let a position see the last ``stride`` positions, and every ``stride``-th position before it.

    With ``stride`` near :math:`\sqrt n` a position sees about :math:`2 \sqrt n` others. Child et al. (2019) give the
    two parts to two heads, or to alternate layers; this is their union.

    Args:
        n: number of positions.
        stride: at least 1.

    Returns:
        ``(n, n)``, causal.

    Raises:
        ValueError: a size is below 1.
    """
    check_sizes(n=n, stride=stride)
    distance = _distance(n)
    return (distance >= 0) & ((distance < stride) | (distance % stride == 0))


def fixed(n: int, stride: int, summaries: int = 1) -> Bool[Tensor, "n n"]:
    """Let a position see its own segment so far, and the last positions of every segment before it.

    Args:
        n: number of positions.
        stride: positions in a segment.
        summaries: positions at the end of a segment that every later position sees.

    Returns:
        ``(n, n)``, causal.

    Raises:
        ValueError: a size is below 1, or there are more summaries than positions in a segment.
    """
    check_sizes(n=n, stride=stride, summaries=summaries)
    if summaries > stride:
        raise ValueError(f"a segment of {stride} has at most {stride} summaries: got {summaries}. Take fewer.")
    place = torch.arange(n)
    same = place[:, None] // stride == place // stride
    return (_distance(n) >= 0) & (same | (place % stride >= stride - summaries))


def window_and_global(n: int, size: int, n_global: int) -> Bool[Tensor, "n n"]:
    """Let each position see those less than ``size`` away and the first ``n_global``, which see everything.

    Args:
        n: number of positions.
        size: of the window, which lies on both sides.
        n_global: positions at the start that see all and are seen by all.

    Returns:
        ``(n, n)``, symmetric.

    Raises:
        ValueError: a size is below 1.
    """
    check_sizes(n=n, size=size, n_global=n_global)
    is_global = torch.arange(n) < n_global
    return (_distance(n).abs() < size) | is_global | is_global[:, None]


def bigbird(n: int, size: int, n_global: int, n_random: int, generator: torch.Generator) -> Bool[Tensor, "n n"]:
    """Add to :func:`window_and_global` some keys for each query, drawn once among those that it does not see.

    Args:
        n: number of positions.
        size: of the window, which lies on both sides.
        n_global: positions at the start that see all and are seen by all.
        n_random: keys drawn for each query; all that are left, where there are fewer.
        generator: of the draws.

    Returns:
        ``(n, n)``.

    Raises:
        ValueError: a size is below 1.
    """
    check_sizes(n_random=n_random)
    mask = window_and_global(n, size, n_global)
    drawn = torch.rand(n, n, generator=generator).masked_fill(mask, 2.0)  # what is seen already comes last
    return mask | torch.zeros_like(mask).scatter(1, drawn.argsort(dim=-1)[:, :n_random], value=True)


def block_sparse_attention(
    query: Float[Tensor, "*batch t d_k"],
    key: Float[Tensor, "*batch t d_k"],
    value: Float[Tensor, "*batch t d_v"],
    layout: Bool[Tensor, "blocks blocks"],
    *,
    causal: bool = False,
) -> Float[Tensor, "*batch t d_v"]:
    """Let a block of queries see the blocks of keys that a layout names, and compute no score of the others.

    The result is that of attention under the layout with each entry repeated for the positions of its block. A layout
    is a pattern with blocks for positions, so any mask of this module serves.

    Args:
        query: ``(*batch, t, d_k)``.
        key: ``(*batch, t, d_k)``.
        value: ``(*batch, t, d_v)``.
        layout: ``True`` where a block of queries (row) sees a block of keys (column). ``t`` is a multiple of its side.
        causal: whether later positions stay hidden, inside a block too. Blocks of later keys are left out.

    Returns:
        ``(*batch, t, d_v)``.

    Raises:
        ValueError: shapes or dtypes do not fit together, or a block of queries sees no key.
    """
    _check_shapes(query, key, value)
    t, blocks = query.shape[-2], layout.shape[-1]
    if layout.shape != (blocks, blocks) or key.shape[-2] != t or t % blocks:
        raise ValueError(
            f"a layout is square, and its side divides the equal numbers of queries and keys: got layout "
            f"{tuple(layout.shape)}, {t} queries and {key.shape[-2]} keys. Pad them to whole blocks."
        )
    layout, block = layout.tril() if causal else layout, t // blocks
    if not layout.any(dim=-1).all():
        row = int((~layout.any(dim=-1)).nonzero()[0])
        raise ValueError(f"each block of queries sees a block of keys: got none in row {row}. Allow the diagonal.")
    inside = torch.arange(block, device=query.device)
    keys, values = key.unflatten(-2, (blocks, block)), value.unflatten(-2, (blocks, block))
    outputs = []
    for row, q in enumerate((query / math.sqrt(query.shape[-1])).split(block, dim=-2)):
        seen = layout[row].nonzero()[:, 0]
        scores = q @ keys[..., seen, :, :].flatten(-3, -2).mT  # (*batch, block, len(seen) * block)
        if causal:
            later = (seen[:, None] * block + inside).flatten() > row * block + inside[:, None]
            scores = scores.masked_fill(later, -torch.inf)
        outputs.append(scores.softmax(dim=-1) @ values[..., seen, :, :].flatten(-3, -2))
    return torch.cat(outputs, dim=-2)


def _distance(n: int) -> Tensor:
    """How far key ``j`` lies before query ``i``."""
    return torch.arange(n)[:, None] - torch.arange(n)
