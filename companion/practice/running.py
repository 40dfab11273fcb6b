"""How an answer is run on a case, and what is wrong with what it did, in words."""

import contextlib
import copy
import textwrap
from collections.abc import Callable, Sequence

from companion.practice import errors
from companion.practice.budget import NO_BUDGET, CostMeter, over_budget
from companion.practice.compare import difference, not_zero
from companion.practice.definition import Case, Exercise
from companion.practice.forbidden import CallWatcher
from companion.practice.operations import Operations
from companion.practice.outcome import Outcome
from companion.practice.sight import Sight
from companion.practice.trial import Changed, Refusal, Unanswered, same


def run_case(
    exercise: Exercise, function: Callable[..., object], case: Case, arguments: tuple[object, ...] | None = None
) -> Outcome:
    """Call an answer on one case.

    Args:
        exercise: what is asked.
        function: the answer.
        case: the case.
        arguments: others of the same content; without them it is given copies of the case's own.

    Returns:
        The value or the error, what it cost, and what it did that it may not.
    """
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


def problem(exercise: Exercise, outcome: Outcome, want: object) -> str | None:
    """Say what is wrong with an outcome.

    Args:
        exercise: what is asked.
        outcome: of one case.
        want: the right result.

    Returns:
        A sentence, or ``None`` where nothing is wrong.
    """
    if outcome.error is not None:
        return f"Your code raised {type(outcome.error).__name__}: {outcome.error}"
    if outcome.refusal is not None:
        return outcome.refusal
    if outcome.changed is not None:
        return (
            f"Your code changed its argument `{outcome.changed}` in place, and the caller still needs it. "
            "Operations that end in an underscore, as `requires_grad_` does, +=, *= and assignments to x[...] "
            "write into a tensor, `append`, "
            "`pop` and `sort` into a list: work on a new one or on a copy, `.clone()` of a tensor or `list(...)`."
        )
    found = difference(outcome.value, want, exercise.tolerance, exercise.returns, same_dtype=exercise.same_dtype)
    if found is None and exercise.exact_zeros:
        found = not_zero(outcome.value, want)
    return f"What differs: {found}" if found else outcome.excess


def is_stub(outcome: Outcome) -> bool:
    """Tell whether an answer was not written yet.

    Args:
        outcome: of its first case.

    Returns:
        Whether it returned nothing, an ellipsis, or raised ``NotImplementedError`` by name.
    """
    if isinstance(outcome.error, NotImplementedError):  # torch raises it too, for a dtype that an operation lacks
        return errors.is_raised_by_name(outcome.error)
    returned = outcome.error is None and outcome.refusal is None
    return returned and (outcome.value is None or outcome.value is Ellipsis)


def forgotten_return(outcome: Outcome, function: Callable[..., object]) -> str:
    """Tell a function that computes and returns nothing from a bare stub.

    Args:
        outcome: of its first case.
        function: the answer.

    Returns:
        A sentence; empty for a stub.
    """
    code = getattr(function, "__code__", None)
    if outcome.error or outcome.value is Ellipsis or code is None or not code.co_names:
        return ""
    return f"{code.co_name} computes something but returns None: is its `return` missing?"


def told(exercise: Exercise, cases: Sequence[Case], number: int, problem: str, why: str | None = None) -> str:
    """Put a refusal together: the exercise, the case, what is wrong, why, and where to go on.

    Args:
        exercise: what is asked.
        cases: all of its cases.
        number: of the case that failed, from 1.
        problem: what is wrong, in lines of at most 88 characters.
        why: what explains it, if that is known.

    Returns:
        Lines of text.
    """
    lines = [
        f"{exercise.title}: not right yet.",
        wrap(f"Case {number} of {len(cases)}: {exercise.describe(cases[number - 1])}."),
        problem,
        *([wrap(why)] if why else []),
        f'hint("{exercise.name}") helps; inputs("{exercise.name}", {number}) gives the arguments.',
    ]
    return "\n".join(lines)


def wrap(text: str) -> str:
    """Break a text into lines that fit a notebook."""
    return textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False)
