"""The explorers on heads without a browser: what they compute, and what they refuse."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from companion.explorers import HeadGrid, HeadSizes, HeadSwitches
from companion.multihead import MultiHeadAttention
from tests.tools.traits import assert_takes_and_refuses

ROWS = torch.tensor([[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]])
SCORES = [[0.1, 0.2], [0.9, 0.2], [0.1, 0.8], [1.0, 1.0]]
EXAMPLE = {"title": "one", "query": "it", "keys": ["the", "cat", "it"], "weights": ROWS}


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(1, 1), (8, 8), (8, 2), (4, 1)])
def test_the_sizes_are_those_of_a_layer(n_heads, n_kv_heads):
    shown = HeadSizes(d_model=64, n_heads=n_heads, n_kv_heads=n_kv_heads, t=128).numbers()
    layer = MultiHeadAttention(64, n_heads, n_kv_heads=n_kv_heads, bias=False, kernel="reference")
    x = torch.zeros(1, 128, 64)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    assert shown["width"] == layer.d_k
    assert shown["parameters"] == sum(p.numel() for p in layer.parameters())
    assert shown["projections"] + shown["pairs"] == counter.get_total_flops()
    assert shown["weights"] == layer.weights(x).numel()
    assert shown["cache"] == layer.w_k(x).numel() + layer.w_v(x).numel()


def test_more_key_value_heads_than_heads_means_as_many():
    assert HeadSizes(n_heads=4, n_kv_heads=16).numbers() == HeadSizes(n_heads=4, n_kv_heads=4).numbers()
    assert HeadSizes(n_heads=4, n_kv_heads=16).n_kv_heads == 4
    later = HeadSizes(n_heads=16, n_kv_heads=16)
    later.n_heads = 4
    assert later.numbers() == HeadSizes(n_heads=4, n_kv_heads=4).numbers()


def test_the_second_column_is_a_layer_with_one_head():
    grouped = HeadSizes(n_heads=16, n_kv_heads=2)
    assert grouped.numbers(single=True) == HeadSizes(n_heads=1, n_kv_heads=1).numbers()


def test_the_grid_keeps_each_row_to_three_decimals():
    shown = HeadGrid([EXAMPLE])
    torch.testing.assert_close(torch.tensor(shown.examples[0]["weights"]), ROWS, rtol=0, atol=5.1e-4)
    assert repr(shown) == "HeadGrid(1 examples, layers x heads: 1 x 2)"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"weights": ROWS[0]}, r"layers x heads x keys, with 3 keys: got \(2, 3\)"),
        ({"weights": torch.cat([ROWS, ROWS], -1) / 2}, r"with 3 keys: got \(1, 2, 6\). Pass the rows of one query"),
        ({"weights": 2 * ROWS}, "each row of weights sums to 1: got other rows in 'one'"),
    ],
)
def test_the_grid_refuses_what_are_no_rows_of_weights(changes, rule):
    with pytest.raises(ValueError, match=rule):
        HeadGrid([EXAMPLE | changes])


def test_the_grid_names_what_is_missing():
    with pytest.raises(ValueError, match="the grid needs at least one example: got none"):
        HeadGrid([])
    with pytest.raises(ValueError, match=r"got none for query, weights\. Add it"):
        HeadGrid([{"title": "one", "keys": ["a"]}])
    with pytest.raises(ValueError, match="key is a whole number from 0 to 2: got 3"):
        HeadGrid([EXAMPLE], key=3)


def run(scores):
    return {"title": "run", "scores": scores}


def test_the_switches_begin_with_all_heads_on():
    shown = HeadSwitches([run(torch.rand(8, 2))], ["a", "b"])
    assert (shown.n_heads, shown.on) == (3, 7)
    assert HeadSwitches([run(torch.rand(8, 2))], ["a", "b"], on=0).on == 0
    assert repr(shown) == "HeadSwitches(1 runs, 3 heads, 2 tasks)"


@pytest.mark.parametrize(
    ("scores", "rule"),
    [
        ([torch.rand(7, 2)], r"subsets x tasks, 2 to 256 by 2: got \(7, 2\)"),
        ([torch.rand(1, 2)], r"got \(1, 2\). Measure every subset"),
        ([torch.rand(4, 3)], r"got \(4, 3\)"),
        ([100 * torch.ones(4, 2)], "a score is a share from 0 to 1"),
        ([torch.rand(4, 2), torch.rand(8, 2)], r"one number of heads: got \[4, 8\] subsets"),
        ([], "at least one run: got none"),
    ],
)
def test_the_switches_refuse_what_is_no_table_of_subsets(scores, rule):
    with pytest.raises(ValueError, match=rule):
        HeadSwitches([run(table) for table in scores], ["a", "b"])


@pytest.mark.parametrize(("name", "last"), [("run", 0), ("on", 3)])
def test_the_switches_refuse_a_run_or_heads_that_are_not_there(name, last):
    with pytest.raises(ValueError, match=f"{name} is a whole number from 0 to {last}: got {last + 1}"):
        HeadSwitches([run(torch.rand(4, 2))], ["a", "b"], **{name: last + 1})


def switches():
    return HeadSwitches([{"title": "run 1", "scores": SCORES}], tasks=["first", "second"])


@pytest.mark.parametrize(
    ("made", "name", "good", "bad", "rule"),
    [
        (HeadSizes, "d_model", 768, 500, "d_model is one of 64, 128, 256.*got 500"),
        (HeadSizes, "n_heads", 64, 3, "n_heads is one of 1, 2, 4, 8, 16, 32, 64: got 3"),
        (HeadSizes, "t", 128, 100, "t is one of 128, 512.*got 100"),
        (lambda: HeadGrid([EXAMPLE]), "key", 2, 1.0, "key is a whole number from 0: got 1.0"),
        (
            lambda: HeadSwitches([{"title": "run 1", "scores": SCORES}], tasks=["first", "second"]),
            "on",
            2,
            4,
            "on is a whole number from 0 to 3: got 4",
        ),
    ],
)
def test_what_a_reader_sets_is_taken_or_refused(made, name, good, bad, rule):
    assert_takes_and_refuses(made(), name, good, bad, rule)
