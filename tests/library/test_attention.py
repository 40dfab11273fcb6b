"""Attention: closed forms, properties for all sizes, low precision, gradients, then every refusal."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.attention import attention, attention_weights
from companion.masks import causal, padding
from tests.library.tensors import ROUNDING, close, draw

BATCH, HEADS, T_Q, T_K, D_K, D_V = 2, 3, 5, 7, 11, 13  # all different: a swapped axis cannot pass
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**16)


# Closed forms


def test_equal_scores_average_the_values():
    value = torch.tensor([[0.0, 4.0], [2.0, 0.0]])
    assert attention(torch.zeros(1, 3), torch.ones(2, 3), value).tolist() == [[1.0, 2.0]]


def test_equal_scores_average_the_values_that_the_mask_allows():
    value = torch.tensor([[0.0, 4.0], [2.0, 0.0], [100.0, 100.0]])
    mask = torch.tensor([[True, True, False]])
    assert attention(torch.zeros(1, 3), torch.ones(3, 3), value, mask).tolist() == [[1.0, 2.0]]


def test_one_key_gives_its_value_to_every_query(randn):
    query, key, value = randn(T_Q, D_K), randn(1, D_K), randn(1, D_V)
    assert torch.equal(attention(query, key, value), value.expand(T_Q, D_V))


def test_a_score_above_the_other_by_log_three_weighs_three_quarters():
    """By hand: d_k = 4, so the scores (2 ln 3, 0) become (ln 3, 0) and the weights 3 : 1."""
    query = torch.tensor([[2 * math.log(3), 0, 0, 0]], dtype=torch.float64)
    key = torch.eye(4, dtype=torch.float64)[:2]
    close(attention_weights(query, key), torch.tensor([[0.75, 0.25]], dtype=torch.float64))
    value = torch.tensor([[8.0, 0.0, 4.0], [0.0, 16.0, 4.0]], dtype=torch.float64)
    close(attention(query, key, value), torch.tensor([[6.0, 4.0, 4.0]], dtype=torch.float64))


def test_a_two_by_two_example_by_hand():
    """Scores ln [[2, 1], [1, 4]] with scale 1: the rows are (2/3, 1/3) and (1/5, 4/5)."""
    query = torch.tensor([[2.0, 1.0], [1.0, 4.0]], dtype=torch.float64).log()
    key, value = torch.eye(2, dtype=torch.float64), torch.tensor([[15.0], [30.0]], dtype=torch.float64)
    close(attention(query, key, value, scale=1.0), torch.tensor([[20.0], [27.0]], dtype=torch.float64))
    close(attention(query, key, value, causal(2), scale=1.0), torch.tensor([[15.0], [27.0]], dtype=torch.float64))


def test_a_query_that_matches_one_key_far_better_takes_its_value():
    key, value = torch.eye(3) * 100, torch.tensor([[1.0], [2.0], [3.0]])
    assert attention(key[[2, 0]], key, value).tolist() == [[3.0], [1.0]]


def test_the_scale_comes_from_the_width_of_the_keys(randn):
    query, key, value = randn(T_Q, D_K), randn(T_K, D_K), randn(T_K, D_V)
    close(attention(query, key, value), attention(query, key, value, scale=11**-0.5))


def test_a_scale_of_zero_is_a_scale(randn):
    assert torch.equal(attention_weights(randn(2, 3), randn(4, 3), scale=0.0), torch.full((2, 4), 0.25).double())


# Properties


@given(t_q=sizes, t_k=sizes, d_k=sizes, seed=seeds)
def test_the_weights_are_a_distribution_over_the_keys(t_q, t_k, d_k, seed):
    weights = attention_weights(*draw(seed, (t_q, d_k), (t_k, d_k)))
    assert weights.shape == (t_q, t_k)
    assert (weights >= 0).all()
    close(weights.sum(dim=-1), torch.ones(t_q, dtype=torch.float64))


@given(t_q=sizes, t_k=sizes, seed=seeds)
def test_a_row_sums_to_one_or_is_zero_where_no_key_is_allowed(t_q, t_k, seed):
    query, key, noise = draw(seed, (t_q, 3), (t_k, 3), (t_q, t_k))
    mask = noise > 0.5
    weights = attention_weights(query, key, mask)
    close(weights.sum(dim=-1), mask.any(dim=-1).double())
    assert (weights[~mask] == 0).all()
    assert (weights[mask] > 0).all()


@given(t_q=sizes, t_k=st.integers(2, 6), d_k=sizes, size=st.sampled_from([1.0, 1e6]), seed=seeds)
def test_a_masked_key_has_no_influence(t_q, t_k, d_k, size, seed):
    query, key, value = draw(seed, (t_q, d_k), (t_k, d_k), (t_k, 2))
    query *= size  # scores of a million: no finite stand-in for minus infinity survives this
    mask = torch.ones(t_q, t_k, dtype=torch.bool)
    mask[:, -1] = False
    before = attention(query, key, value, mask)
    key[-1], value[-1] = 1e3, -1e3
    assert torch.equal(attention(query, key, value, mask), before)
    close(before, attention(query, key[:-1], value[:-1]))  # masked is as good as absent


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_only_allowed_key_takes_all_the_weight_however_low_its_score(dtype):
    """Its score is the lowest number that the dtype has: every finite stand-in for minus infinity ties with it."""
    lowest = torch.tensor([[torch.finfo(dtype).min]], dtype=dtype)
    weights = attention_weights(lowest, torch.tensor([[1.0], [0.0]], dtype=dtype), torch.tensor([[True, False]]))
    assert weights.tolist() == [[1.0, 0.0]]


@given(t_q=sizes, t_k=sizes, d_k=sizes, seed=seeds)
def test_one_vector_added_to_every_key_changes_nothing(t_q, t_k, d_k, seed):
    """Softmax is invariant to a shift: q (k + c) adds the same number to a whole row of scores."""
    query, key, shift = draw(seed, (t_q, d_k), (t_k, d_k), (1, d_k))
    close(attention_weights(query, key + shift), attention_weights(query, key))


@given(t_q=sizes, t_k=sizes, seed=seeds)
def test_queries_in_another_order_give_the_outputs_in_that_order(t_q, t_k, seed):
    query, key, value, order = draw(seed, (t_q, 3), (t_k, 3), (t_k, 2), (t_q,))
    order = order.argsort()
    close(attention(query[order], key, value), attention(query, key, value)[order])


@given(t_q=sizes, t_k=sizes, seed=seeds)
def test_the_order_of_keys_with_their_values_does_not_matter(t_q, t_k, seed):
    query, key, value, order, noise = draw(seed, (t_q, 3), (t_k, 3), (t_k, 2), (t_k,), (t_q, t_k))
    order, mask = order.argsort(), noise > 0
    reordered = attention(query, key[order], value[order], mask[:, order])
    close(reordered, attention(query, key, value, mask))


@given(t_q=sizes, t_k=sizes, d_v=sizes, seed=seeds)
def test_the_output_lies_in_the_convex_hull_of_the_values(t_q, t_k, d_v, seed):
    """In every direction the output reaches no further than the values do."""
    query, key, value, directions = draw(seed, (t_q, 3), (t_k, 3), (t_k, d_v), (d_v, 20))
    output, corners = attention(query, key, value) @ directions, value @ directions
    assert (output <= corners.amax(dim=0) + ROUNDING).all()
    assert (output >= corners.amin(dim=0) - ROUNDING).all()


@given(leading=st.lists(st.integers(1, 3), max_size=3), seed=seeds)
def test_each_item_of_a_batch_is_attended_on_its_own(leading, seed):
    query, key, value = draw(seed, (*leading, T_Q, 3), (*leading, T_K, 3), (*leading, T_K, 2))
    output = attention(query, key, value, causal(T_Q, T_K))
    assert output.shape == (*leading, T_Q, 2)
    for index in torch.ones(leading).nonzero().tolist():
        item = tuple(index)
        close(output[item], attention(query[item], key[item], value[item], causal(T_Q, T_K)))


def test_a_causal_output_does_not_change_when_the_future_does(randn):
    query, key, value = randn(T_K, D_K), randn(T_K, D_K), randn(T_K, D_V)
    before = attention(query, key, value, causal(T_K))
    key[4:], value[4:] = 7.0, -7.0
    after = attention(query, key, value, causal(T_K))
    assert torch.equal(after[:4], before[:4])
    assert not torch.isclose(after[4:], before[4:]).any()


def test_padding_gives_each_sequence_the_output_of_its_real_length(randn):
    query, key, value = randn(BATCH, T_Q, D_K), randn(BATCH, T_K, D_K), randn(BATCH, T_K, D_V)
    output = attention(query, key, value, padding([4, 6], T_K))
    close(output[0], attention(query[0], key[0, :4], value[0, :4]))
    close(output[1], attention(query[1], key[1, :6], value[1, :6]))


def test_a_mask_of_one_row_holds_for_every_query(randn, random_mask):
    query, key, mask = randn(BATCH, T_Q, D_K), randn(BATCH, T_K, D_K), random_mask(BATCH, 1, T_K)
    assert torch.equal(attention_weights(query, key, mask), attention_weights(query, key, mask.expand(BATCH, T_Q, T_K)))


# A row with no key, and what a call leaves behind


def test_a_row_with_no_key_gives_zeros(randn, random_mask):
    query, key, value, mask = randn(T_Q, D_K), randn(T_K, D_K), randn(T_K, D_V), random_mask(T_Q, T_K)
    mask[2] = False
    assert (attention_weights(query, key, mask)[2] == 0).all()
    assert (attention(query, key, value, mask)[2] == 0).all()


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_row_with_no_key_gives_finite_gradients_at_every_step_back(randn, random_mask, size):
    """Anomaly detection looks at each step: a NaN that a later step multiplies by 0 would hide in the sum."""
    query, key, value = randn(T_Q, D_K) * size, randn(T_K, D_K), randn(T_K, D_V)
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    mask = random_mask(T_Q, T_K)
    mask[2] = False
    with torch.autograd.set_detect_anomaly(True):
        attention(query, key, value, mask).square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)
    assert (query.grad[2] == 0).all()


def test_a_mask_that_allows_nothing_sends_no_gradient(randn):
    inputs = [randn(T_Q, D_K, requires_grad=True), randn(T_K, D_K, requires_grad=True), randn(T_K, D_V)]
    output = attention(*inputs, torch.zeros(1, T_K, dtype=torch.bool))
    assert (output == 0).all()
    output.sum().backward()
    assert not inputs[0].grad.any()
    assert not inputs[1].grad.any()


@pytest.mark.parametrize("masked", [False, True])
def test_the_arguments_are_never_written_to(randn, random_mask, masked):
    inputs = [randn(T_Q, D_K), randn(T_K, D_K), randn(T_K, D_V), random_mask(T_Q, T_K)]
    inputs[3][2] = False
    copies = [tensor.clone() for tensor in inputs]
    attention(*inputs[: 3 + masked], scale=0.5)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(inputs, copies, strict=True))
    assert [tensor._version for tensor in inputs[:3]] == [0, 0, 0]


def test_the_layout_in_memory_does_not_matter(randn):
    query, key, value = randn(D_K, T_Q).mT, randn(T_K, 2 * D_K)[:, ::2], randn(1, D_V).expand(T_K, D_V)
    packed = attention(query.contiguous(), key.contiguous(), value.contiguous())
    close(attention(query, key, value), packed)


# Low precision


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_stays_within_its_rounding_of_float64(randn, random_mask, dtype, masked):
    inputs = randn(T_Q, D_K, dtype=dtype), randn(T_K, D_K, dtype=dtype), randn(T_K, D_V, dtype=dtype)
    query, key, value = (tensor.double() for tensor in inputs)  # the same numbers, so only our arithmetic rounds
    mask = random_mask(T_Q, T_K).index_fill(1, torch.tensor(0), True) if masked else None
    scores = query @ key.mT / math.sqrt(D_K)
    want = (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(dim=-1) @ value
    output = attention(*inputs, mask)
    assert output.dtype == dtype
    # Scaling and the product each round a score by half an eps of its absolute terms, softmax doubles a small
    # error of its exponents at most, and weights and output round once more.
    eps, terms = torch.finfo(dtype).eps, (query.abs() @ key.abs().mT / math.sqrt(D_K)).max().item()
    tolerance = eps * (2 * terms + 2) * value.abs().max().item()
    torch.testing.assert_close(output.double(), want, rtol=0, atol=tolerance)


def test_float16_does_not_overflow_where_the_unscaled_product_would():
    """64 features of 64: the product is 262144, above the largest float16 (65504); a scale of 1/8 makes it 32768."""
    rows = torch.full((2, 64), 64.0, dtype=torch.float16)
    rows[1] = -64.0
    assert attention_weights(rows[:1], rows).tolist() == [[1.0, 0.0]]
    assert attention_weights(rows[:1], rows[[0, 0]]).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_mask_works_in_low_precision(randn, dtype):
    query, key, value = randn(4, D_K, dtype=dtype), randn(4, D_K, dtype=dtype), randn(4, D_V, dtype=dtype)
    mask = causal(4)
    mask[2] = False
    output = attention(query, key, value, mask)
    assert torch.equal(output[0], value[0])
    assert (output[2] == 0).all()
    assert output.isfinite().all()


# Gradients


@pytest.mark.parametrize("scale", [None, 0.7])
@pytest.mark.parametrize("masked", [False, True])
def test_the_gradient_is_that_of_finite_differences(randn, random_mask, masked, scale):
    inputs = [randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 3)]
    mask = random_mask(3, 5) if masked else None
    if masked:
        mask[1] = False
    inputs = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda *qkv: attention(*qkv, mask, scale=scale), inputs)
    assert torch.autograd.gradgradcheck(lambda *qkv: attention(*qkv, mask, scale=scale), inputs)


# Refusals, as a reader meets them

zeros = torch.zeros


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (zeros(2, 16), zeros(2, 32), r"same width d_k: got query \(2, 16\) and key \(2, 32\)\. Project both"),
        (zeros(3, 2, 4), zeros(5, 2, 4), r"same leading axes: got query \(3, 2, 4\) and key \(5, 2, 4\)\. Expand"),
        (zeros(2, 4), zeros(3, 2, 4), r"same leading axes: got query \(2, 4\) and key \(3, 2, 4\)\. Expand"),
        (zeros(1, 2, 4), zeros(3, 2, 4), r"same leading axes: got query \(1, 2, 4\) and key \(3, 2, 4\)\. Expand"),
        (zeros(4), zeros(2, 4), r"query is \(\*batch, t_q, d_k\) .* got query \(4,\) and key \(2, 4\)\. Add the miss"),
        (zeros(2, 4), zeros(4), r"query is \(\*batch, t_q, d_k\) .* got query \(2, 4\) and key \(4,\)\. Add the miss"),
        (zeros(2, 4), zeros(3, 4).half(), r"one floating-point dtype: got torch\.float32 and torch\.float16\. Conv"),
        (zeros(2, 4).long(), zeros(3, 4).long(), r"one floating-point dtype: got torch\.int64 and torch\.int64\. Conv"),
    ],
)
def test_a_query_and_a_key_that_do_not_fit_are_refused_with_both(query, key, message):
    with pytest.raises(ValueError, match=message):
        attention_weights(query, key)
    if key.ndim > 1:
        with pytest.raises(ValueError, match=message):
            attention(query, key, zeros(*key.shape[:-1], 3, dtype=key.dtype))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ((0, 4), (3, 4)),
        ((2, 4), (0, 4)),
        ((2, 0), (3, 0)),
        ((0, 2, 4), (0, 3, 4)),
        ((5, 0, 2, 4), (5, 0, 3, 4)),
        ((0, 5, 2, 4), (0, 5, 3, 4)),
    ],
    ids=str,
)
def test_an_empty_axis_is_refused_with_every_shape(query, key, masked):
    mask = torch.ones(2, 3, dtype=torch.bool) if masked else None
    both = rf"no axis is empty: got query {re.escape(str(query))} and key {re.escape(str(key))}\. Drop the empty input"
    with pytest.raises(ValueError, match=both):
        attention_weights(zeros(query), zeros(key), mask)
    value = (*key[:-1], 3)
    with pytest.raises(
        ValueError, match=rf"{both}|no axis is empty: got key .* and value {re.escape(str(value))}\. Drop"
    ):
        attention(zeros(query), zeros(key), zeros(value), mask)


def test_values_without_a_feature_are_refused():
    with pytest.raises(ValueError, match=r"no axis is empty: got key \(3, 4\) and value \(3, 0\)\. Drop"):
        attention(zeros(2, 4), zeros(3, 4), zeros(3, 0))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("value", "got"), [(zeros(2, 4), r"\(2, 4\)"), (zeros(1, 3, 4), r"\(1, 3, 4\)"), (zeros(3), r"\(3,\)")]
)
def test_a_key_without_exactly_one_value_is_refused(value, got):
    with pytest.raises(ValueError, match=rf"one value: got key \(3, 4\) and value {got}\. All axes but the last"):
        attention(zeros(2, 4), zeros(3, 4), value)


def test_a_value_of_another_dtype_is_refused():
    with pytest.raises(ValueError, match=r"one dtype: got torch\.float32 and torch\.float16\. Convert one with \.to"):
        attention(zeros(2, 4), zeros(3, 4), zeros(3, 5).half())


@pytest.mark.parametrize("call", [attention_weights, lambda q, k, m: attention(q, k, k, m)], ids=["weights", "output"])
@pytest.mark.parametrize("shape", [(7,), (2, 7), (7, 5), (5, 1), (3, 1, 7)], ids=str)
def test_a_mask_that_is_not_legal_is_refused(randn, call, shape):
    with pytest.raises(
        ValueError, match=r"a mask of scores \(2, 5, 7\) has shape \(5 or 1, 7\) or \(2 or 1, 5 or 1, 7"
    ):
        call(randn(BATCH, T_Q, D_K), randn(BATCH, T_K, D_K), torch.ones(shape, dtype=torch.bool))


@pytest.mark.usefixtures("shape_checks_off")
def test_a_mask_that_adds_is_refused(randn):
    with pytest.raises(ValueError, match=r"boolean, True = may look: got torch\.float64\. Use mask\.bool\(\)"):
        attention_weights(randn(T_Q, D_K), randn(T_K, D_K), zeros(T_Q, T_K, dtype=torch.float64))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("shape", [(4,), (3, 2), (5, 2, 3), (1, 1, 2, 3)], ids=str)
def test_a_bias_that_would_widen_the_scores_is_refused(randn, shape):
    query, key = randn(1, 2, 4), randn(1, 3, 4)
    with pytest.raises(
        ValueError, match=rf"the scores \(1, 2, 3\) and has .*: got {re.escape(str(shape))} of .*Each of its"
    ):
        attention_weights(query, key, bias=randn(*shape))


@pytest.mark.usefixtures("shape_checks_off")
def test_a_bias_of_another_dtype_is_refused(randn):
    with pytest.raises(ValueError, match=r"dtype torch.float64: got \(2, 3\) of torch.float32"):
        attention_weights(randn(2, 4), randn(3, 4), bias=torch.zeros(2, 3))
