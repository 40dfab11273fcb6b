"""FlashAttention that counts: equal to attention and its gradients, and exactly the numbers moved that one expects."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from companion.attention import attention
from companion.efficient import tiled_attention
from companion.efficient.traffic import (
    Memory,
    flash_backward,
    flash_forward,
    standard_backward,
    standard_forward,
    tile_sizes,
)
from tests.library.tensors import close, draw, value_and_gradients


def standard(query, key, value, upstream, memory):
    output, weights = standard_forward(query, key, value, memory)
    return output, *standard_backward(query, key, value, weights, upstream, memory)


def flash(query, key, value, upstream, memory, sram=40):
    output, log_sum = flash_forward(query, key, value, sram, memory)
    return output, *flash_backward(query, key, value, output, log_sum, upstream, sram, memory)


@given(t_q=st.integers(1, 9), t_k=st.integers(1, 9), d=st.integers(1, 5), more=st.integers(0, 99))
def test_output_and_gradients_are_those_of_attention(t_q, t_k, d, more):
    *inputs, upstream = draw(more, (2, t_q, d), (2, t_k, d), (2, t_k, d), (2, t_q, d))
    leaves = [x.clone().requires_grad_() for x in inputs]
    want = value_and_gradients(attention, leaves, upstream)
    for got in (standard(*inputs, upstream, Memory()), flash(*inputs, upstream, Memory(), 4 * d + more)):
        for one, other, name in zip(got, want, ("output", "query", "key", "value"), strict=True):
            close(one, other.detach(), name)


def test_the_gradient_is_that_of_finite_differences():
    class Flash(torch.autograd.Function):
        @staticmethod
        def forward(ctx, query, key, value):
            output, log_sum = flash_forward(query, key, value, 24, Memory())
            ctx.save_for_backward(query, key, value, output, log_sum)
            return output

        @staticmethod
        def backward(ctx, upstream):
            return flash_backward(*ctx.saved_tensors, upstream, 24, Memory())

    inputs = [x.requires_grad_() for x in draw(0, (5, 3), (7, 3), (7, 3))]
    assert torch.autograd.gradcheck(Flash.apply, inputs)


def test_large_scores_do_not_overflow():
    query, key, value = draw(0, (6, 4), (9, 4), (9, 4))
    close(flash_forward(1e3 * query, key, value, 32, Memory())[0], tiled_attention(1e3 * query, key, value), atol=1e-10)


@pytest.mark.parametrize(("n", "d", "sram"), [(4, 1, 8), (10, 2, 24), (64, 8, 256), (100, 8, 256)])
def test_the_numbers_moved_are_those_of_the_formulas(n, d, sram):
    inputs = draw(0, *[(n, d)] * 3)
    upstream, blocks = inputs[0], math.ceil(n / (sram // (4 * d)))
    memory = Memory()
    output, weights = standard_forward(*inputs, memory)
    assert (memory.read, memory.written) == (3 * n * d + 2 * n * n, n * d + 2 * n * n)
    memory = Memory()
    standard_backward(*inputs, weights, upstream, memory)
    assert (memory.read, memory.written) == (5 * n * d + 5 * n * n, 3 * n * d + 2 * n * n)
    memory = Memory()
    output, log_sum = flash_forward(*inputs, sram, memory)
    assert memory.read == 2 * n * d + blocks * (2 * n * d + n)
    assert memory.written == n * d + n + blocks * (n * d + n)
    memory = Memory()
    outside = flash_forward(*inputs, sram, memory, queries_outside=True)
    assert (memory.read, memory.written) == (n * d + blocks * 2 * n * d, n * d + n)
    for one, other, name in zip(outside, (output, log_sum), ("output", "log-sum-exp"), strict=True):
        close(one, other, name)
    memory = Memory()
    flash_backward(*inputs, output, log_sum, upstream, sram, memory)
    assert memory.read == 2 * n * d + blocks * (4 * n * d + n)
    assert memory.written == 3 * n * d + blocks * n * d


def test_forward_takes_two_products_and_backward_five_where_stored_weights_take_four():
    n, d = 16, 4
    *inputs, upstream = draw(0, *[(n, d)] * 4)
    flops = {}
    for function in (standard, flash):
        with FlopCounterMode(display=False) as counter:
            function(*inputs, upstream, Memory())
        flops[function] = counter.get_total_flops()
    product = 2 * n * n * d
    assert flops == {standard: 6 * product, flash: 7 * product}


@pytest.mark.parametrize(("sram", "d", "sizes"), [(8, 1, (1, 2)), (4, 1, (1, 1)), (100, 4, (4, 6)), (60, 5, (3, 3))])
def test_the_tiles_are_those_of_the_paper(sram, d, sizes):
    assert tile_sizes(sram, d) == sizes


def test_nothing_is_written_into_the_arguments():
    *inputs, upstream = draw(0, *[(5, 3)] * 4)
    before = [x.clone() for x in (*inputs, upstream)]
    flash(*inputs, upstream, Memory())
    for now, then in zip((*inputs, upstream), before, strict=True):
        assert torch.equal(now, then)


def test_a_chip_too_small_for_a_single_pair_is_refused():
    with pytest.raises(ValueError, match=r"take 16 numbers on the chip: got sram=15"):
        tile_sizes(15, 4)
    with pytest.raises(ValueError, match=r"sram is a whole number"):
        tile_sizes(0, 4)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("function", [standard_forward, lambda *x: flash_forward(*x[:3], 40, x[3])])
def test_values_of_another_width_are_refused(function):
    with pytest.raises(ValueError, match=r"keys and values have one width here"):
        function(*draw(0, (5, 3), (5, 3), (5, 2)), Memory())
    with pytest.raises(ValueError, match=r"same width d_k: got query \(5, 3\) and key \(5, 2\)"):
        function(*draw(0, (5, 3), (5, 2), (5, 2)), Memory())


@pytest.mark.usefixtures("shape_checks_off")
def test_a_tensor_stored_in_a_place_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"a place of its shape: got \(3,\) for \(2, 3\)"):
        Memory().store(torch.empty(2, 3), torch.ones(3))
