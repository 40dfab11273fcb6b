"""Floating-point operations of the matrix products: 1 multiply and 1 add are 2 FLOPs.

All else in a Transformer (softmax, norms, activations, adding biases) takes a number of operations linear in the size
of its tensors and is left out, here and in ``torch.utils.flop_counter.FlopCounterMode``, whose counts these formulas
equal for the formula kernel. (It counts nothing for the fused kernel on a CPU.) Hidden pairs count: a causal mask
hides scores that have been computed. Counts without the constants: Vaswani et al. (2017), Table 1.

Chapter: book/complexity.
"""

from dataclasses import dataclass

from companion.checks import check_sizes
from companion.config import ModelConfig
from companion.cost.checks import check_model
from companion.cost.parameters import Kind


@dataclass(frozen=True)
class Flops:
    """FLOPs of each part of a layer or a model; two of them add, and a whole number multiplies them.

    Args:
        projections: of the attentions, ``W_Q``, ``W_K``, ``W_V`` and ``W_O``: linear in the length.
        pairs: of the attentions, ``Q K^T`` and ``A V``: quadratic in the length.
        feed_forward: of the position-wise networks: linear in the length.
        output: of the logits.
    """

    projections: int = 0
    pairs: int = 0
    feed_forward: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All FLOPs."""
        return self.projections + self.pairs + self.feed_forward + self.output

    def __add__(self, other: "Flops") -> "Flops":
        return Flops(
            self.projections + other.projections,
            self.pairs + other.pairs,
            self.feed_forward + other.feed_forward,
            self.output + other.output,
        )

    def __mul__(self, times: int) -> "Flops":
        return Flops(times * self.projections, times * self.pairs, times * self.feed_forward, times * self.output)


def matmul_flops(rows: int, inner: int, columns: int) -> int:
    """Count the product of a ``rows`` by ``inner`` with an ``inner`` by ``columns`` matrix.

    >>> matmul_flops(2, 3, 5)
    60

    Args:
        rows: of the first factor.
        inner: columns of the first and rows of the second factor.
        columns: of the second factor.

    Returns:
        FLOPs.
    """
    check_sizes(rows=rows, inner=inner, columns=columns)
    return 2 * rows * inner * columns


def projection_flops(batch: int, t_q: int, t_k: int, d_model: int, *, kv_width: int | None = None) -> int:
    """Count the projections of one attention: ``W_Q`` and ``W_O`` on the queries, ``W_K`` and ``W_V`` on the keys.

    Args:
        batch: number of sequences.
        t_q: number of queries.
        t_k: number of keys that are computed; 0 where a cache holds all of them.
        d_model: width.
        kv_width: width of all key heads together, ``n_kv_heads * d_k``; ``None`` means ``d_model``.

    Returns:
        FLOPs.
    """
    kv_width = d_model if kv_width is None else kv_width
    check_sizes(batch=batch, t_q=t_q, d_model=d_model, kv_width=kv_width)
    check_sizes(0, t_k=t_k)
    return 4 * batch * d_model * (t_q * d_model + t_k * kv_width)


def pair_flops(batch: int, t_q: int, t_k: int, d_model: int) -> int:
    """Count what one attention does for each pair of query and key: ``Q K^T``, then ``A V``.

    The head count cancels: ``n_heads`` products of width ``d_model / n_heads``. Shared key heads save nothing here.

    Args:
        batch: number of sequences.
        t_q: number of queries.
        t_k: number of keys, those in a cache too.
        d_model: width of all query heads together.

    Returns:
        FLOPs.
    """
    check_sizes(batch=batch, t_q=t_q, t_k=t_k, d_model=d_model)
    return 4 * batch * t_q * t_k * d_model


def attention_flops(batch: int, t_q: int, t_k: int, d_model: int, *, kv_width: int | None = None) -> int:
    """Count one multi-head attention, forward: :func:`projection_flops` and :func:`pair_flops`.

    Args:
        batch: number of sequences.
        t_q: number of queries.
        t_k: number of keys.
        d_model: width.
        kv_width: width of all key heads together; ``None`` means ``d_model``.

    Returns:
        FLOPs. For self-attention ``8 n d^2 + 4 n^2 d``: the second term is the larger one from ``n = 2 d`` on.
    """
    return projection_flops(batch, t_q, t_k, d_model, kv_width=kv_width) + pair_flops(batch, t_q, t_k, d_model)


def feed_forward_flops(batch: int, t: int, d_model: int, d_ff: int, *, gated: bool = False) -> int:
    """Count one position-wise network, forward: two products, or three where it is gated.

    Args:
        batch: number of sequences.
        t: positions of each.
        d_model: width of input and output.
        d_ff: width of the hidden layer.
        gated: whether there is a gate (SwiGLU).

    Returns:
        FLOPs.
    """
    check_sizes(batch=batch, t=t, d_model=d_model, d_ff=d_ff)
    return (3 if gated else 2) * 2 * batch * t * d_model * d_ff


def layer_flops(
    config: ModelConfig, batch: int, t: int, *, past: int = 0, memory: int = 0, memory_cached: bool = False
) -> Flops:
    """Count one layer, forward: self-attention, attention to a memory if there is one, position-wise network.

    With ``d_ff = 4 d`` and no memory it takes ``24 n d^2 + 4 n^2 d``: the quadratic term is the larger one from
    ``n = 6 d`` on.

    >>> from companion.config import base
    >>> layer_flops(base(37_000), batch=1, t=3072)
    Flops(projections=6442450944, pairs=19327352832, feed_forward=12884901888, output=0)

    Args:
        config: the sizes.
        batch: number of sequences.
        t: new positions of each.
        past: positions before them whose keys and values a cache holds.
        memory: positions of the memory; 0 for a layer without cross-attention.
        memory_cached: whether the cache holds the keys and values of the memory.

    Returns:
        FLOPs; ``output`` is 0.

    Raises:
        ValueError: a size is no size, or the positions are those of Transformer-XL, the one scheme with matrix products
            of its own.
    """
    if config.position == "transformer-xl":
        raise ValueError(
            "FLOPs are counted for all positions but transformer-xl, whose own matrix products are left out: got "
            "position='transformer-xl'. Count with torch.utils.flop_counter.FlopCounterMode instead."
        )
    check_sizes(batch=batch, t=t)
    check_sizes(0, past=past, memory=memory)
    d, kv_width = config.d_model, (config.n_kv_heads or config.n_heads) * config.d_k
    projections = projection_flops(batch, t, t, d, kv_width=kv_width)
    pairs = pair_flops(batch, t, past + t, d)
    if memory:
        projections += projection_flops(batch, t, 0 if memory_cached else memory, d, kv_width=kv_width)
        pairs += pair_flops(batch, t, memory, d)
    gated = config.activation == "swiglu"
    return Flops(projections, pairs, feed_forward_flops(batch, t, d, config.d_ff, gated=gated))


def model_flops(
    config: ModelConfig, kind: Kind, batch: int, t: int, *, source: int | None = None, past: int = 0
) -> Flops:
    """Count one forward pass, logits at every position included.

    Prefill is the pass over a prompt with ``past=0``, decoding a pass with ``t=1``. With a past, the encoder has run
    already, and the cache holds the memory's keys and values too.

    Args:
        config: the sizes.
        kind: which model they are used for.
        batch: number of sequences.
        t: new positions of each; of the target in an encoder-decoder.
        source: positions of each source, for an encoder-decoder only.
        past: positions that a cache holds; an encoder has no cache.

    Returns:
        FLOPs.

    Raises:
        ValueError: a size is no size, the source is missing or superfluous, an encoder was given a past, or the
            positions are those of Transformer-XL.
    """
    check_model(config, kind, source)
    if kind == "encoder-only" and past:
        raise ValueError(f"an encoder has no cache, each position sees the later ones: got past={past}. Use past=0.")
    layer = layer_flops(config, batch, t, past=past, memory=source or 0, memory_cached=past > 0)
    vocab = config.target_vocab or config.vocab
    flops = layer * config.n_layers + Flops(output=matmul_flops(batch * t, config.d_model, vocab))
    if source is not None and not past:
        flops += layer_flops(config, batch, source) * config.n_layers
    return flops


def training_flops(config: ModelConfig, kind: Kind, batch: int, t: int, *, source: int | None = None) -> Flops:
    r"""Count one step of training, forward and backward pass, without the optimiser.

    The gradient of a product :math:`C = A B` is two products of its size,
    :math:`\partial A = \partial C\, B^\top` and :math:`\partial B = A^\top\, \partial C`: three times the forward pass.
    Nothing is recomputed; the fused kernel computes the scores a second time.

    Args:
        config: the sizes.
        kind: which model they are used for.
        batch: number of sequences.
        t: positions of each; of the target in an encoder-decoder.
        source: positions of each source, for an encoder-decoder only.

    Returns:
        FLOPs.
    """
    return model_flops(config, kind, batch, t, source=source) * 3


def generation_flops(config: ModelConfig, batch: int, prompt: int, tokens: int, *, cached: bool = True) -> Flops:
    """Count the generation of ``tokens`` after a prompt by a decoder-only model.

    The pass over the prompt gives the first token; each later token takes one pass, over itself alone where a cache
    holds what came before, else over everything again.

    Args:
        config: the sizes.
        batch: number of sequences.
        prompt: tokens of each prompt.
        tokens: how many to generate, at least 1.
        cached: whether keys and values are kept.

    Returns:
        FLOPs.
    """
    check_sizes(prompt=prompt, tokens=tokens)
    flops = model_flops(config, "decoder-only", batch, prompt)
    for past in range(prompt, prompt + tokens - 1):
        new, held = (1, past) if cached else (past + 1, 0)
        flops += model_flops(config, "decoder-only", batch, new, past=held)
    return flops
