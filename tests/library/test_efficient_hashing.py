"""Hashing: how often a bucket is shared, what a position sees, then every refusal."""

import math

import pytest
import torch
import torch.nn.functional as F

from companion.attention import attention
from companion.efficient.hashing import lsh_attention, lsh_buckets
from tests.library.tensors import close, draw

T, D_K, D_V = 24, 8, 5


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def whole(query_key, value, *, causal=False):
    """What hashing leaves something out of: each query and all keys but its own."""
    hidden = torch.eye(len(value), dtype=torch.bool)
    if causal:
        hidden = hidden | torch.ones_like(hidden).triu()
        hidden[0, 0] = False
    return attention(query_key, F.normalize(query_key, dim=-1), value, ~hidden, scale=1.0)


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0])
def test_two_buckets_are_shared_in_proportion_to_the_angle(angle):
    x = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]]).double()
    buckets = lsh_buckets(x, 2, 20_000, generator())
    shared = (buckets[:, 0] == buckets[:, 1]).double().mean()
    assert shared == pytest.approx(1 - angle / math.pi, abs=0.015)  # four standard errors


def test_opposite_vectors_never_share_a_bucket_and_lengths_do_not_matter():
    (x,) = draw(0, (T, D_K))
    buckets = lsh_buckets(torch.cat([x, -x, 3 * x]), 8, 5, generator())
    assert buckets.min() == 0
    assert buckets.max() == 7
    assert not (buckets[:, :T] == buckets[:, T : 2 * T]).any()
    assert torch.equal(buckets[:, :T], buckets[:, 2 * T :])


@pytest.mark.parametrize("is_causal", [False, True])
def test_one_chunk_of_everything_is_the_whole_attention(is_causal):
    x, v = draw(1, (T, D_K), (T, D_V))
    buckets = lsh_buckets(x, 4, 1, generator())
    half = T // 2  # with two chunks, each looks at both
    close(lsh_attention(x, v, buckets, half, causal=is_causal), whole(x, v, causal=is_causal))


def test_a_position_sees_its_chunk_and_the_one_before():
    x, v = draw(2, (T, D_K), (T, D_V))
    buckets = torch.arange(T)[None] // 6
    before = lsh_attention(x, v, buckets, 6)
    v[6:12] += 1.0
    moved = (lsh_attention(x, v, buckets, 6) - before).abs().amax(dim=-1) > 0
    assert moved.tolist() == [False] * 6 + [True] * 12 + [False] * 6


def test_more_rounds_come_nearer_to_the_whole_attention():
    x, v = draw(3, (256, D_K), (256, D_V))
    x = 4 * x
    errors = []
    for rounds in (1, 8):
        buckets = lsh_buckets(x, 16, rounds, generator())
        errors.append((lsh_attention(x, v, buckets, 16) - whole(x, v)).norm().item())
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.usefixtures("shape_checks_off")
def test_what_does_not_fit_is_refused():
    x, v = draw(0, (T, D_K), (T, D_V))
    with pytest.raises(ValueError, match=r"got n_buckets=5\. Make it even"):
        lsh_buckets(x, 5, 1, generator())
    buckets = lsh_buckets(x, 4, 1, generator())
    with pytest.raises(ValueError, match=r"got 24, 24 and 24, and chunks of 7\. Pad"):
        lsh_attention(x, v, buckets, 7)
    with pytest.raises(ValueError, match="got 24, 12 and 24"):
        lsh_attention(x, v[:12], buckets, 6)
