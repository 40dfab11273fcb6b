"""Losses of preferences and rewards against torch, closed forms, and the best policy under a KL penalty."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from companion.training.preference import (
    clipped_objective,
    dpo_loss,
    group_advantages,
    kl_estimate,
    preference_loss,
)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_preference_loss_is_the_cross_entropy_of_two_classes():
    chosen, rejected = randn(7), randn(7, seed=1)
    expected = F.cross_entropy(torch.stack([chosen, rejected], dim=1), torch.zeros(7, dtype=torch.long))
    assert_close(preference_loss(chosen, rejected), expected, rtol=0, atol=1e-12)
    assert_close(preference_loss(chosen + 5, rejected + 5), expected, rtol=0, atol=1e-12)


def test_dpo_starts_at_the_logarithm_of_two_and_weighs_wrong_pairs_most():
    chosen, rejected, beta = randn(5).requires_grad_(), randn(5, seed=1), 0.3
    assert_close(dpo_loss(chosen, rejected, chosen, rejected, beta=beta).item(), math.log(2))
    reference = randn(5, seed=2), randn(5, seed=3)
    dpo_loss(chosen, rejected, *reference, beta=beta).backward()
    margin = beta * (chosen - reference[0] - rejected + reference[1])
    assert_close(chosen.grad, -beta * (-margin).sigmoid().detach() / 5, rtol=0, atol=1e-12)


def test_dpo_on_all_pairs_finds_the_best_policy_under_the_penalty():
    """Closed form: the policy proportional to the reference times exp(reward / beta)."""
    reward, beta, reference = randn(4), 0.5, randn(4, seed=1).log_softmax(0)
    w, l = torch.cartesian_prod(torch.arange(4), torch.arange(4)).T  # noqa: E741
    chance = (reward[w] - reward[l]).sigmoid()
    logits = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([logits], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-16)

    def closure():
        optimizer.zero_grad()
        log_p = logits.log_softmax(0)
        losses = [
            dpo_loss(log_p[i : i + 1], log_p[j : j + 1], reference[i : i + 1], reference[j : j + 1], beta=beta)
            for i, j in zip(w, l, strict=True)
        ]
        loss = (torch.stack(losses) * chance).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert_close(logits.softmax(0), (reference + reward / beta).softmax(0), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("advantage", "expected"), [(1.0, [1, 1, 1, 0]), (-1.0, [0, -1, -1, -1])])
def test_the_objective_is_flat_where_a_token_has_moved_far_enough(advantage, expected):
    ratio = torch.tensor([0.5, 0.9, 1.1, 1.5], dtype=torch.float64)
    log_p = ratio.log().requires_grad_()
    advantages = torch.full((4,), advantage, dtype=torch.float64)
    clipped_objective(log_p, torch.zeros_like(ratio), advantages, clip=0.2).sum().backward()
    assert_close(log_p.grad, torch.tensor(expected, dtype=torch.float64) * ratio, rtol=0, atol=1e-12)


def test_on_fresh_samples_the_objective_has_the_policy_gradient():
    log_p, advantage = randn(3, 5).requires_grad_(), randn(3, 5, seed=1)
    clipped_objective(log_p, log_p.detach(), advantage).sum().backward()
    assert_close(log_p.grad, advantage, rtol=0, atol=1e-12)


def test_a_group_is_compared_with_its_own_mean():
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]], dtype=torch.float64)
    plain = [[0.75, -0.25, -0.25, -0.25], [0.0] * 4]
    assert group_advantages(rewards, scaled=False).tolist() == plain
    scaled = group_advantages(rewards, eps=1e-9)  # one of four right: standard deviation 1/2
    assert_close(scaled, 2 * torch.tensor(plain, dtype=torch.float64), rtol=0, atol=1e-8)


def test_the_estimate_of_the_divergence_has_its_mean_and_is_never_negative():
    policy, reference = randn(11).log_softmax(0), randn(11, seed=1).log_softmax(0)
    estimate = kl_estimate(policy, reference)
    assert (estimate >= 0).all()
    assert_close((policy.exp() * estimate).sum(), F.kl_div(reference, policy, log_target=True, reduction="sum"))


@pytest.mark.usefixtures("shape_checks_off")
def test_bad_input_is_refused_with_a_remedy():
    two, three = torch.zeros(2), torch.zeros(3)
    with pytest.raises(ValueError, match=r"got chosen \(2,\), rejected \(3,\)\. Align them"):
        preference_loss(two, three)
    with pytest.raises(ValueError, match=r"reference_rejected \(3,\)"):
        dpo_loss(two, two, two, three, beta=1)
    with pytest.raises(ValueError, match=r"beta is above 0: got 0"):
        dpo_loss(two, two, two, two, beta=0)
    with pytest.raises(ValueError, match=r"between 0 and 1: got 1\.5"):
        clipped_objective(two, two, two, clip=1.5)
    with pytest.raises(ValueError, match=r"advantage \(3,\)"):
        clipped_objective(two, two, three)
    with pytest.raises(ValueError, match=r"two answers or more: got rewards \(3, 1\)"):
        group_advantages(torch.zeros(3, 1))
    with pytest.raises(ValueError, match=r"log_p \(2,\), reference \(3,\)"):
        kl_estimate(two, three)
