"""Where a wrong result is wrong, whatever the exercise: at a border, under a mask, by rows, where it is NaN."""

from collections.abc import Iterator

import torch
from torch import Tensor

from companion.practice.likeness import Pair, axis_name, broadcasts

HANDFUL = 5
"""Wrong entries of a table that is not square; of so few no side of its diagonal is told."""


def all_wrong_ones_nan(pair: Pair) -> Iterator[str]:
    """NaN or infinity and nothing else."""
    if not pair.same_shape or not pair.numbers or not pair.wrong.any():
        return
    if (pair.got.isnan() == pair.wrong).all():
        yield (
            "All that is wrong is NaN. It comes of 0 over 0, of infinity minus infinity or of 0 times infinity: follow "
            "these entries through your code, and mind an empty sum, a row that is all hidden, and a divisor of 0."
        )
    if (pair.got.isinf() == pair.wrong).all():
        yield (
            "All that is wrong is infinite. It comes of a division by 0, of the logarithm of 0, of the exponential of "
            "a large number, or of an infinity that was filled in to hide something and should not be returned."
        )


def sums_along(pair: Pair) -> Iterator[str]:
    """Entries that sum to 1 along another axis than they should."""
    got, want = pair.got, pair.want
    if not pair.same_shape or not pair.numbers or not want.isfinite().all():
        return
    for axis in range(-want.ndim, 0):
        if want.shape[axis] < 2 or not _sums_to_one(want, axis, pair.allowed):
            continue
        for other in range(-want.ndim, 0):
            if other != axis and _sums_to_one(got, other, pair.allowed) and not _sums_to_one(got, axis, pair.allowed):
                yield (
                    f"Your entries sum to 1 along {axis_name(other)}, and they should along {axis_name(axis)}: "
                    "the softmax, or the division, is over another axis."
                )


def _sums_to_one(x: Tensor, axis: int, allowed: float) -> bool:
    sums = x.sum(axis)
    return bool((((sums - 1.0).abs() <= 100 * allowed) | (sums == 0.0)).all()) and bool(sums.any())


def by_rows(pair: Pair) -> Iterator[str]:
    """A factor or a term for each row."""
    got, want = pair.got, pair.want
    if not pair.same_shape or not pair.numbers or not (got.isfinite().all() and want.isfinite().all()):
        return
    gap = got - want
    if gap.numel() > 1 and pair.like(gap, gap.mean().expand(gap.shape)) and not pair.like(got, want):
        size = gap.mean().item()
        yield f"In each case that is wrong every entry is {abs(size):.4g} too {'large' if size > 0 else 'small'}."
    for axis in range(-want.ndim, 0):
        if want.shape[axis] < 3 or want.numel() == want.shape[axis]:  # two entries have a factor by accident
            continue
        squares = (want * want).sum(axis, keepdim=True)
        factor = (got * want).sum(axis, keepdim=True) / squares.masked_fill(squares == 0.0, 1.0)
        if pair.like(got, want * factor) and bool((factor * (factor - 1.0)).abs().gt(1e-6).all()):
            yield (
                f"Along {axis_name(axis)} your entries are the expected ones times a number that each row has of "
                "its own: what they are divided or multiplied by is another (a sum, a norm, a deviation, a scale)."
            )
        if pair.like(gap, gap.mean(axis, keepdim=True).expand(gap.shape)):
            yield (
                f"Along {axis_name(axis)} your entries are the expected ones plus a number that each row has of "
                "its own: what is subtracted or added is another (a mean, a maximum, a logarithm of a sum, a bias)."
            )


def one_off(pair: Pair) -> Iterator[str]:
    """Whole numbers that are one too large or too small."""
    if not pair.same_shape or not pair.whole or not pair.numbers or not pair.wrong.any():
        return
    gap = (pair.got - pair.want)[pair.wrong]
    for step, size in ((1.0, "large"), (-1.0, "small")):
        if (gap == step).all():
            yield (
                f"What is wrong is 1 too {size}. Where does the count begin, is an end counted, should `<` be `<=`, "
                "and what is rounded up or down?"
            )


def in_a_place(pair: Pair) -> Iterator[str]:
    """Wrong in one place only."""
    if not pair.same_shape or pair.want.ndim == 0:
        return
    wrong = pair.wrong
    for said, place in _regions(pair):
        if wrong.any() and not (wrong & ~place).any() and (~place).sum() > 1:
            yield said


def _diagonals(pair: Pair) -> Iterator[tuple[str, Tensor]]:
    """Places along the diagonal that are wrong for the most part: a few entries may lie on one side by accident."""
    want, wrong = pair.want, pair.wrong
    if want.ndim < 2 or min(want.shape[-2:]) < 2 or (want.shape[-2] != want.shape[-1] and wrong.sum() <= HANDFUL):
        return
    i = torch.arange(want.shape[-2])[:, None]
    j = torch.arange(want.shape[-1])
    for said, place in (
        ("on the diagonal", i == j),
        ("beside the diagonal, just above it", j == i + 1),
        ("beside the diagonal, just below it", j == i - 1),
        ("above the diagonal", j > i),
        ("below the diagonal", j < i),
    ):
        place = place.expand(want.shape)
        if 2 * (wrong & place).sum() >= place.sum():
            yield f"Only entries {said} of the last two axes are wrong.", place


def _regions(pair: Pair) -> Iterator[tuple[str, Tensor]]:
    want = pair.want
    for name, value in pair.arguments.items():
        if isinstance(value, Tensor) and value.dtype == torch.bool and broadcasts(value, want) and value.ndim:
            for truth in (True, False):
                yield (
                    f"Only entries at which `{name}` is {truth} are wrong.",
                    (value if truth else ~value).expand(want.shape),
                )
    yield from _diagonals(pair)
    for axis in range(-want.ndim, 0):
        n = want.shape[axis]
        shape = [n if a == axis else 1 for a in range(-want.ndim, 0)]
        for which, index in (("first", 0), ("last", n - 1)):
            place = (torch.arange(n) == index).view(shape).expand(want.shape)
            yield (
                f"Only what stands {which} along {axis_name(axis)} is wrong: look at the border, where the loop, "
                "the range or the slice begins or ends.",
                place,
            )
    if pair.numbers:
        yield "Only entries that should be 0 are wrong: they have to be set to 0, or left out.", want == 0.0
        yield "Only entries at which yours is 0 are wrong: something is hidden, or not filled in.", pair.got == 0.0
        yield "Only entries that should be negative are wrong.", want < 0.0
        yield "Only entries that should be positive are wrong.", want > 0.0
