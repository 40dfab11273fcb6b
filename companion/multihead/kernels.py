"""Attention in every head at once, by two kernels with one result: Vaswani et al. (2017), section 3.2.2.

``reference`` is Eq. (1) with the weights as a tensor; ``sdpa`` is torch's ``scaled_dot_product_attention``, which never
holds them. Where a query may look at no key, both give 0.

Chapter: book/multi-head.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from companion import masks
from companion.attention import attention_weights
from companion.checks import check_bias, check_divides, check_query_key, check_value
from companion.multihead.heads import repeat_heads


def reference(
    query: Float[Tensor, "batch n_heads t_q d_k"],
    key: Float[Tensor, "batch n_kv_heads t_k d_k"],
    value: Float[Tensor, "batch n_kv_heads t_k d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    bias: Float[Tensor, "..."] | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "batch n_heads t_q d_v"]:
    """Attend in every head by Eq. (1), step by step.

    Args:
        query: ``(batch, n_heads, t_q, d_k)``.
        key: ``(batch, n_kv_heads, t_k, d_k)``; neighbouring query heads share a key-value head.
        value: ``(batch, n_kv_heads, t_k, d_v)``.
        mask: ``True`` = may look; ``(t_q or 1, t_k)`` or ``(batch or 1, n_heads or 1, t_q or 1, t_k)``.
        bias: added to the scaled scores; broadcasts to ``(batch, n_heads, t_q, t_k)``.
        causal: whether the later keys are hidden too; the last query stands at the last key.
        dropout: probability of a weight to become 0; the others grow by ``1 / (1 - dropout)``.

    Returns:
        ``(batch, n_heads, t_q, d_v)``, 0 where a query may look at no key.

    Raises:
        ValueError: shapes or dtypes do not fit together, an axis is empty, or the mask or the bias is not legal.
    """
    _check_inputs(query, key, value, mask)
    key, value = repeat_heads(key, query.shape[1]), repeat_heads(value, query.shape[1])
    mask = join_causal(mask, query, key) if causal else mask
    weights = attention_weights(query, key, mask, bias=bias)  # (batch, n_heads, t_q, t_k)
    return F.dropout(weights, dropout) @ value


def sdpa(
    query: Float[Tensor, "batch n_heads t_q d_k"],
    key: Float[Tensor, "batch n_kv_heads t_k d_k"],
    value: Float[Tensor, "batch n_kv_heads t_k d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    bias: Float[Tensor, "..."] | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "batch n_heads t_q d_v"]:
    """Attend in every head by torch's ``scaled_dot_product_attention``; the weights never exist as a tensor.

    Args:
        query: ``(batch, n_heads, t_q, d_k)``.
        key: ``(batch, n_kv_heads, t_k, d_k)``.
        value: ``(batch, n_kv_heads, t_k, d_v)``.
        mask: as in :func:`reference`.
        bias: as in :func:`reference`.
        causal: as in :func:`reference`. Alone, with as many queries as keys, it needs no mask: torch skips the half.
        dropout: as in :func:`reference`.

    Returns:
        ``(batch, n_heads, t_q, d_v)``, the same numbers as :func:`reference`.

    Raises:
        ValueError: what :func:`reference` refuses; and, on a CPU, NaN or infinity in the queries, in the first key, or
            beside a mask or a bias in any key: for a row of scores that are all NaN, torch 2.5 and later return 0
            there, where the formula returns NaN.
    """
    _check_inputs(query, key, value, mask)
    some_hidden = mask is not None or bias is not None
    _check_finite(query=query, key=key if some_hidden else key[:, :, :1])  # else every query sees the first key
    is_causal = causal and mask is None and bias is None and query.shape[2] == key.shape[2]
    if causal and not is_causal:
        mask = join_causal(mask, query, key)
    if bias is not None:  # torch takes one tensor for both: a bias of -inf hides a key
        check_bias(bias, (*query.shape[:3], key.shape[2]), query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    grouped = query.shape[1] != key.shape[1]
    return F.scaled_dot_product_attention(
        query, key, value, mask, dropout_p=dropout, is_causal=is_causal, enable_gqa=grouped
    )


KERNELS = {"reference": reference, "sdpa": sdpa}


def join_causal(
    mask: Bool[Tensor, "..."] | None,
    query: Float[Tensor, "batch n_heads t_q d_k"],
    key: Float[Tensor, "batch n_kv_heads t_k d_k"],
) -> Bool[Tensor, "..."] | None:
    """Hide the later keys in addition to what a mask hides.

    Args:
        mask: the mask so far, or ``None``.
        query: queries, of which the last stands at the last key.
        key: keys.

    Returns:
        The joint mask; ``mask`` itself for a single query, which is the last and has no later keys.
    """
    t_q, t_k = query.shape[2], key.shape[2]
    return mask if t_q == 1 else masks.and_masks(mask, masks.causal(t_q, t_k, device=query.device))


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(
            f"heads are (batch, heads, t, width): got query {tuple(query.shape)}, key {tuple(key.shape)} and value "
            f"{tuple(value.shape)}. split_heads makes them."
        )
    check_query_key(query, key, grouped=True)
    check_value(key, value)
    check_divides(n_kv_heads=key.shape[1], n_heads=query.shape[1])
    if mask is not None:  # before it is joined with the causal mask, which would broadcast what is not legal
        masks.check_mask(mask, (*query.shape[:3], key.shape[2]))


def _check_finite(**tensors: Tensor) -> None:
    """Refuse what torch would hide (github.com/pytorch/pytorch/issues/141128); a GPU would have to wait for this."""
    for name, tensor in tensors.items():
        if tensor.device.type == "cpu" and not all(math.isfinite(end.item()) for end in tensor.detach().aminmax()):
            raise ValueError(
                f"on a CPU the fused kernel can turn NaN into 0: got a {name} {tuple(tensor.shape)} with NaN or "
                "infinity. Find where it begins with kernel='reference', which passes it on."
            )
