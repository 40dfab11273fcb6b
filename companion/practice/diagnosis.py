"""Find what explains a wrong answer: a named mistake, two of them at once, or a pattern of what is wrong."""

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor
from torch.utils._pytree import tree_leaves

from companion.practice import patterns, running
from companion.practice.compare import TOLERANCE, difference
from companion.practice.decoys import Endless, stopped_in_time
from companion.practice.definition import Case, Edit, Exercise, Mistake, edited
from companion.practice.outcome import Outcome


@dataclass(frozen=True)
class Diagnosis:
    """What explains a wrong answer: the name of a mistake, or of a pattern, and what the reader is told."""

    mistake: str | None = None
    why: str | None = None
    pattern: str | None = None


NOTHING = Diagnosis()

LONGEST = 3.0
"""Seconds of work after which no more pairs of mistakes are tried, so that a refusal comes soon."""


def diagnose(exercise: Exercise, cases: Sequence[Case], wants: Sequence[object], mine: Sequence[Outcome]) -> Diagnosis:
    """Find what explains a wrong answer.

    A mistake explains an answer when it does the same on the first case that fails, on one more where more fail, and
    is right wherever the answer is right, but for errors and NaN. Of several the one that explains the most cases is
    taken; a tie names none. Then two mistakes at once are tried, and at last what is true of any exercise.

    Args:
        exercise: whose mistakes to try.
        cases: all cases.
        wants: the right result for each.
        mine: what the answer did on each.

    Returns:
        What was found; :data:`NOTHING` where nothing was.
    """
    right = [running.problem(exercise, *pair) is None for pair in zip(mine, wants, strict=True)]
    mistake = _single(exercise, cases, wants, mine, right)
    if mistake:
        return Diagnosis(mistake.name, mistake.diagnosis)
    both = _double(exercise, cases, wants, mine, right)
    if both:
        one, other = both
        why = f"Two things at once. {one.diagnosis} And the other: {other.diagnosis}"
        return Diagnosis(f"{one.name} + {other.name}", why)
    found = patterns.explain(exercise, cases, mine, wants, right)
    return Diagnosis(None, found[1], found[0]) if found else NOTHING


def _single(
    exercise: Exercise, cases: Sequence[Case], wants: Sequence[object], mine: Sequence[Outcome], right: Sequence[bool]
) -> Mistake | None:
    explained = {}
    for mistake in exercise.mistakes:
        for function in exercise.wrong_answers[mistake.name]:
            count = _explains(exercise, function, cases, wants, mine, right)
            explained[mistake.name] = max(count, explained.get(mistake.name, (0, 0)))
    most = max(explained.values())
    best = [mistake for mistake in exercise.mistakes if most[0] and explained[mistake.name] == most]
    return best[0] if len(best) == 1 else None


def _explains(
    exercise: Exercise,
    function: Callable[..., object],
    cases: Sequence[Case],
    wants: Sequence[object],
    mine: Sequence[Outcome],
    right: Sequence[bool],
) -> tuple[int, int]:
    """Count the failing cases on which the answer does what this function does; 0 where it explains nothing.

    Errors alone are weak evidence, since many mistakes raise the same one: they count where a value agrees as well,
    or where every failing case agrees. An error or NaN of the function where the answer is right may be a slip that
    came with the mistake and that the answer has not, as in a row that is all hidden: these are counted against it.
    """
    same, values, slips = [], 0, 0
    rows = sorted(zip(cases, wants, mine, right, strict=True), key=lambda row: row[3])  # most end at the first failure
    for case, want, outcome, passes in rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = running.run_case(exercise, function, case)
        if passes and running.problem(exercise, theirs, want) is not None:
            if theirs.error is None and not _has_nan(theirs.value):
                return 0, 0  # the answer is right where this mistake fails, so it is not this mistake
            slips += 1
        if not passes:
            same.append(_alike(exercise, outcome, theirs) and running.problem(exercise, theirs, want) is not None)
            values += same[-1] and theirs.error is None
            if not same[0]:
                return 0, 0
    enough = sum(same) >= min(2, len(same)) and (values or all(same))
    return (sum(same), -slips) if enough else (0, 0)


def _has_nan(value: object) -> bool:
    leaves = [x for x in tree_leaves(value) if isinstance(x, Tensor) and x.is_floating_point()]
    return any(bool(x.isnan().any()) for x in leaves)


def _double(
    exercise: Exercise, cases: Sequence[Case], wants: Sequence[object], mine: Sequence[Outcome], right: Sequence[bool]
) -> tuple[Mistake, Mistake] | None:
    """Find the one pair of mistakes that together do what the answer does wherever it fails, if time allows."""
    failed = [i for i, passes in enumerate(right) if not passes]
    if sum(mine[i].error is None for i in failed) < 2:
        return None
    found, start = [], time.process_time()
    for pair, function in _doubles(exercise):
        if time.process_time() - start > LONGEST:
            return None
        if all(_does(exercise, function, cases[i], mine[i]) for i in failed):
            found.append(pair)
    return found[0] if len({tuple(mistake.name for mistake in pair) for pair in found}) == 1 else None


def _does(exercise: Exercise, function: Callable[..., object], case: Case, outcome: Outcome) -> bool:
    try:
        with stopped_in_time(function):
            return _alike(exercise, outcome, running.run_case(exercise, function, case))
    except Endless:
        return False


def _doubles(exercise: Exercise) -> Iterator[tuple[tuple[Mistake, Mistake], Callable[..., object]]]:
    """Make each two mistakes that are edits of the reference together, where one leaves the place of the other."""
    edits = [
        (mistake, (wrong,) if isinstance(wrong, Edit) else wrong)
        for mistake in exercise.mistakes
        for wrong in (mistake.wrong, *mistake.also)
        if isinstance(wrong, Edit | tuple)
    ]
    for (one, first), (other, second) in itertools.combinations(edits, 2):
        if one is other:
            continue
        try:
            yield (
                (one, other),
                edited(exercise.reference, (*first, *second), f"{exercise.name}, {one.name} + {other.name}"),
            )
        except (ValueError, SyntaxError):  # the second has no place left
            continue


def _alike(exercise: Exercise, one: Outcome, other: Outcome) -> bool:
    if one.error or other.error:  # the same complaint about the same shapes: the same operation went wrong
        return type(one.error) is type(other.error) and str(one.error) == str(other.error)
    if one.refusal or other.refusal:
        return one.refusal == other.refusal
    return _storable(other.value) and difference(one.value, other.value, exercise.tolerance) is None


def _storable(value: object) -> bool:
    parts = value if isinstance(value, tuple | list) else (value,)
    return all(not isinstance(x, Tensor) or not x.is_floating_point() or x.dtype in TOLERANCE for x in parts)
