"""Experiments that take longer than a page may: a chapter plans them, a script runs them, the page reads the file.

A chapter lists its plan in ``companion/chapters/CHAPTER/experiments.py`` under the name ``EXPERIMENTS``;
``python -m scripts.experiments CHAPTER`` writes ``measurements/CHAPTER/DEVICE.json``.

Made for this book. Chapter: book/attention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from companion.measure.files import Row, load


@dataclass(frozen=True)
class Experiment:
    """One setting of an experiment, run once with each seed.

    Args:
        name: what is measured.
        unit: of the result.
        run: called as ``run(seed=..., **settings)``; returns the result of one run.
        settings: what tells this experiment from others of its name.
        statistic: which of the results counts.
        seeds: one run each.
    """

    name: str
    unit: str
    run: Callable[..., float]
    settings: Mapping[str, object] = field(default_factory=dict)
    statistic: Literal["median", "max", "min"] = "max"
    seeds: Sequence[int] = (0, 1, 2)

    def row(self, values: Sequence[float]) -> Row:
        """Return the row of a measurement file for the results, one a seed.

        Raises:
            ValueError: there is not one result a seed.
        """
        if len(values) != len(self.seeds):
            raise ValueError(f"one result a seed: got {len(values)} for {len(self.seeds)} seeds. Run the others too.")
        return Row(self.name, self.unit, list(values), dict(self.settings), self.statistic)


def results(chapter: str, name: str) -> list[Row]:
    """Read the results of an experiment of a chapter, on the first device whose file has it.

    Args:
        chapter: as in the address of its pages, for example ``"attention"``.
        name: of the experiment.

    Returns:
        One row a setting, in the order of the plan.

    Raises:
        ValueError: the chapter has no measurements, or none of that name.
    """
    devices = load(chapter).values()
    for rows in devices:
        if found := [row for row in rows if row.name == name]:
            return found
    there = sorted({row.name for rows in devices for row in rows})
    raise ValueError(f"{chapter} has the experiments {there}: got {name!r}.")
