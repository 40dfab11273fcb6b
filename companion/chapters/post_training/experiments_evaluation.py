"""Scores and what moves them: leaked questions, temperatures, thresholds for an answer, a judge's own style."""

from functools import cache

import torch
from torch import Tensor

from companion.chapters.post_training.evaluation import (
    NUMBERS,
    chance_of_right,
    examined,
    on_text,
    own_preferred,
    policy,
    reply_all,
    split,
    targets,
)
from companion.chapters.training import small_gpt
from companion.measure import Experiment
from companion.scoring import Reliability, fit_temperature, reliability

COPIES = (0, 1, 10, 30)
BINS = 10
POLICIES = ("reference", "GRPO on the checker")
SURE = (0.5, 0.75, 0.9)
SEEDS = {"base, text": (0,), "tuned, text": (0, 1, 2), "tuned, answers": (0, 1, 2)}
"""What predicts, and what; the base is the released small GPT, so there is one."""
MODELS = tuple(SEEDS)


@cache
def leaked(seed: int, copies: int) -> dict[str, float]:
    """Measure a model that has trained on the benchmark so many times.

    Args:
        seed: of the training.
        copies: of each benchmark question.

    Returns:
        Percentages of right answers: on the benchmark, on fresh questions, and on those fresh ones whose line is in the
        training text of the base (``"seen"``), or only in its validation text (``"unseen"``).
    """
    model, parts = examined(seed, copies), split()
    train, _ = small_gpt.splits()
    read = set(small_gpt.decode(train).split("\n"))
    seen = torch.tensor([question in read for question, _ in parts.fresh])
    fresh = reply_all(model, parts.fresh).right.double()
    return {
        "benchmark": 100 * reply_all(model, parts.benchmark).right.double().mean().item(),
        "fresh": 100 * fresh.mean().item(),
        "seen": 100 * fresh[seen].mean().item(),
        "unseen": 100 * fresh[~seen].mean().item(),
    }


def score(seed: int, copies: int, on: str) -> float:
    """Return one percentage of :func:`leaked`.

    Args:
        seed: of the training.
        copies: of each benchmark question.
        on: which questions.

    Returns:
        The percentage.
    """
    return leaked(seed, copies)[on]


@cache
def calibrated(seed: int, model: str) -> tuple[float, dict[str, Reliability]]:
    """Measure calibration, before and after a temperature that was fitted elsewhere.

    Args:
        seed: of the fine-tuning.
        model: one of ``MODELS``: what predicts, and what.

    Returns:
        The temperature, and the bins at temperature 1 (``"1"``) and at this one (``"fitted"``).
    """
    if model == "tuned, answers":
        tuned, parts = examined(seed, 0), split()
        temperature = fit_temperature(*targets(tuned, parts.validation))
        replies = reply_all(tuned, parts.fresh)
        found = {name: (replies.confidence(t), replies.right) for name, t in (("1", 1.0), ("fitted", temperature))}
    else:
        reads = small_gpt.load() if model == "base, text" else examined(seed, 0)
        temperature = fit_temperature(*on_text(reads, 0, 16_000 // 128 * 128))
        logits, came = on_text(reads, 16_000, 32_000)
        found = {name: _top(logits / t, came) for name, t in (("1", 1.0), ("fitted", temperature))}
    return temperature, {name: reliability(*both, bins=BINS) for name, both in found.items()}


def _top(logits: Tensor, came: Tensor) -> tuple[Tensor, Tensor]:
    confidence, guess = logits.double().softmax(-1).max(-1)
    return confidence, guess == came


def temperature(seed: int, model: str) -> float:
    """Return the fitted temperature of :func:`calibrated`.

    Args:
        seed: of the fine-tuning.
        model: one of ``MODELS``.

    Returns:
        The temperature.
    """
    return calibrated(seed, model)[0]


def calibration_error(seed: int, model: str, at: str) -> float:
    """Return the expected calibration error.

    Args:
        seed: of the fine-tuning.
        model: one of ``MODELS``.
        at: ``"1"`` or ``"fitted"``, the temperature.

    Returns:
        In percentage points.
    """
    return 100 * calibrated(seed, model)[1][at].error


def in_bin(seed: int, model: str, at: str, number: int, quantity: str) -> float:
    """Return what stands in one bin of a reliability diagram.

    Args:
        seed: of the fine-tuning.
        model: one of ``MODELS``.
        at: ``"1"`` or ``"fitted"``.
        number: of the bin, from 0.
        quantity: ``"share"``, ``"confidence"`` or ``"accuracy"``.

    Returns:
        A number from 0 to 1.
    """
    return getattr(calibrated(seed, model)[1][at], quantity)[number].item()


@cache
def abstained(seed: int, sure: float, rule: str) -> tuple[float, float]:
    """Let the tuned model answer only where it is sure enough; a wrong answer costs t / (1 - t) points.

    Args:
        seed: of the fine-tuning.
        sure: t, above which an answer is expected to gain.
        rule: ``"always"``; ``"confident"``: above t; ``"confident, fitted"``: above t at the fitted temperature.

    Returns:
        Points a question, in hundredths, and the percentage that is answered.
    """
    replies = reply_all(examined(seed, 0), split().fresh)
    at = temperature(seed, "tuned, answers") if rule == "confident, fitted" else 1.0
    answers = torch.ones_like(replies.right) if rule == "always" else replies.confidence(at) > sure
    points = torch.where(replies.right, 1.0, -sure / (1 - sure)).double() * answers
    return 100 * points.mean().item(), 100 * answers.double().mean().item()


def points(seed: int, sure: float, rule: str) -> float:
    """Return the points of :func:`abstained`.

    Args:
        seed: of the fine-tuning.
        sure: the threshold.
        rule: when an answer is given.

    Returns:
        Points a hundred questions.
    """
    return abstained(seed, sure, rule)[0]


def answered(seed: int, sure: float, rule: str) -> float:
    """Return the percentage that is answered, of :func:`abstained`.

    Args:
        seed: of the fine-tuning.
        sure: the threshold.
        rule: when an answer is given.

    Returns:
        The percentage.
    """
    return abstained(seed, sure, rule)[1]


def right_chance(seed: int, way: str, prompt: int) -> float:
    """Return the probability that a policy answers a prompt rightly.

    Args:
        seed: of everything.
        way: one of ``POLICIES``.
        prompt: the number to be reached.

    Returns:
        The probability, not an estimate.
    """
    return chance_of_right(policy(seed, way), prompt)


def self_preference(seed: int, way: str) -> float:
    """Let a policy judge by likelihood between its own right answers and those of the policy of the next seed.

    Args:
        seed: of the judge.
        way: one of ``POLICIES``.

    Returns:
        The percentage of pairs in which it prefers its own.
    """
    generator = torch.Generator().manual_seed(seed + 1200)
    return 100 * own_preferred(policy(seed, way), policy((seed + 1) % 3, way), generator)


RULES = ("always", "confident", "confident, fitted")
EVALUATION = [
    *(
        Experiment("right sums, exact", "probability", right_chance, {"way": way, "prompt": n}, "median")
        for way in POLICIES
        for n in NUMBERS
    ),
    *(Experiment("own answers preferred", "%", self_preference, {"way": way}, "median") for way in POLICIES),
    *(
        Experiment("leaked questions", "% right", score, {"copies": copies, "on": on}, "median")
        for copies in COPIES
        for on in ("benchmark", "fresh", "seen", "unseen")
    ),
    *(Experiment("fitted temperature", "T", temperature, {"model": model}, "median", SEEDS[model]) for model in MODELS),
    *(
        Experiment("calibration error", "points", calibration_error, {"model": model, "at": at}, "median", SEEDS[model])
        for model in MODELS
        for at in ("1", "fitted")
    ),
    *(
        Experiment(
            "reliability",
            quantity,
            in_bin,
            {"model": model, "at": at, "number": n, "quantity": quantity},
            "median",
            SEEDS[model],
        )
        for model in MODELS
        for at in ("1", "fitted")
        for n in range(BINS)
        for quantity in ("share", "confidence", "accuracy")
    ),
    *(
        Experiment(name, unit, run, {"sure": sure, "rule": rule}, "median")
        for name, unit, run in (("points with a penalty", "points", points), ("answered", "%", answered))
        for sure in SURE
        for rule in RULES
    ),
]
"""Exact chances of right sums, a judge's own style, contamination, calibration, and abstaining."""
