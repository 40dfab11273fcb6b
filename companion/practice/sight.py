"""Whether a result was computed where the check can follow.

Costs and forbidden calls are seen operation by operation, in torch and in the thread that calls the answer. NumPy, and
another thread, are out of sight.
"""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from companion.practice.operations import Operation

_TO_NUMPY = {"numpy", "__array__", "__dlpack__"}


class Sight(TorchFunctionMode):
    """Remember which memory torch wrote in sight and, while it is entered, whether tensors went to NumPy.

    Args:
        given: what the answer is called with.
    """

    def __init__(self, given: object) -> None:
        super().__init__()
        self._known = {_memory(x) for x in tree_leaves(given) if isinstance(x, Tensor)}
        self._numpy = False

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Run a function of torch and take note where it hands a tensor to NumPy."""
        self._numpy = self._numpy or getattr(func, "__name__", "") in _TO_NUMPY
        return func(*args, **(kwargs or {}))

    def see(self, operation: Operation) -> None:
        """Take note of the memory into which an operation wrote.

        Args:
            operation: that has run.
        """
        self._known.update(map(_memory, operation.made))

    def complaint(self, result: object, *, limited: bool) -> str | None:
        """Say in words that a result came from elsewhere, or ``None``.

        Args:
            result: what the answer returned.
            limited: whether costs are limited, so that NumPy is no place to compute in.

        Returns:
            A sentence or two, or ``None`` where everything was in sight.
        """
        found = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
        hidden = [x for x in found if _memory(x) not in {*self._known, None}]
        if limited and (self._numpy or any(map(_of_numpy, hidden))):
            return (
                "The numbers are right, but your code computes in NumPy, and the check counts memory and work in torch "
                "only. Where they are limited, stay in torch."
            )
        if any(not _of_numpy(x) for x in hidden):
            return (
                "The numbers are right, but they were computed where the check cannot follow, in another thread, say. "
                "Compute them in your function itself."
            )
        return None


def _memory(x: Tensor) -> int | None:
    """Name the memory of a tensor; a sparse one has none of its own."""
    return x.untyped_storage()._cdata if x.layout is torch.strided else None


def _of_numpy(x: Tensor) -> bool:
    """Whether the memory of a tensor was made by somebody else, as that of an array: torch cannot resize it."""
    return not x.untyped_storage().resizable()
