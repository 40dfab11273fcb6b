"""The encoder: Vaswani et al. (2017), section 3.1 and Fig. 1, left; pre-norm after Xiong et al. (2020).

Chapter: book/architecture.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.feedforward import feed_forward
from companion.multihead import MultiHeadAttention
from companion.norm import norm_layer


class EncoderLayer(nn.Module):
    r"""Self-attention, then a position-wise network, each with a residual connection and a normalisation.

    .. math::
        \text{post:}\quad x \leftarrow \operatorname{norm}(x + \operatorname{sublayer}(x))
        \qquad
        \text{pre:}\quad x \leftarrow x + \operatorname{sublayer}(\operatorname{norm}(x))

    Post-norm is the paper's choice. Pre-norm leaves the path from the last layer to the first free of normalisations,
    so a stack of such layers ends in one of its own (``Encoder(final_norm=...)``). Dropout stands where section 5.4
    puts it, on the output of each sub-layer; ``nn.TransformerEncoderLayer`` also drops attention weights and hidden
    units of the network.

    Args:
        d_model: width of the input and of the output.
        n_heads: number of attention heads.
        d_ff: width of the hidden layer of the network.
        norm_placement: ``"post"`` or ``"pre"``.
        norm: ``"layer"`` or ``"rms"``.
        activation: of the network: ``"relu"``, ``"gelu"``, ``"gelu-tanh"`` or ``"swiglu"``.
        n_kv_heads: number of heads of keys and values; ``None`` means ``n_heads``.
        dropout: probability that a number of a sub-layer's output is set to 0 in training.
        bias: whether the linear maps and the layer normalisations have one.
        eps: added to the variance, or mean square, in the normalisations.
        kernel: of the attention: ``"sdpa"`` or ``"reference"``.
        position: the relative position scheme of the attention, or ``None``.

    Raises:
        ValueError: ``norm_placement``, the norm, the activation or the kernel is none of those named, or heads do not
            divide.

    >>> import torch
    >>> layer = EncoderLayer(d_model=8, n_heads=2, d_ff=32, norm_placement="pre")
    >>> layer(torch.zeros(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
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
        self.attention = MultiHeadAttention(
            d_model, n_heads, n_kv_heads=n_kv_heads, bias=bias, kernel=kernel, position=position
        )
        self.feed_forward = feed_forward(d_model, d_ff, activation=activation, bias=bias)
        self.norm_1 = norm_layer(d_model, norm=norm, eps=eps, bias=bias)
        self.norm_2 = norm_layer(d_model, norm=norm, eps=eps, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch t d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch t d_model"]:
        """Let each position look at the others, then transform each on its own.

        Args:
            x: ``(batch, t, d_model)``.
            mask: ``True`` where a position may look at another, ``(t or 1, t)`` or ``(batch, t or 1, t)``.

        Returns:
            ``(batch, t, d_model)``.
        """
        if self.norm_placement == "post":
            x = self.norm_1(x + self.dropout(self.attention(x, mask=mask)))
            return self.norm_2(x + self.dropout(self.feed_forward(x)))
        x = x + self.dropout(self.attention(self.norm_1(x), mask=mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


class Encoder(nn.Module):
    """Layers one after the other, and at the end of a pre-norm stack a normalisation.

    Args:
        layers: at least one, each from ``(batch, t, d_model)`` to the same shape.
        final_norm: what normalises the last layer's output: ``None`` for post-norm layers, which end in one.
    """

    def __init__(self, layers: Sequence[nn.Module], final_norm: nn.Module | None = None) -> None:
        super().__init__()
        if not layers:
            raise ValueError("an encoder has at least one layer: got none. Pass a list such as [EncoderLayer(...)].")
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(
        self, x: Float[Tensor, "batch t d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch t d_model"]:
        """Run the layers with one mask for all.

        Args:
            x: ``(batch, t, d_model)``.
            mask: ``True`` where a position may look at another; ``masks.padding(lengths)`` hides padding.

        Returns:
            ``(batch, t, d_model)``.
        """
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.final_norm is None else self.final_norm(x)
