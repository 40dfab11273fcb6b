"""Parameters, counted from the sizes alone: Vaswani et al. (2017), sections 3.2 to 3.5. Chapter: book/complexity."""

from dataclasses import dataclass
from typing import Literal

from companion.checks import check_sizes
from companion.config import ModelConfig
from companion.cost.checks import check_model

Kind = Literal["encoder-decoder", "decoder-only", "encoder-only"]
"""Which model of ``companion.transformer`` a config is read as."""

T5_BUCKETS = 32  # rows of T5's table of biases, Raffel et al. (2020), section 2.1


@dataclass(frozen=True)
class Parameters:
    """How many numbers each part of a model learns.

    Args:
        embedding: tables of tokens (one where source and target share it), segments and learned positions.
        attention: projections, and what a relative position scheme learns.
        feed_forward: the position-wise networks.
        norms: gains and offsets of all normalisations.
        output: the output matrix where it is not tied to an embedding, else 0.
    """

    embedding: int
    attention: int
    feed_forward: int
    norms: int
    output: int

    @property
    def total(self) -> int:
        """All parameters."""
        return self.embedding + self.attention + self.feed_forward + self.norms + self.output

    @property
    def non_embedding(self) -> int:
        """All but the tables and the output matrix: the ``N`` of Kaplan et al. (2020), section 2.1."""
        return self.attention + self.feed_forward + self.norms


def attention_parameters(d_model: int, *, kv_width: int | None = None, bias: bool = True) -> int:
    """Count one multi-head attention: ``W_Q`` and ``W_O``, ``W_K`` and ``W_V``. The number of heads cancels.

    >>> attention_parameters(512)
    1050624

    Args:
        d_model: width of input and output, and of all heads together.
        kv_width: width of all key heads together, ``n_kv_heads * d_k``; ``None`` means ``d_model``.
        bias: whether the projections have one.

    Returns:
        The number of parameters.
    """
    kv_width = d_model if kv_width is None else kv_width
    check_sizes(d_model=d_model, kv_width=kv_width)
    weights = 2 * d_model * d_model + 2 * d_model * kv_width
    return weights + bias * (2 * d_model + 2 * kv_width)


def feed_forward_parameters(d_model: int, d_ff: int, *, gated: bool = False, bias: bool = True) -> int:
    """Count one position-wise network: two matrices, or three where it is gated (SwiGLU).

    >>> feed_forward_parameters(512, 2048)
    2099712

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer.
        gated: whether there is a gate.
        bias: whether the linear maps have one.

    Returns:
        The number of parameters.
    """
    check_sizes(d_model=d_model, d_ff=d_ff)
    into = 1 + gated
    return (into + 1) * d_model * d_ff + bias * (into * d_ff + d_model)


def norm_parameters(d_model: int, *, norm: str = "layer", bias: bool = True) -> int:
    """Count one normalisation: a gain for each feature, and for LayerNorm with a bias an offset.

    Args:
        d_model: width.
        norm: ``"layer"`` or ``"rms"``.
        bias: whether LayerNorm has an offset.

    Returns:
        The number of parameters.
    """
    check_sizes(d_model=d_model)
    return d_model * (1 + (norm == "layer" and bias))


def model_parameters(config: ModelConfig, kind: Kind) -> Parameters:
    """Count a whole model, part by part.

    Published totals that the tests hold these sums against: GPT-2 small, 124,439,808 (Radford et al. 2019 print 117M;
    the released weights have this number); BERT-base, 108,891,648, and with its pooler 109,482,240 (Devlin et al. 2018,
    section 3: 110M); LLaMA-7B, 6,738,415,616 (Touvron et al. 2023, Table 2: 6.7B). For the base model of Vaswani et al.
    (2017) Table 3 prints 65 million; a vocabulary of 37,000 (section 5.1) gives 63,082,496.

    Args:
        config: the sizes.
        kind: which model they are used for.

    Returns:
        The number of parameters of each part.
    """
    check_model(config, kind, 1 if kind == "encoder-decoder" else None)
    d, stacks = config.d_model, 2 if kind == "encoder-decoder" else 1
    kv_width = (config.n_kv_heads or config.n_heads) * config.d_k
    attention = attention_parameters(d, kv_width=kv_width, bias=config.bias)
    feed_forward = feed_forward_parameters(d, config.d_ff, gated=config.activation == "swiglu", bias=config.bias)
    cross = config.n_layers if kind == "encoder-decoder" else 0
    layers = stacks * config.n_layers
    norms = 2 * layers + cross + stacks * (config.order == "pre") + stacks * config.embedding_norm
    relative = {"t5": stacks * T5_BUCKETS * config.n_heads, "transformer-xl": layers * (d * d + 2 * d)}
    tables = stacks * config.max_len * (config.position == "learned") + config.segments
    target = config.target_vocab or config.vocab
    return Parameters(
        embedding=d * (config.vocab + (config.target_vocab or 0) + tables),
        attention=(layers + cross) * attention + relative.get(config.position, 0),
        feed_forward=layers * feed_forward,
        norms=norms * norm_parameters(d, norm=config.norm, bias=config.bias),
        output=0 if config.tied else d * target,
    )
