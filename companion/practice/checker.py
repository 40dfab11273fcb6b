"""The engine of the exercises: run an answer on small cases, compare, and name the mistake behind a wrong one.

A named mistake is a function that makes a classic bug. An answer that behaves like it on the same inputs gets its
diagnosis. The reader sees what differs and why, and never the answer itself.
"""

import contextlib
import copy
import inspect
import textwrap
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from companion.practice import errors
from companion.practice.budget import NO_BUDGET, CostMeter, over_budget, usage
from companion.practice.compare import FLOAT32_GUESS, TOLERANCE, difference, not_zero
from companion.practice.decoys import NUMBERS, call_between, call_in_other_memory, kept
from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.forbidden import CallWatcher
from companion.practice.operations import Operations
from companion.practice.outcome import (
    NO_GRADIENT,
    OTHER_MEMORY,
    OVERWRITTEN,
    SETTING,
    WRONG_AGAIN,
    NotAnswered,
    Outcome,
    WrongAnswer,
)
from companion.practice.sight import Sight
from companion.practice.trial import Changed, Refusal, Unanswered, gradients, same
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
    before, settings = kept(function), _settings()
    for number, (case, want) in enumerate(zip(cases, wants, strict=True), start=1):
        call_between(exercise, function, cases, number - 1)
        outcome = _run(exercise, function, case)
        if number == 1 and _is_stub(outcome):
            raise NotAnswered(_forgotten_return(outcome, function))
        mine.append(outcome)
        problem = _problem(exercise, outcome, want)
        if problem is None:
            call_between(exercise, function, cases, number - 1, after=True)
            _check_result_stays(exercise, cases, number, outcome, want)
            continue
        mine += [_run(exercise, function, later) for later in cases[number:]]
        mistake = None if outcome.changed else diagnose(exercise, cases, wants, mine)
        name, why = (mistake.name, mistake.diagnosis) if mistake else (None, None)
        if outcome.error:
            why = why or errors.explain(outcome.error)
            problem = errors.format_error(outcome.error, function)
            errors.trim_traceback(outcome.error, function)
        else:
            problem = _wrap(problem.removesuffix(FLOAT32_GUESS) if name else problem)
        why = why or (_KEPT if before.keys() != kept(function).keys() else None)
        raise WrongAnswer(_told(exercise, cases, number, problem, why), exercise.name, number, name) from outcome.error
    _check_calls_are_apart(exercise, function, cases, wants, mine)
    _check_in_other_memory(exercise, function, cases, wants)
    _check_gradients(exercise, function, cases)
    for name, (get, put) in SETTINGS.items():
        if (old := settings[name]) != get():
            put(old)
            raise WrongAnswer(_told(exercise, cases, 1, _wrap(SETTING.format(name=name))), exercise.name, 1)
    return mine


SETTINGS: dict[str, tuple[Callable[[], object], Callable[..., object]]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "switch for gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
    "seed": (torch.initial_seed, torch.manual_seed),
}
"""What code of torch shares: how it is read and set."""


def _settings() -> dict[str, object]:
    return {name: get() for name, (get, _) in SETTINGS.items()}


_KEPT = (
    "Your function keeps something from one call to the next, and before this case it was called with other numbers of "
    "the same sizes: alone, the case may be right. Let each call depend on its arguments alone."
)


def _told(exercise: Exercise, cases: Sequence[Case], number: int, problem: str, why: str | None = None) -> str:
    lines = [
        f"{exercise.title}: not right yet.",
        _wrap(f"Case {number} of {len(cases)}: {exercise.describe(cases[number - 1])}."),
        problem,
        *([_wrap(why)] if why else []),
        f'hint("{exercise.name}") helps; inputs("{exercise.name}", {number}) gives the arguments.',
    ]
    return "\n".join(lines)


def _check_calls_are_apart(
    exercise: Exercise,
    function: Callable[..., object],
    cases: Sequence[Case],
    wants: Sequence[object],
    mine: Sequence[Outcome],
) -> None:
    """Run the first case once more, after all others, and see that no call changed what an earlier one returned."""
    __tracebackhide__ = True
    if _problem(exercise, _run(exercise, function, cases[0]), wants[0]) is not None:
        raise WrongAnswer(_told(exercise, cases, 1, _wrap(WRONG_AGAIN)), exercise.name, 1)
    for number, pair in enumerate(zip(mine, wants, strict=True), start=1):
        _check_result_stays(exercise, cases, number, *pair)


def _check_in_other_memory(
    exercise: Exercise, function: Callable[..., object], cases: Sequence[Case], wants: Sequence[object]
) -> None:
    """Run two large cases with tensors that are not contiguous, and that held other numbers in the call before."""
    __tracebackhide__ = True
    sizes = {
        i: sum(x.numel() for x in tree_leaves(case.arguments) if isinstance(x, Tensor)) for i, case in enumerate(cases)
    }
    free = [i for i, size in sizes.items() if size <= NUMBERS and exercise.allowed(cases[i]) == NO_BUDGET]
    for i in sorted(free, key=sizes.__getitem__)[-2:]:
        arguments = call_in_other_memory(exercise, function, cases, i)
        if arguments is None:
            continue
        outcome = _run(exercise, function, cases[i], arguments)
        problem = _problem(exercise, outcome, wants[i])
        if problem is not None:
            if outcome.error:
                problem = errors.format_error(outcome.error, function)
                errors.trim_traceback(outcome.error, function)
            why = (outcome.error and errors.explain(outcome.error)) or OTHER_MEMORY
            raise WrongAnswer(_told(exercise, cases, i + 1, problem, why), exercise.name, i + 1) from outcome.error


def _check_gradients(exercise: Exercise, function: Callable[..., object], cases: Sequence[Case]) -> None:
    """Compare gradients on the largest case on which those of the reference are finite."""
    __tracebackhide__ = True
    tolerance = {dtype: 100 * allowed for dtype, allowed in exercise.tolerance.items()}
    for i in reversed(_by_size(exercise, cases) if exercise.gradients else []):
        want = _gradients(exercise, exercise.reference, cases[i])
        if not all(x.isfinite().all() and x.any() for x in want):
            continue
        try:
            found = difference(_gradients(exercise, function, cases[i]), want, tolerance, exercise.gradients)
            found = found and f"Of {found}"
        except RuntimeError as error:
            found = f"Torch says: {error}"
        if found:
            problem = _wrap(f"The numbers are right, and the gradients are not. {found}")
            raise WrongAnswer(_told(exercise, cases, i + 1, problem, NO_GRADIENT), exercise.name, i + 1)
        return


def _gradients(exercise: Exercise, function: Callable[..., object], case: Case) -> tuple[Tensor, ...]:
    arguments = copy.deepcopy(case.arguments)
    given = dict(zip(exercise.parameters, arguments, strict=True))
    leaves = [given[name].requires_grad_() for name in exercise.gradients]
    return gradients(function(*arguments), leaves)


def _by_size(exercise: Exercise, cases: Sequence[Case]) -> list[int]:
    """List the cases that are not there for their cost, the smallest first."""
    sizes = [sum(x.numel() for x in tree_leaves(case.arguments) if isinstance(x, Tensor)) for case in cases]
    free = [i for i, case in enumerate(cases) if sizes[i] <= NUMBERS and exercise.allowed(case) == NO_BUDGET]
    return sorted(free, key=sizes.__getitem__)


def _check_result_stays(exercise: Exercise, cases: Sequence[Case], number: int, outcome: Outcome, want: object) -> None:
    """See that a result that was right is still so, after the function was called with something else."""
    __tracebackhide__ = True
    if _problem(exercise, outcome, want) is not None:
        raise WrongAnswer(_told(exercise, cases, number, _wrap(OVERWRITTEN)), exercise.name, number)


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
            return _wrap(f"Cost of case {number}: {usage(outcome.cost, exercise.allowed(case))}.")
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
    right = [_problem(exercise, *pair) is None for pair in zip(mine, wants, strict=True)]
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
            theirs = _run(exercise, function, case)
        if passes and _problem(exercise, theirs, want) is not None:
            return 0  # the answer is right where this mistake fails, so it is not this mistake
        if not passes:
            same.append(_alike(exercise, outcome, theirs) and _problem(exercise, theirs, want) is not None)
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


def _run(
    exercise: Exercise, function: Callable[..., object], case: Case, arguments: tuple[object, ...] | None = None
) -> Outcome:
    """Call an answer with copies of a case's arguments, or with these arguments of the same content."""
    arguments = copy.deepcopy(case.arguments) if arguments is None else arguments
    allowed, meter, watcher = exercise.allowed(case), CostMeter(), CallWatcher(exercise.forbidden)
    limited, sight = allowed != NO_BUDGET, Sight(arguments)
    before = [watcher.see] if exercise.forbidden else []
    after = [sight.see, meter.see] if limited else [sight.see]
    try:
        with contextlib.ExitStack() as stack:
            if exercise.forbidden or limited:
                stack.enter_context(Operations(before, after))
                stack.enter_context(sight)
            value = exercise.results(function, arguments)
    except Unanswered as stub:
        return Outcome(value=stub.value)
    except Changed as changed:
        return Outcome(value=(), changed=changed.name)
    except Refusal as refusal:
        return Outcome(refusal=str(refusal))
    except Exception as error:
        return Outcome(error=error)
    for name, before, after in zip(exercise.parameters, case.arguments, arguments, strict=True):
        if not same(before, after):
            return Outcome(value=value, changed=name)
    excess = watcher.complaint or over_budget(meter.cost, allowed)
    if not excess and (exercise.forbidden or limited):
        excess = sight.complaint(value, limited=limited)
    return Outcome(value=value, cost=meter.cost, excess=excess)


def _problem(exercise: Exercise, outcome: Outcome, want: object) -> str | None:
    """Say what is wrong with an outcome, or ``None``."""
    if outcome.error is not None:
        return f"Your code raised {type(outcome.error).__name__}: {outcome.error}"
    if outcome.refusal is not None:
        return outcome.refusal
    if outcome.changed is not None:
        return (
            f"Your code changed its argument `{outcome.changed}` in place, and the caller still needs it. "
            "Operations that end in an underscore, +=, *= and assignments to x[...] write into a tensor, `append`, "
            "`pop` and `sort` into a list: work on a new one or on a copy, `.clone()` of a tensor or `list(...)`."
        )
    found = difference(outcome.value, want, exercise.tolerance, exercise.returns, same_dtype=exercise.same_dtype)
    if found is None and exercise.exact_zeros:
        found = not_zero(outcome.value, want)
    return f"What differs: {found}" if found else outcome.excess


def _is_stub(outcome: Outcome) -> bool:
    if isinstance(outcome.error, NotImplementedError):  # torch raises it too, for a dtype that an operation lacks
        return errors.is_raised_by_name(outcome.error)
    returned = outcome.error is None and outcome.refusal is None
    return returned and (outcome.value is None or outcome.value is Ellipsis)


def _forgotten_return(outcome: Outcome, function: Callable[..., object]) -> str:
    """Tell a function that computes and returns nothing from a bare stub."""
    code = getattr(function, "__code__", None)
    if outcome.error or outcome.value is Ellipsis or code is None or not code.co_names:
        return ""
    return f"{code.co_name} computes something but returns None: is its `return` missing?"


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
        raise WrongAnswer(_wrap(message), exercise.name, 1) from None


def _wrap(text: str) -> str:
    return textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False)
