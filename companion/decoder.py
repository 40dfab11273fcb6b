"""The decoder: Vaswani et al. (2017), section 3.1 and Fig. 1, right; without cross-attention, that of GPT (2018).

Chapter: book/architecture.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.cache import DecoderCache, LayerCache
from companion.feedforward import feed_forward
from companion.multihead import MultiHeadAttention
from companion.norm import norm_layer


class DecoderLayer(nn.Module):
    r"""Causal self-attention, attention to a memory, then a position-wise network; each with residual and norm.

    .. math::
        \text{post:}\quad x \leftarrow \operatorname{norm}(x + \operatorname{sublayer}(x))
        \qquad
        \text{pre:}\quad x \leftarrow x + \operatorname{sublayer}(\operatorname{norm}(x))

    The memory is the encoder's output; it gives the keys and values of the cross-attention and is not normalised here.
    Dropout stands on the output of each sub-layer (section 5.4).

    Args:
        d_model: width of the input, of the output and of the memory.
        n_heads: number of attention heads.
        d_ff: width of the hidden layer of the network.
        cross: whether there is a memory to attend to; ``False`` gives the layer of a decoder-only model.
        norm_placement: ``"post"`` or ``"pre"``.
        norm: ``"layer"`` or ``"rms"``.
        activation: of the network: ``"relu"``, ``"gelu"``, ``"gelu-tanh"`` or ``"swiglu"``.
        n_kv_heads: number of heads of keys and values; ``None`` means ``n_heads``.
        dropout: probability that a number of a sub-layer's output is set to 0 in training.
        bias: whether the linear maps and the layer normalisations have one.
        eps: added to the variance, or mean square, in the normalisations.
        kernel: of the attentions: ``"sdpa"`` or ``"reference"``.
        position: the relative position scheme of the self-attention, or ``None``. Cross-attention has none.

    Raises:
        ValueError: ``norm_placement``, the norm, the activation or the kernel is none of those named, or heads do not
            divide.

    >>> import torch
    >>> layer = DecoderLayer(d_model=8, n_heads=2, d_ff=32)
    >>> layer(torch.zeros(1, 3, 8), memory=torch.zeros(1, 5, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        cross: bool = True,
        norm_placement: str = "post",
        norm: str = "layer",
        activation: str = "relu",
        n_kv_heads: int | None = None,
        dropout: float | int = 0.1,
        bias: bool = True,
        eps: float = 1e-5,
        kernel: str = "sdpa",
        position: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if norm_placement not in ("post", "pre"):
            raise ValueError(f"norm_placement is 'post' or 'pre': got {norm_placement!r}. Vaswani et al. use 'post'.")
        self.norm_placement = norm_placement
        heads = {"n_kv_heads": n_kv_heads, "bias": bias, "kernel": kernel}
        self.self_attention = MultiHeadAttention(d_model, n_heads, position=position, **heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, **heads) if cross else None
        self.feed_forward = feed_forward(d_model, d_ff, activation=activation, bias=bias)
        self.norm_1 = norm_layer(d_model, norm=norm, eps=eps, bias=bias)
        self.norm_2 = norm_layer(d_model, norm=norm, eps=eps, bias=bias) if cross else None
        self.norm_3 = norm_layer(d_model, norm=norm, eps=eps, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch t d_model"],
        memory: Float[Tensor, "batch t_k d_memory"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch t d_model"]:
        """Look back, look at the memory, then transform each position on its own.

        Args:
            x: ``(batch, t, d_model)``. With a cache, the positions after those that it holds.
            memory: ``(batch, t_k, d_model)``, what the cross-attention reads; ``None`` for a layer without.
            mask: further limits on the self-attention, which is causal in any case; ``(t or 1, t)`` or
                ``(batch, t or 1, t)``, where the last ``t`` counts what the cache holds, too.
            memory_mask: ``True`` where a position may look at a position of the memory.
            cache: keys and values of earlier positions, which grow by ``t``, and those of the memory, from the first
                call on.

        Returns:
            ``(batch, t, d_model)``.

        Raises:
            ValueError: a memory is missing, or came to a layer without cross-attention.
        """
        _check_memory(memory, self.cross_attention)
        past, read = (None, None) if cache is None else (cache.self, cache.cross)
        if self.norm_placement == "post":
            x = self.norm_1(x + self.dropout(self.self_attention(x, mask=mask, cache=past, causal=True)))
            if self.cross_attention is not None:
                x = self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory_mask, cache=read)))
            return self.norm_3(x + self.dropout(self.feed_forward(x)))
        x = x + self.dropout(self.self_attention(self.norm_1(x), mask=mask, cache=past, causal=True))
        if self.cross_attention is not None:
            x = x + self.dropout(self.cross_attention(self.norm_2(x), memory, memory_mask, cache=read))
        return x + self.dropout(self.feed_forward(self.norm_3(x)))


class Decoder(nn.Module):
    """Decoder layers one after the other, and at the end of a pre-norm stack a normalisation.

    Args:
        layers: at least one :class:`DecoderLayer`.
        final_norm: what normalises the last layer's output: ``None`` for post-norm layers, which end in one.
    """

    def __init__(self, layers: Sequence[nn.Module], final_norm: nn.Module | None = None) -> None:
        super().__init__()
        if not layers:
            raise ValueError("a decoder has at least one layer: got none. Pass a list such as [DecoderLayer(...)].")
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(
        self,
        x: Float[Tensor, "batch t d_model"],
        memory: Float[Tensor, "batch t_k d_memory"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch t d_model"]:
        """Run the layers, each with its own part of the cache.

        Args:
            x: ``(batch, t, d_model)``. With a cache, the positions after those that it holds.
            memory: ``(batch, t_k, d_model)`` for layers with cross-attention.
            mask: further limits on the self-attention, which is causal in any case.
            memory_mask: ``True`` where a position may look at a position of the memory.
            cache: with as many layers as the decoder; it grows by ``t``.

        Returns:
            ``(batch, t, d_model)``.

        Raises:
            ValueError: the cache has another number of layers.
        """
        if cache is not None and len(cache.layers) != len(self.layers):
            raise ValueError(
                f"a cache has one entry a layer: got {len(cache.layers)} for {len(self.layers)} layers. "
                "Take it from the model's own new_cache()."
            )
        caches = [None] * len(self.layers) if cache is None else cache.layers
        for layer, cached in zip(self.layers, caches, strict=True):
            x = layer(x, memory, mask=mask, memory_mask=memory_mask, cache=cached)
        return x if self.final_norm is None else self.final_norm(x)


def _check_memory(memory: Tensor | None, attention: nn.Module | None) -> None:
    if memory is None and attention is not None:
        raise ValueError(
            "a decoder layer with cross-attention reads a memory: got memory=None. Pass the encoder's output, or build "
            "the layer with cross=False."
        )
    if memory is not None and attention is None:
        raise ValueError(
            f"a decoder layer without cross-attention reads no memory: got memory {tuple(memory.shape)}. Leave it out, "
            "or build the layer with cross=True."
        )
