"""A linear recurrence by a loop and by a parallel scan: Hillis & Steele (1986), Martin & Cundy (2018).

The steps of a nonlinear recurrence must follow each other; those of a linear one can be joined in any grouping.

Chapter: book/complexity.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def linear_recurrence(
    gate: Float[Tensor, "*batch t d"], value: Float[Tensor, "*batch t d"]
) -> Float[Tensor, "*batch t d"]:
    r"""Run a linear recurrence step by step, from a state of zero.

    .. math:: h_t = a_t \odot h_{t-1} + b_t

    Args:
        gate: :math:`a_t`.
        value: :math:`b_t`.

    Returns:
        :math:`h_t` at each of the ``t`` steps.

    Raises:
        ValueError: the shapes differ, or there is no step.
    """
    _check_pair(gate, value)
    state, states = torch.zeros_like(value[..., 0, :]), []
    for a, b in zip(gate.unbind(dim=-2), value.unbind(dim=-2), strict=True):
        state = a * state + b
        states.append(state)
    return torch.stack(states, dim=-2)


def scan_passes(gate: Float[Tensor, "*batch t d"], value: Float[Tensor, "*batch t d"]) -> list[Tensor]:
    r"""Run the same recurrence for all steps at once, in :math:`\lceil \log_2 t \rceil` passes.

    Two steps in a row are one step of the same kind, :math:`(a, b)` then :math:`(a', b')` being
    :math:`(a' a, a' b + b')`. A pass joins each position to the one 1, then 2, then 4, ... steps before it.

    >>> passes = scan_passes(torch.ones(1024, 1), torch.ones(1024, 1))  # with a gate of 1, a running sum
    >>> len(passes), passes[-1][-1].item()
    (10, 1024.0)

    Args:
        gate: :math:`a_t`.
        value: :math:`b_t`.

    Returns:
        What is known of the states ``(*batch, t, d)`` after each pass; the last is the answer. With one step there is
        nothing to join, and the list holds that step.

    Raises:
        ValueError: the shapes differ, or there is no step.
    """
    _check_pair(gate, value)
    steps, passes, distance = value.shape[-2], [], 1
    while distance < steps:
        ahead = gate[..., distance:, :]
        value = torch.cat(
            [value[..., :distance, :], ahead * value[..., :-distance, :] + value[..., distance:, :]], dim=-2
        )
        gate = torch.cat([gate[..., :distance, :], ahead * gate[..., :-distance, :]], dim=-2)
        passes.append(value)
        distance *= 2
    return passes or [value.clone()]


def _check_pair(gate: Tensor, value: Tensor) -> None:
    if gate.shape != value.shape or gate.ndim < 2 or gate.numel() == 0:
        raise ValueError(
            f"each step has a gate and a value, both (*batch, t, d) and not empty: got gate {tuple(gate.shape)} and "
            f"value {tuple(value.shape)}. Expand one to the shape of the other."
        )
