"""Say in words how an answer differs from the one expected, without giving the expected one away."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import torch
from jaxtyping import Shaped
from torch import Tensor

TOLERANCE: Mapping[torch.dtype, float] = MappingProxyType({torch.float64: 1e-8, torch.float32: 1e-5})
"""Largest difference allowed, as a part of the largest entry expected (of 1 where all entries are smaller).

Two right ways to write the same formula differ by rounding. With sums of at most 13 products that is some
10 units in the last place, 1e-6 in float32 and 2e-15 in float64; but scores near a million, which come in float64
only, carry a rounding of 1e-10 into the exponent, hence 1e-8. The mildest of the named mistakes is off by more than
1e-3. The tests measure both sides.
"""

FLOAT32_GUESS = (
    " So small a difference may come from a small number that was added, or from rounding in float32: is there such a "
    "number, or is a step of yours in float32?"
)


def difference(
    got: object,
    want: object,
    tolerance: Mapping[torch.dtype, float] = TOLERANCE,
    names: Sequence[str] = (),
    *,
    same_dtype: bool = False,
) -> str | None:
    """Describe how ``got`` differs from ``want``.

    Args:
        got: the reader's result.
        want: a tensor, number, string, or a tuple or list of these.
        tolerance: per dtype, as :data:`TOLERANCE`; numbers are compared as float64.
        names: what to call the entries where ``want`` is a tuple.
        same_dtype: whether a tensor must have the dtype of ``want``, and a whole number be an ``int`` of Python; else
            any float does for a float, and any whole number for a whole number.

    Returns:
        One or two sentences, or ``None`` where the two agree.
    """
    if isinstance(want, tuple | list):
        return _of_sequences(got, want, tolerance, names, same_dtype=same_dtype)
    if isinstance(want, Tensor):
        return _of_tensors(got, want, tolerance, same_dtype=same_dtype)
    return _of_scalars(got, want, tolerance, same_dtype=same_dtype)


def not_zero(got: Shaped[Tensor, "..."], want: Shaped[Tensor, "..."]) -> str | None:
    """Find entries that are nearly 0 where exactly 0 is expected.

    Args:
        got: the reader's result, within the tolerance of the one expected.
        want: the one expected, of the same shape.

    Returns:
        A sentence, or ``None`` where there are none.
    """
    wrong = (want == 0.0) & (got.detach().cpu() != 0.0)
    if not wrong.any():
        return None
    verb = "is" if wrong.sum() == 1 else "are"
    first = got[_first(wrong)].item()
    return f"{_count(wrong)} {verb} not exactly 0, the first at {_at(wrong)}, where yours is {first:.4g}."


def _of_sequences(
    got: object,
    want: Sequence[object],
    tolerance: Mapping[torch.dtype, float],
    names: Sequence[str],
    *,
    same_dtype: bool,
) -> str | None:
    expected = _results(len(want)) + (f" ({', '.join(names[: len(want)])})" if names else "")
    expected += " is expected." if len(want) == 1 else " are expected."
    if not isinstance(got, tuple | list):
        return f"you returned {_kind(got)}; {expected}"
    if len(got) != len(want):
        return f"you returned {_results(len(got))}; {expected}"
    for index, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        found = difference(mine, theirs, tolerance, same_dtype=same_dtype)
        if found:
            return f"{names[index] if names else f'result {index + 1}'}: {found}"
    return None


def _results(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"


def _of_scalars(got: object, want: object, tolerance: Mapping[torch.dtype, float], *, same_dtype: bool) -> str | None:
    if same_dtype and type(want) is int and hasattr(got, "item"):
        return f"you returned {_kind(got)}; an int of Python is expected. `int(...)` or `.item()` makes one."
    if isinstance(got, Tensor) and got.ndim == 0:
        got = got.item()
    if type(got).__module__ == "numpy" and not getattr(got, "shape", None) and hasattr(got, "item"):
        got = got.item()
    if isinstance(want, float):
        if isinstance(got, bool) or not isinstance(got, int | float):
            return f"you returned {_kind(got)}; a number is expected."
        if math.isclose(got, want, rel_tol=tolerance[torch.float64], abs_tol=tolerance[torch.float64]):
            return None
        return f"your number is {got:.6g}."
    if type(got) is not type(want):
        return f"you returned {_kind(got)}; {_kind(want)} is expected."
    return None if got == want else f"your answer is {got!r}."


def _of_tensors(got: object, want: Tensor, tolerance: Mapping[torch.dtype, float], *, same_dtype: bool) -> str | None:
    if not isinstance(got, Tensor):
        remedy = " Stay in torch: convert with torch.as_tensor, or use the torch function of the same name."
        return f"you returned {_kind(got)}; a tensor is expected.{remedy}"
    if got.shape != want.shape:
        return f"the shape is {tuple(got.shape)}; {tuple(want.shape)} is expected."
    if got.dtype != want.dtype and (same_dtype or _kind_of_numbers(got) != _kind_of_numbers(want)):
        remedy = (
            " Keep the dtype of the arguments, or take the one that the statement names."
            if got.is_floating_point() and want.is_floating_point()
            else ""
        )
        return f"the dtype is {_short(got.dtype)}; {_short(want.dtype)} is expected.{remedy}"
    got = got.detach().cpu()
    if not want.is_floating_point():
        return _of_exact(got, want)
    found = _of_numbers(got, want, tolerance[want.dtype])
    coarse = found and torch.finfo(got.dtype).eps > torch.finfo(want.dtype).eps
    return f"{found} Your result is in {_short(got.dtype)}." if coarse else found


def _kind_of_numbers(x: Tensor) -> str:
    if x.dtype == torch.bool:
        return "truth"
    return "float" if x.is_floating_point() else "complex" if x.is_complex() else "whole"


def _of_exact(got: Tensor, want: Tensor) -> str | None:
    wrong = got != want
    if not wrong.any():
        return None
    if want.dtype == torch.bool and want.numel() > 1 and wrong.all():
        return "every entry is the opposite of what is expected."
    index = _first(wrong)
    return f"{_count(wrong)} differ, the first at {list(index)}, where yours is {got[index].item()}."


def _of_numbers(got: Tensor, want: Tensor, tolerance: float) -> str | None:
    kept, common = want.dtype, torch.promote_types(got.dtype, want.dtype)
    got, want = got.to(common), want.to(common)
    finite = want.isfinite()
    largest = want[finite].abs().max().item() if finite.any() else 0.0
    allowed = tolerance * max(1.0, largest)
    if torch.allclose(got, want, rtol=0.0, atol=allowed, equal_nan=True):
        return None
    for name, strange in (("NaN", got.isnan() & ~want.isnan()), ("infinite", got.isinf() & ~want.isinf())):
        if strange.any():
            asked = " where a finite number is expected" if want.isinf().any() else ""
            return (
                f"{_count(strange)} {'is' if strange.sum() == 1 else 'are'} {name}{asked}, the first at {_at(strange)}."
            )
    gap = (got - want).abs().masked_fill(got == want, 0.0)
    gap = gap.masked_fill(gap.isnan(), torch.inf)
    index = _first(gap == gap.max())
    size, mine = f"{gap.max().item():.4g}", f"{got[index].item():.4g}"
    if size == mine.removeprefix("-"):  # the same number twice says little
        mine += ", too large" if got[index] > want[index] else ", too small"
    where = f" at {list(index)}, where yours is {mine}" if want.ndim else ""
    found = f"the largest difference is {size}{where}; {_count(gap > allowed)} differ."
    if kept == torch.float64 and gap.max() <= TOLERANCE[torch.float32] * max(1.0, largest):
        return found + FLOAT32_GUESS
    return found + _factor(got, want, allowed)


def _factor(got: Tensor, want: Tensor, allowed: float) -> str:
    """Notice one factor, if the two differ by no more than that."""
    factor = ((got * want).sum() / (want * want).sum()).item()
    if want.count_nonzero() < 2 or not math.isfinite(factor) or factor == 0.0:
        return ""
    if not torch.allclose(got, want * factor, rtol=0.0, atol=allowed * max(1.0, abs(factor))):
        return ""
    which = "Every entry" if ((got - want).abs() > allowed).all() else "Every entry that differs"
    if math.isclose(factor, -1.0, rel_tol=1e-4):
        return f" {which} has the opposite sign."
    times = f"{factor:.4g}"
    return "" if times == "1" else f" {which} is {times} times what is expected."


def _kind(thing: object) -> str:
    if type(thing).__module__ == "numpy" and hasattr(thing, "shape"):
        return f"a NumPy {type(thing).__name__}"
    if thing is None:
        return "None (is a `return` missing?)"
    if isinstance(thing, Tensor):
        return f"a tensor of shape {tuple(thing.shape)}"
    if isinstance(thing, tuple | list):
        return f"a {type(thing).__name__} of {len(thing)}"
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _first(where: Tensor) -> tuple[int, ...]:
    return tuple(where.nonzero()[0].tolist())


def _at(where: Tensor) -> str:
    return str(list(_first(where)))


def _count(where: Tensor) -> str:
    total = where.numel()
    return f"{int(where.sum())} of {total} {'entry' if total == 1 else 'entries'}"
