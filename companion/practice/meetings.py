"""Cases in which sizes are equal, or 1, that are not so in any case of an exercise, made from these.

A transpose or a broadcast that is right only where two sizes differ shows where they are equal by chance. So a case is
grown along its axes until they are. Numbers with fractions are repeated, three quarters as large each time; of a mask,
of lengths and of tokens the last entry is repeated, so that padding stays where it is. A `squeeze` shows where a size
is 1: there a case is cut to its first entries along one axis.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from companion.practice.budget import NO_BUDGET

if TYPE_CHECKING:
    from companion.practice.definition import Case, Exercise

Place = tuple[int, int]
"""An argument, and an axis of it counted from the right; 0 for a whole number that is a size itself."""

Sizes = dict[Place, int]

NUMBERS = 100_000
"""No case is grown to more."""

ARGUMENTS = 10
"""What has more is a whole model: its parts are exercises of their own, and running it takes long."""


EQUAL, SINGLE = "sizes that are equal by chance", "a size of 1"
"""What the cases that are made are called."""

FEW = 3
"""A size that no more cases have may be the same in all of them by chance."""


def meetings(exercise: Exercise) -> tuple[Case, ...]:
    """Make cases in which sizes are equal, or 1, that no case of an exercise has so.

    Args:
        exercise: whose cases are grown and shortened.

    Returns:
        As few as do, the smallest first; none where the reference does not work on what would come.
    """
    if len(exercise.parameters) > ARGUMENTS:
        return ()
    return (*_met(exercise), *_single(exercise))


def _single(exercise: Exercise) -> Iterator[Case]:
    """Make cases with a size of 1 that is 1 in no case, as a batch of one.

    What counts or hides along an axis may not fit a shorter one: beside whole numbers and masks the first axes alone
    are tried.
    """
    every = [sizes(exercise, case) for case in exercise.cases()]
    met = {place for other in every for place, size in other.items() if size == 1}
    for base in _bases(exercise):
        have, tensors = sizes(exercise, base), [x for x in base.arguments if isinstance(x, Tensor)]
        exact = all(x.is_floating_point() for x in tensors)
        for group in _dimensions(have, every):
            first = all(axis and axis == -base.arguments[i].ndim for i, axis in group)
            if not all(_varies(place, every) for place in group):
                continue
            if (first or exact) and not met.intersection(group) and _grows(exercise, base, group):
                single = _shortened(base, group)
                if _works(exercise, single):
                    met |= set(group)
                    yield single


def _met(exercise: Exercise) -> Sequence[Case]:
    every = [sizes(exercise, case) for case in exercise.cases()]
    met, made = set().union(*map(_equal, every)), []
    for base in _bases(exercise):
        have = sizes(exercise, base)
        if _equal(dict.fromkeys(have, 1)) <= met:  # nothing is left to meet
            continue
        groups = [group for group in _dimensions(have, every) if all(_varies(place, every) for place in group)]
        free = {place for group in groups for place in group if _grows(exercise, base, group)}
        for size in sorted(set(have.values()), reverse=True):
            wanted = {place: max(n, size) if place in free else n for place, n in have.items()}
            if not _equal(wanted) <= met and _works(exercise, grown := _grown(base, wanted)):
                met |= _equal(wanted)
                made.append(grown)
    return sorted(made, key=_numbers)


def sizes(exercise: Exercise, case: Case) -> Sizes:
    """Give the sizes of a case: those of its tensors, and the whole numbers whose name begins with ``n_``.

    Args:
        exercise: whose case it is.
        case: one of them.

    Returns:
        The sizes by their places.
    """
    found = {}
    for i, (name, x) in enumerate(zip(exercise.parameters, case.arguments, strict=True)):
        if isinstance(x, Tensor):
            found |= {(i, axis): x.shape[axis] for axis in range(-x.ndim, 0)}
        elif name.startswith("n_"):
            found[i, 0] = x
    return found


def _equal(have: Sizes) -> set[tuple[Place, Place]]:
    return {(p, q) for p, q in itertools.combinations(sorted(have), 2) if have[p] == have[q]}


def _bases(exercise: Exercise) -> Iterator[Case]:
    """Give a case of each number of axes: the smallest, rather one that is not special and has no size of 1."""
    seen = []
    for case in sorted(exercise.cases(), key=lambda x: (bool(x.note), 1 in sizes(exercise, x).values(), _numbers(x))):
        have = sizes(exercise, case)
        if have.keys() not in seen and 0 not in have.values():
            seen.append(have.keys())
            yield case


def _dimensions(have: Sizes, every: Collection[Sizes]) -> Collection[list[Place]]:
    """Put places together that have one size in each case with these places."""
    groups: dict[tuple[int, ...], list[Place]] = {}
    for place in have:
        groups.setdefault(tuple(other[place] for other in every if other.keys() == have.keys()), []).append(place)
    return groups.values()


def _varies(place: Place, every: Collection[Sizes]) -> bool:
    """Whether a size is not one that is always the same, as of three matrices in one tensor."""
    seen = [other[place] for other in every if place in other]
    return len(seen) <= FEW or len(set(seen)) > 1


def _grows(exercise: Exercise, base: Case, group: list[Place]) -> bool:
    """Whether the reference works where these places alone are longer, so that no other size follows from theirs."""
    have = sizes(exercise, base)
    if any(axis == 0 or exercise.parameters[i] in exercise.fixed for i, axis in group):
        return False
    return _works(exercise, _grown(base, have | dict.fromkeys(group, have[group[0]] + 1)))


def _shortened(base: Case, group: list[Place]) -> Case:
    arguments = list(base.arguments)
    for i, axis in group:
        arguments[i] = arguments[i].narrow(axis, 0, 1).clone()
    return dataclasses.replace(base, arguments=tuple(arguments), note=SINGLE)


def _grown(base: Case, wanted: Sizes) -> Case:
    arguments = list(base.arguments)
    for (i, axis), size in wanted.items():
        if axis:
            arguments[i] = _longer(arguments[i], axis, size)
    return dataclasses.replace(base, arguments=tuple(arguments), note=EQUAL)


def _longer(x: Tensor, axis: int, size: int) -> Tensor:
    length, places = x.shape[axis], torch.arange(size)
    if not x.is_floating_point():
        return x.index_select(axis, places.clamp(max=length - 1))
    factors = 0.75 ** (places // length)
    return x.index_select(axis, places % length) * factors.to(x.dtype).view(-1, *[1] * (-axis - 1))


def _numbers(case: Case) -> int:
    return sum(x.numel() for x in case.arguments if isinstance(x, Tensor))


def _works(exercise: Exercise, case: Case) -> bool:
    if _numbers(case) > NUMBERS or exercise.allowed(case) != NO_BUDGET:
        return False
    try:
        result = exercise.results(exercise.reference, copy.deepcopy(case.arguments))
    except Exception:
        return False
    return not any(x.isnan().any() for x in tree_leaves(result) if isinstance(x, Tensor))
