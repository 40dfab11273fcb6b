"""Rotary positions for longer texts: transformers, what each method leaves alone, refusals."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from companion.positional import (
    RotaryPosition,
    frequencies,
    interpolated_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    rotate,
    yarn_frequencies,
    yarn_scale,
)
from tests.library.tensors import close

METHODS = [
    interpolated_frequencies,
    ntk_frequencies,
    lambda *a, **b: yarn_frequencies(*a, 2048, **b),
    lambda *a, **b: llama3_frequencies(*a, 2048, **b),
]
widths = st.integers(2, 64).map(lambda pairs: 2 * pairs)
factors = st.floats(1, 64)
bases = st.sampled_from([100.0, 10000.0, 500000])


def theirs(kind, d_k, factor, base, trained, seq_len=None, **rest):
    """The frequencies and the scale of the function of transformers, which computes in float32."""
    settings = {"rope_type": kind, "rope_theta": float(base), "factor": float(factor), **rest}
    if kind in ("yarn", "llama3"):
        settings["original_max_position_embeddings"] = trained
    sizes = {"hidden_size": d_k, "num_attention_heads": 1, "max_position_embeddings": trained + (kind == "llama3")}
    return ROPE_INIT_FUNCTIONS[kind](LlamaConfig(**sizes, rope_parameters=settings), "cpu", seq_len=seq_len)


def near(ours, wanted):
    """Equal to what float32 can hold after a power and a product or two."""
    torch.testing.assert_close(ours.float(), wanted, rtol=2e-6, atol=0)


@given(d_k=widths, factor=factors, base=bases)
def test_interpolation_is_that_of_transformers(d_k, factor, base):
    wanted, scale = theirs("linear", d_k, factor, base, 2048)
    near(interpolated_frequencies(d_k, factor, base=base), wanted)
    assert scale == 1


@given(d_k=widths, factor=st.integers(1, 32), base=bases)
def test_the_raised_base_is_that_of_transformers_at_the_new_length(d_k, factor, base):
    """Their factor follows the length that comes; with factor 1 it is the length over the trained one."""
    wanted, scale = theirs("dynamic", d_k, 1, base, 2048, seq_len=2048 * factor)
    near(ntk_frequencies(d_k, factor, base=base), wanted)
    assert scale == 1


@given(
    d_k=widths,
    factor=factors,
    base=bases,
    trained=st.sampled_from([32, 512, 2048, 8192]),
    turns=st.sampled_from([(32, 1), (8, 2), (4, 0.5)]),
)
def test_yarn_is_that_of_transformers(d_k, factor, base, trained, turns):
    fast, slow = turns
    wanted, scale = theirs("yarn", d_k, factor, base, trained, beta_fast=fast, beta_slow=slow)
    near(yarn_frequencies(d_k, factor, trained, base=base, fast=fast, slow=slow), wanted)
    assert yarn_scale(factor) == pytest.approx(scale)


@given(
    d_k=widths,
    factor=factors,
    base=bases,
    trained=st.sampled_from([32, 512, 2048, 8192]),
    turns=st.sampled_from([(4, 1), (32, 1), (8, 2), (4, 0.5)]),
)
def test_the_ramp_of_llama_3_1_is_that_of_transformers(d_k, factor, base, trained, turns):
    """Equal to float32 where a pair stands on the ramp: the turns of a pair are rounded before they are subtracted."""
    fast, slow = turns
    wanted, scale = theirs("llama3", d_k, factor, base, trained, high_freq_factor=fast, low_freq_factor=slow)
    ours = llama3_frequencies(d_k, factor, trained, base=base, fast=fast, slow=slow)
    torch.testing.assert_close(ours.float(), wanted, rtol=5e-5, atol=0)
    assert scale == 1


@pytest.mark.parametrize("method", METHODS, ids=["interpolation", "ntk", "yarn", "llama3"])
@given(d_k=widths, factor=factors, base=bases)
def test_a_new_frequency_lies_between_the_old_one_and_the_old_one_over_the_factor(method, d_k, factor, base):
    old, new = frequencies(d_k, base=base), method(d_k, factor, base=base)
    assert (new <= old * (1 + 1e-12)).all()
    assert (new >= old / factor * (1 - 1e-12)).all()


@given(d_k=widths, factor=factors, base=bases)
def test_the_raised_base_keeps_the_highest_frequency_and_divides_the_lowest(d_k, factor, base):
    old, new = frequencies(d_k, base=base), ntk_frequencies(d_k, factor, base=base)
    close(new[0], old[0])
    close(new[-1], old[-1] / factor)


def test_yarn_keeps_pairs_of_many_turns_and_divides_those_that_do_not_come_round():
    old, new = frequencies(128), yarn_frequencies(128, 8, 2048)
    turns = 2048 * old / (2 * math.pi)
    assert torch.equal(new[turns > 40], old[turns > 40])
    assert torch.equal(new[turns < 0.8], old[turns < 0.8] / 8)
    assert (turns > 40).sum() == 15
    assert (turns < 0.8).sum() == 22


def test_interpolated_frequencies_are_divided_positions(randn):
    x = randn(1, 1, 5, 8)
    slow = RotaryPosition(8, frequencies=interpolated_frequencies(8, 4)).embed(x, 0)
    close(slow[:, :, ::4], rotate(x[:, :, ::4], torch.arange(2)))


def test_the_scale_multiplies_the_scores_twice(randn):
    query, key = randn(2, 1, 2, 3, 8)
    plain, scaled = RotaryPosition(8), RotaryPosition(8, scale=yarn_scale(4))
    scores = plain.embed(query, 0) @ plain.embed(key, 0).mT
    close(scaled.embed(query, 0) @ scaled.embed(key, 0).mT, (0.1 * math.log(4) + 1) ** 2 * scores)


@pytest.mark.parametrize("factor", [0.5, -1, math.inf, math.nan])
@pytest.mark.parametrize("method", [*METHODS, lambda d_k, factor: yarn_scale(factor)], ids=str)
def test_a_factor_below_one_is_refused(method, factor):
    with pytest.raises(ValueError, match=r"by a factor of 1 or more: got factor=.*\. Divide new by trained\."):
        method(8, factor)


@pytest.mark.usefixtures("shape_checks_off")
def test_widths_lengths_turns_and_frequencies_without_a_meaning_are_refused():
    with pytest.raises(ValueError, match=r"their number is even: got 5"):
        interpolated_frequencies(5, 2)
    with pytest.raises(ValueError, match=r"need d_k >= 4: got 2\. Use interpolated_frequencies"):
        ntk_frequencies(2, 2)
    with pytest.raises(ValueError, match=r"a trained length is at least 1: got trained=0"):
        yarn_frequencies(8, 2, 0)
    for ramp, (fast, slow) in product((yarn_frequencies, llama3_frequencies), ((1, 1), (1, 2), (1, 0))):
        with pytest.raises(ValueError, match=rf"fast > slow > 0, in turns: got fast={fast} and slow={slow}"):
            ramp(8, 2, 64, fast=fast, slow=slow)
    with pytest.raises(ValueError, match=r"each of the 4 pairs has one frequency: got \(3,\)\. Give"):
        RotaryPosition(8, frequencies=torch.ones(3))
