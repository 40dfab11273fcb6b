"""The exercises on positional encoding: the examples worked out by hand, and mistakes as a reader would write them."""

import math

import pytest
import torch
import torch.nn.functional as F

from companion.positional import ALiBi, encode, relative_shift, rotate, rotation, t5_bucket
from companion.practice import exercises, inputs
from companion.practice.checker import check
from tests.tools.mistakes import as_written, refused

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


def encoding_by_cat(positions, d_model):
    angles = torch.outer(positions, 1 / 10000 ** (torch.arange(0, d_model, 2).to(positions.dtype) / d_model))
    return torch.cat([torch.sin(angles), torch.cos(angles)], 1)


def encoding_per_feature(positions, d_model):
    out = torch.zeros(len(positions), d_model, dtype=positions.dtype)
    for j in range(d_model):
        angle = positions / 10000 ** (j / d_model)
        out[:, j] = torch.cos(angle) if j % 2 else torch.sin(angle)
    return out


def slopes_of_eight(n_heads, t):
    slopes = torch.tensor([0.5**h for h in range(1, n_heads + 1)], dtype=torch.float64)
    return torch.stack([-m * (torch.arange(t)[:, None] - torch.arange(t)).clamp(min=0) for m in slopes])


def rotated_like_llama(x, positions):
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000 ** (-torch.arange(half).to(x.dtype) / half)
    cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def columns_matrix(k, d_model):
    out = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        c, s = math.cos(k / 10000 ** (2 * i / d_model)), math.sin(k / 10000 ** (2 * i / d_model))
        out[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [-s, c]], dtype=torch.float64)
    return out


def buckets_of_an_encoder(distances, buckets, max_distance):
    n, e = buckets // 2, buckets // 2 // 2
    far = e + torch.floor(torch.log(distances.clamp(min=1) / e) / math.log(max_distance / e) * (n - e)).long()
    return torch.where(distances < e, distances, torch.minimum(far, torch.tensor(n - 1)))


def shifted_by_padding(by_distance):
    """The trick of Dai et al., with the shift forgotten: the first columns only."""
    return by_distance[:, :, : by_distance.shape[2] - by_distance.shape[1] + 1]


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("encode-positions", "halves", encoding_by_cat),
    ("encode-positions", "own-rate-for-cosines", encoding_per_feature),
    ("alibi-bias", "one-slope-rule", slopes_of_eight),
    ("alibi-bias", "adds", lambda n, t: -causal_alibi(n, t)),
    ("rotate-pairs", "halves", rotated_like_llama),
    ("rotate-pairs", "other-way", lambda x, p: rotate(x, -p.long(), layout="interleaved")),
    ("shift-matrix", "transposed", columns_matrix),
    ("t5-bucket", "two-directions", buckets_of_an_encoder),
    ("relative-shift", "not-shifted", shifted_by_padding),
    ("relative-shift", "keys-reversed", lambda b: F.pad(relative_shift(b), (0, 0)).flip(-1)),
    ("layout-rows", "across-heads", lambda w, h: torch.cat([w[::2], w[1::2]])),
    (
        "layout-rows",
        "backwards",
        lambda w, h: torch.cat([torch.stack(x.chunk(2), 1).flatten(0, 1) for x in w.chunk(h)]),
    ),
]


@as_written(AS_WRITTEN)
def test_a_mistake_is_recognised_when_written_differently(name, mistake, function):
    assert refused(BY_NAME[name], function).mistake == mistake
