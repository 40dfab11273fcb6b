"""The engine of the exercises: run an answer on small cases, compare, and name the mistake behind a wrong one.

A named mistake is a function that makes a classic bug. An answer that behaves like it on the same inputs gets its
diagnosis. The reader sees what differs and why, and never the answer itself.
"""

import copy
import inspect
from collections.abc import Callable, Sequence

from companion.practice import errors, robustness, running
from companion.practice.budget import NO_BUDGET, usage
from companion.practice.compare import FLOAT32_GUESS
from companion.practice.decoys import call_between, kept
from companion.practice.definition import Case, Exercise
from companion.practice.diagnosis import NOTHING, diagnose
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
        found = NOTHING if outcome.changed else diagnose(exercise, cases, wants, mine)
        if FLOAT32_GUESS in problem and not found.mistake:
            found = NOTHING
        name, why, meaning = found.mistake, found.why, None
        if outcome.error:
            meaning = errors.explain(outcome.error)
            why = why if name else meaning or why
            problem = errors.format_error(outcome.error, function)
            errors.trim_traceback(outcome.error, function)
        else:
            problem = wrap(problem.removesuffix(FLOAT32_GUESS) if name else problem)
        keeps = not (name or meaning) and before.keys() != kept(function).keys()
        text = told(exercise, cases, number, problem, _KEPT if keeps else why)
        raise WrongAnswer(text, exercise.name, number, name, None if keeps else found.pattern) from outcome.error
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
