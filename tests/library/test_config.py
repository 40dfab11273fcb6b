"""The config: the rows of the paper's table, what may be changed, and every refusal."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.config import LABEL_SMOOTHING, ModelConfig, base, big, toy

VOCAB = 37_000
TABLE_3 = {  # Vaswani et al. (2017), Table 3, copied from the paper: N, d_model, d_ff, h, d_k, P_drop
    base: (6, 512, 2048, 8, 64, 0.1),
    big: (6, 1024, 4096, 16, 64, 0.3),
}
shape_checks_off = pytest.mark.usefixtures("shape_checks_off")


def changed(config, other):
    """The names of the fields in which two configs differ."""
    return {field.name for field in dataclasses.fields(config) if vars(config)[field.name] != vars(other)[field.name]}


@pytest.mark.parametrize("size", [base, big])
def test_a_named_size_is_a_row_of_the_paper(size):
    config = size(VOCAB)
    row = (config.n_layers, config.d_model, config.d_ff, config.n_heads, config.d_k, config.dropout)
    assert row == TABLE_3[size]
    assert config.vocab == VOCAB


def test_the_label_smoothing_is_that_of_the_paper():
    assert LABEL_SMOOTHING == 0.1


def test_base_is_the_default():
    assert base(VOCAB) == ModelConfig(vocab=VOCAB)


def test_the_other_choices_of_the_base_model_are_those_of_2017():
    config = base(VOCAB)
    assert (config.position, config.activation, config.norm, config.order) == ("sinusoidal", "relu", "layer", "post")
    assert (config.bias, config.tied, config.scale_embedding) == (True, True, True)
    assert (config.target_vocab, config.n_kv_heads, config.segments, config.embedding_norm) == (None, None, 0, False)


def test_big_differs_from_base_in_widths_heads_and_dropout_alone():
    assert changed(base(VOCAB), big(VOCAB)) == {"d_model", "d_ff", "n_heads", "dropout"}


def test_toy_is_smaller_than_base_in_every_size_and_the_same_model_otherwise():
    small, large = toy(11), base(11)
    assert changed(small, large) == {"d_model", "d_ff", "n_heads", "n_layers", "dropout"}
    assert all(getattr(small, name) < getattr(large, name) for name in changed(small, large))


@pytest.mark.parametrize("size", [base, big, toy])
def test_a_change_reaches_its_field_and_no_other(size):
    config = size(11, order="pre", n_layers=3)
    assert (config.order, config.n_layers) == ("pre", 3)
    assert changed(config, size(11)) == {"order", "n_layers"}


@pytest.mark.parametrize("size", [base, big, toy])
def test_a_field_that_does_not_exist_is_refused(size):
    with pytest.raises(TypeError, match="n_head'"):
        size(11, n_head=2)


def test_a_config_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        base(11).d_model = 256


def test_equal_configs_are_one_key():
    assert len({base(11), base(11), ModelConfig(vocab=11), base(11, dropout=0)}) == 2


@given(d_model=st.integers(1, 64), n_heads=st.integers(1, 64))
def test_heads_are_accepted_exactly_where_they_divide(d_model, n_heads):
    sizes = {"vocab": 11, "d_model": d_model, "n_heads": n_heads, "position": "learned"}
    if d_model % n_heads == 0:
        assert ModelConfig(**sizes).d_k * n_heads == d_model
    else:
        with pytest.raises(ValueError, match=f"n_heads={n_heads} and d_model={d_model}"):
            ModelConfig(**sizes)


def test_heads_that_do_not_divide_are_refused_with_those_that_would():
    with pytest.raises(ValueError, match=r"n_heads=5 and d_model=12\. Use one of \[1, 2, 3, 4, 6, 12\]\.$"):
        ModelConfig(vocab=11, d_model=12, n_heads=5)


def test_heads_of_keys_that_do_not_divide_those_of_queries_are_refused():
    with pytest.raises(ValueError, match=r"n_kv_heads=3 and n_heads=8\. Use one of \[1, 2, 4, 8\]\.$"):
        base(11, n_kv_heads=3)
    assert [base(11, n_kv_heads=n).n_kv_heads for n in (1, 2, 4, 8)] == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("position", "odd"),
    [("sinusoidal", "d_model"), ("transformer-xl", "d_model"), ("rope", "d_k")],
)
def test_a_scheme_that_pairs_features_needs_an_even_number(position, odd):
    sizes = {"d_model": 15, "n_heads": 1} if odd == "d_model" else {"d_model": 10, "n_heads": 2}
    with pytest.raises(
        ValueError, match=f"{position} pairs features, so {odd} is even: got d_model={sizes['d_model']}"
    ):
        base(11, position=position, **sizes)
    assert base(11, position="learned", **sizes).d_model == sizes["d_model"]


def test_a_width_that_only_a_head_would_divide_oddly_is_no_matter_outside_rope():
    assert base(11, d_model=10, n_heads=2, position="sinusoidal").d_k == 5


POSITIVE = ["vocab", "target_vocab", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_ff", "max_len"]


@shape_checks_off
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "2", math.nan])
@pytest.mark.parametrize("name", POSITIVE)
def test_a_size_is_a_whole_number_from_one_up(name, value):
    with pytest.raises(ValueError, match=f"^{name} is a whole number, at least 1: got {name}={value!r}"):
        ModelConfig(**{"vocab": 11, name: value})


@shape_checks_off
def test_a_vocabulary_is_never_none():
    with pytest.raises(ValueError, match="vocab is a whole number, at least 1: got vocab=None"):
        ModelConfig(vocab=None)


@shape_checks_off
@pytest.mark.parametrize("value", [-1, 1.5, None])
def test_segments_are_a_whole_number_from_zero_up(value):
    with pytest.raises(ValueError, match=f"segments is a whole number, at least 0: got segments={value!r}"):
        base(11, segments=value)
    assert base(11, segments=2).segments == 2


@pytest.mark.parametrize("value", [-0.1, 1.0, 1, 1.5, math.nan, math.inf])
def test_a_dropout_outside_its_range_is_refused(value):
    with pytest.raises(ValueError, match=f"dropout is a share, at least 0 and below 1: got {value}"):
        base(11, dropout=value)


@pytest.mark.parametrize("value", [0.0, -1e-5, math.nan, math.inf])
def test_an_eps_outside_its_range_is_refused(value):
    with pytest.raises(ValueError, match=f"eps is above 0 and finite: got {value}"):
        base(11, eps=value)


@shape_checks_off
@pytest.mark.parametrize("name", ["dropout", "eps"])
@pytest.mark.parametrize("value", ["0.1", None, True])
def test_a_share_that_is_no_number_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} is a number: got {value!r}"):
        base(11, **{name: value})


CHOICES = {
    "position": "none, sinusoidal, learned, rope, alibi, t5, transformer-xl",
    "activation": "relu, gelu, gelu-tanh, swiglu",
    "norm": "layer, rms",
    "order": "post, pre",
    "kernel": "sdpa, reference",
}


@shape_checks_off
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_one_of_those_named(name):
    with pytest.raises(ValueError, match=f"{name} is one of {CHOICES[name]}: got 'none of these'"):
        base(11, **{name: "none of these"})
    taken = CHOICES[name].split(", ")
    assert [getattr(base(11, **{name: choice}), name) for choice in taken] == taken


@shape_checks_off
@pytest.mark.parametrize("name", ["bias", "tied", "scale_embedding", "embedding_norm"])
@pytest.mark.parametrize("value", [1, "no", None])
def test_a_switch_is_true_or_false(name, value):
    with pytest.raises(ValueError, match=f"{name} is True or False: got {value!r}"):
        base(11, **{name: value})


def test_every_field_is_held_by_a_refusal():
    """A field added later needs a check, and a test of it above."""
    shares, switches = ["dropout", "eps", "segments"], ["bias", "tied", "scale_embedding", "embedding_norm"]
    names = {field.name for field in dataclasses.fields(ModelConfig)}
    assert names == {*POSITIVE, *shares, *switches, *CHOICES}
