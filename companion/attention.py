"""Scaled dot-product attention: Vaswani et al. (2017), section 3.2.1, Eq. (1). Chapter: book/attention."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from companion.checks import check_bias, check_query_key, check_value
from companion.masks import check_mask


def attention_weights(
    query: Float[Tensor, "*batch t_q d_k"],
    key: Float[Tensor, "*batch t_k d_k"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    scale: float | None = None,
    bias: Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch t_q t_k"]:
    r"""Turn query-key scores into one distribution over the keys for each query.

    .. math:: A = \operatorname{softmax}\left(Q K^\top / \sqrt{d_k}\right)

    Args:
        query: ``(*batch, t_q, d_k)``.
        key: ``(*batch, t_k, d_k)``.
        mask: ``True`` where the query may look at the key, of shape ``(t_q or 1, t_k)`` or with as many axes as the
            scores. ``None`` allows every pair.
        scale: factor of the scores; ``None`` means ``1 / sqrt(d_k)``, as in Eq. (1).
        bias: added to the scaled scores, for example a number for each distance; broadcasts to ``(*batch, t_q, t_k)``.
            Minus infinity hides the key, as the mask does.

    Returns:
        ``(*batch, t_q, t_k)``. A row sums to 1, or is all 0 where mask and bias allow it no key.

    Raises:
        ValueError: shapes or dtypes of query and key differ, an axis is empty, or the mask or the bias is not legal.
    """
    check_query_key(query, key)
    scale = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.mT  # (*batch, t_q, t_k); scaled first, so that float16 does not overflow
    if mask is not None:
        check_mask(mask, scores.shape)
    if bias is not None:
        check_bias(bias, scores.shape, scores.dtype)
        hides = bias == -torch.inf
        scores = scores + bias.masked_fill(hides, 0.0)  # a row of -inf alone would be NaN, in its gradient too
        mask = ~hides if mask is None else mask & ~hides
    if mask is None:
        return scores.softmax(dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)  # a query with no key: softmax over -inf alone would be NaN
    return scores.masked_fill(~(mask | empty), -torch.inf).softmax(dim=-1).masked_fill(empty, 0.0)


def attention(
    query: Float[Tensor, "*batch t_q d_k"],
    key: Float[Tensor, "*batch t_k d_k"],
    value: Float[Tensor, "*batch t_k d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    scale: float | None = None,
) -> Float[Tensor, "*batch t_q d_v"]:
    r"""Average the values, weighted for each query by how well the keys match it.

    .. math:: \operatorname{Attention}(Q, K, V) = \operatorname{softmax}\left(Q K^\top / \sqrt{d_k}\right) V

    Args:
        query: ``(*batch, t_q, d_k)``.
        key: ``(*batch, t_k, d_k)``.
        value: ``(*batch, t_k, d_v)``.
        mask: ``True`` where the query may look at the key; see :func:`attention_weights`.
        scale: factor of the scores; ``None`` means ``1 / sqrt(d_k)``.

    Returns:
        ``(*batch, t_q, d_v)``, inside the convex hull of the values, or 0 where the mask allows a query no key.

    Raises:
        ValueError: shapes or dtypes do not fit together, an axis is empty, or the mask is not legal.
    """
    check_value(key, value)
    return attention_weights(query, key, mask, scale=scale) @ value
