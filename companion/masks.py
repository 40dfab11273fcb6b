"""Boolean attention masks: ``True`` means *this query may look at this key*, as in ``scaled_dot_product_attention``.

Two dimensions always mean query by key. Vaswani et al. (2017), sections 3.1 and 3.2.3.

Chapter: book/attention.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from companion.checks import check_past


def causal(t_q: int, t_k: int | None = None, *, device: torch.device | str | None = None) -> Bool[Tensor, "t_q t_k"]:
    """Let each query look at its own position and the earlier ones.

    The last query stands at the last key, so with ``t_k > t_q`` the first ``t_k - t_q`` keys are a past that every
    query may see (a key-value cache). ``scaled_dot_product_attention(is_causal=True)`` aligns the *first* query with
    the first key instead; the two agree when ``t_q == t_k``.

    Args:
        t_q: number of queries.
        t_k: number of keys; ``None`` means ``t_q``.
        device: where the mask is stored; ``None`` means torch's default device.

    Returns:
        ``(t_q, t_k)``, ``True`` where key ``j <= i + t_k - t_q``.

    Raises:
        ValueError: a size is below 1, or there are fewer keys than queries.
    """
    query, key = _positions(t_q, t_k, device)
    return key <= query


def window(
    t_q: int, size: int, t_k: int | None = None, *, causal: bool = True, device: torch.device | str | None = None
) -> Bool[Tensor, "t_q t_k"]:
    """Let each query look at the ``size`` nearest positions, its own among them.

    Args:
        t_q: number of queries.
        size: number of positions. Causal: the query's own and the ``size - 1`` before it.
            Not causal: those less than ``size`` away on either side, ``2 * size - 1`` in all.
        t_k: number of keys; ``None`` means ``t_q``. The last query stands at the last key.
        causal: whether later positions stay hidden.
        device: where the mask is stored; ``None`` means torch's default device.

    Returns:
        ``(t_q, t_k)``.

    Raises:
        ValueError: a size is below 1, or there are fewer keys than queries.
    """
    if size < 1:
        raise ValueError(f"a window holds at least the query's own position: got size={size}. Use size >= 1.")
    query, key = _positions(t_q, t_k, device)
    distance = query - key
    return (distance >= 0) & (distance < size) if causal else distance.abs() < size


def padding(
    lengths: Sequence[int] | Int[Tensor, " batch"],
    t_k: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "batch 1 t_k"]:
    """Hide the keys that only pad a shorter sequence to the length of the batch.

    The middle axis of size 1 lets every query of a sequence share its row. A mask of shape ``(batch, t_k)`` would be
    read as query by key.

    Args:
        lengths: number of real tokens of each sequence, at least 0.
        t_k: length that the batch is padded to; ``None`` means the longest of ``lengths``.
        device: where the mask is stored; ``None`` means beside ``lengths`` if that is a tensor, else torch's default
            device.

    Returns:
        ``(batch, 1, t_k)``, ``True`` for the first ``lengths[b]`` keys of sequence ``b``.

    Raises:
        ValueError: no lengths, a length that is negative, fractional or above ``t_k``, or more than one axis.
    """
    if not isinstance(lengths, Tensor):
        lengths = torch.as_tensor(lengths)
    if lengths.ndim != 1 or lengths.numel() == 0:
        raise ValueError(f"lengths has one number a sequence, shape (batch,): got shape {tuple(lengths.shape)}.")
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise ValueError(f"lengths are whole numbers: got {lengths.dtype}. To turn a mask into lengths, sum it.")
    t_k = int(lengths.max()) if t_k is None else t_k
    if t_k < 1 or int(lengths.min()) < 0 or int(lengths.max()) > t_k:
        raise ValueError(
            f"lengths lie between 0 and t_k, and t_k is at least 1: got lengths {lengths.tolist()} and t_k={t_k}. "
            "Shorten the sequences or raise t_k."
        )
    lengths = lengths.to(device=device)  # after the checks: they read the numbers where they are
    return torch.arange(t_k, device=lengths.device) < lengths[:, None, None]


def and_masks(*masks: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """Allow a pair only where every mask allows it; ``None`` stands for a mask that allows everything.

    Args:
        *masks: masks whose shapes broadcast, for example ``causal(t)`` and ``padding(lengths)``. Those with more than
            two axes have equally many, so that each leading axis means the same in all of them.

    Returns:
        The logical *and* in the broadcast shape, or ``None`` where all are ``None``.

    Raises:
        ValueError: a mask is not boolean, the shapes do not broadcast, or two masks with more than two axes have
            different numbers of them.
    """
    given = [mask for mask in masks if mask is not None]
    for mask in given:
        _check_boolean(mask)
    shapes = ", ".join(str(tuple(mask.shape)) for mask in given)
    if len({mask.ndim for mask in given if mask.ndim > 2}) > 1:
        raise ValueError(
            "masks with more than two axes can be joined only where they have equally many: "
            f"got {shapes}. Broadcasting would take the batch of the shorter one for heads; insert its head axis with "
            "mask[:, None]."
        )
    try:
        shape = torch.broadcast_shapes(*(mask.shape for mask in given))
    except RuntimeError:
        raise ValueError(
            f"masks to be joined broadcast to one shape: got {shapes}. Write each as (t_q or 1, t_k) or "
            "(batch, t_q or 1, t_k); padding(lengths) gives (batch, 1, t_k)."
        ) from None
    if not given:
        return None
    result = given[0].expand(shape)
    for mask in given[1:]:
        result = result & mask
    return result.clone() if len(given) == 1 else result


def check_mask(mask: Tensor, scores_shape: Sequence[int]) -> None:
    """Refuse a mask that is not a legal mask of scores ``(*batch, t_q, t_k)``.

    Legal are ``(t_q or 1, t_k)``, and a mask with as many axes as the scores, its leading axes equal to theirs or 1.
    A mask with some other number of axes would be broadcast against the wrong ones.

    Args:
        mask: what came.
        scores_shape: ``(*batch, t_q, t_k)``.

    Raises:
        ValueError: the mask is not boolean, or its shape is not legal.
    """
    _check_boolean(mask)
    got, want = tuple(mask.shape), tuple(scores_shape)
    *batch, t_q, t_k = want
    legal = len(got) in (2, len(want)) and got[-1] == t_k and got[-2] in (1, t_q)
    if legal and len(got) == len(want):
        legal = all(m in (1, b) for m, b in zip(got, batch, strict=False))
    if legal:
        return
    *free, rows = ("1" if size == 1 else f"{size} or 1" for size in (*batch, t_q))
    shapes = f"({rows}, {t_k})"
    if batch:
        shapes += f" or ({', '.join(free)}, {rows}, {t_k})"
    remedy = "Two axes mean query by key."
    if len(got) == 2 and batch and got == (batch[0], t_k):
        remedy = "It looks like (batch, t_k): make it a padding mask with mask[:, None, :], or padding(lengths)."
    elif len(got) == 3 and len(want) == 4:
        remedy = "Insert the head axis with mask[:, None]."
    raise ValueError(f"a mask of scores {want} has shape {shapes}: got {got}. {remedy}")


def _check_boolean(mask: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(
            f"a mask is boolean, True = may look: got {mask.dtype}. Use mask.bool() for a mask of 0 and 1, "
            "mask == 0 for an additive mask of 0 and -inf."
        )


def _positions(
    t_q: int, t_k: int | None, device: torch.device | str | None
) -> tuple[Int[Tensor, "t_q 1"], Int[Tensor, " t_k"]]:
    t_k = t_q if t_k is None else t_k
    check_past(t_q, t_k)
    return torch.arange(t_k - t_q, t_k, device=device)[:, None], torch.arange(t_k, device=device)
