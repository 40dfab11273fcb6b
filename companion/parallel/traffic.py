"""Counting the bytes that torch's engine exchanges between processes.

A ring's share: Patarasuk and Yuan (2009). Chapter: book/scaling.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from companion.cost import ring_bytes

KINDS = {
    "allreduce_": "all-reduce",
    "all_reduce": "all-reduce",
    "_allgather_base_": "all-gather",
    "all_gather_into_tensor": "all-gather",
    "_reduce_scatter_base_": "reduce-scatter",
    "reduce_scatter_tensor": "reduce-scatter",
    "send": "send",
}
"""The names of torch's operations, in c10d and in its functional form."""


class Traffic(TorchDispatchMode):
    """Count the bytes of the tensors that this process exchanges with others, by kind of exchange.

    Use it as a context manager, in each process. An all-gather counts the whole tensor that it makes, a reduce-scatter
    the whole tensor that it takes. Whole numbers, by which the engine organises itself, are left out.

    Attributes:
        bytes: what was exchanged, by kind.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        """Run an operation, and note what it exchanges."""
        if func.namespace in ("c10d", "_c10d_functional") and (kind := KINDS.get(func._opname)):
            leaves = tree_leaves((args, kwargs))
            tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()]
            self.bytes[kind] += max((tensor.numel() * tensor.element_size() for tensor in tensors), default=0)
        return func(*args, **(kwargs or {}))

    def sent(self, processes: int) -> int:
        """Count the bytes that each process sends if these exchanges go around a ring.

        Args:
            processes: how many there are.
        """
        return sum(ring_bytes(size, processes, kind) for kind, size in self.bytes.items())
