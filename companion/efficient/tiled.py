"""Exact attention in tiles, with the matrix of weights never held whole: FlashAttention, Dao et al. (2022).

Forward: their Algorithm 1 with the loops exchanged, blocks of queries outside, as in Dao (2023). That memory need not
grow with the square of the length: Rabe and Staats (2021). Backward by recomputation: Dao et al. (2022), appendix B.2
and Algorithm 4.

Chapter: book/complexity.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from companion.checks import check_past
from companion.efficient.online import online_softmax_sum
from companion.efficient.shapes import _check_shapes, _without_autocast
from companion.masks import check_mask


def tiled_attention(
    query: Float[Tensor, "*batch t_q d_k"],
    key: Float[Tensor, "*batch t_k d_k"],
    value: Float[Tensor, "*batch t_k d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    block: int = 512,
    scale: float | int | None = None,
) -> Float[Tensor, "*batch t_q d_v"]:
    r"""Compute :func:`companion.attention.attention`, exactly, without ever holding all scores at once.

    For each block of queries one pass over the blocks of keys (:func:`online_softmax_sum`). The forward pass keeps the
    output and one number a query, the log-sum-exp :math:`L_i` of its scores; the backward pass computes each tile of
    weights again from it,

    .. math:: A_{ij} = e^{s_{ij} - L_i}, \qquad
        \frac{\partial \mathcal L}{\partial s_{ij}} = A_{ij} \Bigl(\frac{\partial \mathcal L}{\partial o_i} \cdot v_j
        - \frac{\partial \mathcal L}{\partial o_i} \cdot o_i\Bigr) .

    Memory beside inputs, output and gradients is ``block`` squared for each head, whatever the lengths are; the number
    of operations is that of the plain form, plus one product of queries and keys in the backward pass. Half precision
    is computed in float32, under ``torch.autocast`` too: the backward pass has to find the scores of the forward pass
    again. The gradient cannot be differentiated again.

    Args:
        query: ``(*batch, t_q, d_k)``.
        key: ``(*batch, t_k, d_k)``.
        value: ``(*batch, t_k, d_v)``.
        mask: ``True`` where the query may look at the key, of shape ``(t_q or 1, t_k)`` or with as many axes as the
            scores. A whole mask takes quadratic memory itself: prefer ``causal`` and masks of one row.
        causal: whether later keys are hidden too; the last query stands at the last key, as in ``masks.causal``.
            Tiles that hold only hidden pairs are left out.
        block: queries, and keys, in a tile.
        scale: factor of the scores; ``None`` means ``1 / sqrt(d_k)``.

    Returns:
        ``(*batch, t_q, d_v)``; 0 for a query that may look at no key.

    Raises:
        ValueError: shapes or dtypes do not fit together, an axis is empty, the mask is not legal, ``block`` is below
            1, or there are more queries than keys where later keys are hidden. In the backward pass: a graph of the
            gradient was asked for (``create_graph=True``).
    """
    _check_shapes(query, key, value)
    if block < 1:
        raise ValueError(f"a tile holds at least one query and one key: got block={block}. Use 128 to 1024.")
    if causal:
        check_past(query.shape[-2], key.shape[-2])
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.shape[-2]))
    scale = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
    with _without_autocast(query.device):
        return _TiledAttention.apply(query, key, value, mask, causal, block, scale)


class _TiledAttention(torch.autograd.Function):
    """Forward and backward pass of :func:`tiled_attention`."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        causal: bool,
        block: int,
        scale: float | int,
    ) -> Tensor:
        dtype = torch.promote_types(query.dtype, torch.float32)  # sums are not kept in half precision
        output = query.new_empty(*query.shape[:-1], value.shape[-1])
        log_sum = query.new_empty(query.shape[:-1], dtype=dtype)
        for rows in _blocks(query.shape[-2], block):
            q = query[..., rows, :].to(dtype) * scale
            tiles = (
                (_scores(q, key[..., columns, :].to(dtype), allowed), value[..., columns, :].to(dtype))
                for columns, allowed in _tiles(rows, query, key, mask, causal, block)
            )
            output[..., rows, :], log_sum[..., rows] = online_softmax_sum(tiles)
        ctx.save_for_backward(query, key, value, mask, output, log_sum)
        ctx.settings = causal, block, scale
        return output

    @staticmethod
    def backward(ctx: FunctionCtx, upstream: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # torch would take the gradient for a constant, and say nothing
            raise ValueError(
                "the gradient of tiled_attention cannot be differentiated again: got create_graph=True. "
                "Use companion.attention.attention for second derivatives."
            )
        with _without_autocast(upstream.device):
            return (*_gradients(*ctx.saved_tensors, upstream, *ctx.settings), None, None, None, None)


def _gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    output: Tensor,
    log_sum: Tensor,
    upstream: Tensor,
    causal: bool,
    block: int,
    scale: float | int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute each tile of weights again, and from it what it adds to the gradients of query, key and value."""
    dtype = log_sum.dtype
    query_grad, key_grad, value_grad = (torch.zeros_like(x, dtype=dtype) for x in (query, key, value))
    log_sum = log_sum.masked_fill(log_sum == -torch.inf, torch.inf)  # no key: exp(score - inf) = 0 for all
    for rows in _blocks(query.shape[-2], block):
        q, up = query[..., rows, :].to(dtype) * scale, upstream[..., rows, :].to(dtype)
        along = (up * output[..., rows, :]).sum(dim=-1, keepdim=True)
        for columns, allowed in _tiles(rows, query, key, mask, causal, block):
            k, v = key[..., columns, :].to(dtype), value[..., columns, :].to(dtype)
            weights = _scores(q, k, allowed).sub_(log_sum[..., rows, None]).exp_()
            value_grad[..., columns, :] += weights.mT @ up
            score_grad = (up @ v.mT).sub_(along).mul_(weights)
            query_grad[..., rows, :] += score_grad @ k * scale
            key_grad[..., columns, :] += score_grad.mT @ q  # q carries the scale
    return query_grad.to(query.dtype), key_grad.to(query.dtype), value_grad.to(query.dtype)


def _blocks(length: int, block: int) -> Iterator[slice]:
    """Cut ``length`` positions into blocks; the last one may be shorter."""
    return (slice(start, min(start + block, length)) for start in range(0, length, block))


def _tiles(
    rows: slice, query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, block: int
) -> Iterator[tuple[slice, Tensor | None]]:
    """For a block of queries, name the blocks of keys to visit, and the pairs that are allowed (None: all)."""
    t_k = key.shape[-2]
    past = t_k - query.shape[-2]  # query i stands at position i + past
    for columns in _blocks(rows.stop + past if causal else t_k, block):
        allowed = None
        if mask is not None:
            allowed = mask[..., rows if mask.shape[-2] > 1 else slice(None), columns]
        if causal and columns.stop > rows.start + past + 1:  # the diagonal runs through this tile
            place = torch.arange(rows.start + past, rows.stop + past, device=query.device)[:, None]
            earlier = torch.arange(columns.start, columns.stop, device=query.device) <= place
            allowed = earlier if allowed is None else allowed & earlier
        yield columns, allowed


def _scores(query: Tensor, key: Tensor, allowed: Tensor | None) -> Tensor:
    """Score one tile, minus infinity where a pair is hidden; the query is scaled already."""
    scores = query @ key.mT
    return scores if allowed is None else scores.masked_fill_(~allowed, -torch.inf)
