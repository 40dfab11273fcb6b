r"""Normalisation: one vector a token (LayerNorm, RMSNorm), or one feature a batch (BatchNorm, for contrast).

LayerNorm: Ba, Kiros and Hinton (2016), section 3, Eq. (3)-(4); in the Transformer, Vaswani et al. (2017), section 3.1.
RMSNorm: Zhang and Sennrich (2019), section 4, Eq. (4). BatchNorm: Ioffe and Szegedy (2015), Algorithm 1.

All three put ``eps`` under the root and divide by the number of values (the biased variance), as torch does.

Chapter: book/add-norm.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

__all__ = ["LayerNorm", "RMSNorm", "SequenceBatchNorm", "layer_norm", "norm_layer", "rms_norm"]


def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, " d_model"] | None = None,
    bias: Float[Tensor, " d_model"] | None = None,
    *,
    eps: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    r"""Give each vector mean 0 and variance 1 over its own features, then scale and shift each feature.

    .. math:: y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot g + b,
        \quad \mu = \frac1d \sum_i x_i, \quad \sigma^2 = \frac1d \sum_i (x_i - \mu)^2

    The variance takes a second pass, over ``x`` less its mean: ``E[x^2] - E[x]^2`` loses every digit where the mean is
    large. Numbers of half precision are summed in float32.

    >>> layer_norm(torch.tensor([[2.0, 6.0]])).round(decimals=4)
    tensor([[-1.,  1.]])

    Args:
        x: ``(*batch, d_model)``.
        weight: the gain ``g``, ``(d_model,)``; ``None`` means 1.
        bias: ``b``, ``(d_model,)``; ``None`` means 0.
        eps: added to the variance, under the root, so that a constant vector gives 0 and not NaN.

    Returns:
        ``(*batch, d_model)``, in the dtype of ``x``.

    Raises:
        ValueError: ``x`` is empty or not floating point, weight or bias is not ``(d_model,)``, or ``eps``
            is not above 0.
    """
    _check_input(x)
    _check_eps(eps)
    wide = _widened(x)
    centred = wide - wide.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (*batch, 1)
    return _affine(centred / (variance + eps).sqrt(), weight, bias).to(x.dtype)


def rms_norm(
    x: Float[Tensor, "*batch d_model"], weight: Float[Tensor, " d_model"] | None = None, *, eps: float = 1e-6
) -> Float[Tensor, "*batch d_model"]:
    r"""Give each vector a root mean square of 1 over its own features, then scale each feature.

    .. math:: y = \frac{x}{\sqrt{\frac1d \sum_i x_i^2 + \epsilon}} \odot g

    The mean stays: this is LayerNorm without centring and without bias. The paper has no ``eps``; 1e-6 is that of T5.

    >>> rms_norm(torch.tensor([[3.0, 4.0, 0.0, 0.0]])).round(decimals=4)
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]])

    Args:
        x: ``(*batch, d_model)``.
        weight: the gain ``g``, ``(d_model,)``; ``None`` means 1.
        eps: added to the mean square, under the root. ``torch.nn.RMSNorm`` takes the machine epsilon of the dtype where
            none is given; here it is one number for every dtype.

    Returns:
        ``(*batch, d_model)``, in the dtype of ``x``.

    Raises:
        ValueError: ``x`` is empty or not floating point, weight is not ``(d_model,)``, or ``eps`` is not above 0.
    """
    _check_input(x)
    _check_eps(eps)
    wide = _widened(x)
    mean_square = wide.square().mean(dim=-1, keepdim=True)  # (*batch, 1)
    return _affine(wide / (mean_square + eps).sqrt(), weight, None).to(x.dtype)


class LayerNorm(nn.Module):
    """:func:`layer_norm` with a gain and a bias to be learned, computed by torch's fused kernel.

    Args:
        d_model: width of the vectors.
        eps: added under the root.
        bias: whether there is a bias.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        _check_eps(eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(_width(d_model)))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalise each vector."""
        _check_input(x, len(self.weight))
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Name the sizes in the module's text."""
        return f"{len(self.weight)}, eps={self.eps}, bias={self.bias is not None}"


class RMSNorm(nn.Module):
    """:func:`rms_norm` with a gain to be learned, computed by torch's own function.

    Args:
        d_model: width of the vectors.
        eps: added under the root.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        _check_eps(eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(_width(d_model)))

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalise each vector."""
        _check_input(x, len(self.weight))
        if x.dtype != self.weight.dtype:  # under autocast; torch's function warns, for its kernel takes one dtype
            return rms_norm(x, self.weight, eps=self.eps)
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Name the sizes in the module's text."""
        return f"{len(self.weight)}, eps={self.eps}"


def norm_layer(d_model: int, *, norm: str = "layer", eps: float = 1e-5, bias: bool = True) -> LayerNorm | RMSNorm:
    """Make the norm of a model by its name.

    Args:
        d_model: width of the vectors.
        norm: ``"layer"`` or ``"rms"``.
        eps: added under the root.
        bias: whether LayerNorm has a bias; RMSNorm has none.

    Returns:
        A module of ``(*batch, d_model)`` to the same shape.

    Raises:
        ValueError: no norm has this name.
    """
    if norm == "layer":
        return LayerNorm(d_model, eps=eps, bias=bias)
    if norm == "rms":
        return RMSNorm(d_model, eps=eps)
    raise ValueError(f"the norm of a model is 'layer' or 'rms': got {norm!r}. Vaswani et al. use 'layer'.")


class SequenceBatchNorm(nn.Module):
    r"""BatchNorm over sequences: each feature gets mean 0 and variance 1 over all tokens of the batch.

    .. math:: y_{btj} = \frac{x_{btj} - \mu_j}{\sqrt{\sigma^2_j + \epsilon}} \, g_j + b_j

    A token's result depends on the other tokens of the batch, later ones among them, and on train or eval mode; that
    of LayerNorm and RMSNorm does not. As in ``nn.BatchNorm1d``, training normalises by the biased variance and keeps a
    running average of the unbiased one, which eval mode then uses.

    Args:
        d_model: width of the vectors.
        eps: added under the root.
        momentum: share of the new batch in the running averages.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, *, eps: float = 1e-5, momentum: float | int = 0.1) -> None:
        super().__init__()
        _check_eps(eps)
        if not 0 < momentum <= 1:
            raise ValueError(f"momentum is above 0 and at most 1: got {momentum}. The usual value is 0.1.")
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(_width(d_model)))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "batch t d_model"], mask: Bool[Tensor, "batch 1 t"] | None = None
    ) -> Float[Tensor, "batch t d_model"]:
        """Normalise each feature over the batch and the positions.

        Args:
            x: ``(batch, t, d_model)``.
            mask: ``(batch, 1, t)``, ``True`` at real tokens, as :func:`companion.masks.padding` gives it: only these
                count. ``None``: every position is real.

        Returns:
            ``(batch, t, d_model)``, 0 at positions that are not real.

        Raises:
            ValueError: ``x`` or the mask has another shape or dtype, or too few tokens are real: training takes a
                variance, so it needs two.
        """
        real = self._real(x, mask)  # (batch, t)
        wide = _widened(x).masked_fill(~real[..., None], 0.0)  # whatever stands in the padding, NaN included
        if self.training:
            mean, variance = self._statistics(wide[real])
        else:
            mean, variance = self.running_mean, self.running_var
        normal = (wide - mean) / (variance + self.eps).sqrt() * self.weight + self.bias
        return normal.masked_fill(~real[..., None], 0.0).to(x.dtype)

    def extra_repr(self) -> str:
        """Name the sizes in the module's text."""
        return f"{len(self.weight)}, eps={self.eps}, momentum={self.momentum}"

    def _statistics(self, tokens: Float[Tensor, "n d_model"]) -> tuple[Tensor, Tensor]:
        """Give mean and biased variance of each feature, and move the running averages towards the batch."""
        mean = tokens.mean(dim=0)
        variance = (tokens - mean).square().mean(dim=0)
        unbiased = variance.detach() * len(tokens) / (len(tokens) - 1)
        self.running_mean.lerp_(mean.detach().to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), self.momentum)
        return mean, variance

    def _real(self, x: Tensor, mask: Tensor | None) -> Tensor:
        _check_input(x, len(self.weight))
        if x.ndim != 3:
            raise ValueError(f"x is (batch, t, d_model): got {tuple(x.shape)}. Add or join axes.")
        if mask is None:
            mask = torch.ones(len(x), 1, x.shape[1], dtype=torch.bool, device=x.device)
        if mask.dtype != torch.bool or mask.shape != (len(x), 1, x.shape[1]):
            raise ValueError(
                f"the mask of {tuple(x.shape)} is boolean, (batch, 1, t) = {(len(x), 1, x.shape[1])}: got "
                f"{tuple(mask.shape)} of {mask.dtype}. masks.padding(lengths, t) gives it."
            )
        count, least = int(mask.sum()), 2 if self.training else 1
        if count < least:
            raise ValueError(
                f"a batch has at least {least} real tokens where training is {self.training}: got {count}. "
                "Leave such a batch out."
            )
        return mask[:, 0]


def _widened(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))  # float16 squares overflow from 256 on


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector is not None and vector.shape != x.shape[-1:]:
            raise ValueError(
                f"{name} has one number a feature, shape ({x.shape[-1]},): got {tuple(vector.shape)} for x "
                f"{tuple(x.shape)}."
            )
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _check_input(x: Tensor, width: int | None = None) -> None:
    if not x.is_floating_point():
        raise ValueError(f"a norm takes floating-point numbers: got {x.dtype}. Convert with .float().")
    if x.ndim == 0 or x.numel() == 0:
        raise ValueError(f"x is (*batch, d_model) and no axis is empty: got {tuple(x.shape)}.")
    if width is not None and x.shape[-1] != width:
        raise ValueError(
            f"the last axis of x is d_model={width}: got {tuple(x.shape)}. Make the norm as wide as its input."
        )


def _width(d_model: int) -> int:
    if d_model < 1:
        raise ValueError(f"d_model is at least 1: got {d_model}.")
    return d_model


def _check_eps(eps: float) -> None:
    if not 0 < eps < math.inf:
        raise ValueError(f"eps is above 0 and finite: got {eps}. The usual values are 1e-5 and 1e-6.")
