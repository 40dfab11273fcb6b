"""The exercises by name, and what a reader calls: check an answer, ask for a hint, see how far one is."""

import copy
import difflib
import importlib
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from companion.book import toc
from companion.book.model import TIERS
from companion.practice import progress
from companion.practice.checker import NotAnswered, WrongAnswer, cost_summary, run_cases
from companion.practice.definition import Exercise
from companion.practice.hints import Hint
from companion.practice.plan import Plan, steps
from companion.practice.task import Outline, Task, outline, overview


@cache
def _records() -> tuple[tuple[Exercise, ...], tuple[Task, ...]]:
    """Find the exercises and the tasks in the folders of the chapters, in the order of the book and of their pages.

    They are looked for when first asked for: a chapter's exercises are made with this package.
    """
    found, tasks = [], []
    for chapter, folder in toc.chapter_files("exercises").items():
        package = f"companion.chapters.{toc.module_name(chapter)}.exercises"
        modules = [importlib.import_module(f"{package}.{path.stem}") for path in sorted(folder.glob("[a-z]*.py"))]
        values = {id(value): value for module in modules for value in vars(module).values()}.values()
        own = [value for value in values if isinstance(value, Exercise)]
        pages = list(dict.fromkeys(exercise.chapter for exercise in own))
        found += sorted(own, key=lambda exercise: (pages.index(exercise.chapter), exercise.place))
        tasks += [value for value in values if isinstance(value, Task)]
    return tuple(found), tuple(tasks)


def _found() -> tuple[Exercise, ...]:
    return _records()[0]


def exercises(chapter: str | None = None) -> tuple[Exercise, ...]:
    """All exercises in the order of the book, or those of one chapter, in the order of the page.

    Raises:
        ValueError: no exercise belongs to such a chapter.
    """
    found = tuple(exercise for exercise in _found() if chapter in (None, exercise.chapter))
    if not found:
        known = ", ".join(dict.fromkeys(exercise.chapter for exercise in _found()))
        raise ValueError(f"a chapter with exercises is asked for: got {chapter!r}. There are: {known}.")
    return found


def plan(level: int | None = None) -> Plan:
    """List the exercises of the whole book in an order to work through, or those of one level.

    Args:
        level: 1 for the warm-ups, 2 for the core, 3 for the hard ones; ``None`` means all.

    Returns:
        A table, with links on the site and with names in plain text.

    Raises:
        ValueError: no such level.
    """
    if level not in (None, *TIERS):
        raise ValueError(f"a level is 1, 2 or 3: got {level!r}. Use one of these, or none for all.")
    return Plan([step for step in steps(exercises(), _records()[1]) if level in (None, step.level)])


def task(name: str | None = None) -> Outline:
    """List the stages of a composed task with their minutes, or all tasks.

    Args:
        name: of the task, for example ``"growing-attention"``; ``None`` means all.

    Returns:
        A table, with links on the site and with titles in plain text.

    Raises:
        ValueError: no task of this name.
    """
    tasks = {one.name: one for one in _records()[1]}
    if name is None:
        return overview(list(tasks.values()))
    if name not in tasks:
        raise ValueError(f"a task is called by its name: there is no {name!r}. There are: {', '.join(tasks)}.")
    return outline(tasks[name])


def build_on(name: str) -> Callable[..., object]:
    """Give the answer to an earlier stage, to call it in a later one, and print whose it is, once in a check.

    Args:
        name: of the exercise.

    Returns:
        The reader's function, if it was right when it was last checked here, or else the book's.

    Raises:
        ValueError: no exercise of this name.
    """
    exercise = _find(name)
    answer = progress.PROGRESS.answer(name)
    own = f"your own {getattr(answer, '__name__', 'answer')}"
    whose = own if answer is not None else "the book's answer, since none of yours has passed here"
    said = f"{exercise.title}: you build on {whose}."
    to_say = _TO_SAY.get()
    if to_say is None:
        print(said)
    else:
        to_say[said] = None
    return exercise.reference if answer is None else answer


_TO_SAY: ContextVar[dict[str, None] | None] = ContextVar("to_say", default=None)
"""What the check that runs has to print once, in order, when the answer was tried; ``None`` between checks."""


def check_exercise(name: str, function: object, *, record: bool = True) -> None:
    """Try an answer on small cases, print that it is right, or raise with what is wrong and why.

    A function that is still the stub (it returns ``None`` or ``...``, or raises ``NotImplementedError``) is
    reported as not answered yet.

    Args:
        name: of the exercise, for example ``"scaled-scores"``.
        function: the answer.
        record: whether the result counts for :func:`status`.

    Raises:
        WrongAnswer: a case fails: which one, what differs, and the mistake behind it where it is a known one.
        ValueError: no exercise of this name, or the answer is not a function.
    """
    __tracebackhide__ = True
    exercise = _find(name)
    if function is None or function is Ellipsis:
        _print_unanswered(exercise)
        return
    if not callable(function):
        raise ValueError(
            f"the answer is a function: got {type(function).__name__}. "
            f'Pass it without calling it, as in check_exercise("{name}", my_function).'
        )
    said: dict[str, None] = {}
    checking = _TO_SAY.set(said)
    try:
        outcomes = run_cases(exercise, function)
    except NotAnswered as reason:
        _print_unanswered(exercise, str(reason))
        return
    except WrongAnswer:
        _record(name, "tried", record)
        raise
    finally:
        _TO_SAY.reset(checking)
        for line in said:
            print(line)
    print(f"{exercise.title}: correct ({len(outcomes)} cases).")
    print(f"Tested: {exercise.tested}.")
    if text := cost_summary(exercise, outcomes):
        print(text)
    _record(name, "solved", record, function)


def inputs(name: str, case: int) -> tuple[object, ...]:
    """Give the arguments of a case, to try a function on them: ``my_function(*inputs("scaled-scores", 3))``.

    Args:
        name: of the exercise.
        case: its number, from 1, as in the message of a wrong answer.

    Returns:
        The arguments in order, as copies.

    Raises:
        ValueError: no exercise of this name, or no such case.
    """
    exercise = _find(name)
    cases = (*exercise.cases(), *exercise.meetings)
    if case not in range(1, len(cases) + 1):
        raise ValueError(f"{name!r} has the cases 1 to {len(cases)}: got {case!r}. Use one of these.")
    return copy.deepcopy(cases[case - 1].arguments)


def hint(name: str, step: int | None = None) -> Hint:
    """Give the hints of an exercise: all three, to be opened one by one, or exactly one.

    Args:
        name: of the exercise.
        step: 1, 2 or 3; ``None`` shows the first as plain text, and all three, closed, in a notebook.

    Returns:
        What a notebook shows; its text is plain.

    Raises:
        ValueError: no exercise of this name, or no such step.
    """
    exercise = _find(name)
    if step is not None and step not in (1, 2, 3):
        raise ValueError(f"the hints are numbered 1, 2 and 3: got {step!r}. Use one of these.")
    return Hint(name, exercise.hints, step)


def status(chapter: str | None = None) -> None:
    """Print which exercises are solved, tried and open: those of one chapter, or all, chapter by chapter.

    Args:
        chapter: its name, for example ``"attention"``; ``None`` means every chapter.

    Raises:
        ValueError: no exercise belongs to such a chapter.
    """
    asked = exercises(chapter)
    states = {exercise.name: progress.PROGRESS.state(exercise.name) for exercise in asked}
    width = max(map(len, states))
    for chapter in dict.fromkeys(exercise.chapter for exercise in asked):
        group = exercises(chapter)
        solved = sum(states[exercise.name] == "solved" for exercise in group)
        print(f"{chapter}: {solved} of {len(group)} solved")
        for exercise in group:
            print(f"  {states[exercise.name]:<6}  {exercise.name:<{width}}  {exercise.title}")
    kept = progress.PROGRESS.path
    print(f"Kept in {kept}." if kept else 'Not kept: keep_progress("progress.json") keeps it in that file.')


def keep_progress(path: str | Path) -> None:
    """Keep the progress in a JSON file from now on, joined with what the file already holds.

    Raises:
        ValueError: the file holds something else, or its folder does not exist.
    """
    progress.PROGRESS.keep(path)


def _find(name: str) -> Exercise:
    names = {exercise.name: exercise for exercise in exercises()}
    if name in names:
        return names[name]
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.4) or list(names)
    raise ValueError(f"an exercise is called by its name: there is no {name!r}. Close to it: {', '.join(close)}.")


def _print_unanswered(exercise: Exercise, reason: str = "") -> None:
    print(f'{exercise.title}: not answered yet. hint("{exercise.name}") helps.')
    if reason:
        print(reason)


def _record(name: str, state: str, wanted: bool, answer: Callable[..., object] | None = None) -> None:
    if not wanted:
        return
    try:
        progress.PROGRESS.record(name, state, answer)
    except (OSError, ValueError) as error:  # the verdict matters more than the file
        print(f"Progress was not saved: {error}")
