"""What the chapter's pages read from measurements/training: rates, warm-up, few data, first parameters, batches."""

import math
from functools import cache
from itertools import product

import torch

from companion.chapters.training.small_language import confidence, fit, language_model, loss_on, train_set
from companion.measure import Experiment

DIVERGED = 10.0
"""Stands for the loss of a run that ended above it, or in numbers that are not finite."""


def loss_by_rate(seed: int, optimizer: str, rate: float, steps: int = 300, clip: float = math.inf) -> float:
    """Train one layer, and measure the loss on new sequences.

    Args:
        seed: of the initial parameters and the batches.
        optimizer: a name in ``OPTIMIZERS``.
        rate: the learning rate.
        steps: of training.
        clip: greatest norm of the gradient.

    Returns:
        The loss in nats, at most ``DIVERGED``.
    """
    try:
        model = fit(language_model(seed), steps, rate=rate, optimizer=optimizer, clip=clip, seed=seed)
        loss = loss_on(model)
    except ValueError:  # the package refuses queries that are not finite
        return DIVERGED
    return min(loss, DIVERGED) if math.isfinite(loss) else DIVERGED


NOTED = (1, 10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 1000)
"""Steps after which the runs with and without warm-up are measured; only the first one goes on to the last."""


@cache
def curve(seed: int, norm_placement: str, rate: float, warmup: int) -> dict[int, float]:
    """Train six layers for 300 steps, and for 1,000 where the norm comes after the sum and nothing warms up.

    Args:
        seed: of the initial parameters and the batches.
        norm_placement: ``"pre"`` or ``"post"``.
        rate: the learning rate after the warm-up.
        warmup: steps in which the rate rises linearly; 1 is no warm-up.

    Returns:
        The loss on new sequences after each step of ``NOTED``.
    """
    model, losses = language_model(seed, 6, norm_placement=norm_placement), {}

    def watch(step: int) -> None:
        if step in NOTED:
            losses[step] = loss_on(model)

    steps = NOTED[-1] if (norm_placement, rate, warmup) == RUNS[STUCK] else NOTED[-2]
    fit(model, steps, rate=lambda step: rate * min(1, step / warmup), seed=seed, watch=watch)
    return losses


def loss_at(seed: int, norm_placement: str, rate: float, warmup: int, step: int) -> float:
    """Read one point of a curve.

    Args:
        seed: of the initial parameters and the batches.
        norm_placement: ``"pre"`` or ``"post"``.
        rate: the learning rate after the warm-up.
        warmup: steps of the warm-up.
        step: one of ``NOTED``.

    Returns:
        The loss on new sequences, in nats.
    """
    return curve(seed, norm_placement, rate, warmup)[step]


@cache
def regularised(
    seed: int, size: int, smoothing: float = 0.0, dropout: float = 0.0, decay: float = 0.0
) -> tuple[float, float]:
    """Train one layer for 300 steps on few or many sequences.

    Args:
        seed: of the initial parameters and the batches.
        size: number of different sequences.
        smoothing: of the labels.
        dropout: share of activations.
        decay: weight decay of the matrices, decoupled.

    Returns:
        The loss on new sequences in nats, and the mean largest probability.
    """
    model = language_model(seed, dropout=dropout)
    shrink = 1 - 1e-2 * decay

    def watch(step: int) -> None:
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim >= 2:
                    parameter.mul_(shrink)

    fit(model, data=train_set(size), smoothing=smoothing, seed=seed, watch=watch)
    return loss_on(model), confidence(model)


def loss_of(seed: int, **choices: float) -> float:
    """Measure the loss after a training on few or many sequences.

    Args:
        seed: of the initial parameters and the batches.
        **choices: the others of :func:`regularised`.

    Returns:
        The loss on new sequences, in nats.
    """
    return regularised(seed, **choices)[0]


def confidence_of(seed: int, **choices: float) -> float:
    """Measure how sure a model is after a training on few or many sequences.

    Args:
        seed: of the initial parameters and the batches.
        **choices: the others of :func:`regularised`.

    Returns:
        The mean largest probability.
    """
    return regularised(seed, **choices)[1]


def loss_by_scale(seed: int, scale: float) -> float:
    """Train one layer whose initial matrices are multiplied by a number, and measure the loss on new sequences.

    Args:
        seed: of the initial parameters and the batches.
        scale: of all matrices and tables; gains and biases stay as they are.

    Returns:
        The loss in nats, at most ``DIVERGED``.
    """
    model = language_model(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter.mul_(scale)
    return min(loss_on(fit(model, seed=seed)), DIVERGED)


def loss_by_batch(seed: int, size: int, rate: float) -> float:
    """Train one layer on 9,600 sequences in batches of one size.

    Args:
        seed: of the initial parameters and the batches.
        size: of a batch.
        rate: the learning rate.

    Returns:
        The loss on new sequences, in nats.
    """
    return loss_on(fit(language_model(seed), 9600 // size, rate=rate, size=size, seed=seed))


def loss_after_damage(seed: int, steps: int) -> float:
    """Train one layer for 100 steps at a rate far too high, and then at a sound one.

    Args:
        seed: of the initial parameters and the batches.
        steps: at the sound rate.

    Returns:
        The loss on new sequences, in nats.
    """
    model = fit(language_model(seed), 100, rate=3.0, seed=seed)
    return loss_on(fit(model, steps, seed=seed))


RATES = {
    "gradient descent": (0.1, 0.3, 1.0, 3.0),
    "Adam": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1),
}
CLIPPED = {"gradient descent": (0.3, 1.0, 3.0), "Adam": (1e-2, 1e-1)}
STUCK = "post-norm, no warm-up"
RUNS = {
    STUCK: ("post", 1e-2, 1),
    "post-norm, warm-up": ("post", 1e-2, 60),
    "post-norm, a tenth of the rate": ("post", 1e-3, 1),
    "pre-norm, no warm-up": ("pre", 1e-2, 1),
}
HELPS = ({}, {"smoothing": 0.1}, {"dropout": 0.1}, {"dropout": 0.3}, {"decay": 1.0})
SIZES, BATCHES, SCALES = (128, 2048), (32, 128, 512), (0.0, 0.1, 1.0, 10.0)
MANY = 65_536
"""So many sequences that a run of 300 steps draws about one in seven of them."""
PAIRS = range(10)
"""Seeds of the runs with and without a remedy: two runs of one seed start alike and see the same batches."""


def _plan() -> list[Experiment]:
    rates = [{"optimizer": name, "rate": rate} for name, rates in RATES.items() for rate in rates]
    rates.append({"optimizer": "gradient descent", "rate": 1.0, "steps": 3000})
    clips = [{"optimizer": name, "rate": rate, "clip": 1.0} for name, rates in CLIPPED.items() for rate in rates]
    curves = {name: dict(zip(("norm_placement", "rate", "warmup"), run, strict=True)) for name, run in RUNS.items()}
    few = [{"size": size} | how for size, how in product((*SIZES, MANY), HELPS) if size != MANY or how in HELPS[:2]]
    sure = [{"size": size} | how for size, how in product(SIZES, HELPS[:2])]
    batches = [{"size": size, "rate": rate} for size, rate in product(BATCHES, (1e-2, 3e-2))]
    return [
        *(Experiment("loss by rate", "nats", loss_by_rate, one, "median") for one in rates),
        *(Experiment("loss with a clip", "nats", loss_by_rate, one, "median") for one in clips),
        *(
            Experiment("loss by step", "nats", loss_at, one | {"step": step}, "median")
            for name, one in curves.items()
            for step in (NOTED if name == STUCK else NOTED[:-1])
        ),
        *(Experiment("loss on new sequences", "nats", loss_of, one, "median", PAIRS) for one in few),
        *(Experiment("largest probability", "share", confidence_of, one, "median") for one in sure),
        *(Experiment("loss by initial scale", "nats", loss_by_scale, {"scale": scale}, "median") for scale in SCALES),
        *(Experiment("loss by batch size", "nats", loss_by_batch, one, "median") for one in batches),
        *(Experiment("loss after damage", "nats", loss_after_damage, {"steps": n}, "median") for n in (300, 3000)),
    ]


EXPERIMENTS = _plan()
