"""What happened in a training run, in lists that can be plotted and saved.

Made for this book. Chapter: book/training.
"""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class History:
    """Numbers of each step, and of each evaluation: ``plot(history.step, history.loss)``.

    Args:
        step: number of the step, from 1.
        loss: mean loss per real token, before the step.
        learning_rate: of the step.
        gradient_norm: of all gradients together, before clipping; not finite where mixed precision skipped the step.
        tokens_per_second: real target tokens, by all processes together.
        evaluations: for each evaluation the step after which it was made, and its numbers by name.

    >>> history = History()
    >>> history.add(loss=2.5, learning_rate=0.1, gradient_norm=1.0, tokens_per_second=1e3)
    >>> history.evaluations.append({"step": 1, "accuracy": 0.25})
    >>> history.step, history.loss, history.metric("accuracy")
    ([1], [2.5], ([1], [0.25]))
    """

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    tokens_per_second: list[float] = field(default_factory=list)
    evaluations: list[dict[str, float | int]] = field(default_factory=list)

    def add(self, *, loss: float, learning_rate: float, gradient_norm: float, tokens_per_second: float) -> None:
        """Append the numbers of one step.

        Args:
            loss: mean loss per real token.
            learning_rate: of the step.
            gradient_norm: before clipping.
            tokens_per_second: real target tokens.
        """
        self.step.append(len(self.step) + 1)
        self.loss.append(loss)
        self.learning_rate.append(learning_rate)
        self.gradient_norm.append(gradient_norm)
        self.tokens_per_second.append(tokens_per_second)

    def metric(self, name: str) -> tuple[list[int], list[float]]:
        """Return the steps and the values of one number of the evaluations, ready to plot.

        Raises:
            ValueError: no evaluation has this number.
        """
        found = [(evaluation["step"], evaluation[name]) for evaluation in self.evaluations if name in evaluation]
        if not found:
            known = sorted({key for evaluation in self.evaluations for key in evaluation} - {"step"})
            raise ValueError(f"no evaluation has a number called {name!r}: there are {known}. Use one of these.")
        return [step for step, _ in found], [value for _, value in found]

    def save(self, path: Path | str) -> None:
        """Write the history as JSON; a number that is not finite becomes ``null``.

        Args:
            path: the file, which is replaced.
        """
        columns = asdict(self)
        columns["gradient_norm"] = [norm if math.isfinite(norm) else None for norm in self.gradient_norm]
        Path(path).write_text(json.dumps(columns, indent=1, allow_nan=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path | str) -> "History":
        """Read what :meth:`save` wrote; ``null`` becomes NaN."""
        columns = json.loads(Path(path).read_text("utf-8"))
        columns["gradient_norm"] = [math.nan if norm is None else norm for norm in columns["gradient_norm"]]
        return cls(**columns)
