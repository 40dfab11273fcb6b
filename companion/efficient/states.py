"""Attention with a state of fixed size: with a gate, with the delta rule, and selective state spaces.

Gated linear attention: Yang et al. (2024a), section 4; with one decay for all features it is the dual form of Dao & Gu
(2024), section 5. The delta rule: Schlag et al. (2021), section 4.2; in parallel Yang et al. (2024b), section 3; with a
gate Yang et al. (2025). The selective state space: Gu & Dao (2023), section 3.2, algorithm 2.

Chapter: book/efficient-attention.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from companion.efficient.shapes import _check_shapes
from companion.recurrent.scan import scan_passes


def decay_mask(log_decay: Float[Tensor, "*batch t"]) -> Float[Tensor, "*batch t t"]:
    r"""Say how much of what was added at position j is left at position i: :math:`\prod_{s=j+1}^{i} \alpha_s`.

    >>> decay_mask(torch.tensor([0.5, 0.5, 0.5]).log())
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 1.0000, 0.0000],
            [0.2500, 0.5000, 1.0000]])

    Args:
        log_decay: :math:`\log \alpha_t`, at most 0.

    Returns:
        ``(*batch, t, t)``, 0 above the diagonal.
    """
    total = log_decay.cumsum(dim=-1)
    later = torch.ones(total.shape[-1], total.shape[-1], dtype=torch.bool, device=total.device).triu(1)
    return (total[..., :, None] - total[..., None, :]).masked_fill(later, -torch.inf).exp()


def gated_linear_attention(
    query: Float[Tensor, "*batch t d_k"],
    key: Float[Tensor, "*batch t d_k"],
    value: Float[Tensor, "*batch t d_v"],
    log_decay: Float[Tensor, "*batch t"],
) -> Float[Tensor, "*batch t d_v"]:
    r"""Let a state forget before it takes the next key and value, for all positions at once.

    .. math:: S_t = \alpha_t S_{t-1} + k_t v_t^\top, \qquad o_t = S_t^\top q_t

    Args:
        query: ``(*batch, t, d_k)``.
        key: ``(*batch, t, d_k)``.
        value: ``(*batch, t, d_v)``.
        log_decay: :math:`\log \alpha_t`, one number a position.

    Returns:
        ``(*batch, t, d_v)``, without a normaliser.

    Raises:
        ValueError: shapes or dtypes do not fit together.
    """
    _check_positions(query, key, value, log_decay=log_decay)
    return (query @ key.mT * decay_mask(log_decay)) @ value


def gated_delta_rule(
    query: Float[Tensor, "*batch t d_k"],
    key: Float[Tensor, "*batch t d_k"],
    value: Float[Tensor, "*batch t d_v"],
    strength: Float[Tensor, "*batch t"],
    log_decay: Float[Tensor, "*batch t"],
) -> Float[Tensor, "*batch t d_v"]:
    r"""Correct what the state returns for a key, instead of adding to it, for all positions at once.

    .. math:: u_t = \beta_t (v_t - \alpha_t S_{t-1}^\top k_t), \qquad S_t = \alpha_t S_{t-1} + k_t u_t^\top

    All :math:`u` solve one triangular system, since the state is a sum of :math:`k_j u_j^\top`.

    Args:
        query: ``(*batch, t, d_k)``.
        key: ``(*batch, t, d_k)``; of unit length, or the state may grow without bound.
        value: ``(*batch, t, d_v)``.
        strength: :math:`\beta_t`, from 0 (leave the state) to 1 (replace what the key returned).
        log_decay: :math:`\log \alpha_t`; zeros give the plain delta rule.

    Returns:
        ``(*batch, t, d_v)``.

    Raises:
        ValueError: shapes or dtypes do not fit together.
    """
    _check_positions(query, key, value, strength=strength, log_decay=log_decay)
    left = decay_mask(log_decay)
    before = (strength[..., None] * (key @ key.mT) * left).tril(-1)
    system = before + torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)
    updates = torch.linalg.solve_triangular(system, strength[..., None] * value, upper=False, unitriangular=True)
    return (query @ key.mT * left) @ updates


def state_step(
    state: Float[Tensor, "*batch d_k d_v"],
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
    decay: Float[Tensor, "*batch"],
    strength: Float[Tensor, "*batch"] | None = None,
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_k d_v"]]:
    """Take one position of :func:`gated_delta_rule`, or without ``strength`` of :func:`gated_linear_attention`.

    Args:
        state: of the step before; zeros at the first.
        query: ``(*batch, d_k)``.
        key: ``(*batch, d_k)``.
        value: ``(*batch, d_v)``.
        decay: what is left of the state.
        strength: of the correction; ``None`` adds the value as it is.

    Returns:
        The output and the new state.

    Raises:
        ValueError: the state does not have the widths of key and value.
    """
    if state.shape[-2:] != (key.shape[-1], value.shape[-1]):
        raise ValueError(
            f"a state is d_k by d_v: got state {tuple(state.shape)}, key {tuple(key.shape)} and value "
            f"{tuple(value.shape)}. Start with zeros(*batch, d_k, d_v)."
        )
    state = decay[..., None, None] * state
    if strength is not None:
        value = strength[..., None] * (value - (key[..., None, :] @ state)[..., 0, :])
    state = state + key[..., :, None] * value[..., None, :]
    return (query[..., None, :] @ state)[..., 0, :], state


def selective_scan(
    x: Float[Tensor, "*batch t d"],
    step: Float[Tensor, "*batch t d"],
    a: Float[Tensor, "d size"],
    b: Float[Tensor, "*batch t size"],
    c: Float[Tensor, "*batch t size"],
) -> Float[Tensor, "*batch t d"]:
    r"""Run a selective state space, for all positions in :math:`\lceil \log_2 t \rceil` passes.

    .. math:: h_t = e^{\Delta_t a} \odot h_{t-1} + \Delta_t x_t\, b_t, \qquad y_t = h_t c_t

    Each feature of ``x`` has a state of ``size`` numbers.

    Args:
        x: the input.
        step: :math:`\Delta_t > 0`, how far a feature moves on at a position; made from the token.
        a: rates below 0, the same at all positions.
        b: how the input enters the state; made from the token.
        c: how the state is read; made from the token.

    Returns:
        ``(*batch, t, d)``.

    Raises:
        ValueError: the shapes do not fit together.
    """
    d, size = a.shape
    held = (*x.shape[:-1], size)
    if x.shape[-1] != d or step.shape != x.shape or b.shape != held or c.shape != held:
        raise ValueError(
            "a scan takes x and step (*batch, t, d), a (d, size), b and c (*batch, t, size): got "
            f"{', '.join(str(tuple(given.shape)) for given in (x, step, a, b, c))}. Transpose or expand one."
        )
    decay = (step[..., None] * a).exp()  # (*batch, t, d, size)
    added = (step * x)[..., None] * b[..., None, :]
    state = scan_passes(decay.flatten(-2), added.flatten(-2))[-1].unflatten(-1, (d, size))
    return (state @ c[..., None])[..., 0]


def _check_positions(query: Tensor, key: Tensor, value: Tensor, **per_position: Tensor) -> None:
    _check_shapes(query, key, value)
    for name, given in per_position.items():
        if query.shape != key.shape or given.shape != key.shape[:-1]:
            raise ValueError(
                f"{name} has one number a position, and there is one query a key: got {name} {tuple(given.shape)}, "
                f"query {tuple(query.shape)} and key {tuple(key.shape)}. Give it the key's shape without its width."
            )
