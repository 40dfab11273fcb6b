"""Calls that an exercise forbids, seen where torch dispatches them and not by the names in the code.

`torch.softmax`, `F.softmax`, `nn.Softmax` and `x.softmax` all arrive as one operator, and so does a softmax inside
another function of torch.
"""

from types import ModuleType

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.autograd import forward_ad

SOFTMAX = (
    torch.ops.aten._softmax,
    torch.ops.aten._log_softmax,
    torch.ops.aten._safe_softmax,
    torch.ops.aten._masked_softmax,
    torch.ops.aten._sparse_softmax,
    torch.ops.aten._sparse_log_softmax,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu,
)
"""The operators behind every softmax and log-softmax of torch on the CPU, masked, sparse or within its attention."""
ATTENTION = (
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward,
    torch.ops.aten._native_multi_head_attention,
)
"""The operators that compute a whole attention on the CPU. No limit of cost sees what happens within one."""
AUTOGRAD = (torch.autograd,)
"""Every use of autograd: an operator that runs within its backward pass, or while forward derivatives are taken."""


class CallWatcher:
    """Notice the first forbidden operator that it sees; a caught exception does not hide it.

    Args:
        forbidden: the operators, and ``torch.autograd`` where derivatives must not be taken by it.
    """

    def __init__(self, forbidden: tuple[OpOverloadPacket | ModuleType, ...]) -> None:
        self._forbidden = forbidden
        self.seen: str | None = None

    def see(self, func: OpOverload) -> None:
        """Take the name of an operator where it is forbidden.

        Args:
            func: that is about to run.
        """
        packet = func._overloadpacket
        if self.seen is None and packet in self._forbidden:
            self.seen = packet.__name__.lstrip("_")
        if self.seen is None and torch.autograd in self._forbidden and _differentiates():
            self.seen = "autograd"

    @property
    def complaint(self) -> str | None:
        """Say in words which call was seen and what to do, or ``None``."""
        if self.seen is None:
            return None
        return (
            f"The numbers are right, but your code calls `{self.seen}` of torch, by itself or inside another function, "
            "and the exercise forbids that. Write this step out with simpler operations."
        )


def _differentiates() -> bool:
    """Say whether autograd is running this operator: in a backward pass, or with forward derivatives."""
    backward = torch._C._current_graph_task_id() != -1
    return backward or forward_ad._current_level >= 0
