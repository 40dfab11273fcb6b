"""The layers of Vaswani et al. (2017), Table 1, side by side, with the constants that O() leaves out.

Each maps ``n`` positions of width ``d`` to as many. One layer alone: FLOPs for a single sequence, operations that must
wait for one another, and how many layers a signal needs from the first position to the last, or how many steps within
one.

Chapter: book/complexity.
"""

from dataclasses import dataclass

from companion.checks import check_sizes
from companion.cost.flops import attention_flops, projection_flops


@dataclass(frozen=True)
class LayerCost:
    """One row of the table.

    Args:
        flops: of the matrix products, forward, for one sequence.
        sequential: how many operations on whole tensors must follow one another, a constant for each taken as 1.
        path: the longest way of a signal, in steps, from one position to another.
    """

    flops: int
    sequential: int
    path: int


def self_attention_layer(n: int, d: int) -> LayerCost:
    """Cost one attention of all positions to all, projections included: ``8 n d^2 + 4 n^2 d``.

    >>> self_attention_layer(n=1024, d=512).flops == recurrent_layer(n=1024, d=512, gates=4).flops
    True

    Args:
        n: positions.
        d: width.

    Returns:
        Its row of the table.
    """
    return LayerCost(attention_flops(1, n, n, d), sequential=1, path=1)


def window_attention_layer(n: int, d: int, size: int) -> LayerCost:
    """Cost an attention to the ``size`` last positions, the query's own among them ("restricted" in the table).

    Only pairs within the window count, as an ideal kernel would compute them; a path is as many layers of this kind.

    Args:
        n: positions.
        d: width.
        size: of the window, at least 2: with 1 no signal ever moves.

    Returns:
        Its row of the table.
    """
    check_sizes(2, size=size)
    seen = min(size, n)
    pairs = n * seen - seen * (seen - 1) // 2  # the first positions have a shorter past
    return LayerCost(projection_flops(1, n, n, d) + 4 * pairs * d, sequential=1, path=_layers_of_reach(n, size - 1))


def recurrent_layer(n: int, d: int, *, gates: int = 1) -> LayerCost:
    """Cost a recurrent layer: for each gate one product with the input and one with the state, ``4 gates n d^2``.

    Args:
        n: positions.
        d: width of input and state.
        gates: products of this kind: 1 for Elman's, 3 for the GRU, 4 for the LSTM.

    Returns:
        Its row of the table.
    """
    check_sizes(n=n, d=d, gates=gates)
    return LayerCost(4 * gates * n * d * d, sequential=n, path=n)


def convolution_layer(n: int, d: int, kernel: int, *, dilated: bool = False, separable: bool = False) -> LayerCost:
    """Cost a causal convolution, ``2 k n d^2``; a path is as many layers of it as reach from the first to the last.

    Layers with one kernel each reach ``k - 1`` positions further. Dilated by 1, k, k^2, and so on, L layers reach
    ``k^L`` positions: the O(log_k n) of the table needs dilation. A separable convolution, ``2 k n d + 2 n d^2``,
    moves features along the sequence first and mixes them after.

    >>> convolution_layer(1024, 512, kernel=3).path, convolution_layer(1024, 512, kernel=3, dilated=True).path
    (512, 7)

    Args:
        n: positions.
        d: width of input and output.
        kernel: width ``k`` of the kernel, at least 2.
        dilated: whether the layers of a path are dilated.
        separable: whether the convolution is depthwise, then pointwise.

    Returns:
        Its row of the table.
    """
    check_sizes(n=n, d=d)
    check_sizes(2, kernel=kernel)
    flops = 2 * kernel * n * d + 2 * n * d * d if separable else 2 * kernel * n * d * d
    if not dilated:
        return LayerCost(flops, sequential=1, path=_layers_of_reach(n, kernel - 1))
    path = 1
    while kernel**path < n:
        path += 1
    return LayerCost(flops, sequential=1, path=path)


def _layers_of_reach(n: int, reach: int) -> int:
    """Divide the way from the first position to the last by the reach of a layer, rounded up; at least one layer."""
    return max(1, -(-(n - 1) // reach))
