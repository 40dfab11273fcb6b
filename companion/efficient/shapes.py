"""What every form in this package asks of its query, key and value, and the precision it computes in.

Made for this book. Chapter: book/complexity.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def _check_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse a query, key and value that do not fit together."""
    got = f"got query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(
            f"query is (*batch, t_q, d_k), key (*batch, t_k, d_k), value (*batch, t_k, d_v): {got}. "
            "Add the missing axis."
        )
    if any(0 in tensor.shape for tensor in (query, key, value)):
        raise ValueError(f"no axis is empty: {got}. Drop the empty input; there is nothing to attend to.")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same width d_k: {got}. Project both to one width first.")
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(f"each key has one value: {got}. The axis before the last of both must agree.")
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(f"query, key and value must have the same leading axes: {got}. Expand the shorter ones.")
    if not (query.dtype == key.dtype == value.dtype and query.is_floating_point()):
        raise ValueError(
            f"query, key and value have one floating-point dtype: got {query.dtype}, {key.dtype} and {value.dtype}. "
            "Convert with .to()."
        )


def _check_past(t_q: int, t_k: int) -> None:
    """Refuse more queries than keys where the last query stands at the last key."""
    if t_q > t_k:
        raise ValueError(
            f"the last query stands at the last key, so t_q <= t_k: got t_q={t_q} and t_k={t_k}. "
            "Give at least as many keys as queries."
        )


def _without_autocast(device: torch.device) -> AbstractContextManager:
    """Compute in the dtype of the tensors, whatever ``torch.autocast`` says outside; shapes alone have no autocast."""
    known = torch.amp.is_autocast_available(device.type)
    return torch.autocast(device.type, enabled=False) if known else nullcontext()
