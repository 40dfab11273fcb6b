"""Interactive figures on training: a learning rate over time, steps of Adam, and loss curves to diagnose.

Vaswani et al. (2017), section 5.3; Kingma and Ba (2015). Chapter: book/training.

The browser half repeats the two schedules and the five lines of Adam, and looks up the rest.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from companion.explorers.base import Choice, Explorer, Numbers, Real, Switch, Whole
from companion.training.schedule import cosine_schedule, warmup_schedule

WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096)
WARMUPS = (1, 250, 500, 1000, 2000, 4000, 8000, 16000)
TOTALS = (20_000, 50_000, 100_000, 200_000, 300_000)
PEAKS = (1e-5, 3e-5, 1e-4, 3e-4, 7e-4, 1e-3, 3e-3)
BETAS = (0.9, 0.95, 0.98, 0.99, 0.999)
ROWS = ("g", "m", "v", "m_hat", "v_hat", "step")
EPS = 1e-9
KEYS = ("title", "train", "new", "cause", "sign")
CAUSES = (
    ("the rate is too high", "the losses stand far above guessing from the first steps on, in training too."),
    ("the rate is too low", "both curves fall smoothly and together, and are still on their way at the end."),
    (
        "there are too few texts",
        "training goes below the floor, while the loss on new texts turns and rises.",
    ),
    ("the target is not shifted", "the loss goes to zero at once, on new texts too, where no model can go."),
    ("inputs and targets do not belong together", "a quick fall to what the letters' frequencies tell, then nothing."),
    ("gradients are not cleared", "a harmless beginning, then a loss that grows and grows."),
)
"""Six faults by name, and what a run with each of them looks like."""


class ScheduleExplorer(Explorer):
    """Show the learning rate over the steps: Equation (3) of the paper, or a cosine after a warm-up."""

    _js = "schedule.js"

    widths = Numbers(fixed=True)
    warmups = Numbers(fixed=True)
    totals = Numbers(fixed=True)
    peaks = Numbers(fixed=True)
    kind = Choice(("root", "cosine"), "root")
    d_model = Choice(WIDTHS, 512)
    warmup = Choice(WARMUPS, 4000)
    total = Choice(TOTALS, 100_000)
    peak = Choice(PEAKS, 7e-4)

    def __init__(
        self,
        *,
        kind: str = "root",
        d_model: int = 512,
        warmup: int = 4000,
        total: int = 100_000,
        peak: float = 7e-4,
        label: str = "The learning rate over time",
    ) -> None:
        """Take the choices to begin with; all can be set later.

        Args:
            kind: ``"root"`` for Equation (3), ``"cosine"`` for a cosine after a warm-up.
            d_model: width of the model, one of ``WIDTHS``; it sets the height of Equation (3).
            warmup: steps of the linear part, one of ``WARMUPS``.
            total: steps in all, one of ``TOTALS``.
            peak: highest rate of the cosine, one of ``PEAKS``.
            label: the figure's title.

        Raises:
            ValueError: a value that no control offers.
        """
        super().__init__(
            label=label,
            widths=list(WIDTHS),
            warmups=list(WARMUPS),
            totals=list(TOTALS),
            peaks=list(PEAKS),
            kind=kind,
            d_model=d_model,
            warmup=warmup,
            total=total,
            peak=peak,
        )

    def marks(self) -> list[int]:
        """List the steps whose rate the figure writes out."""
        first = [1, max(1, self.warmup // 2), self.warmup]
        return sorted({*first, self.total // 4, self.total // 2, self.total})

    def rate(self, step: int) -> float:
        """Compute the learning rate of a step with the package.

        Args:
            step: counted from 1.

        Returns:
            The rate of the schedule that the figure shows now.
        """
        if self.kind == "root":
            return warmup_schedule(step, self.d_model, self.warmup)
        return cosine_schedule(step, self.peak, self.warmup, self.total)

    def _about(self) -> str:
        return f"kind={self.kind}, d_model={self.d_model}, warmup={self.warmup}, total={self.total}"


class AdamSteps(Explorer):
    """Show what Adam makes of a few gradients of one weight, step by step."""

    _js = "adam_steps.js"

    gradients = Numbers(fixed=True)
    betas = Numbers(fixed=True)
    beta_1 = Real(0.9, 0.0, 0.99)
    beta_2 = Choice(BETAS, 0.98)
    factor = Real(1.0, 0.001, 1000.0)
    correct = Switch(True)

    def __init__(
        self,
        gradients: Sequence[float],
        *,
        beta_1: float = 0.9,
        beta_2: float = 0.98,
        factor: float = 1.0,
        correct: bool = True,
        label: str = "Adam, step by step",
    ) -> None:
        """Take the gradients of one weight.

        Args:
            gradients: two to eight, in order.
            beta_1: share of the mean that is kept, 0 to 0.99. Can be set later.
            beta_2: share of the mean of squares that is kept, one of ``BETAS``. Can be set later.
            factor: what all gradients are multiplied by, 0.001 to 1000. Can be set later.
            correct: whether the means are corrected for their beginning at 0. Can be set later.
            label: the figure's title.

        Raises:
            ValueError: fewer than two or more than eight gradients, or one that is 0.
        """
        if not 2 <= len(gradients) <= 8 or 0 in list(gradients):
            raise ValueError(f"two to eight gradients, none of them 0: got {list(gradients)}. Change or drop some.")
        super().__init__(
            label=label,
            gradients=gradients,
            betas=list(BETAS),
            beta_1=beta_1,
            beta_2=beta_2,
            factor=factor,
            correct=correct,
        )

    def numbers(self) -> dict[str, list[float]]:
        """Compute the rows of the figure.

        Returns:
            By the names in ``ROWS``, one number for each gradient; ``step`` is in units of the learning rate.
        """
        rows: dict[str, list[float]] = {name: [] for name in ROWS}
        m = v = 0.0
        for t, gradient in enumerate(self.gradients, start=1):
            g = gradient * self.factor
            m, v = self.beta_1 * m + (1 - self.beta_1) * g, self.beta_2 * v + (1 - self.beta_2) * g * g
            m_hat = m / (1 - self.beta_1**t) if self.correct else m
            v_hat = v / (1 - self.beta_2**t) if self.correct else v
            values = (g, m, v, m_hat, v_hat, -m_hat / (math.sqrt(v_hat) + EPS))
            for name, value in zip(ROWS, values, strict=True):
                rows[name].append(value)
        return rows

    def _about(self) -> str:
        return f"{len(self.gradients)} gradients"


class CurveClinic(Explorer):
    """Show loss curves one at a time, let the reader name the fault, and say why it is that or is not."""

    _js = "curve_clinic.js"

    curves = Numbers(digits=3, words=True, fixed=True)
    causes = Numbers(words=True, fixed=True)
    lines = Numbers(digits=3, fixed=True)
    every = Whole(10, 1, 1000, fixed=True)
    top = Real(4.0, 0.5, 100.0, fixed=True)
    curve = Whole(0, 0, 99)
    guess = Whole(-1, -1, 99)

    def __init__(
        self,
        curves: Sequence[Mapping[str, Any]],
        causes: Sequence[Sequence[str]] = CAUSES,
        *,
        lines: Sequence[float] = (),
        every: int = 10,
        top: float = 4.0,
        curve: int = 0,
        guess: int = -1,
        label: str = "What is wrong with this run?",
    ) -> None:
        """Keep the curves, rounded to three decimals.

        Args:
            curves: for each a mapping of ``title``, ``train`` and ``new`` (losses, as many in each), ``cause`` (its
                place in ``causes``) and ``sign`` (how one sees it).
            causes: for each its name, and what a run with this fault shows.
            lines: losses to draw a level line at: guessing, then the floor.
            every: steps from one point to the next.
            top: the highest loss that is drawn; what is higher is drawn there.
            curve: which curve. Can be set later.
            guess: which cause the reader names; -1 for none yet. Can be set later.
            label: the figure's title.

        Raises:
            ValueError: something is missing, the lists differ in length, or a place does not exist.
        """
        for given in curves:
            missing = [key for key in KEYS if key not in given]
            if missing or len(given["train"]) != len(given["new"]) or not 0 <= given["cause"] < len(causes):
                raise ValueError(
                    f"a curve has {', '.join(KEYS)}, as many losses on new texts as in training, and a cause from 0 to "
                    f"{len(causes) - 1}: got {given.get('title', given)!r}, missing {missing}. Mend it."
                )
        if not 0 <= curve < len(curves) or not -1 <= guess < len(causes):
            raise ValueError(
                f"curve and guess lie within {len(curves)} curves and {len(causes)} causes: got {curve} and {guess}. "
                "Count from 0."
            )
        super().__init__(
            label=label,
            curves=[dict(given) for given in curves],
            causes=[list(cause) for cause in causes],
            lines=list(lines),
            every=every,
            top=top,
            curve=curve,
            guess=guess,
        )

    def right(self) -> bool:
        """Say whether the cause that the reader names is that of the curve."""
        return self.guess == self.curves[self.curve]["cause"]

    def _about(self) -> str:
        return f"{len(self.curves)} curves, {len(self.causes)} causes"
