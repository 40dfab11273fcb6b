"""The exercises of all chapters as one list: by level, in an order to work through, each with a link to its place."""

from collections.abc import Sequence
from dataclasses import dataclass

from companion.exercises.definition import LEVELS, Exercise
from companion.topics import TOPICS, topic_title

MINUTES = {1: 10, 2: 20, 3: 35}  # an estimate for an exercise that gives none


@dataclass(frozen=True)
class Step:
    """One exercise in the list.

    Args:
        number: its place, from 1.
        exercise: which one.
        level: 1, 2 or 3.
        minutes: an estimate.
    """

    number: int
    exercise: Exercise
    level: int
    minutes: int

    @property
    def topic(self) -> str:
        """Key of the topic that it practises; :data:`companion.topics.TOPICS` has its name."""
        return self.exercise.topic or self.exercise.chapter

    @property
    def kind(self) -> str:
        """What is asked: to write, to write within limits of cost, or to repair."""
        if self.exercise.broken:
            return "repair"
        return "write, cost limited" if self.exercise.budget else "write"


class Plan:
    """Some steps, shown as a table: its links are those of the book, and as plain text it has names in their place."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)

    def __repr__(self) -> str:
        width = max(len(step.exercise.name) for step in self.steps)
        lines = [
            f"{s.number:>3}  {s.exercise.name:<{width}}  {s.minutes:>3} min  {topic_title(s.topic)}" for s in self.steps
        ]
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        rows = [
            f"| {s.number} | {{ref}}`exr-{s.exercise.name}` | {topic_title(s.topic)} | {s.kind} | {s.minutes} |"
            for s in self.steps
        ]
        return "\n".join(["| No. | Drill | Topic | Task | Min. |", "|--:|:--|:--|:--|--:|", *rows])


def level_of(exercise: Exercise, group: Sequence[Exercise]) -> int:
    """Give the level of an exercise: its own, or a third of its chapter, whose exercises stand in order of difficulty.

    Args:
        exercise: which one.
        group: the exercises of its chapter.

    Returns:
        1, 2 or 3.
    """
    return exercise.level or 1 + group.index(exercise) * len(LEVELS) // len(group)


def steps(chapters: Sequence[Sequence[Exercise]]) -> tuple[Step, ...]:
    """Put the exercises of all chapters in one order: by level, then by topic in the order of the book.

    Args:
        chapters: the exercises of each chapter, in the order of the book.

    Returns:
        A step for each.
    """
    order = {topic: place for place, topic in enumerate(TOPICS)}
    every = [(level_of(exercise, group), exercise) for group in chapters for exercise in group]
    every.sort(key=lambda pair: (pair[0], order.get(pair[1].topic or pair[1].chapter, len(order))))
    return tuple(
        Step(number, exercise, level, exercise.minutes or MINUTES[level])
        for number, (level, exercise) in enumerate(every, start=1)
    )
