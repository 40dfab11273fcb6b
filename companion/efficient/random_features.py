"""Random features that estimate the softmax kernel: Choromanski et al. (2021), FAVOR+, sections 2.3 and 2.4.

Chapter: book/efficient-attention.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from companion.checks import check_sizes


def random_directions(
    features: int, d_k: int, generator: torch.Generator, *, orthogonal: bool = True
) -> Float[Tensor, "features d_k"]:
    """Draw directions from the normal distribution, in float64, each ``d_k`` of them orthogonal if asked.

    Orthogonal blocks are drawn uniformly: Mezzadri (2007), section 5, which fixes the signs of a QR decomposition.

    Args:
        features: number of directions.
        d_k: their width.
        generator: of the draws.
        orthogonal: whether blocks of ``d_k`` directions are at right angles, which lowers the variance. Lengths are
            those of normal vectors either way.

    Returns:
        ``(features, d_k)``.

    Raises:
        ValueError: a size is below 1.
    """
    check_sizes(features=features, d_k=d_k)
    normal = torch.randn(features, d_k, generator=generator, dtype=torch.float64)
    if not orthogonal:
        return normal
    blocks = math.ceil(features / d_k)
    turned, triangle = torch.linalg.qr(torch.randn(blocks, d_k, d_k, generator=generator, dtype=torch.float64))
    turned = turned * triangle.diagonal(dim1=-2, dim2=-1).sign()[:, None]  # without it, some signs are never drawn
    return turned.flatten(0, 1)[:features] * normal.norm(dim=-1, keepdim=True)


def positive_features(
    x: Float[Tensor, "*batch t d_k"], directions: Float[Tensor, "features d_k"]
) -> Float[Tensor, "*batch t features"]:
    r"""Map queries or keys to positive features whose dot product estimates :math:`e^{q \cdot k}` without bias.

    .. math:: \varphi(x) = \frac{1}{\sqrt m} \bigl( e^{\omega_1 \cdot x - |x|^2 / 2}, \dots \bigr)

    For attention, divide queries and keys by :math:`d_k^{1/4}` first.

    Args:
        x: ``(*batch, t, d_k)``.
        directions: :math:`\omega`, from :func:`random_directions`, the same for queries and keys.

    Returns:
        ``(*batch, t, features)``.

    Raises:
        ValueError: the widths differ.
    """
    if x.shape[-1] != directions.shape[-1]:
        raise ValueError(
            f"directions have the width of what they are multiplied by: got x {tuple(x.shape)} and directions "
            f"{tuple(directions.shape)}. Draw them with d_k={x.shape[-1]}."
        )
    exponent = x @ directions.to(x).mT - x.square().sum(dim=-1, keepdim=True) / 2
    return exponent.exp() / math.sqrt(len(directions))
