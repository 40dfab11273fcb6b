"""The exercises on complexity: the examples by hand, the package as an oracle, mistakes as a reader writes them."""

import math

import pytest
import torch

from companion import cost
from companion.config import ModelConfig
from companion.efficient import online_softmax_sum
from companion.practice import exercises, inputs
from companion.practice.checker import check

BY_NAME = {exercise.name: exercise for exercise in exercises("complexity")}


def reference(name, *arguments):
    return BY_NAME[name].reference(*arguments)


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    expected = {
        "layer-flops": (96, 72, 192),
        "crossing": 25,
        "cache-bytes": 96,
        "least-time": (4.0, "memory"),
        "layers-needed": [2, -1, 1],
        "writing-flops": 100,
    }
    for name, by_hand in expected.items():
        assert reference(name, *inputs(name, 1)) == by_hand, name
    assert reference("writing-flops", *inputs("writing-flops", 2)) == 172
    assert reference("merge-softmax", *inputs("merge-softmax", 1)).tolist() == [[pytest.approx(5.5)]]


@pytest.mark.parametrize(("n", "d", "d_ff"), [(3, 8, 16), (40, 16, 64), (100, 32, 100)])
def test_the_counts_are_those_of_the_package(n, d, d_ff):
    layer = cost.layer_flops(ModelConfig(vocab=2, d_model=d, n_heads=4, d_ff=d_ff), 1, n)
    assert reference("layer-flops", n, d, d_ff) == (layer.projections, layer.pairs, layer.feed_forward)
    crossing = reference("crossing", d, d_ff)
    at, before = (reference("layer-flops", m, d, d_ff) for m in (crossing, crossing - 1))
    assert at[1] > at[0] + at[2]
    assert before[1] == before[0] + before[2]


def test_the_cache_and_the_writing_are_those_of_the_package():
    config = ModelConfig(vocab=7, d_model=12, n_layers=3, n_heads=6, n_kv_heads=2, d_ff=48)
    wanted = cost.model_cache_bytes(config, 5, 11, dtype="float16")
    assert reference("cache-bytes", 3, 6, 2, 12, 5, 11, 2) == wanted
    config = ModelConfig(vocab=7, d_model=12, n_layers=3, n_heads=2, d_ff=48)
    for cached in (True, False):
        whole = cost.generation_flops(config, 1, 4, 6, cached=cached)
        assert reference("writing-flops", 3, 12, 4, 6, cached) == whole.total - whole.output


def test_the_least_time_is_the_roofline():
    for r, d, c, size, peak, bandwidth in [inputs("least-time", case) for case in range(1, 7)]:
        moved = size * (r * d + d * c + r * c)
        bound = cost.roofline_seconds(cost.matmul_flops(r, d, c), moved, peak_flops=peak, bandwidth=bandwidth)
        assert reference("least-time", r, d, c, size, peak, bandwidth)[0] == bound


def test_two_joined_halves_are_the_whole_softmax():
    generator = torch.Generator().manual_seed(0)
    scores = 5 * torch.randn(4, 9, generator=generator, dtype=torch.float64)
    value = torch.randn(9, 3, generator=generator, dtype=torch.float64)
    halves = []
    for part in (slice(0, 3), slice(3, 9)):
        output, log_sum = online_softmax_sum([(scores[:, part], value[part])])
        top = scores[:, part].amax(dim=-1)
        total = (log_sum - top).exp()
        halves += [top, total, output * total[:, None]]
    torch.testing.assert_close(reference("merge-softmax", *halves), scores.softmax(-1) @ value, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "size"), [("self-attention", 2), ("convolution", 3), ("window", 4)])
def test_the_search_agrees_with_the_shortest_path_of_the_package(kind, size):
    back = 12 if kind == "self-attention" else size - 1
    distance = torch.arange(12)[:, None] - torch.arange(12)
    reads = (distance >= 0) & (distance <= back)
    pairs = [(start, 11) for start in range(12)]
    wanted = [len(cost.shortest_path(kind, 12, size=size, start=start)) - 1 for start, _ in pairs]
    assert reference("layers-needed", reads, pairs) == wanted


def searched_with_products(reads, pairs):
    """A right answer by powers of the matrix."""
    power, found = torch.eye(len(reads)), dict.fromkeys(pairs, -1)
    for layer in range(1, len(reads) + 1):
        power = (reads.float() @ power > 0).float()
        for pair in pairs:
            if found[pair] < 0 and power[pair[1], pair[0]]:
                found[pair] = layer
    return [found[pair] for pair in pairs]


def test_a_search_by_matrix_powers_is_right():
    exercise = BY_NAME["layers-needed"]
    assert check(exercise, searched_with_products) == len(exercise.cases())


def test_scores_far_apart_tell_a_careful_answer_from_one_that_overflows():
    wrong, *_ = BY_NAME["merge-softmax"].wrong_answers["raw-exponentials"]
    near, far = (wrong(*inputs("merge-softmax", case)) for case in (2, 5))
    assert near.isfinite().all()
    assert not far.isfinite().all()
    assert math.isfinite(reference("merge-softmax", *inputs("merge-softmax", 5)).sum())
