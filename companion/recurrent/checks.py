"""What the cells and layers of this package share: how weights start, and what is refused.

Made for this book. Chapter: book/history.
"""

from jaxtyping import Float
from torch import Tensor, nn


def draw_uniform(module: nn.Module, bound: float) -> None:
    """Draw every parameter of a module anew, uniform between minus and plus a bound.

    Args:
        module: what to fill.
        bound: the largest size of a weight.
    """
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -bound, bound)


def check_input(x: Float[Tensor, "..."], width: int) -> None:
    """Refuse an input whose last axis is not the width that a cell was built for, or that is empty.

    Args:
        x: what came.
        width: ``d_in`` of the cell.

    Raises:
        ValueError: the width differs, an axis is empty, or the numbers are no floats.
    """
    if x.ndim == 0 or x.shape[-1] != width or not x.is_floating_point():
        raise ValueError(
            f"the input is (..., d_in) of floats with d_in={width}: got {tuple(x.shape)} of {x.dtype}. "
            "Embed tokens, or project the input to that width first."
        )
    if x.numel() == 0:
        raise ValueError(f"no axis is empty: got an input {tuple(x.shape)}. Drop the empty sequences.")


def check_state(projected: Float[Tensor, "..."], d_hidden: int, **state: Float[Tensor, "..."]) -> None:
    """Refuse a state that does not fit the input of its step.

    Args:
        projected: input of the step, ``(*batch, gates * d_hidden)``.
        d_hidden: width of the cell's state.
        **state: its tensors by name.

    Raises:
        ValueError: a tensor has not the shape ``(*batch, d_hidden)``.
    """
    want = (*projected.shape[:-1], d_hidden)
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor) or tensor.shape != want:
            got = tuple(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ValueError(
                f"the state {name} of these inputs is {want}: got {got}. "
                "Give one row of width d_hidden for each input, or None for zeros."
            )
