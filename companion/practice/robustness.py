"""What is asked of an answer that is right on every case: that it is so again, in other memory, and with gradients."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from companion.practice import errors, running
from companion.practice.budget import NO_BUDGET
from companion.practice.compare import difference
from companion.practice.decoys import NUMBERS, call_in_other_memory
from companion.practice.definition import Case, Exercise
from companion.practice.meetings import SINGLE
from companion.practice.outcome import (
    NAN_GRADIENT,
    NO_GRADIENT,
    OTHER_MEMORY,
    OVERWRITTEN,
    SETTING,
    SIZE_OF_ONE,
    SIZES_MEET,
    WRONG_AGAIN,
    Outcome,
    WrongAnswer,
)
from companion.practice.running import told, wrap
from companion.practice.trial import gradients

SETTINGS: dict[str, tuple[Callable[[], object], Callable[..., object]]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "switch for gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
    "seed": (torch.initial_seed, torch.manual_seed),
}
"""What code of torch shares: how it is read and set."""


def settings() -> dict[str, object]:
    """Return what they are now."""
    return {name: get() for name, (get, _) in SETTINGS.items()}


def check_calls_are_apart(
    exercise: Exercise,
    function: Callable[..., object],
    cases: Sequence[Case],
    wants: Sequence[object],
    mine: Sequence[Outcome],
) -> None:
    """Run the first case once more, after all others, and see that no call changed what an earlier one returned.

    Args:
        exercise: what is asked.
        function: the answer.
        cases: all cases.
        wants: the right result of each.
        mine: what the answer did on each.

    Raises:
        WrongAnswer: the answer depends on earlier calls, or writes into an earlier result.
    """
    __tracebackhide__ = True
    if running.problem(exercise, running.run_case(exercise, function, cases[0]), wants[0]) is not None:
        raise WrongAnswer(told(exercise, cases, 1, wrap(WRONG_AGAIN)), exercise.name, 1)
    for number, pair in enumerate(zip(mine, wants, strict=True), start=1):
        check_result_stays(exercise, cases, number, *pair)


def check_in_other_memory(
    exercise: Exercise, function: Callable[..., object], cases: Sequence[Case], wants: Sequence[object]
) -> None:
    """Run two large cases with tensors that are not contiguous, and that held other numbers in the call before.

    Args:
        exercise: what is asked.
        function: the answer.
        cases: all cases.
        wants: the right result of each.

    Raises:
        WrongAnswer: the answer differs there.
    """
    __tracebackhide__ = True
    for i in by_size(exercise, cases)[-2:]:
        arguments = call_in_other_memory(exercise, function, cases, i)
        if arguments is None:
            continue
        outcome = running.run_case(exercise, function, cases[i], arguments)
        _compare(exercise, function, cases, i + 1, outcome, wants[i], OTHER_MEMORY)


def check_where_sizes_meet(exercise: Exercise, function: Callable[..., object], cases: Sequence[Case]) -> None:
    """Run cases in which sizes are equal, or 1, that are not so in any other.

    Args:
        exercise: what is asked.
        function: the answer.
        cases: all cases.

    Raises:
        WrongAnswer: the answer is wrong there.
    """
    __tracebackhide__ = True
    every = [*cases, *exercise.meetings]
    for number, case in enumerate(exercise.meetings, start=len(cases) + 1):
        want = exercise.results(exercise.reference, copy.deepcopy(case.arguments))
        why = SIZE_OF_ONE if case.note == SINGLE else SIZES_MEET
        _compare(exercise, function, every, number, running.run_case(exercise, function, case), want, why)


def _compare(
    exercise: Exercise,
    function: Callable[..., object],
    cases: Sequence[Case],
    number: int,
    outcome: Outcome,
    want: object,
    why: str,
) -> None:
    __tracebackhide__ = True
    problem = running.problem(exercise, outcome, want)
    if problem is None:
        return
    if outcome.error:
        problem = errors.format_error(outcome.error, function)
        errors.trim_traceback(outcome.error, function)
        why = errors.explain(outcome.error) or why
    raise WrongAnswer(told(exercise, cases, number, problem, why), exercise.name, number) from outcome.error


def check_gradients(exercise: Exercise, function: Callable[..., object], cases: Sequence[Case]) -> None:
    """Compare gradients on the cases on which those of the reference are finite, the largest first.

    Args:
        exercise: what is asked.
        function: the answer.
        cases: all cases.

    Raises:
        WrongAnswer: the exercise asks for gradients, and they differ or do not reach the arguments.
    """
    __tracebackhide__ = True
    tolerance = {dtype: 100 * allowed for dtype, allowed in exercise.tolerance.items()}
    for i in reversed(by_size(exercise, cases) if exercise.gradients else []):
        want = _gradients(exercise, exercise.reference, cases[i])
        if not all(x.isfinite().all() for x in want):
            continue
        try:
            found = difference(_gradients(exercise, function, cases[i]), want, tolerance, exercise.gradients)
            found = found and f"Of {found}"
        except RuntimeError as error:
            found = f"Torch says: {error}"
        if found:
            problem = wrap(f"The numbers are right, and the gradients are not. {found}")
            why = NAN_GRADIENT if " NaN, " in found else NO_GRADIENT
            raise WrongAnswer(told(exercise, cases, i + 1, problem, why), exercise.name, i + 1)


def _gradients(exercise: Exercise, function: Callable[..., object], case: Case) -> tuple[Tensor, ...]:
    arguments = copy.deepcopy(case.arguments)
    given = dict(zip(exercise.parameters, arguments, strict=True))
    leaves = [given[name].requires_grad_() for name in exercise.gradients]
    return gradients(function(*arguments), leaves)


def by_size(exercise: Exercise, cases: Sequence[Case]) -> list[int]:
    """List the cases that are not there for their cost, the smallest first.

    Args:
        exercise: what is asked.
        cases: all cases.

    Returns:
        Their places in the list.
    """
    sizes = [sum(x.numel() for x in tree_leaves(case.arguments) if isinstance(x, Tensor)) for case in cases]
    free = [i for i, case in enumerate(cases) if sizes[i] <= NUMBERS and exercise.allowed(case) == NO_BUDGET]
    return sorted(free, key=sizes.__getitem__)


def check_result_stays(exercise: Exercise, cases: Sequence[Case], number: int, outcome: Outcome, want: object) -> None:
    """See that a result that was right is still so, after the function was called with something else.

    Args:
        exercise: what is asked.
        cases: all cases.
        number: of the case, from 1.
        outcome: what the answer did on it.
        want: the right result.

    Raises:
        WrongAnswer: a later call wrote into the result.
    """
    __tracebackhide__ = True
    if running.problem(exercise, outcome, want) is not None:
        raise WrongAnswer(told(exercise, cases, number, wrap(OVERWRITTEN)), exercise.name, number)


def check_settings(exercise: Exercise, cases: Sequence[Case], before: dict[str, object]) -> None:
    """See that the settings that all code of torch shares are as before, and put them back.

    Args:
        exercise: what is asked.
        cases: all cases.
        before: the settings before the answer ran.

    Raises:
        WrongAnswer: one of them is another.
    """
    __tracebackhide__ = True
    for name, (get, put) in SETTINGS.items():
        if (old := before[name]) != get():
            put(old)
            raise WrongAnswer(told(exercise, cases, 1, wrap(SETTING.format(name=name))), exercise.name, 1)
