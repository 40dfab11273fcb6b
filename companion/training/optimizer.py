"""The optimiser of the paper, and the clipping of gradients.

Vaswani et al. (2017), section 5.3; Pascanu, Mikolov and Bengio (2013), section 3.2, for clipping.

Chapter: book/training.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Parameter


def paper_adam(parameters: Iterable[Parameter]) -> torch.optim.Adam:
    r"""Make Adam with :math:`\beta_1 = 0.9`, :math:`\beta_2 = 0.98` and :math:`\epsilon = 10^{-9}`.

    The learning rate is 1, for a schedule to set.
    """
    return torch.optim.Adam(parameters, lr=1.0, betas=(0.9, 0.98), eps=1e-9)


def scale_gradients(parameters: Iterable[Parameter], factor: float | int) -> None:
    """Multiply the gradients, in place, where there are any.

    Args:
        parameters: whose ``.grad``.
        factor: by what.
    """
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad.mul_(factor)


def clip_gradients(parameters: Iterable[Parameter], max_norm: float | int) -> Float[Tensor, ""]:
    r"""Shorten the gradient, all parameters taken as one vector, to at most a given length, in place.

    .. math:: g \leftarrow g \cdot \min\left(1, \frac{\text{max\_norm}}{\lVert g \rVert + 10^{-6}}\right)

    The small number is the one of ``torch.nn.utils.clip_grad_norm_``.

    Args:
        parameters: whose ``.grad``.
        max_norm: the greatest length; infinity leaves the gradients as they are.

    Returns:
        The length before.

    Raises:
        ValueError: the greatest length is not above 0, or no parameter has a gradient.

    >>> weight = Parameter(torch.zeros(2))
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> clip_gradients([weight], max_norm=2.5), weight.grad
    (tensor(5.), tensor([1.5000, 2.0000]))
    """
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    if not max_norm > 0 or not parameters:
        raise ValueError(
            f"max_norm is above 0 and some parameter has a gradient: got max_norm={max_norm} and {len(parameters)} "
            "gradients. Call backward() first."
        )
    norm = torch.stack([parameter.grad.norm() for parameter in parameters]).norm()
    scale_gradients(parameters, min(1.0, max_norm / (norm.item() + 1e-6)))
    return norm
