"""Costs by arithmetic: published numbers, the crossings that the book states, closed forms, then every refusal."""

from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.config import ModelConfig, base, big
from companion.cost import (
    BERT_BASE,
    GPT2_SMALL,
    GPT3,
    LLAMA_7B,
    Flops,
    Parameters,
    activation_bytes,
    adam_bytes,
    attention_flops,
    attention_parameters,
    cache_bytes,
    convolution_layer,
    feed_forward_flops,
    feed_forward_parameters,
    generation_flops,
    intensity,
    layer_flops,
    matmul_flops,
    matmul_intensity,
    model_cache_bytes,
    model_flops,
    model_parameters,
    norm_parameters,
    number_bytes,
    pair_flops,
    projection_flops,
    recurrent_layer,
    roofline_seconds,
    self_attention_layer,
    six_n_d,
    training_flops,
    utilisation,
    weight_bytes,
    weights_matrix_bytes,
    window_attention_layer,
)

TOY = ModelConfig(vocab=11, d_model=16, n_layers=2, n_heads=4, d_ff=40)
sizes = st.integers(1, 40)

# Published numbers


def test_gpt_2_small_has_124439808_parameters():
    assert model_parameters(GPT2_SMALL, "decoder-only").total == 124_439_808


def test_bert_base_has_109482240_parameters_with_its_pooler():
    pooler = 768 * 768 + 768
    assert model_parameters(BERT_BASE, "encoder-only").total + pooler == 109_482_240


def test_llama_7b_has_6738415616_parameters():
    assert model_parameters(LLAMA_7B, "decoder-only").total == 6_738_415_616


def test_gpt_3_has_175_billion_parameters():
    assert model_parameters(GPT3, "decoder-only").total == 174_604_259_328


def test_the_models_of_2017_have_63_and_214_million_parameters():
    """Table 3 prints 65 and 213 million."""
    assert model_parameters(base(37_000), "encoder-decoder").total == 63_082_496
    assert model_parameters(big(37_000), "encoder-decoder").total == 214_245_376


def test_the_base_model_by_hand():
    """Table 3 and section 3.4: one shared table, 18 attentions, 12 networks, 30 normalisations."""
    attention, network = 4 * (512 * 512 + 512), 512 * 2048 + 2048 + 2048 * 512 + 512
    assert model_parameters(base(37_000), "encoder-decoder") == Parameters(
        embedding=37_000 * 512, attention=18 * attention, feed_forward=12 * network, norms=30 * 2 * 512, output=0
    )


def test_two_thirds_of_an_encoder_layer_are_its_network_and_half_of_a_decoder_layer():
    encoder = model_parameters(base(37_000), "encoder-only")
    both = model_parameters(base(37_000), "encoder-decoder")
    decoder_attention = both.attention - encoder.attention
    assert encoder.feed_forward / encoder.non_embedding == pytest.approx(2 / 3, abs=0.001)
    assert encoder.feed_forward / (decoder_attention + encoder.feed_forward) == pytest.approx(1 / 2, abs=0.001)


def test_llama_7b_keeps_half_a_mebibyte_a_token():
    assert model_cache_bytes(LLAMA_7B, batch=1, t=1) == 512 * 2**10
    assert model_cache_bytes(LLAMA_7B, batch=1, t=4096) == 2 * 2**30
    assert cache_bytes(32, 32, 128, 1, 4096) == 2 * 2**30


def test_grouped_queries_divide_the_cache():
    assert model_cache_bytes(replace(LLAMA_7B, n_kv_heads=8), 1, 4096) == 2**29
    assert model_cache_bytes(replace(LLAMA_7B, n_kv_heads=1), 1, 4096) == 2**26


def test_the_weights_of_10000_tokens_take_400_megabytes_a_head():
    assert weights_matrix_bytes(1, 1, 10_000, 10_000) == 400_000_000
    assert 6 * weights_matrix_bytes(1, 8, 10_000, 10_000) == 19_200_000_000  # 8 heads in each of 6 layers


def test_the_paper_used_a_third_of_its_gpus():
    """Section 5.1 and 5.2: 25,000 tokens on each side, 0.4 s a step, 8 P100 of 10.6 TFLOPS (NVIDIA, float32)."""
    config = base(37_000)
    flops = training_flops(config, "encoder-decoder", batch=1000, t=25, source=25).total
    assert flops == pytest.approx(9.5e12, rel=0.02)
    assert utilisation(flops, 0.4, peak_flops=8 * 10.6e12) == pytest.approx(0.28, abs=0.01)


# Where one cost overtakes another


@given(d=sizes)
def test_pairs_overtake_the_projections_at_twice_the_width(d):
    assert pair_flops(1, 2 * d, 2 * d, d) == projection_flops(1, 2 * d, 2 * d, d)
    assert pair_flops(1, 2 * d + 1, 2 * d + 1, d) > projection_flops(1, 2 * d + 1, 2 * d + 1, d)


@pytest.mark.parametrize(("config", "n"), [(base(37_000), 3072), (GPT3, 73_728)])
def test_pairs_overtake_the_whole_layer_at_six_times_the_width(config, n):
    at, above = layer_flops(config, 1, n), layer_flops(config, 1, n + 1)
    assert n == 6 * config.d_model
    assert at.pairs == at.projections + at.feed_forward
    assert above.pairs > above.projections + above.feed_forward


@pytest.mark.parametrize(("n", "d", "share"), [(30, 512, 0.010), (512, 512, 0.143), (2048, 12_288, 0.027)])
def test_the_share_of_the_pairs_is_n_in_six_d_plus_n(n, d, share):
    flops = layer_flops(replace(base(37_000), d_model=d, d_ff=4 * d), 1, n)
    assert flops.pairs / flops.total == pytest.approx(n / (6 * d + n), rel=1e-12)
    assert flops.pairs / flops.total == pytest.approx(share, abs=5e-4)


def test_attention_costs_as_much_as_an_lstm_at_twice_the_width_and_never_as_little_as_an_elman_layer():
    d = 512
    for n in (1, 100, 1023, 1024, 1025, 5000):
        attention, lstm = self_attention_layer(n, d).flops, recurrent_layer(n, d, gates=4).flops
        assert (attention > lstm) == (n > 1024)
        assert (attention == lstm) == (n == 1024)
        assert attention > recurrent_layer(n, d).flops


def test_a_kernel_of_three_reaches_1024_positions_in_7_layers_or_512():
    assert convolution_layer(1024, 512, 3, dilated=True).path == 7
    assert convolution_layer(1024, 512, 3).path == 512


def test_only_a_recurrent_layer_waits_for_each_position():
    n, d = 100, 8
    assert (recurrent_layer(n, d).sequential, recurrent_layer(n, d).path) == (n, n)
    others = self_attention_layer(n, d), convolution_layer(n, d, 3), window_attention_layer(n, d, 5)
    assert [layer.sequential for layer in others] == [1, 1, 1]
    assert [layer.path for layer in others] == [1, 50, 25]


def test_a_cache_makes_the_cost_of_a_token_linear_in_the_past():
    with_cache = [model_flops(TOY, "decoder-only", 1, 1, past=past).pairs for past in (99, 199, 399)]
    assert with_cache == [with_cache[0], 2 * with_cache[0], 4 * with_cache[0]]


def test_without_a_cache_512_tokens_cost_hundreds_of_times_as_much():
    """Token t is computed 513 - t times: (n + 1) / 2 on average, and its pairs (2 n + 1) / 3 times."""
    with_cache = generation_flops(GPT2_SMALL, batch=1, prompt=1, tokens=512)
    without = generation_flops(GPT2_SMALL, batch=1, prompt=1, tokens=512, cached=False)
    assert 2 * without.projections == 513 * with_cache.projections
    assert 2 * without.feed_forward == 513 * with_cache.feed_forward
    assert 3 * without.pairs == 1025 * with_cache.pairs


# Closed forms


@given(rows=sizes, inner=sizes, columns=sizes)
def test_a_product_is_a_multiply_and_an_add_for_each_of_its_terms(rows, inner, columns):
    terms = sum(1 for _ in range(rows) for _ in range(columns) for _ in range(inner))
    assert matmul_flops(rows, inner, columns) == 2 * terms


@given(tokens=sizes, batch=sizes)
def test_six_n_d_is_exact_but_for_the_pairs_of_attention(tokens, batch):
    """Without biases and norms every parameter left is a weight of a product; a tied output is one too."""
    config = replace(TOY, bias=False)
    parts = model_parameters(config, "decoder-only")
    weights = parts.attention + parts.feed_forward + config.vocab * config.d_model
    flops = training_flops(config, "decoder-only", batch, tokens)
    assert six_n_d(weights, batch * tokens) == flops.total - flops.pairs


def test_flops_add_and_multiply_part_by_part():
    one, two = Flops(1, 2, 3, 4), Flops(10, 20, 30, 40)
    assert one + two == Flops(11, 22, 33, 44)
    assert two * 3 == Flops(30, 60, 90, 120)
    assert (one.total, two.total) == (10, 100)
    assert [field.name for field in fields(Flops)] == ["projections", "pairs", "feed_forward", "output"]


def test_adam_takes_16_bytes_a_parameter_in_either_precision():
    assert adam_bytes(1000) == adam_bytes(1000, mixed=True) == 16_000


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int8])
def test_a_number_takes_the_bytes_that_torch_says(dtype):
    name = str(dtype).removeprefix("torch.")
    assert number_bytes(name) == dtype.itemsize
    assert weight_bytes(7, name) == 7 * dtype.itemsize


def test_the_formula_kernel_keeps_the_square_and_the_fused_one_does_not():
    for kernel, layers, heads in (("reference", 6, 8), ("sdpa", 0, 0)):
        config = replace(base(37_000), kernel=kernel)
        one, two = (activation_bytes(config, "encoder-only", 1, t) for t in (1000, 2000))
        assert two - 2 * one == layers * heads * (2000**2 - 2 * 1000**2) * 4


def test_the_roofline_is_the_slower_of_arithmetic_and_traffic():
    machine = {"peak_flops": 100, "bandwidth": 10}
    assert roofline_seconds(1000, 50, **machine) == 10
    assert roofline_seconds(100, 50, **machine) == 5
    assert roofline_seconds(500, 50, **machine) == 5  # intensity 10 = 100 / 10: both at once
    assert intensity(500, 50) == 10


def test_one_row_moves_more_bytes_than_it_does_flops():
    """In float16 a row of d numbers times a d by d matrix: 2 d^2 FLOPs, 2 d^2 + 4 d bytes."""
    assert matmul_intensity(1, 512, 512) == 2 * 512**2 / (2 * 512**2 + 4 * 512)
    assert matmul_intensity(512, 512, 512) == pytest.approx(512 / 3)
    assert matmul_intensity(512, 512, 512, "float32") == pytest.approx(512 / 6)
    assert matmul_intensity(2, 3, 5, "float32") == 60 / (4 * (6 + 15 + 10))


# Refusals, as a reader meets them

CALLS = {
    "d_model": lambda n: attention_parameters(n),
    "kv_width": lambda n: attention_parameters(8, kv_width=n),
    "d_ff": lambda n: feed_forward_parameters(8, n),
    "rows": lambda n: matmul_flops(n, 1, 1),
    "inner": lambda n: matmul_flops(1, n, 1),
    "columns": lambda n: matmul_flops(1, 1, n),
    "batch": lambda n: model_flops(TOY, "decoder-only", n, 5),
    "t": lambda n: model_flops(TOY, "decoder-only", 1, n),
    "source": lambda n: model_flops(TOY, "encoder-decoder", 1, 5, source=n),
    "t_q": lambda n: attention_flops(1, n, 5, 8),
    "t_k": lambda n: pair_flops(1, 5, n, 8),
    "prompt": lambda n: generation_flops(TOY, 1, n, 5),
    "tokens": lambda n: generation_flops(TOY, 1, 5, n),
    "parameters": lambda n: weight_bytes(n),
    "n_layers": lambda n: cache_bytes(n, 2, 8, 1, 5),
    "n_kv_heads": lambda n: cache_bytes(2, n, 8, 1, 5),
    "d_k": lambda n: cache_bytes(2, 2, n, 1, 5),
    "n_heads": lambda n: weights_matrix_bytes(1, n, 5, 5),
    "n": lambda n: recurrent_layer(n, 8),
    "d": lambda n: convolution_layer(5, n, 3),
    "gates": lambda n: recurrent_layer(5, 8, gates=n),
}
MORE = {
    "d_model": [norm_parameters, lambda n: projection_flops(1, 5, 5, n), lambda n: feed_forward_flops(1, 5, n, 8)],
    "batch": [lambda n: activation_bytes(TOY, "decoder-only", n, 5), lambda n: model_cache_bytes(TOY, n, 5)],
    "t": [lambda n: activation_bytes(TOY, "decoder-only", 1, n), lambda n: model_cache_bytes(TOY, 1, n)],
    "source": [lambda n: model_cache_bytes(TOY, 1, 5, source=n)],
    "tokens": [lambda n: six_n_d(5, n)],
}
EACH = [*CALLS.items()] + [(name, call) for name in MORE for call in MORE[name]]


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("value", [0, -3, 2.5, True])
@pytest.mark.parametrize(("name", "call"), EACH, ids=[name for name, _ in EACH])
def test_a_size_that_is_no_size_is_refused_by_name(name, call, value):
    with pytest.raises(ValueError, match=rf"^{name} is a whole number, at least 1: got {name}={value}\. Use such"):
        call(value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convolution_layer(5, 8, 1), r"^kernel is a whole number, at least 2: got kernel=1"),
        (lambda: window_attention_layer(5, 8, 1), r"^size is a whole number, at least 2: got size=1"),
        (lambda: projection_flops(1, 5, -1, 8), r"^t_k is a whole number, at least 0: got t_k=-1"),
        (lambda: layer_flops(TOY, 1, 5, past=-1), r"^past is a whole number, at least 0: got past=-1"),
        (lambda: layer_flops(TOY, 1, 5, memory=-1), r"^memory is a whole number, at least 0: got memory=-1"),
    ],
)
def test_a_size_below_its_own_least_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


EACH_COST = {
    "parameters": lambda config, kind, source: model_parameters(config, kind),
    "flops": lambda config, kind, source: model_flops(config, kind, 1, 5, source=source),
    "training": lambda config, kind, source: training_flops(config, kind, 1, 5, source=source),
    "activations": lambda config, kind, source: activation_bytes(config, kind, 1, 5, source=source),
}


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("cost", EACH_COST)
def test_a_kind_that_does_not_exist_is_refused(cost):
    with pytest.raises(ValueError, match=r"encoder-decoder, decoder-only, encoder-only: got 'decoder'\. Use one of"):
        EACH_COST[cost](TOY, "decoder", None)


@pytest.mark.parametrize("cost", ["flops", "training", "activations"])
@pytest.mark.parametrize(("kind", "source"), [("encoder-decoder", None), ("decoder-only", 5), ("encoder-only", 5)])
def test_a_source_that_is_missing_or_superfluous_is_refused(cost, kind, source):
    with pytest.raises(ValueError, match=rf"has a source, .* got kind='{kind}' and source={source}\. Give the length"):
        EACH_COST[cost](TOY, kind, source)


@pytest.mark.parametrize("cost", EACH_COST)
def test_a_config_that_its_model_would_refuse_is_refused(cost):
    for kind in ("decoder-only", "encoder-only"):
        with pytest.raises(ValueError, match=rf"{kind} models have one vocabulary: got target_vocab=13\. Set None"):
            EACH_COST[cost](replace(TOY, target_vocab=13), kind, None)
    for kind, source in (("decoder-only", None), ("encoder-decoder", 5)):
        with pytest.raises(ValueError, match=r"only encoder-only models have segments: got segments=2\. Set 0"):
            EACH_COST[cost](replace(TOY, segments=2), kind, source)


def test_an_encoder_with_a_past_is_refused():
    with pytest.raises(ValueError, match=r"an encoder has no cache, .* got past=3\. Use past=0"):
        model_flops(TOY, "encoder-only", 1, 5, past=3)


def test_flops_of_transformer_xl_are_refused():
    with pytest.raises(ValueError, match=r"all positions but transformer-xl.* Count with torch.utils.flop_counter"):
        model_flops(replace(TOY, position="transformer-xl"), "decoder-only", 1, 5)


@pytest.mark.parametrize("position", ["rope", "alibi", "t5", "transformer-xl"])
def test_activations_of_relative_positions_are_refused(position):
    with pytest.raises(ValueError, match=rf"absolute positions or none: got position='{position}'.* Measure with"):
        activation_bytes(replace(TOY, position=position), "decoder-only", 1, 5)


def test_a_dtype_without_a_size_is_refused():
    for call in (number_bytes, lambda name: weight_bytes(7, name), lambda name: cache_bytes(1, 1, 1, 1, 1, name)):
        with pytest.raises(ValueError, match=r"float16, int8: got 'torch\.float16'\. Use one of these names"):
            call("torch.float16")


@pytest.mark.parametrize("value", [0, -1.5, float("inf"), float("nan")])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("flops", lambda x: intensity(x, 1)),
        ("moved_bytes", lambda x: intensity(1, x)),
        ("flops", lambda x: roofline_seconds(x, 1, peak_flops=1, bandwidth=1)),
        ("moved_bytes", lambda x: roofline_seconds(1, x, peak_flops=1, bandwidth=1)),
        ("peak_flops", lambda x: roofline_seconds(1, 1, peak_flops=x, bandwidth=1)),
        ("bandwidth", lambda x: roofline_seconds(1, 1, peak_flops=1, bandwidth=x)),
        ("seconds", lambda x: utilisation(1, x, peak_flops=1)),
        ("peak_flops", lambda x: utilisation(1, 1, peak_flops=x)),
    ],
)
def test_an_amount_that_is_none_is_refused_by_name(name, call, value):
    with pytest.raises(ValueError, match=rf"^{name} is positive and finite: got {name}={value}\. Use such a number"):
        call(value)
