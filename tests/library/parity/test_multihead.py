"""Parity of multi-head attention in float64, values and gradients: with torch's module, and of the two kernels."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from companion.attention import attention, attention_weights
from companion.masks import and_masks, causal, padding
from companion.multihead import KERNELS, MultiHeadAttention, merge_heads, reference, sdpa, split_heads
from companion.positional import ALiBi, RotaryPosition, T5Bias, TransformerXLPosition
from tests.library.tensors import close, redraw

BATCH, HEADS, D_K, T_Q, T_K, D_MEMORY, D_V = 2, 3, 4, 5, 7, 11, 13  # all different: a swapped axis cannot pass
D_MODEL = HEADS * D_K
each_kernel = pytest.mark.parametrize("kernel", list(KERNELS))


def all_close(got, want):
    for ours, theirs in zip(got, want, strict=True):
        close(ours, theirs)


def legal_masks(t_q, t_k):
    return [None, (t_q, t_k), (1, t_k), (BATCH, t_q, t_k), (BATCH, 1, t_k), (1, t_q, t_k), (1, 1, t_k)]


def draw_mask(random_mask, shape):
    return None if shape is None else random_mask(*shape).index_fill(-1, torch.tensor(0), True)  # each row has a key


# The layer and torch's


def twins(randn, *, d_memory=None, bias=True, kernel="sdpa"):
    """Make torch's layer and ours with the same weights."""
    widths = {} if d_memory is None else {"kdim": d_memory, "vdim": d_memory}
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True, dtype=torch.float64, **widths)
    ours = MultiHeadAttention(D_MODEL, HEADS, d_memory=d_memory, bias=bias, kernel=kernel).double()
    redraw(theirs, randn)
    with torch.no_grad():
        for our_tensor, their_tensor in zip(tensors_of_ours(ours), tensors_of_torch(theirs), strict=True):
            our_tensor.copy_(their_tensor)
    return ours, theirs


def tensors_of_ours(layer, read=lambda parameter: parameter):
    projections = (layer.w_q, layer.w_k, layer.w_v, layer.w_o)
    offsets = [] if layer.w_o.bias is None else [read(linear.bias) for linear in projections]
    return [read(linear.weight) for linear in projections] + offsets


def tensors_of_torch(layer, read=lambda parameter: parameter):
    """Return weights and biases of q, k, v and the output; torch packs the first three only where all widths agree."""
    packed = layer.in_proj_weight is not None
    separate = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    weights = read(layer.in_proj_weight).chunk(3) if packed else [read(weight) for weight in separate]
    if layer.in_proj_bias is None:
        return [*weights, read(layer.out_proj.weight)]
    return [*weights, read(layer.out_proj.weight), *read(layer.in_proj_bias).chunk(3), read(layer.out_proj.bias)]


def hidden_from_torch(mask, t_q, t_k):
    """Turn our mask into torch's: True = hide, and (batch * heads, t_q, t_k) where there is a batch axis."""
    if mask is None:
        return None
    return ~mask.expand(t_q, t_k) if mask.ndim == 2 else ~mask[:, None].expand(BATCH, HEADS, t_q, t_k).flatten(0, 1)


def assert_twins_agree(ours, theirs, got, want, inputs, upstream):
    """Compare outputs, the gradients of the inputs, and those of every parameter."""
    close(got, want)
    gradients = [torch.autograd.grad(output, inputs, upstream, retain_graph=True) for output in (got, want)]
    all_close(*gradients)
    got.backward(upstream)
    want.backward(upstream)
    all_close(tensors_of_ours(ours, lambda p: p.grad), tensors_of_torch(theirs, lambda p: p.grad))


@each_kernel
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("shape", legal_masks(T_Q, T_K), ids=str)
@pytest.mark.parametrize("d_memory", [None, D_MEMORY])
def test_cross_attention_equals_that_of_torch(randn, random_mask, kernel, need_weights, shape, d_memory):
    ours, theirs = twins(randn, d_memory=d_memory, kernel=kernel)
    x, memory = (randn(BATCH, *size, requires_grad=True) for size in ((T_Q, D_MODEL), (T_K, d_memory or D_MODEL)))
    mask = draw_mask(random_mask, shape)
    hidden = hidden_from_torch(mask, T_Q, T_K)
    want, _ = theirs(x, memory, memory, attn_mask=hidden, need_weights=need_weights)
    assert_twins_agree(ours, theirs, ours(x, memory, mask), want, [x, memory], randn(BATCH, T_Q, D_MODEL))


@each_kernel
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", legal_masks(T_K, T_K), ids=str)
def test_self_attention_equals_that_of_torch(randn, random_mask, kernel, need_weights, bias, shape):
    ours, theirs = twins(randn, bias=bias, kernel=kernel)
    x, mask = randn(BATCH, T_K, D_MODEL, requires_grad=True), draw_mask(random_mask, shape)
    hidden = hidden_from_torch(mask, T_K, T_K)
    want, _ = theirs(x, x, x, attn_mask=hidden, need_weights=need_weights)
    assert_twins_agree(ours, theirs, ours(x, mask=mask), want, [x], randn(BATCH, T_K, D_MODEL))


@each_kernel
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_causal_self_attention_equals_that_of_torch(randn, kernel, need_weights, padded):
    ours, theirs = twins(randn, kernel=kernel)
    x, mask = randn(BATCH, T_K, D_MODEL, requires_grad=True), padding([4, 6], T_K) if padded else None
    want, _ = theirs(
        x,
        x,
        x,
        attn_mask=~causal(T_K),
        key_padding_mask=~mask[:, 0] if padded else None,
        is_causal=not padded,
        need_weights=need_weights,
    )
    assert_twins_agree(ours, theirs, ours(x, mask=mask, causal=True), want, [x], randn(BATCH, T_K, D_MODEL))


@each_kernel
def test_causal_attention_to_a_longer_memory_puts_the_last_query_at_the_last_key(randn, kernel):
    ours, theirs = twins(randn, d_memory=D_MEMORY, kernel=kernel)
    x, memory = randn(BATCH, T_Q, D_MODEL, requires_grad=True), randn(BATCH, T_K, D_MEMORY, requires_grad=True)
    want, _ = theirs(x, memory, memory, attn_mask=~causal(T_Q, T_K))
    got = ours(x, memory, causal=True)
    assert_twins_agree(ours, theirs, got, want, [x, memory], randn(BATCH, T_Q, D_MODEL))


@each_kernel
@pytest.mark.parametrize("shape", legal_masks(T_Q, T_K), ids=str)
def test_the_weights_are_those_that_torch_returns(randn, random_mask, kernel, shape):
    ours, theirs = twins(randn, kernel=kernel)
    x, memory, mask = randn(BATCH, T_Q, D_MODEL), randn(BATCH, T_K, D_MODEL), draw_mask(random_mask, shape)
    hidden = hidden_from_torch(mask, T_Q, T_K)
    _, want = theirs(x, memory, memory, attn_mask=hidden, average_attn_weights=False)
    close(ours.weights(x, memory, mask), want)


# The two kernels, and torch's own grouped queries


def draw_heads(randn, n_heads, n_kv_heads, d_v=D_V, t_q=T_Q):
    shapes = (n_heads, t_q, D_K), (n_kv_heads, T_K, D_K), (n_kv_heads, T_K, d_v)
    return [randn(BATCH, *shape, requires_grad=True) for shape in shapes]


def draw_kernel_mask(random_mask, shape, empty_row):
    mask = draw_mask(random_mask, shape)
    if mask is not None and empty_row:
        mask[..., mask.shape[-2] // 2, :] = False
    return mask


def with_gradients(output, inputs, upstream):
    return [output, *torch.autograd.grad(output, inputs, upstream)]


SHARED = [(6, 6), (6, 3), (6, 2), (6, 1)]  # query heads, key-value heads
KERNEL_MASKS = [
    None,
    (T_Q, T_K),
    (1, T_K),
    *[(b, h, t, T_K) for b in (1, BATCH) for h in (1, 6) for t in (1, T_Q)],
]


@each_kernel
@pytest.mark.parametrize(("n_heads", "n_kv_heads"), SHARED)
@pytest.mark.parametrize("d_v", [D_K, D_V])
@pytest.mark.parametrize("empty_row", [False, True], ids=["each row has a key", "a row without a key"])
@pytest.mark.parametrize("shape", KERNEL_MASKS, ids=str)
def test_a_kernel_equals_torchs_function(randn, random_mask, kernel, n_heads, n_kv_heads, d_v, empty_row, shape):
    inputs, upstream = draw_heads(randn, n_heads, n_kv_heads, d_v), randn(BATCH, n_heads, T_Q, d_v)
    mask = draw_kernel_mask(random_mask, shape, empty_row)
    want = F.scaled_dot_product_attention(*inputs, attn_mask=mask, enable_gqa=n_heads != n_kv_heads)
    got = KERNELS[kernel](*inputs, mask)
    all_close(with_gradients(got, inputs, upstream), with_gradients(want, inputs, upstream))


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), SHARED)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("bias", [None, (T_Q, T_K), (6, 1, T_K), (1, 6, T_Q, T_K), (BATCH, 6, T_Q, T_K)], ids=str)
@pytest.mark.parametrize("shape", [None, (T_Q, T_K), (BATCH, 1, 1, T_K)], ids=str)
def test_the_sdpa_kernel_equals_the_reference(randn, random_mask, n_heads, n_kv_heads, is_causal, bias, shape):
    inputs, upstream = draw_heads(randn, n_heads, n_kv_heads), randn(BATCH, n_heads, T_Q, D_V)
    mask, added = draw_kernel_mask(random_mask, shape, True), [] if bias is None else [randn(*bias, requires_grad=True)]
    options = {"bias": added[0] if added else None, "causal": is_causal}
    got, want = (
        with_gradients(kernel(*inputs, mask, **options), [*inputs, *added], upstream) for kernel in (sdpa, reference)
    )
    all_close(got, want)


@each_kernel
@pytest.mark.parametrize(("n_heads", "n_kv_heads"), SHARED)
def test_causal_equals_is_causal_where_there_are_as_many_queries_as_keys(randn, kernel, n_heads, n_kv_heads):
    inputs, upstream = draw_heads(randn, n_heads, n_kv_heads, t_q=T_K), randn(BATCH, n_heads, T_K, D_V)
    grouped = n_heads != n_kv_heads
    want = F.scaled_dot_product_attention(*inputs, is_causal=True, enable_gqa=grouped)
    got = KERNELS[kernel](*inputs, causal=True)
    all_close(with_gradients(got, inputs, upstream), with_gradients(want, inputs, upstream))


# The layer's variants, each against the layer or the formula


@each_kernel
@pytest.mark.parametrize("n_kv_heads", [1, 2, 3])
def test_grouped_queries_are_multi_head_attention_with_the_key_value_heads_repeated(randn, kernel, n_kv_heads):
    """The gradient of a shared head is the sum over those that share it."""
    n_heads, repeats = 6, 6 // n_kv_heads
    grouped = MultiHeadAttention(D_MODEL, n_heads, n_kv_heads=n_kv_heads, d_k=D_K, d_v=D_V, kernel=kernel).double()
    full = MultiHeadAttention(D_MODEL, n_heads, d_k=D_K, d_v=D_V, kernel="reference").double()
    redraw(grouped, randn)
    with torch.no_grad():
        for name, parameter in full.named_parameters():
            shared = grouped.get_parameter(name)
            if name.startswith(("w_k", "w_v")):
                shared = shared.unflatten(0, (n_kv_heads, -1)).repeat_interleave(repeats, dim=0).flatten(0, 1)
            parameter.copy_(shared)
    x, upstream = randn(BATCH, T_Q, D_MODEL, requires_grad=True), randn(BATCH, T_Q, D_MODEL)
    got, want = grouped(x, causal=True), full(x, causal=True)
    close(got, want)
    all_close(*(torch.autograd.grad(output, x, upstream, retain_graph=True) for output in (got, want)))
    got.backward(upstream)
    want.backward(upstream)
    for name, parameter in full.named_parameters():
        gradient = parameter.grad
        if name.startswith(("w_k", "w_v")):
            gradient = gradient.unflatten(0, (n_kv_heads, repeats, -1)).sum(dim=1).flatten(0, 1)
        close(grouped.get_parameter(name).grad, gradient)


@each_kernel
def test_a_layer_with_widths_of_its_own_is_the_formula_head_by_head(randn, random_mask, kernel):
    """Written as in the paper: each head has its projections, and the heads are concatenated."""
    layer = redraw(
        MultiHeadAttention(D_MODEL, HEADS, d_k=D_K + 1, d_v=D_V, d_memory=D_MEMORY, kernel=kernel).double(), randn
    )
    x, memory, mask = randn(BATCH, T_Q, D_MODEL), randn(BATCH, T_K, D_MEMORY), random_mask(BATCH, T_Q, T_K)
    found = []
    for head in range(HEADS):
        keys, values = slice(head * (D_K + 1), (head + 1) * (D_K + 1)), slice(head * D_V, (head + 1) * D_V)
        query = x @ layer.w_q.weight[keys].mT + layer.w_q.bias[keys]
        key = memory @ layer.w_k.weight[keys].mT + layer.w_k.bias[keys]
        value = memory @ layer.w_v.weight[values].mT + layer.w_v.bias[values]
        found.append(attention(query, key, value, mask))
    close(layer(x, memory, mask), torch.cat(found, dim=-1) @ layer.w_o.weight.mT + layer.w_o.bias)


SCHEMES = {
    "none": lambda n_heads, d_k: None,
    "rope": lambda n_heads, d_k: RotaryPosition(d_k),
    "rope-interleaved": lambda n_heads, d_k: RotaryPosition(d_k, layout="interleaved"),
    "alibi": lambda n_heads, d_k: ALiBi(n_heads),
    "t5": lambda n_heads, d_k: T5Bias(n_heads, buckets=6, max_distance=5, causal=False),
    "transformer-xl": lambda n_heads, d_k: TransformerXLPosition(n_heads, d_k, 10),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_kv_heads", [2, 6])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [None, (BATCH, 1, T_K), (T_K, T_K)], ids=str)
def test_with_a_position_scheme_both_kernels_agree(randn, random_mask, scheme, n_kv_heads, is_causal, shape):
    make = {"n_kv_heads": n_kv_heads, "d_k": D_K, "d_v": D_V, "position": SCHEMES[scheme](6, D_K)}
    layers = [MultiHeadAttention(D_MODEL, 6, kernel=kernel, **make).double() for kernel in ("sdpa", "reference")]
    redraw(layers[0], randn)
    layers[1].load_state_dict(layers[0].state_dict())
    x, upstream = randn(BATCH, T_K, D_MODEL, requires_grad=True), randn(BATCH, T_K, D_MODEL)
    mask = None if shape is None else random_mask(*shape)
    got, want = (
        with_gradients(layer(x, mask=mask, causal=is_causal), [x, *layer.parameters()], upstream) for layer in layers
    )
    all_close(got, want)


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_kv_heads", [2, 6])
def test_a_scheme_changes_queries_and_keys_and_adds_its_bias(randn, kernel, scheme, n_kv_heads):
    position = SCHEMES[scheme](6, D_K)
    make = {"n_kv_heads": n_kv_heads, "d_k": D_K, "d_v": D_V, "kernel": kernel, "position": position}
    layer, x = redraw(MultiHeadAttention(D_MODEL, 6, **make).double(), randn), randn(BATCH, T_K, D_MODEL)
    query = split_heads(layer.w_q(x), 6)
    key, value = (
        split_heads(w(x), n_kv_heads).repeat_interleave(6 // n_kv_heads, dim=1) for w in (layer.w_k, layer.w_v)
    )
    bias = None
    if position is not None:
        query, key = position.embed(query, 0), position.embed(key, 0)
        bias = position.bias(query, key)
    close(layer(x), layer.w_o(merge_heads(attention_weights(query, key, bias=bias) @ value)))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_output_is_the_projected_average_of_the_values_by_the_weights(randn, random_mask, scheme, is_causal):
    layer = redraw(MultiHeadAttention(D_MODEL, HEADS, d_v=D_V, position=SCHEMES[scheme](HEADS, D_K)).double(), randn)
    x, mask = randn(BATCH, T_K, D_MODEL), random_mask(BATCH, T_K, T_K)
    weights = layer.weights(x, mask=mask, causal=is_causal)
    averages = weights @ split_heads(layer.w_v(x), HEADS)
    close(layer.w_o(merge_heads(averages)), layer(x, mask=mask, causal=is_causal))


# One head without projections, whose masks mean the opposite of ours


@pytest.fixture
def bare():
    layer = nn.MultiheadAttention(D_MEMORY, num_heads=1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D_MEMORY).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D_MEMORY))
    return layer


@pytest.fixture
def inputs(randn):
    return [randn(BATCH, t, D_MEMORY, requires_grad=True) for t in (T_Q, T_K, T_K)]


@pytest.mark.parametrize("masked", [False, True])
def test_one_head_without_projections_is_our_attention(bare, inputs, random_mask, randn, masked):
    mask = draw_mask(random_mask, (T_Q, T_K)) if masked else None
    output, weights = bare(*inputs, attn_mask=None if mask is None else ~mask)  # True = hide
    close(attention_weights(*inputs[:2], mask), weights)
    upstream = randn(BATCH, T_Q, D_MEMORY)
    ours = with_gradients(attention(*inputs, mask), inputs, upstream)
    all_close(ours, with_gradients(output, inputs, upstream))


def test_a_key_padding_mask_is_the_negation_of_our_padding(bare, inputs):
    mask = padding([4, 6], T_K)
    close(attention(*inputs, mask), bare(*inputs, key_padding_mask=~mask[:, 0])[0])
    both = and_masks(causal(T_Q, T_K), mask)
    close(attention(*inputs, both), bare(*inputs, key_padding_mask=~mask[:, 0], attn_mask=~causal(T_Q, T_K))[0])


def test_our_mask_without_the_negation_gives_another_output(bare, inputs):
    mask = causal(T_Q, T_K)
    assert not torch.allclose(attention(*inputs, mask)[:, :-1], bare(*inputs, attn_mask=mask)[0][:, :-1])


def test_a_row_without_a_key_is_nan_there_and_zero_here(bare, inputs):
    """A fact about torch: with `need_weights=True`, its default, the row is NaN; without, cross-attention gives 0."""
    mask = torch.ones(T_Q, T_K, dtype=torch.bool)
    mask[2] = False
    output, weights = bare(*inputs, attn_mask=~mask)
    assert output[:, 2].isnan().all()
    assert weights[:, 2].isnan().all()
    close(attention(*inputs, mask)[:, [0, 1, 3, 4]], output[:, [0, 1, 3, 4]])
    assert (attention(*inputs, mask)[:, 2] == 0).all()
    assert (bare(*inputs, attn_mask=~mask, need_weights=False)[0][:, 2] == 0).all()


@pytest.mark.parametrize("gradients", [True, False])
def test_the_fast_path_of_torchs_module_gives_nan_where_its_other_path_gives_zeros(randn, gradients):
    """A fact about torch 2.13: self-attention in evaluation mode without gradients takes a path of its own."""
    module = torch.nn.MultiheadAttention(4, num_heads=2, batch_first=True).eval()
    x, hidden = randn(1, 3, 4).float(), torch.tensor([[False, True, True], [False, False, True], [True, True, True]])
    with torch.set_grad_enabled(gradients):
        row = module(x, x, x, attn_mask=hidden, need_weights=False)[0][0, 2]
    assert (row == 0).all() if gradients else row.isnan().all()
