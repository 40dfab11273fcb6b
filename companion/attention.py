"""Scaled dot-product attention: Vaswani et al. (2017), section 3.2.1, Eq. (1). Chapter: book/attention."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

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
    _check_query_key(query, key)
    scale = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.mT  # (*batch, t_q, t_k); scaled first, so that float16 does not overflow
    if mask is not None:
        check_mask(mask, scores.shape)
    if bias is not None:
        hides = _checked(bias, scores) == -torch.inf
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
    _check_filled(query=query, key=key, value=value)
    if value.ndim < 2 or value.shape[:-1] != key.shape[:-1]:
        raise ValueError(
            f"each key has one value: got key {tuple(key.shape)} and value {tuple(value.shape)}. "
            "All axes but the last must agree."
        )
    if value.dtype != key.dtype:
        raise ValueError(f"key and value have one dtype: got {key.dtype} and {value.dtype}. Convert one with .to().")
    return attention_weights(query, key, mask, scale=scale) @ value


def _check_filled(**tensors: Tensor) -> None:
    if any(0 in tensor.shape for tensor in tensors.values()):
        got = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"no axis is empty: got {got}. Drop the empty input; there is nothing to attend to.")


def _check_query_key(query: Tensor, key: Tensor) -> None:
    _check_filled(query=query, key=key)
    got = f"got query {tuple(query.shape)} and key {tuple(key.shape)}"
    if query.ndim < 2 or key.ndim < 2:
        raise ValueError(f"query is (*batch, t_q, d_k) and key (*batch, t_k, d_k): {got}. Add the missing axis.")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same width d_k: {got}. Project both to one width first.")
    if query.shape[:-2] != key.shape[:-2]:
        raise ValueError(f"query and key must have the same leading axes: {got}. Expand one of them.")
    if query.dtype != key.dtype or not query.is_floating_point():
        raise ValueError(
            f"query and key have one floating-point dtype: got {query.dtype} and {key.dtype}. Convert with .to()."
        )


def _checked(bias: Tensor, scores: Tensor) -> Tensor:
    sizes = zip(reversed(bias.shape), reversed(scores.shape), strict=False)
    if bias.dtype != scores.dtype or bias.ndim > scores.ndim or any(b not in (1, s) for b, s in sizes):
        raise ValueError(
            f"a bias broadcasts to the scores {tuple(scores.shape)} and has their dtype {scores.dtype}: "
            f"got {tuple(bias.shape)} of {bias.dtype}. Each of its axes is 1 or that of the scores."
        )
    return bias
