"""A reward model, PPO on its score, on corrected scores and on a checker, DPO and GRPO: what becomes of the answers."""

from collections.abc import Sequence
from functools import cache

import torch

from companion.chapters.post_training.policies import (
    STEPS,
    Reward,
    dpo,
    grpo,
    log_probabilities,
    ppo,
    preferences,
    reference,
    reward_model,
    score,
)
from companion.chapters.post_training.remedies import Retrained, best_of, length_slope, tuned
from companion.chapters.post_training.sums import (
    LONGEST,
    Answers,
    as_answers,
    compare,
    is_right,
    judged,
    lengths,
    prompts,
    write,
)
from companion.measure import Experiment
from companion.training import evaluating
from companion.transformer import DecoderOnly

ROUNDS = (0, 5, 10, 20, 30, 50, 75, STEPS)
WAYS = (
    "reference",
    "tuned on the chosen answers",
    "best of 8 by score",
    "PPO on the score",
    "PPO, KL penalty",
    "PPO, score without length",
    "PPO, score retrained",
    "DPO",
    "PPO on the checker",
    "GRPO on the checker",
)
CURVES = WAYS[3:]
BETA = 0.3
"""Of the KL penalty, and of DPO."""


@cache
def trained(seed: int, way: str) -> dict[int, dict[str, float]]:
    """Train a policy, and test it on 2,000 new answers at each of ``ROUNDS``, or only at the end.

    Args:
        seed: of everything.
        way: one of ``WAYS``.

    Returns:
        For each round the share of right answers, the mean score, the judge's mean, the mean number of digits and the
        KL divergence from the reference; for DPO also the mean log-probability of chosen and rejected answers.
    """
    found, retrained = {}, Retrained(seed) if way == "PPO, score retrained" else None

    def watch(number: int, policy: DecoderOnly) -> None:
        if retrained:
            retrained.update(number, policy)
        if number in ROUNDS:
            generator = torch.Generator().manual_seed(seed + 900)
            found[number] = tested(seed, write(policy, prompts(2000, generator), generator), policy)
            if way == "DPO":
                with evaluating(policy):
                    for name, answers in preferences(seed)._asdict().items():
                        found[number][name] = log_probabilities(policy, answers).sum(1).mean().item()

    slope = length_slope(seed) if way == "PPO, score without length" else 0.0
    rewards: dict[str, tuple[Reward, float]] = {
        "PPO on the score": (lambda answers: score(reward_model(seed), answers), 0.0),
        "PPO, KL penalty": (lambda answers: score(reward_model(seed), answers), BETA),
        "PPO, score without length": (
            lambda answers: score(reward_model(seed), answers) - slope * lengths(answers),
            0.0,
        ),
        "PPO, score retrained": (retrained, 0.0),
        "PPO on the checker": (is_right, 0.0),
    }
    if way in rewards:
        reward, beta = rewards[way]
        ppo(seed, reward, beta=beta, watch=watch)
    elif way == "DPO":
        dpo(seed, beta=BETA, watch=watch)
    elif way == "GRPO on the checker":
        grpo(seed, is_right, watch=watch)
    elif way == "best of 8 by score":
        generator = torch.Generator().manual_seed(seed + 900)
        found[STEPS] = tested(seed, best_of(seed, prompts(2000, generator), generator), None)
    else:
        watch(STEPS, reference(seed) if way == "reference" else tuned(seed))
    return found


def tested(seed: int, answers: Answers, policy: DecoderOnly | None) -> dict[str, float]:
    """Describe answers.

    Args:
        seed: of reference and reward model.
        answers: any.
        policy: what wrote them; ``None`` leaves the divergence out.

    Returns:
        See :func:`trained`.
    """
    with evaluating(reward_model(seed)):
        found = {
            "right": 100 * is_right(answers).float().mean().item(),
            "score": score(reward_model(seed), answers).mean().item(),
            "judge": judged(answers).mean().item(),
            "digits": lengths(answers).float().mean().item(),
        }
        if policy is not None:
            moved = log_probabilities(policy, answers) - log_probabilities(reference(seed), answers)
            found["KL"] = moved.sum(1).mean().item()
    return found


def measured(seed: int, way: str, quantity: str, number: int = STEPS) -> float:
    """Train a policy, and return one of its results.

    Args:
        seed: of everything.
        way: one of ``WAYS``.
        quantity: see :func:`trained`.
        number: of the round.

    Returns:
        The result.
    """
    return trained(seed, way)[number][quantity]


def accuracy(seed: int, of: str) -> float:
    """Compare scores with the judge's choices on 4,000 new pairs of the reference.

    Args:
        seed: of reward model and pairs.
        of: ``"reward model"``; ``"the judge's own taste"`` for a scorer that knows it; or ``"the longer answer"``.

    Returns:
        The percentage of pairs whose chosen answer has the higher score; equal scores count half.
    """
    pairs = compare(reference(seed), 4000, torch.Generator().manual_seed(seed + 1000))
    scorers = {
        "reward model": lambda answers: score(reward_model(seed), answers),
        "the judge's own taste": judged,
        "the longer answer": lengths,
    }
    with evaluating(reward_model(seed)):
        chosen, rejected = (scorers[of](answers).double() for answers in pairs)
    apart = (chosen - rejected).where((pairs.chosen.tokens != pairs.rejected.tokens).any(1), 0.0)
    return 50 * (1 + apart.sign()).mean().item()


def score_of_wrong(seed: int, digits: int) -> float:
    """Score 2,000 wrong answers of random digits.

    Args:
        seed: of reward model and draws.
        digits: how many each has.

    Returns:
        The mean score.
    """
    generator = torch.Generator().manual_seed(seed + 1100)
    prompt, drawn = prompts(2000, generator), torch.zeros(2000, LONGEST, dtype=torch.long)
    drawn[:, :digits] = torch.randint(1, 10, (2000, digits), generator=generator)
    answers = as_answers(prompt, drawn)
    with evaluating(reward_model(seed)):
        return score(reward_model(seed), answers.pick(~is_right(answers))).mean().item()


def _curves(ways: Sequence[str], quantities: Sequence[str]) -> list[Experiment]:
    return [
        Experiment(
            f"policies, {quantity}, by round",
            quantity,
            measured,
            {"way": way, "quantity": quantity, "number": n},
            "median",
        )
        for quantity in quantities
        for way in ways
        for n in ROUNDS
    ]


REWARDS = [
    *(
        Experiment("held-out pairs", "% as the judge", accuracy, {"of": of}, "median")
        for of in ("reward model", "the judge's own taste", "the longer answer")
    ),
    Experiment("score a digit", "points", length_slope, {}, "median"),
    *(Experiment("score of wrong answers", "points", score_of_wrong, {"digits": n}, "median") for n in range(1, 13)),
    *(
        Experiment(f"policies, {quantity}", quantity, measured, {"way": way, "quantity": quantity}, "median")
        for quantity in ("right", "score", "judge", "digits", "KL")
        for way in WAYS
        if (quantity, way) != ("KL", "best of 8 by score")
    ),
    *_curves(CURVES, ["right"]),
    *_curves(CURVES[:4], ["score", "judge"]),
    *_curves(["DPO"], ["chosen", "rejected"]),
]
"""The reward model and its bias; each method at the end, and by rounds."""
