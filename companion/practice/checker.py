"""The engine of the exercises: run an answer on small cases, compare, and name the mistake behind a wrong one.

A named mistake is a function that makes a classic bug. An answer that behaves like it on the same inputs gets its
diagnosis. The reader sees what differs and why, and never the answer itself.
"""

import copy
import inspect
import warnings
from collections.abc import Callable, Sequence

from torch import Tensor

from companion.practice import errors, robustness, running
from companion.practice.budget import NO_BUDGET, usage
from companion.practice.compare import FLOAT32_GUESS, TOLERANCE, difference
from companion.practice.decoys import call_between, kept
from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.outcome import (
    NotAnswered,
    Outcome,
    WrongAnswer,
)
from companion.practice.running import told, wrap
from companion.practice.unchanged import is_unchanged


def check(exercise: Exercise, function: Callable[..., object]) -> int:
    """Try an answer on every case.

    Args:
        exercise: what is asked.
        function: the reader's answer.

    Returns:
        The number of cases, all of them passed.

    Raises:
        NotAnswered: the function is still the stub.
        WrongAnswer: a case fails, or costs more than it may.
    """
    __tracebackhide__ = True
    return len(run_cases(exercise, function))


def run_cases(exercise: Exercise, function: Callable[..., object]) -> list[Outcome]:
    """Try an answer on every case, and say what it did with each.

    Args:
        exercise: what is asked.
        function: the reader's answer.

    Returns:
        The outcomes, all of them right.

    Raises:
        NotAnswered: the function is still the stub.
        WrongAnswer: a case fails, or costs more than it may.
    """
    __tracebackhide__ = True
    if is_unchanged(exercise.broken, function):
        raise NotAnswered("This is still the code as it was given.")
    cases = exercise.cases()
    _check_signature(exercise, function, cases[0])
    wants = [exercise.results(exercise.reference, copy.deepcopy(case.arguments)) for case in cases]
    mine: list[Outcome] = []
    before, settings = kept(function), robustness.settings()
    for number, (case, want) in enumerate(zip(cases, wants, strict=True), start=1):
        call_between(exercise, function, cases, number - 1)
        outcome = running.run_case(exercise, function, case)
        if number == 1 and running.is_stub(outcome):
            raise NotAnswered(running.forgotten_return(outcome, function))
        mine.append(outcome)
        problem = running.problem(exercise, outcome, want)
        if problem is None:
            call_between(exercise, function, cases, number - 1, after=True)
            robustness.check_result_stays(exercise, cases, number, outcome, want)
            continue
        mine += [running.run_case(exercise, function, later) for later in cases[number:]]
        mistake = None if outcome.changed else diagnose(exercise, cases, wants, mine)
        name, why = (mistake.name, mistake.diagnosis) if mistake else (None, None)
        if outcome.error:
            why = why or errors.explain(outcome.error)
            problem = errors.format_error(outcome.error, function)
            errors.trim_traceback(outcome.error, function)
        else:
            problem = wrap(problem.removesuffix(FLOAT32_GUESS) if name else problem)
        why = why or (_KEPT if before.keys() != kept(function).keys() else None)
        raise WrongAnswer(told(exercise, cases, number, problem, why), exercise.name, number, name) from outcome.error
    robustness.check_calls_are_apart(exercise, function, cases, wants, mine)
    robustness.check_where_sizes_meet(exercise, function, cases)
    robustness.check_in_other_memory(exercise, function, cases, wants)
    robustness.check_gradients(exercise, function, cases)
    robustness.check_settings(exercise, cases, settings)
    return mine


_KEPT = (
    "Your function keeps something from one call to the next, and before this case it was called with other numbers of "
    "the same sizes: alone, the case may be right. Let each call depend on its arguments alone."
)


def cost_summary(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Say what a right answer used of what it was allowed, on the last case with limits.

    Args:
        exercise: whose limits hold.
        outcomes: what the answer did on each case.

    Returns:
        A sentence; empty where the exercise has no limits.
    """
    for number, (case, outcome) in reversed(list(enumerate(zip(exercise.cases(), outcomes, strict=True), start=1))):
        if exercise.allowed(case) != NO_BUDGET:
            return wrap(f"Cost of case {number}: {usage(outcome.cost, exercise.allowed(case))}.")
    return ""


def diagnose(
    exercise: Exercise, cases: Sequence[Case], wants: Sequence[object], mine: Sequence[Outcome]
) -> Mistake | None:
    """Find the one named mistake that explains a wrong answer.

    A mistake explains an answer when it does the same on the first case that fails, on one more where more fail, and
    is right wherever the answer is right. Of several the one that explains the most cases is taken; a tie names none.

    Args:
        exercise: whose mistakes to try.
        cases: all cases.
        wants: the right result for each.
        mine: what the answer did on each.

    Returns:
        The mistake, or ``None`` where none or more than one explains the answer.
    """
    right = [running.problem(exercise, *pair) is None for pair in zip(mine, wants, strict=True)]
    explained = {}
    for mistake in exercise.mistakes:
        for function in exercise.wrong_answers[mistake.name]:
            count = _explains(exercise, function, cases, wants, mine, right)
            explained[mistake.name] = max(count, explained.get(mistake.name, 0))
    most = max(explained.values())
    best = [mistake for mistake in exercise.mistakes if most and explained[mistake.name] == most]
    return best[0] if len(best) == 1 else None


def _explains(
    exercise: Exercise,
    function: Callable[..., object],
    cases: Sequence[Case],
    wants: Sequence[object],
    mine: Sequence[Outcome],
    right: Sequence[bool],
) -> int:
    """Count the failing cases on which the answer does what this function does; 0 where it explains nothing.

    Errors alone are weak evidence, since many mistakes raise the same one: they count where a value agrees as well,
    or where every failing case agrees.
    """
    same, values = [], 0
    for case, want, outcome, passes in zip(cases, wants, mine, right, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = running.run_case(exercise, function, case)
        if passes and running.problem(exercise, theirs, want) is not None:
            return 0  # the answer is right where this mistake fails, so it is not this mistake
        if not passes:
            same.append(_alike(exercise, outcome, theirs) and running.problem(exercise, theirs, want) is not None)
            values += same[-1] and theirs.error is None
            if not same[0]:
                return 0
    enough = sum(same) >= min(2, len(same)) and (values or all(same))
    return sum(same) if enough else 0


def _alike(exercise: Exercise, one: Outcome, other: Outcome) -> bool:
    if one.error or other.error:  # the same complaint about the same shapes: the same operation went wrong
        return type(one.error) is type(other.error) and str(one.error) == str(other.error)
    if one.refusal or other.refusal:
        return one.refusal == other.refusal
    return _storable(other.value) and difference(one.value, other.value, exercise.tolerance) is None


def _storable(value: object) -> bool:
    parts = value if isinstance(value, tuple | list) else (value,)
    return all(not isinstance(x, Tensor) or not x.is_floating_point() or x.dtype in TOLERANCE for x in parts)


def _check_signature(exercise: Exercise, function: Callable[..., object], case: Case) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not tell theirs
        return
    asked = tuple(inspect.signature(exercise.reference).parameters)
    try:
        signature.bind(*(asked if exercise.trial else case.arguments))
    except TypeError:
        name = getattr(function, "__name__", "your function")
        call = f"{name}({', '.join(asked)})"
        message = f"{exercise.title}: the check calls {call}, but yours takes {signature}. Give it these parameters."
        raise WrongAnswer(wrap(message), exercise.name, 1) from None
