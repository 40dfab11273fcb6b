"""Rows of a function of whole numbers, computed once and kept: the sines of RoPE (Su et al. (2021)) and the like.

Chapter: book/positional-encoding.
"""

from collections.abc import Callable

import torch
from jaxtyping import Int, Shaped
from torch import Tensor


class GrowingTable:
    """A function of positions or distances as a table that grows when a longer sequence comes.

    It is a plain attribute of its module and not a buffer: ``.to(torch.float64)`` on a float32 buffer would keep the
    errors of float32, while this table is computed anew, in float64, for each dtype and device asked for. Nothing of
    it stands in a ``state_dict``.

    Args:
        compute: turns whole numbers of shape ``(n,)`` into rows ``(n, ...)``, on the CPU.

    >>> from companion.positional.absolute import angles
    >>> from functools import partial
    >>> table = GrowingTable(partial(angles, d_model=2))
    >>> table.rows(-1, 2, dtype=torch.float32, device="cpu").flatten()
    tensor([-1.,  0.,  1.,  2.])
    """

    def __init__(self, compute: Callable[[Int[Tensor, " n"]], Shaped[Tensor, "n ..."]]) -> None:
        self._compute = compute
        self._first = 0
        self._table = compute(torch.zeros(1, dtype=torch.long, device="cpu"))

    def rows(self, first: int, last: int, *, dtype: torch.dtype, device: torch.device | str) -> Shaped[Tensor, "n ..."]:
        """Return the rows of all whole numbers from ``first`` to ``last``.

        Args:
            first: at most 0 if the numbers are distances.
            last: included; at least ``first``.
            dtype: of the rows.
            device: of the rows.

        Returns:
            ``(last - first + 1, ...)``, a view of the table: do not write to it.
        """
        device, end = torch.device(device), self._first + len(self._table)
        if first < self._first or last >= end:
            self._grow(min(_doubled(first), self._first), max(_doubled(last + 1), end), dtype, device)
        elif self._table.dtype != dtype or self._table.device != device:
            self._grow(self._first, end, dtype, device)
        return self._table[first - self._first : last + 1 - self._first]

    def _grow(self, first: int, end: int, dtype: torch.dtype, device: torch.device) -> None:
        with torch.inference_mode(False), torch.no_grad():  # training may use a table that an evaluation grew
            table = self._compute(torch.arange(first, end, device="cpu"))
            self._first, self._table = first, table.to(dtype).to(device)


def _doubled(number: int) -> int:
    """Round away from 0 to a power of two, so that a sequence growing by ones rarely needs a new table."""
    size = 1 << (abs(number) - 1).bit_length() if number else 0
    return size if number > 0 else -size
