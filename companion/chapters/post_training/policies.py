"""Small networks on the task of sums: the fine-tuned reference, a reward model, PPO, DPO and GRPO."""

import copy
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.chapters.post_training.sums import (
    LONGEST,
    Answers,
    Pairs,
    compare,
    config,
    demonstrations,
    lengths,
    prompts,
    write,
)
from companion.seeding import seeded
from companion.training import clip_gradients, token_losses
from companion.training.preference import clipped_objective, dpo_loss, group_advantages, kl_estimate, preference_loss
from companion.transformer import DecoderOnly

BATCH, EPOCHS, RATE = 128, 4, 1e-3
"""Answers a step, gradient steps on them, and the learning rate of Adam, for every method."""
STEPS, PAIRS = 100, 4096
Reward = Callable[[Answers], Tensor]
Watch = Callable[[int, DecoderOnly], None]


def log_probabilities(model: DecoderOnly, answers: Answers) -> Float[Tensor, "batch t"]:
    """Return the log-probability of each token that was chosen, and 0 for prompts and filling.

    Args:
        model: the policy.
        answers: any.

    Returns:
        One number a token; the sum of a row is the log-probability of the answer.
    """
    t = int(lengths(answers).max()) + 2  # the rest is filling
    rows = answers.tokens[:, :t]
    log_p = -token_losses(model(rows[:, :-1]), rows[:, 1:])
    return F.pad(log_p, (1, answers.tokens.shape[1] - t)) * answers.written


def scalar_model(start: DecoderOnly, seed: int) -> DecoderOnly:
    """Copy a language model, and put a linear map to one number in place of its output layer.

    Args:
        start: stays as it is.
        seed: of the new layer.

    Returns:
        A model that gives ``(batch, t, 1)``.
    """
    model = copy.deepcopy(start)
    with seeded(seed):
        model.output = nn.Linear(model.config.d_model, 1)
    return model


def score(model: DecoderOnly, answers: Answers) -> Float[Tensor, " batch"]:
    """Read the score of each answer at its end.

    Args:
        model: of :func:`scalar_model`.
        answers: any.

    Returns:
        One number an answer.
    """
    end = lengths(answers) + 1
    numbers = model(answers.tokens[:, : int(end.max()) + 1])[..., 0]
    return numbers.gather(1, end[:, None])[:, 0]


def step(optimizer: torch.optim.Optimizer, loss: Float[Tensor, ""]) -> None:
    """Take one step down a loss, with the norm of the gradient clipped to 1.

    Args:
        optimizer: whose parameters are changed.
        loss: a number.
    """
    optimizer.zero_grad()
    loss.backward()
    clip_gradients([p for group in optimizer.param_groups for p in group["params"]], 1.0)
    optimizer.step()


@cache
def reference(seed: int, steps: int = 300) -> DecoderOnly:
    """Fine-tune a new model on demonstrations, half of which end in a random digit: where all methods start.

    Args:
        seed: of the parameters and the demonstrations.
        steps: of Adam, 128 demonstrations each.

    Returns:
        Not to be changed: it is kept for the next call.
    """
    generator, model = torch.Generator().manual_seed(seed), DecoderOnly(config(), seed=seed)
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        answers = demonstrations(BATCH, generator)
        step(adam, -log_probabilities(model, answers).sum() / answers.written.sum())
    return model


@cache
def preferences(seed: int, count: int = PAIRS) -> Pairs:
    """Let the reference write pairs of answers, and the judge compare them.

    Args:
        seed: of the reference and the draws.
        count: of pairs.

    Returns:
        The pairs.
    """
    return compare(reference(seed), count, torch.Generator().manual_seed(seed + 100))


def fit(model: DecoderOnly, pairs: Pairs, steps: int, generator: torch.Generator) -> DecoderOnly:
    """Train a reward model on pairs.

    Args:
        model: of :func:`scalar_model`, changed in place.
        pairs: of which 128 are drawn for each step.
        steps: of Adam.
        generator: of the draws.

    Returns:
        The same model.
    """
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(steps):
        rows = torch.randint(len(pairs.chosen.tokens), (BATCH,), generator=generator)
        step(adam, preference_loss(score(model, pairs.chosen.pick(rows)), score(model, pairs.rejected.pick(rows))))
    return model


@cache
def reward_model(seed: int, steps: int = 400) -> DecoderOnly:
    """Train a reward model on the judge's preferences.

    Args:
        seed: of the reference, the pairs and the draws.
        steps: of Adam, 128 pairs each.

    Returns:
        Not to be changed: it is kept for the next call.
    """
    start = scalar_model(reference(seed), seed)
    return fit(start, preferences(seed), steps, torch.Generator().manual_seed(seed + 200))


def per_token(values: Float[Tensor, "batch t"], answers: Answers) -> Float[Tensor, ""]:
    """Average over the tokens that the model has chosen.

    Args:
        values: one a token.
        answers: say which tokens count.

    Returns:
        The mean.
    """
    return (values * answers.written).sum() / answers.written.sum()


def ppo(seed: int, reward: Reward, *, beta: float = 0.0, steps: int = STEPS, watch: Watch | None = None) -> DecoderOnly:
    """Train the reference by PPO, with a value network and a penalty on the KL divergence in the reward.

    Args:
        seed: of the reference and the draws.
        reward: of whole answers.
        beta: strength of the penalty, beta * (ln policy - ln reference) for each token.
        steps: rounds of 128 new answers, with four gradient steps each.
        watch: called before each round, and at the end, with its number and the policy.

    Returns:
        The policy.
    """
    generator, start = torch.Generator().manual_seed(seed + 300), reference(seed)
    policy, value = copy.deepcopy(start), scalar_model(start, seed + 1)
    adams = [torch.optim.Adam(model.parameters(), lr=RATE) for model in (policy, value)]
    for number in range(steps):
        if watch:
            watch(number, policy)
        answers = write(policy, prompts(BATCH, generator), generator)
        with torch.no_grad():
            old = log_probabilities(policy, answers)
            rewards = -beta * (old - log_probabilities(start, answers))
            last = answers.written.long().cumsum(1).argmax(1, keepdim=True)  # the place of the last chosen token
            rewards = rewards.scatter_add(1, last, reward(answers)[:, None].to(rewards))
            to_come = rewards.flip(1).cumsum(1).flip(1)  # rewards from this token on
            advantage = to_come[:, 1:] - value(answers.tokens[:, :-1])[..., 0]  # judged before the token is chosen
            advantage = F.pad(advantage, (1, 0)) * answers.written
            centred = advantage - per_token(advantage, answers)
            advantage = centred / per_token(centred.square(), answers).sqrt().clamp(min=1e-6)
        for _ in range(EPOCHS):
            gain = clipped_objective(log_probabilities(policy, answers), old, advantage)
            step(adams[0], -per_token(gain, answers))
            error = F.pad(value(answers.tokens[:, :-1])[..., 0], (1, 0)) - to_come
            step(adams[1], per_token(error.square(), answers))
    if watch:
        watch(steps, policy)
    return policy


def grpo(
    seed: int,
    reward: Reward,
    *,
    beta: float = 0.04,
    group: int = 8,
    steps: int = STEPS,
    watch: Watch | None = None,
    start: DecoderOnly | None = None,
    ask: Callable[[int, torch.Generator], Tensor] = prompts,
    longest: int = LONGEST,
) -> DecoderOnly:
    """Train a model by GRPO: answers are compared with others to the same prompt; there is no value network.

    Args:
        seed: of the draws, and of the reference.
        reward: of whole answers.
        beta: strength of the KL penalty, a term of the loss.
        group: answers to each prompt.
        steps: rounds of 128 new answers, with four gradient steps each.
        watch: as in :func:`ppo`.
        start: stays as it is; ``None``: the reference.
        ask: draws so many prompts.
        longest: tokens of an answer at most.

    Returns:
        The policy.
    """
    generator, start = torch.Generator().manual_seed(seed + 400), start or reference(seed)
    policy = copy.deepcopy(start)
    adam = torch.optim.Adam(policy.parameters(), lr=RATE)
    for number in range(steps):
        if watch:
            watch(number, policy)
        answers = write(policy, ask(BATCH // group, generator).repeat_interleave(group, 0), generator, longest)
        with torch.no_grad():
            old, before = (log_probabilities(model, answers) for model in (policy, start))
            advantage = group_advantages(reward(answers).float().view(-1, group)).view(-1, 1).expand_as(old)
        for _ in range(EPOCHS):
            log_p = log_probabilities(policy, answers)
            gain = clipped_objective(log_p, old, advantage) - beta * kl_estimate(log_p, before)
            mean = (gain * answers.written).sum(1) / answers.written.sum(1)  # of each answer, as in the paper
            step(adam, -mean.mean())
    if watch:
        watch(steps, policy)
    return policy


def dpo(seed: int, *, beta: float = 0.3, steps: int = STEPS, watch: Watch | None = None) -> DecoderOnly:
    """Train the reference by DPO on the pairs of the reward model.

    Args:
        seed: of the reference, the pairs and the draws.
        beta: of the loss.
        steps: rounds of four gradient steps, each on 64 pairs, which are 128 answers.
        watch: as in :func:`ppo`.

    Returns:
        The policy.
    """
    generator, start, pairs = torch.Generator().manual_seed(seed + 500), reference(seed), preferences(seed)
    policy = copy.deepcopy(start)
    adam = torch.optim.Adam(policy.parameters(), lr=RATE)
    for number in range(steps):
        if watch:
            watch(number, policy)
        for _ in range(EPOCHS):
            rows = torch.randint(len(pairs.chosen.tokens), (BATCH // 2,), generator=generator)
            two = pairs.chosen.pick(rows), pairs.rejected.pick(rows)
            with torch.no_grad():
                before = [log_probabilities(start, answers).sum(1) for answers in two]
            step(adam, dpo_loss(*(log_probabilities(policy, one).sum(1) for one in two), *before, beta=beta))
    if watch:
        watch(steps, policy)
    return policy
