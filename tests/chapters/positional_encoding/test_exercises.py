"""The exercises on positional encoding: the examples worked out by hand, and mistakes as a reader would write them."""

import math

import pytest
import torch

from companion.positional import ALiBi, encode, relative_shift, rotate, rotation, t5_bucket
from companion.practice import exercises, inputs
from companion.practice.checker import check

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
    assert check(BY_NAME[name], IN_THE_PACKAGE[name]) == len(BY_NAME[name].cases())


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
