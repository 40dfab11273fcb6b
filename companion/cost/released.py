"""Models as they were released, with what a plain config lacks: experts, latent attention, BERT's pooler.

Made for this book. Sizes are those of the reports that each entry names, and of the configuration file that came with
the weights. The tests hold the parameters against ``transformers``, which builds each model from the same sizes without
its weights.

Chapter: book/interview.
"""

from dataclasses import dataclass, replace

from companion.checks import check_sizes
from companion.config import ModelConfig
from companion.cost.memory import adam_bytes, model_cache_bytes, number_bytes, weight_bytes
from companion.cost.parameters import Kind, Parameters, feed_forward_parameters, model_parameters, norm_parameters
from companion.cost.published import BERT_BASE, GPT2_SMALL, LLAMA_7B


@dataclass(frozen=True, kw_only=True)
class Experts:
    """Routed feed-forward networks: DeepSeek-AI (2024), section 2.1.2; Jiang et al. (2024), section 2.1.

    Args:
        number: routed networks in a layer.
        used: how many of them a token passes.
        d_ff: hidden width of one of them.
        shared: further networks of this width that each token passes.
        dense_layers: first layers, which have one network of the model's own ``d_ff`` instead.

    Raises:
        ValueError: a number is no whole number in its range, or a token uses more networks than there are.
    """

    number: int
    used: int
    d_ff: int
    shared: int = 0
    dense_layers: int = 0

    def __post_init__(self) -> None:
        check_sizes(number=self.number, used=self.used, d_ff=self.d_ff)
        check_sizes(0, shared=self.shared, dense_layers=self.dense_layers)
        if self.used > self.number:
            raise ValueError(
                f"a token uses at most all experts: got used={self.used} and number={self.number}. Use fewer."
            )


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Multi-head latent attention: DeepSeek-AI (2024), section 2.1.1.

    Args:
        d_query: width of the vector that all queries are made from.
        d_c: width of the vector that all keys and values are made from; the cache holds it.
        d_rope: width of the rotated part of a key, one for all heads, which the cache holds too.
        d_k: width of the other part of a key, and of a value.

    Raises:
        ValueError: a width is no whole number of at least 1.
    """

    d_query: int
    d_c: int
    d_rope: int
    d_k: int

    def __post_init__(self) -> None:
        check_sizes(d_query=self.d_query, d_c=self.d_c, d_rope=self.d_rope, d_k=self.d_k)


@dataclass(frozen=True, kw_only=True)
class Released:
    """One released model.

    Args:
        config: its sizes.
        kind: a stack that reads, or one that generates.
        experts: its routed networks, if it has any.
        latent: the sizes of its latent attention, if it has that.
        pooler: whether a square map follows the last layer, as in BERT; it counts as output.
        parallel: whether attention and feed-forward network read one LayerNorm, which has an offset though nothing else
            has one, as in Falcon 7B.

    Raises:
        ValueError: the model has two stacks, or more dense layers than layers.
    """

    config: ModelConfig
    kind: Kind = "decoder-only"
    experts: Experts | None = None
    latent: Latent | None = None
    pooler: bool = False
    parallel: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("decoder-only", "encoder-only"):
            raise ValueError(
                f"a released model is one stack here: got kind={self.kind!r}. Use decoder-only or encoder-only."
            )
        if self.experts and self.experts.dense_layers > self.config.n_layers:
            raise ValueError(
                f"at most all layers go without experts: got dense_layers={self.experts.dense_layers} and "
                f"n_layers={self.config.n_layers}. Use fewer."
            )


@dataclass(frozen=True)
class Memory:
    """Bytes that a model takes on the processor that runs or trains it, without activations.

    Args:
        weights: the parameters, in the precision of the passes.
        gradients: one for each of them.
        optimizer: what Adam adds: weights and two moments in float32.
        cache: keys and values.
    """

    weights: int
    gradients: int = 0
    optimizer: int = 0
    cache: int = 0

    @property
    def total(self) -> int:
        """All bytes."""
        return self.weights + self.gradients + self.optimizer + self.cache


_LLAMA_2_7B = replace(LLAMA_7B, max_len=4096)
_LLAMA_70B = replace(_LLAMA_2_7B, d_model=8192, n_layers=80, n_heads=64, n_kv_heads=8, d_ff=28_672)
_LLAMA_3 = {"vocab": 128_256, "max_len": 131_072}
_LLAMA_3_8B = replace(LLAMA_7B, **_LLAMA_3, n_kv_heads=8, d_ff=14_336)

RELEASED = {
    "GPT-2": Released(config=GPT2_SMALL),  # Radford et al. (2019), Table 2
    "GPT-2 XL": Released(config=replace(GPT2_SMALL, d_model=1600, n_layers=48, n_heads=25, d_ff=6400)),
    "BERT base": Released(config=BERT_BASE, kind="encoder-only", pooler=True),  # Devlin et al. (2018), section 3
    "Falcon 7B": Released(  # Almazrouei et al. (2023)
        config=replace(
            LLAMA_7B,
            **{"vocab": 65_024, "d_model": 4544, "n_heads": 71, "n_kv_heads": 1, "d_ff": 18_176, "max_len": 2048},
            **{"activation": "gelu", "norm": "layer", "tied": True},
        ),
        parallel=True,
    ),
    "Llama 2 7B": Released(config=_LLAMA_2_7B),  # Touvron et al. (2023b), section 2.2: the sizes of LLaMA
    "Llama 2 70B": Released(config=_LLAMA_70B),
    "Llama 3 8B": Released(config=_LLAMA_3_8B),  # Dubey et al. (2024), Table 3
    "Llama 3 70B": Released(config=replace(_LLAMA_70B, **_LLAMA_3)),
    "Llama 3 405B": Released(
        config=replace(_LLAMA_70B, **_LLAMA_3, d_model=16_384, n_layers=126, n_heads=128, d_ff=53_248)
    ),
    "Mixtral 8x7B": Released(  # Jiang et al. (2024), Table 1
        config=replace(_LLAMA_3_8B, vocab=32_000, max_len=32_768), experts=Experts(number=8, used=2, d_ff=14_336)
    ),
    "DeepSeek-V3": Released(  # DeepSeek-AI (2024), section 4.2, without its module for multi-token prediction
        config=replace(LLAMA_7B, vocab=129_280, d_model=7168, n_layers=61, n_heads=128, d_ff=18_432, max_len=131_072),
        experts=Experts(number=256, used=8, d_ff=2048, shared=1, dense_layers=3),
        latent=Latent(d_query=1536, d_c=512, d_rope=64, d_k=128),
    ),
}
"""The models by name, those of one family together; ``max_len`` is the longest sequence that each was trained for."""


def released_parameters(model: Released, *, active: bool = False) -> Parameters:
    """Count a released model, part by part.

    >>> released_parameters(RELEASED["Mixtral 8x7B"]).total
    46702792704

    Args:
        model: the model.
        active: whether only the experts that one token passes count.

    Returns:
        The number of parameters of each part; routers are in the feed-forward networks, a pooler is in the output.
    """
    config, experts, latent = model.config, model.experts, model.latent
    parts, d = model_parameters(config, model.kind), config.d_model
    if experts:
        gated = config.activation == "swiglu"
        one = feed_forward_parameters(d, experts.d_ff, gated=gated, bias=config.bias)
        routed = experts.used if active else experts.number
        layer = (routed + experts.shared) * one + (d + config.bias) * experts.number
        dense = experts.dense_layers * feed_forward_parameters(d, config.d_ff, gated=gated, bias=config.bias)
        parts = replace(parts, feed_forward=dense + (config.n_layers - experts.dense_layers) * layer)
    if latent:
        queries = latent.d_query * (d + config.n_heads * (latent.d_k + latent.d_rope))
        keys = d * (latent.d_c + latent.d_rope) + 2 * latent.d_c * config.n_heads * latent.d_k
        layer = queries + keys + config.n_heads * latent.d_k * d
        norms = parts.norms + config.n_layers * (latent.d_query + latent.d_c)
        parts = replace(parts, attention=config.n_layers * layer, norms=norms)
    if model.parallel:
        parts = replace(parts, norms=(config.n_layers + 1) * norm_parameters(d))
    return replace(parts, output=parts.output + model.pooler * d * (d + 1))


def released_token_flops(model: Released, t: int = 0) -> int:
    """Count the forward pass of one token through a released model, its logits included.

    Two FLOPs for each weight in a matrix that the token passes, and the products of attention with ``t`` keys and
    values. The table of embeddings is left out where it is only looked up. With ``t=0`` the ``N`` of ``6 N D`` is half
    of this number.

    >>> released_token_flops(RELEASED["GPT-2"]), released_token_flops(RELEASED["GPT-2"], t=1024)
    (247064064, 284812800)

    Args:
        model: the model.
        t: positions that the token attends to, those that a causal mask hides among them.

    Returns:
        FLOPs for one token; three times as many in training.

    Raises:
        ValueError: ``t`` is no whole number of at least 0.
    """
    check_sizes(0, t=t)
    config, parts, latent = model.config, released_parameters(model, active=True), model.latent
    weights = parts.attention + parts.feed_forward + parts.output
    if config.bias:  # what is added is no product: four maps of attention, two of the network, and a pooler's
        weights -= config.n_layers * (5 * config.d_model + config.d_ff) + model.pooler * config.d_model
    if config.tied and model.kind == "decoder-only":
        weights += config.vocab * config.d_model
    widths = 2 * latent.d_k + latent.d_rope if latent else 2 * config.d_k  # of a key and a value of a head
    return 2 * (weights + config.n_layers * config.n_heads * widths * t)


def released_cache_bytes(model: Released, batch: int, t: int, dtype: str = "float16") -> int:
    """Count the cache of a released model; latent attention keeps two vectors a position and layer.

    >>> released_cache_bytes(RELEASED["Llama 3 8B"], batch=1, t=1)
    131072

    Args:
        model: the model, a decoder.
        batch: number of sequences.
        t: positions that have been read or generated.
        dtype: of each number.

    Returns:
        Bytes.

    Raises:
        ValueError: the model is an encoder, a size is no size, or the dtype is not known.
    """
    if model.kind == "encoder-only":
        raise ValueError(f"an encoder has no cache: got kind={model.kind!r}. Use a decoder.")
    if not model.latent:
        return model_cache_bytes(model.config, batch, t, dtype=dtype)
    check_sizes(batch=batch, t=t)
    return model.config.n_layers * (model.latent.d_c + model.latent.d_rope) * batch * t * number_bytes(dtype)


def released_memory(model: Released, *, bits: int = 16, t: int = 0, training: bool = False) -> Memory:
    """Count what a released model takes: to serve one sequence, or to be trained by AdamW in mixed precision.

    >>> released_memory(RELEASED["Llama 3 70B"], bits=4, t=8192).total / 1e9
    37.961207808
    >>> released_memory(RELEASED["GPT-2 XL"], training=True).total / 1e9
    24.9217792

    Args:
        model: the model.
        bits: of a weight that is served: 16, 8 or 4, without the scales that 8 and 4 bits need; 16 in training.
        t: positions in the cache, in 16 bits; 0 in training and in an encoder.
        training: whether gradients and the state of AdamW are held too.

    Returns:
        Bytes of each part, without activations.

    Raises:
        ValueError: there are no such bits, or training is asked for with a cache or with fewer bits.
    """
    if bits not in (16, 8, 4):
        raise ValueError(f"a weight has 16, 8 or 4 bits: got bits={bits}. Use one of these.")
    if training and (t or bits != 16):
        raise ValueError(
            f"training in mixed precision keeps 16 bits and no cache: got bits={bits} and t={t}. Leave both out."
        )
    check_sizes(0, t=t)
    parameters = released_parameters(model).total
    weights = weight_bytes(parameters, "float16")
    if training:
        return Memory(weights, weights, adam_bytes(parameters, mixed=True) - 2 * weights)
    return Memory(-(-weights * bits // 16), cache=released_cache_bytes(model, 1, t) if t else 0)
