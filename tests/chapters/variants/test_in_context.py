"""The functions that are learned in context, what the model may read, and the best guess."""

import pytest
import torch

from companion.chapters.variants import in_context
from companion.chapters.variants.in_context import EXAMPLES, D, InContext, errors, least_squares, sequences


def generator():
    return torch.Generator().manual_seed(0)


def test_each_sequence_has_one_linear_function_of_its_own():
    x, y = sequences(500, generator())
    w = torch.linalg.lstsq(x, y[..., None]).solution
    torch.testing.assert_close((x @ w)[..., 0], y, rtol=0, atol=1e-3)
    assert w[..., 0].std(dim=0).tolist() == pytest.approx([1] * D, abs=0.15)
    assert abs(torch.corrcoef(w[..., 0].T)[0, 1].item()) < 0.2


def test_functions_of_another_scale():
    _, y = sequences(2000, generator(), scale=3.0)
    assert y.std().item() == pytest.approx(3 * D**0.5, rel=0.1)


def test_a_guess_depends_on_nothing_that_comes_later():
    model, (x, y) = InContext(seed=0).eval(), sequences(4, generator())
    with torch.no_grad():
        guesses = model(x, y)
        for k in range(EXAMPLES):
            later_x, later_y = x.clone(), y.clone()
            later_x[:, k + 1 :] += 1
            later_y[:, k:] += 1
            changed = model(later_x, later_y)
            torch.testing.assert_close(changed[:, : k + 1], guesses[:, : k + 1], rtol=0, atol=1e-5)
            if k + 1 < EXAMPLES:
                assert (changed[:, k + 1] - guesses[:, k + 1]).abs().min() > 1e-6


def test_least_squares_fits_what_came_before_and_is_exact_from_three_pairs_on():
    x, y = sequences(50, generator())
    guesses = least_squares(x, y)
    assert guesses[:, 0].eq(0).all()
    torch.testing.assert_close(guesses[:, D:], y[:, D:], rtol=0, atol=1e-3)
    one = (x[:, 0] * y[:, :1] / x[:, 0].square().sum(-1, keepdim=True) * x[:, 1]).sum(-1)  # along the one known input
    torch.testing.assert_close(guesses[:, 1], one, rtol=0, atol=1e-4)


def test_the_unit_is_the_variance_whatever_the_scale():
    for scale in (1.0, 3.0):
        nothing = errors(lambda x, y: torch.zeros_like(y), scale)
        assert nothing == pytest.approx([1] * EXAMPLES, abs=0.1)
    known = errors(least_squares)
    assert known[:4] == pytest.approx([1, 2 / 3, 1 / 3, 0], abs=0.05)


def test_training_lowers_the_error_and_keeps_each_stage():
    found = in_context.trained(0, (1, 40))
    first, last = (sum(errors(found[steps].forward)) for steps in (1, 40))
    assert last < first
