"""Draw distinct items and cut them into training and test: what all tasks of the book share.

A task that is small is listed and shuffled (`split`). A task too large to list, such as all 11^10 sequences to copy, is
described by families: an item of a family is a row of digits, each with its own number of values (`draw`).

Made for this book. Chapter: book/architecture.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

import torch

Pair = tuple[list[str], list[str]]
Item = TypeVar("Item")
Row = tuple[int, ...]


def split(items: Sequence[Item], train: int, test: int, seed: int, what: str) -> tuple[list[Item], list[Item]]:
    """Shuffle items that all differ, and cut a training and a test list from them.

    >>> split("abcdef", 3, 2, seed=0, what="letters")
    (['c', 'f', 'd'], ['a', 'b'])

    Args:
        items: all that exist.
        train: number of training items.
        test: number of test items.
        seed: of the shuffle.
        what: the items' name in a refusal.

    Returns:
        The training and the test items.

    Raises:
        ValueError: a number is below 1, or there are not that many items.
    """
    check_numbers(train, test, len(items), what)
    order = torch.randperm(len(items), generator=torch.Generator().manual_seed(seed)).tolist()
    return [items[i] for i in order[:train]], [items[i] for i in order[train : train + test]]


def draw(
    families: Sequence[Sequence[int]], train: int, test: int, seed: int, what: str
) -> tuple[list[tuple[int, Row]], list[tuple[int, Row]]]:
    """Draw distinct rows of digits, as many from one family as from another while they last, and split them.

    Args:
        families: for each family, the number of values of each digit of its rows. All rows together are the task.
        train: number of training items.
        test: number of test items.
        seed: of the draw.
        what: the items' name in a refusal.

    Returns:
        The training and the test items, each ``(number of the family, row of digits)``, in shuffled order.

    Raises:
        ValueError: a number is below 1, or there are not that many items.
    """
    sizes = [math.prod(radices) for radices in families]
    check_numbers(train, test, sum(sizes), what)
    generator = torch.Generator().manual_seed(seed)
    items = [
        (family, row)
        for family, share in enumerate(shares(sizes, train + test))
        for row in _rows(families[family], share, generator)
    ]
    order = torch.randperm(len(items), generator=generator).tolist()
    return [items[i] for i in order[:train]], [items[i] for i in order[train:]]


def shares(sizes: Sequence[int], total: int) -> list[int]:
    """Share out a total as evenly as the sizes allow: what a small family cannot give, the larger ones give.

    >>> shares([2, 100, 100], 21)
    [2, 9, 10]

    Args:
        sizes: how many items each family has; together at least ``total``.
        total: how many are wanted.

    Returns:
        One number for each family.
    """
    given = [0] * len(sizes)
    for rank, family in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):  # the smallest family first
        given[family] = min(sizes[family], (total - sum(given)) // (len(sizes) - rank))
    return given


def check_numbers(train: int, test: int, existing: int, what: str) -> None:
    """Refuse a split that cannot be made.

    Args:
        train: number of training items.
        test: number of test items.
        existing: how many items there are.
        what: their name.

    Raises:
        ValueError: a number is below 1, or there are not that many items.
    """
    if min(train, test) < 1 or train + test > existing:
        raise ValueError(
            f"train and test are at least 1 and together at most {existing}, the number of {what}: "
            f"got train={train} and test={test}. Ask for fewer."
        )


def _rows(radices: Sequence[int], count: int, generator: torch.Generator) -> list[Row]:
    size = math.prod(radices)
    if size <= 2 * count:  # so few exist that drawing would meet the same rows again and again: list them
        ranks = torch.randperm(size, generator=generator)[:count].tolist()
        return [_digits(rank, radices) for rank in ranks]
    rows: dict[Row, None] = {}  # a set that keeps the order
    while len(rows) < count:
        columns = [torch.randint(radix, (count,), generator=generator).tolist() for radix in radices]
        rows.update(dict.fromkeys(zip(*columns, strict=True)))
    return list(rows)[:count]


def _digits(rank: int, radices: Sequence[int]) -> Row:
    digits = []
    for radix in reversed(radices):
        rank, digit = divmod(rank, radix)
        digits.append(digit)
    return tuple(reversed(digits))
