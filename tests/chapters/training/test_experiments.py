"""The small language and the loop of the chapter: what is drawn, what is measured, and that stored runs are whole."""

import math

import pytest
import torch
import torch.nn.functional as F

from companion.chapters.training import experiments as e
from companion.chapters.training import small_language as lang
from companion.measure import results
from companion.training import token_losses


def test_after_a_pair_of_letters_one_comes_three_times_in_four_and_one_other():
    x = lang.sequences(4000, seed=5)
    followers = {}
    for t in range(2, 16):
        for a, b, c in x[:, t - 2 : t + 1].tolist():
            followers.setdefault((a, b), []).append(c)
    assert len(followers) == 64
    for seen in followers.values():
        counts = sorted((seen.count(c) for c in set(seen)), reverse=True)
        assert len(counts) == 2
        assert len(seen) < 500 or counts[0] / len(seen) == pytest.approx(0.75, abs=0.05)


def test_the_floor_is_the_loss_of_a_model_that_knows_the_table():
    x = lang.sequences(6000, seed=5)
    table = torch.zeros(8, 8, 8)
    for t in range(2, 16):
        table.index_put_((x[:, t - 2], x[:, t - 1], x[:, t]), torch.ones(len(x)), accumulate=True)
    log_p = (table / table.sum(-1, keepdim=True)).log()
    losses = [-log_p[x[:, t - 2], x[:, t - 1], x[:, t]] for t in range(2, 16)]
    assert (math.log(8) + sum(loss.mean().item() for loss in losses)) / 15 == pytest.approx(lang.FLOOR, abs=0.01)


def test_no_sequence_is_drawn_for_both_sets_by_the_same_seed_and_few_are_the_first_of_many():
    assert torch.equal(lang.train_set(64), lang.train_set()[:64])
    assert not torch.equal(lang.new_set(), lang.train_set(256))


def test_the_loss_is_that_of_the_next_letters():
    model = lang.language_model(seed=1)
    x = lang.new_set()[:5]
    logits = model(x[:, :-1])
    assert lang.next_letter_loss(model, x).item() == pytest.approx(
        token_losses(logits, x[:, 1:]).mean().item(), abs=1e-6
    )
    smoothed = F.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten(), label_smoothing=0.3).item()
    assert lang.next_letter_loss(model, x, 0.3).item() == pytest.approx(smoothed, abs=1e-6)
    assert lang.loss_on(model, x) == pytest.approx(lang.next_letter_loss(model, x).item(), abs=1e-6)


def test_a_run_learns_and_the_same_seed_gives_the_same_run():
    first, second = (lang.fit(lang.language_model(3, dropout=0.1), 60, seed=3) for _ in range(2))
    assert lang.loss_on(first) == lang.loss_on(second) < 1.6
    assert lang.loss_on(lang.fit(lang.language_model(3, dropout=0.1), 60, seed=4)) != lang.loss_on(first)


def test_the_choices_of_the_loop_act():
    def after(steps=5, **given):
        return torch.cat([p.detach().flatten() for p in lang.fit(lang.language_model(), steps, **given).parameters()])

    plain = after()
    for given in (
        {"rate": 2e-2},
        {"rate": lambda step: 1e-2 / step},
        {"optimizer": "gradient descent"},
        {"data": lang.train_set(3)},
        {"size": 7},
        {"smoothing": 0.1},
        {"clip": 1e-9, "optimizer": "gradient descent"},
    ):
        assert not torch.equal(after(**given), plain)
    start = torch.cat([p.detach().flatten() for p in lang.language_model().parameters()])
    clipped = after(1, clip=0.5, optimizer="gradient descent", rate=1.0)
    assert (clipped - start).norm().item() == pytest.approx(0.5, abs=1e-4)
    seen = []
    after(watch=seen.append)
    assert seen == [1, 2, 3, 4, 5]


def test_a_run_that_diverges_has_the_loss_that_stands_for_it():
    assert e.loss_by_rate(0, "gradient descent", 1e4, steps=20) == e.DIVERGED


def test_decay_pulls_matrices_and_confidence_lies_between_guessing_and_certainty():
    loss, sure = e.regularised(0, 2048, decay=100.0)  # every matrix is multiplied by 0 after each step
    assert loss == pytest.approx(math.log(8), abs=0.1)
    assert sure == pytest.approx(1 / 8, abs=0.05)


def test_a_model_without_initial_matrices_stays_at_guessing():
    assert e.loss_by_scale(0, 0.0) == pytest.approx(math.log(8), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("loss by rate", 12),
        ("loss with a clip", 5),
        ("loss by step", 45),
        ("largest probability", 4),
        ("loss by initial scale", 4),
        ("loss by batch size", 6),
    ],
)
def test_each_experiment_was_run_with_three_seeds(name, rows):
    assert [len(row.values) for row in results("training", name)] == [3] * rows


def test_the_remedies_for_few_data_were_tried_in_ten_pairs_of_runs():
    found = results("training", "loss on new sequences")
    assert [row.settings for row in found] == [
        dict(one.settings) for one in e.EXPERIMENTS if one.name == "loss on new sequences"
    ]
    assert [len(row.values) for row in found] == [10] * 12


def test_a_larger_set_is_as_large_as_it_says():
    assert len(lang.train_set(e.MANY)) == e.MANY
