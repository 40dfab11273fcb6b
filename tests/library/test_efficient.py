"""Attention without the whole matrix: closed forms, what is kept and what is held, then every refusal."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from companion.attention import attention
from companion.efficient import (
    feature_map,
    linear_attention,
    linear_attention_recurrent,
    linear_attention_step,
    online_softmax_sum,
    tiled_attention,
    window_attention,
)
from companion.masks import window
from companion.measure import exponent, peak_bytes
from tests.library.tensors import close, draw

BATCH, HEADS, T_Q, T_K, D_K, D_V = 2, 3, 5, 7, 11, 13  # all different: a swapped axis cannot pass
sizes = st.integers(1, 9)
seeds = st.integers(0, 2**16)
MIB = 2**20


def saved_numbers(function, *inputs):
    """How many numbers autograd keeps for the backward pass besides the inputs."""
    kept = {}
    given = {x.untyped_storage().data_ptr() for x in inputs}

    def pack(x):
        if x.untyped_storage().data_ptr() not in given:
            kept[x.untyped_storage().data_ptr()] = x
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        output = function(*inputs)
    assert output.grad_fn is not None
    return sum(x.numel() for x in kept.values())


# The online softmax


def test_the_online_softmax_by_hand():
    """Weights 1 : 2 : 3 for the values 9, 3, 6: (9 + 6 + 18) / 6 = 5.5, and the log-sum-exp is ln 6."""
    scores = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64).log()
    value = torch.tensor([[9.0], [3.0], [6.0]], dtype=torch.float64)
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):  # the largest score comes last, first, and between
        output, log_sum = online_softmax_sum((scores[:, [j]], value[[j]]) for j in order)
        close(output, torch.tensor([[5.5]], dtype=torch.float64))
        close(log_sum, torch.tensor([math.log(6)], dtype=torch.float64))


@given(t_k=sizes, cut=sizes, size=st.sampled_from([1.0, 1e3]), seed=seeds)
def test_the_online_softmax_is_the_softmax_however_the_keys_are_cut(t_k, cut, size, seed):
    scores, value = draw(seed, (3, t_k), (t_k, 2))
    scores = scores * size  # differences of thousands: a sum not measured from the largest score would overflow
    output, log_sum = online_softmax_sum(zip(scores.split(cut, dim=-1), value.split(cut), strict=True))
    close(output, scores.softmax(dim=-1) @ value)
    torch.testing.assert_close(log_sum, scores.logsumexp(dim=-1))


def test_the_online_softmax_of_hidden_keys_alone_is_zero_and_their_log_sum_minus_infinity():
    hidden, value = torch.full((1, 2), -torch.inf), torch.ones(2, 3)
    output, log_sum = online_softmax_sum([(hidden, value), (hidden, value)])
    assert output.tolist() == [[0.0, 0.0, 0.0]]
    assert log_sum.tolist() == [-math.inf]


def test_the_online_softmax_finds_the_first_key_after_a_hidden_block():
    hidden, seen = torch.full((1, 2), -torch.inf), torch.tensor([[-500.0, -torch.inf]])
    for tiles in ([hidden, seen], [seen, hidden]):
        output, log_sum = online_softmax_sum((scores, torch.tensor([[7.0], [8.0]])) for scores in tiles)
        assert output.tolist() == [[7.0]]
        assert log_sum.tolist() == [-500.0]


def test_an_online_softmax_over_nothing_is_refused():
    with pytest.raises(ValueError, match=r"at least one score: got no block of keys\. Pass at least one"):
        online_softmax_sum([])


# Tiled attention: what it keeps, what it holds, what it leaves out


@given(t_q=sizes, t_k=sizes, block=sizes, causal=st.booleans(), seed=seeds)
def test_the_size_of_a_tile_changes_nothing(t_q, t_k, block, causal, seed):
    query, key, value = draw(seed, (t_q, 3), (t_k + t_q, 3), (t_k + t_q, 2))
    whole = tiled_attention(query, key, value, causal=causal)
    close(tiled_attention(query, key, value, causal=causal, block=block), whole)


def test_the_default_scale_is_that_of_the_paper(randn):
    query, key, value = randn(T_Q, D_K), randn(T_K, D_K), randn(T_K, D_V)
    close(tiled_attention(query, key, value), tiled_attention(query, key, value, scale=11**-0.5))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_gradient_is_that_of_finite_differences(randn, random_mask, masked, causal):
    inputs = [
        randn(2, 4, 3, requires_grad=True),
        randn(2, 5, 3, requires_grad=True),
        randn(2, 5, 2, requires_grad=True),
    ]
    mask = random_mask(2, 4, 5) if masked else None
    if masked:
        mask[:, 1] = False
    assert torch.autograd.gradcheck(lambda *qkv: tiled_attention(*qkv, mask, causal=causal, block=2), inputs)


def test_each_input_alone_gets_its_gradient(randn):
    inputs = [randn(T_Q, D_K), randn(T_K, D_K), randn(T_K, D_V)]
    for i in range(3):
        leaf = inputs[i].clone().requires_grad_()
        qkv = [*inputs[:i], leaf, *inputs[i + 1 :]]
        got, want = (torch.autograd.grad(form(*qkv).square().sum(), leaf)[0] for form in (tiled_attention, attention))
        close(got, want, atol=1e-11)  # squares of unit-size outputs, summed over 65 numbers: ten times as large


def test_a_second_derivative_is_refused_where_torch_would_take_it_for_zero(randn):
    inputs = [randn(T_Q, D_K, requires_grad=True), randn(T_K, D_K), randn(T_K, D_V)]
    with pytest.raises(ValueError, match=r"differentiated again: got create_graph=True\. Use companion\.attention"):
        torch.autograd.grad(tiled_attention(*inputs).sum(), inputs[0], create_graph=True)


@pytest.mark.parametrize("block", [2, 64])
def test_the_forward_pass_keeps_the_output_and_one_number_a_query(randn, block):
    inputs = [randn(BATCH, HEADS, t, d, requires_grad=True) for t, d in ((T_Q, D_K), (T_K, D_K), (T_K, D_V))]
    kept = saved_numbers(lambda *qkv: tiled_attention(*qkv, block=block), *inputs)
    assert kept == BATCH * HEADS * T_Q * (D_V + 1)


def test_the_plain_form_keeps_every_weight(randn):
    """The other side of the fact above: queries and keys once more, and the whole matrix."""
    inputs = [randn(BATCH, HEADS, t, d, requires_grad=True) for t, d in ((T_Q, D_K), (T_K, D_K), (T_K, D_V))]
    assert saved_numbers(attention, *inputs) >= BATCH * HEADS * T_Q * T_K


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_row_with_no_key_gives_zeros_and_sends_finite_gradients(randn, random_mask, size):
    query, key, value = randn(T_Q, D_K) * size, randn(T_K, D_K), randn(T_K, D_V)
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    mask = random_mask(T_Q, T_K)
    mask[2] = False
    output = tiled_attention(*inputs, mask, block=3)
    output.square().sum().backward()
    assert (output[2] == 0).all()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)
    assert (query.grad[2] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_only_allowed_key_takes_all_the_weight_however_low_its_score(dtype):
    """Its score is the lowest number that the dtype has: every finite stand-in for minus infinity ties with it."""
    lowest = torch.tensor([[torch.finfo(dtype).min]], dtype=dtype)
    key, value = torch.tensor([[0.0], [1.0]], dtype=dtype), torch.tensor([[3.0], [5.0]], dtype=dtype)
    mask = torch.tensor([[False, True]])
    assert tiled_attention(lowest, key, value, mask, block=1).tolist() == [[5.0]]


def test_tiles_of_the_future_are_never_read(randn):
    """Not a number is times 0 not a number: one read key of the future would spoil the row."""
    query, key, value = (randn(12, 3) for _ in range(3))
    want = tiled_attention(query, key, value, causal=True, block=4)
    key[8:], value[8:] = torch.nan, torch.nan
    output = tiled_attention(query, key, value, causal=True, block=4)
    assert torch.equal(output[:8], want[:8])
    assert output[8:].isnan().all()


def flops(function, *inputs):
    with FlopCounterMode(display=False) as counter:
        output = function(*inputs)
    forward = counter.get_total_flops()
    with counter:
        output.sum().backward()
    return forward, counter.get_total_flops()


def test_forward_costs_what_the_plain_form_costs_and_backward_one_product_more(randn):
    query, key, value = (randn(64, 16, requires_grad=True) for _ in range(3))
    product = 2 * 64 * 64 * 16
    assert flops(attention, query, key, value) == (2 * product, 4 * product)
    assert flops(lambda *qkv: tiled_attention(*qkv, block=16), query, key, value) == (2 * product, 5 * product)


def test_causal_tiles_cost_half_and_the_diagonal(randn):
    """Four by four tiles, of which six are all future: 10 of 16 remain."""
    query, key, value = (randn(64, 16, requires_grad=True) for _ in range(3))
    product = 2 * 64 * 64 * 16 * 10 // 16
    causal = flops(lambda *qkv: tiled_attention(*qkv, causal=True, block=16), query, key, value)
    assert causal == (2 * product, 5 * product)


def test_the_arguments_are_never_written_to(randn, random_mask):
    query, key, value = (randn(t, d, requires_grad=True) for t, d in ((T_Q, D_K), (T_K, D_K), (T_K, D_V)))
    mask = random_mask(T_Q, T_K)
    copies = [x.detach().clone() for x in (query, key, value, mask)]
    upstream = torch.ones(T_Q, D_V, dtype=torch.float64)
    tiled_attention(query, key, value, mask, causal=True, block=2).backward(upstream)
    assert all(torch.equal(x.detach(), copy) for x, copy in zip((query, key, value, mask), copies, strict=True))
    assert (upstream == 1).all()


def test_the_layout_in_memory_does_not_matter(randn):
    query, key, value = randn(D_K, T_Q).mT, randn(T_K, 2 * D_K)[:, ::2], randn(1, D_V).expand(T_K, D_V)
    close(tiled_attention(query, key, value, block=2), attention(query, key, value))


def test_float16_does_not_overflow_where_the_scores_would():
    """A score of 512 * 512 is above the largest float16 (65504); tiles are computed in float32."""
    row = torch.full((1, 1), 512.0, dtype=torch.float16)
    assert tiled_attention(row, torch.cat([row, -row]), torch.tensor([[1.0], [2.0]]).half()).tolist() == [[1.0]]


@pytest.mark.parametrize("backward_inside", [False, True])
def test_autocast_does_not_change_the_tiles(randn, backward_inside):
    """Scores of bfloat16 in one pass and of float32 in the other would be two distributions."""
    inputs = [(3 * randn(50, 16, dtype=torch.float32)).requires_grad_() for _ in range(3)]
    upstream = randn(50, 16, dtype=torch.float32)
    output = tiled_attention(*inputs)
    gradients = torch.autograd.grad(output, inputs, upstream)
    with torch.autocast("cpu", torch.bfloat16):
        inside = tiled_attention(*inputs)
    with torch.autocast("cpu", torch.bfloat16, enabled=backward_inside):
        same = torch.autograd.grad(inside, inputs, upstream)
    assert torch.equal(inside, output)
    assert all(torch.equal(a, b) for a, b in zip(same, gradients, strict=True))


@pytest.mark.parametrize(
    "function",
    [
        linear_attention,
        lambda *inputs: linear_attention(*inputs, causal=True),
        linear_attention_recurrent,
    ],
    ids=["full", "causal", "recurrent"],
)
def test_linear_attention_in_half_precision_does_not_overflow(randn, function):
    """The feature of 0 is 1, and 1,100 times 64 ones are 70,400, above the largest float16 (65504)."""
    zeros, value = torch.zeros(1100, 64, dtype=torch.float16), randn(1100, 3, dtype=torch.float16)
    for autocast in (False, True):
        with torch.autocast("cpu", torch.float16, enabled=autocast):
            output = function(zeros, zeros, value)
        assert output.dtype == torch.float16
        close(output[-1].double(), value.double().mean(dim=0), atol=2e-4)  # rounded once, to 11 bits, below 0.25


def test_sums_in_half_precision_lose_no_keys():
    """1,000 equal weights: a float16 sum in tiles of 1 would stop growing at 2,048 only, one in bfloat16 at 256."""
    value = torch.tensor([0.0, 1.0] * 500, dtype=torch.bfloat16)[:, None]
    zeros = torch.zeros(1000, 1, dtype=torch.bfloat16)
    assert tiled_attention(zeros[:1], zeros, value, block=1).tolist() == [[0.5]]


# Memory, counted allocation by allocation


def extra(function, n, d=64):
    """Peak bytes of a forward and backward pass over one head of n positions, beyond its inputs."""
    qkv = [x.float().requires_grad_() for x in draw(0, *3 * [(1, 1, n, d)])]
    return peak_bytes(lambda: function(*qkv).sum().backward())


def test_tiled_attention_takes_memory_linear_in_the_length():
    lengths = [512, 1024, 2048]
    memory = [extra(lambda *qkv: tiled_attention(*qkv, block=128), n) for n in lengths]
    assert exponent(lengths, memory) < 1.15  # the bar; tiles of constant size even keep it below 1
    # Beyond the tiles each position costs the same: output, its gradient and three more rows, and two numbers.
    assert memory[2] - memory[1] == 2 * (memory[1] - memory[0])
    assert (memory[1] - memory[0]) / 512 < 5 * 64 * 4


def test_plain_attention_takes_memory_quadratic_in_the_length():
    lengths = [512, 1024, 2048]
    assert exponent(lengths, [extra(attention, n) for n in lengths]) > 1.9


def test_at_16384_tokens_tiled_attention_takes_a_fiftieth_of_a_single_matrix_of_weights():
    """The plain form holds three such matrices at once, of 1 GiB each, and is not run here."""
    q, k, v = (x.float() for x in draw(0, *3 * [(1, 1, 16_384, 64)]))
    memory = peak_bytes(lambda: tiled_attention(q, k, v, causal=True))
    assert memory < 16_384**2 * 4 / 50


def test_window_attention_takes_memory_linear_in_the_length_and_in_the_window():
    lengths, widths = [1024, 2048, 4096], [64, 128, 256]
    assert 0.9 < exponent(lengths, [extra(lambda *qkv: window_attention(*qkv, 64), n) for n in lengths]) < 1.1
    # Below 1 in the window: keys and values are held two or three times over, however narrow it is.
    memory = [extra(lambda *qkv, size=size: window_attention(*qkv, size), 2048) for size in widths]
    assert 0.5 < exponent(widths, memory) < 1.1


# A window


def test_window_attention_by_hand():
    """A zero query weighs all alike, so each output is a running mean."""
    value, zeros = torch.tensor([[0.0], [4.0], [8.0], [0.0], [6.0]]), torch.zeros(5, 2)
    assert window_attention(zeros, zeros, value, 2).flatten().tolist() == [0.0, 2.0, 6.0, 4.0, 3.0]
    assert window_attention(zeros, zeros, value, 2, causal=False).flatten().tolist() == [
        2.0,
        4.0,
        4.0,
        pytest.approx(14 / 3),
        3.0,
    ]


def test_a_window_of_one_gives_each_position_its_own_value(randn):
    query, key, value = randn(T_K, D_K), randn(T_K, D_K), randn(T_K, D_V)
    assert torch.equal(window_attention(query, key, value, 1), value)
    assert torch.equal(window_attention(query, key, value, 1, causal=False), value)


@given(t=st.integers(1, 30), size=sizes, causal=st.booleans(), seed=seeds)
def test_window_attention_is_attention_with_that_mask(t, size, causal, seed):
    query, key, value = draw(seed, (t, 3), (t, 3), (t, 2))
    close(
        window_attention(query, key, value, size, causal=causal),
        attention(query, key, value, window(t, size, causal=causal)),
    )


def test_keys_beyond_the_next_block_are_never_read(randn):
    query, key, value = (randn(20, 3) for _ in range(3))
    want = window_attention(query, key, value, 4)
    key[8:], value[8:] = torch.nan, torch.nan
    assert torch.equal(window_attention(query, key, value, 4)[:8], want[:8])


@pytest.mark.parametrize("causal", [False, True])
def test_the_gradient_of_a_window_is_that_of_finite_differences(randn, causal):
    inputs = [randn(7, 3, requires_grad=True), randn(7, 3, requires_grad=True), randn(7, 2, requires_grad=True)]
    assert torch.autograd.gradcheck(lambda *qkv: window_attention(*qkv, 3, causal=causal), inputs)
    assert torch.autograd.gradgradcheck(lambda *qkv: window_attention(*qkv, 3, causal=causal), inputs)


# Linear attention


def test_the_feature_map_is_elu_plus_one_and_keeps_small_numbers():
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    close(feature_map(x), torch.nn.functional.elu(x) + 1)
    far = torch.tensor([-50.0], dtype=torch.float64, requires_grad=True)
    assert feature_map(far).item() == pytest.approx(math.exp(-50), rel=1e-12, abs=0)
    assert (torch.nn.functional.elu(far) + 1).item() == 0  # why it is not computed so
    feature_map(far).backward()
    assert far.grad.item() == pytest.approx(math.exp(-50), rel=1e-12, abs=0)


def test_the_feature_map_has_slope_one_at_zero():
    x = torch.zeros(1, requires_grad=True)
    feature_map(x).backward()
    assert x.grad.item() == 1.0


def test_linear_attention_by_hand():
    """phi(0) = 1, phi(1) = 2, phi(2) = 3: the query weighs the keys 2 : 3 in each feature, so (2 * 5 + 3 * 10) / 5."""
    query, key, value = torch.zeros(1, 1), torch.tensor([[1.0], [2.0]]), torch.tensor([[5.0], [10.0]])
    assert linear_attention(query, key, value).tolist() == [[8.0]]


@given(t=sizes, chunk=sizes, seed=seeds)
def test_the_chunk_changes_nothing(t, chunk, seed):
    query, key, value = draw(seed, (t, 3), (t, 3), (t, 2))
    whole = linear_attention(query, key, value, causal=True, chunk=64)
    close(linear_attention(query, key, value, causal=True, chunk=chunk), whole)
    close(linear_attention_recurrent(query, key, value), whole)


def test_the_state_has_one_size_however_long_the_past_is(randn):
    state = None
    for _ in range(20):
        output, state = linear_attention_step(state, randn(BATCH, D_K), randn(BATCH, D_K), randn(BATCH, D_V))
        assert output.shape == (BATCH, D_V)
        assert state.shape == (BATCH, D_K, D_V + 1)


def test_a_step_leaves_the_state_before_it_as_it_was(randn):
    """Two continuations of one past, as in a beam search."""
    _, state = linear_attention_step(None, randn(D_K), randn(D_K), randn(D_V))
    before = state.clone()
    linear_attention_step(state, randn(D_K), randn(D_K), randn(D_V))
    assert torch.equal(state, before)


def test_linear_and_softmax_attention_agree_where_the_keys_are_equal(randn):
    """The closed case: equal keys weigh alike in both, so both give the mean of the values."""
    query, key, value = randn(T_Q, D_K), randn(1, D_K).expand(T_K, D_K), randn(T_K, D_V)
    mean = value.mean(dim=0).expand(T_Q, D_V)
    close(linear_attention(query, key, value), mean)
    close(attention(query, key, value), mean)


@pytest.mark.parametrize("d_k", [16, 64])
def test_linear_attention_is_no_approximation_of_softmax_attention(randn, d_k):
    """On unit-normal input the two differ by more than half of the softmax form's own size, at any width tried."""
    query, key, value = randn(256, d_k), randn(256, d_k), randn(256, d_k)
    plain = attention(query, key, value)
    assert (linear_attention(query, key, value) - plain).norm() / plain.norm() > 0.5


def test_linear_attention_takes_time_and_memory_linear_in_the_length(randn):
    lengths = [512, 1024, 2048]
    for causal in (False, True):
        form = lambda *qkv, causal=causal: linear_attention(*qkv, causal=causal)  # noqa: E731
        assert 0.9 < exponent(lengths, [extra(form, n) for n in lengths]) < 1.1
        work = [flops(form, *(randn(n, 16, requires_grad=True) for _ in range(3)))[0] for n in lengths]
        assert exponent(lengths, work) == pytest.approx(1)


# Refusals, as a reader meets them

zeros = torch.zeros
FORMS = [
    tiled_attention,
    lambda *qkv: window_attention(*qkv, 3),
    linear_attention,
    linear_attention_recurrent,
]


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("form", FORMS, ids=["tiled", "window", "linear", "recurrent"])
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((4,), (5, 4), (5, 3)),
            r"key \(\*batch, t_k, d_k\): got query \(4,\) and key \(5, 4\)\. Add the missing axis",
        ),
        (((5, 4), (5, 4), (5,)), r"each key has one value: got key \(5, 4\) and value \(5,\)\. All axes but the last"),
        (((5, 4), (0, 4), (0, 3)), r"no axis is empty: got query \(5, 4\) and key \(0, 4\)\. Drop"),
        (((5, 4), (5, 6), (5, 3)), r"same width d_k: got query \(5, 4\) and key \(5, 6\)\. Project both"),
        (((5, 4), (5, 4), (6, 3)), r"each key has one value: got key \(5, 4\) and value \(6, 3\)\. All axes but"),
        (((2, 5, 4), (3, 5, 4), (3, 5, 3)), r"same leading axes: got query \(2, 5, 4\) and key \(3, 5, 4\)\. Expand"),
        (((2, 5, 4), (2, 5, 4), (5, 3)), r"each key has one value: got key \(2, 5, 4\) and value \(5, 3\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_with_both(form, shapes, message):
    with pytest.raises(ValueError, match=message):
        form(*(zeros(shape) for shape in shapes))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("form", FORMS, ids=["tiled", "window", "linear", "recurrent"])
@pytest.mark.parametrize("dtypes", [(torch.float32, torch.float32, torch.float16), (torch.int64,) * 3], ids=str)
def test_dtypes_that_differ_or_are_whole_are_refused(form, dtypes):
    with pytest.raises(ValueError, match=rf"have one .*dtype: got {dtypes[1]} and {dtypes[2]}\. Convert"):
        form(*(zeros(5, 4, dtype=dtype) for dtype in dtypes))


@pytest.mark.parametrize(
    "form", [lambda *qkv: tiled_attention(*qkv, causal=True), lambda *qkv: window_attention(*qkv, 3)]
)
def test_more_queries_than_keys_are_refused_where_positions_matter(form):
    with pytest.raises(ValueError, match=r"so 1 <= t_q <= t_k: got t_q=6 and t_k=5\. Give at least as many keys"):
        form(zeros(6, 4), zeros(5, 4), zeros(5, 3))


@pytest.mark.parametrize("form", [lambda *qkv: linear_attention(*qkv, causal=True), linear_attention_recurrent])
@pytest.mark.usefixtures("shape_checks_off")
def test_causal_linear_attention_refuses_a_past_that_it_has_no_query_for(form):
    with pytest.raises(ValueError, match=r"one query a key: got 2 queries and 5 keys\. To go on after a past, keep"):
        form(zeros(2, 4), zeros(5, 4), zeros(5, 3))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("state", "query", "key", "value"),
    [
        (None, (2, 4), (2, 5), (2, 3)),
        (None, (2, 4), (2, 4), (1, 3)),
        ((1, 4, 4), (2, 4), (2, 4), (2, 3)),
        ((2, 4, 3), (2, 4), (2, 4), (2, 3)),
    ],
    ids=str,
)
def test_a_step_with_shapes_that_do_not_fit_is_refused(state, query, key, value):
    message = re.escape(f"got query {query}, key {key}, value {value} and state {state}. Give one position")
    with pytest.raises(ValueError, match=message):
        linear_attention_step(None if state is None else zeros(state), zeros(query), zeros(key), zeros(value))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda *qkv: tiled_attention(*qkv, block=0), r"one query and one key: got block=0\. Use 128 to 1024"),
        (lambda *qkv: window_attention(*qkv, 0), r"the query's own position: got size=0\. Use size >= 1"),
        (lambda *qkv: linear_attention(*qkv, chunk=0), r"at least one position: got chunk=0\. Use 16 to 256"),
    ],
    ids=["block", "window", "chunk"],
)
def test_a_block_without_a_position_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(zeros(5, 4), zeros(5, 4), zeros(5, 3))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("shape", [(7,), (2, 7), (7, 5), (5, 1), (3, 1, 7)], ids=str)
def test_a_mask_that_is_not_legal_is_refused(randn, shape):
    inputs = randn(BATCH, T_Q, D_K), randn(BATCH, T_K, D_K), randn(BATCH, T_K, D_V)
    with pytest.raises(ValueError, match=r"a mask of scores \(2, 5, 7\) has shape \(5 or 1, 7\)"):
        tiled_attention(*inputs, torch.ones(shape, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"boolean, True = may look: got torch\.float64"):
        tiled_attention(*inputs, zeros(T_Q, T_K, dtype=torch.float64))
