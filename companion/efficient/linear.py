"""Linear attention, in parallel and as a recurrent network: Katharopoulos et al. (2020), sections 3.2 to 3.4.

Chapter: book/complexity.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from companion.efficient.shapes import _check_shapes, _without_autocast


def feature_map(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Make each number positive: :math:`\varphi(x) = \operatorname{elu}(x) + 1`, Eq. (7).

    That is ``x + 1`` above 0 and ``exp(x)`` below. It is not computed as ``elu(x) + 1``, which is 0 for ``x < -37``
    in float64 and for ``x < -17`` in float32: the 1 that elu subtracts and we add back swallows the exponential.

    >>> feature_map(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3679, 1.0000, 3.0000])
    """
    return x.clamp(max=0).exp() + x.relu()


def linear_attention(
    query: Float[Tensor, "*batch t_q d_k"],
    key: Float[Tensor, "*batch t_k d_k"],
    value: Float[Tensor, "*batch t_k d_v"],
    *,
    causal: bool = False,
    chunk: int = 64,
) -> Float[Tensor, "*batch t_q d_v"]:
    r"""Average the values with weights proportional to :math:`\varphi(q_i) \cdot \varphi(k_j)`, in time linear in t.

    .. math:: o_i = \frac{\varphi(q_i)^\top \sum_j \varphi(k_j) v_j^\top}{\varphi(q_i)^\top \sum_j \varphi(k_j)}

    The sums over the keys do not depend on the query, so they are taken once, Eqs. (4) to (6). This is another
    function than softmax attention, not an approximation of it: :math:`\varphi(q) \cdot \varphi(k)` stands where
    :math:`e^{q \cdot k / \sqrt{d_k}}` stood. There is no scale.

    Causal sums run over ``j <= i``, Eqs. (8) to (12): within a chunk by a masked product, and over the chunks before it
    by their summed state, so that memory holds one ``d_k`` by ``d_v`` state a chunk, not one a position. The sums grow
    with the length, beyond the range of float16 (65,504), so half precision is summed in float32.

    Args:
        query: ``(*batch, t_q, d_k)``.
        key: ``(*batch, t_k, d_k)``.
        value: ``(*batch, t_k, d_v)``.
        causal: whether query ``i`` sums over the keys up to ``i`` only; then ``t_q`` equals ``t_k``.
        chunk: positions in a chunk of the causal form. The result does not depend on it.

    Returns:
        ``(*batch, t_q, d_v)``, inside the convex hull of the values.

    Raises:
        ValueError: shapes or dtypes do not fit together, an axis is empty, ``chunk`` is below 1, or the causal form has
            not as many queries as keys.
    """
    _check_shapes(query, key, value)
    if chunk < 1:
        raise ValueError(f"a chunk holds at least one position: got chunk={chunk}. Use 16 to 256.")
    if causal:
        _check_step(query, key)
    t, dtype = key.shape[-2], query.dtype
    with _without_autocast(query.device):
        query, key, value = feature_map(_wide(query)), feature_map(_wide(key)), _with_one(_wide(value))
        if not causal:
            return _normalised(query @ (key.mT @ value)).to(dtype)
        query, key, value = (
            F.pad(x, (0, 0, 0, -t % chunk)).unflatten(-2, (-1, chunk)) for x in (query, key, value)
        )  # (*batch, chunks, chunk, width)
        state = (key.mT @ value).cumsum(dim=-3)
        state = F.pad(state, (0, 0, 0, 0, 1, -1))  # each chunk gets the sum over the chunks before it
        near = (query @ key.mT).tril() @ value
        return _normalised((near + query @ state).flatten(-3, -2)[..., :t, :]).to(dtype)


def linear_attention_step(
    state: Float[Tensor, "*batch d_k d_v_plus_1"] | None,
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_k d_v_plus_1"]]:
    r"""Take one position: add its key and value to the state, then read the state with its query, Eqs. (16) to (20).

    The state :math:`\sum_j \varphi(k_j) [v_j, 1]^\top` has one size however many positions it holds: it is what a
    recurrent network carries on. Its last column is the normaliser.

    Args:
        state: what the step before returned, ``(*batch, d_k, d_v + 1)``; ``None`` at the first position.
        query: ``(*batch, d_k)``.
        key: ``(*batch, d_k)``.
        value: ``(*batch, d_v)``.

    Returns:
        The output ``(*batch, d_v)`` and the new state, which is float32 for half precision.

    Raises:
        ValueError: the shapes do not fit together.
    """
    held = (*key.shape, value.shape[-1] + 1)
    if query.shape != key.shape or value.shape[:-1] != key.shape[:-1] or (state is not None and state.shape != held):
        raise ValueError(
            "a step takes query and key (*batch, d_k), value (*batch, d_v) and state (*batch, d_k, d_v + 1): got query "
            f"{tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)} and state "
            f"{None if state is None else tuple(state.shape)}. Give one position, and the state of the step before."
        )
    added = feature_map(_wide(key))[..., :, None] * _with_one(_wide(value))[..., None, :]
    state = added if state is None else state + added
    with _without_autocast(query.device):
        read = feature_map(_wide(query))[..., None, :] @ state
    return _normalised(read).squeeze(-2).to(query.dtype), state


def linear_attention_recurrent(
    query: Float[Tensor, "*batch t d_k"], key: Float[Tensor, "*batch t d_k"], value: Float[Tensor, "*batch t d_v"]
) -> Float[Tensor, "*batch t d_v"]:
    """Compute causal linear attention one position after the other, as a recurrent network does.

    The result is that of ``linear_attention(query, key, value, causal=True)``.

    >>> value = torch.tensor([[0.0], [6.0], [3.0]])
    >>> linear_attention_recurrent(torch.ones(3, 2), torch.zeros(3, 2), value)
    tensor([[0.],
            [3.],
            [3.]])

    Args:
        query: ``(*batch, t, d_k)``.
        key: ``(*batch, t, d_k)``.
        value: ``(*batch, t, d_v)``.

    Returns:
        ``(*batch, t, d_v)``.

    Raises:
        ValueError: shapes or dtypes do not fit together, or an axis is empty.
    """
    _check_shapes(query, key, value)
    _check_step(query, key)
    state, outputs = None, []
    for q, k, v in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        output, state = linear_attention_step(state, q, k, v)
        outputs.append(output)
    return torch.stack(outputs, dim=-2)


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _with_one(value: Tensor) -> Tensor:
    """Append a feature of 1 to each value: the same sum then gives numerator and denominator."""
    return torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)


def _normalised(sums: Tensor) -> Tensor:
    """Divide the sums by their last column, the sum of the weights."""
    return sums[..., :-1] / sums[..., -1:]


def _check_step(query: Tensor, key: Tensor) -> None:
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"causal linear attention has one query a key: got {query.shape[-2]} queries and {key.shape[-2]} keys. "
            "To go on after a past, keep its state and call linear_attention_step."
        )
