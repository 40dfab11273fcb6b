r"""The position-wise feed-forward network and its activations.

Vaswani et al. (2017), section 3.3, Eq. (2). GELU: Hendrycks and Gimpel (2016), section 2. SwiGLU: Shazeer (2020),
section 2, Eq. (6).

Chapter: book/add-norm.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_dropout, check_sizes

__all__ = ["ACTIVATIONS", "FeedForward", "SwiGLU", "feed_forward", "gelu", "gelu_tanh", "relu", "silu"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
}
"""What the modules run, by name: torch's fused versions of the formulas below."""


def relu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Cut negative numbers off: :math:`\max(0, x)`; the slope at 0 is 0, as in torch.

    >>> relu(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    """
    return torch.where(_floating(x) <= 0, 0.0, x)  # the other way round, where(x > 0, x, 0), would hide a NaN


def gelu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Weight a number by the chance that a standard normal one lies below it.

    .. math:: x \, \Phi(x) = \frac{x}{2} \left(1 + \operatorname{erf}\frac{x}{\sqrt 2}\right)
    """
    return 0.5 * _floating(x) * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Approximate :func:`gelu` by a tanh, as GPT-2 does; the two differ by less than 5e-4 everywhere.

    .. math:: \frac{x}{2} \left(1 + \tanh\left(\sqrt{2 / \pi}\,(x + 0.044715\,x^3)\right)\right)
    """
    return 0.5 * _floating(x) * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Weight a number by its sigmoid: :math:`x / (1 + e^{-x})`, also called Swish with :math:`\beta = 1`."""
    return _floating(x) * torch.sigmoid(x)


class FeedForward(nn.Module):
    r"""Two linear layers with an activation between them, the same at every position.

    .. math:: \operatorname{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2

    >>> layer = FeedForward(d_model=2, d_ff=8)
    >>> layer(torch.zeros(1, 5, 2)).shape
    torch.Size([1, 5, 2])

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer; the paper has ``4 * d_model``.
        activation: ``"relu"`` as in Eq. (2), ``"gelu"`` as in BERT, or ``"gelu-tanh"`` as in GPT-2.
        bias: whether both layers add a vector.
        dropout: share of hidden activations set to 0 in training. Not in the paper, whose dropout acts on the output of
            the sub-layer (section 5.4) and belongs to the encoder layer; ``nn.TransformerEncoderLayer`` has both.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, activation: str = "relu", bias: bool = True, dropout: float | int = 0.0
    ) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        check_dropout(dropout)
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"the activation of a FeedForward is one of {', '.join(ACTIVATIONS)}: got {activation!r}. "
                "For a gated network use SwiGLU."
            )
        self.w_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transform each vector on its own."""
        _check_input(x, self.w_1.in_features)
        return self.w_2(self.dropout(ACTIVATIONS[self.activation](self.w_1(x))))

    def extra_repr(self) -> str:
        """Name the activation in the module's text."""
        return f"activation={self.activation}"


class SwiGLU(nn.Module):
    r"""A gated feed-forward network: one linear layer decides how much of another passes.

    .. math:: \operatorname{SwiGLU}(x) = \left(\operatorname{SiLU}(x W_{gate}) \odot x W_{up}\right) W_{down}

    The paper writes :math:`W, V, W_2` for gate, up and down. Three matrices cost as much as the two of
    :class:`FeedForward` where ``d_ff`` is two thirds as wide.

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer.
        bias: whether the three layers add a vector; in the paper they do not.
        dropout: share of hidden activations set to 0 in training, after the gate.
    """

    def __init__(self, d_model: int, d_ff: int, *, bias: bool = False, dropout: float | int = 0.0) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        check_dropout(dropout)
        self.w_gate = nn.Linear(d_model, d_ff, bias=bias)
        self.w_up = nn.Linear(d_model, d_ff, bias=bias)
        self.w_down = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transform each vector on its own."""
        _check_input(x, self.w_gate.in_features)
        return self.w_down(self.dropout(F.silu(self.w_gate(x)) * self.w_up(x)))


def feed_forward(
    d_model: int, d_ff: int, *, activation: str = "relu", bias: bool = True, dropout: float | int = 0.0
) -> FeedForward | SwiGLU:
    """Make the feed-forward network of a model by the name of its activation.

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer.
        activation: ``"relu"``, ``"gelu"``, ``"gelu-tanh"`` or ``"swiglu"``.
        bias: whether its layers add a vector.
        dropout: share of hidden activations set to 0 in training.

    Returns:
        A module of ``(*batch, d_model)`` to the same shape.

    Raises:
        ValueError: no activation has this name, or a size is illegal.
    """
    if activation == "swiglu":
        return SwiGLU(d_model, d_ff, bias=bias, dropout=dropout)
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is one of {', '.join(ACTIVATIONS)}, swiglu: got {activation!r}.")
    return FeedForward(d_model, d_ff, activation=activation, bias=bias, dropout=dropout)


def _floating(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        raise ValueError(f"an activation takes floating-point numbers: got {x.dtype}. Convert with .float().")
    return x


def _check_input(x: Tensor, d_model: int) -> None:
    if x.numel() == 0 or x.ndim == 0 or x.shape[-1] != d_model:
        raise ValueError(
            f"x is (*batch, d_model) with d_model={d_model} and no empty axis: got {tuple(x.shape)}. "
            "Make the network as wide as its input."
        )
    _floating(x)
