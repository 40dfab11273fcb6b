"""What a forward pass keeps for the backward pass, counted as by Korthikanti et al. (2022), section 4.1.

Their kernels are others than ours, and their models have dropout, so the sums differ: here each term is a tensor that
``torch.autograd`` saves in the models of this book.

Chapter: book/complexity.
"""

from companion.checks import check_sizes
from companion.config import ModelConfig
from companion.cost.checks import check_model
from companion.cost.memory import number_bytes
from companion.cost.parameters import Kind

TOKEN_BYTES = 8  # an id is an int64
HIDDEN = {"relu": 1, "gelu": 2, "gelu-tanh": 2, "swiglu": 4}  # tensors of width d_ff; ReLU needs only its result


def activation_bytes(
    config: ModelConfig, kind: Kind, batch: int, t: int, *, source: int | None = None, dtype: str = "float32"
) -> int:
    """Count the bytes that one forward pass up to the logits keeps until the backward pass, weights left out.

    Holds for models without dropout and with absolute positions or none, without padding, and for torch on a CPU. The
    loss keeps the logits, or their softmax, besides. With ``config.kernel="reference"`` the attention weights are kept:
    ``n_heads t^2`` numbers for each layer and sequence, and where some are masked the same again before the mask. With
    ``"sdpa"`` it is one number, the log-sum-exp, for each query and head.

    >>> from companion.config import base
    >>> [activation_bytes(base(37_000, kernel=k), "encoder-only", 1, 2048) // 10**6 for k in ("reference", "sdpa")]
    [1111, 306]

    Args:
        config: the sizes.
        kind: which model they are used for.
        batch: number of sequences.
        t: positions of each; of the target in an encoder-decoder.
        source: positions of each source, for an encoder-decoder only.
        dtype: of the activations.

    Returns:
        Bytes.

    Raises:
        ValueError: a size is no size, the source is missing or superfluous, or a relative position scheme keeps tensors
            that are not counted here.
    """
    check_model(config, kind, source)
    check_sizes(batch=batch, t=t)
    if config.position not in ("none", "sinusoidal", "learned"):
        raise ValueError(
            f"activations are counted for absolute positions or none: got position={config.position!r}, whose own "
            "tensors are left out. Measure with torch.autograd.graph.saved_tensors_hooks instead."
        )
    size = number_bytes(dtype)
    total = _stack(config, batch, t, size, causal=kind != "encoder-only", memory=source)
    return total if source is None else total + _stack(config, batch, source, size, causal=False, memory=None)


def _stack(config: ModelConfig, batch: int, t: int, size: int, *, causal: bool, memory: int | None) -> int:
    """Bytes of one stack of layers, with the embedding before it."""
    tokens, norm = batch * t, _norm_numbers(config)
    layer = tokens * (HIDDEN[config.activation] * config.d_ff + 2 * norm) * size
    layer += _attention_bytes(config, batch, t, t, size, masked=causal and t > 1)
    if memory is not None:
        layer += tokens * norm * size + _attention_bytes(config, batch, t, memory, size, masked=False)
    # Before the layers: the embedding where no norm of a layer reads it, the norm of the embedding, the ids.
    before = config.d_model if config.order == "post" else norm  # pre-norm: the last norm, behind the layers
    before += (norm - config.d_model) * config.embedding_norm  # its result is the embedding counted already
    ids = TOKEN_BYTES * (2 if config.segments else 1)
    return config.n_layers * layer + tokens * (before * size + ids)


def _norm_numbers(config: ModelConfig) -> int:
    """Numbers for each position: input, result and statistics; RMSNorm also its result before the gain."""
    return 2 * config.d_model + 2 if config.norm == "layer" else 3 * config.d_model + 1


def _attention_bytes(config: ModelConfig, batch: int, t_q: int, t_k: int, size: int, *, masked: bool) -> int:
    """Bytes of one attention, its input left out: queries, keys, values, what the kernel keeps, the heads' output."""
    kv_heads = config.n_heads if config.kernel == "reference" else config.n_kv_heads or config.n_heads
    numbers = 2 * t_q * config.d_model + 2 * t_k * kv_heads * config.d_k  # the formula repeats shared key heads
    if config.kernel == "sdpa":
        return batch * (numbers + config.n_heads * t_q) * size
    numbers += (1 + masked) * config.n_heads * t_q * t_k
    return batch * numbers * size + masked * (t_q * t_k + t_q)  # one mask for the batch, and which rows are empty
