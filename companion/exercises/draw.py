"""Reproducible inputs for the cases of the exercises."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Draw:
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
