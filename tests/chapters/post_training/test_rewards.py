"""The task of sums, its checker and judge, and the methods that learn from them, on untrained networks."""

import math

import pytest
import torch
from torch.testing import assert_close

from companion.chapters.post_training import policies, remedies, sums
from companion.chapters.post_training.pictures import preferences
from companion.transformer import DecoderOnly


def answers(number, *rows):
    digits = torch.zeros(len(rows), sums.LONGEST, dtype=torch.long)
    for place, row in enumerate(rows):
        digits[place, : len(row)] = torch.tensor(row)
    return sums.as_answers(torch.full((len(rows), 1), number + 10), digits)


@pytest.fixture
def untrained(monkeypatch):
    """A reference that needs no training; what is kept from others is put aside."""
    monkeypatch.setattr(policies, "reference", lambda seed: DecoderOnly(sums.config(), seed=seed))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_an_answer_is_right_if_its_digits_add_up():
    found = answers(6, [6], [4, 1, 1], [3, 2], [1] * 12)
    assert sums.is_right(found).tolist() == [True, True, False, False]
    assert sums.lengths(found).tolist() == [1, 3, 2, 12]
    assert sums.judged(found).tolist() == [2.5, 3.5, 1.0, 2.0]


def test_a_token_that_is_no_digit_makes_an_answer_wrong():
    found = answers(11, [9, 1, 1], [11])
    assert sums.is_right(found).tolist() == [True, False]


def test_digits_and_the_first_end_are_written_unless_the_answer_was_stopped():
    found = answers(6, [4, 1, 1], [1] * 12)
    assert found.written.sum(1).tolist() == [4, 12]
    assert not found.written[:, 0].any()


def test_half_of_the_demonstrations_have_a_random_last_digit():
    found = sums.demonstrations(4000, generator())
    assert set(sums.lengths(found).tolist()) == {1, 2, 3, 4}
    right = sums.is_right(found).double().mean().item()  # a wrong digit is drawn right once in nine
    assert math.isclose(right, 0.5 + 0.5 / 9, abs_tol=0.03)


def test_the_judge_prefers_by_the_odds_of_its_points(monkeypatch):
    monkeypatch.setattr(sums, "judged", lambda found: 100.0 * sums.lengths(found))
    pairs = sums.compare(DecoderOnly(sums.config(), seed=0), 64, generator())
    assert (sums.lengths(pairs.chosen) >= sums.lengths(pairs.rejected)).all()
    assert (sums.lengths(pairs.chosen) > sums.lengths(pairs.rejected)).any()


def test_probabilities_of_an_answer_are_those_of_its_tokens_and_its_end():
    model, found = DecoderOnly(sums.config(), seed=0), answers(6, [4, 1, 1], [3])
    logs = model(found.tokens)[:, :-1].log_softmax(-1)
    expected = logs[0, torch.arange(4), torch.tensor([4, 1, 1, 0])].sum()
    assert_close(policies.log_probabilities(model, found).sum(1)[0], expected)


def test_a_score_is_read_at_the_end_whatever_fills_the_row():
    model, found = policies.scalar_model(DecoderOnly(sums.config(), seed=0), 1), answers(6, [4, 1, 1], [3])
    numbers = model(found.tokens)[..., 0]
    assert_close(policies.score(model, found), torch.stack([numbers[0, 4], numbers[1, 2]]))


@pytest.mark.parametrize("method", ["ppo", "grpo"])
@pytest.mark.usefixtures("untrained")
def test_the_methods_raise_the_reward(method):
    start = sums.write(policies.reference(0), sums.prompts(500, generator(1)), generator(2))
    policy = getattr(policies, method)(0, lambda found: -sums.lengths(found).float(), beta=0.0, steps=8)
    end = sums.write(policy, sums.prompts(500, generator(1)), generator(2))
    assert sums.lengths(end).double().mean() < 0.7 * sums.lengths(start).double().mean()


@pytest.mark.usefixtures("untrained")
def test_a_penalty_keeps_the_policy_near_the_reference():
    away = []
    for beta in (0.0, 5.0):
        policy = policies.ppo(0, lambda found: -sums.lengths(found).float(), beta=beta, steps=6)
        found = sums.write(policy, sums.prompts(500, generator(1)), generator(2))
        logs = [policies.log_probabilities(model, found).sum(1) for model in (policy, policies.reference(0))]
        away.append((logs[0] - logs[1]).mean().item())
    assert away[1] < away[0] / 2


def test_dpo_orders_the_answers_of_pairs(untrained, monkeypatch):
    start = policies.reference(0)
    both = (sums.write(start, sums.prompts(64, generator(1)), generator(seed)) for seed in (2, 3))
    pairs = sums.Pairs(*both)
    monkeypatch.setattr(policies, "preferences", lambda seed: pairs)
    policy = policies.dpo(0, steps=10)
    moved = [
        (policies.log_probabilities(policy, found) - policies.log_probabilities(start, found)).sum(1) for found in pairs
    ]
    assert (moved[0] - moved[1] > 0).double().mean() > 0.9


def test_a_reward_model_learns_which_answers_are_chosen():
    chosen, rejected = answers(6, *([4, 1, 1], [3, 3]) * 8), answers(6, *([4, 1], [3, 2]) * 8)
    model = policies.scalar_model(DecoderOnly(sums.config(), seed=0), 1)
    policies.fit(model, sums.Pairs(chosen, rejected), 20, generator())
    assert (policies.score(model, chosen) > policies.score(model, rejected)).all()


def test_a_retrained_reward_model_asks_every_ten_rounds(untrained, monkeypatch):
    start = policies.reference(0)
    pairs = sums.compare(start, 32, generator())
    monkeypatch.setattr(remedies, "reference", lambda seed: start)
    monkeypatch.setattr(remedies, "reward_model", lambda seed: policies.scalar_model(start, 1))
    monkeypatch.setattr(remedies, "preferences", lambda seed: pairs)
    retrained = remedies.Retrained(0)
    before = retrained(pairs.chosen)
    for number in range(0, 16, 5):
        retrained.update(number, start)
    assert len(retrained.pairs.chosen.tokens) == 32 + 512
    assert not torch.equal(retrained(pairs.chosen), before)


def test_the_answers_drawn_are_one_right_and_one_wrong():
    found = answers(preferences.PROMPT, *map(list, preferences.ANSWERS))
    assert sums.is_right(found).tolist() == [True, False]
