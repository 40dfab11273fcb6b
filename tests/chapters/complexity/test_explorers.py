"""The explorers on cost without a browser: what they compute, and what they refuse."""

import dataclasses

import pytest

from companion import cost
from companion.chapters.complexity.explorers.cost import KINDS, PUBLISHED, QUANTITIES
from companion.explorers import CostCalculator, PathExplorer


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("head_width", "group"), [(64, 1), (32, 4), (128, 8)])
def test_the_numbers_are_those_of_the_model_that_is_shown(gated, head_width, group):
    shown = CostCalculator(
        d_model=256, n_layers=2, head_width=head_width, group=group, vocab=256, t=64, batch=4, gated=gated
    )
    config, numbers = shown.config, shown.numbers()
    assert tuple(numbers) == QUANTITIES
    assert config.d_k == head_width
    assert config.n_heads // config.n_kv_heads == min(group, config.n_heads)
    assert config.d_ff == (683 if gated else 1024)
    matrices = config.d_model * (2 * config.d_model + 2 * config.n_kv_heads * head_width)
    matrices += (3 if gated else 2) * config.d_model * config.d_ff
    assert numbers["parameters"] == 256 * 256 + 2 * (matrices + 2 * 256) + 256
    assert numbers["pairs"] == 2 * 4 * 4 * 64 * 64 * 256
    assert numbers["prefill"] == 2 * 4 * 64 * (2 * matrices + 256 * 256) + numbers["pairs"]
    assert numbers["share"] == pytest.approx(100 * numbers["pairs"] / numbers["prefill"], rel=1e-12)
    assert numbers["token"] == 2 * 4 * (2 * matrices + 256 * 256) + 2 * 4 * 4 * 65 * 256
    assert numbers["cache"] == 2 * 2 * config.n_kv_heads * head_width * 4 * 64 * 2
    assert numbers["matrix"] == 4 * config.n_heads * 64 * 64 * 2
    assert numbers["adam"] == 16 * numbers["parameters"]
    assert numbers["intensity"] == numbers["token"] / (numbers["weights"] + numbers["cache"])


def test_more_heads_to_a_group_than_there_are_means_all_of_them():
    shown = CostCalculator(d_model=128, head_width=128, group=8)
    assert (shown.config.n_heads, shown.config.n_kv_heads) == (1, 1)


def test_published_sizes_give_the_caches_of_those_models():
    ours = {name: CostCalculator(t=64, **sizes).numbers()["cache"] for name, sizes in PUBLISHED.items()}
    theirs = {
        "Llama 3 8B": dataclasses.replace(cost.LLAMA_7B, n_kv_heads=8),
        "LLaMA-7B": cost.LLAMA_7B,
        "GPT-2 small": cost.GPT2_SMALL,
    }
    assert ours == {name: cost.model_cache_bytes(config, 1, 64) for name, config in theirs.items()}


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("float16", 2), ("int8", 1)])
def test_the_format_of_a_number_sets_the_bytes(dtype, size):
    numbers = CostCalculator(dtype=dtype).numbers()
    assert numbers["weights"] == size * numbers["parameters"]
    assert numbers["cache"] == size * CostCalculator(dtype="int8").numbers()["cache"]


@pytest.mark.parametrize("changes", [{"d_model": 100}, {"t": 5}, {"dtype": "float8"}, {"group": 3}])
def test_a_size_that_no_control_offers_is_refused(changes):
    (name,) = changes
    with pytest.raises(ValueError, match=rf"{name} is one of"):
        CostCalculator(**changes)


@pytest.mark.parametrize(("n", "size", "start"), [(8, 2, 0), (16, 3, 5), (32, 6, 31)])
def test_the_rows_are_ways_and_costs_of_the_package(n, size, start):
    rows = PathExplorer(n=n, size=size, start=start, d=16).rows()
    assert tuple(rows) == KINDS
    for kind, (way, sequential, flops) in rows.items():
        assert way == len(cost.shortest_path(kind, n, size=size, start=start)) - 1
        assert sequential == (n if kind == "recurrent" else 1)
        assert flops > 0
    assert rows["self-attention"][2] == 8 * n * 256 + 4 * n * n * 16
    assert rows["convolution"][2] == rows["dilated"][2] == 2 * size * n * 256
    assert rows["window"][2] < rows["self-attention"][2]


def test_a_start_beyond_the_last_position_means_the_last():
    assert PathExplorer(n=8, start=20).rows() == PathExplorer(n=8, start=7).rows()


@pytest.mark.parametrize(("changes", "rule"), [({"kind": "graph"}, "kind is one of"), ({"start": 40}, "from 0 to 31")])
def test_what_no_control_offers_is_refused(changes, rule):
    with pytest.raises(ValueError, match=rule):
        PathExplorer(**changes)
