"""A wrong result that is the right one times a number, and which size of the case the number follows from."""

import math
from collections.abc import Iterator, Mapping

from torch import Tensor

from companion.practice.likeness import Pair, axis_name


def by_a_factor(pair: Pair) -> Iterator[str]:
    """One factor, which may follow from a size of the case."""
    got, want = pair.got, pair.want
    if not pair.same_shape or not pair.numbers or not want.isfinite().all() or not got.isfinite().all():
        return
    factor = ((got * want).sum() / (want * want).sum()).item() if want.any() else 0.0
    if factor == 0.0 or f"{factor:.4g}" == "1" or not pair.like(got, want * factor):
        return
    if math.isclose(factor, -1.0, rel_tol=1e-6):
        yield "Your result has the opposite sign throughout: look at the order of each difference."
    for name, size in sizes(pair.arguments).items():
        for value, said in _forms(size):
            if math.isclose(factor, value, rel_tol=1e-5) and not math.isclose(value, 1.0, rel_tol=1e-5):
                yield said.format(name)
    if not pair.whole and want.numel() > 1:
        times = f"{factor:.4g} times the expected one"
        yield f"In each case that is wrong your result is {times}: a factor is missing or too much."


def _forms(n: int) -> list[tuple[float, str]]:
    """Factors that come of a size, and what each means."""
    root, less = n**0.5, n / (n - 1) if n > 1 else 1.0
    return [
        (float(n), f"{TOO_LARGE} {{0}}: a division by it is missing, or a sum stands where a mean is asked for."),
        (1.0 / n, f"{TOO_SMALL} {{0}}: it was divided by that, or a mean stands where a sum is asked for."),
        (
            root,
            f"{TOO_LARGE} the square root of {{0}}: a division by that root is missing, or a product with it too much.",
        ),
        (1.0 / root, f"{TOO_SMALL} the square root of {{0}}: it was divided by that root, or not multiplied by it."),
        *((value, N_OR_LESS) for value in (less, 1.0 / less, less**0.5, less**-0.5)),
    ]


TOO_LARGE, TOO_SMALL = (f"Your result is too {size} by a factor, which is" for size in ("large", "small"))
N_OR_LESS = (
    "Your result is off by the factor between n and n - 1, or by its root, where n is {0}: a variance is the mean of "
    "the squares, over n, unless n - 1 is asked for (`correction=0` and `correction=1` in torch)."
)


def sizes(arguments: Mapping[str, object]) -> dict[str, int]:
    """Name the sizes of a case: axes of its tensors, counted from the end, lengths of lists, and whole numbers."""
    found = {}
    for name, value in arguments.items():
        if isinstance(value, Tensor):
            found |= {f"the size of {axis_name(a)} of `{name}`": value.shape[a] for a in range(-1, -value.ndim - 1, -1)}
            found[f"the number of entries of `{name}`"] = value.numel()
        elif isinstance(value, list | tuple):
            found[f"the length of `{name}`"] = len(value)
        elif type(value) is int:
            found[f"`{name}`"] = value
    return {name: size for name, size in found.items() if size > 1}
