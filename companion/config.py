"""The sizes of a model in one frozen record: Vaswani et al. (2017), Table 3. Chapter: book/architecture."""

import math
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args, get_origin

from companion.checks import check_divides, check_dropout, check_sizes

__all__ = ["LABEL_SMOOTHING", "ModelConfig", "base", "big", "toy"]

LABEL_SMOOTHING = 0.1
"""The share of probability that training spreads over the vocabulary: epsilon_ls of Table 3, for base and big."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Every choice that makes one model; the defaults are the base model of Vaswani et al. (2017).

    Only the models read a config. A layer takes the few numbers that it needs.

    Args:
        vocab: size of the source vocabulary, which is the only one outside the encoder-decoder.
        target_vocab: size of the target vocabulary of an encoder-decoder. ``None``: both sides and the output share
            one vocabulary and one embedding (section 3.4).
        d_model: width of the vector of a token.
        n_layers: layers of the encoder, and of the decoder: ``N`` in the paper.
        n_heads: attention heads, ``h`` in the paper; divides ``d_model``.
        n_kv_heads: heads of keys and values, shared by groups of query heads; divides ``n_heads``. ``None``: as many.
        d_ff: width of the hidden layer of the feed-forward network.
        dropout: share of activations set to 0 in training: ``P_drop`` in the paper.
        max_len: positions that a sinusoidal or learned table holds; the other schemes have no table.
        position: how the model learns of order.
        activation: of the feed-forward network; ``"swiglu"`` has a third matrix.
        norm: LayerNorm or RMSNorm.
        eps: added under the root of the norm. The paper names none; 1e-5 is that of ``torch.nn.LayerNorm``.
        order: the norm after the residual sum, as in 2017, or before the sub-layer.
        bias: whether linear layers and LayerNorm add a vector.
        tied: whether the output layer is the embedding of the target.
        scale_embedding: whether embeddings are multiplied by ``sqrt(d_model)`` (section 3.4).
        segments: how many token types have an embedding of their own, as the two sentences of BERT; 0 for none.
        embedding_norm: whether the sum of embeddings is normalised, as in BERT.
        kernel: attention by torch's fused kernel, or by the formula that a reader can follow.

    Raises:
        ValueError: a size is not a whole number in its range, heads do not divide, the features that a position pairs
            are odd in number, a share or ``eps`` lies outside its range, or a choice is none of those named.
    """

    vocab: int
    target_vocab: int | None = None
    d_model: int = 512
    n_layers: int = 6
    n_heads: int = 8
    n_kv_heads: int | None = None
    d_ff: int = 2048
    dropout: float | int = 0.1
    max_len: int = 512
    position: Literal["none", "sinusoidal", "learned", "rope", "alibi", "t5", "transformer-xl"] = "sinusoidal"
    activation: Literal["relu", "gelu", "gelu-tanh", "swiglu"] = "relu"
    norm: Literal["layer", "rms"] = "layer"
    eps: float = 1e-5
    order: Literal["post", "pre"] = "post"
    bias: bool = True
    tied: bool = True
    scale_embedding: bool = True
    segments: int = 0
    embedding_norm: bool = False
    kernel: Literal["sdpa", "reference"] = "sdpa"

    def __post_init__(self) -> None:
        self._check_kinds()
        self._check_heads()
        check_dropout(self.dropout)
        if not 0 < self.eps < math.inf:
            raise ValueError(f"eps is above 0 and finite: got {self.eps}. The usual values are 1e-5 and 1e-6.")

    @property
    def d_k(self) -> int:
        """The width of one head: the paper's ``d_k = d_v``."""
        return self.d_model // self.n_heads

    def _check_kinds(self) -> None:
        """Check each field by its annotation: one of the choices, a truth value, a whole number, or a number."""
        for field in fields(self):
            name, kind, value = field.name, field.type, getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if get_origin(kind) is Literal and value not in get_args(kind):
                raise ValueError(f"{name} is one of {', '.join(get_args(kind))}: got {value!r}. Use one of these.")
            if kind is bool and not isinstance(value, bool):
                raise ValueError(f"{name} is True or False: got {value!r}. Use one of the two.")
            if name in ("dropout", "eps") and not number:
                raise ValueError(f"{name} is a number: got {value!r}. Convert it with float().")
            if kind is int or (kind == int | None and value is not None):
                check_sizes(0 if name == "segments" else 1, **{name: value})

    def _check_heads(self) -> None:
        check_divides(n_heads=self.n_heads, d_model=self.d_model)
        if self.n_kv_heads is not None:
            check_divides(n_kv_heads=self.n_kv_heads, n_heads=self.n_heads)
        paired = {"sinusoidal": self.d_model, "transformer-xl": self.d_model, "rope": self.d_k}
        if paired.get(self.position, 0) % 2:
            raise ValueError(
                f"{self.position} pairs features, so {'d_k' if self.position == 'rope' else 'd_model'} is even: got "
                f"d_model={self.d_model}, n_heads={self.n_heads} and d_k={self.d_k}. Change d_model or n_heads."
            )


def base(vocab: int, **changes: object) -> ModelConfig:
    """Give the base model of Vaswani et al. (2017), Table 3, first row.

    >>> base(37_000).d_model, base(37_000, n_layers=2).n_layers
    (512, 2)

    Args:
        vocab: size of the vocabulary; the paper's English-German one has about 37,000 entries (section 5.1).
        **changes: fields of :class:`ModelConfig` that are to differ.

    Returns:
        ``N=6, d_model=512, d_ff=2048, h=8, d_k=d_v=64, P_drop=0.1``.
    """
    return replace(ModelConfig(vocab=vocab), **changes)


def big(vocab: int, **changes: object) -> ModelConfig:
    """Give the big model of Vaswani et al. (2017), Table 3, last row.

    Args:
        vocab: size of the vocabulary.
        **changes: fields of :class:`ModelConfig` that are to differ.

    Returns:
        ``N=6, d_model=1024, d_ff=4096, h=16, d_k=d_v=64, P_drop=0.3``. For English to French the paper used
        ``P_drop=0.1`` (section 6.1).
    """
    return replace(ModelConfig(vocab=vocab, d_model=1024, d_ff=4096, n_heads=16, dropout=0.3), **changes)


def toy(vocab: int, **changes: object) -> ModelConfig:
    """Give a model of our own that trains in seconds on a CPU; the paper has none so small.

    Args:
        vocab: size of the vocabulary.
        **changes: fields of :class:`ModelConfig` that are to differ.

    Returns:
        ``N=2, d_model=64, d_ff=128, h=4``, without dropout: generated data do not run out.
    """
    small = ModelConfig(vocab=vocab, d_model=64, n_layers=2, n_heads=4, d_ff=128, dropout=0.0)
    return replace(small, **changes)
