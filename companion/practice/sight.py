"""Whether a result was computed where the check can follow.

Costs and forbidden calls are seen operation by operation, in torch and in the thread that calls the answer. NumPy, and
another thread, are out of sight.
"""

import contextlib

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_TO_NUMPY = {"numpy", "__array__", "__dlpack__"}


class Sight(contextlib.ExitStack):
    """Remember, while it is entered, which memory torch wrote in sight, and whether tensors went to NumPy.

    Args:
        given: what the answer is called with.
    """

    def __init__(self, given: object) -> None:
        super().__init__()
        self._writes, self._calls = _Writes(given), _Calls()

    def __enter__(self) -> "Sight":
        super().__enter__()
        self.enter_context(self._writes)
        self.enter_context(self._calls)
        return self

    def complaint(self, result: object, *, limited: bool) -> str | None:
        """Say in words that a result came from elsewhere, or ``None``.

        Args:
            result: what the answer returned.
            limited: whether costs are limited, so that NumPy is no place to compute in.

        Returns:
            A sentence or two, or ``None`` where everything was in sight.
        """
        hidden = [x for x in tree_leaves(result) if isinstance(x, Tensor) and not self._writes.known(x)]
        if limited and (self._calls.numpy or any(map(_of_numpy, hidden))):
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


class _Writes(TorchDispatchMode):
    def __init__(self, given: object) -> None:
        super().__init__()
        self._known: set[int] = set()
        self._note(given)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        result = func(*args, **(kwargs or {}))
        self._note(result)
        return result

    def _note(self, things: object) -> None:
        keys = (_memory(x) for x in tree_leaves(things) if isinstance(x, Tensor))
        self._known.update(key for key in keys if key is not None)

    def known(self, x: Tensor) -> bool:
        key = _memory(x)
        return key is None or key in self._known


class _Calls(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.numpy = False

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        self.numpy = self.numpy or getattr(func, "__name__", "") in _TO_NUMPY
        return func(*args, **(kwargs or {}))


def _memory(x: Tensor) -> int | None:
    """Name the memory of a tensor; a sparse one has none of its own."""
    return x.untyped_storage()._cdata if x.layout is torch.strided else None


def _of_numpy(x: Tensor) -> bool:
    """Whether the memory of a tensor was made by somebody else, as that of an array: torch cannot resize it."""
    return not x.untyped_storage().resizable()
