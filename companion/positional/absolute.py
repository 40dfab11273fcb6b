"""Positions added to the embeddings: sinusoidal and learned. Vaswani et al. (2017), section 3.5 and Table 3, row E.

Angles are computed in float64 and cast at the end: near position 100,000 a float32 holds multiples of 1/128 only, which
is too coarse for an angle in radians.

Chapter: book/positional-encoding.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def frequencies(d_model: int, *, base: float | int = 10000.0) -> Float[Tensor, " pairs"]:
    r"""Return how fast each pair of channels turns, in radians for each position.

    .. math:: \omega_i = \mathrm{base}^{-2i / d_\mathrm{model}}, \quad i = 0, \dots, d_\mathrm{model} / 2 - 1

    Args:
        d_model: number of channels, even.
        base: 10000 in the paper.

    Returns:
        ``(d_model / 2,)`` in float64, from 1 downwards.

    Raises:
        ValueError: the width is odd or below 2, or the base is not above 0.
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(
            f"channels come in pairs, so their number is even: got {d_model}. Use {max(2, d_model + d_model % 2)}."
        )
    if not 0 < base < math.inf:
        raise ValueError(f"a base is a number above 0: got base={base}. The papers use 10000.")
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") / d_model)


def wavelengths(d_model: int, *, base: float | int = 10000.0) -> Float[Tensor, " pairs"]:
    r"""Return after how many positions each pair of channels comes round again.

    .. math:: \lambda_i = 2 \pi \cdot \mathrm{base}^{2i / d_\mathrm{model}}

    A geometric progression that begins at :math:`2\pi`; :math:`10000 \cdot 2\pi` would be the member after the last.

    Args:
        d_model: number of channels, even.
        base: 10000 in the paper.

    Returns:
        ``(d_model / 2,)`` in float64, in positions.

    >>> wavelengths(4)
    tensor([  6.2832, 628.3185], dtype=torch.float64)
    """
    return 2 * math.pi / frequencies(d_model, base=base)


def angles(positions: Int[Tensor, " t"], d_model: int, *, base: float | int = 10000.0) -> Float[Tensor, "t pairs"]:
    """Return by how much each pair of channels has turned at each position.

    Args:
        positions: whole numbers; negative ones stand for distances to later positions.
        d_model: number of channels, even.
        base: 10000 in the papers.

    Returns:
        ``(t, d_model / 2)`` in radians, in float64 on the CPU.
    """
    return positions.cpu().double()[:, None] * frequencies(d_model, base=base)


def encode(positions: Int[Tensor, " t"], d_model: int) -> Float[Tensor, "t d_model"]:
    r"""Return the sinusoidal encoding of any positions.

    .. math::
        PE_{(pos, 2i)} = \sin(pos / 10000^{2i / d_\mathrm{model}}), \quad
        PE_{(pos, 2i + 1)} = \cos(pos / 10000^{2i / d_\mathrm{model}})

    Args:
        positions: whole numbers; negative ones stand for distances to later positions.
        d_model: number of channels, even.

    Returns:
        ``(t, d_model)`` in float64 on the CPU.
    """
    turned = angles(positions, d_model)
    return torch.stack((turned.sin(), turned.cos()), dim=-1).flatten(-2)  # a sine and its cosine side by side


def sinusoidal(
    length: int,
    d_model: int,
    *,
    start: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "length d_model"]:
    """Return the encoding of :func:`encode` for ``length`` positions in a row.

    Args:
        length: number of positions, at least 1.
        d_model: number of channels, even.
        start: the first position.
        dtype: of the result; ``None`` means torch's default dtype.
        device: of the result; ``None`` means torch's default device.

    Returns:
        ``(length, d_model)``, the values in float64 rounded once to the dtype.

    Raises:
        ValueError: the length is below 1, or the width is odd.

    >>> sinusoidal(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if length < 1:
        raise ValueError(f"an encoding holds at least one position: got length={length}. Use length >= 1.")
    return _cast(encode(torch.arange(start, start + length, device="cpu"), d_model), dtype, device)


def rotation(
    offset: int, d_model: int, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Float[Tensor, "d_model d_model"]:
    r"""Return the matrix that moves every sinusoidal encoding on by ``offset`` positions.

    .. math::
        PE_{pos + k} = PE_{pos} \, M_k, \quad
        M_k = \operatorname{diag}_i
        \begin{pmatrix} \cos \omega_i k & -\sin \omega_i k \\ \sin \omega_i k & \cos \omega_i k \end{pmatrix}

    Encodings are rows here; for columns the matrix is the transpose. It does not depend on the position, which is
    why the paper expected a model to learn to attend by relative positions.

    Args:
        offset: number of positions k; negative moves back.
        d_model: number of channels, even.
        dtype: of the result; ``None`` means torch's default dtype.
        device: of the result; ``None`` means torch's default device.

    Returns:
        ``(d_model, d_model)``, orthogonal with determinant 1.

    >>> torch.allclose(sinusoidal(1, 4, start=7), sinusoidal(1, 4, start=5) @ rotation(2, 4))
    True
    """
    (turned,) = angles(torch.tensor([offset], device="cpu"), d_model)
    cos, sin = turned.cos(), turned.sin()
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1).unflatten(-1, (2, 2))
    return _cast(torch.block_diag(*blocks), dtype, device)


class Sinusoidal(nn.Module):
    """The sinusoidal encoding as a table without parameters.

    The table is no part of the ``state_dict``. It follows ``.to()`` by being computed anew: a float32 table cast to
    float64 would keep the errors of float32.

    Args:
        d_model: number of channels, even.
        max_len: number of positions.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.d_model, self.max_len = d_model, _checked_length(max_len)
        self.register_buffer("table", sinusoidal(max_len, d_model), persistent=False)

    def forward(self, t: int, start: int = 0) -> Float[Tensor, "t d_model"]:
        """Return the encodings of ``t`` positions from ``start`` on.

        Args:
            t: number of positions, at least 1.
            start: the first of them, at least 0.

        Returns:
            ``(t, d_model)``, to be added to the embeddings.
        """
        return _rows(self.table, t, start)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Sinusoidal":
        super()._apply(fn, recurse)
        self.table = sinusoidal(self.max_len, self.d_model, dtype=self.table.dtype, device=self.table.device)
        return self


class Learned(nn.Module):
    """One learned vector for each position, as in BERT and GPT-2.

    ``weight`` is drawn from N(0, 0.02), as there (Devlin et al. (2019)).

    Args:
        d_model: number of channels.
        max_len: number of positions.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.max_len = _checked_length(max_len)
        if d_model < 1:
            raise ValueError(f"a vector has at least one channel: got d_model={d_model}. Use d_model >= 1.")
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, t: int, start: int = 0) -> Float[Tensor, "t d_model"]:
        """Return the vectors of ``t`` positions from ``start`` on.

        Args:
            t: number of positions, at least 1.
            start: the first of them, at least 0.

        Returns:
            ``(t, d_model)``, to be added to the embeddings.
        """
        return _rows(self.weight, t, start)


def _cast(table: Tensor, dtype: torch.dtype | None, device: torch.device | str | None) -> Tensor:
    return table.to(dtype or torch.get_default_dtype()).to(device or torch.get_default_device())


def _checked_length(max_len: int) -> int:
    if max_len < 1:
        raise ValueError(f"a table holds at least one position: got max_len={max_len}. Use max_len >= 1.")
    return max_len


def _rows(table: Tensor, t: int, start: int) -> Tensor:
    if t < 1 or start < 0 or start + t > len(table):
        raise ValueError(
            f"positions lie in the table, 0 to {len(table) - 1}, and there is at least one: got start={start} and "
            f"t={t}. Shorten the sequence or make the table with a larger max_len."
        )
    return table[start : start + t]
