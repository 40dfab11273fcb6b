"""Trials: what a check does with an answer that is more than one call, and what it looks at.

A trial is a function of the answer and of a case's arguments. It calls the answer as often as it needs to, chunk by
chunk or step by step, and returns what is compared with the same trial of the reference: outputs, gradients, losses.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._pytree import tree_leaves


class Unanswered(Exception):
    """The answer returned ``None`` or ``...`` in a trial, as a stub does; ``value`` is which."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class Refusal(Exception):
    """What the answer returned cannot be used, or breaks a rule of the statement; the message says so to the reader."""


class Changed(Exception):
    """The answer wrote into an argument that its caller still needs; ``name`` says which."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def untouched(**pairs: tuple[object, object]) -> None:
    """See that an answer left alone what a trial handed over as copies.

    Args:
        **pairs: for each argument, by its name, what was given and the copy after the call.

    Raises:
        Changed: the two differ.
    """
    for name, pair in pairs.items():
        if not same(*pair):
            raise Changed(name)


def same(before: object, after: object) -> bool:
    """Say whether an argument is as it was.

    Args:
        before: what was given; tensors within tuples and lists count as well.
        after: the same after the call.

    Returns:
        Whether no shape, dtype or entry differs; NaN is like NaN.
    """
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        return bool(((before == after) | (before.isnan() & after.isnan())).all())
    if isinstance(before, tuple | list) and isinstance(after, tuple | list):
        return len(before) == len(after) and all(same(*pair) for pair in zip(before, after, strict=True))
    return type(before) is type(after) and before == after


def answering(function: Callable[..., object]) -> Callable[..., object]:
    """Make the function that ends a trial when the answer returns nothing.

    Raises:
        Unanswered: by the function that is made, where the answer returns ``None`` or ``...``.
    """

    def call(*arguments: object) -> object:
        value = function(*arguments)
        if value is None or value is Ellipsis:
            raise Unanswered(value)
        return value

    return call


def several(value: object, *names: str) -> tuple[object, ...]:
    """Take apart what an answer returned.

    Args:
        value: what it returned.
        *names: of the results that are expected, for the message.

    Returns:
        The results.

    Raises:
        Refusal: it is not a tuple or list of as many results as there are names.
    """
    if isinstance(value, tuple | list) and len(value) == len(names):
        return tuple(value)
    got = f"{len(value)} results" if isinstance(value, tuple | list) else f"one {type(value).__name__}"
    raise Refusal(f"Your function returned {got}; each call returns {len(names)}: {', '.join(names)}.")


def tensor(value: object, *shape: int) -> Float[Tensor, "..."]:
    """Take a tensor of this shape, so that a trial can go on with it.

    Args:
        value: what an answer returned.
        *shape: that it must have.

    Returns:
        The same tensor.

    Raises:
        Refusal: it is something else.
    """
    got = f"of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
    if not isinstance(value, Tensor) or tuple(value.shape) != shape:
        raise Refusal(f"Your output is {got}; a tensor of shape {shape} is expected.")
    return value


def gradients(output: Float[Tensor, "..."], inputs: Sequence[Float[Tensor, "..."]]) -> tuple[Float[Tensor, "..."], ...]:
    """Give the gradients of a weighted sum of an output, whose weights all differ; zeros where nothing depends.

    Args:
        output: of any shape.
        inputs: leaves that require gradients.

    Returns:
        One gradient for each input.
    """
    if not output.requires_grad:
        return tuple(map(torch.zeros_like, inputs))
    weights = torch.arange(1, output.numel() + 1, dtype=torch.float64).cos().to(output.dtype)
    total = (output * weights.view_as(output)).sum()
    return torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)


def entries(thing: object) -> int:
    """Count the numbers that an object keeps in tensors, however it nests them; memory that is shared counts once."""
    found, seen, todo = {}, set(), [thing]
    while todo:
        for leaf in tree_leaves(todo.pop()):
            if isinstance(leaf, Tensor):
                storage = leaf.untyped_storage()
                found[storage.data_ptr()] = storage.nbytes() // leaf.element_size()
            elif hasattr(leaf, "__dict__") and id(leaf) not in seen:
                seen.add(id(leaf))
                todo.append(list(vars(leaf).values()))
    return sum(found.values())
