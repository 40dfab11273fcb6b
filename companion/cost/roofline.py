"""How fast a machine could do it at best: the roofline, Williams et al. (2009). Chapter: book/complexity."""

from companion.checks import check_sizes
from companion.cost.checks import check_amounts
from companion.cost.flops import matmul_flops
from companion.cost.memory import number_bytes


def intensity(flops: float | int, moved_bytes: float | int) -> float:
    """Divide the work by the traffic: FLOPs for each byte read or written.

    Args:
        flops: how many.
        moved_bytes: between the memory and the processor.

    Returns:
        FLOPs a byte.
    """
    check_amounts(flops=flops, moved_bytes=moved_bytes)
    return flops / moved_bytes


def matmul_intensity(rows: int, inner: int, columns: int, dtype: str = "float16") -> float:
    """Give the intensity of a matrix product that reads both factors once and writes the result once.

    One row, as in decoding, gives less than 1 FLOP a byte in float16 however large the matrix is; a batch of rows
    reads the same matrix.

    >>> round(matmul_intensity(1, 4096, 4096), 4), round(matmul_intensity(4096, 4096, 4096), 1)
    (0.9995, 1365.3)

    Args:
        rows: of the first factor.
        inner: columns of the first and rows of the second factor.
        columns: of the second factor.
        dtype: of each number.

    Returns:
        FLOPs a byte.
    """
    numbers = rows * inner + inner * columns + rows * columns
    return intensity(matmul_flops(rows, inner, columns), numbers * number_bytes(dtype))


def roofline_seconds(
    flops: float | int, moved_bytes: float | int, *, peak_flops: float | int, bandwidth: float | int
) -> float:
    r"""Bound the time from below: neither the arithmetic nor the traffic can be faster than the machine.

    .. math:: t \ge \max\left(\frac{\text{FLOPs}}{\text{peak}}, \frac{\text{bytes}}{\text{bandwidth}}\right)

    The two are equal at the intensity ``peak_flops / bandwidth``; below it memory is the limit.

    Args:
        flops: how many.
        moved_bytes: between the memory and the processor.
        peak_flops: FLOPs that the machine can do in a second, for the dtype in use.
        bandwidth: bytes that its memory can move in a second.

    Returns:
        Seconds.
    """
    check_amounts(flops=flops, moved_bytes=moved_bytes, peak_flops=peak_flops, bandwidth=bandwidth)
    return max(flops / peak_flops, moved_bytes / bandwidth)


def utilisation(flops: float | int, seconds: float | int, *, peak_flops: float | int) -> float:
    """Divide the FLOPs that a model needs by those that the machine could have done in the time it took.

    Chowdhery et al. (2022), section 4.1, call it model FLOPs utilisation: what is recomputed does not count.

    Args:
        flops: of the model.
        seconds: that it took.
        peak_flops: FLOPs that the machine can do in a second, all its devices together.

    Returns:
        A share; 1 is the peak.
    """
    check_amounts(flops=flops, seconds=seconds, peak_flops=peak_flops)
    return flops / (seconds * peak_flops)


def six_n_d(parameters: int, tokens: int) -> int:
    """Estimate the FLOPs of training by 6 for each parameter and token: Kaplan et al. (2020), section 2.1.

    Each weight of a matrix takes part in one multiply-add a token in the forward pass and two in the backward pass.
    The estimate holds on three conditions. ``parameters`` counts the weights of the matrix products: not the tables
    that are only looked up, nor biases and norms, but the output matrix, tied or not. The length is far below
    ``6 d_model``, since the pairs of attention are left out: they add ``n / (6 d_model)`` of it where ``d_ff = 4
    d_model``. And nothing is recomputed. In an encoder-decoder each side sees its own tokens.

    >>> six_n_d(2, 5)
    60

    Args:
        parameters: weights of matrix products.
        tokens: seen in training, each pass over the data anew.

    Returns:
        FLOPs.
    """
    check_sizes(parameters=parameters, tokens=tokens)
    return 6 * parameters * tokens
