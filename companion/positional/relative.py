"""Distances in the scores, and the scheme of Transformer-XL: Dai et al. (2019), section 3.3 and appendix B.

A distance is query minus key: positive for a key in the past, negative for one in the future. The last query stands
at the last key, so ``t_q`` queries and ``t_k`` keys have the ``t_q + t_k - 1`` distances from ``t_k - 1`` down to
``1 - t_q``. Each scheme computes something for each distance once, then lays it out as query by key.

Chapter: book/positional-encoding.
"""

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_past, check_sizes
from companion.positional.absolute import encode
from companion.positional.table import GrowingTable


def spread(by_distance: Float[Tensor, "*batch distances"], t_q: int) -> Float[Tensor, "*batch t_q t_k"]:
    """Lay one number for each distance out as query by key; every query reads the same numbers.

    Args:
        by_distance: numbers for the distances from ``t_k - 1`` down to ``1 - t_q``.
        t_q: number of queries.

    Returns:
        ``(*batch, t_q, t_k)`` with ``t_k = distances - t_q + 1``, constant along each diagonal.

    Raises:
        ValueError: fewer distances than ``t_q`` queries and as many keys have.

    >>> spread(torch.tensor([2.0, 1.0, 0.0, -1.0]), t_q=2)
    tensor([[ 1.,  0., -1.],
            [ 2.,  1.,  0.]])
    """
    t_k = _number_of_keys(t_q, by_distance.shape[-1])
    return by_distance.unfold(-1, t_k, 1).flip(-2)  # the first window is the last query's: it has the longest past


def relative_shift(by_distance: Float[Tensor, "*batch t_q distances"]) -> Float[Tensor, "*batch t_q t_k"]:
    """Lay numbers for each query and distance out as query by key (Dai et al. (2019), appendix B).

    Each query reads its own row, and begins one column further left than the query before. In memory, where row
    follows row, it therefore begins ``distances - 1`` numbers after the query before: nothing has to be gathered, only
    the step from row to row changes.

    Args:
        by_distance: for each query, numbers for the distances from ``t_k - 1`` down to ``1 - t_q``.

    Returns:
        ``(*batch, t_q, t_k)`` with ``t_k = distances - t_q + 1``; a view where the memory allows.

    Raises:
        ValueError: fewer distances than ``t_q`` queries and as many keys have.

    >>> relative_shift(torch.tensor([[2.0, 1.0, 0.0, -1.0], [20.0, 10.0, 0.0, -10.0]]))
    tensor([[ 1.,  0., -1.],
            [20., 10.,  0.]])
    """
    t_q, count = by_distance.shape[-2:]
    t_k = _number_of_keys(t_q, count)
    x = by_distance.contiguous()
    return x.as_strided((*x.shape[:-1], t_k), (*x.stride()[:-2], count - 1, 1), x.storage_offset() + t_q - 1)


class TransformerXLPosition(nn.Module):
    r"""Relative positions of Transformer-XL: Dai et al. (2019), section 3.3.

    .. math::
        A_{ij} = \frac{q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j}}{\sqrt{d_k}},
        \quad r_\delta = W_r R_\delta

    The first term is what attention computes anyway; :meth:`bias` returns the other three. :math:`R_\delta` is the
    sinusoidal encoding of the distance, sine beside cosine as in :func:`~companion.positional.absolute.sinusoidal`.
    (The authors' code puts all sines first, which only permutes the columns of ``w_r``.) Later keys have negative
    distances, so that the scheme serves an encoder too.

    ``w_r`` is a linear map without bias; ``u`` and ``v`` are ``(n_heads, d_k)``, drawn from N(0, 0.02) as in the
    authors' code.

    Args:
        n_heads: number of query heads.
        d_k: width of a head.
        d_model: width of the encoding of a distance, even.
    """

    def __init__(self, n_heads: int, d_k: int, d_model: int) -> None:
        super().__init__()
        check_sizes(n_heads=n_heads, d_k=d_k)
        self.n_heads, self.d_k = n_heads, d_k
        self._encodings = GrowingTable(partial(encode, d_model=d_model))
        self.w_r = nn.Linear(d_model, n_heads * d_k, bias=False)
        self.u = nn.Parameter(torch.empty(n_heads, d_k))
        self.v = nn.Parameter(torch.empty(n_heads, d_k))
        for vector in (self.u, self.v):
            nn.init.normal_(vector, std=0.02)

    def embed(self, x: Float[Tensor, "batch heads t d_k"], start: int) -> Float[Tensor, "batch heads t d_k"]:
        """Return queries or keys as they are: this scheme changes the scores only.

        Args:
            x: queries or keys.
            start: the position of the first.

        Returns:
            ``x``.
        """
        return x

    def bias(
        self, query: Float[Tensor, "batch n_heads t_q d_k"], key: Float[Tensor, "batch n_kv_heads t_k d_k"]
    ) -> Float[Tensor, "batch n_heads t_q t_k"]:
        """Return the last three terms, divided by ``sqrt(d_k)`` as the scores are.

        Args:
            query: the last ``t_q`` positions.
            key: all ``t_k`` positions; neighbouring query heads may share a key head.

        Returns:
            ``(batch, n_heads, t_q, t_k)``, to be added to the scaled scores.

        Raises:
            ValueError: not ``n_heads`` query heads of width ``d_k``, key heads that they cannot share evenly, no query,
                or fewer keys than queries.
        """
        t_q, t_k = check_scheme(query, key, self.n_heads, self.d_k)
        rows = self._encodings.rows(1 - t_q, t_k - 1, dtype=self.w_r.weight.dtype, device=query.device)
        encodings = rows.flip(0).mT  # (d_model, distances), the largest distance first
        w_r = self.w_r.weight.unflatten(0, (self.n_heads, self.d_k))  # (n_heads, d_k, d_model)
        scale = 1 / math.sqrt(self.d_k)
        either = (query + self.v[:, None]) * scale  # q + v: both meet r
        # One product of three, in the cheaper order: in decoding there is one query, and all the distances.
        by_distance = (either @ w_r) @ encodings if t_q == 1 else either @ (w_r @ encodings)
        u = (self.u * scale).unflatten(0, (key.shape[1], -1))  # (n_kv_heads, query heads that share one, d_k)
        by_key = (u @ key.mT).flatten(1, 2)[:, :, None]  # (batch, n_heads, 1, t_k): the same for every query
        return relative_shift(by_distance) + by_key


def check_scheme(
    query: Float[Tensor, "..."], key: Float[Tensor, "..."], n_heads: int, d_k: int | None = None
) -> tuple[int, int]:
    """Refuse queries and keys that a relative scheme of ``n_heads`` heads cannot serve.

    Args:
        query: what came as ``(batch, n_heads, t_q, d_k)``.
        key: what came as ``(batch, n_kv_heads, t_k, d_k)``.
        n_heads: number of query heads of the scheme.
        d_k: width that the scheme needs; ``None`` where it needs none.

    Returns:
        ``(t_q, t_k)``.

    Raises:
        ValueError: other axes, other numbers of heads, key heads that cannot be shared evenly, other widths, no query,
            or fewer keys than queries.
    """
    shapes = tuple(query.shape), tuple(key.shape)
    axes = all(len(s) == 4 and s[3] == (d_k or s[3]) for s in shapes)
    if not axes or query.shape[1] != n_heads or not key.shape[1] or n_heads % key.shape[1]:
        raise ValueError(
            f"query and key are (batch, {n_heads}, t, {d_k or 'd_k'}), the heads second: got {shapes[0]} and "
            f"{shapes[1]}. Split them into heads first; the number of key heads divides {n_heads}."
        )
    t_q, t_k = query.shape[2], key.shape[2]
    check_past(t_q, t_k)
    return t_q, t_k


def _number_of_keys(t_q: int, count: int) -> int:
    if t_q < 1 or count < 2 * t_q - 1:
        raise ValueError(
            f"t_q >= 1 queries and t_k >= t_q keys have t_q + t_k - 1 distances: got t_q={t_q} and {count} distances. "
            f"Give at least {max(1, 2 * t_q - 1)}."
        )
    return count - t_q + 1
