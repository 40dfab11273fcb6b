"""Causal dilated convolutions: WaveNet, van den Oord et al. (2016), section 2; ByteNet, Kalchbrenner et al. (2016).

A stack reaches exponentially far back in its depth, and computes every position at once.

Chapter: book/complexity.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from companion.checks import check_sizes
from companion.recurrent.checks import check_input


def causal_convolution(
    x: Float[Tensor, "batch t d_in"],
    weight: Float[Tensor, "d_out d_in kernel"],
    bias: Float[Tensor, " d_out"] | None = None,
    *,
    dilation: int = 1,
) -> Float[Tensor, "batch t d_out"]:
    r"""Add up weighted inputs at evenly spaced positions, the last of them the output's own.

    .. math:: y_t = b + \sum_{j=0}^{k-1} W_j x_{t - (k-1-j) \delta}

    What lies before the first position counts as 0.

    Args:
        x: inputs.
        weight: a matrix for each tap, the last one for the present, as in ``nn.Conv1d``.
        bias: added to each output.
        dilation: :math:`\delta`, the distance between two taps.

    Returns:
        One output for each position; none depends on a later input.

    Raises:
        ValueError: widths differ, an axis is empty, or the dilation is below 1.
    """
    if x.ndim != 3 or weight.ndim != 3 or 0 in weight.shape:
        raise ValueError(
            f"x is (batch, t, d_in) and weight (d_out, d_in, kernel): got {tuple(x.shape)} and {tuple(weight.shape)}. "
            "Add the missing axis."
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"bias has one number for each output feature, ({weight.shape[0]},): got {tuple(bias.shape)}. Leave the "
            "other axes out."
        )
    check_input(x, weight.shape[1])
    check_sizes(dilation=dilation)
    t, kernel = x.shape[1], weight.shape[-1]
    reach = (kernel - 1) * dilation
    padded = F.pad(x, (0, 0, reach, 0))  # zeros on the left only
    taps = [padded[:, j * dilation : j * dilation + t] @ weight[:, :, j].mT for j in range(kernel)]
    total = torch.stack(taps).sum(dim=0)
    return total if bias is None else total + bias


def receptive_field(kernel: int, dilations: Sequence[int]) -> int:
    r"""Count the positions that the last output of a stack of convolutions depends on.

    .. math:: R = 1 + (k - 1) \sum_l \delta_l

    >>> receptive_field(2, [1, 2, 4, 8])
    16

    Args:
        kernel: taps of each convolution.
        dilations: one for each layer.

    Returns:
        The number of positions, the output's own among them.

    Raises:
        ValueError: there is no layer, or a number is below 1.
    """
    if len(dilations) == 0:
        raise ValueError("a stack has at least one layer: got no dilations. Give one for each layer.")
    check_sizes(kernel=kernel, smallest_dilation=min(dilations))
    return 1 + (kernel - 1) * sum(dilations)


class CausalConv(nn.Module):
    """A causal convolution with weights: :func:`causal_convolution`.

    Args:
        d_in: width of the input.
        d_out: width of the output.
        kernel: number of taps.
        dilation: distance between two taps.
    """

    def __init__(self, d_in: int, d_out: int, *, kernel: int = 2, dilation: int = 1) -> None:
        super().__init__()
        check_sizes(d_in=d_in, d_out=d_out, kernel=kernel, dilation=dilation)
        self.dilation = dilation
        bound = (d_in * kernel) ** -0.5  # as nn.Conv1d
        self.weight = nn.Parameter(torch.empty(d_out, d_in, kernel).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(d_out).uniform_(-bound, bound))

    def forward(self, x: Float[Tensor, "batch t d_in"]) -> Float[Tensor, "batch t d_out"]:
        """Convolve, looking back only."""
        return causal_convolution(x, self.weight, self.bias, dilation=self.dilation)


class CausalConvStack(nn.Module):
    r"""A stack of gated residual blocks, each with its own dilation: van den Oord et al. (2016), sections 2.1 to 2.4.

    .. math:: z = \tanh(W_f * x) \odot \sigma(W_g * x) \quad x \leftarrow x + W_r z

    WaveNet also sums a second projection of every :math:`z` for its output; here the output is the last :math:`x`.
    ByteNet has ReLU and layer normalisation in place of the gate.

    >>> CausalConvStack(4, dilations=(1, 2, 4)).receptive_field
    8

    Args:
        d_model: width of input and output.
        kernel: taps of each convolution.
        dilations: one for each block; doubling makes the reach grow as a power of the depth.
    """

    def __init__(self, d_model: int, *, kernel: int = 2, dilations: Sequence[int] = (1, 2, 4, 8)) -> None:
        super().__init__()
        self.d_model = d_model
        self.receptive_field = receptive_field(kernel, dilations)
        self.convolutions = nn.ModuleList(
            CausalConv(d_model, 2 * d_model, kernel=kernel, dilation=dilation) for dilation in dilations
        )
        self.w_r = nn.ModuleList(nn.Linear(d_model, d_model) for _ in dilations)

    def forward(self, x: Float[Tensor, "batch t d_model"]) -> Float[Tensor, "batch t d_model"]:
        """Transform every position from itself and the ``receptive_field - 1`` before it."""
        for convolution, w_r in zip(self.convolutions, self.w_r, strict=True):
            signal, gate = convolution(x).chunk(2, dim=-1)  # W_f * x and W_g * x in one product
            x = x + w_r(signal.tanh() * gate.sigmoid())
        return x
