"""What a wrong result has in common with the right one: swapped, moved, a factor off, a step too many.

Each function here looks at one wrong result beside the right one and yields what could be said of it. None of the
sentences holds a size of the case: what is said of every wrong result explains them.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64, Shaped
from torch import Tensor
from torch.nn.functional import sigmoid

MOST_AXES = 5


@dataclass(frozen=True)
class Pair:
    """A wrong result beside the right one, both in float64.

    Args:
        got: the wrong one.
        want: the right one.
        arguments: of the case, by their names.
        allowed: largest difference of two entries that are alike.
        numbers: whether entries can be added, as those that stand for words or for True and False cannot.
        whole: whether they are whole numbers.
        same_type: whether the two have one type, or one dtype.
    """

    got: Tensor
    want: Tensor
    arguments: Mapping[str, object]
    allowed: float
    numbers: bool
    whole: bool
    same_type: bool = True

    def like(self, one: Shaped[Tensor, "..."], other: Shaped[Tensor, "..."]) -> bool:
        """Tell whether two tensors are the same within what is allowed.

        Args:
            one: a tensor of any shape.
            other: another; what is allowed grows with its largest entry.

        Returns:
            False also where the shapes differ.
        """
        if one.shape != other.shape:
            return False
        scale = other[other.isfinite()].abs().max().item() if other.isfinite().any() else 1.0
        return torch.allclose(one, other, rtol=0.0, atol=self.allowed * max(1.0, scale), equal_nan=True)

    @property
    def same_shape(self) -> bool:
        """Whether the two can be compared entry by entry."""
        return self.got.shape == self.want.shape

    @property
    def wrong(self) -> Bool[Tensor, "..."]:
        """Where the two differ."""
        scale = self.want[self.want.isfinite()].abs().max().item() if self.want.isfinite().any() else 1.0
        return ~torch.isclose(self.got, self.want, rtol=0.0, atol=self.allowed * max(1.0, scale), equal_nan=True)


def axis_name(axis: int) -> str:
    """Name an axis that is counted from the end."""
    return {-1: "the last axis", -2: "the second-last axis"}.get(axis, f"axis {axis}")


def not_in_dtype(pair: Pair) -> Iterator[str]:
    """The right numbers in another dtype."""
    if not pair.same_type and pair.like(pair.got, pair.want):
        yield "The numbers are right, and only their type is another: convert the result."


def not_in_shape(pair: Pair) -> Iterator[str]:
    """The right numbers in another shape."""
    got, want = pair.got, pair.want
    if pair.same_shape or got.numel() != want.numel() or not pair.like(got.reshape(want.shape), want):
        return
    if got.squeeze().shape == want.squeeze().shape:
        many, remedy = ("many", "Remove it") if got.ndim > want.ndim else ("few", "Keep or add it")
        yield (
            f"The numbers are right, and the shape has an axis of size 1 too {many}. {remedy}: `squeeze(axis)` removes "
            "one, `unsqueeze(axis)` adds one, and a reduction keeps its axis with `keepdim=True`."
        )
    yield "The numbers are right and in order, and only the shape is another: a `reshape` is missing or too much."


def swapped_axes(pair: Pair) -> Iterator[str]:
    """The right result but for a transpose."""
    got, want = pair.got, pair.want
    if got.ndim != want.ndim or got.ndim > MOST_AXES:
        return
    for i, j in itertools.combinations(range(-got.ndim, 0), 2):
        if pair.like(got.transpose(i, j), want):
            yield (
                f"Your result is the expected one with the axes {i} and {j} swapped: a transpose is missing or too "
                "much, or the factors of a product stand in the other order."
            )


def one_too_many(pair: Pair) -> Iterator[str]:
    """One entry too many or too few along an axis."""
    got, want = pair.got, pair.want
    if got.ndim != want.ndim or pair.same_shape:
        return
    for axis in range(-got.ndim, 0):
        more = got.shape[axis] - want.shape[axis]
        long, short = (got, want) if more > 0 else (want, got)
        if abs(more) != 1 or not short.numel():
            continue
        for start, end in ((0, "end"), (1, "beginning")):
            if pair.like(long.narrow(axis, start, short.shape[axis]), short):
                many = "too many" if more > 0 else "missing"
                yield (
                    f"Along {axis_name(axis)} one entry is {many}, at the {end}, and the others are right. "
                    "Where does the range or the slice begin, and does it include its end?"
                )


def reduced(pair: Pair) -> Iterator[str]:
    """A sum, mean or maximum too many or too few."""
    got, want = pair.got, pair.want
    if pair.same_shape or not pair.numbers:
        return
    for larger, smaller, said in (
        (want, got, "You took {0} over {1}, which has to stay."),
        (got, want, "Your result is right up to {0} over {1}, which is missing."),
    ):
        if not larger.numel():
            continue
        axes: list[int | None] = [None, *range(-larger.ndim, 0)]
        for axis, (name, reduce) in itertools.product(axes, REDUCTIONS.items()):
            whole = tuple(range(larger.ndim)) if axis is None else (axis,)
            if larger.ndim and pair.like(reduce(larger, whole).reshape(-1), smaller.reshape(-1)):
                yield said.format(name, "all entries" if axis is None else f"{axis_name(axis)}")


REDUCTIONS: Mapping[str, Callable[[Tensor, tuple[int, ...]], Tensor]] = {
    "a sum": lambda x, axes: x.sum(axes),
    "a mean": lambda x, axes: x.mean(axes),
    "a maximum": lambda x, axes: x.amax(axes),
}


def moved(pair: Pair) -> Iterator[str]:
    """The right result, one place further."""
    got, want = pair.got, pair.want
    if not pair.same_shape:
        return
    for axis in range(-got.ndim, 0):
        n = got.shape[axis] - 1
        if n < 1 or pair.like(want.narrow(axis, 0, n), want.narrow(axis, 1, n)):
            continue
        for one, other, where in ((got, want, "end"), (want, got, "beginning")):
            if pair.like(one.narrow(axis, 1, n), other.narrow(axis, 0, n)):
                yield (
                    f"Your result is the expected one moved by one place along {axis_name(axis)}, toward its "
                    f"{where}. Where does the shift, the range or the slice begin?"
                )


def turned(pair: Pair) -> Iterator[str]:
    """The right result in reverse."""
    if pair.same_shape:
        for axis in range(-pair.got.ndim, 0):
            if pair.like(pair.got.flip(axis), pair.want):
                yield (
                    f"Your result is the expected one in reverse order along {axis_name(axis)}: which end comes first?"
                )


def in_other_places(pair: Pair) -> Iterator[str]:
    """The right numbers in another order."""
    got, want = pair.got.flatten(), pair.want.flatten()
    if got.numel() != want.numel() or got.numel() < 4 or 2 * want.unique().numel() < want.numel():
        return
    if pair.like(got.sort().values, want.sort().values):
        yield (
            "Your result holds the right numbers in the wrong places. Look at the order of the axes before each "
            "`reshape` or `view`, and at what is interleaved or joined."
        )


def with_an_argument(pair: Pair) -> Iterator[str]:
    """An argument that was added, or was a factor, once too often or not at all."""
    got, want = pair.got, pair.want
    for name, value in pair.arguments.items():
        x = as_numbers(value)
        if x is None or not pair.numbers:
            continue
        if pair.like(got, x) and x.numel() > 1:
            yield f"Your result is the argument `{name}` as it came: it is returned, or nothing was done to it."
        if not pair.same_shape or not broadcasts(x, want):
            continue
        x = x.expand(want.shape)
        if pair.like(got, want + x):
            yield f"What your result has too much is exactly `{name}`: it is added once too often."
        if pair.like(got + x, want):
            yield (
                f"What is missing in your result is exactly `{name}`, which has to be added: as a residual, a bias or "
                "a sum that goes on."
            )
        if pair.like(got, want * x) and not pair.like(want, want * x):
            yield f"Your result is the expected one times `{name}`: this factor is too much, or a division is missing."
        if pair.like(got * x, want) and not pair.like(want, want * x):
            yield f"The expected result is yours times `{name}`: this factor is missing, or a division is too much."


def a_step_off(pair: Pair) -> Iterator[str]:
    """A function that was applied once too often, or not at all."""
    got, want = pair.got, pair.want
    if not pair.same_shape or not pair.numbers or not want[want.isfinite()].any():
        return
    alone = not want.ndim or want.shape[-1] == 1  # the softmax of one number is 1, whatever the number
    for name, function in STEPS.items():
        if alone and name.endswith("the last axis"):
            continue
        if pair.like(got, function(want)) and not pair.like(want, function(want)):
            yield f"Your result is {name} of the expected one: a step is too much."
        if pair.like(want, function(got)) and not pair.like(got, function(got)):
            yield f"The expected result is {name} of yours: this step is missing."


STEPS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "the square": torch.square,
    "the square root": torch.sqrt,
    "the exponential": torch.exp,
    "the logarithm": torch.log,
    "the reciprocal": torch.reciprocal,
    "1 minus the value": lambda x: 1.0 - x,
    "the absolute value": torch.abs,
    "the sigmoid": sigmoid,
    "the tanh": torch.tanh,
    "the positive part": torch.relu,
    "the softmax over the last axis": lambda x: x.softmax(dim=-1),
    "the logarithm of the softmax over the last axis": lambda x: x.log_softmax(dim=-1),
    "the value rounded down": torch.floor,
    "the value rounded up": torch.ceil,
    "the running sum along the last axis": lambda x: x.cumsum(dim=-1),
}


def as_numbers(value: object) -> Float64[Tensor, "..."] | None:
    """Give an argument as a tensor of float64; ``None`` for what has no fractions."""
    if isinstance(value, Tensor) and value.is_floating_point() and value.layout is torch.strided:
        return value.detach().double()
    return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else None


def broadcasts(x: Shaped[Tensor, "..."], want: Shaped[Tensor, "..."]) -> bool:
    """Tell whether an argument fits the shape of the result by broadcasting.

    Args:
        x: the argument.
        want: the right result.

    Returns:
        False also where ``x`` has more axes.
    """
    pairs = zip(reversed(x.shape), reversed(want.shape), strict=False)
    return x.ndim <= want.ndim and all(size in (1, wanted) for size, wanted in pairs)
