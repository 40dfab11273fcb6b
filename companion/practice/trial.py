"""Trials: what a check does with an answer that is more than one call, and what it looks at.

A trial is a function of the answer and of a case's arguments. It calls the answer as often as it needs to, chunk by
chunk or step by step, and returns what is compared with the same trial of the reference: outputs, gradients, losses.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes
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
        before: what was given; tensors within tuples, lists and dictionaries count as well.
        after: the same after the call.

    Returns:
        Whether no shape, dtype or entry differs, nor whether gradients are recorded; NaN is like NaN.
    """
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        if any(getattr(before, fact) != getattr(after, fact) for fact in ("shape", "dtype", "requires_grad")):
            return False
        return bool(((before == after) | (before.isnan() & after.isnan())).all())
    if isinstance(before, tuple | list) and isinstance(after, tuple | list):
        return len(before) == len(after) and all(same(*pair) for pair in zip(before, after, strict=True))
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after) and all(same(before[key], after[key]) for key in before)
    return type(before) is type(after) and before == after


def answering(
    function: Callable[..., object], names: Sequence[str] = (), free: Collection[str] = ()
) -> Callable[..., object]:
    """Make the function that ends a trial when the answer returns nothing, or changes what it was called with.

    Args:
        function: the answer.
        names: of its arguments; those without a name here are not watched.
        free: the names of those that it may change.

    Returns:
        A function with the same arguments and results.

    Raises:
        Unanswered: by the function that is made, where the answer returns ``None`` or ``...``.
        Changed: by the function that is made, where a tensor, or a tuple, list, dictionary or set of the arguments,
            is not as it was; other objects, modules among them, are not watched.
    """

    def call(*arguments: object) -> object:
        watched = {name: x for name, x in zip(names, arguments, strict=False) if name not in free}
        with _disable_current_modes():  # the copies are not the answer's: they cost it nothing
            before = {name: _copied(x) for name, x in watched.items()}
        value = function(*arguments)
        if value is None or value is Ellipsis:
            raise Unanswered(value)
        with _disable_current_modes():
            untouched(**{name: (before[name], x) for name, x in watched.items()})
        return value

    return call


def _copied(x: object) -> object:
    """Copy tensors, at any depth of tuples, lists and dictionaries, and sets; give other objects as they are."""
    if isinstance(x, Tensor):
        return x.detach().clone().requires_grad_(x.requires_grad)
    if isinstance(x, tuple | list):
        return [_copied(part) for part in x]
    if isinstance(x, dict):
        return {key: _copied(part) for key, part in x.items()}
    return set(x) if isinstance(x, set) else x


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
    """Count the numbers that an object keeps, however it nests them; memory that is shared counts once.

    Tensors, arrays of NumPy and plain numbers count; they are looked for in containers, in the attributes of objects,
    and in what functions hold, but not in variables of modules and classes.
    """
    found, plain, seen, todo = {}, 0, set(), [thing]
    while todo:
        for leaf in tree_leaves(todo.pop()):
            if isinstance(leaf, Tensor):
                storage = leaf.untyped_storage()
                found[storage.data_ptr()] = storage.nbytes() // leaf.element_size()
            elif hasattr(leaf, "__array_interface__"):
                found.setdefault(leaf.__array_interface__["data"][0], leaf.size)
            elif isinstance(leaf, int | float):
                plain += 1
            elif id(leaf) not in seen:
                seen.add(id(leaf))
                todo.append(_held(leaf))
    return sum(found.values()) + plain


def _held(thing: object) -> list[object]:
    """List what an object holds: its attributes, what a function encloses, and what a method is bound to."""
    own = hasattr(thing, "__dict__") and not isinstance(thing, type | ModuleType)
    held = list(vars(thing).values()) if own else []
    if isinstance(thing, FunctionType):
        held += [cell.cell_contents for cell in thing.__closure__ or () if cell != _EMPTY]
        held += [thing.__defaults__, thing.__kwdefaults__]
    elif isinstance(thing, MethodType):
        held += [thing.__self__, thing.__func__]
    elif isinstance(thing, partial):
        held += [thing.func, thing.args, thing.keywords]
    return held


_EMPTY = CellType()
