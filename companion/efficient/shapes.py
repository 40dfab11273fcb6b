"""What every form in this package asks of its query, key and value, and the precision it computes in.

Made for this book. Chapter: book/complexity.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from companion.checks import check_query_key, check_value


def _check_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse a query, key and value that do not fit together."""
    check_query_key(query, key)
    check_value(key, value)


def _without_autocast(device: torch.device) -> AbstractContextManager:
    """Compute in the dtype of the tensors, whatever ``torch.autocast`` says outside; shapes alone have no autocast."""
    known = torch.amp.is_autocast_available(device.type)
    return torch.autocast(device.type, enabled=False) if known else nullcontext()
