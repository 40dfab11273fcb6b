"""Parity of the efficient forms with the plain one: values and gradients, in float64, over every legal mask."""

import pytest
import torch
import torch.nn.functional as F

from companion.attention import attention
from companion.efficient import linear_attention, linear_attention_recurrent, tiled_attention, window_attention
from companion.masks import and_masks, window
from companion.masks import causal as causal_mask
from tests.library.tensors import value_and_gradients

BATCH, HEADS, T_Q, T_K, D_K, D_V = 2, 3, 5, 7, 11, 13  # all different: a swapped axis cannot pass
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding, ten below a missing scale
BLOCKS = [1, 2, 3, 5, 64]  # one pair a tile, tiles that do not divide 5 or 7, one tile for all

MASKS = {
    (): [None, (T_Q, T_K), (1, T_K)],
    (BATCH,): [(T_Q, T_K), (1, T_K), (BATCH, T_Q, T_K), (BATCH, 1, T_K), (1, T_Q, T_K)],
    (BATCH, HEADS): [
        None,
        (T_Q, T_K),
        (1, T_K),
        (BATCH, HEADS, T_Q, T_K),
        (BATCH, 1, T_Q, T_K),
        (1, HEADS, T_Q, T_K),
        (BATCH, 1, 1, T_K),
        (1, 1, 1, T_K),
    ],
}
CASES = [(leading, shape) for leading, shapes in MASKS.items() for shape in shapes]


def draw_inputs(randn, leading=(BATCH, HEADS), t_q=T_Q, t_k=T_K):
    return [randn(*leading, *shape, requires_grad=True) for shape in ((t_q, D_K), (t_k, D_K), (t_k, D_V))]


def assert_parity(ours, theirs, inputs, upstream):
    for name, got, want in zip(
        ("output", "query", "key", "value"),
        value_and_gradients(ours, inputs, upstream),
        value_and_gradients(theirs, inputs, upstream),
        strict=True,
    ):
        torch.testing.assert_close(got, want, rtol=0, atol=ATOL, msg=lambda text, name=name: f"{name}: {text}")


# Tiled


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("leading", "shape"), CASES, ids=str)
def test_tiled_attention_equals_the_plain_one_under_every_mask(randn, random_mask, leading, shape, causal, block):
    """The masks are random, so some rows have no key, and some tiles of a row have none."""
    inputs, upstream = draw_inputs(randn, leading), randn(*leading, T_Q, D_V)
    mask = None if shape is None else random_mask(*shape)
    if mask is not None:
        mask[..., mask.shape[-2] // 2, :] = False
    both = and_masks(mask, causal_mask(T_Q, T_K) if causal else None)
    assert_parity(
        lambda *qkv: tiled_attention(*qkv, mask, causal=causal, block=block),
        lambda *qkv: attention(*qkv, both),
        inputs,
        upstream,
    )


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("t_q", "t_k"), [(1, 1), (1, 6), (6, 6), (4, 11), (9, 2)])
def test_tiled_attention_equals_the_plain_one_for_all_lengths(randn, t_q, t_k, block):
    inputs, upstream = draw_inputs(randn, (BATCH,), t_q, t_k), randn(BATCH, t_q, D_V)
    assert_parity(lambda *qkv: tiled_attention(*qkv, block=block), attention, inputs, upstream)
    if t_q <= t_k:
        assert_parity(
            lambda *qkv: tiled_attention(*qkv, causal=True, block=block),
            lambda *qkv: attention(*qkv, causal_mask(t_q, t_k)),
            inputs,
            upstream,
        )


@pytest.mark.parametrize("scale", [0.7, 0, -1.3])
def test_tiled_attention_takes_the_scale_of_the_plain_one(randn, scale):
    inputs, upstream = draw_inputs(randn), randn(BATCH, HEADS, T_Q, D_V)
    assert_parity(
        lambda *qkv: tiled_attention(*qkv, scale=scale, block=2),
        lambda *qkv: attention(*qkv, scale=float(scale)),
        inputs,
        upstream,
    )


@pytest.mark.parametrize("block", [64, 100, 256])
def test_tiled_attention_is_exact_at_300_tokens_with_large_scores(randn, block):
    """Scores up to about 100: the largest of a row moves from tile to tile, and sums are rescaled by e^-50."""
    query, key, value = (randn(1, 300, 16) for _ in range(3))
    want = F.scaled_dot_product_attention(query * 8, key, value)
    torch.testing.assert_close(tiled_attention(query * 8, key, value, block=block), want, rtol=0, atol=ATOL)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_agrees_with_torch_to_its_rounding(randn, random_mask, assert_agrees, dtype):
    inputs = [x.detach().to(dtype) for x in draw_inputs(randn)]
    atol = 10 * torch.finfo(dtype).eps  # two results of unit size, each rounded some ten times on the way
    mask = random_mask(T_Q, T_K)
    tiled = lambda *qkvm: tiled_attention(*qkvm, block=2)  # noqa: E731
    assert tiled(*inputs, mask).dtype == dtype
    assert_agrees(tiled, F.scaled_dot_product_attention, *inputs, mask, rtol=0, atol=atol)


# A window


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 12, 50])
@pytest.mark.parametrize(("t_q", "t_k"), [(1, 1), (1, 9), (7, 7), (12, 12), (13, 13), (5, 17)])
def test_window_attention_equals_the_plain_one_with_that_mask(randn, t_q, t_k, size, causal):
    inputs, upstream = draw_inputs(randn, (BATCH,), t_q, t_k), randn(BATCH, t_q, D_V)
    assert_parity(
        lambda *qkv: window_attention(*qkv, size, causal=causal),
        lambda *qkv: attention(*qkv, window(t_q, size, t_k, causal=causal)),
        inputs,
        upstream,
    )


def test_window_attention_takes_heads_and_a_scale(randn):
    inputs, upstream = draw_inputs(randn, t_q=T_K), randn(BATCH, HEADS, T_K, D_V)
    assert_parity(
        lambda *qkv: window_attention(*qkv, 3, scale=0.7),
        lambda *qkv: attention(*qkv, window(T_K, 3), scale=0.7),
        inputs,
        upstream,
    )


# Linear


def with_the_weights_in_sight(query, key, value, *, causal=False):
    """Katharopoulos et al. (2020), Eq. (3), with the matrix that the linear form never builds; elu is torch's."""
    weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    weights = weights.tril() if causal else weights
    return weights / weights.sum(dim=-1, keepdim=True) @ value


def test_linear_attention_equals_its_quadratic_form(randn):
    inputs, upstream = draw_inputs(randn), randn(BATCH, HEADS, T_Q, D_V)
    assert_parity(linear_attention, with_the_weights_in_sight, inputs, upstream)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_causal_linear_attention_equals_its_quadratic_form(randn, chunk):
    inputs, upstream = draw_inputs(randn, t_q=T_K), randn(BATCH, HEADS, T_K, D_V)
    assert_parity(
        lambda *qkv: linear_attention(*qkv, causal=True, chunk=chunk),
        lambda *qkv: with_the_weights_in_sight(*qkv, causal=True),
        inputs,
        upstream,
    )


@pytest.mark.parametrize("leading", [(), (BATCH,), (BATCH, HEADS)], ids=str)
@pytest.mark.parametrize("chunk", [2, 64])
def test_linear_attention_in_parallel_equals_the_recurrent_form(randn, leading, chunk):
    inputs, upstream = draw_inputs(randn, leading, t_q=T_K), randn(*leading, T_K, D_V)
    parallel = lambda *qkv: linear_attention(*qkv, causal=True, chunk=chunk)  # noqa: E731
    assert_parity(parallel, linear_attention_recurrent, inputs, upstream)
