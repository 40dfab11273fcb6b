"""Learning rates as functions of the step: Vaswani et al. (2017), section 5.3, Eq. (3), and a cosine after a warm-up.

The cosine is that of Loshchilov and Hutter (2017), without restarts.

Chapter: book/training.
"""

import math
from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

Schedule = Callable[[int], float]  # step, counted from 1 -> learning rate


def warmup_schedule(step: int, d_model: int, warmup: int = 4000) -> float:
    r"""Raise the learning rate linearly for ``warmup`` steps, then let it fall as one over the root of the step.

    .. math:: d_{\text{model}}^{-0.5} \cdot \min(\text{step}^{-0.5},\; \text{step} \cdot \text{warmup}^{-1.5})

    Its peak is ``(d_model * warmup) ** -0.5``, at ``step == warmup``.

    Args:
        step: number of the step, from 1: at step 0 the formula divides by zero.
        d_model: width of the model.
        warmup: number of steps of the linear part.

    Returns:
        The learning rate of this step.

    Raises:
        ValueError: a number is below 1.

    >>> f"{warmup_schedule(4000, d_model=512):.3e}"
    '6.988e-04'
    """
    if min(step, d_model, warmup) < 1:
        raise ValueError(
            f"step, d_model and warmup are at least 1: got step={step}, d_model={d_model}, warmup={warmup}. "
            "The first step has number 1."
        )
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def cosine_schedule(step: int, peak: float | int, warmup: int, total: int, floor: float | int = 0.0) -> float:
    r"""Raise the learning rate linearly to its peak, then lower it to the floor along half a cosine.

    .. math:: \text{floor} + \tfrac12 (\text{peak} - \text{floor})
              \left(1 + \cos \pi \frac{\text{step} - \text{warmup}}{\text{total} - \text{warmup}}\right)

    Args:
        step: number of the step, from 1.
        peak: the rate at ``step == warmup``.
        warmup: number of steps of the linear part; 0 for none.
        total: the step at which the rate reaches the floor, where it then stays.
        floor: the lowest rate after the warm-up.

    Returns:
        The learning rate of this step.

    Raises:
        ValueError: the step is below 1, or the numbers are out of order.

    >>> [cosine_schedule(step, peak=0.5, warmup=2, total=6) for step in (1, 2, 4, 6, 100)]
    [0.25, 0.5, 0.25, 0.0, 0.0]
    """
    if step < 1 or not 0 <= warmup < total or not 0 <= floor <= peak:
        raise ValueError(
            f"step >= 1, 0 <= warmup < total and 0 <= floor <= peak: got step={step}, warmup={warmup}, total={total}, "
            f"floor={floor}, peak={peak}. The first step has number 1."
        )
    if step <= warmup:
        return peak * step / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def lambda_lr(optimizer: Optimizer, schedule: Schedule) -> LambdaLR:
    """Put a schedule into the form that torch's own loops use: call ``.step()`` after each step of the optimiser.

    ``LambdaLR`` counts from 0 and multiplies the rate that the optimiser was made with, so that rate must be 1.
    :class:`companion.training.Trainer` needs no such object: it writes ``schedule(step)`` into the optimiser.

    Args:
        optimizer: made with ``lr=1.0``.
        schedule: learning rate at a step, counted from 1.

    Returns:
        The scheduler; the optimiser now has the rate of step 1.

    Raises:
        ValueError: the optimiser was made with another rate.
    """
    rates = sorted({float(group["lr"]) for group in optimizer.param_groups})
    if rates != [1.0]:
        raise ValueError(
            f"LambdaLR multiplies the optimiser's own learning rate by the schedule: got lr={rates}. "
            "Make the optimiser with lr=1.0."
        )
    return LambdaLR(optimizer, lambda done: schedule(done + 1))
