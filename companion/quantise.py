"""Weights in few bits: symmetric rounding by the largest entry of each group, "absmax" rounding.

Dettmers et al. (2022), section 2, for one scale a tensor or a row; groups as in Frantar et al. (2023), section 5.

Chapter: book/generation.
"""

import torch
from jaxtyping import Float, Int8, UInt8
from torch import Tensor


def quantise(
    weight: Float[Tensor, "rows columns"], bits: int, group: int
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, "rows groups"]]:
    r"""Round each group of neighbours in a row to integers times one scale.

    .. math:: s = \max_i |w_i| / (2^{b-1} - 1), \qquad z_i = \operatorname{round}(w_i / s)

    >>> integers, scales = quantise(torch.tensor([[0.7, -0.2, 4.0, 7.0]]), bits=4, group=2)
    >>> integers.tolist(), scales.tolist()
    ([[7, -2, 4, 7]], [[0.10000000149011612, 1.0]])

    Args:
        weight: ``(rows, columns)``.
        bits: of an integer, 2 to 8; the integers are symmetric, -7 to 7 for 4 bits.
        group: columns that share a scale; divides their number.

    Returns:
        Integers ``(rows, columns)``, and scales ``(rows, columns / group)``; the scale of a group of zeros is 1.

    Raises:
        ValueError: the bits or the group do not fit, or a weight is not finite.
    """
    if not 2 <= bits <= 8:
        raise ValueError(f"an integer has 2 to 8 bits: got bits={bits}. Use one of these.")
    if weight.ndim != 2 or group < 1 or weight.shape[-1] % group:
        raise ValueError(
            f"a group divides the columns of a matrix: got group={group}, weight {tuple(weight.shape)}. Use a divisor."
        )
    if not weight.isfinite().all():
        raise ValueError("only finite weights can be rounded: got NaN or infinity. Look where they come from.")
    groups = weight.unflatten(-1, (-1, group))  # (rows, groups, group)
    scales = groups.abs().amax(-1) / (2 ** (bits - 1) - 1)
    scales = scales.masked_fill(scales == 0, 1.0)
    return (groups / scales[..., None]).round().flatten(1).to(torch.int8), scales


def dequantise(
    integers: Int8[Tensor, "rows columns"], scales: Float[Tensor, "rows groups"]
) -> Float[Tensor, "rows columns"]:
    """Multiply the integers of each group by its scale.

    Args:
        integers: ``(rows, columns)``.
        scales: ``(rows, groups)``, as :func:`quantise` gives them.

    Returns:
        The rounded weights, ``(rows, columns)``.
    """
    return (integers.unflatten(-1, (scales.shape[-1], -1)) * scales[..., None]).flatten(1)


def pack(integers: Int8[Tensor, "rows columns"]) -> UInt8[Tensor, "rows half"]:
    """Put two integers of 4 bits into each byte, the first one into its lower half.

    Args:
        integers: ``(rows, columns)``, each -8 to 7; an even number of columns.

    Returns:
        Bytes, ``(rows, columns / 2)``.

    Raises:
        ValueError: an integer needs more than 4 bits, or the number of columns is odd.
    """
    if integers.shape[-1] % 2 or integers.min() < -8 or integers.max() > 7:
        raise ValueError(
            "a byte holds two integers from -8 to 7: got "
            f"{int(integers.min())} to {int(integers.max())} in {integers.shape[-1]} columns. Quantise to 4 bits."
        )
    low, high = (integers & 15).to(torch.uint8).unflatten(-1, (-1, 2)).unbind(-1)
    return low | (high << 4)


def unpack(packed: UInt8[Tensor, "rows half"]) -> Int8[Tensor, "rows columns"]:
    """Take the integers of 4 bits out of the bytes of :func:`pack`.

    Args:
        packed: ``(rows, columns / 2)``.

    Returns:
        Integers, ``(rows, columns)``.
    """
    nibbles = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).to(torch.int8)
    return torch.where(nibbles > 7, nibbles - 16, nibbles)
