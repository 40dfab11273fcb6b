"""Four bits spaced for normal weights, NF4, with a scale for each block, and the scales themselves in eight bits.

Dettmers et al. (2023), "QLoRA", section 3: 4-bit NormalFloat quantisation and double quantisation. The sixteen levels
are those of the authors' code: quantiles of the normal distribution, eight for each side of zero, with the outermost
quantile so chosen that no mass of the distribution lies too far outside.

Chapter: book/post-training.
"""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from companion.checks import check_sizes

OUTERMOST = 1 - (1 / 32 + 1 / 30) / 2
"""The probability of the largest level, 0.9677: half a step of a 16th and of a 15th inside of 1, averaged."""


def nf4_levels() -> Float[Tensor, " 16"]:
    """Return the sixteen levels in ascending order, from -1 over an exact 0 to 1."""
    normal = torch.distributions.Normal(torch.tensor(0.0, dtype=torch.float64), 1.0)

    def side(levels: int) -> Tensor:
        steps = torch.linspace(OUTERMOST, 0.5, levels + 1, dtype=torch.float64)
        return normal.icdf(steps[:-1])  # without the 0 at probability 1/2

    above, below = side(8), side(7)
    levels = torch.cat([-below, torch.zeros(1, dtype=torch.float64), above])
    return (levels / above[0]).sort().values


def quantise_nf4(
    weight: Float[Tensor, "rows columns"], block: int = 64
) -> tuple[UInt8[Tensor, " n"], Float[Tensor, " blocks"]]:
    r"""Store each weight as the nearest level, times the largest entry of its block.

    .. math:: s = \max_i |w_i|, \qquad k_i = \arg\min_k |w_i / s - \ell_k|

    >>> codes, scales = quantise_nf4(torch.tensor([[0.5, -0.5, 0.0, 0.1]]), block=4)
    >>> codes.tolist(), scales.tolist()
    ([15, 0, 7, 9], [0.5])

    Args:
        weight: ``(rows, columns)``.
        block: neighbours that share a scale; divides the number of weights.

    Returns:
        Codes from 0 to 15, one a weight, and one scale a block; that of a block of zeros is 1.

    Raises:
        ValueError: the block does not divide the number of weights, or a weight is not finite.
    """
    check_sizes(block=block)
    if weight.numel() == 0 or weight.numel() % block:
        raise ValueError(
            f"a block divides the number of weights: got block={block} for {tuple(weight.shape)}. Use a divisor."
        )
    if not weight.isfinite().all():
        raise ValueError("only finite weights can be rounded: got NaN or infinity. Look where they come from.")
    blocks = weight.reshape(-1, block)
    scales = blocks.abs().amax(dim=1)
    scales = scales.masked_fill(scales == 0, 1.0)
    levels = nf4_levels().to(weight)
    middles = (levels[1:] + levels[:-1]) / 2  # the nearest level changes there
    return torch.bucketize(blocks / scales[:, None], middles).flatten().to(torch.uint8), scales


def dequantise_nf4(
    codes: UInt8[Tensor, " n"], scales: Float[Tensor, " blocks"], shape: tuple[int, ...]
) -> Float[Tensor, "rows columns"]:
    """Turn codes back into weights.

    Args:
        codes: of :func:`quantise_nf4`.
        scales: one a block.
        shape: of the matrix.

    Returns:
        The rounded weights.
    """
    blocks = nf4_levels().to(scales)[codes.long()].unflatten(0, (len(scales), -1))
    return (blocks * scales[:, None]).reshape(shape)


def bits_per_weight(block: int = 64, *, double: bool = False, second: int = 256) -> float:
    """Count the bits of a weight with its share of the scales.

    >>> bits_per_weight(64), round(bits_per_weight(64, double=True), 3)
    (4.5, 4.127)

    Args:
        block: weights that share a scale of 32 bits.
        double: store the scales in 8 bits, and a second scale of 32 bits for each group of them.
        second: scales in such a group.

    Returns:
        Bits a weight.
    """
    check_sizes(block=block, second=second)
    return 4 + (8 / block + 32 / (block * second) if double else 32 / block)
