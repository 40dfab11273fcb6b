"""The operations of torch that an answer runs, shown to whatever watches them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode


class Operation(NamedTuple):
    """One that has run, with the tensors that it was given and those that it returned, at any depth of lists."""

    func: OpOverload
    args: tuple
    kwargs: dict
    result: object
    given: list[Tensor]
    made: list[Tensor]


class Operations(TorchDispatchMode):
    """Show each operation to several watchers, while it is entered.

    A mode takes longer than most operations of the exercises do, so there is one for all that watches.

    Args:
        before: functions that are called with each operator before it runs.
        after: functions that are called with each operation when it has run.
    """

    def __init__(
        self,
        before: Sequence[Callable[[OpOverload], None]] = (),
        after: Sequence[Callable[[Operation], None]] = (),
    ) -> None:
        super().__init__()
        self._before, self._after = before, after

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # torch asks; skipping loads the whole compiler at the first operation
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Run an operation, and show it before and after."""
        kwargs = kwargs or {}
        for look in self._before:
            look(func)
        result = func(*args, **kwargs)
        if self._after:
            done = Operation(func, args, kwargs, result, tensors(*args, *kwargs.values()), tensors(result))
            for look in self._after:
                look(done)
        return result


def tensors(*things: object) -> list[Tensor]:
    """Find the tensors among arguments or results of an operator, also in tuples and lists.

    Args:
        *things: what an operator was given or has returned.

    Returns:
        The tensors, in no order.
    """
    found, todo = [], list(things)
    while todo:
        thing = todo.pop()
        if isinstance(thing, Tensor):
            found.append(thing)
        elif isinstance(thing, tuple | list):
            todo += thing
    return found
