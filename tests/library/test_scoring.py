"""pass@k is the share of choices with a right sample and has no bias; bins and temperatures are what they stand for."""

import math
from itertools import combinations

import pytest
import torch
from torch.testing import assert_close

from companion.scoring import fit_temperature, pass_at_k, reliability


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_pass_at_k_is_the_share_of_choices_with_a_right_sample(k):
    """Closed form: all choices of k among six samples, counted."""
    for right in range(7):
        samples = [True] * right + [False] * (6 - right)
        chosen = [any(some) for some in combinations(samples, k)]
        found = pass_at_k(torch.tensor([right]), samples=6, k=k).item()
        assert math.isclose(found, sum(chosen) / len(chosen), abs_tol=1e-12)


@pytest.mark.parametrize("p", [0.03, 0.4, 0.9])
def test_pass_at_k_has_no_bias(p):
    """Closed form: its mean over all counts of right samples is the probability that one of k is right."""
    n, k = 12, 5
    counts = torch.arange(n + 1)
    weights = torch.tensor([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)], dtype=torch.float64)
    assert math.isclose((weights * pass_at_k(counts, n, k)).sum().item(), 1 - (1 - p) ** k, abs_tol=1e-12)


def test_pass_at_k_needs_no_large_numbers():
    found = pass_at_k(torch.tensor([0, 1, 9_999, 10_000]), samples=10_000, k=5000)
    assert_close(found, torch.tensor([0.0, 0.5, 1.0, 1.0], dtype=torch.float64), rtol=0, atol=1e-9)


def test_more_samples_than_were_drawn_are_refused():
    with pytest.raises(ValueError, match="k samples are chosen among n: got k=5 of n=4"):
        pass_at_k(torch.tensor([1]), samples=4, k=5)
    with pytest.raises(ValueError, match="from 0 to n=4 samples are right"):
        pass_at_k(torch.tensor([5]), samples=4, k=1)


def test_bins_hold_share_confidence_and_accuracy():
    """Closed form: three answers in two of four bins, one of them on a border."""
    found = reliability(torch.tensor([0.5, 0.3, 0.9]), torch.tensor([True, False, True]), bins=4)
    assert_close(found.share, torch.tensor([0.0, 2 / 3, 0.0, 1 / 3], dtype=torch.float64))
    assert_close(found.confidence, torch.tensor([0.0, 0.4, 0.0, 0.9], dtype=torch.float64), rtol=0, atol=1e-6)
    assert_close(found.accuracy, torch.tensor([0.0, 0.5, 0.0, 1.0], dtype=torch.float64))
    assert math.isclose(found.error, (2 * 0.1 + 0.1) / 3, abs_tol=1e-6)


def test_confidence_that_is_kept_has_no_error():
    right = torch.tensor([True] * 7 + [False] * 3)
    assert math.isclose(reliability(torch.full((10,), 0.7, dtype=torch.float64), right).error, 0, abs_tol=1e-12)


@pytest.mark.usefixtures("shape_checks_off")
def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="a confidence is a probability"):
        reliability(torch.tensor([1.5]), torch.tensor([True]))
    with pytest.raises(ValueError, match="each answer is right or not: got 1 and 2"):
        reliability(torch.tensor([0.5]), torch.tensor([True, False]))


def test_a_temperature_undoes_a_factor():
    """Property: logits of the true distribution, times 2.5, get back the temperature 2.5."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20_000, 5, generator=generator, dtype=torch.float64)
    labels = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    assert math.isclose(fit_temperature(2.5 * logits, labels), 2.5, rel_tol=0.05)


def test_a_temperature_is_where_the_loss_is_least():
    generator = torch.Generator().manual_seed(1)
    logits, labels = torch.randn(200, 5, generator=generator), torch.randint(5, (200,), generator=generator)
    labels[:120] = logits[:120].argmax(1)
    best = fit_temperature(logits, labels)
    losses = [torch.nn.functional.cross_entropy(logits.double() / t, labels) for t in (0.98 * best, best, 1.02 * best)]
    assert losses[1] < min(losses[0], losses[2])


def test_answers_that_are_all_right_have_no_best_temperature():
    with pytest.raises(ValueError, match="a temperature from 1/100 to 100 fits best"):
        fit_temperature(torch.tensor([[4.0, 0.0]]), torch.tensor([0]))
    with pytest.raises(ValueError, match="a temperature is fitted to examples: got none"):
        fit_temperature(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
