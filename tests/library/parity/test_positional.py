"""Parity of positions: with `torch.nn.Embedding`, and with T5, Bloom, Llama, GPT-J and XLNet in `transformers`."""

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, T5Config, XLNetConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from companion.attention import attention_weights
from companion.masks import causal
from companion.positional import (
    ALiBi,
    Learned,
    RotaryPosition,
    T5Bias,
    TransformerXLPosition,
    alibi_slopes,
    angles,
    encode,
    relative_shift,
    rotate,
    t5_bucket,
)
from tests.library.tensors import ROUNDING, close

BATCH, HEADS, T_Q, T_K, D_K, D_MODEL = 2, 3, 5, 7, 11, 14  # all different: a swapped axis cannot pass
EPS = torch.finfo(torch.float32).eps


def test_learned_positions_are_an_embedding_of_the_position(randn):
    table = randn(13, D_MODEL)
    theirs = nn.Embedding.from_pretrained(table.clone(), freeze=False)
    ours, upstream = Learned(D_MODEL, 13).double(), randn(T_Q, D_MODEL)
    ours.weight.data = table.clone()
    got, want = ours(T_Q, 4), theirs(torch.arange(4, 4 + T_Q))
    assert torch.equal(got, want)
    got.backward(upstream)
    want.backward(upstream)
    assert torch.equal(ours.weight.grad, theirs.weight.grad)


# T5


@pytest.mark.parametrize("hidden", [False, True], ids=["both sides", "causal"])
@pytest.mark.parametrize(
    ("buckets", "most"),
    [(32, 128), (16, 64), (64, 256), (8, 20), (32, 100), (4, 3), (40, 320), (20, 160)],  # the last: edges by rounding
)
def test_the_buckets_are_those_of_t5(buckets, most, hidden):
    distance = torch.arange(-3000, 3001).view(17, 353)
    theirs = T5Attention._relative_position_bucket(
        -distance, bidirectional=not hidden, num_buckets=buckets, max_distance=most
    )
    assert torch.equal(t5_bucket(distance, buckets=buckets, max_distance=most, causal=hidden), theirs)


@pytest.mark.parametrize("hidden", [False, True], ids=["encoder", "decoder"])
@pytest.mark.parametrize(("t_q", "t_k"), [(T_K, T_K), (T_Q, T_K), (1, 300)])
def test_the_bias_and_its_gradient_are_those_of_t5(randn, hidden, t_q, t_k):
    config = T5Config(
        d_model=D_MODEL,
        d_kv=D_K,
        num_heads=HEADS,
        is_decoder=hidden,
        relative_attention_num_buckets=12,
        relative_attention_max_distance=40,
    )
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    ours = T5Bias(HEADS, buckets=12, max_distance=40, causal=hidden).double()
    ours.weight.data = randn(12, HEADS)
    theirs.relative_attention_bias.weight.data = ours.weight.data.clone()
    got = ours.bias(randn(BATCH, HEADS, t_q, D_K), randn(BATCH, HEADS, t_k, D_K))
    want = theirs.compute_bias(t_q, t_k, past_seen_tokens=t_k - t_q)
    assert torch.equal(got, want)
    upstream = randn(1, HEADS, t_q, t_k)
    got.backward(upstream)
    want.backward(upstream)
    close(ours.weight.grad, theirs.relative_attention_bias.weight.grad)


# ALiBi


@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 8, 12, 16, 20, 112])
def test_the_slopes_are_those_of_bloom(n_heads):
    theirs = build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float32)[:, 0, 1]  # position 1 times the slope
    # Bloom takes powers up to n of a base in float32, whose relative error of half an eps grows with the power.
    rtol = (n_heads + 1) * EPS
    torch.testing.assert_close(alibi_slopes(n_heads).float(), theirs, rtol=rtol, atol=0)


@pytest.mark.parametrize(("t_q", "t_k"), [(T_K, T_K), (T_Q, T_K)])
def test_the_weights_of_causal_attention_are_those_with_blooms_bias(randn, t_q, t_k):
    """Bloom adds the slope times the key's position: from ours it differs by a number for each query."""
    query, key = randn(BATCH, 4, t_q, D_K), randn(BATCH, 4, t_k, D_K)
    theirs = build_alibi_tensor(torch.ones(1, t_k), 4, torch.float64)[None]  # 4 heads: powers of two, exact in float32
    mask = causal(t_q, t_k)
    want = attention_weights(query, key, mask, bias=theirs)
    close(attention_weights(query, key, mask, bias=ALiBi(4).bias(query, key)), want)


# RoPE


def test_the_half_layout_is_that_of_llama(randn):
    """Llama's function with cosines and sines in float64."""
    query, key = randn(BATCH, HEADS, T_K, 10, requires_grad=True), randn(BATCH, 2, T_K, 10)
    where = torch.arange(40, 40 + T_K)
    turned = angles(where, 10).repeat(1, 2)[None]
    want = llama.apply_rotary_pos_emb(query, key, turned.cos(), turned.sin())
    got = rotate(query, where, layout="half"), rotate(key, where, layout="half")
    close(got[0], want[0])
    close(got[1], want[1])
    upstream = randn(BATCH, HEADS, T_K, 10)
    close(torch.autograd.grad(got[0], query, upstream)[0], torch.autograd.grad(want[0], query, upstream)[0])


def test_the_interleaved_layout_is_that_of_gpt_j(randn):
    """GPT-J's function with cosines and sines in float64; its axes are batch, time, heads."""
    query, where = randn(BATCH, HEADS, T_K, 10, requires_grad=True), torch.arange(40, 40 + T_K)
    turned = angles(where, 10)[None]
    want = gptj.apply_rotary_pos_emb(query.transpose(1, 2), turned.sin(), turned.cos()).transpose(1, 2)
    got, upstream = rotate(query, where, layout="interleaved"), randn(BATCH, HEADS, T_K, 10)
    close(got, want)
    close(torch.autograd.grad(got, query, upstream)[0], torch.autograd.grad(want, query, upstream)[0])


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_the_module_is_that_of_llama_within_its_float32(randn, base):
    config = LlamaConfig(
        hidden_size=4 * 10,
        num_attention_heads=4,
        max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    start, query, key = 30, randn(BATCH, 4, T_K, 10), randn(BATCH, 2, T_K, 10)
    where = torch.arange(start, start + T_K)
    cos, sin = llama.LlamaRotaryEmbedding(config)(query, where[None])
    want = llama.apply_rotary_pos_emb(query, key, cos, sin)
    # Llama computes frequency, angle, cosine and sine in float32 whatever the input. The first frequency is 1, exactly;
    # the angle of the second is at most 37 / 6 and off by 1.5 eps of that, so by 9 eps. A cosine rounds once more.
    for x, theirs in zip((query, key), want, strict=True):
        ours = RotaryPosition(10, base=base).embed(x, start)
        close(ours, theirs, atol=10 * EPS * x.norm(dim=-1).max().item())


# Transformer-XL, whose scheme XLNet took over


def xlnet(randn):
    config = XLNetConfig(d_model=HEADS * D_K, n_head=HEADS, d_head=D_K, d_inner=5, n_layer=1, dropout=0.0)
    theirs = XLNetRelativeAttention(config).double()
    ours = TransformerXLPosition(HEADS, D_K, D_MODEL).double()
    for parameter in ours.parameters():
        parameter.data = randn(*parameter.shape)
    theirs.r_w_bias.data, theirs.r_r_bias.data = ours.u.data.clone(), ours.v.data.clone()
    return ours, theirs


@pytest.mark.parametrize(("t_q", "t_k"), [(T_K, T_K), (T_Q, T_K), (1, 1)])
def test_the_relative_shift_is_that_of_xlnet(randn, t_q, t_k):
    """XLNet's rows begin with one distance more, t_k, which no pair of positions has."""
    x = randn(BATCH, HEADS, t_q, t_q + t_k)
    assert torch.equal(relative_shift(x[..., 1:]), XLNetRelativeAttention.rel_shift_bnij(x, klen=t_k))


@pytest.mark.parametrize("hidden", [False, True], ids=["both sides", "causal"])
@pytest.mark.parametrize(("t_q", "t_k"), [(T_K, T_K), (T_Q, T_K), (1, T_K)])
def test_the_attention_and_its_gradients_are_those_of_xlnet(randn, hidden, t_q, t_k):
    ours, theirs = xlnet(randn)
    inputs = randn(BATCH, HEADS, t_q, D_K), randn(BATCH, HEADS, t_k, D_K), randn(BATCH, HEADS, t_k, D_K)
    query, key, value = (x.requires_grad_() for x in inputs)
    mask = causal(t_q, t_k) if hidden else None
    got = attention_weights(query, key, mask, bias=ours.bias(query, key)) @ value

    r = encode(torch.arange(t_k, -t_q, -1), D_MODEL) @ ours.w_r.weight.T  # the largest distance first, t_k before it
    time_first = [x.permute(2, 0, 1, 3) for x in (query, key, value)]
    r = r.view(-1, 1, HEADS, D_K).expand(-1, BATCH, -1, -1)
    hide = None if mask is None else (~mask).double()[:, :, None, None]
    want = theirs.rel_attn_core(*time_first, r, attn_mask=hide).permute(1, 2, 0, 3)
    close(got, want)

    upstream = randn(BATCH, HEADS, t_q, D_K)
    wrt = [query, key, value, ours.w_r.weight]
    grads = torch.autograd.grad(got, [*wrt, ours.u, ours.v], upstream)
    expected = torch.autograd.grad(want, [*wrt, theirs.r_w_bias, theirs.r_r_bias], upstream)
    for name, one, other in zip(("query", "key", "value", "w_r", "u", "v"), grads, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=ROUNDING, msg=lambda text, name=name: f"{name}: {text}")
