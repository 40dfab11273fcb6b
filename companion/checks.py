"""What more than one module asks of its input: sizes that are numbers, heads that divide, tensors that fit together.

Made for this book. Every chapter meets these rules in the messages of what it calls.
"""

import torch
from jaxtyping import Shaped
from torch import Tensor


def check_sizes(least: int = 1, /, **sizes: int) -> None:
    """Refuse a size that is not a whole number, or is too small.

    Args:
        least: the smallest legal size.
        **sizes: what came, by name.

    Raises:
        ValueError: one of them is no size; the message names the first.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < least:
            raise ValueError(f"{name} is a whole number, at least {least}: got {name}={size!r}. Use such a number.")


def check_divides(remedy: str = "", /, **sizes: int) -> None:
    """Refuse a number of heads that does not divide what they share.

    >>> check_divides(n_heads=8, d_model=512)

    Args:
        remedy: what one can do besides taking another divisor.
        **sizes: two numbers by name: first the divisor, then what it divides.

    Raises:
        ValueError: one is no size, or the first does not divide the second.
    """
    check_sizes(**sizes)
    (part, divisor), (whole, number) = sizes.items()
    if number % divisor:
        divisors = [n for n in range(1, number + 1) if number % n == 0]
        raise ValueError(
            f"{part} divides {whole}: got {part}={divisor} and {whole}={number}. Use one of {divisors}{remedy}."
        )


def check_dropout(dropout: float | int) -> None:
    """Refuse a share of activations to drop that is none.

    Args:
        dropout: what came.

    Raises:
        ValueError: it is below 0, or 1 and above.
    """
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is a share, at least 0 and below 1: got {dropout}. Use 0 to drop nothing.")


def check_past(t_q: int, t_k: int) -> None:
    """Refuse more queries than keys where the last query stands at the last key.

    Args:
        t_q: number of queries.
        t_k: number of keys.

    Raises:
        ValueError: there is no query, or a query stands before the first key.
    """
    if not 1 <= t_q <= t_k:
        raise ValueError(
            f"the last query stands at the last key, so 1 <= t_q <= t_k: got t_q={t_q} and t_k={t_k}. "
            "Give at least as many keys as queries."
        )


def check_query_key(query: Shaped[Tensor, "..."], key: Shaped[Tensor, "..."], *, grouped: bool = False) -> None:
    """Refuse a query and a key whose scores do not exist.

    Args:
        query: what came as ``(*batch, t_q, d_k)``.
        key: what came as ``(*batch, t_k, d_k)``.
        grouped: whether the axis before ``t_q`` and ``t_k`` counts heads, of which the keys may have fewer.

    Raises:
        ValueError: an axis is missing or empty, the widths or the leading axes differ, or so do the dtypes.
    """
    got = f"got query {tuple(query.shape)} and key {tuple(key.shape)}"
    if query.ndim < 2 or key.ndim < 2:
        raise ValueError(f"query is (*batch, t_q, d_k) and key (*batch, t_k, d_k): {got}. Add the missing axis.")
    _check_filled(got, query, key)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same width d_k: {got}. Project both to one width first.")
    batch = slice(-3 if grouped else -2)
    if query.shape[batch] != key.shape[batch]:
        raise ValueError(f"query and key must have the same leading axes: {got}. Expand one of them.")
    if query.dtype != key.dtype or not query.is_floating_point():
        raise ValueError(
            f"query and key have one floating-point dtype: got {query.dtype} and {key.dtype}. Convert with .to()."
        )


def check_value(key: Shaped[Tensor, "..."], value: Shaped[Tensor, "..."]) -> None:
    """Refuse values that are not one for each key.

    Args:
        key: what came as ``(*batch, t_k, d_k)``.
        value: what came as ``(*batch, t_k, d_v)``.

    Raises:
        ValueError: an axis is missing or empty, all axes but the last do not agree, or the dtypes differ.
    """
    got = f"got key {tuple(key.shape)} and value {tuple(value.shape)}"
    _check_filled(got, key, value)
    if value.ndim < 2 or value.shape[:-1] != key.shape[:-1]:
        raise ValueError(f"each key has one value: {got}. All axes but the last must agree.")
    if value.dtype != key.dtype:
        raise ValueError(f"key and value have one dtype: got {key.dtype} and {value.dtype}. Convert one with .to().")


def check_bias(bias: Shaped[Tensor, "..."], scores: tuple[int, ...], dtype: torch.dtype) -> None:
    """Refuse a bias that would widen the scores or change their dtype.

    Args:
        bias: what came.
        scores: shape of the scores.
        dtype: that of the scores.

    Raises:
        ValueError: it has more axes than the scores, an axis that is neither 1 nor theirs, or another dtype.
    """
    sizes = zip(reversed(bias.shape), reversed(scores), strict=False)
    if bias.dtype != dtype or bias.ndim > len(scores) or any(b not in (1, s) for b, s in sizes):
        raise ValueError(
            f"a bias broadcasts to the scores {tuple(scores)} and has their dtype {dtype}: "
            f"got {tuple(bias.shape)} of {bias.dtype}. Each of its axes is 1 or that of the scores."
        )


def _check_filled(got: str, *tensors: Tensor) -> None:
    if any(0 in tensor.shape for tensor in tensors):
        raise ValueError(f"no axis is empty: {got}. Drop the empty input; there is nothing to attend to.")
