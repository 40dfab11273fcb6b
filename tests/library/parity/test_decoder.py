"""Parity of the decoder with `nn.TransformerDecoderLayer`, and of the 2017 model with `nn.Transformer`, in float64."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from companion.config import ModelConfig
from companion.decoder import Decoder, DecoderLayer
from companion.masks import causal, padding
from companion.norm import LayerNorm
from companion.positional import sinusoidal
from companion.transformer import Transformer
from tests.library.tensors import redraw

BATCH, T, T_K, D, HEADS, FF, LAYERS = 2, 7, 9, 12, 3, 11, 5  # all different, and so is d_k = 4
EPS = 1e-3  # neither side's default, and large enough to be seen
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": partial(F.gelu, approximate="tanh")}
LENGTHS = [T_K, T_K - 4]


def attention_pairs(theirs, ours):
    projections = (ours.w_q, ours.w_k, ours.w_v)
    return [
        (theirs.in_proj_weight, [w.weight for w in projections]),
        (theirs.in_proj_bias, [w.bias for w in projections]),
        (theirs.out_proj.weight, [ours.w_o.weight]),
        (theirs.out_proj.bias, [ours.w_o.bias]),
    ]


def module_pairs(*modules):
    return [(getattr(their, name), [getattr(our, name)]) for their, our in modules for name in ("weight", "bias")]


def encoder_pairs(theirs, ours):
    network = ours.feed_forward
    norms = (theirs.norm1, ours.norm_1), (theirs.norm2, ours.norm_2)
    return attention_pairs(theirs.self_attn, ours.attention) + module_pairs(
        (theirs.linear1, network.w_1), (theirs.linear2, network.w_2), *norms
    )


def decoder_pairs(theirs, ours):
    """Name each parameter of torch's layer with those of ours that hold the same numbers, joined along axis 0."""
    network = ours.feed_forward
    norms = (theirs.norm1, ours.norm_1), (theirs.norm2, ours.norm_2), (theirs.norm3, ours.norm_3)
    return (
        attention_pairs(theirs.self_attn, ours.self_attention)
        + attention_pairs(theirs.multihead_attn, ours.cross_attention)
        + module_pairs((theirs.linear1, network.w_1), (theirs.linear2, network.w_2), *norms)
    )


def copy_weights(matched):
    with torch.no_grad():
        for their, our in matched:
            their.copy_(torch.cat(our))


def make_pair(randn, norm_placement, activation="relu", kernel="reference"):
    ours = DecoderLayer(
        D, HEADS, FF, norm_placement=norm_placement, activation=activation, eps=EPS, dropout=0.0, kernel=kernel
    )
    theirs = nn.TransformerDecoderLayer(
        D,
        HEADS,
        FF,
        dropout=0.0,
        activation=ACTIVATIONS[activation],
        layer_norm_eps=EPS,
        batch_first=True,
        norm_first=norm_placement == "pre",
    )
    ours.double(), theirs.double()
    redraw(ours, randn)
    copy_weights(decoder_pairs(theirs, ours))
    return ours, theirs


def run_theirs(module, x, memory, padded):
    hidden = ~padding(LENGTHS)[:, 0] if padded else None
    return module(x, memory, tgt_mask=~causal(T), memory_key_padding_mask=hidden)


def assert_same(ours, theirs, inputs, output, expected, matched, upstream):
    torch.testing.assert_close(output, expected, rtol=0, atol=ATOL)
    got = torch.autograd.grad(output, [*inputs, *ours.parameters()], upstream)
    want = torch.autograd.grad(expected, [*inputs, *theirs.parameters()], upstream)
    for _ in inputs:
        torch.testing.assert_close(got[0], want[0], rtol=0, atol=ATOL)
        got, want = got[1:], want[1:]
    got = dict(zip(ours.parameters(), got, strict=True))
    want = dict(zip(theirs.parameters(), want, strict=True))
    assert len(matched) == len(want)
    for their, our in matched:
        torch.testing.assert_close(torch.cat([got.pop(part) for part in our]), want[their], rtol=0, atol=ATOL)
    assert not got, "a parameter of ours was not compared"


@pytest.fixture
def inputs(randn):
    return [randn(BATCH, T, D, requires_grad=True), randn(BATCH, T_K, D, requires_grad=True)]


@pytest.mark.parametrize("padded", [False, True], ids=["whole memory", "padded memory"])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_a_layer_equals_that_of_torch(randn, inputs, norm_placement, activation, padded):
    ours, theirs = make_pair(randn, norm_placement, activation)
    output = ours(*inputs, memory_mask=padding(LENGTHS) if padded else None)
    expected = run_theirs(theirs, *inputs, padded)
    assert_same(ours, theirs, inputs, output, expected, decoder_pairs(theirs, ours), randn(BATCH, T, D))


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_the_fused_kernel_gives_the_same_layer(randn, inputs, norm_placement):
    ours, theirs = make_pair(randn, norm_placement, kernel="sdpa")
    output, expected = ours(*inputs, memory_mask=padding(LENGTHS)), run_theirs(theirs, *inputs, True)
    assert_same(ours, theirs, inputs, output, expected, decoder_pairs(theirs, ours), randn(BATCH, T, D))


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_a_further_mask_on_the_target_equals_that_of_torch(randn, inputs, norm_placement):
    """Hide the last tokens of a target: with the causal mask, only those that come after them notice."""
    ours, theirs = make_pair(randn, norm_placement)
    real = padding([T, T - 2])
    output = ours(*inputs, mask=real)
    expected = theirs(*inputs, tgt_mask=~causal(T), tgt_key_padding_mask=~real[:, 0])
    assert_same(ours, theirs, inputs, output, expected, decoder_pairs(theirs, ours), randn(BATCH, T, D))
    assert not torch.allclose(output, ours(*inputs))


@pytest.mark.parametrize("final", [False, True], ids=["no final norm", "final norm"])
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_a_stack_equals_that_of_torch(randn, inputs, norm_placement, final):
    layers = [make_pair(randn, norm_placement, "gelu") for _ in range(LAYERS)]
    ours = Decoder([our for our, _ in layers], LayerNorm(D, eps=EPS).double() if final else None)
    norm = nn.LayerNorm(D, eps=EPS).double() if final else None
    theirs = nn.TransformerDecoder(layers[0][1], LAYERS, norm=norm)
    theirs.layers = nn.ModuleList(their for _, their in layers)
    matched = [pair for our, their in layers for pair in decoder_pairs(their, our)]
    if final:
        redraw(norm, randn)
        ours.final_norm.load_state_dict(norm.state_dict())
        matched += module_pairs((norm, ours.final_norm))
    output, expected = ours(*inputs, memory_mask=padding(LENGTHS)), run_theirs(theirs, *inputs, True)
    assert_same(ours, theirs, inputs, output, expected, matched, randn(BATCH, T, D))


class Whole(nn.Module):
    """The 2017 model around `nn.Transformer`: one table for both inputs and the output, and the sinusoids."""

    def __init__(self, norm_placement):
        super().__init__()
        options = {"dropout": 0.0, "layer_norm_eps": EPS, "batch_first": True, "norm_first": norm_placement == "pre"}
        self.table = nn.Parameter(torch.empty(17, D))
        self.core = nn.Transformer(D, HEADS, 2, 2, FF, **options)
        if norm_placement == "post":
            self.core.encoder.norm = self.core.decoder.norm = None  # torch normalises once more, the paper does not

    def forward(self, source, target, lengths):
        hidden = ~padding(lengths)[:, 0]
        x, y = (
            self.table[tokens] * math.sqrt(D) + sinusoidal(tokens.shape[1], D, dtype=torch.float64)
            for tokens in (source, target)
        )
        masks = {"src_key_padding_mask": hidden, "memory_key_padding_mask": hidden}
        return self.core(x, y, tgt_mask=~causal(target.shape[1]), **masks) @ self.table.T


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")  # nn.Transformer's own, for norm_first
def test_the_whole_model_equals_one_around_torchs(randn, norm_placement):
    config = ModelConfig(
        vocab=17, d_model=D, n_layers=2, n_heads=HEADS, d_ff=FF, dropout=0, eps=EPS, norm_placement=norm_placement
    )
    ours, theirs = Transformer(config, seed=0).double(), Whole(norm_placement).double()
    redraw(ours, randn)
    core = theirs.core
    matched = [(theirs.table, [ours.source_embedding.token.weight])]
    for their, our in zip(core.encoder.layers, ours.encoder.layers, strict=True):
        matched += encoder_pairs(their, our)
    for their, our in zip(core.decoder.layers, ours.decoder.layers, strict=True):
        matched += decoder_pairs(their, our)
    if norm_placement == "pre":
        matched += module_pairs(
            (core.encoder.norm, ours.encoder.final_norm), (core.decoder.norm, ours.decoder.final_norm)
        )
    copy_weights(matched)
    generator = torch.Generator().manual_seed(1)
    source, target = (torch.randint(17, (BATCH, t), generator=generator) for t in (T_K, T))
    output, expected = ours(source, target, source_lengths=LENGTHS), theirs(source, target, LENGTHS)
    assert_same(ours, theirs, [], output, expected, matched, randn(BATCH, T, 17))
