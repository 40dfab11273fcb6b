"""The exercises on positional encoding: the examples worked out by hand, and mistakes as a reader would write them."""

import dataclasses
import math

import pytest
import torch

from companion.positional import ALiBi, encode, relative_shift, rotate, rotation, t5_bucket
from companion.practice import exercises, inputs
from companion.practice.checker import WrongAnswer, check

BY_NAME = {exercise.name: exercise for exercise in exercises("positional-encoding")}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    sin, cos, small = math.sin(1), math.cos(1), 0.01
    expected = {
        "encode-positions": [[0, 1, 0, 1], [sin, cos, math.sin(small), math.cos(small)]],
        "rotate-pairs": [[[cos, sin]]],
        "shift-matrix": [[cos, -sin], [sin, cos]],
        "t5-bucket": [3, 4, 5, 6, 7, 7],
        "relative-shift": [[[1, 0, -1], [20, 10, 0]]],
        "layout-rows": [[0], [2], [1], [3]],
    }
    for name, by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(by_hand, dtype=result.dtype), rtol=0, atol=1e-6)
    assert BY_NAME["alibi-bias"].reference(*inputs("alibi-bias", 1))[0].tolist() == [[0, 0], [-0.5, 0]]


def causal_alibi(n_heads, t):
    zero = torch.zeros(1, n_heads, t, 1, dtype=torch.float64)
    return ALiBi(n_heads).bias(zero, zero)[0].tril()


IN_THE_PACKAGE = {
    "encode-positions": lambda positions, d_model: encode(positions.long(), d_model).to(positions.dtype),
    "alibi-bias": causal_alibi,
    "rotate-pairs": lambda x, positions: rotate(x, positions.long(), layout="interleaved"),
    "shift-matrix": lambda k, d_model: rotation(k, d_model, dtype=torch.float64),
    "t5-bucket": lambda d, n, m: t5_bucket(d, buckets=n, max_distance=m, causal=True),
    "relative-shift": relative_shift,
}


@pytest.mark.parametrize("name", IN_THE_PACKAGE)
def test_the_functions_of_the_package_are_right_answers(name):
    """Those that take positions take whole ones."""
    cases = [case for case in BY_NAME[name].cases() if not case.note.startswith("fractions")]
    exercise = dataclasses.replace(BY_NAME[name], cases=lambda: cases)
    assert check(exercise, IN_THE_PACKAGE[name]) == len(cases) >= 7


def with_positions(name, read):
    """Answer with other positions: ``read`` makes them of the positions and the width."""
    if name == "encode-positions":
        return lambda positions, d: BY_NAME[name].reference(read(positions, d), d)
    return lambda x, positions: BY_NAME[name].reference(x, read(positions, x.shape[-1]))


def kept_by_shape():
    """Give the first positions seen of each shape and dtype, as a table kept by its shape does."""
    kept = {}
    return lambda positions, d: kept.setdefault((len(positions), d, positions.dtype), positions)


@pytest.mark.parametrize("name", ["encode-positions", "rotate-pairs"])
def test_positions_are_read_as_they_are(name):
    for read in (lambda p, _: p.round(), lambda p, _: p.abs(), lambda p, _: p.long().to(p.dtype)):
        with pytest.raises(WrongAnswer, match="fractions and negative positions"):
            check(BY_NAME[name], with_positions(name, read))
    with pytest.raises(WrongAnswer, match="Your function keeps something"):
        check(BY_NAME[name], with_positions(name, kept_by_shape()))


@pytest.mark.parametrize("change", [-1, 1])
def test_the_largest_distance_is_not_one_less_or_more(change):
    with pytest.raises(WrongAnswer):
        check(BY_NAME["t5-bucket"], lambda d, n, m: BY_NAME["t5-bucket"].reference(d, n, m + change))


def half_not_rounded_down(distances, buckets, max_distance):
    exact = buckets / 2
    far = (distances.clamp(min=1).double() / exact).log() / math.log(max_distance / exact) * (buckets - exact)
    return torch.where(distances < exact, distances, (exact + far).long().clamp(max=buckets - 1))


def test_half_of_an_odd_number_of_buckets_is_rounded_down():
    with pytest.raises(WrongAnswer, match="an odd number of buckets"):
        check(BY_NAME["t5-bucket"], half_not_rounded_down)


def as_contiguous(x):
    """What memory holds, read as if the tensor were contiguous."""
    return x.as_strided(x.shape, x.new_empty(x.shape).stride())


@pytest.mark.parametrize("name", ["relative-shift", "layout-rows"])
def test_steps_in_memory_are_not_those_of_every_tensor(name):
    with pytest.raises(WrongAnswer, match="transposed view"):
        check(BY_NAME[name], lambda x, *others: BY_NAME[name].reference(as_contiguous(x), *others))


def test_sorted_rows_give_the_other_layout_the_same_scores():
    """What the exercise is for: rotary scores of neighbours, computed by code for halves."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 7, generator=generator, dtype=torch.float64)
    w_q, w_k = torch.randn(2, 12, 7, generator=generator, dtype=torch.float64)
    sort = BY_NAME["layout-rows"].reference

    def scores(w_q, w_k, layout):
        q, k = ((x @ w.T).unflatten(1, (2, 6)).transpose(0, 1) for w in (w_q, w_k))
        q, k = (rotate(y, torch.arange(5), layout=layout) for y in (q, k))
        return q @ k.mT

    want = scores(w_q, w_k, "interleaved")
    torch.testing.assert_close(scores(sort(w_q, 2), sort(w_k, 2), "half"), want, rtol=0, atol=1e-12)
    assert not torch.allclose(scores(w_q, w_k, "half"), want)
