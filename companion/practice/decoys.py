"""Calls around the cases, with other numbers of the same sizes: what an answer keeps by sizes spoils the case itself.

A mask that is kept by the sizes of the arguments is right until these sizes come with another content. So the check
calls an answer with such a content first, and ignores what comes of it: the numbers need not make sense, and an answer
that depends on its arguments alone is none the worse for any call. A buffer that is kept by sizes is written anew in
each call, and what an earlier call handed out changes with it: so the check calls the answer once more after the case.
"""

import contextlib
import copy
import io
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType, FrameType, FunctionType, ModuleType

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from companion.practice.definition import Case, Exercise
from companion.practice.trial import same

LINES = 50_000
"""Lines of the answer's own after which a call is stopped: numbers that make no sense may keep a loop from ending."""

NUMBERS = 20_000
"""Cases with more numbers than this have no such call: they are there for their cost."""


class Endless(BaseException):
    """A call ran for too many lines; no ``except Exception`` of the answer's stops this."""


def call_between(
    exercise: Exercise, function: Callable[..., object], cases: Sequence[Case], index: int, *, after: bool = False
) -> None:
    """Call an answer with the sizes of a case and other numbers, and forget what it does.

    Args:
        exercise: how the answer is called.
        function: the answer.
        cases: all of the exercise; whole numbers and the like are taken from one case into another.
        index: of the case that comes next, or was run just now.
        after: whether it was run just now; the numbers are then others in as much as they can be.
    """
    arguments = decoy(cases, index, way=0 if after else None)
    if arguments is not None:
        _call_quietly(exercise, function, arguments)


@contextlib.contextmanager
def stopped_in_time(function: Callable[..., object]) -> Iterator[None]:
    """Stop a function, by :class:`Endless`, when it has run for too many lines of its own module; print nothing.

    Args:
        function: that is called within.
    """
    lines, own = 0, _space(function)

    def count(frame: FrameType, event: str, argument: object) -> Callable[..., object] | None:
        nonlocal lines
        if frame.f_globals is not own:  # torch may import a part of itself here, and that must not be stopped
            return None
        lines += 1
        if lines > LINES:
            raise Endless
        return count

    tracer, hook = sys.gettrace(), sys.breakpointhook
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sys.breakpointhook = lambda *_, **__: None
            sys.settrace(count)
            yield
        finally:
            sys.settrace(tracer)
            sys.breakpointhook = hook


def _call_quietly(exercise: Exercise, function: Callable[..., object], arguments: Sequence[object]) -> None:
    """Call an answer for what it keeps: what it prints, raises or never ends is no matter."""
    with contextlib.suppress(Exception, Endless), stopped_in_time(function):
        exercise.results(function, arguments)


def decoy(cases: Sequence[Case], index: int, way: int | None = None) -> tuple[object, ...] | None:
    """Make arguments of the sizes of a case with another content.

    From case to case it changes all that has entries, one argument of these, those without fractions first (a mask,
    lengths), or one plain number. Before every second case the dtype is another too: what is kept by sizes has the
    dtype of the call that came first.

    Args:
        cases: all of an exercise.
        index: of the case whose sizes are taken.
        way: which of these it changes; 0 for all that has entries. Without it that depends on the case.

    Returns:
        Arguments; ``None`` for a large case, and where nothing can be changed.
    """
    given = copy.deepcopy(cases[index].arguments)
    if sum(x.numel() for x in given if isinstance(x, Tensor)) > NUMBERS:
        return None
    filled = [i for i, x in enumerate(given) if _has_entries(x)]
    alone = sorted(filled, key=lambda i: isinstance(given[i], Tensor) and given[i].is_floating_point())
    plain = [i for i, x in enumerate(given) if isinstance(x, bool | int | float)]
    ways = [filled] if filled else []
    ways += [[i] for i in plain]
    ways += [[i] for i in alone] if len(filled) > 1 else []
    if not ways:
        return None
    chosen = ways[index % len(ways) if way is None else way]
    elsewhere = [case.arguments for case in itertools.chain(cases[index + 1 :], cases[:index])]
    changed = [_other(x, [other[i] for other in elsewhere]) if i in chosen else x for i, x in enumerate(given)]
    if way is None and index % 2:
        changed = tree_map(_in_other_dtype, changed)
    return None if all(map(same, given, changed)) else tuple(changed)


def call_in_other_memory(
    exercise: Exercise, function: Callable[..., object], cases: Sequence[Case], index: int
) -> tuple[object, ...] | None:
    """Call an answer with other numbers in tensors that are not contiguous, then write those of a case over them.

    Args:
        exercise: how the answer is called.
        function: the answer.
        cases: all of the exercise.
        index: of the case.

    Returns:
        The arguments of the case in the tensors with which the answer was called before, none of which is contiguous;
        ``None`` where the case has no tensor that can lie otherwise.
    """
    given = cases[index].arguments
    arguments = tree_map(_scattered, copy.deepcopy(given))
    pairs = [(x, y) for x, y in zip(tree_leaves(arguments), tree_leaves(given), strict=True) if isinstance(x, Tensor)]
    if all(x.is_contiguous() for x, _ in pairs):
        return None
    other = decoy(cases, index, way=0)
    if other is not None:
        for x, y in zip(tree_leaves(arguments), tree_leaves(other), strict=True):
            if isinstance(x, Tensor):
                x.copy_(y)
        _call_quietly(exercise, function, arguments)
        for x, y in pairs:
            x.copy_(y)
    return arguments


def _scattered(x: object) -> object:
    """Give a tensor whose entries lie in another order in memory, with others between them; give all else as it is."""
    if not isinstance(x, Tensor) or x.requires_grad or x.layout is not torch.strided or not x.ndim:
        return x
    turned = x.permute(*reversed(range(x.ndim)))
    return torch.stack([turned, turned], dim=-1)[..., 0].permute(*reversed(range(x.ndim)))


def _in_other_dtype(x: object) -> object:
    if not isinstance(x, Tensor) or not x.is_floating_point():
        return x
    return x.float() if x.dtype == torch.float64 else x.double()


def _has_entries(x: object) -> bool:
    return isinstance(x, Tensor | list | tuple | str | dict) and (bool(x.numel()) if isinstance(x, Tensor) else bool(x))


def _other(x: object, elsewhere: Sequence[object] = ()) -> object:
    """Give the same entries in another order, or other entries where that changes nothing."""
    if isinstance(x, Tensor):
        return _other_tensor(x)
    if isinstance(x, str):
        return x[::-1]
    if isinstance(x, dict):
        return {key: _other(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        if all(isinstance(part, Tensor | list | tuple | dict) for part in x):
            return type(x)(map(_other, x))
        return type(x)([*x[1:], x[0]]) if x[1:] else x
    if isinstance(x, bool):
        return not x
    return next((y for y in elsewhere if type(y) is type(x) and y != x), x)


def _other_tensor(x: Tensor) -> Tensor:
    moved = x.flatten().roll(1).view(x.shape)
    if not same(x, moved):
        return moved
    if x.dtype == torch.bool:
        return ~x
    return torch.where(x > 0, x - 1, x + 1) if not x.is_floating_point() else x / 2 + 0.25


def kept(function: Callable[..., object]) -> dict[object, object]:
    """Find what a function can keep from call to call: what it encloses, its defaults, attributes, and globals.

    Args:
        function: an answer; the functions beside it that it calls count as well.

    Returns:
        Everything found, by its identity: two calls differ where something was put in or taken out in between.
    """
    found: dict[object, object] = {}
    todo: list[object] = [function]
    while todo:
        thing = todo.pop()
        if id(thing) not in found and not isinstance(thing, ModuleType | type):
            found[id(thing)] = thing
            todo += _held(thing, _space(function))
            if hasattr(thing, "cache_info"):
                found[id(thing), thing.cache_info().currsize] = thing
    return found


def _space(function: Callable[..., object]) -> dict[str, object]:
    """Give the variables of the module, or notebook, in which an answer is written."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__globals__", None) or vars(sys.modules[type(function).__module__])


def _held(thing: object, space: dict[str, object]) -> list[object]:
    if isinstance(thing, Tensor):
        return []
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set):
        return list(thing)
    held = [thing.__wrapped__] if hasattr(thing, "cache_info") and hasattr(thing, "__wrapped__") else []
    if isinstance(thing, FunctionType):
        held += [thing.__defaults__, thing.__kwdefaults__]
        for cell in thing.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty one
                held.append(cell.cell_contents)
        if thing.__globals__ is space:
            held += [space[name] for name in _names(thing.__code__) if name in space]
    return held + (list(vars(thing).values()) if hasattr(thing, "__dict__") else [])


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
