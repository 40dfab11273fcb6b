"""What more tokens and more samples gain on sums modulo 10, and what becomes of thoughts under GRPO."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from companion.chapters.post_training.choices import PROBLEMS, WAYS, scorer_right, share_chosen, too_long
from companion.chapters.post_training.policies import grpo
from companion.chapters.post_training.sums import Answers
from companion.chapters.post_training.thoughts import (
    DIGITS,
    LONGEST,
    ROUNDS,
    base,
    distilled,
    forced,
    is_right,
    problems,
    said,
    solved,
    think,
)
from companion.measure import Experiment
from companion.scoring import pass_at_k
from companion.transformer import DecoderOnly

MANY, TESTED = 64, 2000
"""Samples of each problem for pass@64, and problems of every other test."""
LENGTHS = (2, 4, 6, 8)
TAKEN = (1, 2, 4, 8, 16, 32, 64, 128, 256)
AT = (0, 2, 5, 10, 20, 50, ROUNDS)
PRICES = (0.0, 0.1)
"""What a token of thought costs, where a right answer is worth 1."""
MODELS = ("base", "GRPO", "GRPO, price 0.1", "student, thoughts", "student, answers")


def with_tokens(seed: int, digits: int, tokens: int) -> float:
    """Make the base think for a number of tokens.

    Args:
        seed: of the base and the problems.
        digits: of each problem.
        tokens: of thought.

    Returns:
        The percentage of right answers.
    """
    return _forced_right(base(seed), seed, digits, tokens)


def at_once(seed: int, digits: int) -> float:
    """Let a model answer that has learned from answers alone.

    Args:
        seed: of the model and the problems.
        digits: of each problem.

    Returns:
        The percentage of right answers.
    """
    return _forced_right(base(seed, thought=False), seed, digits, 0)


def _forced_right(model: DecoderOnly, seed: int, digits: int, tokens: int) -> float:
    asked = problems(TESTED, torch.Generator().manual_seed(seed + 300), digits)
    return 100 * (forced(model, asked, tokens) == solved(asked)[0][:, -1]).float().mean().item()


class Tested(NamedTuple):
    """A policy on new problems.

    Args:
        right: percentage of right answers.
        tokens: of thought, the mean.
    """

    right: float
    tokens: float


def tested(model: DecoderOnly, seed: int) -> Tested:
    """Test a policy on 2,000 problems.

    Args:
        model: a policy.
        seed: of the problems and draws.

    Returns:
        What it does.
    """
    generator = torch.Generator().manual_seed(seed + 500)
    answers = think(model, problems(TESTED, generator), generator)
    return Tested(100 * is_right(answers).float().mean().item(), said(answers)[1].float().mean().item())


@cache
def reinforced(seed: int, price: float) -> tuple[DecoderOnly, dict[int, Tested]]:
    """Train the base by GRPO on right answers, less a price for each token of thought.

    Args:
        seed: of base and training.
        price: of a token.

    Returns:
        The policy, and how it did after each number of rounds in ``AT``.
    """
    found = {}

    def watch(number: int, policy: DecoderOnly) -> None:
        if number in AT:
            found[number] = tested(policy, seed)

    def reward(answers: Answers) -> Tensor:
        return is_right(answers).float() - price * said(answers)[1]

    policy = grpo(seed, reward, steps=ROUNDS, watch=watch, start=base(seed), ask=problems, longest=LONGEST)
    return policy, found


def by_round(seed: int, price: float, number: int, quantity: str) -> float:
    """Return one number of :func:`reinforced`.

    Args:
        seed: as there.
        price: as there.
        number: of rounds, one of ``AT``.
        quantity: ``"right"`` or ``"tokens"``.

    Returns:
        The number.
    """
    return getattr(reinforced(seed, price)[1][number], quantity)


def trained(seed: int, model: str) -> DecoderOnly:
    """Return a model by its name.

    Args:
        seed: of everything.
        model: one of ``MODELS``; the teacher of the students is the policy after GRPO.

    Returns:
        The model.
    """
    if model == "base":
        return base(seed)
    policy = reinforced(seed, 0.1 if "price" in model else 0.0)[0]
    return policy if model.startswith("GRPO") else distilled(seed, policy, thought=model == "student, thoughts")


@cache
def described(seed: int, model: str) -> dict[str, float]:
    """Test a model.

    Args:
        seed: of everything.
        model: one of ``MODELS``.

    Returns:
        Percentage of right answers, mean tokens of thought, and pass@64 in per cent.
    """
    policy, generator = trained(seed, model), torch.Generator().manual_seed(seed + 600)
    answers = think(policy, problems(PROBLEMS, generator).repeat_interleave(MANY, 0), generator)
    right = is_right(answers).view(PROBLEMS, MANY).sum(1)
    return tested(policy, seed)._asdict() | {"pass@64": 100 * pass_at_k(right, MANY, MANY).mean().item()}


def of_model(seed: int, model: str, quantity: str) -> float:
    """Return one number of :func:`described`.

    Args:
        seed: of everything.
        model: one of ``MODELS``.
        quantity: ``"right"``, ``"tokens"`` or ``"pass@64"``.

    Returns:
        The number.
    """
    return described(seed, model)[quantity]


def after_a_change(seed: int, quantity: str) -> float:
    """Add 1 to the third step of thoughts on eight digits, let the policy after GRPO go on, and read its answer.

    Args:
        seed: of everything.
        quantity: ``"follows"``: the answer is 1 more than without the change; ``"keeps"``: it is the same.

    Returns:
        The percentage of problems.
    """
    asked = problems(TESTED, torch.Generator().manual_seed(seed + 700), DIGITS)
    policy = reinforced(seed, 0.0)[0]
    plain, changed = (forced(policy, asked, DIGITS - 1, shift_at=place) for place in (None, 2))
    return 100 * ((changed - plain) % 10 == (1 if quantity == "follows" else 0)).float().mean().item()


REASONING = [
    *(Experiment("thought, at once", "% right", at_once, {"digits": digits}, "median") for digits in LENGTHS),
    *(
        Experiment("thought, right", "% right", with_tokens, {"digits": digits, "tokens": tokens}, "median")
        for digits in LENGTHS
        for tokens in range(digits + 1)
    ),
    Experiment("samples, scorer", "% as the checker", scorer_right, {}, "median"),
    *(
        Experiment("samples, right", "% right", share_chosen, {"way": way, "n": n}, "median")
        for way in WAYS
        for n in TAKEN
    ),
    *(Experiment("samples, too long", "%", too_long, {"n": n}, "median") for n in TAKEN),
    *(
        Experiment("thought, GRPO", quantity, by_round, {"price": price, "number": n, "quantity": quantity}, "median")
        for quantity in Tested._fields
        for price in PRICES
        for n in AT
    ),
    *(
        Experiment("thought, models", quantity, of_model, {"model": model, "quantity": quantity}, "median")
        for quantity in (*Tested._fields, "pass@64")
        for model in MODELS
    ),
    *(
        Experiment("thought, changed", "%", after_a_change, {"quantity": quantity}, "median")
        for quantity in ("follows", "keeps")
    ),
]
"""More tokens, more samples, GRPO, students, and a changed step."""
