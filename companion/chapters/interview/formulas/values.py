"""What the signs of a formula mean for numbers and tensors in float64. Chapter: book/interview/formulas.ipynb."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["BUILT_IN", "Value", "index", "power", "product", "tensor"]

Value = Tensor | float | int | range | Callable


def tensor(value: Value) -> Float[Tensor, "*shape"]:
    """Make a tensor in float64 of a number or a tensor.

    Raises:
        ValueError: the value is a function or a range, which only a call or a sum may use.
    """
    if (callable(value) and not isinstance(value, Tensor)) or isinstance(value, range):
        raise ValueError(f"a number or a tensor is needed here: got {value!r}. Write its argument in brackets.")
    return torch.as_tensor(value, dtype=torch.float64)


def product(left: Value, right: Value) -> Float[Tensor, "*shape"]:
    """Multiply what stands side by side: two matrices as matrices, a number with anything entry by entry.

    Args:
        left: the first factor.
        right: the second.

    Returns:
        The product.
    """
    left, right = tensor(left), tensor(right)
    return left * right if left.ndim == 0 or right.ndim == 0 else left @ right


def power(base: Value, exponent: Value) -> Float[Tensor, "*shape"]:
    """Raise every entry to a power.

    Args:
        base: the entries.
        exponent: the power of each.

    Returns:
        The powers.
    """
    return tensor(base) ** tensor(exponent)


def index(value: Value, places: tuple[Value, ...]) -> Float[Tensor, "*shape"]:
    """Pick an entry; as in mathematics the first has the number 1.

    Args:
        value: a vector, a matrix, or a list of matrices.
        places: the number of the entry along each axis, from the first on.

    Returns:
        The entry, or what is left of the axes.

    Raises:
        ValueError: there is no such entry.
    """
    numbers = [int(tensor(place)) for place in places]
    chosen = tensor(value)
    for number in numbers:
        if chosen.ndim == 0 or not 1 <= number <= len(chosen):
            raise ValueError(f"there is no entry {numbers} in a tensor of shape {tuple(tensor(value).shape)}.")
        chosen = chosen[number - 1]
    return chosen


def _of(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *values: function(*(tensor(value) for value in values))


BUILT_IN: dict[str, Value] = {
    "e": math.e,
    "pi": math.pi,
    "exp": _of(torch.exp),
    "ln": _of(torch.log),
    "log_2": _of(torch.log2),
    "sin": _of(torch.sin),
    "cos": _of(torch.cos),
    "tanh": _of(torch.tanh),
    "erf": _of(torch.erf),
    "max": _of(torch.maximum),
    "min": _of(torch.minimum),
    "softmax": _of(lambda x: (x - x.amax(-1, keepdim=True)).exp() / (x - x.amax(-1, keepdim=True)).exp().sum(-1, True)),
    "diag": _of(lambda x: x.flatten().diag()),
    "mean": _of(lambda x: x.mean(-1, keepdim=x.ndim > 1)),
    "rowsum": _of(lambda x: x.sum(-1, keepdim=True)),
}
"""Names that every formula knows. There is no ``log``: a formula says ``ln`` or ``log_2``."""
