"""The table of published models: what it says of those of 2026 stands in the configurations of transformers."""

import re
from pathlib import Path

import pytest
from transformers import AutoConfig

PAGE = Path(__file__).parents[3] / "book" / "variants" / "who-uses-what.md"
KINDS = {
    "GLM-5": "glm_moe_dsa",
    "Qwen3.5": "qwen3_5",
    "Gemma 4": "gemma4",
    "DeepSeek-V4": "deepseek_v4",
    "MiniMax-M3": "minimax_m3_vl",
    "GLM-5.3-Flash": "glm5_next",
}


def rows():
    table = PAGE.read_text().split(":name: tab-who-uses-what")[1].split(":::")[0]
    for row in re.split(r"^\* - ", table, flags=re.M)[2:]:
        model, *cells = [cell.strip() for cell in row.split("\n  - ")]
        yield model.split(", 20")[0], int(re.search(r", (20\d\d)", model)[1]), cells


ROWS = {model: (year, cells) for model, year, cells in rows()}


def config(model):
    return AutoConfig.for_model(KINDS[model]).get_text_config()


def test_the_models_of_2026_are_those_that_are_compared():
    assert [model for model, (year, _) in ROWS.items() if year == 2026] == list(KINDS)
    assert [year for year, _ in ROWS.values()] == sorted(year for year, _ in ROWS.values())


@pytest.mark.parametrize("model", KINDS)
def test_the_vocabulary_is_that_of_the_configuration(model):
    assert int(ROWS[model][1][4].replace(",", "")) == config(model).vocab_size


@pytest.mark.parametrize("model", KINDS)
def test_several_streams_stand_where_the_configuration_has_them(model):
    streams = getattr(config(model), "hc_mult", 1)
    assert ("four streams" in ROWS[model][1][1]) == (streams == 4)
    assert streams in (1, 4)


def test_the_share_of_a_head_that_is_rotated():
    assert config("Qwen3.5").rope_parameters["partial_rotary_factor"] == 1 / 4
    assert config("Gemma 4").rope_parameters["full_attention"]["partial_rotary_factor"] == 1 / 4
    assert config("Gemma 4").rope_parameters["full_attention"]["rope_theta"] == 1_000_000
    assert (config("DeepSeek-V4").qk_rope_head_dim, config("DeepSeek-V4").head_dim) == (64, 512)
    assert config("MiniMax-M3").rotary_dim == config("MiniMax-M3").head_dim / 2
    assert (config("GLM-5.3-Flash").qk_rope_head_dim, ROWS["GLM-5.3-Flash"][1][0]) == (0, "none")
    assert config("GLM-5").qk_rope_head_dim == 64


def test_the_keys_that_a_query_reads():
    assert config("GLM-5").index_topk == config("GLM-5.3-Flash").index_topk == 2048
    chosen = config("MiniMax-M3")
    assert (chosen.index_topk_blocks, chosen.index_block_size) == (16, 128)
    pooled = config("DeepSeek-V4")
    assert (pooled.num_key_value_heads, pooled.sliding_window) == (1, 128)
    assert set(pooled.compress_rates.values()) == {4, 128}


def test_one_layer_in_four_attends_and_the_others_keep_a_state():
    for model, attends in (("Qwen3.5", "full_attention"), ("GLM-5.3-Flash", "indexed_attention")):
        kinds = config(model).layer_types
        assert kinds.count(attends) == len(kinds) // 4
        assert kinds.count("linear_attention") == len(kinds) - len(kinds) // 4
    kinds = config("Gemma 4").layer_types
    assert kinds.count("sliding_attention") == 5 * kinds.count("full_attention")
