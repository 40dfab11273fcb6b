"""The formulas of `companion.cost` against what torch counts: parameters, FLOPs, saved bytes; equal to the last one."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from companion.config import ModelConfig
from companion.cost import (
    activation_bytes,
    attention_flops,
    attention_parameters,
    convolution_layer,
    feed_forward_flops,
    feed_forward_parameters,
    generation_flops,
    layer_flops,
    model_cache_bytes,
    model_flops,
    model_parameters,
    norm_parameters,
    recurrent_layer,
    self_attention_layer,
    training_flops,
    window_attention_layer,
)
from companion.decoder import DecoderLayer
from companion.efficient import tiled_attention
from companion.encoder import EncoderLayer
from companion.feedforward import feed_forward
from companion.masks import window
from companion.multihead import MultiHeadAttention
from companion.norm import LayerNorm, RMSNorm
from companion.transformer import DecoderOnly, EncoderOnly, Transformer

BATCH, T, SOURCE = 3, 7, 5
SMALL = ModelConfig(
    vocab=11, d_model=16, n_layers=2, n_heads=4, d_ff=40, max_len=13, dropout=0.0, kernel="reference"
)  # sizes that all differ: a swapped one cannot pass
CHANGES = {
    "2017": {},
    "pre-norm": {"norm_placement": "pre"},
    "rms": {"norm": "rms"},
    "rms, pre-norm": {"norm": "rms", "norm_placement": "pre"},
    "gelu": {"activation": "gelu"},
    "gelu-tanh": {"activation": "gelu-tanh"},
    "swiglu": {"activation": "swiglu"},
    "no bias": {"bias": False},
    "no bias, swiglu": {"bias": False, "activation": "swiglu"},
    "learned positions": {"position": "learned"},
    "no positions": {"position": "none"},
    "grouped queries": {"n_kv_heads": 2},
    "one key head": {"n_kv_heads": 1, "bias": False},
    "untied": {"tied": False},
    "embedding norm": {"embedding_norm": True},
    "embedding norm, rms, pre-norm": {"embedding_norm": True, "norm": "rms", "norm_placement": "pre"},
    "one layer": {"n_layers": 1},
}
RELATIVE = {"rope": {"position": "rope"}, "alibi": {"position": "alibi"}, "t5": {"position": "t5"}}
TRANSFORMER_XL = {"transformer-xl": {"position": "transformer-xl"}}
WITH_OTHER_PRODUCTS = ["2017", "pre-norm", "no bias, swiglu", "grouped queries", "untied", "one layer", *RELATIVE]
WITH_OTHER_ACTIVATIONS = [
    "2017", "pre-norm", "rms", "gelu", "gelu-tanh", "no bias, swiglu", "learned positions", "no positions",
    "grouped queries", "untied", "embedding norm", "embedding norm, rms, pre-norm", "one layer",
]  # fmt: skip
MODELS = {
    "decoder-only": ("decoder-only", {}),
    "encoder-only": ("encoder-only", {}),
    "encoder-only, segments": ("encoder-only", {"segments": 3}),
    "encoder-decoder": ("encoder-decoder", {}),
    "encoder-decoder, two vocabularies": ("encoder-decoder", {"target_vocab": 17}),
}
each_model = pytest.mark.parametrize("model", MODELS)


def tokens(batch, t, vocab=11):
    return (torch.arange(batch * t) % vocab).view(batch, t)


def build(config, kind, batch=BATCH, t=T, source=SOURCE):
    """Return a model, the function that runs it to its logits, and the length of its source."""
    if kind == "decoder-only":
        model = DecoderOnly(config, seed=0)
        return model, lambda: model(tokens(batch, t)), None
    if kind == "encoder-only":
        model = EncoderOnly(config, seed=0)
        return model, lambda: model.logits(model(tokens(batch, t))), None
    model = Transformer(config, seed=0)
    return model, lambda: model(tokens(batch, source), tokens(batch, t)), source


def counted_parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def counted_flops(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


# Parameters


@pytest.mark.parametrize("name", [*CHANGES, *RELATIVE, *TRANSFORMER_XL])
@each_model
def test_the_parameters_of_a_model_are_those_that_it_has(model, name):
    kind, extra = MODELS[model]
    config = replace(SMALL, **(CHANGES | RELATIVE | TRANSFORMER_XL)[name], **extra)
    assert model_parameters(config, kind).total == counted_parameters(build(config, kind)[0])


@each_model
def test_each_part_has_the_parameters_of_its_modules(model):
    kind, extra = MODELS[model]
    config = replace(
        SMALL, n_kv_heads=2, position="learned", embedding_norm=True, tied=False, norm_placement="pre", **extra
    )
    built, parts = build(config, kind)[0], model_parameters(config, kind)
    owners = {
        "attention": [module for module in built.modules() if isinstance(module, MultiHeadAttention)],
        "feed_forward": [module for name, module in built.named_modules() if name.endswith("feed_forward")],
        "norms": [module for module in built.modules() if isinstance(module, LayerNorm)],
        "output": [built.output],
    }
    counted = {name: sum(map(counted_parameters, modules)) for name, modules in owners.items()}
    assert {name: getattr(parts, name) for name in counted} == counted
    assert parts.embedding == counted_parameters(built) - sum(counted.values())
    assert parts.non_embedding == counted["attention"] + counted["feed_forward"] + counted["norms"]


@pytest.mark.parametrize("bias", [False, True])
def test_the_parameters_of_a_layer_are_those_that_it_has(bias):
    for heads in (1, 2, 4):
        layer = MultiHeadAttention(24, 4, n_kv_heads=heads, bias=bias)
        assert attention_parameters(24, kv_width=6 * heads, bias=bias) == counted_parameters(layer)
    for gated, activation in ((False, "relu"), (True, "swiglu")):
        layer = feed_forward(24, 50, activation=activation, bias=bias)
        assert feed_forward_parameters(24, 50, gated=gated, bias=bias) == counted_parameters(layer)
    assert norm_parameters(24, bias=bias) == counted_parameters(LayerNorm(24, bias=bias))
    assert norm_parameters(24, norm="rms", bias=bias) == counted_parameters(RMSNorm(24))


# FLOPs


@pytest.mark.parametrize("name", WITH_OTHER_PRODUCTS)
@each_model
def test_the_flops_of_a_model_are_those_that_torch_counts_forward_and_in_training(model, name):
    kind, extra = MODELS[model]
    config = replace(SMALL, **(CHANGES | RELATIVE)[name], **extra)
    _, run, source = build(config, kind)
    with FlopCounterMode(display=False) as counter:
        logits = run()
        assert model_flops(config, kind, BATCH, T, source=source).total == counter.get_total_flops()
        logits.sum().backward()
        assert training_flops(config, kind, BATCH, T, source=source).total == counter.get_total_flops()


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("position", ["none", "rope"])
def test_prefill_and_decoding_with_a_cache_cost_what_torch_counts(position, heads):
    config = replace(SMALL, position=position, n_kv_heads=heads)
    model, _, _ = build(config, "decoder-only")
    cache = model.new_cache()
    with torch.no_grad():
        assert model_flops(config, "decoder-only", BATCH, T).total == counted_flops(
            lambda: model(tokens(BATCH, T), cache=cache)
        )
        for past, t in ((T, 1), (T + 1, 1), (T + 2, 4)):
            assert model_flops(config, "decoder-only", BATCH, t, past=past).total == counted_flops(
                lambda t=t: model(tokens(BATCH, t), cache=cache)
            )


def test_decoding_with_a_memory_computes_its_keys_once():
    config = replace(SMALL, target_vocab=17)
    model, _, _ = build(config, "encoder-decoder")
    cache = model.new_cache()
    with torch.no_grad():
        first = counted_flops(lambda: model.decode(tokens(BATCH, 2), model.encode(tokens(BATCH, SOURCE)), cache=cache))
        memory = model.encode(tokens(BATCH, SOURCE))
        then = counted_flops(lambda: model.decode(tokens(BATCH, 1), memory, cache=cache))
    assert model_flops(config, "encoder-decoder", BATCH, 2, source=SOURCE).total == first
    assert model_flops(config, "encoder-decoder", BATCH, 1, source=SOURCE, past=2).total == then


def test_generation_costs_what_torch_counts_with_a_cache_and_without():
    prompt, new = 4, 5
    model, _, _ = build(SMALL, "decoder-only")

    def with_cache():
        cache = model.new_cache()
        model(tokens(BATCH, prompt), cache=cache)
        for _ in range(new - 1):
            model(tokens(BATCH, 1), cache=cache)

    def without_cache():
        for t in range(prompt, prompt + new):
            model(tokens(BATCH, t))

    with torch.no_grad():
        assert generation_flops(SMALL, BATCH, prompt, new).total == counted_flops(with_cache)
        assert generation_flops(SMALL, BATCH, prompt, new, cached=False).total == counted_flops(without_cache)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_the_flops_of_an_attention_are_those_that_torch_counts(heads):
    layer = MultiHeadAttention(24, 4, n_kv_heads=heads, kernel="reference")
    x, memory = torch.zeros(BATCH, T, 24), torch.zeros(BATCH, SOURCE, 24)
    assert attention_flops(BATCH, T, SOURCE, 24, kv_width=6 * heads) == counted_flops(lambda: layer(x, memory))


@pytest.mark.parametrize(("gated", "activation"), [(False, "relu"), (True, "swiglu")])
def test_the_flops_of_a_feed_forward_network_are_those_that_torch_counts(gated, activation):
    network, x = feed_forward(24, 50, activation=activation), torch.zeros(BATCH, T, 24)
    assert feed_forward_flops(BATCH, T, 24, 50, gated=gated) == counted_flops(lambda: network(x))


def test_the_flops_of_a_layer_are_those_that_torch_counts():
    x, memory = torch.zeros(BATCH, T, 16), torch.zeros(BATCH, SOURCE, 16)
    encoder = EncoderLayer(16, 4, 40, kernel="reference")
    assert layer_flops(SMALL, BATCH, T).total == counted_flops(lambda: encoder(x))
    decoder = DecoderLayer(16, 4, 40, kernel="reference")
    assert layer_flops(SMALL, BATCH, T, memory=SOURCE).total == counted_flops(lambda: decoder(x, memory))


# Activations and cache


def saved_bytes(model, run):
    """Bytes of what autograd keeps, each storage once, without the model's own tensors."""
    own = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict(keep_vars=True).values()}
    kept = {}

    def pack(x):
        if x.untyped_storage().data_ptr() not in own:
            kept[x.untyped_storage().data_ptr()] = x
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        logits = run()
    assert logits.grad_fn is not None
    return sum(x.untyped_storage().nbytes() for x in kept.values())


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
@pytest.mark.parametrize("name", WITH_OTHER_ACTIVATIONS)
@pytest.mark.parametrize("model", ["decoder-only", "encoder-only, segments", "encoder-decoder"])
def test_the_activations_are_those_that_autograd_saves(model, name, kernel):
    kind, extra = MODELS[model]
    config = replace(SMALL, **(CHANGES[name] | {"kernel": kernel}), **extra)
    built, run, source = build(config, kind)
    assert activation_bytes(config, kind, BATCH, T, source=source) == saved_bytes(built, run)


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
@pytest.mark.parametrize(("batch", "t", "source"), [(1, 1, 1), (1, 4, 1), (2, 1, 3)])
@each_model
def test_the_activations_are_right_for_one_sequence_and_for_one_position(model, batch, t, source, kernel):
    kind, extra = MODELS[model]
    config = replace(SMALL, kernel=kernel, **extra)
    built, run, source = build(config, kind, batch, t, source)
    assert activation_bytes(config, kind, batch, t, source=source) == saved_bytes(built, run)


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
def test_the_activations_take_the_bytes_of_their_dtype(kernel):
    config = replace(SMALL, kernel=kernel)
    model, run, _ = build(config, "encoder-only")
    model.double()
    assert activation_bytes(config, "encoder-only", BATCH, T, dtype="float64") == saved_bytes(model, run)


@pytest.mark.parametrize("heads", [None, 2])
def test_the_cache_holds_as_many_bytes_as_its_keys_and_values(heads):
    config = replace(SMALL, n_kv_heads=heads)
    model = DecoderOnly(config, seed=0)
    cache = model.new_cache()
    with torch.no_grad():
        model(tokens(BATCH, T), cache=cache)
    held = sum(x.nbytes for layer in cache.layers for x in (layer.self.keys, layer.self.values))
    assert model_cache_bytes(config, BATCH, T, dtype="float32") == held


def test_the_cache_of_an_encoder_decoder_holds_the_memory_too():
    model = Transformer(SMALL, seed=0)
    cache = model.new_cache()
    with torch.no_grad():
        model.decode(tokens(BATCH, T), model.encode(tokens(BATCH, SOURCE)), cache=cache)
    caches = [kept for layer in cache.layers for kept in (layer.self, layer.cross)]
    held = sum(x.nbytes for kept in caches for x in (kept.keys, kept.values))
    assert model_cache_bytes(SMALL, BATCH, T, source=SOURCE, dtype="float32") == held


# The layers of Table 1


@pytest.mark.parametrize(("gates", "cell"), [(1, torch.nn.RNNCell), (3, torch.nn.GRUCell), (4, torch.nn.LSTMCell)])
def test_a_recurrent_layer_costs_what_torch_counts_for_its_cell(gates, cell):
    step = cell(6, 6)
    assert recurrent_layer(T, 6, gates=gates).flops == T * counted_flops(lambda: step(torch.zeros(1, 6)))


@pytest.mark.parametrize("kernel", [2, 3, 5])
def test_a_convolution_costs_what_torch_counts(kernel):
    x = torch.zeros(1, 6, T + kernel - 1)  # padded on the left, so that T positions come out
    dense = torch.nn.Conv1d(6, 6, kernel)
    assert convolution_layer(T, 6, kernel).flops == counted_flops(lambda: dense(x))
    depth, point = torch.nn.Conv1d(6, 6, kernel, groups=6), torch.nn.Conv1d(6, 6, 1)
    separable = counted_flops(lambda: point(depth(x)))
    assert convolution_layer(T, 6, kernel, separable=True).flops == separable


@pytest.mark.parametrize("size", [2, 3, 7, 20])
def test_a_window_costs_four_d_flops_for_each_pair_that_its_mask_allows(size):
    pairs = int(window(T, size).sum())
    projections = self_attention_layer(T, 6).flops - 4 * T * T * 6
    assert window_attention_layer(T, 6, size).flops == projections + 4 * pairs * 6


@pytest.mark.parametrize("block", [2, 7])
def test_tiled_attention_computes_the_pairs_of_the_formula(block):
    x = torch.zeros(BATCH, T, 6)
    assert counted_flops(lambda: tiled_attention(x, x, x, block=block)) == 4 * BATCH * T * T * 6


def reached(n, connected):
    """How many layers until the last position depends on the first, by following the connections."""
    dependents, layers = {0}, 0
    while n - 1 not in dependents or layers == 0:
        dependents |= {i for i in range(n) for j in dependents if connected(layers, i - j)}
        layers += 1
    return layers


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 28, 64])
@pytest.mark.parametrize("kernel", [2, 3, 5])
def test_a_path_is_as_long_as_the_connections_make_it(n, kernel):
    contiguous = reached(n, lambda _, back: 0 <= back < kernel)
    assert convolution_layer(n, 6, kernel).path == contiguous
    assert window_attention_layer(n, 6, kernel).path == contiguous
    dilated = reached(n, lambda layer, back: back in {tap * kernel**layer for tap in range(kernel)})
    assert convolution_layer(n, 6, kernel, dilated=True).path == dilated
    assert self_attention_layer(n, 6).path == reached(n, lambda _, back: True)
