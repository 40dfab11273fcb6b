"""Absolute positions, the table beneath the other schemes, and what every scheme owes its attention layer."""

import copy
import math
import pickle
from functools import partial

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from companion.positional import (
    ALiBi,
    Learned,
    RotaryPosition,
    Sinusoidal,
    T5Bias,
    TransformerXLPosition,
    angles,
    encode,
    frequencies,
    rotation,
    sinusoidal,
    wavelengths,
)
from companion.positional.table import GrowingTable
from tests.library.tensors import ROUNDING, close

float64 = partial(sinusoidal, dtype=torch.float64)
move = partial(rotation, dtype=torch.float64)
widths = st.integers(1, 8).map(lambda pairs: 2 * pairs)
offsets = st.integers(-50, 50)


# The sinusoidal encoding


def test_the_first_positions_of_width_four_are_those_of_a_table_of_sines():
    """Digits from a table: pairs turn by 1 and by 1/100 of a radian."""
    want = [
        [0.0, 1.0, 0.0, 1.0],
        [0.8414709848078965, 0.5403023058681398, 0.009999833334166664, 0.9999500004166653],
        [0.9092974268256817, -0.4161468365471424, 0.01999866669333308, 0.9998000066665778],
    ]
    close(float64(3, 4), torch.tensor(want, dtype=torch.float64))


@given(length=st.integers(1, 5), d_model=widths, start=st.integers(-99, 99))
def test_each_channel_is_the_sine_or_cosine_of_the_papers_formula(length, d_model, start):
    table = float64(length, d_model, start=start)
    assert table.shape == (length, d_model)
    for row, position in enumerate(range(start, start + length)):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            assert table[row, 2 * i].item() == pytest.approx(math.sin(angle), abs=ROUNDING)
            assert table[row, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=ROUNDING)


@pytest.mark.parametrize("position", [4095, 100_003, 1_000_003])
def test_a_long_position_has_the_value_of_fifty_digits(position):
    with mpmath.workdps(50):
        angle = [position / mpmath.mpf(10000) ** (mpmath.mpf(2 * i) / 16) for i in range(8)]
        want = [float(f(a)) for a in angle for f in (mpmath.sin, mpmath.cos)]
    got = float64(1, 16, start=position)[0]
    # A frequency and a product, each rounded once or twice: some four unit roundoffs (1.1e-16) of the angle.
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=0, atol=position * 5e-16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_lower_precision_rounds_the_float64_values_once(dtype):
    got = sinusoidal(9, 16, start=99_999, dtype=dtype)
    assert got.dtype == dtype
    assert torch.equal(got, float64(9, 16, start=99_999).to(dtype))


def test_an_angle_in_float32_is_too_coarse_for_a_long_position():
    """The reason for float64 in the header: neighbours of 100,000 are 1/128 away."""
    position = torch.tensor(100_000.0)
    assert torch.nextafter(position, torch.tensor(torch.inf)) - position == 1 / 128


def test_the_default_dtype_is_that_of_torch():
    assert sinusoidal(2, 4).dtype == rotation(2, 4).dtype == torch.float32


@given(d_model=widths)
def test_the_wavelengths_grow_by_one_factor_from_two_pi_towards_ten_thousand_times_two_pi(d_model):
    found = wavelengths(d_model)
    assert found.shape == (d_model // 2,)
    assert found[0].item() == 2 * math.pi
    factor = 10000 ** (2 / d_model)
    torch.testing.assert_close(found[1:] / found[:-1], torch.full_like(found[1:], factor), rtol=1e-13, atol=0)
    assert found[-1].item() * factor == pytest.approx(10000 * 2 * math.pi, rel=1e-13)


def test_a_pair_comes_round_after_its_wavelength_and_another_base_changes_it():
    """Base 16 and width 4: frequencies 1 and 1/4, so the second pair needs 8 pi positions."""
    assert frequencies(4, base=16).tolist() == [1.0, 0.25]
    assert wavelengths(4, base=16).tolist() == [2 * math.pi, 8 * math.pi]
    assert angles(torch.tensor([-8, 3]), 4, base=16).tolist() == [[-8.0, -2.0], [3.0, 0.75]]


@given(d_model=widths, position=st.integers(0, 50), offset=offsets)
def test_the_product_of_two_encodings_depends_on_their_distance_only(d_model, position, offset):
    one, other = float64(1, d_model, start=position)[0], float64(1, d_model, start=position + offset)[0]
    close(one @ other, (offset * frequencies(d_model)).cos().sum())


# The rotation


@given(d_model=widths, offset=offsets)
def test_the_matrix_of_an_offset_is_a_rotation(d_model, offset):
    matrix = move(offset, d_model)
    close(matrix @ matrix.T, torch.eye(d_model, dtype=torch.float64))
    close(torch.linalg.det(matrix), torch.tensor(1.0, dtype=torch.float64))
    close(move(-offset, d_model), matrix.T)


@given(d_model=widths, first=offsets, second=offsets)
def test_two_offsets_one_after_the_other_are_their_sum(d_model, first, second):
    close(move(first, d_model) @ move(second, d_model), move(first + second, d_model))


@given(d_model=widths, offset=offsets, start=st.integers(-50, 50))
def test_the_matrix_moves_every_encoding_on_by_its_offset(d_model, offset, start):
    moved = float64(5, d_model, start=start) @ move(offset, d_model)
    close(moved, float64(5, d_model, start=start + offset))


def test_the_matrix_of_one_position_by_hand():
    """One pair turns by one radian: (sin p, cos p) becomes (sin (p + 1), cos (p + 1))."""
    cos, sin = 0.5403023058681398, 0.8414709848078965
    close(move(1, 2), torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64))


# The two modules that are added to embeddings


@pytest.mark.parametrize("scheme", [Sinusoidal(4, 11), Learned(4, 11)], ids=lambda scheme: type(scheme).__name__)
def test_positions_from_a_start_are_rows_of_the_whole(scheme):
    whole = scheme(11)
    assert whole.shape == (11, 4)
    for start, t in ((0, 3), (5, 2), (10, 1), (4, 7)):
        assert torch.equal(scheme(t, start), whole[start : start + t])


def test_the_module_gives_the_encoding_and_has_nothing_to_learn_or_to_save():
    scheme = Sinusoidal(6, 13)
    assert torch.equal(scheme(5, 7), sinusoidal(5, 6, start=7))
    assert list(scheme.parameters()) == []
    assert scheme.state_dict() == {}


@pytest.mark.parametrize("way", [lambda m: m.double(), lambda m: nn.Sequential(m).half().double()[0]])
def test_a_module_moved_to_float64_has_the_accuracy_of_float64(way):
    assert torch.equal(way(Sinusoidal(6, 13))(13), float64(13, 6))


def test_a_module_follows_a_move_to_another_device():
    scheme = Sinusoidal(6, 13).to("meta")
    assert scheme(2).device.type == "meta"
    assert torch.equal(scheme.to_empty(device="cpu")(13), sinusoidal(13, 6))


def test_learned_vectors_begin_with_the_spread_of_bert():
    weight = Learned(64, 500).weight
    # 32,000 draws: the standard error of their mean is 1.1e-4, that of their spread 8e-5; five of each
    assert abs(weight.mean().item()) < 6e-4
    assert weight.std().item() == pytest.approx(0.02, abs=4e-4)


def test_a_gradient_reaches_the_learned_vectors_in_use_only(randn):
    scheme, upstream = Learned(3, 7).double(), randn(2, 3)
    scheme(2, 4).backward(upstream)
    assert torch.equal(scheme.weight.grad[4:6], upstream)
    assert not scheme.weight.grad[[0, 1, 2, 3, 6]].any()


# The table beneath the relative schemes


def counted(calls):
    def squares(numbers):
        calls.append(len(numbers))
        return numbers.double()[:, None] ** 2

    return squares


@given(ranges=st.lists(st.tuples(st.integers(-30, 30), st.integers(0, 40)), min_size=1, max_size=6))
def test_a_table_holds_the_function_wherever_it_has_grown_to(ranges):
    table = GrowingTable(counted([]))
    for first, more in ranges:
        want = torch.arange(first, first + more + 1).float()[:, None] ** 2
        assert torch.equal(table.rows(first, first + more, dtype=torch.float32, device="cpu"), want)


def test_a_table_that_grows_by_single_rows_is_computed_a_few_times():
    """Doubling: 1, 2, 4, ... 1024, and once for the dtype."""
    calls = []
    table = GrowingTable(counted(calls))
    for last in range(1000):
        table.rows(0, last, dtype=torch.float32, device="cpu")
    assert calls == [1, 1, *(2**power for power in range(1, 11))]


def test_a_table_in_use_is_not_computed_again_and_serves_both_ends():
    calls = []
    table = GrowingTable(counted(calls))
    table.rows(-5, 6, dtype=torch.float32, device="cpu")
    assert calls == [1, 8 + 8]
    for first, last in ((-8, 7), (0, 0), (3, 7)):
        assert len(table.rows(first, last, dtype=torch.float32, device="cpu")) == last - first + 1
    assert len(calls) == 2


def test_a_table_in_another_dtype_is_computed_anew_rather_than_cast():
    table = GrowingTable(lambda numbers: numbers.double() / 3)
    for dtype in (torch.float64, torch.float32, torch.float64):
        assert torch.equal(table.rows(0, 5, dtype=dtype, device="cpu"), (torch.arange(6).double() / 3).to(dtype))


# What every scheme owes its layer

HEADS, D_K = 3, 4
SCHEMES = {
    "transformer-xl": lambda: TransformerXLPosition(HEADS, D_K, 6),
    "t5": lambda: T5Bias(HEADS, buckets=8, max_distance=20, causal=False),
    "t5 causal": lambda: T5Bias(HEADS, buckets=8, max_distance=20, causal=True),
    "alibi": lambda: ALiBi(HEADS),
    "rope": lambda: RotaryPosition(D_K),
    "rope interleaved": lambda: RotaryPosition(D_K, layout="interleaved"),
}
each_scheme = pytest.mark.parametrize("make", SCHEMES.values(), ids=SCHEMES)
with_a_bias = pytest.mark.parametrize("make", list(SCHEMES.values())[:4], ids=list(SCHEMES)[:4])
with_weights = pytest.mark.parametrize("make", list(SCHEMES.values())[:3], ids=list(SCHEMES)[:3])


def unit_weights(scheme, seed=5):
    """Redraw the parameters with unit size: with N(0, 0.02) a lost term would hardly show."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in scheme.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return scheme


@with_a_bias
@pytest.mark.parametrize("t_q", [1, 2, 5, 10, 11])
def test_the_bias_of_the_last_queries_is_the_last_rows_of_the_full_bias(randn, make, t_q):
    """What a cache needs: the last query stands at the last key."""
    scheme, query, key = unit_weights(make()), randn(2, HEADS, 11, D_K), randn(2, HEADS, 11, D_K)
    full, last = scheme.bias(query, key), scheme.bias(query[:, :, 11 - t_q :], key)
    assert full.shape in ((2, HEADS, 11, 11), (1, HEADS, 11, 11))
    close(last, full[:, :, 11 - t_q :])


@each_scheme
def test_queries_from_a_start_are_embedded_as_in_the_whole(randn, make):
    """Also with fewer heads than the scheme has: keys may be shared by queries."""
    scheme, x = make(), randn(2, 5, 11, D_K)
    whole = scheme.embed(x, 0)
    assert whole.shape == x.shape
    for start, t in ((0, 4), (3, 5), (10, 1)):
        close(scheme.embed(x[:, :, start : start + t], start), whole[:, :, start : start + t])


@each_scheme
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_results_have_the_dtype_of_the_queries(randn, make, dtype):
    scheme = make().to(dtype)
    query, key = randn(2, HEADS, 2, D_K, dtype=dtype), randn(2, HEADS, 7, D_K, dtype=dtype)
    assert scheme.embed(query, 5).dtype == dtype
    bias = scheme.bias(query, key)
    assert bias is None or bias.dtype == dtype


@with_a_bias
def test_the_bias_under_automatic_mixed_precision_fits_the_scores(randn, make):
    """The layer's projections give bfloat16 there, while the weights of the scheme stay float32."""
    scheme, query, key = make(), randn(2, HEADS, 3, D_K).bfloat16(), randn(2, HEADS, 7, D_K).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert scheme.bias(query, key).dtype == (query @ key.mT).dtype == torch.bfloat16


@each_scheme
def test_a_scheme_saves_its_parameters_only_and_can_be_copied(randn, make):
    scheme, query, key = unit_weights(make()), randn(2, HEADS, 3, D_K), randn(2, HEADS, 7, D_K)
    bias, embedded = scheme.bias(query, key), scheme.embed(query, 4)
    assert set(scheme.state_dict()) == {name for name, _ in scheme.named_parameters()}
    for twin in (copy.deepcopy(scheme), pickle.loads(pickle.dumps(scheme))):
        assert torch.equal(twin.embed(query, 4), embedded)
        assert bias is None or torch.equal(twin.bias(query, key), bias)


@each_scheme
def test_a_scheme_can_train_after_an_evaluation_in_inference_mode(randn, make):
    """A tensor made in inference mode cannot take part in training: no table may be one."""
    scheme, query, key = unit_weights(make()), randn(2, HEADS, 3, D_K), randn(2, HEADS, 7, D_K)
    with torch.inference_mode():
        before = scheme.embed(query, 4).clone(), scheme.bias(query, key)
    embedded = scheme.embed(query.requires_grad_(), 4)
    bias = scheme.bias(embedded, key)
    (embedded.square().sum() + (0 if bias is None else bias.square().sum())).backward()
    assert query.grad.any()
    close(embedded.detach(), before[0])


@each_scheme
def test_a_call_writes_to_neither_query_nor_key(randn, make):
    scheme, query, key = unit_weights(make()), randn(2, HEADS, 3, D_K), randn(2, HEADS, 7, D_K)
    scheme.embed(query, 4), scheme.bias(query, key)
    assert query._version == key._version == 0


@with_weights
@pytest.mark.parametrize("t_q", [1, 3])
def test_the_gradient_of_the_bias_is_that_of_finite_differences(randn, make, t_q):
    scheme = unit_weights(make())
    names, weights = zip(*scheme.named_parameters(), strict=True)

    class Call(nn.Module):
        """`functional_call` runs a forward: give the scheme one."""

        def __init__(self):
            super().__init__()
            self.scheme = scheme

        def forward(self, query, key):
            return self.scheme.bias(query, key)

    def bias(query, key, *values):
        given = {f"scheme.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(Call(), given, (query, key))

    inputs = [randn(1, HEADS, t_q, D_K), randn(1, HEADS, 5, D_K), *(w.detach().clone() for w in weights)]
    assert torch.autograd.gradcheck(bias, [x.requires_grad_() for x in inputs])


# Refusals, as a reader meets them


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal(3, 5), r"channels come in pairs, so their number is even: got 5\. Use 6\."),
        (lambda: wavelengths(0), r"their number is even: got 0\. Use 2\."),
        (lambda: rotation(1, -3), r"their number is even: got -3\. Use 2\."),
        (lambda: Sinusoidal(7, 10), r"their number is even: got 7\. Use 8\."),
        (lambda: TransformerXLPosition(2, 4, 5), r"their number is even: got 5\. Use 6\."),
        (lambda: RotaryPosition(3), r"their number is even: got 3\. Use 4\."),
        (lambda: frequencies(4, base=0), r"a base is a number above 0: got base=0\. The papers use 10000"),
        (lambda: RotaryPosition(4, base=math.nan), r"a base is a number above 0: got base=nan"),
        (lambda: frequencies(4, base=math.inf), r"a base is a number above 0: got base=inf"),
        (lambda: sinusoidal(0, 4), r"at least one position: got length=0\. Use length >= 1"),
        (lambda: encode(torch.tensor([1]), 3), r"their number is even: got 3"),
        (lambda: Sinusoidal(4, 0), r"a table holds at least one position: got max_len=0\. Use max_len >= 1"),
        (lambda: Learned(4, 0), r"a table holds at least one position: got max_len=0"),
        (lambda: Learned(0, 4), r"at least one channel: got d_model=0\. Use d_model >= 1"),
    ],
)
def test_sizes_without_a_meaning_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("scheme", [Sinusoidal(4, 11), Learned(4, 11)], ids=lambda scheme: type(scheme).__name__)
@pytest.mark.parametrize(("t", "start"), [(12, 0), (1, 11), (5, 7), (0, 3), (2, -1), (-1, 3)])
def test_positions_beyond_the_table_are_refused(scheme, t, start):
    got = rf"positions lie in the table, 0 to 10, and there is at least one: got start={start} and t={t}\. Shorten"
    with pytest.raises(ValueError, match=got):
        scheme(t, start)
