"""The explorers on recurrent networks without a browser: what they compute, and what they refuse."""

import math

import pytest
import torch

from companion.chapters.history.explorers.history import LAGS, STEPS
from companion.explorers import AlignmentView, GradientProduct, MemoryCell


def lines(**choices):
    return GradientProduct(**choices).lines()


def test_a_scaled_rotation_without_inputs_has_one_line():
    found = lines(kind="turn", scale=1.1, inputs=0.0)
    for values in found.values():
        assert values == pytest.approx([1.1 ** (n + 1) for n in range(STEPS)], rel=1e-9)


def test_a_shear_grows_although_its_eigenvalue_is_below_one():
    found = lines(kind="shear", scale=0.9, inputs=0.0)
    assert max(found["gradient"]) > 3
    for n, value in enumerate(found["gradient"], 1):  # closed form: corner n 0.9^(n-1) beside 0.9^n twice
        power = torch.tensor([[0.9**n, n * 0.9 ** (n - 1)], [0.0, 0.9**n]], dtype=torch.float64)
        assert value == pytest.approx(torch.linalg.matrix_norm(power, 2).item(), rel=1e-9)
    assert found["eigenvalue"][-1] == pytest.approx(0.9**STEPS)


def test_two_matrices_that_take_turns_grow_although_all_eigenvalues_are_zero():
    found = lines(kind="alternate", scale=1.5, inputs=0.0)
    assert max(found["eigenvalue"]) == 0
    assert found["gradient"] == pytest.approx([1.5 ** (n + 1) for n in range(STEPS)], rel=1e-9)


@pytest.mark.parametrize("kind", ["turn", "shear", "alternate"])
def test_the_gradient_is_that_of_autograd_and_below_the_bound(kind):
    shown = GradientProduct(kind=kind, scale=1.3, inputs=1.0)
    found, draws = shown.lines(), torch.tensor(shown.draws, dtype=torch.float64)

    def last(h):
        for step, x in enumerate(draws[:7]):
            h = (shown.weight(step) @ h + x).tanh()
        return h

    jacobian = torch.autograd.functional.jacobian(last, torch.zeros(2, dtype=torch.float64))
    assert found["gradient"][6] == pytest.approx(torch.linalg.matrix_norm(jacobian, 2).item(), rel=1e-9)
    assert all(g <= s * (1 + 1e-12) for g, s in zip(found["gradient"], found["singular"], strict=True))


def test_equal_gates_leave_a_power_and_half_after_the_half_life():
    cell = MemoryCell(bias=2.0, lag=25)
    gate = 1 / (1 + math.exp(-2.0))
    assert cell.left() == pytest.approx([gate ** (n + 1) for n in range(25)])
    assert gate ** cell.half_life() == pytest.approx(0.5)


def test_gates_that_differ_multiply_and_the_draws_repeat():
    cell = MemoryCell(bias=1.0, lag=200, spread=2.0)
    gates = cell.gates()
    assert gates.shape == (200,)
    assert torch.equal(gates[:50], gates[50:100])
    assert gates[:50].unique().numel() > 30
    assert cell.left()[-1] == pytest.approx(gates.prod().item())
    assert len(MemoryCell(lag=5).left()) == 5


def example(**changes):
    given = {"source": ["1", "2", "3"], "fixed": ["3", "1"], "attention": ["3", "2", "1"], "weights": torch.eye(3)}
    return given | changes


def test_wrong_places_are_counted_missing_ones_too():
    assert AlignmentView([example()], [[0.5, 1.0]]).errors() == (2, 0)
    assert AlignmentView([example(fixed=["3", "2", "1", "1"])], [[0.5, 1.0]]).errors() == (1, 0)


@pytest.mark.parametrize(("examples", "accuracy"), [([], []), ([example()], [])])
def test_examples_without_shares_are_refused(examples, accuracy):
    with pytest.raises(ValueError, match=f"got {len(examples)} examples and 0 pairs of shares. Pass as many"):
        AlignmentView(examples, accuracy)


@pytest.mark.parametrize("place", [1, -1])
def test_an_example_that_is_not_there_is_refused(place):
    with pytest.raises(ValueError, match=f"example is a whole number from 0 to 0: got {place}"):
        AlignmentView([example()], [[0.5, 1.0]], example=place)


@pytest.mark.parametrize("weights", [torch.eye(4), torch.eye(3)[:2], torch.ones(3, 3)])
def test_weights_that_are_no_distributions_over_the_source_are_refused(weights):
    with pytest.raises(ValueError, match="3 distributions over 3 symbols"):
        AlignmentView([example(weights=weights)], [[0.5, 1.0]])


@pytest.mark.parametrize("choices", [{"kind": "identity"}, {"scale": 1.6}, {"inputs": -0.1}])
def test_a_network_that_no_control_offers_is_refused(choices):
    with pytest.raises(ValueError, match=f"{next(iter(choices))} is"):
        GradientProduct(**choices)


@pytest.mark.parametrize("choices", [{"bias": 11.0}, {"lag": max(LAGS) + 1}, {"spread": 6.0}])
def test_a_cell_that_no_control_offers_is_refused(choices):
    with pytest.raises(ValueError, match=f"{next(iter(choices))} is"):
        MemoryCell(**choices)
