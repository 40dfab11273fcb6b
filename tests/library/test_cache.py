"""The key-value cache: what it holds, how often it copies, and what it refuses."""

import re
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from companion.cache import DecoderCache, KeyValueCache

BATCH, HEADS, T, D_K, D_V = 2, 3, 5, 7, 11  # all different: a swapped axis cannot pass
chunks = st.lists(st.integers(1, 9), min_size=1, max_size=8)
zeros = torch.zeros


def draw(randn, t, batch=BATCH):
    return randn(batch, HEADS, t, D_K), randn(batch, HEADS, t, D_V)


# What it holds


@given(sizes=chunks, room=st.integers(0, 3), bounded=st.booleans())
def test_appending_in_chunks_is_joining_them(randn, sizes, room, bounded):
    cache = KeyValueCache(sum(sizes) + room if bounded else None)
    parts = [draw(randn, t) for t in sizes]
    for number, (key, value) in enumerate(parts, start=1):
        keys, values = cache.append(key, value)
        assert torch.equal(keys, torch.cat([part[0] for part in parts[:number]], dim=2))
        assert torch.equal(values, torch.cat([part[1] for part in parts[:number]], dim=2))
        assert cache.length == sum(sizes[:number])
    assert torch.equal(cache.keys, keys)
    assert torch.equal(cache.values, values)


def test_what_was_returned_earlier_never_changes(randn):
    cache, seen = KeyValueCache(), []
    for _ in range(40):  # over two changes of the buffer
        tensors = cache.append(*draw(randn, 1))
        seen += [(tensor, tensor.clone()) for tensor in tensors]
    cache.reorder(torch.tensor([1, 1]))
    cache.append(*draw(randn, 1))
    assert all(torch.equal(tensor, copy) for tensor, copy in seen)


def test_the_cache_keeps_a_copy_and_not_the_tensors_that_came(randn):
    cache, (key, value) = KeyValueCache(), draw(randn, T)
    want = key.clone(), value.clone()
    keys, values = cache.append(key, value)
    key.zero_()
    value.zero_()
    assert torch.equal(keys, want[0])
    assert torch.equal(values, want[1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_keys_and_values_keep_their_dtype(randn, dtype):
    cache, (key, value) = KeyValueCache(), draw(randn, T)
    for tensor in (*cache.append(key.to(dtype), value.to(dtype)), cache.keys, cache.values):
        assert tensor.dtype == dtype


def test_a_new_cache_is_empty():
    assert KeyValueCache().length == 0


# How often it copies


class CopiedNumbers(TorchDispatchMode):
    """Count the numbers that torch writes into a buffer or joins."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function in (torch.ops.aten.copy_.default, torch.ops.aten.cat.default, torch.ops.aten.clone.default):
            self.count += out.numel()
        return out


@pytest.mark.parametrize("steps", [20, 100, 1000])
def test_appending_token_by_token_copies_at_most_three_numbers_for_each_one_stored(steps):
    """Each number is written once, and moved when a buffer doubles: n/2 + n/4 + ... < 2n in the worst case."""
    cache, key, value = KeyValueCache(), zeros(1, 2, 1, 3), zeros(1, 2, 1, 5)
    with CopiedNumbers() as copied:
        for _ in range(steps):
            cache.append(key, value)
    assert steps * 16 <= copied.count <= 3 * steps * 16


def test_with_a_largest_length_each_number_is_copied_once_into_one_buffer():
    cache, key, value = KeyValueCache(max_len=100), zeros(1, 2, 1, 3), zeros(1, 2, 1, 5)
    with CopiedNumbers() as copied:
        places = {tuple(tensor.data_ptr() for tensor in cache.append(key, value)) for _ in range(100)}
    assert copied.count == 100 * 16
    assert len(places) == 1


def test_the_buffer_moves_a_logarithmic_number_of_times():
    cache = KeyValueCache()
    places = [cache.append(zeros(1, 2, 1, 3), zeros(1, 2, 1, 5))[0].data_ptr() for _ in range(1000)]
    moves = sum(here != there for here, there in pairwise(places))
    assert moves == 6  # 16, 32, 64, 128, 256, 512, 1024 positions


def test_a_long_prompt_takes_no_more_room_than_it_needs(randn):
    cache = KeyValueCache()
    keys, _ = cache.append(*draw(randn, 50))
    assert keys.untyped_storage().nbytes() == BATCH * HEADS * 50 * D_K * 8
    keys, _ = cache.append(*draw(randn, 1))
    assert keys.untyped_storage().nbytes() == BATCH * HEADS * 100 * D_K * 8


# Beams


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [1], [0, 1, 1, 0, 1]], ids=str)
def test_reorder_continues_the_rows_it_is_given(randn, rows):
    cache, (key, value), (more, worth) = KeyValueCache(), draw(randn, T), draw(randn, 2, batch=len(rows))
    cache.append(key, value)
    cache.reorder(torch.tensor(rows))
    assert torch.equal(cache.keys, key[rows])
    assert torch.equal(cache.values, value[rows])
    keys, values = cache.append(more, worth)
    assert torch.equal(keys, torch.cat([key[rows], more], dim=2))
    assert torch.equal(values, torch.cat([value[rows], worth], dim=2))


def test_reordering_an_empty_cache_leaves_it_empty():
    cache = KeyValueCache()
    cache.reorder(torch.tensor([0, 0, 1]))
    assert cache.length == 0


def test_the_cache_of_a_decoder_reorders_every_layer(randn):
    cache, parts = DecoderCache(3), []
    for layer in cache.layers:
        for part in (layer.self, layer.cross):
            parts.append((part, *draw(randn, T)))
            part.append(*parts[-1][1:])
    cache.reorder(torch.tensor([1, 1, 0]))
    for part, key, value in parts:
        assert torch.equal(part.keys, key[[1, 1, 0]])
        assert torch.equal(part.values, value[[1, 1, 0]])


def test_the_length_of_a_decoder_is_that_of_its_target(randn):
    cache = DecoderCache(2, max_len=T)
    assert cache.length == 0
    for layer in cache.layers:
        layer.self.append(*draw(randn, T))
        layer.cross.append(*draw(randn, 2 * T))
    assert cache.length == T
    assert [(layer.self.max_len, layer.cross.max_len) for layer in cache.layers] == [(T, None)] * 2


# Gradients


def test_keys_that_require_a_gradient_are_refused_and_without_gradients_stored(randn):
    key, value = (tensor.requires_grad_() for tensor in draw(randn, T))
    for pair in ((key, value.detach()), (key.detach(), value)):
        with pytest.raises(ValueError, match=r"keeps no gradient: got keys or values that require one\. Decode under"):
            KeyValueCache().append(*pair)
    for guard in (torch.no_grad, torch.inference_mode):
        with guard():
            keys, values = KeyValueCache().append(key, value)
        assert not keys.requires_grad
        assert not values.requires_grad


# Refusals, as a reader meets them


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        (zeros(2, 3, 7), zeros(2, 3, 7)),
        (zeros(2, 3, 5, 7), zeros(2, 3, 4, 7)),
        (zeros(2, 3, 5, 7), zeros(2, 1, 5, 7)),
        (zeros(2, 3, 5, 7), zeros(1, 3, 5, 7)),
        (zeros(2, 3, 5, 7), zeros(3, 5, 7)),
    ],
    ids=lambda tensor: str(tuple(tensor.shape)),
)
def test_a_key_without_exactly_one_value_is_refused_with_both_shapes(key, value):
    got = rf"got key {re.escape(str(tuple(key.shape)))} and value {re.escape(str(tuple(value.shape)))}"
    with pytest.raises(ValueError, match=rf"one value, both \(batch, heads, t, width\): {got}\. All axes but"):
        KeyValueCache().append(key, value)


@pytest.mark.parametrize("shapes", [((2, 3, 0, 7), (2, 3, 0, 7)), ((2, 3, 5, 7), (2, 3, 5, 0))], ids=str)
def test_nothing_to_store_is_refused(shapes):
    with pytest.raises(ValueError, match=rf"no axis is empty: got key {re.escape(str(shapes[0]))}.*Drop the empty"):
        KeyValueCache().append(*map(zeros, shapes))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("keys", (1, 3, 1, 7), (1, 3, 1, 11)),
        ("keys", (2, 1, 1, 7), (2, 1, 1, 11)),
        ("keys", (2, 3, 1, 6), (2, 3, 1, 11)),
        ("values", (2, 3, 1, 7), (2, 3, 1, 6)),
    ],
)
def test_another_batch_size_or_width_is_refused_with_both_shapes(name, key, value):
    cache = KeyValueCache()
    cache.append(zeros(BATCH, HEADS, T, D_K), zeros(BATCH, HEADS, T, D_V))
    held, got = (D_K, key) if name == "keys" else (D_V, value)
    with pytest.raises(
        ValueError, match=rf"holds {name} \(2, 3, t, {held}\): got {re.escape(str(got))}\. Only t may differ; make a"
    ):
        cache.append(zeros(key), zeros(value))
    assert cache.length == T  # and nothing was stored


@pytest.mark.parametrize(("name", "dtypes"), [("keys", ("float64", "float32")), ("values", ("float32", "float64"))])
def test_another_dtype_is_refused_with_both(name, dtypes):
    cache = KeyValueCache()
    cache.append(zeros(1, 1, 1, 2), zeros(1, 1, 1, 2))
    key, value = (zeros(1, 1, 1, 2, dtype=getattr(torch, dtype)) for dtype in dtypes)
    with pytest.raises(ValueError, match=rf"{name} of torch\.float32 on cpu: got torch\.float64 on cpu\. Convert"):
        cache.append(key, value)


def test_another_device_is_refused():
    cache = KeyValueCache()
    cache.append(zeros(1, 1, 1, 2), zeros(1, 1, 1, 2))
    with pytest.raises(ValueError, match=r"keys of torch\.float32 on cpu: got torch\.float32 on meta"):
        cache.append(zeros(1, 1, 1, 2, device="meta"), zeros(1, 1, 1, 2))


def test_more_positions_than_the_largest_length_are_refused(randn):
    cache = KeyValueCache(max_len=T)
    cache.append(*draw(randn, T - 1))
    with pytest.raises(ValueError, match=r"holds 5 positions: got 2 more behind 4\. Make it with a larger max_len"):
        cache.append(*draw(randn, 2))
    assert cache.append(*draw(randn, 1))[0].shape[2] == T


@pytest.mark.parametrize("rows", [[0, 2], [-1, 0], []], ids=str)
def test_rows_that_are_not_in_the_batch_are_refused(randn, rows):
    cache = KeyValueCache()
    cache.append(*draw(randn, T))
    with pytest.raises(ValueError, match=rf"rows of the batch, 0 to 1, at least one: got {re.escape(str(rows))}\. Co"):
        cache.reorder(torch.tensor(rows, dtype=torch.long))


@pytest.mark.parametrize("name", ["keys", "values"])
def test_reading_an_empty_cache_is_refused(name):
    with pytest.raises(ValueError, match=r"the cache is empty: .* Call append first"):
        getattr(KeyValueCache(), name)


def test_a_cache_without_room_or_layers_is_refused():
    with pytest.raises(ValueError, match=r"at least one position: got max_len=0\. Use max_len >= 1 or None"):
        KeyValueCache(0)
    with pytest.raises(ValueError, match=r"at least one layer: got n_layers=0\. Use n_layers >= 1"):
        DecoderCache(0)


# Forgetting


def test_after_truncating_the_cache_goes_on_from_there(randn):
    cache, first, second = KeyValueCache(), draw(randn, 5), draw(randn, 2)
    cache.append(*first)
    cache.truncate(3)
    assert torch.equal(cache.keys, first[0][:, :, :3])
    keys, values = cache.append(*second)
    assert torch.equal(keys, torch.cat([first[0][:, :, :3], second[0]], 2))
    assert torch.equal(values, torch.cat([first[1][:, :, :3], second[1]], 2))


def test_the_cache_of_a_decoder_truncates_every_layer_and_leaves_the_memory(randn):
    cache = DecoderCache(2)
    for layer in cache.layers:
        layer.self.append(*draw(randn, 4))
        layer.cross.append(*draw(randn, 6))
    cache.truncate(1)
    assert [(layer.self.length, layer.cross.length) for layer in cache.layers] == [(1, 6), (1, 6)]


@pytest.mark.parametrize("length", [-1, 6])
def test_truncating_to_more_than_there_is_is_refused(randn, length):
    cache = KeyValueCache()
    cache.append(*draw(randn, 5))
    with pytest.raises(ValueError, match=rf"keeps 0 to 5 positions, as many as there are: got {length}\."):
        cache.truncate(length)
