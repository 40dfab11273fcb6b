"""Parity with `nn.MultiheadAttention` of one head and identity projections, whose masks mean the opposite of ours."""

import pytest
import torch
from torch import nn

from companion.attention import attention, attention_weights
from companion.masks import causal, joint, padding

BATCH, T_Q, T_K, D = 2, 5, 7, 11
ATOL = 1e-12  # float64 on numbers of unit size


@pytest.fixture
def layer():
    layer = nn.MultiheadAttention(D, num_heads=1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D))
    return layer


@pytest.fixture
def inputs(randn):
    return [randn(BATCH, t, D, requires_grad=True) for t in (T_Q, T_K, T_K)]


def close(got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=ATOL)


@pytest.mark.parametrize("masked", [False, True])
def test_one_head_without_projections_is_our_attention(layer, inputs, random_mask, masked):
    mask = random_mask(T_Q, T_K).index_fill(1, torch.tensor(0), True) if masked else None  # each row has a key
    output, weights = layer(*inputs, attn_mask=None if mask is None else ~mask)  # True = hide
    close(attention(*inputs, mask), output)
    close(attention_weights(*inputs[:2], mask), weights)


def test_the_gradients_agree_too(layer, inputs, random_mask, randn):
    mask, upstream = random_mask(T_Q, T_K).index_fill(1, torch.tensor(0), True), randn(BATCH, T_Q, D)
    theirs = torch.autograd.grad(layer(*inputs, attn_mask=~mask)[0], inputs, upstream)
    ours = torch.autograd.grad(attention(*inputs, mask), inputs, upstream)
    for got, want in zip(ours, theirs, strict=True):
        close(got, want)


def test_a_key_padding_mask_is_the_negation_of_our_padding(layer, inputs):
    mask = padding([4, 6], T_K)
    close(attention(*inputs, mask), layer(*inputs, key_padding_mask=~mask[:, 0])[0])
    both = joint(causal(T_Q, T_K), mask)
    close(attention(*inputs, both), layer(*inputs, key_padding_mask=~mask[:, 0], attn_mask=~causal(T_Q, T_K))[0])


def test_our_mask_without_the_negation_gives_another_output(layer, inputs):
    mask = causal(T_Q, T_K)
    assert not torch.allclose(attention(*inputs, mask)[:, :-1], layer(*inputs, attn_mask=mask)[0][:, :-1])


def test_a_row_without_a_key_is_nan_there_and_zero_here(layer, inputs):
    """A fact about torch: with `need_weights=True`, its default, the row is NaN; without, cross-attention gives 0."""
    mask = torch.ones(T_Q, T_K, dtype=torch.bool)
    mask[2] = False
    output, weights = layer(*inputs, attn_mask=~mask)
    assert output[:, 2].isnan().all()
    assert weights[:, 2].isnan().all()
    close(attention(*inputs, mask)[:, [0, 1, 3, 4]], output[:, [0, 1, 3, 4]])
    assert (attention(*inputs, mask)[:, 2] == 0).all()
    assert (layer(*inputs, attn_mask=~mask, need_weights=False)[0][:, 2] == 0).all()


@pytest.mark.parametrize("gradients", [True, False])
def test_the_fast_path_of_torchs_module_gives_nan_where_its_other_path_gives_zeros(randn, gradients):
    """A fact about torch 2.13: self-attention in evaluation mode without gradients takes a path of its own."""
    module = torch.nn.MultiheadAttention(4, num_heads=2, batch_first=True).eval()
    x, hidden = randn(1, 3, 4).float(), torch.tensor([[False, True, True], [False, False, True], [True, True, True]])
    with torch.set_grad_enabled(gradients):
        row = module(x, x, x, attn_mask=hidden, need_weights=False)[0][0, 2]
    assert (row == 0).all() if gradients else row.isnan().all()
