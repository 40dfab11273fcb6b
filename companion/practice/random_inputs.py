"""Reproducible inputs for the cases of the exercises."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class RandomInputs:
    """Random tensors from a generator of its own.

    All numbers are drawn in float64 and then converted, so that a case holds the same numbers in either dtype.
    """

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float64, scale: float = 1.0) -> Float[Tensor, "..."]:
        """Draw from a normal distribution around 0.

        Args:
            *shape: of the result.
            dtype: of the result.
            scale: standard deviation.

        Returns:
            A tensor of that shape and dtype.
        """
        return (scale * torch.randn(*shape, generator=self._generator, dtype=torch.float64)).to(dtype)

    def mask(self, *shape: int) -> Bool[Tensor, "..."]:
        """Draw a mask that allows about six pairs in ten, and each row at least one key."""
        chance = torch.rand(*shape, generator=self._generator, dtype=torch.float64)
        return (chance < 0.6) | (chance == chance.amin(dim=-1, keepdim=True))


class ChunkStream:
    """Chunks of scores and values that arrive one after the other and can be read once.

    Args:
        scores: ``(t,)``.
        values: ``(t, d_v)``.
        chunk: how many positions arrive at a time; the last chunk may be shorter.
    """

    def __init__(self, scores: Float[Tensor, " t"], values: Float[Tensor, "t d_v"], chunk: int) -> None:
        self._chunks = tuple(zip(scores.split(chunk), values.split(chunk), strict=True))
        self._read = False

    def __len__(self) -> int:
        return len(self._chunks)

    def __repr__(self) -> str:
        return f"of {len(self)} chunks"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChunkStream) or len(self) != len(other):
            return False
        return all(
            torch.equal(x, y)
            for one, two in zip(self._chunks, other._chunks, strict=True)
            for x, y in zip(one, two, strict=True)
        )

    __hash__ = None  # a stream changes as it is read

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Hand out the chunks, each a fresh pair of scores and values."""
        if self._read:
            raise RuntimeError("a stream is read once, and this one was read already")
        self._read = True
        for scores, values in self._chunks:
            yield scores.clone(), values.clone()
