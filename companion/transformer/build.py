"""What the three models share: the input, the stacks that a config describes, and the first weights.

Made for this book. Chapter: book/architecture.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.decoder import Decoder, DecoderLayer
from companion.embedding import TokenEmbedding
from companion.encoder import Encoder, EncoderLayer
from companion.masks import padding
from companion.norm import norm_layer
from companion.positional import ALiBi, Learned, RotaryPosition, Sinusoidal, T5Bias, TransformerXLPosition


class InputEmbedding(nn.Module):
    """What a stack reads: token, plus position, plus segment; Vaswani et al. (2017), sections 3.4, 3.5 and 5.4.

    Args:
        config: of the model.
        vocab: number of tokens.
        token: the table of another input to share; ``None`` makes one.
    """

    def __init__(self, config: ModelConfig, vocab: int, token: TokenEmbedding | None = None) -> None:
        super().__init__()
        d_model, absolute = config.d_model, {"sinusoidal": Sinusoidal, "learned": Learned}.get(config.position)
        self.token = TokenEmbedding(vocab, d_model, scale=config.scale_embedding) if token is None else token
        self.position = None if absolute is None else absolute(d_model, config.max_len)
        self.segment = TokenEmbedding(config.segments, d_model, scale=False) if config.segments else None
        self.norm = make_norm(config) if config.embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Int[Tensor, "batch t"], *, segments: Int[Tensor, "batch t"] | None = None, start: int = 0
    ) -> Float[Tensor, "batch t d_model"]:
        """Look the tokens up and say where each one stands.

        Args:
            tokens: ``(batch, t)``.
            segments: the segment of each token; ``None`` means 0 where the model has segments.
            start: position of the first token: how many a cache holds already.

        Returns:
            ``(batch, t, d_model)``.

        Raises:
            ValueError: no tokens, or segments that do not fit.
        """
        if tokens.ndim != 2 or 0 in tokens.shape:
            raise ValueError(
                f"tokens are (batch, t), neither of them 0: got {tuple(tokens.shape)}. "
                "Give each sequence at least one token, such as a start symbol."
            )
        x = self.token(tokens)
        if self.position is not None:
            x = x + self.position(tokens.shape[1], start)
        if self.segment is not None:
            x = x + self.segment(_segments(tokens, segments))
        elif segments is not None:
            raise ValueError("this model has no segments: got some. Leave them out, or set segments in its config.")
        return self.dropout(x if self.norm is None else self.norm(x))


def _segments(tokens: Tensor, segments: Tensor | None) -> Tensor:
    if segments is None:
        return torch.zeros_like(tokens)
    if segments.shape != tokens.shape:
        raise ValueError(
            f"each token has one segment: got tokens {tuple(tokens.shape)} and segments {tuple(segments.shape)}. "
            "Give both one shape."
        )
    return segments


def make_norm(config: ModelConfig) -> nn.Module:
    """Return a normalisation of the model's width and kind."""
    return norm_layer(config.d_model, norm=config.norm, eps=config.eps, bias=config.bias)


def make_encoder(config: ModelConfig) -> Encoder:
    """Return the encoder stack that the config describes; a pre-norm stack ends in a normalisation."""
    layers = [
        EncoderLayer(config.d_model, config.n_heads, config.d_ff, position=position, **_layer(config))
        for position in _positions(config, causal=False)
    ]
    return Encoder(layers, make_norm(config) if config.norm_placement == "pre" else None)


def make_decoder(config: ModelConfig, *, cross: bool) -> Decoder:
    """Return the decoder stack that the config describes; a pre-norm stack ends in a normalisation.

    Args:
        config: of the model.
        cross: whether the layers attend to a memory.

    Returns:
        The stack.
    """
    layers = [
        DecoderLayer(config.d_model, config.n_heads, config.d_ff, cross=cross, position=position, **_layer(config))
        for position in _positions(config, causal=True)
    ]
    return Decoder(layers, make_norm(config) if config.norm_placement == "pre" else None)


def _layer(config: ModelConfig) -> dict:
    names = ("norm_placement", "norm", "activation", "n_kv_heads", "dropout", "bias", "eps", "kernel")
    return {name: getattr(config, name) for name in names}


def _positions(config: ModelConfig, *, causal: bool) -> list[nn.Module | None]:
    """One relative scheme a layer; T5's is one table for the whole stack (Raffel et al., 2020, section 2.1)."""
    if config.position == "t5":
        return [T5Bias(config.n_heads, causal=causal)] * config.n_layers
    makers = {
        "rope": lambda: RotaryPosition(config.d_k),
        "alibi": lambda: ALiBi(config.n_heads),
        "transformer-xl": lambda: TransformerXLPosition(config.n_heads, config.d_k, config.d_model),
    }
    make = makers.get(config.position, lambda: None)
    return [make() for _ in range(config.n_layers)]


def padding_mask(
    lengths: Sequence[int] | Int[Tensor, " batch"] | None, batch: Shaped[Tensor, "batch t *features"]
) -> Bool[Tensor, "batch 1 t"] | None:
    """Return the mask that hides the padding of a batch, ``None`` where no lengths say what is padding.

    Args:
        lengths: number of real tokens of each sequence.
        batch: tokens or vectors, padded on the right.

    Returns:
        ``(batch, 1, t)``.

    Raises:
        ValueError: there is not one length a sequence, or one lies outside 0 to ``t``.
    """
    if lengths is None:
        return None
    if len(lengths) != len(batch):
        raise ValueError(
            f"each sequence has one length: got {len(lengths)} lengths for a batch of shape {tuple(batch.shape)}. "
            "Give one number a row."
        )
    return padding(lengths, batch.shape[1], device=batch.device)


def initialise(model: nn.Module) -> None:
    """Draw each linear map Xavier-uniform (Glorot and Bengio, 2010) and set its bias to 0; tables draw themselves."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
