"""Released models against `transformers`, which builds them from the same sizes, by their shapes alone."""

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

from companion.cost import RELEASED, released_cache_bytes, released_parameters


def theirs(model):
    """Give the kind and the sizes by which `transformers` knows a model."""
    config, experts, latent = model.config, model.experts, model.latent
    sizes = {"vocab_size": config.vocab, "hidden_size": config.d_model, "intermediate_size": config.d_ff}
    sizes |= {"num_hidden_layers": config.n_layers, "num_attention_heads": config.n_heads}
    if config.position == "learned" and model.kind == "decoder-only":
        sizes = {"n_embd": config.d_model, "n_layer": config.n_layers, "n_head": config.n_heads}
        return "gpt2", {**sizes, "vocab_size": config.vocab, "n_positions": config.max_len}
    if model.kind == "encoder-only":
        return "bert", {**sizes, "max_position_embeddings": config.max_len, "type_vocab_size": config.segments}
    if model.parallel:
        sizes["ffn_hidden_size"] = sizes.pop("intermediate_size")
        sizes |= {"multi_query": config.n_kv_heads == 1, "parallel_attn": True, "bias": config.bias}
        return "falcon", {**sizes, "tie_word_embeddings": config.tied, "max_position_embeddings": config.max_len}
    sizes |= {"num_key_value_heads": config.n_kv_heads or config.n_heads, "tie_word_embeddings": config.tied}
    if latent:
        sizes |= {"q_lora_rank": latent.d_query, "kv_lora_rank": latent.d_c, "qk_rope_head_dim": latent.d_rope}
        sizes |= {"qk_nope_head_dim": latent.d_k, "v_head_dim": latent.d_k, "moe_intermediate_size": experts.d_ff}
        sizes |= {"n_routed_experts": experts.number, "num_experts_per_tok": experts.used}
        sizes |= {"n_shared_experts": experts.shared, "first_k_dense_replace": experts.dense_layers}
        return "deepseek_v3", sizes
    if experts:
        return "mixtral", {**sizes, "num_local_experts": experts.number, "num_experts_per_tok": experts.used}
    return "llama", sizes


def build(model):
    kind, sizes = theirs(model)
    auto = AutoModel if model.kind == "encoder-only" else AutoModelForCausalLM
    with torch.device("meta"):
        return auto.from_config(AutoConfig.for_model(kind, **sizes))


def numbers(parameters):
    return sum(parameter.numel() for parameter in parameters)


@pytest.mark.parametrize("name", RELEASED)
def test_a_model_has_the_parameters_of_transformers(name):
    built, parts = build(RELEASED[name]), released_parameters(RELEASED[name])
    assert numbers(built.parameters()) == parts.total
    norms = [part for part in built.modules() if "Norm" in type(part).__name__]
    assert sum(numbers(norm.parameters()) for norm in norms) == parts.norms
    called = (".attn", ".self_attn", ".self_attention", ".attention")
    layers = [part for name, part in built.named_modules() if name.endswith(called)]
    within = sum(numbers(part.parameters()) for part in layers)
    within -= sum(numbers(norm.parameters()) for part in layers for norm in part.modules() if norm in norms)
    assert within == parts.attention


@pytest.mark.parametrize("name", ["GPT-2", "BERT base", "Falcon 7B", "Mixtral 8x7B", "DeepSeek-V3"])
def test_the_sizes_are_the_defaults_of_transformers(name):
    """They are those of the released configuration file; Llama's defaults are a model of 2023."""
    kind, sizes = theirs(RELEASED[name])
    defaults = AutoConfig.for_model(kind)
    assert {key: getattr(defaults, key) for key in sizes} == sizes


def test_the_cache_of_latent_attention_is_what_its_first_map_gives():
    model = RELEASED["DeepSeek-V3"]
    kept = sum(part.out_features for name, part in build(model).named_modules() if name.endswith("kv_a_proj_with_mqa"))
    assert released_cache_bytes(model, 1, 1) == 2 * kept
