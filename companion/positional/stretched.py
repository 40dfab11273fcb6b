"""Rotary positions for texts longer than those of the training: other frequencies.

Position interpolation: Chen et al. (2023), Eq. (4). "NTK-aware" base and YaRN: Peng et al. (2024), section 3. Each
returns frequencies for :class:`~companion.positional.RotaryPosition`, as does the ramp of Llama 3.1. Chapter:
book/efficient-attention.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from companion.positional.absolute import frequencies


def interpolated_frequencies(d_k: int, factor: float | int, *, base: float | int = 10000.0) -> Float[Tensor, " pairs"]:
    r"""Divide every frequency by the factor, which is to divide the positions by it.

    .. math:: \omega_i' = \omega_i / s

    >>> interpolated_frequencies(4, 2)
    tensor([0.5000, 0.0050], dtype=torch.float64)

    Args:
        d_k: width of a head, even.
        factor: the new length over the trained one, ``s``.
        base: of the trained model.

    Returns:
        ``(d_k / 2,)`` in float64.

    Raises:
        ValueError: the width is odd, or the factor is below 1.
    """
    _check_factor(factor)
    return frequencies(d_k, base=base) / factor


def ntk_frequencies(d_k: int, factor: float | int, *, base: float | int = 10000.0) -> Float[Tensor, " pairs"]:
    r"""Raise the base so that the lowest frequency is divided by the factor, and the highest stays.

    .. math:: b' = b \, s^{d / (d - 2)}, \qquad \omega_i' = \omega_i \, s^{-2i / (d - 2)}

    Args:
        d_k: width of a head, even and at least 4.
        factor: the new length over the trained one, ``s``.
        base: of the trained model.

    Returns:
        ``(d_k / 2,)`` in float64.

    Raises:
        ValueError: the width is odd or below 4, or the factor is below 1.
    """
    _check_factor(factor)
    if d_k < 4:
        raise ValueError(f"a highest and a lowest frequency need d_k >= 4: got {d_k}. Use interpolated_frequencies.")
    return frequencies(d_k, base=base * factor ** (d_k / (d_k - 2)))


def yarn_frequencies(
    d_k: int,
    factor: float | int,
    trained: int,
    *,
    base: float | int = 10000.0,
    fast: float | int = 32,
    slow: float | int = 1,
) -> Float[Tensor, " pairs"]:
    r"""Leave pairs that turn often within the trained length, divide those by the factor that do not come round once.

    .. math:: \omega_i' = (1 - \gamma_i)\, \omega_i / s + \gamma_i\, \omega_i

    With :math:`r_i = L \omega_i / 2 \pi` turns in the trained length L, :math:`\gamma_i` is 1 for :math:`r_i` above
    ``fast`` and 0 below ``slow``. Between them it falls linearly with i, whose bounds are rounded outwards, as in the
    code that the authors released and in ``transformers``; the paper writes a ramp that is linear in :math:`r_i`.

    Args:
        d_k: width of a head, even.
        factor: the new length over the trained one, ``s``.
        trained: the trained length, ``L``.
        base: of the trained model.
        fast: turns from which on a pair is left alone; 32 for Llama in the paper.
        slow: turns up to which a frequency is divided by the whole factor; 1 in the paper.

    Returns:
        ``(d_k / 2,)`` in float64.

    Raises:
        ValueError: the width is odd, the factor or the length is below 1, or not ``fast > slow > 0``.
    """
    _check_ramp(factor, trained, fast, slow)
    trained_ones = frequencies(d_k, base=base)
    first, last = (d_k * math.log(trained / (2 * math.pi * turns)) / (2 * math.log(base)) for turns in (fast, slow))
    first, last = max(math.floor(first), 0), min(math.ceil(last), d_k - 1)
    ramp = (torch.arange(d_k // 2) - first).double() / max(last - first, 0.001)
    kept = 1 - ramp.clamp(0, 1)
    return (1 - kept) * trained_ones / factor + kept * trained_ones


def llama3_frequencies(
    d_k: int,
    factor: float | int,
    trained: int,
    *,
    base: float | int = 10000.0,
    fast: float | int = 4,
    slow: float | int = 1,
) -> Float[Tensor, " pairs"]:
    r"""Mix kept and divided frequencies as YaRN, by a ramp that is linear in the turns of a pair.

    .. math:: \gamma_i = \min\left(\max\left(\frac{r_i - \text{slow}}{\text{fast} - \text{slow}}, 0\right), 1\right)

    This is the ramp of the paper on YaRN (section 3.2), whose bounds are 32 and 1. Llama 3.1 has it with 4 and 1, base
    500,000 and factor 8 for 8,192 trained tokens, and leaves the scores alone: ``rope_type: "llama3"``.

    Args:
        d_k: width of a head, even.
        factor: the new length over the trained one, ``s``.
        trained: the trained length, ``L``.
        base: of the trained model.
        fast: turns from which on a pair is left alone.
        slow: turns up to which a frequency is divided by the whole factor.

    Returns:
        ``(d_k / 2,)`` in float64.

    Raises:
        ValueError: the width is odd, the factor or the length is below 1, or not ``fast > slow > 0``.
    """
    _check_ramp(factor, trained, fast, slow)
    trained_ones = frequencies(d_k, base=base)
    kept = ((trained * trained_ones / (2 * math.pi) - slow) / (fast - slow)).clamp(0, 1)
    return (1 - kept) * trained_ones / factor + kept * trained_ones


def yarn_scale(factor: float | int) -> float:
    r"""Return the factor of YaRN on queries and on keys, :math:`0.1 \ln s + 1`; scores get its square.

    >>> yarn_scale(1)
    1.0

    Args:
        factor: the new length over the trained one, ``s``.

    Returns:
        The factor.

    Raises:
        ValueError: the factor is below 1.
    """
    _check_factor(factor)
    return 0.1 * math.log(factor) + 1


def _check_ramp(factor: float | int, trained: int, fast: float | int, slow: float | int) -> None:
    _check_factor(factor)
    if trained < 1:
        raise ValueError(f"a trained length is at least 1: got trained={trained}. Give the tokens of a training text.")
    if not fast > slow > 0:
        raise ValueError(f"fast > slow > 0, in turns: got fast={fast} and slow={slow}. The paper uses 32 and 1.")


def _check_factor(factor: float | int) -> None:
    if not 1 <= factor < math.inf:
        raise ValueError(f"a text is stretched by a factor of 1 or more: got factor={factor}. Divide new by trained.")
