"""Distances in the scores: the two layouts, Transformer-XL written out, T5's buckets, ALiBi's slopes, refusals."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.attention import attention_weights
from companion.masks import causal
from companion.positional import ALiBi, T5Bias, TransformerXLPosition, alibi_slopes, relative_shift, spread, t5_bucket
from tests.library.tensors import close, normal

BATCH, HEADS, D_K, D_MODEL = 2, 3, 5, 8  # with the times below all different: a swapped axis cannot pass
times = st.integers(1, 6).flatmap(lambda t_q: st.tuples(st.just(t_q), st.integers(t_q, 9)))
seeds = st.integers(0, 2**16)


def distance(i, j, t_q, t_k):
    """Query minus key, the last query at the last key."""
    return i + t_k - t_q - j


def column(away, t_k):
    """Where a distance stands in a row that begins with the largest, t_k - 1."""
    return t_k - 1 - away


def laid_out(t_q, t_k, number):
    """Fill query by key with a double loop."""
    rows = [[number(i, j) for j in range(t_k)] for i in range(t_q)]
    return torch.stack([torch.stack(row) for row in rows])


# From distances to query by key


@given(sizes=times, leading=st.lists(st.integers(1, 3), max_size=2), seed=seeds)
def test_the_relative_shift_gives_each_pair_the_number_of_its_distance(sizes, leading, seed):
    t_q, t_k = sizes
    x = normal(seed)(*leading, t_q, t_q + t_k - 1)
    want = laid_out(t_q, t_k, lambda i, j: x[..., i, column(distance(i, j, t_q, t_k), t_k)].reshape(-1))
    assert torch.equal(relative_shift(x), want.movedim(-1, 0).reshape(*leading, t_q, t_k))


@given(sizes=times, leading=st.lists(st.integers(1, 3), max_size=2), seed=seeds)
def test_spread_gives_each_pair_the_number_of_its_distance(sizes, leading, seed):
    t_q, t_k = sizes
    x = normal(seed)(*leading, t_q + t_k - 1)
    want = laid_out(t_q, t_k, lambda i, j: x[..., column(distance(i, j, t_q, t_k), t_k)].reshape(-1))
    assert torch.equal(spread(x, t_q), want.movedim(-1, 0).reshape(*leading, t_q, t_k))


@given(sizes=times, seed=seeds)
def test_one_row_of_distances_for_every_query_is_shifted_to_what_spread_gives(sizes, seed):
    t_q, t_k = sizes
    x = normal(seed)(HEADS, t_q + t_k - 1)
    assert torch.equal(relative_shift(x[:, None].expand(HEADS, t_q, -1)), spread(x, t_q))


def test_the_layout_in_memory_does_not_matter_to_the_shift(randn):
    """Its view is laid over the numbers as they lie in memory."""
    x = randn(4, HEADS, 9, BATCH).permute(3, 1, 0, 2)
    packed = relative_shift(x.contiguous())
    assert torch.equal(relative_shift(x), packed)
    wide = torch.cat((randn(BATCH, HEADS, 4, 2), x), dim=-1)
    assert torch.equal(relative_shift(wide[..., 2:]), packed)
    assert torch.equal(relative_shift(wide[1:, 1:, :, 2:]), packed[1:, 1:])
    later = x.contiguous()[1]  # packed, but not at the beginning of its memory
    assert later.is_contiguous()
    assert torch.equal(relative_shift(later), packed[1])
    assert torch.autograd.gradcheck(lambda whole: relative_shift(whole[1]), x.contiguous().requires_grad_())


@pytest.mark.parametrize("layout", [relative_shift, lambda x: spread(x, 3)], ids=["shift", "spread"])
def test_the_gradient_of_a_layout_is_that_of_finite_differences(randn, layout):
    assert torch.autograd.gradcheck(layout, randn(2, 3, 7, requires_grad=True))
    assert torch.autograd.gradgradcheck(layout, randn(2, 3, 7, requires_grad=True))


# Transformer-XL


def scheme_of_unit_size(seed=7):
    scheme = TransformerXLPosition(HEADS, D_K, D_MODEL).double()
    for number, parameter in enumerate(scheme.parameters()):
        parameter.data = normal(seed + number)(*parameter.shape)
    return scheme


def encoded(away):
    """The sinusoidal encoding of a distance, by the formula."""
    turned = [away / 10000 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    return torch.tensor([f(angle) for angle in turned for f in (math.sin, math.cos)], dtype=torch.float64)


def terms(scheme, query, key, i, j):
    """The three added terms of one pair for each sequence and head, with every index written out."""
    t_q, t_k = query.shape[-2], key.shape[-2]
    r = (scheme.w_r.weight @ encoded(distance(i, j, t_q, t_k))).reshape(HEADS, D_K)
    content, position = (query[:, :, i] * r).sum(dim=-1), (scheme.v * r).sum(dim=-1)
    return (content + (scheme.u * key[:, :, j]).sum(dim=-1) + position) / math.sqrt(D_K)


@pytest.mark.parametrize(("t_q", "t_k"), [(1, 1), (6, 6), (4, 7), (1, 7)])
def test_the_bias_of_transformer_xl_is_its_three_terms_for_each_pair(randn, t_q, t_k):
    scheme, query, key = scheme_of_unit_size(), randn(BATCH, HEADS, t_q, D_K), randn(BATCH, HEADS, t_k, D_K)
    want = laid_out(t_q, t_k, lambda i, j: terms(scheme, query, key, i, j)).movedim((0, 1), (2, 3))
    close(scheme.bias(query, key), want)


@pytest.mark.parametrize("hidden", [False, True], ids=["both sides", "causal"])
@pytest.mark.parametrize(("t_q", "t_k"), [(6, 6), (4, 7)])
def test_the_weights_are_the_softmax_of_all_four_terms(randn, t_q, t_k, hidden):
    """All four terms carry 1 / sqrt(d_k): attention scales the first, the scheme the others."""
    scheme, query, key = scheme_of_unit_size(), randn(BATCH, HEADS, t_q, D_K), randn(BATCH, HEADS, t_k, D_K)
    mask = causal(t_q, t_k) if hidden else None

    def score(i, j):
        if hidden and distance(i, j, t_q, t_k) < 0:
            return torch.full((BATCH, HEADS), -torch.inf, dtype=torch.float64)
        first = (query[:, :, i] * key[:, :, j]).sum(dim=-1) / math.sqrt(D_K)
        return first + terms(scheme, query, key, i, j)

    want = laid_out(t_q, t_k, score).movedim((0, 1), (2, 3)).softmax(dim=-1)
    close(attention_weights(query, key, mask, bias=scheme.bias(query, key)), want)


def test_the_parameters_of_transformer_xl_begin_small_and_by_name():
    scheme = TransformerXLPosition(50, 40, 6)
    assert {name: tuple(p.shape) for name, p in scheme.named_parameters()} == {
        "u": (50, 40),
        "v": (50, 40),
        "w_r.weight": (2000, 6),
    }
    for vector in (scheme.u, scheme.v):  # 2,000 draws: the standard error of their spread is 3e-4; five of them
        assert vector.std().item() == pytest.approx(0.02, abs=1.6e-3)


# T5


def test_the_buckets_of_t5_by_hand():
    """Eight buckets, max_distance 16. Causal: 4 of one distance each, then edges 4, 4 sqrt(2), 8, 8 sqrt(2)."""
    past = t5_bucket(torch.arange(-2, 20), buckets=8, max_distance=16, causal=True)
    assert past.tolist() == [0, 0, 0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7]


def test_the_future_has_the_second_half_of_the_buckets():
    """Four buckets a side: 2 of one distance each, then edges 2 and 2 sqrt(8)."""
    both = t5_bucket(torch.tensor([0, 1, 2, 5, 6, 99, -1, -2, -5, -6, -99]), buckets=8, max_distance=16)
    assert both.tolist() == [0, 1, 2, 2, 3, 3, 5, 6, 6, 7, 7]


@given(half=st.integers(2, 20), more=st.integers(1, 200), two_sided=st.booleans())
def test_buckets_grow_with_the_distance_and_are_all_in_range(half, more, two_sided):
    buckets = 2 * half if two_sided else half
    found = t5_bucket(torch.arange(400), buckets=buckets, max_distance=half // 2 + more, causal=not two_sided)
    assert (found.diff() >= 0).all()
    assert found[: half // 2].tolist() == list(range(half // 2))
    assert (found[half // 2 + more :] == half - 1).all()


def test_the_t5_bias_is_the_weight_of_each_bucket(randn):
    for hidden in (False, True):
        scheme = T5Bias(HEADS, buckets=8, max_distance=9, causal=hidden).double()
        bias = scheme.bias(randn(BATCH, HEADS, 4, D_K), randn(BATCH, HEADS, 11, D_K))
        assert bias.shape == (1, HEADS, 4, 11)
        for i, j in torch.ones(4, 11).nonzero().tolist():
            bucket = t5_bucket(torch.tensor(distance(i, j, 4, 11)), buckets=8, max_distance=9, causal=hidden)
            assert torch.equal(bias[0, :, i, j], scheme.weight[bucket])


def test_the_gradient_of_a_bucket_counts_the_pairs_in_it(randn):
    """t_q = t_k = 3 and four buckets: distance 0, at least 1 in the past; none at 0, at least 1 in the future."""
    scheme = T5Bias(2, buckets=4, max_distance=9, causal=False).double()
    scheme.bias(randn(BATCH, 2, 3, D_K), randn(BATCH, 2, 3, D_K)).sum().backward()
    assert scheme.weight.grad.tolist() == [[3.0, 3.0], [3.0, 3.0], [0.0, 0.0], [3.0, 3.0]]


# ALiBi


@pytest.mark.parametrize(
    ("n_heads", "exponents"),
    [
        (1, [8]),
        (2, [4, 8]),
        (3, [4, 8, 2]),
        (4, [2, 4, 6, 8]),
        (6, [2, 4, 6, 8, 1, 3]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (12, [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]),
        (16, [half / 2 for half in range(1, 17)]),
    ],
)
def test_the_slopes_are_those_of_the_paper(n_heads, exponents):
    close(alibi_slopes(n_heads), torch.tensor([2.0**-e for e in exponents], dtype=torch.float64))


@given(n_heads=st.integers(1, 70))
def test_each_head_has_a_slope_of_its_own(n_heads):
    slopes = alibi_slopes(n_heads)
    assert slopes.shape == (n_heads,)
    assert len(set(slopes.tolist())) == n_heads
    assert slopes.min() == 2**-8
    assert slopes.max() < 1


@given(sizes=times, n_heads=st.integers(1, 5))
def test_alibi_subtracts_the_slope_times_the_distance(sizes, n_heads):
    t_q, t_k = sizes
    bias = ALiBi(n_heads).bias(torch.zeros(1, n_heads, t_q, 2).double(), torch.zeros(1, n_heads, t_k, 2).double())
    slopes = alibi_slopes(n_heads)
    want = laid_out(t_q, t_k, lambda i, j: -slopes * abs(distance(i, j, t_q, t_k)))
    close(bias, want.movedim(-1, 0)[None])


def test_alibi_rounds_once_where_a_float16_cannot_hold_the_distance():
    """Distance 70,000 is above the largest float16, 65,504; times 2^-8 it is 273.4."""
    bias = ALiBi(1).bias(torch.zeros(1, 1, 1, 1).half(), torch.zeros(1, 1, 70_001, 1).half())
    assert bias[0, 0, 0, 0].item() == torch.tensor(-70_000 / 256).half().item()
    assert bias.isfinite().all()


# Refusals, as a reader meets them


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("shape", [(2, 2), (2, 3, 4), (0, 5), (3, 0), (1, 0)], ids=str)
def test_too_few_distances_for_the_queries_are_refused(shape):
    t_q, count = shape[-2:]
    got = rf"distances: got t_q={t_q} and {count} distances\. Give at least {max(1, 2 * t_q - 1)}\."
    with pytest.raises(ValueError, match=got):
        relative_shift(torch.zeros(shape))
    with pytest.raises(ValueError, match=got):
        spread(torch.zeros(count), t_q)


HEADED = [
    pytest.param(lambda: TransformerXLPosition(HEADS, D_K, D_MODEL), D_K, id="transformer-xl"),
    pytest.param(lambda: T5Bias(HEADS, causal=True), "d_k", id="t5"),
    pytest.param(lambda: ALiBi(HEADS), "d_k", id="alibi"),
]


@pytest.mark.parametrize("make", [TransformerXLPosition, T5Bias, ALiBi], ids=lambda kind: kind.__name__)
def test_key_heads_that_queries_share_need_not_be_repeated(randn, make):
    options = {T5Bias: {"causal": True}, TransformerXLPosition: {"d_k": D_K, "d_model": D_MODEL}}.get(make, {})
    scheme = make(6, **options).double()
    query, key = randn(2, 6, 4, D_K), randn(2, 2, 7, D_K)  # query heads 0 to 2 share the first key head
    close(scheme.bias(query, key), scheme.bias(query, key.repeat_interleave(3, dim=1)))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(("make", "width"), HEADED)
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ((2, 4, 6, D_K), (2, 4, 6, D_K)),
        ((2, 2 * HEADS, 6, D_K), (2, HEADS, 6, D_K)),
        ((2, HEADS, 6, D_K), (2, 2, 6, D_K)),
        ((2, HEADS, 6, D_K), (2, 2 * HEADS, 6, D_K)),
        ((2, HEADS, 6, D_K), (2, 0, 6, D_K)),
        ((HEADS, 6, D_K), (HEADS, 6, D_K)),
        ((2, HEADS, 6, D_K), (HEADS, 6, D_K)),
    ],
    ids=str,
)
def test_other_heads_than_those_of_the_scheme_are_refused(make, width, query, key):
    got = rf"\(batch, 3, t, {width}\), the heads second: got {re.escape(f'{query} and {key}')}\. Split .* divides 3"
    with pytest.raises(ValueError, match=got):
        make().bias(torch.zeros(query), torch.zeros(key))


@pytest.mark.usefixtures("shape_checks_off")
def test_other_widths_than_those_of_transformer_xl_are_refused():
    with pytest.raises(ValueError, match=r"\(batch, 3, t, 5\), .*: got \(2, 3, 4, 7\) and \(2, 3, 4, 7\)"):
        TransformerXLPosition(HEADS, D_K, D_MODEL).bias(torch.zeros(2, 3, 4, 7), torch.zeros(2, 3, 4, 7))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(("make", "width"), HEADED)
@pytest.mark.parametrize(("t_q", "t_k"), [(5, 4), (0, 4), (0, 0)])
def test_fewer_keys_than_queries_or_no_query_are_refused(make, width, t_q, t_k):
    got = rf"the last query stands at the last key, so 1 <= t_q <= t_k: got t_q={t_q} and t_k={t_k}\. Give at least"
    with pytest.raises(ValueError, match=got):
        make().bias(torch.zeros(2, HEADS, t_q, D_K), torch.zeros(2, HEADS, t_k, D_K))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: T5Bias(2, buckets=7, causal=False), r"share the buckets equally: got buckets=7\. Use 8\."),
        (lambda: T5Bias(2, buckets=2, causal=False), r"at least 4 buckets: got buckets=2\. Use buckets >= 4"),
        (lambda: T5Bias(2, buckets=1, causal=True), r"at least 2 buckets: got buckets=1\. Use buckets >= 2"),
        (lambda: T5Bias(2, buckets=0, causal=False), r"at least 4 buckets: got buckets=0"),
        (
            lambda: T5Bias(2, max_distance=8, causal=False),
            r"32 buckets hold one distance each up to 8, so max_distance lies beyond: got max_distance=8\. Use max_",
        ),
        (lambda: T5Bias(2, max_distance=16, causal=True), r"up to 16, .*: got max_distance=16\. Use max_distance > 16"),
        (lambda: t5_bucket(torch.tensor([1]), buckets=5), r"share the buckets equally: got buckets=5\. Use 6\."),
        (lambda: T5Bias(0, causal=True), r"n_heads is a whole number, at least 1: got n_heads=0\. Use such"),
        (lambda: ALiBi(0), r"n_heads is a whole number, at least 1: got n_heads=0\. Use such"),
        (lambda: alibi_slopes(-2), r"n_heads is a whole number, at least 1: got n_heads=-2"),
        (lambda: TransformerXLPosition(0, 2, 4), r"n_heads is a whole number, at least 1: got n_heads=0"),
        (lambda: TransformerXLPosition(2, 0, 4), r"d_k is a whole number, at least 1: got d_k=0"),
    ],
)
def test_numbers_without_a_meaning_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
