"""The tables of released models: that each entry is what its column says."""

import pytest

from companion.book import Table
from companion.chapters.interview import tables
from companion.cost import RELEASED, released_cache_bytes, released_parameters, released_token_flops


def read(entry):
    """The number that an entry shows."""
    units = {"K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
    return float(entry.rstrip("KMBGT").replace(",", "")) * units.get(entry[-1], 1)


@pytest.mark.parametrize("name", RELEASED)
def test_the_parts_are_those_of_the_model_and_their_sum_is_exact(name):
    row, parts = tables.parameters()[name], released_parameters(RELEASED[name])
    assert row["all"] == f"{parts.total:,}"
    shown = [read(row[column]) for column in ("embedding", "attention", "feed-forward", "norms")]
    assert shown == pytest.approx([parts.embedding, parts.attention, parts.feed_forward, parts.norms], rel=0.005)
    head = 0 if row["head"] == "tied" else read(row["head"])
    assert head == pytest.approx(parts.output, rel=0.005)
    assert read(row["active"]) == pytest.approx(released_parameters(RELEASED[name], active=True).total, rel=0.005)


@pytest.mark.parametrize("name", RELEASED)
def test_a_token_costs_what_the_package_counts(name):
    row, model = tables.costs(t=8192)[name], RELEASED[name]
    assert [*row] == ["cache, bytes", "8,192 tokens", "forward, FLOPs", "training, FLOPs"]
    flops = released_token_flops(model)
    assert [read(row[c]) for c in ("forward, FLOPs", "training, FLOPs")] == pytest.approx([flops, 3 * flops], rel=0.005)
    if name == "BERT base":
        assert row["cache, bytes"] == row["8,192 tokens"] == "–"
        return
    assert row["cache, bytes"] == f"{released_cache_bytes(model, 1, 1):,}"
    whole = f"{8192 * released_cache_bytes(model, 1, 1) / 1e9:.2f} GB"
    assert row["8,192 tokens"] == ("–" if name.startswith(("GPT-2", "Falcon", "Llama 2")) else whole)
    cached = tables.caches(t=8192)[name]
    assert [*cached] == ["layers", "a layer holds", "bytes a token", "8,192 tokens"]
    assert [cached["bytes a token"], cached["8,192 tokens"]] == [row["cache, bytes"], row["8,192 tokens"]]
    numbers = eval(cached["a layer holds"].replace("×", "*"))
    assert cached["bytes a token"] == f"{2 * int(cached['layers']) * numbers:,}", "2 bytes a number"


def test_an_encoder_has_no_row_in_the_table_of_caches():
    assert [name for name in RELEASED if name not in tables.caches()] == ["BERT base"]


def test_the_sizes_say_who_shares_heads_and_who_has_experts():
    assert Table(tables.sizes(["GPT-2", "Falcon 7B", "Llama 3 8B", "Mixtral 8x7B", "DeepSeek-V3"])).lines == [
        ["", "layers", "width", "heads", "KV heads", "attention", "FFN", "experts", "vocabulary"],
        ["GPT-2", "12", "768", "12", "12", "MHA", "3,072", "–", "50,257"],
        ["Falcon 7B", "32", "4,544", "71", "1", "MQA", "18,176", "–", "65,024"],
        ["Llama 3 8B", "32", "4,096", "32", "8", "GQA", "14,336", "–", "128,256"],
        ["Mixtral 8x7B", "32", "4,096", "32", "8", "GQA", "14,336", "2 of 8", "32,000"],
        ["DeepSeek-V3", "61", "7,168", "128", "latent", "MLA", "2,048", "8 of 256 + 1", "129,280"],
    ]


@pytest.mark.parametrize(
    ("number", "text"), [(1000, "1.00K"), (999_499, "999K"), (999_500, "1.00M"), (10**12, "1.00T")]
)
def test_a_short_number_has_three_digits(number, text):
    assert tables.short(number) == text


def test_a_number_that_is_short_already_is_refused():
    with pytest.raises(ValueError, match=r"shortened from 1,000 on: got 999\. Write it"):
        tables.short(999)


def test_two_shortcuts_are_within_eight_percent_for_dense_decoders():
    dense = [m for m in RELEASED.values() if m.kind == "decoder-only" and not m.experts]
    assert len(dense) == 8
    for model in dense:
        config, n = model.config, released_parameters(model).total
        guess = 12 * config.n_layers * config.d_model**2 + (2 - config.tied) * config.vocab * config.d_model
        one_head = model is RELEASED["Falcon 7B"]  # 10 d^2 a layer, since its attention has hardly more than 2 d^2
        assert guess == pytest.approx(n * (1.19 if one_head else 1), rel=0.01 if one_head else 0.08)
        assert 2 * n == pytest.approx(released_token_flops(model), rel=0.08)
