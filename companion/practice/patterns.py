"""General diagnoses: what all wrong results of an answer have in common, where no named mistake explains them.

They hold for every exercise, so they say what is seen and where to look. A sentence is told where it holds in two of
three cases that fail, or more.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from companion.practice import factors, likeness, places
from companion.practice.compare import TOLERANCE
from companion.practice.definition import Case, Exercise
from companion.practice.likeness import Pair
from companion.practice.outcome import Outcome

PATTERNS: tuple[Callable[[Pair], Iterator[str]], ...] = (
    likeness.not_in_dtype,
    likeness.not_in_shape,
    likeness.swapped_axes,
    likeness.one_too_many,
    likeness.reduced,
    likeness.moved,
    likeness.turned,
    factors.by_a_factor,
    likeness.with_an_argument,
    likeness.a_step_off,
    places.all_wrong_ones_nan,
    places.one_off,
    places.sums_along,
    places.by_rows,
    likeness.in_other_places,
    places.in_a_place,
)
"""In the order in which they are tried: those that say most come first."""

MOST = 20_000
"""Results with more entries than this are not looked at."""

ENOUGH = 3
"""Entries that must be wrong in all; numbers alone must be wrong in two cases."""

LIKE_ROUNDING = 1e-2
"""Largest difference, as a part of the largest entry, of which a dtype is told as the reason."""


def explain(
    exercise: Exercise, cases: Sequence[Case], mine: Sequence[Outcome], wants: Sequence[object], right: Sequence[bool]
) -> tuple[str, str] | None:
    """Say what the wrong results have in common.

    Args:
        exercise: what is asked.
        cases: all cases.
        mine: what the answer did on each.
        wants: the right result of each.
        right: whether the answer was right.

    Returns:
        The name of the pattern and a sentence or two; ``None`` where they have nothing in common.
    """
    failed = [i for i, passes in enumerate(right) if not passes]
    results = [(mine[i].value, wants[i], cases[i]) for i in failed if _has_result(mine[i])]
    if results and _has_result(mine[failed[0]]):
        found = _in_results(exercise, results)
        if found:
            return found
    rounded = all(not _has_result(mine[i]) or _as_rounding_would(mine[i].value, wants[i]) for i in failed)
    said = next(_which_cases(exercise, cases, right, dtypes=rounded), None)
    return ("cases", said) if said else None


def _has_result(outcome: Outcome) -> bool:
    return not (outcome.error or outcome.refusal or outcome.changed or outcome.excess)


def _in_results(exercise: Exercise, results: list[tuple[object, object, Case]]) -> tuple[str, str] | None:
    prefix = ""
    if isinstance(results[0][1], tuple | list) and (exercise.returns or not _one_kind(results[0][1])):
        count = len(results[0][1])
        results = [row for row in results if isinstance(row[0], tuple | list) and len(row[0]) == len(row[1]) == count]
        if not results:
            return None
        exchanged = _exchanged(exercise, results)
        if exchanged:
            return exchanged
        part = next((k for k in range(count) if _differ(exercise, results[0], k)), None)
        if part is None:  # the numbers are right
            part = next((k for k in range(count) if _type(results[0][0][k]) != _type(results[0][1][k])), None)
            if part is None:
                return None
            results = [(got[part], want[part], case) for got, want, case in results]
        else:
            differing = [row for row in results if _differ(exercise, row, part)]
            results = [(got[part], want[part], case) for got, want, case in differing]
        prefix = f"Of {exercise.returns[part] if exercise.returns else f'result {part + 1}'}: "
    pairs = [pair for row in results if (pair := _pair(exercise, *row)) is not None]
    if not pairs or (sum(pair.want.numel() for pair in pairs) < ENOUGH and len(pairs) < 2):
        return None
    largest = max(pairs, key=lambda pair: pair.want.numel())
    refused = _is_refused_for_type(exercise, *results[0][:2])
    for pattern in (likeness.not_in_dtype,) if refused else PATTERNS:
        said = [set(pattern(pair)) for pair in pairs]
        for sentence in dict.fromkeys([*pattern(pairs[0]), *pattern(largest)]):
            holds = sum(sentence in one for one in said)
            if 3 * holds >= 2 * len(pairs) and (holds > 1 or len(pairs) == 1):
                return pattern.__name__, prefix + sentence
    return None


def _one_kind(parts: Sequence[object]) -> bool:
    """Whether a list is one sequence of numbers or words, and not several results."""
    return len({type(x) for x in parts}) == 1 and type(parts[0]) in (int, float, bool, str)


def _type(x: object) -> object:
    return x.dtype if isinstance(x, Tensor) else type(x)


def _is_refused_for_type(exercise: Exercise, got: object, want: object) -> bool:
    """Whether the type alone refuses a result, so that nothing was compared."""
    if not isinstance(want, bool | int | str) or (hasattr(got, "item") and not exercise.same_dtype):
        return False
    return type(got) is not type(want)


def _differ(exercise: Exercise, row: tuple[object, object, Case], part: int) -> bool:
    if type(row[0][part]) is type(row[1][part]) is int:  # exact, however large
        return row[0][part] != row[1][part]
    pair = _pair(exercise, row[0][part], row[1][part], row[2])
    return pair is not None and not pair.like(pair.got, pair.want)


def _exchanged(exercise: Exercise, results: list[tuple[object, object, Case]]) -> tuple[str, str] | None:
    """Notice right results in another order."""
    count = len(results[0][1])
    if not 2 <= count <= 4:
        return None
    for order in itertools.permutations(range(count)):
        if order != tuple(range(count)) and all(
            not _differ(exercise, ([got[k] for k in order], want, case), part)
            and _pair(exercise, got[order[part]], want[part], case)
            for got, want, case in results
            for part in range(count)
        ):
            names = f": {', '.join(exercise.returns)} are asked for" if exercise.returns else ""
            return "exchanged", f"Your results are right and come in another order{names}."
    return None


def _pair(exercise: Exercise, got: object, want: object, case: Case) -> Pair | None:
    """Make two results of one kind comparable; ``None`` where they are not."""
    arguments = dict(zip(exercise.parameters, case.arguments, strict=True))
    one, other = _as_tensor(got), _as_tensor(want)
    if one is None and isinstance(want, list | tuple | str) and isinstance(got, list | tuple | str):
        try:
            known = {word: i for i, word in enumerate(dict.fromkeys([*want, *got]))}
        except TypeError:
            return None
        one, other = ([known[word] for word in x] for x in (got, want))
        return Pair(torch.tensor(one).double(), torch.tensor(other).double(), arguments, 0.0, numbers=False, whole=True)
    if one is None or other is None or max(one.numel(), other.numel()) > MOST:
        return None
    if type(got) is type(want) is int and not (_is_whole(got) and _is_whole(want)):
        return None  # float64 would take two that differ for one
    whole = not other.is_floating_point()
    allowed = 0.0 if whole else 10 * exercise.tolerance.get(other.dtype, TOLERANCE[torch.float32])
    if one.dtype in (torch.float32, torch.float16, torch.bfloat16) and not whole:
        allowed = max(allowed, TOLERANCE[torch.float32])
    numbers = other.dtype != torch.bool
    same = _type(got) == _type(want)
    return Pair(
        one.double(), other.double(), arguments, allowed, numbers=numbers, whole=whole and numbers, same_type=same
    )


def _as_tensor(x: object) -> Tensor | None:
    if isinstance(x, Tensor):
        return None if x.is_complex() or x.layout is not torch.strided else x.detach().cpu()
    if isinstance(x, bool | int | float) or (
        isinstance(x, list | tuple) and x and all(type(y) in (int, float) for y in x)
    ):
        return torch.tensor(x, dtype=None if _is_whole(x) else torch.float64)
    return None


def _is_whole(x: object) -> bool:
    parts = x if isinstance(x, list | tuple) else (x,)
    return all(isinstance(y, int) and abs(y) < 2**53 for y in parts)


def _as_rounding_would(got: object, want: object) -> bool:
    """Whether two results differ by so little that a dtype may be the reason."""
    mine, theirs = ([torch.as_tensor(x) for x in tree_leaves(result) if _counts(x)] for result in (got, want))
    if [x.shape for x in mine] != [x.shape for x in theirs]:
        return False
    for one, other in zip(mine, theirs, strict=True):
        gap = (one.detach().cpu().double() - other.double()).abs().masked_fill(one.cpu() == other, 0.0)
        largest = other[other.isfinite()].double().abs().max().item() if other.isfinite().any() else 0.0
        if not bool((gap <= LIKE_ROUNDING * largest).all()):
            return False
    return True


def _counts(x: object) -> bool:
    return (
        isinstance(x, bool | float)
        or (isinstance(x, int) and _is_whole(x))
        or (isinstance(x, Tensor) and not x.is_complex() and x.layout is torch.strided)
    )


def _which_cases(exercise: Exercise, cases: Sequence[Case], right: Sequence[bool], *, dtypes: bool) -> Iterator[str]:
    """Find a property of the arguments that the wrong cases have, and no others."""
    if not any(right) or all(right):
        return
    traits = [_traits(exercise, case, dtypes=dtypes) for case in cases]
    for trait in dict.fromkeys(itertools.chain(*traits)):
        has = [trait in one for one in traits]
        if all(one != passes for one, passes in zip(has, right, strict=True)):
            yield f"The cases that are wrong are those in which {trait}; all others are right."


def _traits(exercise: Exercise, case: Case, *, dtypes: bool) -> list[str]:
    found = []
    for name, value in zip(exercise.parameters, case.arguments, strict=True):
        if value is None:
            found.append(f"`{name}` is None")
        elif isinstance(value, bool):
            found.append(f"`{name}` is {value}")
        elif isinstance(value, int | float):
            found += [f"`{name}` is {x}" for x in (0, 1) if value == x]
            found += [f"`{name}` is more than 1"] if value > 1 else []
        elif isinstance(value, Tensor):
            found += [f"`{name}` is given"] + [f"`{name}` has more than {n} axes" for n in (1, 2, 3) if value.ndim > n]
            dtype = str(value.dtype).removeprefix("torch.")
            found += [f"`{name}` is {dtype}"] if dtypes and value.is_floating_point() else []
            if value.dtype == torch.bool and value.ndim:
                found += [f"a row of `{name}` is all False"] if not value.any(-1).all() else []
                found += [f"something in `{name}` is False"] if not value.all() else []
            found += [f"`{name}` has an axis of size {x}" for x in (0, 1) if x in value.shape]
        elif isinstance(value, list | tuple | str):
            found += [f"`{name}` is empty"] if not value else []
            found += [f"`{name}` has one entry"] if len(value) == 1 else []
    return found
