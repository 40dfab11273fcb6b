"""The keys and values that a decoder has already computed, kept so that a new token costs one row and not a square.

Shazeer (2019), "Fast Transformer Decoding", section 2.4: incremental attention appends one key and one value a step.
The buffer doubles when it is full, so that appending n tokens copies O(n) rows in all, where joining the old and the
new by ``torch.cat`` copies O(n^2).

Chapter: book/generation.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

FIRST_ROOM = 16  # positions of the first buffer: a few doublings reach any length, and a short one wastes little


class KeyValueCache:
    """The keys and values of one attention layer, in buffers with room for more.

    Self-attention appends at each step. Cross-attention appends once: the memory's keys and values stay the same.
    Decoding writes in place, so it runs under ``torch.no_grad()``: no gradient can flow back through the cache.

    Args:
        max_len: the number of positions to make room for at once, and the most that are accepted; ``None`` lets the
            buffers grow by doubling.

    Raises:
        ValueError: ``max_len`` is below 1.

    Example:
        >>> cache = KeyValueCache()
        >>> for step in range(3):
        ...     keys, values = cache.append(torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 1, 5))
        >>> cache.length, tuple(keys.shape), tuple(values.shape)
        (3, (1, 2, 3, 4), (1, 2, 3, 5))
    """

    def __init__(self, max_len: int | None = None) -> None:
        if max_len is not None and max_len < 1:
            raise ValueError(f"a cache holds at least one position: got max_len={max_len}. Use max_len >= 1 or None.")
        self.max_len = max_len
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def keys(self) -> Float[Tensor, "batch heads t d_k"]:
        """All keys so far, as a view of the buffer."""
        return self._filled(self._keys)

    @property
    def values(self) -> Float[Tensor, "batch heads t d_v"]:
        """All values so far, as a view of the buffer."""
        return self._filled(self._values)

    def append(
        self, key: Float[Tensor, "batch heads t d_k"], value: Float[Tensor, "batch heads t d_v"]
    ) -> tuple[Float[Tensor, "batch heads t_k d_k"], Float[Tensor, "batch heads t_k d_v"]]:
        """Store new keys and values behind the old ones.

        Args:
            key: ``(batch, heads, t, d_k)``, already rotated where the position scheme rotates.
            value: ``(batch, heads, t, d_v)``.

        Returns:
            All keys and all values, ``t_k`` positions each, as views of the buffers; later calls never change them.

        Raises:
            ValueError: the shapes do not fit together or to what is stored, another dtype or device, more positions
                than ``max_len``, or a gradient would be lost.
        """
        _check_new(key, value)
        if self._keys is not None and self._values is not None:
            _check_fit("keys", self._keys, key)
            _check_fit("values", self._values, value)
        end = self.length + key.shape[2]
        if self.max_len is not None and end > self.max_len:
            raise ValueError(
                f"this cache holds {self.max_len} positions: got {key.shape[2]} more behind {self.length}. "
                "Make it with a larger max_len, or with None to let it grow."
            )
        if self._keys is None or end > self._keys.shape[2]:
            room = self.max_len or max(end, 2 * self.length, FIRST_ROOM)
            self._keys = _moved(self._keys, key, self.length, room)
            self._values = _moved(self._values, value, self.length, room)
        self._keys[:, :, self.length : end] = key
        self._values[:, :, self.length : end] = value
        self.length = end
        return self.keys, self.values

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep the given rows of the batch, in that order: a beam search drops some hypotheses and doubles others.

        Args:
            rows: for each row of the new batch, the row of the old one that it continues.

        Raises:
            ValueError: a row is not in the batch, or there is none.
        """
        if self._keys is not None and self._values is not None:
            batch = len(self._keys)
            if rows.numel() == 0 or rows.min() < 0 or rows.max() >= batch:
                raise ValueError(
                    f"reorder takes rows of the batch, 0 to {batch - 1}, at least one: got {rows.tolist()}. "
                    "Count them from 0 within the batch that the cache holds."
                )
            self._keys, self._values = self._keys.index_select(0, rows), self._values.index_select(0, rows)

    def truncate(self, length: int) -> None:
        """Forget all positions from ``length`` on: guesses that were refused, for example.

        Unlike other calls, the next :meth:`append` overwrites them in what was returned earlier.

        Args:
            length: number of positions to keep, at most as many as there are.

        Raises:
            ValueError: it is negative, or there are fewer.
        """
        if not 0 <= length <= self.length:
            raise ValueError(
                f"truncate keeps 0 to {self.length} positions, as many as there are: got {length}. Append the others."
            )
        self.length = length

    def _filled(self, buffer: Tensor | None) -> Tensor:
        if buffer is None:
            raise ValueError("the cache is empty: got no keys and values yet. Call append first.")
        return buffer[:, :, : self.length]


@dataclass
class LayerCache:
    """The caches of one decoder layer: ``self`` grows with the target, ``cross`` holds the memory once."""

    self: KeyValueCache = field(default_factory=KeyValueCache)
    cross: KeyValueCache = field(default_factory=KeyValueCache)


class DecoderCache:
    """The caches of all layers of one decoder.

    Args:
        n_layers: number of decoder layers.
        max_len: room for the target in each ``self`` cache; see :class:`KeyValueCache`.

    Raises:
        ValueError: ``n_layers`` is below 1.

    Example:
        >>> cache = DecoderCache(2)
        >>> len(cache.layers), cache.length
        (2, 0)
    """

    def __init__(self, n_layers: int, *, max_len: int | None = None) -> None:
        if n_layers < 1:
            raise ValueError(f"a decoder has at least one layer: got n_layers={n_layers}. Use n_layers >= 1.")
        self.layers = [LayerCache(KeyValueCache(max_len)) for _ in range(n_layers)]

    @property
    def length(self) -> int:
        """The number of target positions seen so far, which is the position of the next token."""
        return self.layers[0].self.length

    def reorder(self, rows: Int[Tensor, " rows"], *, memory: bool = True) -> None:
        """Keep the given rows of the batch in every layer, in that order; see :meth:`KeyValueCache.reorder`.

        Args:
            rows: for each row of the new batch, the row of the old one that it continues.
            memory: ``False`` leaves the memory's keys and values where they are, which copies less and is right where
                each row continues one with the same source.
        """
        for layer in self.layers:
            layer.self.reorder(rows)
            if memory:
                layer.cross.reorder(rows)

    def truncate(self, length: int) -> None:
        """Forget the target's positions from ``length`` on, in every layer; see :meth:`KeyValueCache.truncate`.

        Args:
            length: number of positions to keep.
        """
        for one in self.layers:
            one.self.truncate(length)


def _moved(old: Tensor | None, like: Tensor, length: int, room: int) -> Tensor:
    """Make a buffer with room for `room` positions and move the first `length` of the old one there."""
    batch, heads, _, width = like.shape
    buffer = torch.empty(batch, heads, room, width, dtype=like.dtype, device=like.device)
    if old is not None:
        buffer[:, :, :length] = old[:, :, :length]
    return buffer


def _check_new(key: Tensor, value: Tensor) -> None:
    got = f"got key {tuple(key.shape)} and value {tuple(value.shape)}"
    if key.ndim != 4 or value.ndim != 4 or key.shape[:3] != value.shape[:3]:
        raise ValueError(f"each key has one value, both (batch, heads, t, width): {got}. All axes but the last agree.")
    if 0 in key.shape or 0 in value.shape:
        raise ValueError(f"no axis is empty: {got}. Drop the empty input; there is nothing to store.")
    if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
        raise ValueError(
            "a cache keeps no gradient: got keys or values that require one. Decode under torch.no_grad(), or train "
            "without a cache."
        )


def _check_fit(name: str, stored: Tensor, new: Tensor) -> None:
    if (*stored.shape[:2], stored.shape[3]) != (*new.shape[:2], new.shape[3]):
        batch, heads, _, width = stored.shape
        raise ValueError(
            f"the cache holds {name} ({batch}, {heads}, t, {width}): got {tuple(new.shape)}. Only t may differ; make "
            "a new cache for another batch, or call reorder to change its rows."
        )
    if (stored.dtype, stored.device) != (new.dtype, new.device):
        raise ValueError(
            f"the cache holds {name} of {stored.dtype} on {stored.device}: got {new.dtype} on {new.device}. "
            "Convert with .to(), or make a new cache."
        )
