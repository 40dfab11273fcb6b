"""Look into a model's attention: record it, switch heads off, weigh heads and tokens.

Importance of heads: Michel et al. (2019), section 4.1; rollout: Abnar and Zuidema (2020), section 3; norms of the
transformed values: Kobayashi et al. (2020).

Chapter: book/multi-head.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.multihead import MultiHeadAttention, repeat_heads, split_heads


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Find the attention layers of a model, by name, in the order in which they were made.

    Args:
        model: any module.

    Returns:
        The layers by their names in the model.

    Raises:
        ValueError: it has none.
    """
    found = {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    if not found:
        raise ValueError(f"a model to look into has MultiHeadAttention layers: got {type(model).__name__} without one.")
    return found


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Float[Tensor, "batch n_heads t_q t_k"]]]:
    """Keep the weights with which each attention layer averages, for the calls inside the ``with`` block.

    The weights are those before dropout, without gradients. A later call takes the place of an earlier one.

    Args:
        model: a module with attention layers; its calls use no cache.

    Returns:
        A context manager; it gives an empty dictionary, which a call of the model fills: for each layer's name
        ``(batch, n_heads, t_q, t_k)``.

    Raises:
        ValueError: the model has no attention layer, or is called with a cache.
    """
    weights: dict[str, Tensor] = {}

    def note(name: str) -> Callable[[MultiHeadAttention, tuple, dict], None]:
        def hook(layer: MultiHeadAttention, inputs: tuple, options: dict) -> None:
            options = dict(options)
            if options.pop("cache", None) is not None:
                raise ValueError("weights are recorded without a cache: got a call with one. Give the whole sequence.")
            with torch.no_grad():
                weights[name] = layer.weights(*inputs, **options)

        return hook

    with ExitStack() as hooks:
        for name, layer in attention_layers(model).items():
            hooks.enter_context(_removed(layer.register_forward_pre_hook(note(name), with_kwargs=True)))
        yield weights


@contextmanager
def ablate(model: nn.Module, heads: Mapping[str, Sequence[int]]) -> Iterator[None]:
    """Set the output of some heads to zero inside the ``with`` block, before the layer projects the heads together.

    Args:
        model: a module with attention layers.
        heads: for the name of a layer, as :func:`attention_layers` gives it, the numbers of the heads to silence.

    Returns:
        A context manager; it gives nothing.

    Raises:
        ValueError: there is no such layer or head.
    """
    layers = attention_layers(model)
    with ExitStack() as hooks:
        for name, numbers in heads.items():
            layer = _named(layers, name)
            if any(not 0 <= number < layer.n_heads for number in numbers):
                raise ValueError(f"{name} has the heads 0 to {layer.n_heads - 1}: got {list(numbers)}.")
            gate = torch.ones(1, layer.n_heads)
            gate[:, list(numbers)] = 0
            hooks.enter_context(_gated(layer, gate))
        yield


def head_importance(
    model: nn.Module, losses: Callable[[], Float[Tensor, " batch"]]
) -> dict[str, Float[Tensor, " n_heads"]]:
    r"""Estimate how much the loss of an example depends on each head, with one backward pass.

    .. math:: I_h = \operatorname{mean}_x \left| \frac{\partial L(x)}{\partial \xi_h} \right|

    where each head's output is multiplied by a gate :math:`\xi_h = 1`. Michel et al. (2019), Eq. (2). It is the slope
    at the gate's full opening; what closing it does, :func:`ablate` tells. Each example has gates of its own, so its
    loss must depend on no other example of the batch: the slopes of a loss that does are not the formula's.

    Args:
        model: a module with attention layers.
        losses: calls the model and returns one loss for each example, which depends on that example alone.

    Returns:
        For each layer's name, ``(n_heads,)``, on the CPU.

    Raises:
        ValueError: the losses are not ``(batch,)``, or a layer was not called, or more than once.
    """
    calls: list[tuple[str, Tensor]] = []
    with ExitStack() as hooks, torch.enable_grad():
        for name, layer in attention_layers(model).items():
            hooks.enter_context(_gated(layer, None, lambda gate, name=name: calls.append((name, gate))))
        loss = losses()
        if loss.ndim != 1:
            raise ValueError(f"there is one loss for each example, shape (batch,): got {tuple(loss.shape)}.")
        gates = dict(calls)
        called = Counter(name for name, _ in calls)
        wrong = sorted(name for name in attention_layers(model) if called[name] != 1)
        if wrong:
            raise ValueError(
                f"every attention layer is called once for the losses: {wrong} were not. Call the model on one batch."
            )
        slopes = torch.autograd.grad(loss.sum(), list(gates.values()))
    return {name: slope.abs().mean(0).cpu() for name, slope in zip(gates, slopes, strict=True)}


def depends_on(
    output: Float[Tensor, "t_out d_out"], x: Float[Tensor, "*batch t_in d_in"], *, seed: int = 0
) -> Bool[Tensor, "t_out *batch t_in"]:
    """Say which positions of an input each position of an output depends on: a derivative that is not 0.

    Each output is multiplied by a random vector, so that no sum of its features, such as the 0 of a LayerNorm, hides
    a derivative. A mask's 0 is exact. Elsewhere a 0 to first order at this one input would be a coincidence.

    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> depends_on(x.cumsum(0), x).tolist()
    [[True, False], [True, True]]

    Args:
        output: ``(t_out, d_out)``, of one sequence, computed from ``x`` with gradients on.
        x: ``(*batch, t_in, d_in)``, an input or something computed on the way.
        seed: of the random vector.

    Returns:
        ``(t_out, *batch, t_in)``.

    Raises:
        ValueError: the output was computed without gradients.
    """
    if not output.requires_grad or not x.requires_grad:
        raise ValueError("dependence is told by gradients: got a tensor without. Compute outside torch.no_grad().")
    direction = torch.randn(output.shape[-1], generator=torch.Generator().manual_seed(seed)).to(output)
    rows = []
    for row in output:
        (slope,) = torch.autograd.grad(row @ direction, x, retain_graph=True, allow_unused=True)
        rows.append(torch.zeros_like(x[..., 0], dtype=torch.bool) if slope is None else (slope != 0).any(-1))
    return torch.stack(rows)


def rollout(
    weights: Sequence[Float[Tensor, "batch n_heads t t"]], *, residual: float | int = 0.5
) -> Float[Tensor, "batch t t"]:
    r"""Follow attention down through the layers of self-attention to the input tokens.

    .. math:: \tilde A_l = \left((1 - r) \bar A_l + r I\right) \tilde A_{l-1}, \qquad \tilde A_0 = I

    with the weights averaged over the heads. Abnar and Zuidema (2020), section 3, with :math:`r = 0.5`.

    >>> rollout([torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])]).tolist()
    [[[1.0, 0.0], [0.25, 0.75]]]

    Args:
        weights: one ``(batch, n_heads, t, t)`` for each layer, the lowest first.
        residual: share of the residual connection, between 0 and 1.

    Returns:
        ``(batch, t, t)``: row ``i`` says how much of each input token there is in token ``i`` at the top.

    Raises:
        ValueError: there is no layer, a layer is not square or differs from the first in batch or length, or the
            share is not between 0 and 1.
    """
    if not weights or not 0 <= residual <= 1:
        raise ValueError(f"rollout takes at least one layer and 0 <= residual <= 1: got {len(weights)} and {residual}.")
    for layer in weights:
        if layer.ndim == 4 and (len(layer), *layer.shape[2:]) != (len(weights[0]), *weights[0].shape[2:]):
            raise ValueError(
                f"all layers have one batch and one length: got {tuple(weights[0].shape)} and {tuple(layer.shape)}. "
                "Take them from one call of the model."
            )
        if layer.ndim != 4 or layer.shape[-1] != layer.shape[-2]:
            raise ValueError(
                f"self-attention weights are (batch, n_heads, t, t): got {tuple(layer.shape)}. Leave out "
                "cross-attention."
            )
    identity = torch.eye(weights[0].shape[-1], dtype=weights[0].dtype, device=weights[0].device)
    total = identity.expand(len(weights[0]), -1, -1)
    for layer in weights:
        total = ((1 - residual) * layer.mean(1) + residual * identity) @ total
    return total


def head_contributions(
    layer: MultiHeadAttention,
    x: Float[Tensor, "batch t_q d_model"],
    memory: Float[Tensor, "batch t_k d_memory"] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
) -> Float[Tensor, "batch n_heads t_q t_k d_model"]:
    r"""Split a layer's output into what each head brings from each key: :math:`\alpha_{h,i,j} f_h(x_j)`.

    Here :math:`f_h(x) = (x W^V_h + b^V_h) W^O_h`. Over all heads and keys these vectors sum to the layer's output
    without the bias of ``w_o``. Kobayashi et al. (2020).

    Args:
        layer: the attention layer.
        x: ``(batch, t_q, d_model)``.
        memory: as in the layer's call.
        mask: as in the layer's call.
        causal: as in the layer's call.

    Returns:
        ``(batch, n_heads, t_q, t_k, d_model)``: large, meant for short sequences.
    """
    weights = layer.weights(x, memory, mask, causal=causal)
    value = repeat_heads(split_heads(layer.w_v(x if memory is None else memory), layer.n_kv_heads), layer.n_heads)
    w_o = layer.w_o.weight.unflatten(1, (layer.n_heads, layer.d_v))  # (d_model, n_heads, d_v)
    transformed = torch.einsum("bhkv,mhv->bhkm", value, w_o)
    return weights[..., None] * transformed[:, :, None]


def norm_weighted(
    layer: MultiHeadAttention,
    x: Float[Tensor, "batch t_q d_model"],
    memory: Float[Tensor, "batch t_k d_memory"] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
) -> Float[Tensor, "batch t_q t_k"]:
    r"""Measure how long the vector is that each key adds to each output, all heads together.

    .. math:: \left\lVert \sum_h \alpha_{h,i,j}\, f_h(x_j) \right\rVert

    A key with a large weight and a tiny value counts for little. Kobayashi et al. (2020).

    Args:
        layer: the attention layer.
        x: ``(batch, t_q, d_model)``.
        memory: as in the layer's call.
        mask: as in the layer's call.
        causal: as in the layer's call.

    Returns:
        ``(batch, t_q, t_k)``.
    """
    return head_contributions(layer, x, memory, mask, causal=causal).sum(1).norm(dim=-1)


@contextmanager
def _removed(handle: torch.utils.hooks.RemovableHandle) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _gated(
    layer: MultiHeadAttention, gate: Tensor | None, made: Callable[[Tensor], object] = lambda gate: None
) -> Iterator[None]:
    """Multiply the heads' outputs by a gate (batch or 1, n_heads); without one, by new ones that take a gradient."""

    def hook(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        heads = inputs[0].unflatten(-1, (layer.n_heads, layer.d_v))  # (batch, t_q, n_heads, d_v)
        used = gate
        if used is None:
            used = heads.new_ones(len(heads), layer.n_heads).requires_grad_()
            made(used)
        return ((heads * used.to(heads)[:, None, :, None]).flatten(-2),)

    with _removed(layer.w_o.register_forward_pre_hook(hook)):
        yield


def _named(layers: dict[str, MultiHeadAttention], name: str) -> MultiHeadAttention:
    if name not in layers:
        raise ValueError(f"no attention layer is called {name!r}: there are {list(layers)}.")
    return layers[name]
