"""Keys and values in pages: against attention over contiguous ones, and what the pool gives out and takes back."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from companion.efficient import PagedCache
from tests.library.tensors import close, normal

HEADS, D_K, D_V = 3, 5, 7  # all different: a swapped axis cannot pass


def pool(pages=6, size=4):
    return PagedCache(pages=pages, size=size, heads=HEADS, d_k=D_K, d_v=D_V, dtype=torch.float64)


@given(
    order=st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    size=st.integers(1, 5),
    scale=st.sampled_from([1.0, 1e4]),
    seed=st.integers(0, 2**16),
)
def test_attention_over_pages_is_attention_over_contiguous_keys_and_values(order, size, scale, seed):
    randn, cache = normal(seed), pool(pages=30, size=size)
    keys, values = {}, {}
    for name in order:  # the sequences grow in turn, so their pages are mixed
        key, value = randn(HEADS, D_K) * scale, randn(HEADS, D_V)
        cache.append(name, key, value)
        keys.setdefault(name, []).append(key)
        values.setdefault(name, []).append(value)
    for name, rows in keys.items():
        query = randn(HEADS, D_K)
        k, v = torch.stack(rows, 1), torch.stack(values[name], 1)
        want = F.scaled_dot_product_attention(query[:, None], k, v)[:, 0]
        close(cache.attend(name, query), want, atol=1e-12 if scale == 1 else 1e-9)


def test_a_page_is_taken_when_one_is_full_and_given_back_at_the_end():
    randn, cache = normal(0), pool(pages=3, size=2)
    for name in "aab":
        cache.append(name, randn(HEADS, D_K), randn(HEADS, D_V))
    assert (cache.tables, cache.free) == ({"a": [0], "b": [1]}, [2])
    cache.append("a", randn(HEADS, D_K), randn(HEADS, D_V))
    assert (cache.tables["a"], cache.free) == ([0, 2], [])
    cache.release("a")
    assert (cache.tables, cache.lengths, cache.free) == ({"b": [1]}, {"b": 1}, [0, 2])


def test_a_page_that_was_used_before_shows_nothing_of_it():
    randn, cache = normal(1), pool(pages=1, size=3)
    for _ in range(3):
        cache.append("old", randn(HEADS, D_K), randn(HEADS, D_V) * 1e3)
    cache.release("old")
    value = randn(HEADS, D_V)
    cache.append("new", randn(HEADS, D_K), value)
    close(cache.attend("new", randn(HEADS, D_K)), value)


@pytest.mark.usefixtures("shape_checks_off")
def test_bad_input_is_refused():
    cache = pool(pages=1, size=1)
    with pytest.raises(
        ValueError, match=r"a key \(3, 5\) and a value \(3, 7\): got \(3, 7\) and \(3, 5\)\. Append one"
    ):
        cache.append("a", torch.zeros(3, 7), torch.zeros(3, 5))
    cache.append("a", torch.zeros(3, 5), torch.zeros(3, 7))
    with pytest.raises(ValueError, match=r"free page: got none for 'b'\. Release"):
        cache.append("b", torch.zeros(3, 5), torch.zeros(3, 7))
    for call in (cache.release, lambda name: cache.attend(name, torch.zeros(3, 5))):
        with pytest.raises(ValueError, match=r"the sequences \['a'\]: got 'c'\. Append"):
            call("c")
    with pytest.raises(ValueError, match=r"size is a whole number, at least 1: got size=0"):
        pool(size=0)
