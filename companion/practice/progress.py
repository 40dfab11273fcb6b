"""How far the reader is: which exercises are solved, tried or open, in memory or in a file of the reader's choice."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

STATES = ("open", "tried", "solved")


class Progress:
    """The state of each exercise, kept in a JSON file once one is named.

    A state only moves forward: an exercise once solved stays solved. Two notebooks may keep one file.
    """

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._path: Path | None = None
        self._answers: dict[str, Callable[..., object]] = {}

    @property
    def path(self) -> Path | None:
        """The file, or ``None`` where nothing is kept."""
        return self._path

    def state(self, name: str) -> str:
        """One of ``"open"``, ``"tried"`` and ``"solved"``."""
        return self._states.get(name, "open")

    def answer(self, name: str) -> Callable[..., object] | None:
        """The answer that was tried last in this process, if it was right; functions are never written to a file."""
        return self._answers.get(name)

    def record(self, name: str, state: str, answer: Callable[..., object] | None = None) -> None:
        """Note that an exercise was tried or solved, and save.

        Args:
            name: of the exercise.
            state: one of :data:`STATES`.
            answer: the function that solved it, for later stages to build on; ``None`` forgets an earlier one.

        Raises:
            ValueError: no such state, or the file no longer holds progress.
        """
        if state not in STATES:
            raise ValueError(f"a state is one of {', '.join(STATES)}: got {state!r}. Use one of these.")
        self._states = _merge(self._states, {name: state})
        self._answers.pop(name, None)
        if answer is not None:
            self._answers[name] = answer
        if self._path is not None:
            self.keep(self._path)

    def keep(self, path: str | Path) -> None:
        """Join what is known with what the file holds, and write both to it, now and after each answer.

        Raises:
            ValueError: the file does not hold progress, or its folder does not exist.
        """
        path = Path(path)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValueError(f"progress is kept in a file in an existing folder: got {path}. Create the folder first.")
        states = _merge(_read(path), self._states)
        text = json.dumps({"exercises": dict(sorted(states.items()))}, indent=2) + "\n"
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)  # in one step, so that a crash leaves the old file or the new one
        self._states, self._path = states, path


PROGRESS = Progress()
"""The one piece of state that the package keeps: the progress of whoever runs this process."""


def _merge(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Take the further of the two states of each exercise."""
    names = one.keys() | other.keys()
    return {name: max(one.get(name, "open"), other.get(name, "open"), key=STATES.index) for name in names}


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        states = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        if all(state in STATES for state in states.values()):
            return dict(states)
        reason = f"a state is not one of {', '.join(STATES)}"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise ValueError(
        f"a progress file holds JSON with the states of the exercises: {path} does not ({reason}). "
        "Name another file, or move this one away and start afresh."
    )
