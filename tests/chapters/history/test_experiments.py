"""The chapter's experiments: their networks, their tasks, and what the stored measurements say."""

import math

import pytest
import torch

from companion.chapters.history.experiments import (
    EXPERIMENTS,
    LENGTHS,
    NETWORKS,
    TEST,
    TRAIN,
    first_symbol,
    gradient_by_distance,
    recurrent,
    reverser,
    right_by_length,
    written,
)
from companion.measure import results
from companion.recurrent import LSTMCell


def test_a_forget_bias_is_that_of_the_cell():
    """Parity: torch's layer with its parameters copied into the cell, whose forget gate starts at 5."""
    torch.manual_seed(0)
    layer, cell = recurrent("LSTM, forget bias 5", 3, 7).double(), LSTMCell(3, 7, forget_bias=5.0).double()
    x = torch.randn(1, 5, 3, dtype=torch.float64)
    with torch.no_grad():
        layer.bias_ih_l0.copy_(layer.bias_ih_l0 * 0 + torch.tensor([0.0, 5.0, 0.0, 0.0]).repeat_interleave(7))
        layer.bias_hh_l0.zero_(), cell.w_x.bias[:7].zero_(), cell.w_x.bias[14:].zero_()
        cell.w_x.weight.copy_(layer.weight_ih_l0), cell.w_h.weight.copy_(layer.weight_hh_l0)
        state = None
        for step in x.unbind(1):
            state = cell(step, state)
        torch.testing.assert_close(state[0], layer(x)[0][:, -1], rtol=0, atol=1e-12)
    fresh = recurrent("LSTM, forget bias 5", 3, 7)
    torch.testing.assert_close((fresh.bias_ih_l0 + fresh.bias_hh_l0)[7:14], torch.full((7,), 5.0))


def test_the_gradient_is_measured_from_the_last_input():
    found = gradient_by_distance("Elman", (0, 1, 20), seeds=(0,))
    assert found[0] == pytest.approx(1)
    assert found[0] > found[1] > found[2]


def test_a_gradient_is_the_geometric_mean_of_its_seeds():
    one, other = (gradient_by_distance("LSTM", (7,), seeds=(seed,))[0] for seed in (0, 1))
    assert gradient_by_distance("LSTM", (7,), seeds=(0, 1))[0] == pytest.approx(math.sqrt(one * other))


def test_an_untrained_network_guesses_the_first_symbol():
    assert 5 < first_symbol(0, "GRU", lag=3, steps=0) < 25


def test_no_test_row_is_among_the_training_rows_and_all_are_reversed():
    assert not {tuple(source) for source, _ in TRAIN} & {tuple(source) for source, _ in TEST}
    assert all(target == source[::-1] for source, target in TRAIN + TEST)


@pytest.mark.parametrize("network", ["attention", "attention, one direction", "fixed vector"])
def test_an_untrained_reverser_writes_and_is_wrong(network):
    model = reverser(network, width=8)
    sources = [source for source, _ in TEST[:5]]
    assert len(written(model, sources)) == 5
    assert max(right_by_length(model, (12,)).values()) == 0


def test_the_stored_measurements_are_those_of_the_plan():
    for name in ("first symbol", "reversed"):
        planned = [dict(one.settings) for one in EXPERIMENTS if one.name == name]
        rows = results("history", name)
        assert [row.settings for row in rows] == planned
        assert all(len(row.values) == 3 for row in rows)


def test_what_fails_is_tried_with_more_steps_until_it_succeeds_or_with_ten_times_as_many():
    worst = {}
    for row in (*results("history", "first symbol"), *results("history", "reversed")):
        settings = tuple((key, value) for key, value in row.settings.items() if key != "steps")
        worst.setdefault(settings, {})[row.settings["steps"]] = min(row.values)
    for settings, by_steps in worst.items():
        assert max(by_steps.values()) > 90 or max(by_steps) == 10 * min(by_steps), settings


def test_attention_in_one_direction_reads_forwards_only_and_no_padding():
    """Changing the last symbol leaves the states before it alone; with its length given, a row reads no padding."""
    model = reverser("attention, one direction", width=8)
    x = torch.tensor([[3, 4, 5, 6], [3, 4, 5, 7]])
    first, second = model.encode(x).states
    torch.testing.assert_close(first[:3], second[:3])
    assert not torch.allclose(first[3], second[3])
    padded = model.encode(torch.tensor([[3, 4, 0, 0]]), source_lengths=[2])
    torch.testing.assert_close(padded.start, model.encode(torch.tensor([[3, 4]])).start)
    assert padded.mask.tolist() == [[[True, True, False, False]]]


def test_the_lengths_that_are_reported_have_test_rows():
    sizes = [len(source) for source, _ in TEST]
    assert all(sizes.count(length) > 20 for length in LENGTHS)
    assert set(NETWORKS) == {"Elman", "LSTM", "GRU", "LSTM, forget bias 1", "LSTM, forget bias 5"}
