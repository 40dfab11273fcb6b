"""Features to heads and back: Vaswani et al. (2017), section 3.2.2; shared keys and values: Ainslie et al. (2023).

Chapter: book/multi-head.
"""

from jaxtyping import Float
from torch import Tensor

from companion.checks import check_divides


def split_heads(x: Float[Tensor, "batch t width"], n_heads: int) -> Float[Tensor, "batch {n_heads} t d"]:
    """Cut the features of each position into heads: head ``h`` gets features ``h * d`` to ``(h + 1) * d - 1``.

    Args:
        x: ``(batch, t, n_heads * d)``.
        n_heads: number of heads.

    Returns:
        ``(batch, n_heads, t, d)``, a view. A ``view`` of that shape without the transpose would mix the positions.

    Raises:
        ValueError: ``x`` has other axes, or the heads do not divide the features.

    Example:
        >>> import torch
        >>> split_heads(torch.arange(8).float().view(1, 2, 4), 2).tolist()
        [[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]]
    """
    if x.ndim != 3:
        raise ValueError(f"features are (batch, t, n_heads * d): got {tuple(x.shape)}. Add the missing axis.")
    check_divides(n_heads=n_heads, width=x.shape[-1])
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(heads: Float[Tensor, "batch n_heads t d"]) -> Float[Tensor, "batch t width"]:
    """Lay the heads of each position side by side again: the inverse of :func:`split_heads`.

    Args:
        heads: ``(batch, n_heads, t, d)``.

    Returns:
        ``(batch, t, n_heads * d)``.

    Raises:
        ValueError: ``heads`` has other axes.
    """
    if heads.ndim != 4:
        raise ValueError(f"heads are (batch, n_heads, t, d): got {tuple(heads.shape)}. split_heads makes them.")
    return heads.transpose(1, 2).flatten(2)


def repeat_heads(heads: Float[Tensor, "batch n_kv_heads t d"], n_heads: int) -> Float[Tensor, "batch {n_heads} t d"]:
    """Give each query head its own copy of the key-value head that it shares: Ainslie et al. (2023), section 2.2.

    Neighbours share: with 2 key-value heads for 6 queries, the first serves queries 0 to 2, the second 3 to 5.

    Args:
        heads: keys or values, ``(batch, n_kv_heads, t, d)``.
        n_heads: number of query heads, a multiple of ``n_kv_heads``.

    Returns:
        ``(batch, n_heads, t, d)``.

    Raises:
        ValueError: ``n_kv_heads`` does not divide ``n_heads``.
    """
    n_kv_heads = heads.shape[1]
    check_divides(n_kv_heads=n_kv_heads, n_heads=n_heads)
    if n_heads == n_kv_heads:
        return heads
    return heads[:, :, None].expand(-1, -1, n_heads // n_kv_heads, -1, -1).flatten(1, 2)
