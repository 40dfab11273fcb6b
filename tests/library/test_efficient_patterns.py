"""Patterns of sparse attention: what each position sees, how many pairs there are, the kernel, then every refusal."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from companion.attention import attention
from companion.efficient import block_sparse_attention
from companion.efficient.patterns import bigbird, fixed, strided, window_and_global
from companion.masks import causal, window
from companion.measure import peak_bytes
from tests.library.tensors import close, draw

sizes = st.integers(1, 9)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def seen(mask, query):
    return mask[query].nonzero()[:, 0].tolist()


def test_a_stride_shows_the_last_positions_and_every_so_manieth():
    mask = strided(13, 4)
    assert seen(mask, 11) == [3, 7, 8, 9, 10, 11]
    assert seen(mask, 2) == [0, 1, 2]


def test_the_fixed_pattern_shows_the_own_segment_and_the_ends_of_those_before():
    mask = fixed(13, 4, summaries=2)
    assert seen(mask, 9) == [2, 3, 6, 7, 8, 9]
    assert seen(mask, 12) == [2, 3, 6, 7, 10, 11, 12]


@given(n=sizes, stride=sizes)
def test_with_a_stride_of_everything_the_patterns_are_causal_attention(n, stride):
    assert torch.equal(strided(n, n), causal(n))
    assert torch.equal(fixed(n, n + stride), causal(n))
    assert torch.equal(strided(n, 1), causal(n))


@given(n=sizes, size=sizes, n_global=st.integers(1, 4))
def test_a_window_with_global_tokens_is_the_window_with_full_rows_and_columns(n, size, n_global):
    mask = window_and_global(n, size, n_global)
    assert mask[:n_global].all()
    assert mask[:, :n_global].all()
    assert torch.equal(mask[n_global:, n_global:], window(n, size, causal=False)[n_global:, n_global:])


@given(n=sizes, n_random=sizes, seed=st.integers(0, 99))
def test_each_query_of_bigbird_gets_so_many_keys_more(n, n_random, seed):
    before, after = window_and_global(n, 2, 1), bigbird(n, 2, 1, n_random, generator(seed))
    assert (after >= before).all()
    added = after.sum(dim=-1) - before.sum(dim=-1)
    assert torch.equal(added, (n - before.sum(dim=-1)).clamp(max=n_random))


def test_another_seed_draws_other_keys():
    assert not torch.equal(bigbird(32, 2, 1, 2, generator(0)), bigbird(32, 2, 1, 2, generator(1)))


LAYOUTS = {
    "strided": (strided(7, 2), True),
    "fixed": (fixed(7, 3), True),
    "global": (window_and_global(7, 1, 1), False),
    "bigbird": (bigbird(7, 2, 1, 2, generator()), False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_kernel_equals_attention_under_the_mask(name):
    layout, is_causal = LAYOUTS[name]
    mask = layout.repeat_interleave(5, 0).repeat_interleave(5, 1)
    q, k, v = draw(0, (2, 3, 35, 11), (2, 3, 35, 11), (2, 3, 35, 13))
    mask = mask.tril() if is_causal else mask
    close(block_sparse_attention(q, k, v, layout, causal=is_causal), attention(q, k, v, mask))


def test_the_kernel_multiplies_only_the_blocks_of_the_layout():
    layout = strided(16, 4)
    q, k, v = draw(0, (64, 8), (64, 8), (64, 8))
    with FlopCounterMode(display=False) as counter:
        block_sparse_attention(q, k, v, layout, causal=True)
    assert counter.get_total_flops() == 4 * 8 * 4 * 4 * int(layout.sum())


def test_the_memory_of_the_kernel_grows_with_the_length_and_not_its_square():
    peaks = []
    for blocks in (16, 64):
        q, k, v = torch.zeros(3, blocks * 16, 8)
        layout = window(blocks, 3)
        peaks.append(peak_bytes(lambda q=q, k=k, v=v, layout=layout: block_sparse_attention(q, k, v, layout)))
    assert peaks[1] / peaks[0] < 5


@pytest.mark.usefixtures("shape_checks_off")
def test_a_layout_that_does_not_fit_is_refused():
    q = torch.zeros(10, 4)
    with pytest.raises(ValueError, match=r"got layout \(3, 3\), 10 queries and 10 keys\. Pad them"):
        block_sparse_attention(q, q, q, torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"got layout \(2, 5\), 10 queries"):
        block_sparse_attention(q, q, q, torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="10 queries and 20 keys"):
        block_sparse_attention(q, q.repeat(2, 1), q.repeat(2, 1), torch.ones(5, 5, dtype=torch.bool))


def test_a_block_of_queries_without_a_key_is_refused():
    q, layout = torch.zeros(6, 4), torch.ones(3, 3, dtype=torch.bool).triu(1)
    with pytest.raises(ValueError, match=r"got none in row 2\. Allow the diagonal"):
        block_sparse_attention(q, q, q, layout)
    with pytest.raises(ValueError, match=r"got none in row 0\."):
        block_sparse_attention(q, q, q, layout.logical_or(layout.mT.roll(1)), causal=True)


def test_more_summaries_than_positions_are_refused():
    with pytest.raises(ValueError, match=r"a segment of 3 has at most 3 summaries: got 4\. Take fewer"):
        fixed(9, 3, summaries=4)
