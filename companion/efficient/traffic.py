"""Attention that counts what it moves between the large memory of a GPU (HBM) and the small one on the chip (SRAM).

Standard: Dao et al. (2022), Algorithms 0 and 3. In tiles: their Algorithms 1 and 4, keys in the outer loop, with one
log-sum-exp a query in place of a maximum and a sum, as in Dao (2023); on demand with queries in the outer loop of the
forward pass, also as in Dao (2023).

Chapter: book/efficient-attention.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from companion.checks import check_sizes
from companion.efficient.shapes import _check_shapes


class Memory:
    """A large memory that counts the numbers read from it and written to it; what is computed, is computed elsewhere.

    >>> memory = Memory()
    >>> copy = memory.load(torch.ones(2, 3))
    >>> memory.store(torch.empty(3), copy.sum(dim=0))
    >>> memory.read, memory.written
    (6, 3)
    """

    def __init__(self) -> None:
        self.read = 0
        self.written = 0

    def load(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Copy a tensor to the chip."""
        self.read += x.numel()
        return x.clone()

    def store(self, place: Float[Tensor, "..."], x: Float[Tensor, "..."]) -> None:
        """Write a tensor of the chip to the large memory.

        Args:
            place: of any shape; is written over.
            x: of the same shape.

        Raises:
            ValueError: the shapes differ.
        """
        if place.shape != x.shape:
            raise ValueError(
                f"a tensor is stored in a place of its shape: got {tuple(x.shape)} for {tuple(place.shape)}. Cut one."
            )
        self.written += x.numel()
        place.copy_(x)


def tile_sizes(sram: int, d: int) -> tuple[int, int]:
    r"""Choose tiles for a memory on the chip: :math:`\lfloor M/4d \rfloor` keys, at most :math:`d` queries.

    Two blocks of keys and values then take a half of it, queries and outputs at most the other half. As in Dao et al.
    (2022), Algorithm 1, the tile of scores is not counted, which is at most a quarter more.

    Args:
        sram: numbers that fit on the chip.
        d: width of queries, keys and values.

    Returns:
        Queries and keys in a tile.

    Raises:
        ValueError: a size is below 1, or not even one query and one key fit.
    """
    check_sizes(sram=sram, d=d)
    if sram < 4 * d:
        raise ValueError(
            f"a query, key, value and output of width {d} take {4 * d} numbers on the chip: got sram={sram}. "
            "Take a larger one."
        )
    return min(sram // (4 * d), d), sram // (4 * d)


def standard_forward(
    query: Float[Tensor, "*batch t_q d"],
    key: Float[Tensor, "*batch t_k d"],
    value: Float[Tensor, "*batch t_k d"],
    memory: Memory,
) -> tuple[Float[Tensor, "*batch t_q d"], Float[Tensor, "*batch t_q t_k"]]:
    """Compute attention with scores and weights in the large memory: 4nd + 4n² numbers moved for n positions.

    Args:
        query: ``(*batch, t_q, d)``.
        key: ``(*batch, t_k, d)``.
        value: ``(*batch, t_k, d)``.
        memory: counts.

    Returns:
        The output, and the weights for the backward pass.

    Raises:
        ValueError: shapes or dtypes do not fit together.
    """
    _check(query, key, value)
    scores, output = query.new_empty(*query.shape[:-1], key.shape[-2]), torch.empty_like(query)
    weights = torch.empty_like(scores)
    memory.store(scores, memory.load(query) @ memory.load(key).mT / math.sqrt(query.shape[-1]))
    memory.store(weights, memory.load(scores).softmax(dim=-1))
    memory.store(output, memory.load(weights) @ memory.load(value))
    return output, weights


def standard_backward(
    query: Float[Tensor, "*batch t_q d"],
    key: Float[Tensor, "*batch t_k d"],
    value: Float[Tensor, "*batch t_k d"],
    weights: Float[Tensor, "*batch t_q t_k"],
    upstream: Float[Tensor, "*batch t_q d"],
    memory: Memory,
) -> tuple[Float[Tensor, "*batch t_q d"], Float[Tensor, "*batch t_k d"], Float[Tensor, "*batch t_k d"]]:
    """Compute the gradients of attention from stored weights: 8nd + 7n² numbers moved.

    Args:
        query: ``(*batch, t_q, d)``.
        key: ``(*batch, t_k, d)``.
        value: ``(*batch, t_k, d)``.
        weights: ``(*batch, t_q, t_k)``, of :func:`standard_forward`.
        upstream: ``(*batch, t_q, d)``, gradient of the output.
        memory: counts.

    Returns:
        The gradients of query, key and value.

    Raises:
        ValueError: shapes or dtypes do not fit together.
    """
    _check(query, key, value)
    weights_grad, scores_grad = torch.empty_like(weights), torch.empty_like(weights)
    query_grad, key_grad, value_grad = (torch.empty_like(x) for x in (query, key, value))
    scale = 1 / math.sqrt(query.shape[-1])
    memory.store(value_grad, memory.load(weights).mT @ memory.load(upstream))
    memory.store(weights_grad, memory.load(upstream) @ memory.load(value).mT)
    p, dp = memory.load(weights), memory.load(weights_grad)
    memory.store(scores_grad, p * (dp - (p * dp).sum(dim=-1, keepdim=True)))
    memory.store(query_grad, memory.load(scores_grad) @ memory.load(key) * scale)
    memory.store(key_grad, memory.load(scores_grad).mT @ memory.load(query) * scale)
    return query_grad, key_grad, value_grad


def flash_forward(
    query: Float[Tensor, "*batch t_q d"],
    key: Float[Tensor, "*batch t_k d"],
    value: Float[Tensor, "*batch t_k d"],
    sram: int,
    memory: Memory,
    *,
    queries_outside: bool = False,
) -> tuple[Float[Tensor, "*batch t_q d"], Float[Tensor, "*batch t_q 1"]]:
    r"""Compute attention in tiles that fit on the chip; scores and weights never leave it.

    With :math:`T` blocks of keys, :math:`3nd + n + T(3nd + 2n)` numbers are moved, about :math:`12 n^2 d^2 / M`. With
    :math:`T` blocks of queries outside, :math:`2nd + n + 2Tnd`, about :math:`8 n^2 d^2 / M`.

    Args:
        query: ``(*batch, t_q, d)``.
        key: ``(*batch, t_k, d)``.
        value: ``(*batch, t_k, d)``.
        sram: numbers that fit on the chip, :math:`M`; see :func:`tile_sizes`.
        memory: counts.
        queries_outside: let queries and outputs stay on the chip and keys and values pass by, in place of the other
            way round.

    Returns:
        The output, and the log-sum-exp of the scores of each query.

    Raises:
        ValueError: shapes or dtypes do not fit together, or ``sram`` is below four times the width.
    """
    _check(query, key, value)
    output, log_sum = torch.empty_like(query), query.new_empty(*query.shape[:-1], 1)
    if queries_outside:
        columns, rows = tile_sizes(sram, query.shape[-1])
        for queries in _blocks(query, rows):
            q = memory.load(query[queries])
            o, total = torch.zeros_like(q), torch.full_like(q[..., :1], -torch.inf)
            for keys in _blocks(key, columns):
                o, total = _with_tile(q, memory.load(key[keys]), memory.load(value[keys]), o, total)
            memory.store(output[queries], o)
            memory.store(log_sum[queries], total)
        return output, log_sum
    memory.store(output, torch.zeros_like(output))
    memory.store(log_sum, torch.full_like(log_sum, -torch.inf))
    rows, columns = tile_sizes(sram, query.shape[-1])
    for keys in _blocks(key, columns):
        k, v = memory.load(key[keys]), memory.load(value[keys])
        for queries in _blocks(query, rows):
            q, o, total = (memory.load(x[queries]) for x in (query, output, log_sum))
            o, total = _with_tile(q, k, v, o, total)
            memory.store(output[queries], o)
            memory.store(log_sum[queries], total)
    return output, log_sum


def flash_backward(
    query: Float[Tensor, "*batch t_q d"],
    key: Float[Tensor, "*batch t_k d"],
    value: Float[Tensor, "*batch t_k d"],
    output: Float[Tensor, "*batch t_q d"],
    log_sum: Float[Tensor, "*batch t_q 1"],
    upstream: Float[Tensor, "*batch t_q d"],
    sram: int,
    memory: Memory,
) -> tuple[Float[Tensor, "*batch t_q d"], Float[Tensor, "*batch t_k d"], Float[Tensor, "*batch t_k d"]]:
    r"""Compute the gradients of attention in tiles, each tile of weights anew from the log-sum-exp.

    With :math:`T` blocks of keys, :math:`5nd + T(5nd + n)` numbers are moved, about :math:`20 n^2 d^2 / M`.

    Args:
        query: ``(*batch, t_q, d)``.
        key: ``(*batch, t_k, d)``.
        value: ``(*batch, t_k, d)``.
        output: ``(*batch, t_q, d)``, of :func:`flash_forward`.
        log_sum: ``(*batch, t_q, 1)``, of :func:`flash_forward`.
        upstream: ``(*batch, t_q, d)``, gradient of the output.
        sram: numbers that fit on the chip; see :func:`tile_sizes`.
        memory: counts.

    Returns:
        The gradients of query, key and value.

    Raises:
        ValueError: shapes or dtypes do not fit together, or ``sram`` is below four times the width.
    """
    _check(query, key, value)
    query_grad, key_grad, value_grad = (torch.empty_like(x) for x in (query, key, value))
    memory.store(query_grad, torch.zeros_like(query))
    rows, columns = tile_sizes(sram, query.shape[-1])
    scale = 1 / math.sqrt(query.shape[-1])
    for keys in _blocks(key, columns):
        k, v = memory.load(key[keys]), memory.load(value[keys])
        dk, dv = torch.zeros_like(k), torch.zeros_like(v)
        for queries in _blocks(query, rows):
            tile = (query, output, log_sum, upstream, query_grad)
            q, o, total, do, dq = (memory.load(x[queries]) for x in tile)
            p = (q @ k.mT * scale - total).exp()
            ds = p * (do @ v.mT - (do * o).sum(dim=-1, keepdim=True)) * scale
            dk, dv = dk + ds.mT @ q, dv + p.mT @ do
            memory.store(query_grad[queries], dq + ds @ k)
        memory.store(key_grad[keys], dk)
        memory.store(value_grad[keys], dv)
    return query_grad, key_grad, value_grad


def _with_tile(q: Tensor, k: Tensor, v: Tensor, o: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Add a tile to the output so far, and to the log-sum-exp of its scores."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    after = torch.logaddexp(before, scores.logsumexp(dim=-1, keepdim=True))
    return (before - after).exp() * o + (scores - after).exp() @ v, after


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse what does not fit together; here values are as wide as keys, as in the paper."""
    _check_shapes(query, key, value)
    if value.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"keys and values have one width here: got {tuple(key.shape)} and {tuple(value.shape)}. "
            "Use companion.efficient.tiled_attention for two."
        )


def _blocks(x: Tensor, size: int) -> Iterator[tuple[object, slice, slice]]:
    """Name the blocks of ``size`` positions of a tensor; the last one may be shorter."""
    return ((..., slice(start, start + size), slice(None)) for start in range(0, x.shape[-2], size))
