"""Rotary positions: complex numbers, what the rotation leaves alone, long positions, gradients, refusals."""

import cmath
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.positional import RotaryPosition, angles, rotate, rotation
from tests.library.tensors import ROUNDING, close, normal

LAYOUTS = ["half", "interleaved"]
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
layouts = st.sampled_from(LAYOUTS)
pair_counts = st.integers(1, 6)
positions_ = st.integers(-99, 99)
seeds = st.integers(0, 2**16)


def channels(layout, pairs):
    """Which two channels are pair i."""
    return [(i, i + pairs) if layout == "half" else (2 * i, 2 * i + 1) for i in range(pairs)]


@given(layout=layouts, pairs=pair_counts, base=st.sampled_from([10000.0, 500000, 7.0]), seed=seeds, start=positions_)
def test_each_pair_is_multiplied_by_a_complex_number_of_length_one(layout, pairs, base, seed, start):
    x = normal(seed)(2, 3, 2 * pairs)
    got = rotate(x, torch.arange(start, start + 3), base=base, layout=layout)
    for i, (a, b) in enumerate(channels(layout, pairs)):
        for row in range(3):
            factor = cmath.exp(1j * (start + row) / base ** (i / pairs))
            for batch in range(2):
                want = complex(x[batch, row, a], x[batch, row, b]) * factor
                assert got[batch, row, a].item() == pytest.approx(want.real, abs=ROUNDING)
                assert got[batch, row, b].item() == pytest.approx(want.imag, abs=ROUNDING)


def test_the_interleaved_layout_is_torchs_product_of_complex_numbers(randn):
    x, where = randn(2, 3, 5, 8), torch.tensor([0, 1, 7, 300, 999])
    turned = angles(where, 8)
    pairs = torch.view_as_complex(x.unflatten(-1, (4, 2))) * torch.polar(torch.ones_like(turned), turned)
    close(rotate(x, where, layout="interleaved"), torch.view_as_real(pairs).flatten(-2))


@given(pairs=pair_counts, start=positions_, seed=seeds)
def test_one_layout_is_the_other_with_the_channels_in_another_order(pairs, start, seed):
    x, where = normal(seed)(4, 2 * pairs), torch.arange(start, start + 4)
    order = torch.arange(2 * pairs).unflatten(0, (pairs, 2)).T.flatten()  # 0, 2, 4, ..., then 1, 3, 5, ...
    interleaved = rotate(x, where, layout="interleaved")
    assert torch.equal(rotate(x[:, order], where, layout="half"), interleaved[:, order])
    assert pairs == 1 or not torch.allclose(rotate(x, where, layout="half"), interleaved)


@given(layout=layouts, pairs=pair_counts, i=positions_, j=positions_, shift=positions_, seed=seeds)
def test_the_score_of_a_query_and_a_key_depends_on_their_distance_only(layout, pairs, i, j, shift, seed):
    query, key = normal(seed)(2, 1, 2 * pairs)

    def score(at_query, at_key):
        turned = [rotate(x, torch.tensor([at]), layout=layout) for x, at in ((query, at_query), (key, at_key))]
        return (turned[0] * turned[1]).sum()

    close(score(i, j), score(i + shift, j + shift))
    close(score(i, j), score(i - j, 0))


@given(layout=layouts, pairs=pair_counts, position=positions_, seed=seeds)
def test_a_rotation_keeps_lengths_and_is_undone_by_the_opposite_one(layout, pairs, position, seed):
    x = normal(seed)(3, 2 * pairs)
    turned = rotate(x, torch.full((3,), position), layout=layout)
    close(turned.norm(dim=-1), x.norm(dim=-1))
    close(rotate(turned, torch.full((3,), -position), layout=layout), x)


@given(pairs=pair_counts, position=positions_, seed=seeds)
def test_it_is_the_matrix_that_moves_sinusoidal_encodings_transposed(pairs, position, seed):
    """A pair of an encoding is (sine, cosine), the other way round than real and imaginary part."""
    x = normal(seed)(3, 2 * pairs)
    matrix = rotation(position, 2 * pairs, dtype=torch.float64)
    close(rotate(x, torch.full((3,), position), layout="interleaved"), x @ matrix.T)


@each_layout
def test_position_zero_changes_nothing(randn, layout):
    x = randn(2, 1, 6)
    assert torch.equal(rotate(x, torch.tensor([0]), layout=layout), x)


@each_layout
@pytest.mark.parametrize("base", [10000.0, 50])
def test_the_module_turns_by_the_positions_from_its_start_on(randn, layout, base):
    x = randn(2, 3, 5, 6)
    scheme = RotaryPosition(6, base=base, layout=layout)
    for start in (0, 1, 17, 3):  # grows, then comes back
        want = rotate(x, torch.arange(start, start + 5), base=base, layout=layout)
        assert torch.equal(scheme.embed(x, start), want)


def test_the_default_is_the_layout_of_llama_and_the_base_of_the_paper(randn):
    x, where = randn(2, 3, 5, 6), torch.arange(5)
    assert torch.equal(RotaryPosition(6).embed(x, 0), rotate(x, where, base=10000, layout="half"))
    assert torch.equal(rotate(x, where), rotate(x, where, base=10000, layout="half"))


def test_nothing_is_added_to_the_scores(randn):
    x = randn(2, 3, 5, 6)
    assert RotaryPosition(6).bias(x, x) is None


@each_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_long_position_keeps_the_accuracy_of_the_dtype(randn, layout, dtype):
    """The angle of position 1,000,000 is computed in float64: in float32 it would be off by hundredths."""
    x = randn(1, 2, 3, 8, dtype=dtype)
    got = RotaryPosition(8, layout=layout).embed(x, 1_000_000)
    assert got.dtype == dtype
    want = rotate(x.double(), torch.arange(1_000_000, 1_000_003), layout=layout)
    # Cosine, two products and their sum each round by half an eps, of numbers of at most the size of x.
    atol = 3 * torch.finfo(dtype).eps * x.abs().max().item()
    torch.testing.assert_close(got.double(), want, rtol=0, atol=atol)


@each_layout
def test_a_gradient_is_turned_back(randn, layout):
    """The rotation is orthogonal: its transpose, which the gradient meets, is the opposite rotation."""
    x, upstream, where = randn(2, 3, 4, 6, requires_grad=True), randn(2, 3, 4, 6), torch.arange(5, 9)
    (gradient,) = torch.autograd.grad(RotaryPosition(6, layout=layout).embed(x, 5), x, upstream)
    close(gradient, rotate(upstream, -where, layout=layout))
    assert torch.autograd.gradcheck(lambda x: rotate(x, where, layout=layout), x)


def test_a_base_of_one_turns_every_pair_alike(randn):
    """22 radians are seven half turns and 0.0089 more: every pair changes its sign, nearly."""
    x = randn(1, 4)
    excess = 22 - 7 * math.pi
    torch.testing.assert_close(rotate(x, torch.tensor([22]), base=1), -x, rtol=0, atol=excess * x.norm().item())


# Refusals, as a reader meets them


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("x", "where", "got"),
    [
        ((4, 6), (3,), r"got x (4, 6) and positions (3,)"),
        ((4, 6), (4, 1), r"got x (4, 6) and positions (4, 1)"),
        ((4, 6), (1,), r"got x (4, 6) and positions (1,)"),
        ((6,), (), r"got x (6,) and positions ()"),
    ],
)
def test_another_number_of_positions_than_vectors_is_refused(x, where, got):
    with pytest.raises(ValueError, match=rf"one position for each of the t: {re.escape(got)}\. Give positions of"):
        rotate(torch.zeros(x), torch.zeros(where, dtype=torch.long))


@pytest.mark.usefixtures("shape_checks_off")
def test_widths_bases_and_layouts_without_a_meaning_are_refused():
    with pytest.raises(ValueError, match=r"channels come in pairs, so their number is even: got 5\. Use 6\."):
        rotate(torch.zeros(2, 5), torch.arange(2))
    with pytest.raises(ValueError, match=r"a base is a number above 0: got base=-1"):
        rotate(torch.zeros(2, 4), torch.arange(2), base=-1)
    for call in (
        lambda: RotaryPosition(4, layout="split"),
        lambda: rotate(torch.zeros(2, 4), torch.arange(2), layout="split"),
    ):
        with pytest.raises(ValueError, match=r'a layout is "half" or "interleaved": got \'split\'\. Llama uses "half"'):
            call()


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4, 12), (2, 3, 0, 6)], ids=str)
def test_queries_of_another_width_or_without_a_position_are_refused(shape):
    got = rf"queries and keys are \(batch, heads, t, 6\) with t >= 1: got {re.escape(str(shape))}\. Split them"
    with pytest.raises(ValueError, match=got):
        RotaryPosition(6).embed(torch.zeros(shape), 0)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_negative_start_is_refused():
    with pytest.raises(ValueError, match=r"positions count from 0: got start=-1\. Give the number of tokens before"):
        RotaryPosition(6).embed(torch.zeros(2, 3, 4, 6), -1)
