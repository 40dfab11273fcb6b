"""The exercises of the book: a reader's function is tried on small cases, and a classic mistake is named.

A chapter shows a stub and calls ``check_exercise("name", function)`` on it; ``hint``, ``inputs`` and ``status`` help.
"""

from companion.practice.catalogue import (
    build_on,
    check_exercise,
    exercises,
    hint,
    inputs,
    keep_progress,
    plan,
    status,
    task,
)
from companion.practice.checker import WrongAnswer
from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.task import Task

__all__ = [
    "Case",
    "Exercise",
    "Mistake",
    "Task",
    "WrongAnswer",
    "build_on",
    "check_exercise",
    "exercises",
    "hint",
    "inputs",
    "keep_progress",
    "plan",
    "status",
    "task",
]
