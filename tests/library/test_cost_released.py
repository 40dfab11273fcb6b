"""Models as they were released: published totals, parts and cache in closed form, then every refusal."""

from dataclasses import replace

import pytest

from companion.config import ModelConfig
from companion.cost import (
    RELEASED,
    Experts,
    Latent,
    Memory,
    Released,
    model_flops,
    model_parameters,
    released_cache_bytes,
    released_memory,
    released_parameters,
    released_token_flops,
)

SMALL = ModelConfig(vocab=11, d_model=24, n_layers=3, n_heads=4, d_ff=40)
EXPERTS = Experts(number=5, used=2, d_ff=7)


def test_a_model_has_the_parameters_that_its_weights_have():
    assert {name: released_parameters(model).total for name, model in RELEASED.items()} == {
        "GPT-2": 124_439_808,
        "GPT-2 XL": 1_557_611_200,
        "BERT base": 109_482_240,
        "Falcon 7B": 6_921_720_704,
        "Llama 2 7B": 6_738_415_616,
        "Llama 2 70B": 68_976_648_192,
        "Llama 3 8B": 8_030_261_248,
        "Llama 3 70B": 70_553_706_496,
        "Llama 3 405B": 405_853_388_800,
        "Mixtral 8x7B": 46_702_792_704,
        "DeepSeek-V3": 671_026_404_352,
    }


def test_a_token_passes_a_part_of_the_experts():
    active = {name: released_parameters(RELEASED[name], active=True).total for name in ("Mixtral 8x7B", "DeepSeek-V3")}
    assert active == {"Mixtral 8x7B": 12_879_925_248, "DeepSeek-V3": 37_552_282_624}


@pytest.mark.parametrize(
    ("name", "millions", "step"),
    [("GPT-2", 124, 1), ("BERT base", 110, 10), ("Mixtral 8x7B", 47_000, 1000), ("DeepSeek-V3", 671_000, 1000)],
)
def test_a_model_has_as_many_parameters_as_were_published(name, millions, step):
    assert round(released_parameters(RELEASED[name]).total / 1e6 / step) * step == millions


@pytest.mark.parametrize(("name", "billions"), [("Mixtral 8x7B", 13), ("DeepSeek-V3", 37)])
def test_a_token_passes_as_many_parameters_as_were_published(name, billions):
    """The report of DeepSeek-V3 leaves out the embedding, of which a token reads one row; with it they are 37.6."""
    active = released_parameters(RELEASED[name], active=True)
    assert round((active.total - active.embedding) / 1e9) == billions


@pytest.mark.parametrize("name", ["GPT-2", "GPT-2 XL", "Llama 2 7B", "Llama 2 70B", "Llama 3 8B", "Llama 3 70B"])
def test_a_dense_model_costs_what_its_config_costs(name):
    model = RELEASED[name]
    parts = model_parameters(model.config, model.kind)
    assert released_parameters(model) == released_parameters(model, active=True) == parts
    flops = model_flops(model.config, model.kind, 1, 1)
    assert released_token_flops(model) == flops.total - flops.pairs


def test_bert_has_a_pooler_and_no_logits():
    model, d = RELEASED["BERT base"], 768
    assert released_parameters(model).output == d * d + d
    assert released_token_flops(model) == 2 * (12 * 12 * d * d + d * d)


def test_two_sub_layers_side_by_side_read_one_norm_with_an_offset():
    model = Released(config=replace(SMALL, bias=False), parallel=True)
    assert released_parameters(model).norms == (3 + 1) * 2 * 24
    assert released_parameters(replace(model, parallel=False)).norms == 2 * 3 * 24


def test_experts_are_stored_all_and_used_few():
    model = Released(config=SMALL, experts=replace(EXPERTS, shared=1, dense_layers=1))
    dense, one, router = 2 * 24 * 40 + 40 + 24, 2 * 24 * 7 + 7 + 24, 25 * 5
    assert released_parameters(model).feed_forward == dense + 2 * (6 * one + router)
    assert released_parameters(model, active=True).feed_forward == dense + 2 * (3 * one + router)


def test_a_token_in_the_cache_takes_its_bytes():
    held = {name: released_cache_bytes(m, 1, 1) for name, m in RELEASED.items() if m.kind == "decoder-only"}
    assert held == {
        "GPT-2": 36_864,
        "GPT-2 XL": 307_200,
        "Falcon 7B": 2**13,
        "Llama 2 7B": 2**19,
        "Llama 2 70B": 327_680,
        "Llama 3 8B": 2**17,
        "Llama 3 70B": 327_680,
        "Llama 3 405B": 516_096,
        "Mixtral 8x7B": 2**17,
        "DeepSeek-V3": 70_272,
    }


@pytest.mark.parametrize("name", ["Llama 3 8B", "DeepSeek-V3"])
def test_the_cache_grows_with_sequences_positions_and_bytes(name):
    held = released_cache_bytes(RELEASED[name], 1, 1)
    assert released_cache_bytes(RELEASED[name], 3, 5) == 15 * held
    assert released_cache_bytes(RELEASED[name], 1, 1, dtype="float32") == 2 * held


@pytest.mark.parametrize("name", ["GPT-2", "Llama 2 70B"])
def test_a_token_pays_for_each_position_that_it_attends_to(name):
    model = RELEASED[name]
    sequence = model_flops(model.config, model.kind, 1, 13).total
    assert 13 * released_token_flops(model, t=13) == sequence


def test_a_head_of_latent_attention_multiplies_a_wider_key_than_value():
    model = Released(config=SMALL, latent=Latent(d_query=5, d_c=7, d_rope=2, d_k=3))
    pairs = released_token_flops(model, t=11) - released_token_flops(model)
    assert pairs == 3 * 4 * 11 * (2 * (3 + 2) + 2 * 3)


def test_a_served_weight_takes_its_bits_and_a_trained_one_16_bytes():
    model, n = RELEASED["Llama 3 8B"], 8_030_261_248
    for bits in (16, 8, 4):
        assert released_memory(model, bits=bits, t=5) == Memory(n * bits // 8, cache=5 * 2**17)
    assert released_memory(model).cache == 0
    trained = released_memory(model, training=True)
    assert trained == Memory(2 * n, gradients=2 * n, optimizer=12 * n)
    assert trained.total == 16 * n


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Experts(number=2, used=3, d_ff=7), "a token uses at most all experts: got used=3 and number=2"),
        (lambda: Experts(number=0, used=1, d_ff=7), "number is a whole number, at least 1"),
        (lambda: Experts(number=2, used=1, d_ff=7, shared=-1), "shared is a whole number, at least 0"),
        (lambda: Latent(d_query=0, d_c=1, d_rope=1, d_k=1), "d_query is a whole number, at least 1"),
        (lambda: Released(config=SMALL, kind="encoder-decoder"), "a released model is one stack here"),
        (
            lambda: Released(config=SMALL, experts=replace(EXPERTS, dense_layers=4)),
            "at most all layers go without experts: got dense_layers=4 and n_layers=3",
        ),
        (lambda: released_cache_bytes(RELEASED["BERT base"], 1, 1), "an encoder has no cache: got kind="),
        (lambda: released_cache_bytes(RELEASED["DeepSeek-V3"], 1, 0), "t is a whole number, at least 1"),
        (lambda: released_token_flops(RELEASED["GPT-2"], t=-1), "t is a whole number, at least 0"),
        (lambda: released_memory(RELEASED["GPT-2"], bits=3), "a weight has 16, 8 or 4 bits: got bits=3"),
        (lambda: released_memory(RELEASED["GPT-2"], t=-1), "t is a whole number, at least 0"),
        (lambda: released_memory(RELEASED["BERT base"], t=1), "an encoder has no cache"),
        (lambda: released_memory(RELEASED["GPT-2"], t=1, training=True), "16 bits and no cache: got bits=16 and t=1"),
        (lambda: released_memory(RELEASED["GPT-2"], bits=8, training=True), "16 bits and no cache: got bits=8 and"),
    ],
)
def test_what_is_no_released_model_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
