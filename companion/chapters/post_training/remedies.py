"""Ways around the faults of a learned score: without its trend by length, retrained, best of several, or not used."""

import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor

from companion.chapters.post_training.policies import (
    BATCH,
    EPOCHS,
    RATE,
    STEPS,
    fit,
    log_probabilities,
    preferences,
    reference,
    reward_model,
    score,
    step,
)
from companion.chapters.post_training.sums import Answers, Pairs, compare, lengths, prompts, write
from companion.training import evaluating
from companion.transformer import DecoderOnly


def length_slope(seed: int) -> float:
    """Fit a line to score and number of digits of 4,000 answers of the reference.

    Args:
        seed: of the reward model and the draws.

    Returns:
        Points a digit.
    """
    generator = torch.Generator().manual_seed(seed + 600)
    answers = write(reference(seed), prompts(4000, generator), generator)
    with evaluating(reward_model(seed)):
        found = torch.stack([lengths(answers).float(), score(reward_model(seed), answers)])
    covariance = found.cov()
    return (covariance[0, 1] / covariance[0, 0]).item()


def best_of(seed: int, prompt: Int[Tensor, "batch 1"], generator: torch.Generator, n: int = 8) -> Answers:
    """Take the answer with the highest score among several of the reference.

    Args:
        seed: of reference and reward model.
        prompt: ``(batch, 1)``.
        generator: of the draws.
        n: answers to each prompt.

    Returns:
        One answer a prompt.
    """
    answers = write(reference(seed), prompt.repeat_interleave(n, 0), generator)
    with evaluating(reward_model(seed)):
        best = score(reward_model(seed), answers).view(-1, n).argmax(1)
    return answers.pick(torch.arange(len(prompt)) * n + best)


def tuned(seed: int) -> DecoderOnly:
    """Train the reference further on the chosen answers, with as many steps and answers as the other methods.

    Args:
        seed: of the reference and the draws.

    Returns:
        The policy.
    """
    generator, policy = torch.Generator().manual_seed(seed + 700), copy.deepcopy(reference(seed))
    chosen = preferences(seed).chosen
    adam = torch.optim.Adam(policy.parameters(), lr=RATE)
    for _ in range(STEPS * EPOCHS):
        answers = chosen.pick(torch.randint(len(chosen.tokens), (BATCH,), generator=generator))
        step(adam, -log_probabilities(policy, answers).sum() / answers.written.sum())
    return policy


class Retrained:
    """A reward model that is trained further while a policy is: every ten rounds on 512 new comparisons.

    Each compares an answer of the policy with one of the reference.

    Args:
        seed: of the first reward model and the draws.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.model, self.pairs = seed, copy.deepcopy(reward_model(seed)), preferences(seed)
        self.generator = torch.Generator().manual_seed(seed + 800)

    def __call__(self, answers: Answers) -> Float[Tensor, " batch"]:
        """Score answers."""
        return score(self.model, answers)

    def update(self, number: int, policy: DecoderOnly) -> None:
        """Ask the judge, and train, if it is time to.

        Args:
            number: of the round.
            policy: as it is before this round.
        """
        if number % 10 or number in (0, STEPS):
            return
        new = compare(policy, 512, self.generator, against=reference(self.seed))
        self.pairs = Pairs(*(_joined(old, more) for old, more in zip(self.pairs, new, strict=True)))
        fit(self.model, self.pairs, 40, self.generator)


def _joined(first: Answers, second: Answers) -> Answers:
    return Answers(*(torch.cat(both) for both in zip(first, second, strict=True)))
