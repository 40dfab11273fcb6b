"""The exercises of all chapters as one list: by level, in an order to work through, each with a link to its place."""

from collections.abc import Sequence
from dataclasses import dataclass

from companion.book.topics import TOPICS, topic_title
from companion.practice.definition import Exercise
from companion.practice.task import Task

MINUTES = {1: 10, 2: 20, 3: 35}  # an estimate for an exercise that gives none


@dataclass(frozen=True)
class Step:
    """One exercise in the list.

    Args:
        number: its place, from 1.
        exercise: which one.
        level: 1, 2 or 3.
        minutes: an estimate.
        stage: which stage of a composed task it is, in words; empty where it stands alone.
    """

    number: int
    exercise: Exercise
    level: int
    minutes: int
    stage: str = ""

    @property
    def topic(self) -> str:
        """Key of the topic that it practises; :data:`companion.book.topics.TOPICS` has its name."""
        return self.exercise.topic or self.exercise.chapter

    @property
    def kind(self) -> str:
        """What is asked: a stage of a task, to write, to write within limits of cost, or to repair."""
        if self.stage:
            return self.stage
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


def steps(exercises: Sequence[Exercise], tasks: Sequence[Task] = ()) -> tuple[Step, ...]:
    """Put exercises in one order: by level, then by topic in the order of the book.

    Args:
        exercises: of the whole book, or some.
        tasks: of which some are stages.

    Returns:
        A step for each.
    """
    order = {topic: place for place, topic in enumerate(TOPICS)}
    every = sorted(exercises, key=lambda one: (one.level, order.get(one.topic or one.chapter, len(order))))
    stages = {
        stage.name: f"stage {number} of {len(task.stages)}"
        for task in tasks
        for number, stage in enumerate(task.stages, start=1)
        if stage.chapter == task.stages[-1].chapter  # one that is borrowed from another page stands alone there
    }
    return tuple(
        Step(number, one, one.level, one.minutes or MINUTES[one.level], stages.get(one.name, ""))
        for number, one in enumerate(every, start=1)
    )
