"""Parity of the encoder with `nn.TransformerEncoderLayer`: values and every gradient, in float64."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from companion.encoder import Encoder, EncoderLayer
from companion.masks import and_masks, causal, padding
from companion.norm import LayerNorm
from tests.library.tensors import redraw

BATCH, T, D, HEADS, FF, LAYERS = 2, 7, 15, 3, 11, 4  # all different, and so is d_k = 5
EPS = 1e-3  # neither side's default, and large enough to be seen
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": partial(F.gelu, approximate="tanh")}
MASKS = ["none", "causal", "padding", "both"]


def pairs(theirs, ours):
    """Name each parameter of torch's layer with those of ours that hold the same numbers, joined along axis 0."""
    attention, network = ours.attention, ours.feed_forward
    projections = (attention.w_q, attention.w_k, attention.w_v)
    modules = [
        (theirs.self_attn.out_proj, attention.w_o),
        (theirs.linear1, network.w_1),
        (theirs.linear2, network.w_2),
        (theirs.norm1, ours.norm_1),
        (theirs.norm2, ours.norm_2),
    ]
    found = [(theirs.self_attn.in_proj_weight, [w.weight for w in projections])]
    found += [(their.weight, [our.weight]) for their, our in modules]
    if projections[0].bias is not None:
        found.append((theirs.self_attn.in_proj_bias, [w.bias for w in projections]))
        found += [(their.bias, [our.bias]) for their, our in modules]
    return found


def make_pair(randn, norm_placement, activation="relu", bias=True):
    ours = EncoderLayer(
        D,
        HEADS,
        FF,
        norm_placement=norm_placement,
        activation=activation,
        bias=bias,
        eps=EPS,
        dropout=0.0,
        kernel="reference",
    )
    theirs = nn.TransformerEncoderLayer(
        D,
        HEADS,
        FF,
        dropout=0.0,
        activation=ACTIVATIONS[activation],
        layer_norm_eps=EPS,
        batch_first=True,
        norm_first=norm_placement == "pre",
        bias=bias,
    )
    ours.double(), theirs.double()
    redraw(ours, randn)
    with torch.no_grad():
        for their, our in pairs(theirs, ours):
            their.copy_(torch.cat(our))
    return ours, theirs


def make_masks(kind):
    """Return our mask, and torch's two, in which True hides."""
    lengths = [T, T - 3]
    ours = and_masks(
        causal(T) if kind in ("causal", "both") else None, padding(lengths) if kind in ("padding", "both") else None
    )
    theirs = {
        "mask": ~causal(T) if kind in ("causal", "both") else None,
        "padding": ~padding(lengths)[:, 0] if kind in ("padding", "both") else None,
    }
    return ours, theirs


def assert_same(ours, theirs, x, output, expected, matched, upstream):
    torch.testing.assert_close(output, expected, rtol=0, atol=ATOL)
    got = torch.autograd.grad(output, [x, *ours.parameters()], upstream)
    want = torch.autograd.grad(expected, [x, *theirs.parameters()], upstream)
    torch.testing.assert_close(got[0], want[0], rtol=0, atol=ATOL)
    got, want = (
        dict(zip(ours.parameters(), got[1:], strict=True)),
        dict(zip(theirs.parameters(), want[1:], strict=True)),
    )
    assert len(matched) == len(want)
    for their, our in matched:
        torch.testing.assert_close(torch.cat([got.pop(part) for part in our]), want[their], rtol=0, atol=ATOL)
    assert not got, "a parameter of ours was not compared"


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_a_layer_equals_that_of_torch(randn, norm_placement, activation, kind):
    ours, theirs = make_pair(randn, norm_placement, activation)
    x, upstream, (mask, hidden) = randn(BATCH, T, D, requires_grad=True), randn(BATCH, T, D), make_masks(kind)
    expected = theirs(x, src_mask=hidden["mask"], src_key_padding_mask=hidden["padding"])
    assert_same(ours, theirs, x, ours(x, mask), expected, pairs(theirs, ours), upstream)


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_a_layer_without_biases_equals_that_of_torch(randn, norm_placement):
    ours, theirs = make_pair(randn, norm_placement, bias=False)
    x, upstream = randn(BATCH, T, D, requires_grad=True), randn(BATCH, T, D)
    assert_same(ours, theirs, x, ours(x), theirs(x), pairs(theirs, ours), upstream)


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_the_fused_kernel_gives_the_same_layer(randn, norm_placement):
    ours, theirs = make_pair(randn, norm_placement)
    ours.attention.kernel = "sdpa"
    x, upstream, (mask, hidden) = randn(BATCH, T, D, requires_grad=True), randn(BATCH, T, D), make_masks("padding")
    expected = theirs(x, src_key_padding_mask=hidden["padding"])
    assert_same(ours, theirs, x, ours(x, mask), expected, pairs(theirs, ours), upstream)


@pytest.mark.parametrize("final", [False, True], ids=["no final norm", "final norm"])
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_a_stack_equals_that_of_torch(randn, norm_placement, final):
    layers = [make_pair(randn, norm_placement, "gelu") for _ in range(LAYERS)]
    ours = Encoder([our for our, _ in layers], LayerNorm(D, eps=EPS).double() if final else None)
    norm = nn.LayerNorm(D, eps=EPS).double() if final else None
    theirs = nn.TransformerEncoder(layers[0][1], LAYERS, norm=norm, enable_nested_tensor=False)
    theirs.layers = nn.ModuleList(their for _, their in layers)
    matched = [pair for our, their in layers for pair in pairs(their, our)]
    if final:
        redraw(norm, randn)
        ours.final_norm.load_state_dict(norm.state_dict())
        matched += [(norm.weight, [ours.final_norm.weight]), (norm.bias, [ours.final_norm.bias])]
    x, upstream, (mask, hidden) = randn(BATCH, T, D, requires_grad=True), randn(BATCH, T, D), make_masks("both")
    expected = theirs(x, mask=hidden["mask"], src_key_padding_mask=hidden["padding"])
    assert_same(ours, theirs, x, ours(x, mask), expected, matched, upstream)


class LlamaLike(nn.Module):
    """A pre-norm layer of torch's own parts: RMSNorm, grouped queries repeated by hand, and a gated network."""

    def __init__(self, ours):
        super().__init__()
        self.ours, self.norms = ours, nn.ModuleList(nn.RMSNorm(12, eps=EPS).double() for _ in range(2))

    def forward(self, x):
        attention, network = self.ours.attention, self.ours.feed_forward
        y = self.norms[0](x)
        query = F.linear(y, attention.w_q.weight).view(BATCH, T, 6, 2).transpose(1, 2)
        key, value = (
            F.linear(y, w.weight).view(BATCH, T, 3, 2).transpose(1, 2) for w in (attention.w_k, attention.w_v)
        )
        key, value = (heads.repeat_interleave(2, dim=1) for heads in (key, value))
        heads = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(BATCH, T, 12)
        x = x + F.linear(heads, attention.w_o.weight)
        y = self.norms[1](x)
        hidden = F.silu(F.linear(y, network.w_gate.weight)) * F.linear(y, network.w_up.weight)
        return x + F.linear(hidden, network.w_down.weight)


def test_rms_norm_grouped_queries_and_a_gated_network_equal_torch_parts(randn):
    ours = EncoderLayer(
        12, 6, FF, norm_placement="pre", norm="rms", activation="swiglu", n_kv_heads=3, dropout=0, bias=False, eps=EPS
    ).double()
    redraw(ours, randn)
    theirs = LlamaLike(ours)
    for their, our in zip(theirs.norms, (ours.norm_1, ours.norm_2), strict=True):
        their.load_state_dict(our.state_dict())
    x, upstream = randn(BATCH, T, 12, requires_grad=True), randn(BATCH, T, 12)
    output, expected = ours(x), theirs(x)
    shared = [w for module in (ours.attention, ours.feed_forward) for w in module.parameters()]
    norms = [ours.norm_1.weight, ours.norm_2.weight]
    assert len(shared) + len(norms) == len(list(ours.parameters())) == 9
    got = torch.autograd.grad(output, [x, *shared, *norms], upstream)
    want = torch.autograd.grad(expected, [x, *shared, *theirs.norms.parameters()], upstream)
    for ours_, theirs_ in zip((output, *got), (expected, *want), strict=True):
        torch.testing.assert_close(ours_, theirs_, rtol=0, atol=ATOL)
