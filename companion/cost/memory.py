"""Bytes of the weights, of the optimiser's state and of the key-value cache.

Sources: Rajbhandari et al. (2020), section 3.1, for the state of an optimiser; Shazeer (2019) for the cache.

Chapter: book/complexity.
"""

from companion.checks import check_sizes
from companion.config import ModelConfig

BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}
"""Bytes of one number, by the name of its dtype."""


def number_bytes(dtype: str) -> int:
    """Look up the bytes of one number; ``str(torch.float16).removeprefix("torch.")`` is such a name.

    Raises:
        ValueError: the table has no such dtype.
    """
    if dtype not in BYTES:
        raise ValueError(f"dtype is one of {', '.join(BYTES)}: got {dtype!r}. Use one of these names.")
    return BYTES[dtype]


def weight_bytes(parameters: int, dtype: str = "float32") -> int:
    """Count the bytes of a model's weights.

    Args:
        parameters: how many numbers, for example ``model_parameters(config, kind).total``.
        dtype: of each.

    Returns:
        Bytes.
    """
    check_sizes(parameters=parameters)
    return parameters * number_bytes(dtype)


def adam_bytes(parameters: int, *, mixed: bool = False) -> int:
    """Count what training with Adam holds for the parameters: weights, gradients and two moments.

    In float32 that is 16 bytes a parameter. In mixed precision it is 16 too: 2 for the weights and 2 for the
    gradients in half precision, and 12 for weights and moments in float32 (Rajbhandari et al. 2020, section 3.1).

    Args:
        parameters: how many numbers are trained.
        mixed: whether the passes run in half precision.

    Returns:
        Bytes, without activations.
    """
    half, full = (2, 3) if mixed else (0, 4)
    return half * weight_bytes(parameters, "float16") + full * weight_bytes(parameters, "float32")


def cache_bytes(n_layers: int, n_kv_heads: int, d_k: int, batch: int, t: int, dtype: str = "float16") -> int:
    """Count the keys and values that generation keeps: two vectors a position, key head and layer.

    LLaMA-7B has 32 layers of 32 heads of width 128 (Touvron et al. 2023, Table 2): half a mebibyte a token.

    >>> cache_bytes(32, 32, 128, batch=1, t=1) / 2**10, cache_bytes(32, 32, 128, batch=1, t=4096) / 2**30
    (512.0, 2.0)

    Args:
        n_layers: number of decoder layers.
        n_kv_heads: heads of keys and values.
        d_k: width of a head.
        batch: number of sequences.
        t: positions of each.
        dtype: of each number.

    Returns:
        Bytes.
    """
    check_sizes(n_layers=n_layers, n_kv_heads=n_kv_heads, d_k=d_k, batch=batch, t=t)
    return 2 * n_layers * n_kv_heads * d_k * batch * t * number_bytes(dtype)


def model_cache_bytes(
    config: ModelConfig, batch: int, t: int, *, source: int | None = None, dtype: str = "float16"
) -> int:
    """Count the cache of a decoder-only model, or with a source that of an encoder-decoder.

    Args:
        config: the sizes.
        batch: number of sequences.
        t: positions that have been read or generated.
        source: positions of each source, whose keys and values are kept too.
        dtype: of each number.

    Returns:
        Bytes, without the room that a buffer keeps for more.
    """
    check_sizes(t=t)
    if source is not None:
        check_sizes(source=source)
    return cache_bytes(
        config.n_layers, config.n_kv_heads or config.n_heads, config.d_k, batch, t + (source or 0), dtype
    )


def weights_matrix_bytes(batch: int, n_heads: int, t_q: int, t_k: int, dtype: str = "float32") -> int:
    """Count the attention weights of one layer where they are held as a tensor.

    >>> weights_matrix_bytes(1, 1, 10_000, 10_000)
    400000000

    Args:
        batch: number of sequences.
        n_heads: number of query heads.
        t_q: number of queries.
        t_k: number of keys.
        dtype: of each number.

    Returns:
        Bytes.
    """
    check_sizes(batch=batch, n_heads=n_heads, t_q=t_q, t_k=t_k)
    return batch * n_heads * t_q * t_k * number_bytes(dtype)
