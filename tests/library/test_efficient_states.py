"""States of fixed size and random features: recurrent against parallel, closed forms, what they estimate, refusals."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.attention import attention_weights
from companion.efficient.random_features import positive_features, random_directions
from companion.efficient.states import (
    decay_mask,
    gated_delta_rule,
    gated_linear_attention,
    selective_scan,
    state_step,
)
from tests.library.tensors import close, draw

BATCH, T, D_K, D_V, SIZE = 2, 7, 5, 3, 4
seeds = st.integers(0, 2**16)


def inputs(seed, t=T):
    q, k, v, strength, decay = draw(seed, (BATCH, t, D_K), (BATCH, t, D_K), (BATCH, t, D_V), (BATCH, t), (BATCH, t))
    return q, k / k.norm(dim=-1, keepdim=True), v, strength.sigmoid(), decay.sigmoid().log()


def stepwise(q, k, v, log_decay, strength=None):
    state, outputs = torch.zeros(BATCH, D_K, D_V, dtype=q.dtype), []
    for t in range(q.shape[1]):
        given_strength = None if strength is None else strength[:, t]
        output, state = state_step(state, q[:, t], k[:, t], v[:, t], log_decay[:, t].exp(), given_strength)
        outputs.append(output)
    return torch.stack(outputs, dim=1)


@given(seed=seeds, t=st.integers(1, 9))
def test_gated_linear_attention_in_parallel_equals_its_steps(seed, t):
    q, k, v, _, decay = inputs(seed, t)
    close(gated_linear_attention(q, k, v, decay), stepwise(q, k, v, decay))


@given(seed=seeds, t=st.integers(1, 9))
def test_the_gated_delta_rule_in_parallel_equals_its_steps(seed, t):
    q, k, v, strength, decay = inputs(seed, t)
    close(gated_delta_rule(q, k, v, strength, decay), stepwise(q, k, v, decay, strength))


def test_the_delta_rule_replaces_what_a_key_returned():
    key = torch.eye(D_K, dtype=torch.float64)[[0, 1, 0]][None]
    value = torch.tensor([[[4.0], [5.0], [9.0]]], dtype=torch.float64)
    ones, zeros = torch.ones(1, 3).double(), torch.zeros(1, 3).double()
    assert gated_delta_rule(key, key, value, ones, zeros)[0, :, 0].tolist() == [4.0, 5.0, 9.0]
    assert gated_linear_attention(key, key, value, zeros)[0, :, 0].tolist() == [4.0, 5.0, 13.0]


def test_without_decay_the_gate_is_the_causal_sum():
    q, k, v, _, decay = inputs(1)
    close(gated_linear_attention(q, k, v, 0 * decay), (q @ k.mT).tril() @ v)


def test_the_decay_mask_is_the_product_of_the_decays_between():
    assert torch.allclose(
        decay_mask(torch.tensor([0.1, 0.5, 0.2]).log()), torch.tensor([[1, 0, 0], [0.5, 1, 0], [0.1, 0.2, 1]])
    )


@given(seed=seeds, t=st.integers(1, 9))
def test_the_selective_scan_equals_a_loop_over_the_positions(seed, t):
    x, step, a, b, c = draw(seed, (BATCH, t, D_V), (BATCH, t, D_V), (D_V, SIZE), (BATCH, t, SIZE), (BATCH, t, SIZE))
    step, a = step.exp(), -a.exp()
    state, outputs = torch.zeros(BATCH, D_V, SIZE, dtype=x.dtype), []
    for i in range(t):
        state = (step[:, i, :, None] * a).exp() * state + (step[:, i] * x[:, i])[..., None] * b[:, i, None]
        outputs.append((state @ c[:, i, :, None])[..., 0])
    close(selective_scan(x, step.clone(), a, b, c), torch.stack(outputs, dim=1), atol=1e-10)


def test_one_decay_for_all_features_makes_the_scan_gated_linear_attention():
    x, step, b, c = draw(3, (T, D_V), (T, 1), (T, SIZE), (T, SIZE))
    step = step.exp()
    a = torch.full((D_V, SIZE), -0.5).double()
    scan = selective_scan(x, step.expand(T, D_V), a, b, c)
    close(scan, gated_linear_attention(c, b, step * x, -0.5 * step[:, 0]))


def test_positive_features_estimate_the_softmax_kernel_without_bias():
    x, y = draw(4, (1, D_K), (1, D_K))
    x, y = x / 4, y / 4
    directions = random_directions(400_000, D_K, torch.Generator().manual_seed(0), orthogonal=False)
    pairs = 400_000 * positive_features(x, directions) * positive_features(y, directions)
    error = pairs.std() / math.sqrt(400_000)
    assert abs(pairs.mean() - (x @ y.mT).exp()) < 4 * error
    assert error / pairs.mean() < 0.01
    close(positive_features(x, directions) @ positive_features(y, directions).mT, pairs.mean()[None, None])


def test_orthogonal_directions_are_at_right_angles_in_blocks_and_as_long_as_normal_ones():
    directions = random_directions(3000, D_K, torch.Generator().manual_seed(0))
    assert directions.shape == (3000, D_K)
    block = directions[:D_K] @ directions[:D_K].mT
    close(block, block.diagonal().diag())
    assert directions.square().sum(dim=-1).mean() == pytest.approx(D_K, rel=0.05)
    short = random_directions(2, D_K, torch.Generator().manual_seed(0))
    assert short.shape == (2, D_K)


@pytest.mark.parametrize("sign", [1, -1])
def test_orthogonal_directions_point_everywhere_so_that_the_estimate_is_unbiased(sign):
    """A QR decomposition alone has diagonals of one sign: the estimate was off by a fifth, up or down."""
    directions = random_directions(20_000 * D_K, D_K, torch.Generator().manual_seed(0)).unflatten(0, (-1, D_K))
    assert directions.mean(dim=0).abs().max() < 0.05
    x = torch.full((1, D_K), sign * 1.5 / D_K**0.5, dtype=torch.float64)
    features = math.sqrt(20_000 * D_K) * positive_features(x, directions.flatten(0, 1))  # of mean 1
    blocks = features.unflatten(-1, (-1, D_K)).mean(dim=-1)
    error = blocks.std() / math.sqrt(20_000)
    assert abs(blocks.mean() - 1) < 4 * error < 0.1


def test_orthogonal_directions_lower_the_variance():
    q, k = draw(5, (8, D_K), (8, D_K))
    q, k = q / D_K**0.25, k / D_K**0.25
    want, errors = attention_weights(q * D_K**0.25, k * D_K**0.25), {}
    for orthogonal in (True, False):
        found = []
        for seed in range(200):
            directions = random_directions(D_K, D_K, torch.Generator().manual_seed(seed), orthogonal=orthogonal)
            weights = positive_features(q, directions) @ positive_features(k, directions).mT
            found.append((weights / weights.sum(dim=-1, keepdim=True) - want).square().mean().item())
        errors[orthogonal] = sum(found)
    assert errors[True] < errors[False]


@pytest.mark.usefixtures("shape_checks_off")
def test_shapes_that_do_not_fit_are_refused():
    q, k, v, strength, decay = inputs(0)
    with pytest.raises(ValueError, match=r"log_decay has one number a position.*got log_decay \(2, 6\)"):
        gated_linear_attention(q, k, v, decay[:, 1:])
    with pytest.raises(ValueError, match=r"strength has one number a position.*strength \(7,\)"):
        gated_delta_rule(q, k, v, strength[0], decay)
    with pytest.raises(ValueError, match=r"query \(2, 6, 5\) and key \(2, 7, 5\)"):
        gated_linear_attention(q[:, 1:], k, v, decay)
    with pytest.raises(ValueError, match=r"got state \(2, 3, 5\), key \(2, 5\)"):
        state_step(torch.zeros(2, 3, 5), q[:, 0], k[:, 0], v[:, 0], decay[:, 0])
    x, a, b = torch.zeros(2, 7, 3), torch.zeros(3, 4), torch.zeros(2, 7, 4)
    with pytest.raises(ValueError, match=r"got \(2, 7, 3\), \(2, 7, 3\), \(4, 3\), \(2, 7, 4\)"):
        selective_scan(x, x, a.mT, b, b)
    with pytest.raises(ValueError, match=r"\(2, 7, 4\), \(2, 6, 4\)\. Transpose"):
        selective_scan(x, x, a, b, b[:, 1:])
    with pytest.raises(ValueError, match=r"got x \(2, 7, 5\) and directions \(8, 4\)\. Draw them with d_k=5"):
        positive_features(q, random_directions(8, 4, torch.Generator()))
