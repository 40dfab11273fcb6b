"""Rotary position embedding: Su et al. (2021), section 3.2 and Eq. (34).

Each pair of channels of a query or a key is turned by an angle that grows with its position. The dot product of a
query and a key then depends on their distance only, because turning both by the same angle changes nothing.

Chapter: book/positional-encoding.
"""

from functools import partial
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.positional import absolute
from companion.positional.table import GrowingTable

Layout = Literal["half", "interleaved"]


def rotate(
    x: Float[Tensor, "*batch t d_k"],
    positions: Int[Tensor, " t"],
    *,
    base: float | int = 10000.0,
    layout: Layout = "half",
) -> Float[Tensor, "*batch t d_k"]:
    r"""Turn each pair of channels by its angle at each position.

    .. math::
        \begin{pmatrix} a' \\ b' \end{pmatrix} =
        \begin{pmatrix} \cos \omega_i p & -\sin \omega_i p \\ \sin \omega_i p & \cos \omega_i p \end{pmatrix}
        \begin{pmatrix} a \\ b \end{pmatrix}, \quad \omega_i = \mathrm{base}^{-2i / d_k}

    As a complex number, :math:`a + \mathrm{i} b` is multiplied by :math:`e^{\mathrm{i} \omega_i p}`.

    Args:
        x: queries or keys.
        positions: where each of them stands.
        base: 10000 in the paper; larger for longer contexts.
        layout: which channels are a pair. ``"interleaved"``: 2i and 2i + 1, as in the paper. ``"half"``: i and
            i + d_k / 2, as in Llama. One becomes the other if the channels are put in another order.

    Returns:
        A new tensor of the shape and dtype of ``x``; every pair keeps its length.

    Raises:
        ValueError: an odd width, another number of positions than ``x`` has, or an unknown layout.

    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))  # turned by one radian
    tensor([[0.5403, 0.8415]])
    """
    if x.ndim < 2 or positions.shape != x.shape[-2:-1]:
        raise ValueError(
            f"x is (*batch, t, d_k) and has one position for each of the t: got x {tuple(x.shape)} and positions "
            f"{tuple(positions.shape)}. Give positions of shape (t,)."
        )
    _check_layout(layout)
    turns = _turns(positions, absolute.frequencies(x.shape[-1], base=base)).to(x.dtype).to(x.device)
    return _turn(x, *turns.unbind(dim=1), layout)


class RotaryPosition(nn.Module):
    """Rotary positions for one attention layer.

    Queries and keys are turned before the cache, each by its own position, so that a cached key needs no further
    thought. Cosines and sines are computed when a longer sequence, another dtype or another device comes, and kept.

    Args:
        d_k: width of a head, even.
        base: 10000 in the paper; larger for longer contexts.
        layout: which channels are a pair; see :func:`rotate`.
        frequencies: angle of each pair for one position, ``(d_k / 2,)``, for a model that is to read longer texts
            (:mod:`companion.positional.stretched`); ``None`` takes those of the base.
        scale: factor on queries and on keys, and so, squared, on the scores.

    Raises:
        ValueError: an unknown layout, or not one frequency for each pair.
    """

    def __init__(
        self,
        d_k: int,
        *,
        base: float | int = 10000.0,
        layout: Layout = "half",
        frequencies: Float[Tensor, " pairs"] | None = None,
        scale: float | int = 1.0,
    ) -> None:
        super().__init__()
        _check_layout(layout)
        self.d_k, self.base, self.layout = d_k, base, layout
        if frequencies is None:
            frequencies = absolute.frequencies(d_k, base=base)
        if frequencies.shape != (d_k // 2,):
            raise ValueError(
                f"each of the {d_k // 2} pairs has one frequency: got {tuple(frequencies.shape)}. Give (d_k / 2,)."
            )
        self._turns = GrowingTable(partial(_turns, frequencies=frequencies.double(), scale=scale))

    def embed(self, x: Float[Tensor, "batch heads t d_k"], start: int) -> Float[Tensor, "batch heads t d_k"]:
        """Turn queries or keys by their positions.

        Args:
            x: queries or keys.
            start: the position of the first.

        Returns:
            A new tensor of the shape and dtype of ``x``.

        Raises:
            ValueError: the width is not ``d_k``, there is no position, or ``start`` is negative.
        """
        t = x.shape[-2]
        if x.shape[-1] != self.d_k or t < 1:
            raise ValueError(
                f"queries and keys are (batch, heads, t, {self.d_k}) with t >= 1: got {tuple(x.shape)}. "
                "Split them into heads first."
            )
        if start < 0:
            raise ValueError(f"positions count from 0: got start={start}. Give the number of tokens before these.")
        turns = self._turns.rows(start, start + t - 1, dtype=x.dtype, device=x.device)
        return _turn(x, *turns.unbind(dim=1), self.layout)

    def bias(
        self, query: Float[Tensor, "batch n_heads t_q d_k"], key: Float[Tensor, "batch n_kv_heads t_k d_k"]
    ) -> None:
        """Return ``None``: the scores of turned queries and keys need nothing added.

        Args:
            query: the last ``t_q`` positions.
            key: all ``t_k`` positions.
        """


def _turns(positions: Int[Tensor, " t"], frequencies: Tensor, scale: float | int = 1.0) -> Float[Tensor, "t 2 pairs"]:
    turned = positions.cpu().double()[:, None] * frequencies
    return scale * torch.stack((turned.cos(), turned.sin()), dim=1)


def _turn(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    if layout == "half":
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


def _check_layout(layout: str) -> None:
    if layout not in ("half", "interleaved"):
        raise ValueError(f'a layout is "half" or "interleaved": got {layout!r}. Llama uses "half".')
