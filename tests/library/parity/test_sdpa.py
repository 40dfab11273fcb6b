"""Parity with torch's `scaled_dot_product_attention`: values and gradients, in float64, over every legal mask."""

import pytest
import torch
import torch.nn.functional as F

from companion.attention import attention, attention_weights
from companion.masks import causal
from tests.library.tensors import value_and_gradients

BATCH, HEADS, T_Q, T_K, D_K, D_V = 2, 3, 5, 7, 11, 13  # all different: a swapped axis cannot pass
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding, ten below a missing scale

MASKS = {
    (): [None, (T_Q, T_K), (1, T_K)],
    (BATCH,): [None, (T_Q, T_K), (1, T_K), (BATCH, T_Q, T_K), (BATCH, 1, T_K), (1, T_Q, T_K)],
    (BATCH, HEADS): [
        None,
        (T_Q, T_K),
        (1, T_K),
        (BATCH, HEADS, T_Q, T_K),
        (BATCH, 1, T_Q, T_K),
        (1, HEADS, T_Q, T_K),
        (BATCH, 1, 1, T_K),
        (1, HEADS, 1, T_K),
        (1, 1, T_Q, T_K),
        (1, 1, 1, T_K),
    ],
}
CASES = [(leading, shape) for leading, shapes in MASKS.items() for shape in shapes]


def draw_inputs(randn, leading, t_q=T_Q):
    shapes = (t_q, D_K), (T_K, D_K), (T_K, D_V)
    return [randn(*leading, *shape, requires_grad=True) for shape in shapes]


def assert_parity(ours, theirs, inputs, upstream):
    got, want = value_and_gradients(ours, inputs, upstream), value_and_gradients(theirs, inputs, upstream)
    for name, ours_, theirs_ in zip(("output", "query", "key", "value"), got, want, strict=True):
        torch.testing.assert_close(ours_, theirs_, rtol=0, atol=ATOL, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("scale", [None, 0.7])
@pytest.mark.parametrize("empty_row", [False, True], ids=["each row has a key", "a row without a key"])
@pytest.mark.parametrize(("leading", "shape"), CASES, ids=str)
def test_values_and_gradients_equal_those_of_torch(randn, random_mask, leading, shape, empty_row, scale):
    inputs, upstream = draw_inputs(randn, leading), randn(*leading, T_Q, D_V)
    mask = None if shape is None else random_mask(*shape)
    if mask is not None:
        mask[..., 0] = True
        if empty_row:
            mask[..., mask.shape[-2] // 2, :] = False
    assert_parity(
        lambda *qkv: attention(*qkv, mask, scale=scale),
        lambda *qkv: F.scaled_dot_product_attention(*qkv, attn_mask=mask, scale=scale),
        inputs,
        upstream,
    )


@pytest.mark.parametrize("leading", list(MASKS), ids=str)
def test_causal_equals_is_causal_where_there_are_as_many_queries_as_keys(randn, leading):
    assert_parity(
        lambda *qkv: attention(*qkv, causal(T_K)),
        lambda *qkv: F.scaled_dot_product_attention(*qkv, is_causal=True),
        draw_inputs(randn, leading, t_q=T_K),
        randn(*leading, T_K, D_V),
    )


def test_causal_with_more_keys_aligns_the_last_query_and_is_causal_the_first(randn):
    """The difference that `masks.causal` documents: torch's first query sees one key, ours sees the whole past."""
    query, key, value = draw_inputs(randn, ())
    ours = attention(query, key, value, causal(T_Q, T_K))
    theirs = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(theirs[0], value[0], rtol=0, atol=ATOL)
    first = torch.ones(T_Q, T_K, dtype=torch.bool).tril()
    torch.testing.assert_close(attention(query, key, value, first), theirs, rtol=0, atol=ATOL)
    past = T_K - T_Q + 1
    torch.testing.assert_close(ours[0], attention(query[:1], key[:past], value[:past])[0], rtol=0, atol=ATOL)
    assert ((ours - theirs).abs().amax(dim=-1) > 0.01).all()


def test_torch_reads_a_boolean_mask_as_we_do_and_gives_zeros_for_a_row_without_a_key(randn):
    """A fact about torch that the chapter states: True = may look, and a row that may look at nothing gives 0."""
    query, key, value = draw_inputs(randn, ())
    mask = torch.zeros(T_Q, T_K, dtype=torch.bool)
    mask[0, 3] = True
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(output[0], value[3], rtol=0, atol=ATOL)
    assert (output[1:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_agrees_with_torch_to_its_rounding(randn, random_mask, assert_agrees, dtype):
    inputs = [x.detach().to(dtype) for x in draw_inputs(randn, (BATCH,))]
    # Two results of unit size, each rounded some ten times on the way: ten units in the last place.
    atol = 10 * torch.finfo(dtype).eps
    mask = random_mask(T_Q, T_K)
    assert_agrees(attention, F.scaled_dot_product_attention, *inputs, mask, rtol=0, atol=atol)


def test_a_comparison_that_fails_by_rounding_is_named_so(randn, assert_agrees):
    """Tolerance 0 in float32: keys in another order add up in another order, and in float64 hardly differ."""
    inputs = [x.detach().float() for x in draw_inputs(randn, (BATCH, HEADS))]
    with pytest.raises(AssertionError, match=r"in torch\.float32 and .* in float64: rounding: argue"):
        assert_agrees(attention, lambda q, k, v: attention(q, k.flip(-2), v.flip(-2)), *inputs, rtol=0, atol=0)


def test_a_comparison_that_fails_by_a_fault_is_named_a_bug(randn, assert_agrees):
    inputs = [x.detach().float() for x in draw_inputs(randn, (BATCH, HEADS))]
    with pytest.raises(AssertionError, match=r"in float64: a bug: leave the tolerance"):
        assert_agrees(attention, lambda q, k, v: attention(q, k, v, scale=1.0), *inputs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(T_Q, T_K), (HEADS, T_Q, T_K), (HEADS, 1, T_K), (BATCH, 1, T_Q, T_K), (1,)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_a_bias_is_what_torch_calls_a_mask_of_numbers(randn, random_mask, shape, masked):
    *inputs, value = draw_inputs(randn, (BATCH, HEADS))
    bias, upstream = randn(*shape, requires_grad=True), randn(BATCH, HEADS, T_Q, D_V)
    mask = random_mask(T_Q, T_K).index_fill(1, torch.tensor(0), True) if masked else None
    added = bias.expand(BATCH, HEADS, T_Q, T_K)
    hidden = added if mask is None else added.masked_fill(~mask, -torch.inf)
    theirs = F.scaled_dot_product_attention(*inputs, value, attn_mask=hidden)
    ours = attention_weights(*inputs, mask, bias=bias) @ value
    wrt = (*inputs, value, bias)
    got, want = (torch.autograd.grad(output, wrt, upstream, retain_graph=True) for output in (ours, theirs))
    for ours_, theirs_ in zip((ours, *got), (theirs, *want), strict=True):
        torch.testing.assert_close(ours_, theirs_, rtol=0, atol=ATOL)
