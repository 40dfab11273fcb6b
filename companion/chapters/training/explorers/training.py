"""Interactive figures on training: a learning rate over time, steps of Adam, and loss curves to diagnose.

Vaswani et al. (2017), section 5.3; Kingma and Ba (2015). Chapter: book/training.

The browser half repeats the two schedules and the five lines of Adam, and looks up the rest.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from companion.explorers.base import Choice, Explorer, Numbers, Real, Switch, Title, Whole
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
        "there are too few sequences",
        "the training loss goes below the floor, while the validation loss turns and rises.",
    ),
    ("the target is not shifted", "the loss goes to zero at once, in validation too, where no model can go."),
    ("inputs and targets do not belong together", "a quick fall to what the letters' frequencies tell, then nothing."),
    ("gradients are not cleared", "a harmless beginning, then a loss that grows and grows."),
)
"""Six faults by name, and what a run with each of them looks like."""


class ScheduleExplorer(Explorer):
    """Show the learning rate over the steps: the inverse square root of the paper, Equation (3), or a cosine."""

    _js = "schedule.js"

    widths = Numbers(WIDTHS, fixed=True)
    warmups = Numbers(WARMUPS, fixed=True)
    totals = Numbers(TOTALS, fixed=True)
    peaks = Numbers(PEAKS, fixed=True)
    kind = Choice(("root", "cosine"), "root", help="the inverse square root of 2017, or a cosine, after a warm-up")
    d_model = Choice(WIDTHS, 512, help="width of the model; it sets the height of the inverse square root")
    warmup = Choice(WARMUPS, 4000, help="steps of the linear part")
    total = Choice(TOTALS, 100_000, help="steps in all")
    peak = Choice(PEAKS, 7e-4, help="highest rate of the cosine")
    label = Title("The learning rate over time")

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
    """Show what Adam makes of a few gradients of one weight, step by step.

    Args:
        gradients: of one weight, two to eight, in order.

    Raises:
        ValueError: fewer than two or more than eight gradients, or one that is 0.
    """

    _js = "adam_steps.js"

    gradients = Numbers(fixed=True)
    betas = Numbers(BETAS, fixed=True)
    beta_1 = Real(0.9, 0.0, 0.99, help="share of the mean that is kept")
    beta_2 = Choice(BETAS, 0.98, help="share of the mean of squares that is kept")
    factor = Real(1.0, 0.001, 1000.0, help="what all gradients are multiplied by")
    correct = Switch(True, help="whether the means are corrected for their beginning at 0")
    label = Title("Adam, step by step")

    def __init__(self, gradients: Sequence[float], **traits: object) -> None:
        if not 2 <= len(gradients) <= 8 or 0 in list(gradients):
            raise ValueError(f"two to eight gradients, none of them 0: got {list(gradients)}. Change or drop some.")
        super().__init__(gradients=gradients, **traits)

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
    """Show loss curves one at a time, let the reader name the fault, and say why it is that or is not.

    Args:
        curves: one or more, each a mapping of ``title``, ``train`` and ``new`` (losses, as many in each, rounded to
            three decimals), ``cause`` (its place in ``causes``) and ``sign`` (how one sees it).
        causes: for each its name, and what a run with this fault shows.

    Raises:
        ValueError: something is missing, the lists differ in length, or a place does not exist.
    """

    _js = "curve_clinic.js"

    curves = Numbers(digits=3, words=True, fixed=True)
    causes = Numbers(words=True, fixed=True)
    lines = Numbers(digits=3, fixed=True, help="losses to draw a level line at: guessing, then the floor")
    every = Whole(10, 1, 1000, fixed=True, help="steps from one point to the next")
    top = Real(4.0, 0.5, 100.0, fixed=True, help="the highest loss that is drawn; what is higher is drawn there")
    curve = Whole(0, 0, lambda self: len(self.curves) - 1, help="which curve")
    guess = Whole(-1, -1, lambda self: len(self.causes) - 1, help="which cause the reader names; -1 for none yet")
    label = Title("What is wrong with this run?")

    def __init__(
        self,
        curves: Sequence[Mapping[str, Any]],
        causes: Sequence[Sequence[str]] = CAUSES,
        **traits: object,
    ) -> None:
        if not curves:
            raise ValueError("the clinic needs at least one curve: got none. Pass a list of mappings.")
        for given in curves:
            missing = [key for key in KEYS if key not in given]
            if missing or len(given["train"]) != len(given["new"]) or not 0 <= given["cause"] < len(causes):
                raise ValueError(
                    f"a curve has {', '.join(KEYS)}, as many losses in validation as in training, and a cause from 0 "
                    f"to {len(causes) - 1}: got {given.get('title', given)!r}, missing {missing}. Mend it."
                )
        super().__init__(curves=[dict(given) for given in curves], causes=[list(cause) for cause in causes], **traits)

    def right(self) -> bool:
        """Say whether the cause that the reader names is that of the curve."""
        return self.guess == self.curves[self.curve]["cause"]

    def _about(self) -> str:
        return f"{len(self.curves)} curves, {len(self.causes)} causes"
