"""Models as they were released: published totals, parts and cache in closed form, then every refusal."""

from dataclasses import replace

import pytest

from companion.config import ModelConfig
from companion.cost import (
    RELEASED,
    Experts,
    Latent,
    Released,
    model_flops,
    model_parameters,
    released_cache_bytes,
    released_parameters,
    released_token_flops,
)

SMALL = ModelConfig(vocab=11, d_model=24, n_layers=3, n_heads=4, d_ff=40)
EXPERTS = Experts(number=5, used=2, d_ff=7)


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


def test_experts_are_stored_all_and_used_few():
    model = Released(config=SMALL, experts=replace(EXPERTS, shared=1, dense_layers=1))
    dense, one, router = 2 * 24 * 40 + 40 + 24, 2 * 24 * 7 + 7 + 24, 25 * 5
    assert released_parameters(model).feed_forward == dense + 2 * (6 * one + router)
    assert released_parameters(model, active=True).feed_forward == dense + 2 * (3 * one + router)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("GPT-2", 36_864),
        ("Llama 2 7B", 2**19),
        ("Llama 3 8B", 2**17),
        ("Llama 3 70B", 327_680),
        ("DeepSeek-V3", 70_272),
    ],
)
def test_a_token_in_the_cache_takes_its_bytes(name, held):
    assert released_cache_bytes(RELEASED[name], 1, 1) == held
    assert released_cache_bytes(RELEASED[name], 3, 5) == 15 * held
    assert released_cache_bytes(RELEASED[name], 1, 1, dtype="float32") == 2 * held


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
    ],
)
def test_what_is_no_released_model_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
