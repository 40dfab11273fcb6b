"""The decoder: closed forms of both norm placements, causality, the cache, then every refusal."""

import pytest
import torch
from torch import nn

from companion.cache import DecoderCache
from companion.decoder import Decoder, DecoderLayer
from companion.encoder import EncoderLayer
from companion.masks import causal, padding
from companion.norm import LayerNorm, RMSNorm
from companion.positional import ALiBi, RotaryPosition
from tests.library.tensors import close

BATCH, T, T_K, D, HEADS, FF, LAYERS = 2, 7, 9, 12, 3, 11, 5  # all different, and so is d_k = 4
NORM_PLACEMENTS = pytest.mark.parametrize("norm_placement", ["post", "pre"])
CROSS = pytest.mark.parametrize("cross", [False, True], ids=["decoder-only", "with memory"])


def redrawn(module, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.double().parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.ndim == 2 else 1.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * scale)
    return module


def make_layer(seed=0, **options):
    """Build a layer in float64 whose every parameter is drawn anew, none of them 0 or 1."""
    return redrawn(DecoderLayer(D, HEADS, FF, **{"dropout": 0.0, **options}), seed)


def make_decoder(**options):
    return Decoder([make_layer(seed, **options) for seed in range(LAYERS)], redrawn(LayerNorm(D), LAYERS))


def silence(layer):
    """Make the three sub-layers answer 0."""
    with torch.no_grad():
        for module in (layer.self_attention.w_o, layer.cross_attention.w_o, layer.feed_forward.w_2):
            module.weight.zero_()
            module.bias.zero_()
    return layer


@pytest.fixture
def memory(randn):
    return randn(BATCH, T_K, D)


# Closed forms


def test_a_pre_norm_layer_whose_sub_layers_answer_nothing_returns_its_input(randn, memory):
    x = randn(BATCH, T, D)
    assert torch.equal(silence(make_layer(norm_placement="pre"))(x, memory), x)


def test_a_post_norm_layer_whose_sub_layers_answer_nothing_normalises_three_times(randn, memory):
    layer, x = silence(make_layer(norm_placement="post")), randn(BATCH, T, D)
    close(layer(x, memory), layer.norm_3(layer.norm_2(layer.norm_1(x))))


@NORM_PLACEMENTS
def test_a_layer_is_its_three_sub_layers_written_out(randn, memory, norm_placement):
    layer, x = make_layer(norm_placement=norm_placement), randn(BATCH, T, D)
    if norm_placement == "post":
        x_1 = layer.norm_1(x + layer.self_attention(x, mask=causal(T)))
        x_2 = layer.norm_2(x_1 + layer.cross_attention(x_1, memory))
        want = layer.norm_3(x_2 + layer.feed_forward(x_2))
    else:
        x_1 = x + layer.self_attention(layer.norm_1(x), mask=causal(T))
        x_2 = x_1 + layer.cross_attention(layer.norm_2(x_1), memory)
        want = x_2 + layer.feed_forward(layer.norm_3(x_2))
    close(layer(x, memory), want)


@NORM_PLACEMENTS
def test_without_memory_a_decoder_layer_is_an_encoder_layer_with_a_causal_mask(randn, norm_placement):
    ours, other, x = (
        make_layer(norm_placement=norm_placement, cross=False),
        EncoderLayer(D, HEADS, FF, norm_placement=norm_placement, dropout=0),
        randn(2, T, D),
    )
    names = {"self_attention": "attention", "norm_3": "norm_2"}
    state = {
        ".".join([names.get(key.split(".")[0], key.split(".")[0]), *key.split(".")[1:]]): value
        for key, value in ours.state_dict().items()
    }
    other.double().load_state_dict(state)
    close(ours(x), other(x, causal(T)))


def test_the_memory_is_not_normalised_by_the_layer(randn, memory):
    """Twice the memory gives other keys and values: a norm in front of them would undo the factor."""
    layer, x = make_layer(norm_placement="pre"), randn(BATCH, T, D)
    assert not torch.allclose(layer(x, memory), layer(x, 2 * memory), atol=1e-3)


def test_a_decoder_is_its_layers_one_after_the_other_and_the_final_norm(randn, memory):
    decoder, x = make_decoder(), randn(BATCH, T, D)
    want = x
    for layer in decoder.layers:
        want = layer(want, memory, mask=padding([T, 4]), memory_mask=padding([3, T_K]))
    close(decoder(x, memory, mask=padding([T, 4]), memory_mask=padding([3, T_K])), decoder.final_norm(want))


# Causality


@CROSS
@NORM_PLACEMENTS
def test_no_output_depends_on_a_later_input(randn, memory, norm_placement, cross):
    """By autograd: the gradient is exactly 0 for later positions and for other sequences, and nowhere else."""
    x, decoder = randn(BATCH, T, D, requires_grad=True), make_decoder(norm_placement=norm_placement, cross=cross)
    output = decoder(x, memory if cross else None)
    for position in range(T):
        (gradient,) = torch.autograd.grad(output[1, position].square().sum(), x, retain_graph=True)
        assert (gradient[1, position + 1 :] == 0).all()
        assert (gradient[0] == 0).all()
        assert (gradient[1, : position + 1].abs().amax(dim=-1) > 1e-9).all()


def test_every_output_depends_on_the_memory_that_is_not_hidden(randn):
    memory = randn(BATCH, T_K, D, requires_grad=True)
    output = make_decoder(norm_placement="pre")(randn(BATCH, T, D), memory, memory_mask=padding([T_K, 4]))
    (gradient,) = torch.autograd.grad(output[1, 0].square().sum(), memory)
    assert (gradient[1, 4:] == 0).all()
    assert (gradient[1, :4].abs().amax(dim=-1) > 1e-9).all()


def test_a_memory_that_is_all_padding_stays_finite(randn, memory):
    assert make_decoder()(randn(BATCH, T, D), memory, memory_mask=padding([T_K, 0])).isfinite().all()


# The cache


@CROSS
@NORM_PLACEMENTS
@pytest.mark.parametrize("position", ["none", "rope", "alibi"])
@pytest.mark.parametrize("chunks", [[1] * T, [4, 3], [3, 1, 1, 2], [T]], ids=str)
def test_with_a_cache_the_outputs_are_the_same(randn, memory, norm_placement, cross, position, chunks):
    scheme = {"none": None, "rope": RotaryPosition(D // HEADS), "alibi": ALiBi(HEADS)}[position]
    decoder, x = make_decoder(norm_placement=norm_placement, cross=cross, position=scheme), randn(BATCH, T, D)
    cache, given = DecoderCache(LAYERS), (memory, padding([T_K, 4])) if cross else (None, None)
    with torch.no_grad():
        want = decoder(x, given[0], memory_mask=given[1])
        parts = [decoder(part, given[0], memory_mask=given[1], cache=cache) for part in x.split(chunks, dim=1)]
    close(torch.cat(parts, dim=1), want)
    assert cache.length == T


def test_the_memory_is_projected_once(randn, memory):
    """The second step takes its keys and values from the cache: w_k is not asked again."""
    layer, cache, calls = make_layer(), DecoderCache(1), []
    layer.cross_attention.w_k.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        for part in randn(BATCH, 3, D).split(1, dim=1):
            layer(part, memory, cache=cache.layers[0])
    assert calls == [1]


# Dropout and parts


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_dropout_falls_on_what_a_sub_layer_adds_and_not_on_the_sum(randn, p):
    """A number of a pre-norm layer stays what it was where all three additions are dropped: in p^3 of the cases."""
    layer, x = make_layer(norm_placement="pre", dropout=p).train(), randn(BATCH, 100, D)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        share = (layer(x, randn(BATCH, T_K, D)) == x).double().mean()
    assert abs(share - p**3) < 0.05  # 2400 numbers: a standard deviation of at most 0.01


def test_attention_weights_and_hidden_units_are_not_dropped():
    layer = DecoderLayer(D, HEADS, FF, dropout=0.5)
    others = [m.p for m in layer.modules() if isinstance(m, nn.Dropout) and m is not layer.dropout]
    assert (layer.self_attention.dropout, layer.cross_attention.dropout, others) == (0.0, 0.0, [0.0])


def test_the_choices_reach_the_parts():
    position = ALiBi(HEADS)
    layer = DecoderLayer(
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
    for attention in (layer.self_attention, layer.cross_attention):
        assert (attention.n_heads, attention.n_kv_heads, attention.kernel) == (HEADS, 1, "reference")
    assert layer.self_attention.position is position
    assert layer.cross_attention.position is None
    norms = layer.norm_1, layer.norm_2, layer.norm_3
    assert [(type(norm), norm.eps) for norm in norms] == [(RMSNorm, 0.5)] * 3
    assert layer.feed_forward.w_gate.weight.shape == (FF, D)
    assert [name for name, _ in layer.named_parameters() if "bias" in name] == []


def test_a_layer_without_cross_attention_has_no_parameters_for_it():
    layer = DecoderLayer(D, HEADS, FF, cross=False)
    assert (layer.cross_attention, layer.norm_2) == (None, None)


# Refusals


@pytest.mark.usefixtures("shape_checks_off")
def test_an_order_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"^norm_placement is 'post' or 'pre': got 'sandwich'. Vaswani"):
        DecoderLayer(D, HEADS, FF, norm_placement="sandwich")


@pytest.mark.usefixtures("shape_checks_off")
def test_a_decoder_without_layers_is_refused():
    with pytest.raises(ValueError, match=r"decoder has at least one layer: got none\. Pass a list"):
        Decoder([])


@pytest.mark.usefixtures("shape_checks_off")
def test_a_missing_memory_is_refused():
    with pytest.raises(ValueError, match=r"reads a memory: got memory=None\. Pass the encoder's output"):
        make_layer()(torch.zeros(BATCH, T, D).double())


@pytest.mark.usefixtures("shape_checks_off")
def test_a_memory_that_nothing_would_read_is_refused(memory):
    with pytest.raises(ValueError, match=r"reads no memory: got memory \(2, 9, 12\)\. Leave it out"):
        make_layer(cross=False)(torch.zeros(BATCH, T, D).double(), memory)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_memory_of_another_width_is_refused(memory):
    with pytest.raises(ValueError, match=rf"{D}.*\(2, 9, 8\)"):
        make_layer()(torch.zeros(BATCH, T, D).double(), memory[..., :8])


@pytest.mark.usefixtures("shape_checks_off")
def test_a_memory_of_another_batch_is_refused(memory):
    with pytest.raises(ValueError, match=r"\(2, 7, 12\).*\(1, 9, 12\)"):
        make_layer()(torch.zeros(BATCH, T, D).double(), memory[:1])


@pytest.mark.usefixtures("shape_checks_off")
def test_a_cache_of_another_depth_is_refused():
    with (
        torch.no_grad(),
        pytest.raises(ValueError, match=r"one entry a layer: got 3 for 5 layers\. Take it from the model's own"),
    ):
        make_decoder(cross=False)(torch.zeros(BATCH, T, D).double(), cache=DecoderCache(3))
