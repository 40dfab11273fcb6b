"""Tables of released models, as the pages show them: sizes, parameters by part, and what a token costs."""

from collections.abc import Iterable

from companion.cost import RELEASED, released_cache_bytes, released_parameters, released_token_flops

Rows = dict[str, dict[str, str]]
"""Entries by the names of row and column, for ``companion.book.Table``."""
_PARTS = {"embedding": "embedding", "attention": "attention", "feed_forward": "feed-forward", "norms": "norms"}


def short(number: int, billion: str = "B") -> str:
    """Write a number with three digits that count and a unit, as people say it.

    >>> short(124_439_808), short(1_557_611_200), short(38_400), short(2_422_487_384_064, "G")
    ('124M', '1.56B', '38.4K', '2.42T')

    Args:
        number: at least 1,000.
        billion: the sign of the billion, ``G`` for FLOPs.

    Returns:
        The text.

    Raises:
        ValueError: the number is less than 1,000.
    """
    if number < 1000:
        raise ValueError(f"a number is shortened from 1,000 on: got {number}. Write it as it is.")
    units = {"T": 10**12, billion: 10**9, "M": 10**6, "K": 1000}
    rounded = float(f"{number:.3g}")
    unit, size = next((unit, size) for unit, size in units.items() if rounded >= size)
    return f"{rounded / size:#.3g}".rstrip(".") + unit


def sizes(names: Iterable[str] = RELEASED) -> Rows:
    """List the sizes from which all else is computed.

    Args:
        names: of the models.

    Returns:
        The rows of a table.
    """
    rows = {}
    for name in names:
        config, experts, latent = RELEASED[name].config, RELEASED[name].experts, RELEASED[name].latent
        used, kv_heads = "–", config.n_kv_heads or config.n_heads
        if experts:
            shared = f" + {experts.shared}" * bool(experts.shared)
            used = f"{experts.used} of {experts.number}{shared}"
        rows[name] = {
            "layers": f"{config.n_layers}",
            "width": f"{config.d_model:,}",
            "heads": f"{config.n_heads}",
            "KV heads": "latent" if latent else f"{kv_heads}",
            "attention": "MLA" if latent else {config.n_heads: "MHA", 1: "MQA"}.get(kv_heads, "GQA"),
            "FFN": f"{experts.d_ff if experts else config.d_ff:,}",
            "experts": used,
            "vocabulary": f"{config.vocab:,}",
        }
    return rows


def parameters(names: Iterable[str] = RELEASED) -> Rows:
    """List all parameters, those that one token passes, and those of each part.

    Args:
        names: of the models.

    Returns:
        The rows of a table.
    """
    rows = {}
    for name in names:
        stored = released_parameters(RELEASED[name])
        active = released_parameters(RELEASED[name], active=True)
        rows[name] = {"all": f"{stored.total:,}", "active": short(active.total)}
        rows[name] |= {column: short(getattr(stored, part)) for part, column in _PARTS.items()}
        rows[name]["head"] = short(stored.output) if stored.output else "tied"
    return rows


def caches(names: Iterable[str] = RELEASED, t: int = 8192) -> Rows:
    """List what the cache of a decoder holds in 16 bits: numbers and bytes of a token, and bytes of a sequence.

    Args:
        names: of the models; an encoder has no row.
        t: positions of the sequence; a model that was trained for fewer has none.

    Returns:
        The rows of a table.
    """
    rows = {}
    for name in names:
        model = RELEASED[name]
        config, latent = model.config, model.latent
        if model.kind == "encoder-only":
            continue
        kv_heads = config.n_kv_heads or config.n_heads
        held = released_cache_bytes(model, 1, 1)
        rows[name] = {
            "layers": f"{config.n_layers}",
            "a layer holds": f"{latent.d_c} + {latent.d_rope}" if latent else f"2 × {kv_heads} × {config.d_k}",
            "bytes a token": f"{held:,}",
            f"{t:,} tokens": f"{released_cache_bytes(model, 1, t) / 1e9:.2f} GB" if config.max_len >= t else "–",
        }
    return rows


def costs(names: Iterable[str] = RELEASED, t: int = 8192) -> Rows:
    """List what a token takes: bytes in a cache of 16 bits, and FLOPs forward and in training.

    Args:
        names: of the models.
        t: the positions of a whole cache; a model that was trained for fewer has none.

    Returns:
        The rows of a table.
    """
    rows = {}
    for name in names:
        model = RELEASED[name]
        caches = model.kind == "decoder-only"
        reaches = caches and model.config.max_len >= t
        forward = released_token_flops(model)
        rows[name] = {
            "cache, bytes": f"{released_cache_bytes(model, 1, 1):,}" if caches else "–",
            f"{t:,} tokens": f"{released_cache_bytes(model, 1, t) / 1e9:.2f} GB" if reaches else "–",
            "forward, FLOPs": short(forward, "G"),
            "training, FLOPs": short(3 * forward, "G"),
        }
    return rows
