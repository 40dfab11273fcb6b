"""Faults of `companion.cache`."""

from faults import Fault

CACHE = "companion/cache.py"


def cache(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_cache.py::test_{test}",)


JOINED = cache("appending_in_chunks_is_joining_them")
LINEAR = cache("appending_token_by_token_copies_at_most_three_numbers_for_each_one_stored")
FIT = cache("another_batch_size_or_width_is_refused_with_both_shapes")

FAULTS = [
    Fault(
        "the buffer grows by a constant, so that copying is quadratic",
        CACHE,
        "max(end, 2 * self.length, FIRST_ROOM)",
        "end + FIRST_ROOM",
        LINEAR,
    ),
    Fault(
        "a known largest length makes no room for itself",
        CACHE,
        "self.max_len or max(",
        "max(",
        cache("with_a_largest_length_each_number_is_copied_once_into_one_buffer"),
    ),
    Fault(
        "a new buffer forgets the last position",
        CACHE,
        "buffer[:, :, :length] = old[:, :, :length]",
        "buffer[:, :, : length - 1] = old[:, :, : length - 1]",
        JOINED,
    ),
    Fault(
        "the room that is still empty is returned too",
        CACHE,
        "return buffer[:, :, : self.length]",
        "return buffer",
        cache("reorder_continues_the_rows_it_is_given"),
    ),
    Fault(
        "the cache keeps the tensor that came",
        CACHE,
        "self._keys = _moved(self._keys, key, self.length, room)",
        "self._keys = key if self._keys is None else _moved(self._keys, key, self.length, room)",
        cache("the_cache_keeps_a_copy_and_not_the_tensors_that_came"),
    ),
    Fault(
        "reorder leaves the values where they are",
        CACHE,
        "self._keys.index_select(0, rows), self._values.index_select(0, rows)",
        "self._keys.index_select(0, rows), self._values[: len(rows)]",
        cache("reorder_continues_the_rows_it_is_given"),
    ),
    Fault(
        "reorder changes what was returned earlier",
        CACHE,
        "self._keys.index_select(0, rows), ",
        "self._keys.copy_(self._keys.index_select(0, rows)), ",
        cache("what_was_returned_earlier_never_changes"),
    ),
    Fault(
        "the memory's keys stay with the old beams",
        CACHE,
        "layer.cross.reorder(rows)",
        "pass",
        cache("the_cache_of_a_decoder_reorders_every_layer"),
    ),
    Fault(
        "only the first layer is reordered",
        CACHE,
        "for layer in self.layers:",
        "for layer in self.layers[:1]:",
        cache("the_cache_of_a_decoder_reorders_every_layer"),
    ),
    Fault(
        "the length of a decoder is that of the memory",
        CACHE,
        "return self.layers[0].self.length",
        "return self.layers[0].cross.length",
        cache("the_length_of_a_decoder_is_that_of_its_target"),
    ),
    Fault(
        "rows below 0 count from the end",
        CACHE,
        "rows.min() < 0 or ",
        "",
        cache("rows_that_are_not_in_the_batch_are_refused"),
        "DID NOT RAISE|IndexError|RuntimeError",
    ),
    Fault(
        "more positions than the largest length are stored",
        CACHE,
        "end > self.max_len:",
        "self.length > self.max_len:",
        cache("more_positions_than_the_largest_length_are_refused"),
        "DID NOT RAISE|RuntimeError",
    ),
    Fault(
        "a batch of one is broadcast into the cache",
        CACHE,
        "if (*stored.shape[:2], stored.shape[3]) != (*new.shape[:2], new.shape[3]):",
        "if stored.shape[3] != new.shape[3]:",
        FIT,
    ),
    Fault(
        "the values are not compared with those stored",
        CACHE,
        '            _check_fit("values", self._values, value)\n',
        "",
        FIT,
        "DID NOT RAISE|RuntimeError",
    ),
    Fault(
        "another dtype is rounded without a word",
        CACHE,
        "if (stored.dtype, stored.device) != (new.dtype, new.device):",
        "if stored.device != new.device:",
        cache("another_dtype_is_refused_with_both"),
    ),
    Fault(
        "a gradient is lost without a word",
        CACHE,
        "if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):",
        "if torch.is_grad_enabled() and key.requires_grad:",
        cache("keys_that_require_a_gradient_are_refused_and_without_gradients_stored"),
    ),
    Fault(
        "decoding is refused even without gradients",
        CACHE,
        "if torch.is_grad_enabled() and (key",
        "if (key",
        cache("keys_that_require_a_gradient_are_refused_and_without_gradients_stored"),
        "ValueError: a cache keeps no gradient",
    ),
]
