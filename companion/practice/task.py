"""A composed task: exercises that follow one another, as an interviewer sets them for 30 to 60 minutes."""

from collections.abc import Sequence
from dataclasses import dataclass

from companion.practice.definition import Exercise


@dataclass(frozen=True, repr=False)
class Task:
    """Exercises in order, each a stage that builds on those before it.

    Args:
        name: how the reader calls it, in lower case with hyphens.
        title: for people.
        stages: the exercises in order, each with minutes of its own.

    Raises:
        ValueError: fewer than two stages, a stage twice, or one without minutes.
    """

    name: str
    title: str
    stages: tuple[Exercise, ...]

    def __post_init__(self) -> None:
        names = [stage.name for stage in self.stages]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"a task has two or more different stages: {self.name!r} has {names}. Add or remove some.")
        for stage in self.stages:
            if stage.minutes < 1:
                raise ValueError(f"a stage says its minutes: {stage.name!r} of {self.name!r} has none. Give minutes=.")

    def __repr__(self) -> str:
        return f"Task({self.name!r}: {self.title})"

    @property
    def minutes(self) -> int:
        """The time to aim at: the sum of the stages."""
        return sum(stage.minutes for stage in self.stages)


class Outline:
    """The stages of one task, or several tasks, as a table with links on the site and with names in plain text."""

    def __init__(self, columns: tuple[str, str], rows: Sequence[tuple[str, str, int]], total: int | None) -> None:
        self._columns, self._rows, self._total = columns, rows, total

    def __repr__(self) -> str:
        width = max(len(title) for _, title, _ in self._rows)
        lines = [f"{number:>3}  {title:<{width}}  {minutes:>3} min" for number, (_, title, minutes) in self._numbered()]
        return "\n".join(lines + ([f"{'':>3}  {'together':<{width}}  {self._total:>3} min"] if self._total else []))

    def _repr_markdown_(self) -> str:
        first, second = self._columns
        rows = [f"| {number} | {{ref}}`{label}` | {minutes} |" for number, (label, _, minutes) in self._numbered()]
        rows += [f"| | *together* | {self._total} |"] if self._total else []
        return "\n".join([f"| {first} | {second} | Min. |", "|--:|:--|--:|", *rows])

    def _numbered(self) -> list[tuple[int, tuple[str, str, int]]]:
        return list(enumerate(self._rows, start=1))


def outline(task: Task) -> Outline:
    """List the stages of a task, with their minutes."""
    rows = [(f"exr-{stage.name}", stage.title, stage.minutes) for stage in task.stages]
    return Outline(("Stage", "What to write"), rows, task.minutes)


def overview(tasks: Sequence[Task]) -> Outline:
    """List tasks, with their minutes."""
    rows = [(f"task-{task.name}", task.title, task.minutes) for task in tasks]
    return Outline(("No.", "Task"), rows, None)
