"""Copy, reverse, sort and recall: tasks in symbols without meaning, as this book's first tests of a model.

Copying, sorting and associative recall as tests of what a network can learn: Graves, Wayne and Danihelka (2014),
section 4. Symbols are strings: "0", "1", ..., written with as many digits as the largest, so that their alphabetical
order is their order as numbers.

Chapter: book/architecture.
"""

from collections.abc import Callable
from string import ascii_lowercase

from companion.tasks.split import Pair, Row, draw

Split = tuple[list[Pair], list[Pair]]


def copy_task(train: int, test: int, seed: int = 0, *, symbols: int = 11, length: int | tuple[int, int] = 10) -> Split:
    """Draw sequences of symbols whose target is the same sequence.

    Args:
        train: number of training pairs.
        test: number of test pairs, none of them among the training pairs.
        seed: of the draw.
        symbols: how many there are.
        length: of every sequence, or ``(shortest, longest)``: each length as often as another while sequences last.

    Returns:
        The training and the test pairs.

    Raises:
        ValueError: a number is below 1, or there are not that many sequences.
    """
    return _rewritten(train, test, seed, symbols, length, lambda row: row)


def reverse_task(
    train: int, test: int, seed: int = 0, *, symbols: int = 11, length: int | tuple[int, int] = 10
) -> Split:
    """Draw sequences of symbols whose target is the sequence from back to front.

    Args:
        train: number of training pairs.
        test: number of test pairs, none of them among the training pairs.
        seed: of the draw.
        symbols: how many there are.
        length: of every sequence, or ``(shortest, longest)``: each length as often as another while sequences last.

    Returns:
        The training and the test pairs.

    Raises:
        ValueError: a number is below 1, or there are not that many sequences.
    """
    return _rewritten(train, test, seed, symbols, length, lambda row: row[::-1])


def sort_task(train: int, test: int, seed: int = 0, *, symbols: int = 11, length: int | tuple[int, int] = 10) -> Split:
    """Draw sequences of symbols whose target is the sequence in rising order; a symbol may occur more than once.

    >>> train, _ = sort_task(train=1, test=1, symbols=12, length=4)
    >>> train
    [(['03', '00', '03', '07'], ['00', '03', '03', '07'])]

    Args:
        train: number of training pairs.
        test: number of test pairs, none of them among the training pairs.
        seed: of the draw.
        symbols: how many there are.
        length: of every sequence, or ``(shortest, longest)``: each length as often as another while sequences last.

    Returns:
        The training and the test pairs.

    Raises:
        ValueError: a number is below 1, or there are not that many sequences.
    """
    return _rewritten(train, test, seed, symbols, length, lambda row: tuple(sorted(row)))


def recall_task(train: int, test: int, seed: int = 0, *, keys: int = 8, values: int = 8, pairs: int = 4) -> Split:
    """Draw lists of keys with their values, then one of the keys; the target is the value of that key.

    Keys are letters and values numbers: the target of ``b 3 a 7 d 3 a`` is ``7``. No key stands twice in a list.

    Args:
        train: number of training pairs.
        test: number of test pairs, none of them among the training pairs.
        seed: of the draw.
        keys: how many different keys there are, at most 26.
        values: how many different values there are.
        pairs: of a key and a value in each list, at most as many as there are keys.

    Returns:
        The training and the test pairs.

    Raises:
        ValueError: a number is below 1 or too large, or there are not that many lists.
    """
    if not 1 <= pairs <= keys <= len(ascii_lowercase) or values < 1:
        raise ValueError(
            f"1 <= pairs <= keys <= {len(ascii_lowercase)} and values >= 1, so that each key of a list is another "
            f"letter: got pairs={pairs}, keys={keys} and values={values}. Take fewer pairs or more keys."
        )
    radices = [*range(keys, keys - pairs, -1), *[values] * pairs, pairs]  # one key fewer is left after each

    def build(row: Row) -> Pair:
        letters = list(ascii_lowercase[:keys])
        chosen = [letters.pop(place) for place in row[:pairs]]
        own = [_symbol(value, values) for value in row[pairs:-1]]
        listed = [word for pair in zip(chosen, own, strict=True) for word in pair]
        return [*listed, chosen[row[-1]]], [own[row[-1]]]

    return _pairs(draw([radices], train, test, seed, "lists"), build)


def _rewritten(
    train: int, test: int, seed: int, symbols: int, length: int | tuple[int, int], rewrite: Callable[[Row], Row]
) -> Split:
    shortest, longest = (length, length) if isinstance(length, int) else length
    if symbols < 1 or not 1 <= shortest <= longest:
        raise ValueError(
            f"symbols >= 1 and 1 <= shortest <= longest: got symbols={symbols} and length={length}. "
            "Give a positive length, or two in rising order."
        )

    def build(row: Row) -> Pair:
        return [_symbol(i, symbols) for i in row], [_symbol(i, symbols) for i in rewrite(row)]

    families = [[symbols] * size for size in range(shortest, longest + 1)]
    return _pairs(draw(families, train, test, seed, "sequences"), build)


def _pairs(drawn: tuple[list[tuple[int, Row]], list[tuple[int, Row]]], build: Callable[[Row], Pair]) -> Split:
    train, test = drawn
    return [build(row) for _, row in train], [build(row) for _, row in test]


def _symbol(i: int, count: int) -> str:
    return f"{i:0{len(str(count - 1))}}"
