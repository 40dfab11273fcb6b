"""The experiments of the chapter: what the tasks ask, that the models do equal work, and that each was run."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from companion import cost
from companion.chapters.complexity.experiments import (
    CNN_WIDTH,
    LSTM_WIDTH,
    SMALL,
    TASKS,
    Reader,
    attention_over_lstm,
    longer_input,
    parity,
    recall,
    right,
)
from companion.measure import results
from companion.recurrent import CausalConvStack


def test_a_recall_asks_for_the_digit_that_came_with_the_letter():
    tokens, answers = recall(torch.Generator().manual_seed(3), 20)
    for row, wanted in zip(tokens.tolist(), answers.tolist(), strict=True):
        digits = dict(divmod(token, 4) for token in row[:-1])
        assert len(digits) == 15
        assert wanted == [-100] * 15 + [digits[row[-1] - 64]]


def test_a_parity_asks_whether_the_ones_so_far_are_odd():
    bits, answers = parity(torch.Generator().manual_seed(3), 20)
    for row, wanted in zip(bits.tolist(), answers.tolist(), strict=True):
        assert set(row) <= {0, 1}
        assert wanted == [sum(row[: i + 1]) % 2 for i in range(16)]


def test_the_three_models_do_the_same_work_within_three_per_cent():
    transformer = 2 * cost.layer_flops(SMALL, 1, 16).total
    lstm = cost.recurrent_layer(16, LSTM_WIDTH, gates=4).flops
    with FlopCounterMode(display=False) as counter:
        CausalConvStack(CNN_WIDTH)(torch.zeros(1, 16, CNN_WIDTH))
    assert lstm == pytest.approx(transformer, rel=0.03)
    assert counter.get_total_flops() == pytest.approx(transformer, rel=0.03)


@pytest.mark.parametrize("kind", ["LSTM", "CNN"])
def test_the_last_position_sees_the_first_and_no_position_a_later_one(kind):
    torch.manual_seed(0)
    reader, tokens = Reader(kind), torch.zeros(1, 16, dtype=torch.long)
    changed = tokens.clone()
    changed[0, 0] = 1
    assert not torch.equal(reader(tokens)[0, -1], reader(changed)[0, -1])
    changed = tokens.clone()
    changed[0, -1] = 1
    torch.testing.assert_close(reader(tokens)[0, :-1], reader(changed)[0, :-1])


def test_a_trained_lstm_beats_guessing_at_parity():
    assert right(0, "parity", "LSTM", steps=120) > 60


def test_the_timed_ratios_are_positive():
    assert attention_over_lstm(0, 8, 64, threads=1, rounds=3) > 0
    assert longer_input(0, "attention", 8, 1024, rounds=9) > 1


@pytest.mark.parametrize(
    ("name", "rows"), [("right", 3 * len(TASKS)), ("attention over LSTM, time", 6), ("longer input, time", 2)]
)
def test_each_experiment_was_run_with_three_seeds(name, rows):
    found = results("complexity", name)
    assert [len(row.values) for row in found] == [3] * rows
