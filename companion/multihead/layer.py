"""The multi-head attention layer: Vaswani et al. (2017), section 3.2.2, with its variants of shared keys and values.

Chapter: book/multi-head.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.attention import attention_weights
from companion.cache import KeyValueCache
from companion.checks import check_divides, check_sizes
from companion.masks import check_mask
from companion.multihead.heads import merge_heads, repeat_heads, split_heads
from companion.multihead.kernels import KERNELS, join_causal


class MultiHeadAttention(nn.Module):
    r"""Attend in several heads at once, each with its own projections, and project together what they found.

    .. math::
        \operatorname{MultiHead}(Q, K, V) &= \operatorname{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h) W^O \\
        \mathrm{head}_i &= \operatorname{Attention}(Q W_i^Q, K W_i^K, V W_i^V)

    The projections of all heads stand side by side in one ``nn.Linear``. Masks say ``True`` = may look, the opposite
    of ``nn.MultiheadAttention``. Fewer key-value heads than query heads are grouped-query attention (Ainslie et al.
    2023), a single one is multi-query attention (Shazeer 2019).

    Args:
        d_model: width of input and output.
        n_heads: number of query heads.
        n_kv_heads: number of key-value heads, a divisor of ``n_heads``; ``None`` means ``n_heads``.
        d_k: width of the queries and keys of a head; ``None`` means ``d_model / n_heads``.
        d_v: width of the values of a head; ``None`` means ``d_k``.
        d_memory: width of the memory in cross-attention; ``None`` means ``d_model``.
        bias: whether the projections add a bias.
        dropout: probability of a weight to become 0 in training.
        kernel: ``"sdpa"`` or ``"reference"``, see :mod:`companion.multihead.kernels`; both give the same numbers.
        position: a relative scheme of :mod:`companion.positional`, for self-attention; ``None`` adds none.

    Raises:
        ValueError: heads do not divide, a size is below 1, dropout is no probability, or the kernel is unknown.

    Example:
        >>> import torch
        >>> layer = MultiHeadAttention(d_model=12, n_heads=6, n_kv_heads=2)
        >>> layer(torch.zeros(1, 5, 12), causal=True).shape, layer.w_k.weight.shape
        (torch.Size([1, 5, 12]), torch.Size([4, 12]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        d_memory: int | None = None,
        bias: bool = True,
        dropout: float | int = 0.0,
        kernel: str = "sdpa",
        position: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if d_k is None:
            check_divides(", or give d_k", n_heads=n_heads, d_model=d_model)
            d_k = d_model // n_heads
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_divides(n_kv_heads=n_kv_heads, n_heads=n_heads)
        d_v = d_k if d_v is None else d_v
        d_memory = d_model if d_memory is None else d_memory
        check_sizes(d_model=d_model, d_k=d_k, d_v=d_v, d_memory=d_memory)
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout is a probability: got {dropout}. Use 0 <= dropout <= 1.")
        if kernel not in KERNELS:
            raise ValueError(f"no kernel is called {kernel!r}: use one of {sorted(KERNELS)}.")
        self.d_model, self.d_memory, self.d_k, self.d_v = d_model, d_memory, d_k, d_v
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.dropout, self.kernel, self.position = float(dropout), kernel, position
        self.w_q = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.w_k = nn.Linear(d_memory, n_kv_heads * d_k, bias=bias)
        self.w_v = nn.Linear(d_memory, n_kv_heads * d_v, bias=bias)
        self.w_o = nn.Linear(n_heads * d_v, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch t_q d_model"],
        memory: Float[Tensor, "batch t_memory d_memory"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: KeyValueCache | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch t_q d_model"]:
        """Attend from each position of ``x`` to those of the memory, or of ``x`` itself.

        Args:
            x: ``(batch, t_q, d_model)``.
            memory: ``(batch, t_k, d_memory)`` for cross-attention; ``None`` is self-attention.
            mask: ``True`` = may look, ``(t_q or 1, t_k)`` or ``(batch or 1, t_q or 1, t_k)``; cached keys count.
            cache: keys and values of the earlier calls, to which self-attention appends those of ``x``, and into
                which cross-attention puts those of the memory at the first call. Without gradients only.
            causal: whether the later keys are hidden too; the last query stands at the last key.

        Returns:
            ``(batch, t_q, d_model)``; where a query may look at no key, the bias of ``w_o``.

        Raises:
            ValueError: a width, a batch size or the cache does not fit, an axis is empty, or the mask is not legal.
        """
        query, key, value = self._project(x, memory, mask, cache)
        dropout = self.dropout if self.training else 0.0
        attend = KERNELS[self.kernel]
        heads = attend(
            query,
            key,
            value,
            _with_head_axis(mask),
            bias=self._position_bias(query, key),
            causal=causal,
            dropout=dropout,
        )
        return self.w_o(merge_heads(heads))

    def weights(
        self,
        x: Float[Tensor, "batch t_q d_model"],
        memory: Float[Tensor, "batch t_k d_memory"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "batch n_heads t_q t_k"]:
        """Return the distribution over the keys with which :meth:`forward` averages the values, before dropout.

        Args:
            x: ``(batch, t_q, d_model)``.
            memory: ``(batch, t_k, d_memory)`` for cross-attention; ``None`` is self-attention.
            mask: as in :meth:`forward`.
            causal: as in :meth:`forward`.

        Returns:
            ``(batch, n_heads, t_q, t_k)``. A row sums to 1, or is all 0 where the query may look at no key.

        Raises:
            ValueError: what :meth:`forward` refuses.
        """
        query, key, _ = self._project(x, memory, mask, None)
        mask = _with_head_axis(mask)
        mask = join_causal(mask, query, key) if causal else mask
        return attention_weights(query, repeat_heads(key, self.n_heads), mask, bias=self._position_bias(query, key))

    def _project(
        self, x: Tensor, memory: Tensor | None, mask: Tensor | None, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project to queries, keys and values; put the position in, then pass keys and values through the cache."""
        self._check(x, memory, cache)
        source = x if memory is None else memory
        if mask is not None:  # before the cache grows: what is refused leaves it as it was
            past = cache.length if cache is not None and memory is None else 0
            check_mask(mask, (len(x), x.shape[1], past + source.shape[1]))
        query = split_heads(self.w_q(x), self.n_heads)
        if memory is not None and cache is not None and cache.length:
            return query, cache.keys, cache.values
        key, value = split_heads(self.w_k(source), self.n_kv_heads), split_heads(self.w_v(source), self.n_kv_heads)
        if self.position is not None:
            start = 0 if cache is None else cache.length
            query, key = self.position.embed(query, start), self.position.embed(key, start)
        if cache is not None:
            key, value = cache.append(key, value)
        return query, key, value

    def _position_bias(self, query: Tensor, key: Tensor) -> Tensor | None:
        return None if self.position is None else self.position.bias(query, key)

    def _check(self, x: Tensor, memory: Tensor | None, cache: KeyValueCache | None) -> None:
        for name, tensor, width in (("x", x, self.d_model), ("memory", x if memory is None else memory, self.d_memory)):
            if tensor.ndim != 3 or tensor.shape[-1] != width or 0 in tensor.shape or not tensor.is_floating_point():
                raise ValueError(
                    f"{name} holds numbers, (batch, t, {width}), with no axis empty: got {tuple(tensor.shape)} of "
                    f"{tensor.dtype}. Embed tokens first; for self-attention leave the memory and d_memory out."
                )
        if memory is None:
            return
        if memory.shape[0] != x.shape[0]:
            raise ValueError(f"x and memory have one batch size: got {tuple(x.shape)} and {tuple(memory.shape)}.")
        if self.position is not None:
            raise ValueError(
                "a relative position compares places in one sequence: got a memory and "
                f"position={type(self.position).__name__}. Make the cross-attention with position=None."
            )
        if cache is not None and cache.length and (cache.keys.shape[0], cache.length) != tuple(memory.shape[:2]):
            raise ValueError(
                f"this cache holds {cache.length} keys of {cache.keys.shape[0]} sequences: got a memory "
                f"{tuple(memory.shape)}. Keep one cache for one memory, and another for the self-attention."
            )


def _with_head_axis(mask: Tensor | None) -> Tensor | None:
    """Let one mask of queries by keys hold for every head."""
    return mask[:, None] if mask is not None and mask.ndim == 3 else mask
