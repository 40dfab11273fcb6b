"""The encoder: closed forms of both norm placements, properties, where dropout stands, then every refusal."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from companion.encoder import Encoder, EncoderLayer
from companion.masks import and_masks, causal, padding
from companion.norm import LayerNorm, RMSNorm
from companion.positional import ALiBi, RotaryPosition
from tests.library.tensors import close

BATCH, T, D, HEADS, FF, LAYERS = 2, 7, 12, 3, 11, 5  # all different, and so is d_k = 4
NORM_PLACEMENTS = pytest.mark.parametrize("norm_placement", ["post", "pre"])


def make_layer(seed=0, **options):
    """Build a layer in float64 whose every parameter is drawn anew, none of them 0 or 1."""
    layer = EncoderLayer(D, HEADS, FF, **{"dropout": 0.0, **options}).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.ndim == 2 else 1.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * scale)
    return layer


def silence(layer):
    """Make both sub-layers answer 0."""
    with torch.no_grad():
        for module in (layer.attention.w_o, layer.feed_forward.w_2):
            module.weight.zero_()
            module.bias.zero_()
    return layer


# Closed forms


def test_a_pre_norm_layer_whose_sub_layers_answer_nothing_returns_its_input(randn):
    x = randn(BATCH, T, D)
    assert torch.equal(silence(make_layer(norm_placement="pre"))(x), x)


def test_a_post_norm_layer_whose_sub_layers_answer_nothing_normalises_twice(randn):
    layer, x = silence(make_layer(norm_placement="post")), randn(BATCH, T, D)
    close(layer(x), layer.norm_2(layer.norm_1(x)))
    assert not torch.allclose(layer.norm_2(layer.norm_1(x)), layer.norm_1(layer.norm_2(x)))


@NORM_PLACEMENTS
def test_a_layer_is_its_two_sub_layers_written_out(randn, norm_placement):
    layer, x = make_layer(norm_placement=norm_placement), randn(BATCH, T, D)
    if norm_placement == "post":
        middle = layer.norm_1(x + layer.attention(x))
        close(layer(x), layer.norm_2(middle + layer.feed_forward(middle)))
    else:
        middle = x + layer.attention(layer.norm_1(x))
        close(layer(x), middle + layer.feed_forward(layer.norm_2(middle)))


def test_a_post_norm_layer_ends_in_vectors_of_mean_0_and_size_1(randn):
    layer = make_layer(norm_placement="post", eps=1e-12)
    with torch.no_grad():
        layer.norm_2.weight.fill_(1.0)
        layer.norm_2.bias.zero_()
    output = layer(randn(BATCH, T, D))
    close(output.mean(dim=-1), torch.zeros(BATCH, T).double())
    torch.testing.assert_close(output.var(dim=-1, unbiased=False), torch.ones(BATCH, T).double(), rtol=0, atol=1e-9)


@NORM_PLACEMENTS
def test_the_gain_of_the_residual_path(randn, norm_placement):
    """Pre-norm passes the gradient on unchanged beside the sub-layers; post-norm sends it through two norms."""
    layer, x, upstream = (
        silence(make_layer(norm_placement=norm_placement)),
        randn(BATCH, T, D, requires_grad=True),
        randn(BATCH, T, D),
    )
    (gradient,) = torch.autograd.grad(layer(x), x, upstream)
    assert torch.equal(gradient, upstream) == (norm_placement == "pre")


def test_an_encoder_is_its_layers_one_after_the_other(randn):
    layers = [make_layer(seed) for seed in range(LAYERS)]
    x, want = randn(BATCH, T, D), None
    for layer in layers:
        want = layer(x if want is None else want, padding([T, 4]))
    close(Encoder(layers)(x, padding([T, 4])), want)


def test_the_final_norm_comes_last(randn):
    layer, x = make_layer(norm_placement="pre"), randn(BATCH, T, D)
    norm = LayerNorm(D).double()
    with torch.no_grad():
        norm.weight.copy_(randn(D))
    close(Encoder([layer], norm)(x), norm(layer(x)))


# Properties


@NORM_PLACEMENTS
@given(seed=st.integers(0, 2**16))
def test_tokens_in_another_order_give_the_outputs_in_that_order(norm_placement, seed):
    """Without positions an encoder sees a set."""
    generator = torch.Generator().manual_seed(seed)
    x, order_of = torch.randn(BATCH, T, D, generator=generator).double(), torch.randperm(T, generator=generator)
    layer = make_layer(seed, norm_placement=norm_placement)
    close(layer(x[:, order_of]), layer(x)[:, order_of])


@pytest.mark.parametrize("make", [lambda: RotaryPosition(D // HEADS), lambda: ALiBi(HEADS)], ids=["rope", "alibi"])
def test_with_a_relative_position_the_order_matters(randn, make):
    x, layer = randn(BATCH, T, D), make_layer(position=make())
    assert not torch.allclose(layer(x.roll(1, dims=1)), layer(x).roll(1, dims=1), atol=1e-3)


@NORM_PLACEMENTS
@given(length=st.integers(1, T - 1), seed=st.integers(0, 2**16))
def test_padding_has_no_influence(norm_placement, length, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, T, D, generator=generator).double()
    encoder, mask = Encoder([make_layer(seed, norm_placement=norm_placement) for _ in range(2)]), padding([length], T)
    before = encoder(x, mask)[:, :length]
    x[:, length:] = 1e3
    assert torch.equal(encoder(x, mask)[:, :length], before)
    close(before, encoder(x[:, :length]))


def test_a_sequence_that_is_all_padding_stays_finite(randn):
    output = Encoder([make_layer(), make_layer(1)])(randn(BATCH, T, D), padding([T, 0]))
    assert output.isfinite().all()


def test_every_layer_gets_the_mask(randn):
    """With a causal mask no output depends on a later input, however deep the stack."""
    x = randn(1, T, D, requires_grad=True)
    encoder = Encoder([make_layer(seed, norm_placement="pre") for seed in range(LAYERS)])
    (gradient,) = torch.autograd.grad(encoder(x, and_masks(causal(T), padding([T])))[:, 3].sum(), x)
    assert (gradient[:, 4:] == 0).all()
    assert (gradient[:, :4].abs().amax(dim=-1) > 1e-6).all()


# Dropout


def test_dropout_falls_on_what_a_sub_layer_adds_and_not_on_the_sum(randn):
    """With p = 0.9 both additions are dropped in 81% of the numbers of a pre-norm layer, which stay what they were."""
    layer, x = make_layer(norm_placement="pre", dropout=0.9).train(), randn(BATCH, 50, D)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        share = (layer(x) == x).double().mean()
    assert abs(share - 0.81) < 0.05  # 1200 numbers: a standard deviation of 0.011


def test_dropout_leaves_evaluation_alone(randn):
    layer, x = make_layer(dropout=0.9), randn(BATCH, T, D)
    assert not torch.equal(layer.train()(x), layer(x))
    assert torch.equal(layer.eval()(x), layer(x))
    close(layer(x), make_layer(dropout=0.0)(x))


def test_attention_weights_and_hidden_units_are_not_dropped():
    """The difference from torch's layer that the docstring names."""
    layer = EncoderLayer(D, HEADS, FF, dropout=0.5)
    others = [m for m in layer.modules() if isinstance(m, nn.Dropout) and m is not layer.dropout]
    assert (layer.attention.dropout, [m.p for m in others], layer.dropout.p) == (0.0, [0.0], 0.5)


# Parts


def test_the_choices_reach_the_parts():
    position = ALiBi(HEADS)
    layer = EncoderLayer(
        D,
        HEADS,
        FF,
        norm="rms",
        activation="swiglu",
        n_kv_heads=1,
        bias=False,
        eps=0.5,
        kernel="reference",
        position=position,
    )
    attention = layer.attention
    assert (attention.n_heads, attention.n_kv_heads, attention.kernel) == (HEADS, 1, "reference")
    assert attention.position is position
    assert [type(norm) for norm in (layer.norm_1, layer.norm_2)] == [RMSNorm, RMSNorm]
    assert (layer.norm_1.eps, layer.norm_2.eps) == (0.5, 0.5)
    assert layer.feed_forward.w_gate.weight.shape == (FF, D)
    assert [name for name, _ in layer.named_parameters() if "bias" in name] == []


# Refusals


@pytest.mark.usefixtures("shape_checks_off")
def test_an_order_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"^norm_placement is 'post' or 'pre': got 'sandwich'. Vaswani"):
        EncoderLayer(D, HEADS, FF, norm_placement="sandwich")


@pytest.mark.usefixtures("shape_checks_off")
def test_a_norm_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"norm of a model is 'layer' or 'rms': got 'batch'"):
        EncoderLayer(D, HEADS, FF, norm="batch")


@pytest.mark.usefixtures("shape_checks_off")
def test_an_encoder_without_layers_is_refused():
    with pytest.raises(ValueError, match=r"encoder has at least one layer: got none\. Pass a list"):
        Encoder([])


@pytest.mark.usefixtures("shape_checks_off")
def test_an_input_of_another_width_is_refused():
    with pytest.raises(ValueError, match=rf"{D}.*\(2, 5, 7\)"):
        EncoderLayer(D, HEADS, FF)(torch.zeros(2, 5, 7))


@pytest.mark.usefixtures("shape_checks_off")
def test_a_mask_of_batch_by_key_is_refused():
    with pytest.raises(ValueError, match="padding"):
        EncoderLayer(D, HEADS, FF)(torch.zeros(BATCH, T, D), torch.ones(BATCH, T, dtype=torch.bool))
