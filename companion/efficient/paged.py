"""Keys and values in pages that lie anywhere in a pool: Kwon et al. (2023), sections 4.1 and 4.2.

Chapter: book/generation.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from companion.checks import check_sizes


class PagedCache:
    """The keys and values of many sequences in one pool of pages, with a table of pages for each sequence.

    A page has room for ``size`` positions of one sequence. A sequence takes a free page when its last one is full, so
    at most ``size - 1`` positions of each are empty. This is one layer.

    Args:
        pages: in the pool.
        size: positions of a page.
        heads: of keys and values.
        d_k: width of a key.
        d_v: width of a value.
        dtype: of both.

    Raises:
        ValueError: a size is below 1.

    Example:
        >>> cache = PagedCache(pages=3, size=2, heads=1, d_k=4, d_v=4)
        >>> for _ in range(3):
        ...     cache.append("a", torch.zeros(1, 4), torch.zeros(1, 4))
        >>> cache.tables, cache.free
        ({'a': [0, 1]}, [2])
    """

    def __init__(
        self, *, pages: int, size: int, heads: int, d_k: int, d_v: int, dtype: torch.dtype = torch.float32
    ) -> None:
        check_sizes(pages=pages, size=size, heads=heads, d_k=d_k, d_v=d_v)
        self.size = size
        self.keys = torch.zeros(pages, heads, size, d_k, dtype=dtype)
        self.values = torch.zeros(pages, heads, size, d_v, dtype=dtype)
        self.free = list(range(pages))
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def append(self, name: str, key: Float[Tensor, "heads d_k"], value: Float[Tensor, "heads d_v"]) -> None:
        """Store the key and the value of one more position of a sequence; a new name begins a sequence.

        Args:
            name: of the sequence.
            key: ``(heads, d_k)``.
            value: ``(heads, d_v)``.

        Raises:
            ValueError: the shapes are not those of the pool, or no page is free.
        """
        pool = self.keys.shape[1::2], self.values.shape[1::2]
        if (key.shape, value.shape) != pool:
            raise ValueError(
                f"the pool takes a key {tuple(pool[0])} and a value {tuple(pool[1])}: got {tuple(key.shape)} and "
                f"{tuple(value.shape)}. Append one position at a time."
            )
        length = self.lengths.get(name, 0)
        if length % self.size == 0:
            if not self.free:
                raise ValueError(
                    f"a position needs a free page: got none for {name!r}. Release a sequence, or make more pages."
                )
            self.tables.setdefault(name, []).append(self.free.pop(0))
        page = self.tables[name][-1]
        self.keys[page, :, length % self.size] = key
        self.values[page, :, length % self.size] = value
        self.lengths[name] = length + 1

    def release(self, name: str) -> None:
        """Give the pages of a finished sequence back to the pool.

        Args:
            name: of the sequence.

        Raises:
            ValueError: there is no such sequence.
        """
        self._check(name)
        self.free += self.tables.pop(name)
        del self.lengths[name]

    def attend(self, name: str, query: Float[Tensor, "heads d_k"]) -> Float[Tensor, "heads d_v"]:
        """Let one query of each head look at all positions of a sequence, page by page, with an online softmax.

        Args:
            name: of the sequence.
            query: ``(heads, d_k)``.

        Returns:
            ``(heads, d_v)``, as attention over keys and values that lie side by side gives it.

        Raises:
            ValueError: there is no such sequence.
        """
        self._check(name)
        top = query.new_full((len(query), 1), -math.inf)  # the largest score so far
        total, summed = torch.zeros_like(top), query.new_zeros(len(query), self.values.shape[-1])
        for index, page in enumerate(self.tables[name]):
            filled = min(self.size, self.lengths[name] - index * self.size)
            scores = (self.keys[page, :, :filled] @ query[..., None])[..., 0] / math.sqrt(query.shape[-1])
            higher = torch.maximum(top, scores.amax(-1, keepdim=True))
            weights, shrink = (scores - higher).exp(), (top - higher).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            summed = summed * shrink + (weights[:, None] @ self.values[page, :, :filled])[:, 0]
            top = higher
        return summed / total

    def _check(self, name: str) -> None:
        if name not in self.tables:
            raise ValueError(f"the pool holds the sequences {sorted(self.tables)}: got {name!r}. Append to it first.")
