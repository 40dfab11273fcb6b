"""Numbers in words, English and Chinese, to digits: a task of the book in which the place of a word decides its worth.

English without "and", and without the hyphen: *one hundred twenty one*. Chinese one character a word, with these
choices: a gap of zeros inside a number is one 零; 10 to 19 begin with 十, not 一十, at the head of the number only; two
is 两 at the head of a number before 千 or 万, and 二 elsewhere (两千二百, 二十二万).

Made for this book. Chapter: book/training.
"""

from collections.abc import Sequence

import torch

from companion.tasks.split import Pair, Row, draw

LARGEST = 999_999
SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
DIGITS = "零一二三四五六七八九"
UNITS = {1000: "千", 100: "百", 10: "十", 1: ""}


def number_words(
    train: int,
    test: int,
    seed: int = 0,
    *,
    largest: int = LARGEST,
    languages: Sequence[str] = ("english", "chinese"),
) -> tuple[list[Pair], list[Pair]]:
    """Draw numbers in words whose target is the number in digits.

    No number occurs twice, in whichever language, so a test number has not been seen in the other language either.
    Numbers of one digit, of two digits, ... come equally often while they last.

    Args:
        train: number of training pairs.
        test: number of test pairs, none of their numbers among the training pairs.
        seed: of the draw.
        largest: the largest number, at most 999,999; the smallest is 0.
        languages: of the words; each pair is in one of them.

    Returns:
        The training and the test pairs: a list of words, and a list of digits.

    Raises:
        ValueError: a choice is not legal, or there are not that many numbers.
    """
    _check(largest)
    if not languages or not set(languages) <= set(LANGUAGES):
        raise ValueError(f"languages are some of {list(LANGUAGES)}: got {list(languages)}. Name at least one of them.")
    starts = [0] + [10**i for i in range(1, len(str(largest)))]  # the first number of one digit, two digits, ...
    families = [[end - start] for start, end in zip(starts, [*starts[1:], largest + 1], strict=True)]
    drawn = draw(families, train, test, seed, "numbers")
    generator = torch.Generator().manual_seed(seed + 1)  # other numbers than those of the draw

    def build(items: list[tuple[int, Row]]) -> list[Pair]:
        spoken = torch.randint(len(languages), (len(items),), generator=generator).tolist()
        numbers = [starts[family] + row[0] for family, row in items]
        return [(LANGUAGES[languages[i]](n), list(str(n))) for n, i in zip(numbers, spoken, strict=True)]

    return build(drawn[0]), build(drawn[1])


def english_number(number: int) -> list[str]:
    """Write a number from 0 to 999,999 in English words.

    >>> " ".join(english_number(120_021))
    'one hundred twenty thousand twenty one'
    """
    _check(number)
    thousands, rest = divmod(number, 1000)
    words = [*_below_thousand(thousands), "thousand"] if thousands else []
    return words + _below_thousand(rest) or ["zero"]


def chinese_number(number: int) -> list[str]:
    """Write a number from 0 to 999,999 in Chinese characters.

    >>> ["".join(chinese_number(n)) for n in (12, 2_022, 10_010, 105_000)]
    ['十二', '两千零二十二', '一万零一十', '十万五千']
    """
    _check(number)
    high, low = divmod(number, 10_000)
    words = [*_section(high), "万"] if high else []
    if low or not high:
        words += ["零"] * (high > 0 and low < 1000) + _section(low)
    if words[:2] == ["一", "十"]:
        return words[1:]
    if words[:2] in (["二", "千"], ["二", "万"]):
        return ["两", *words[1:]]
    return words


LANGUAGES = {"english": english_number, "chinese": chinese_number}


def _below_thousand(number: int) -> list[str]:
    hundreds, rest = divmod(number, 100)
    words = [SMALL.split()[hundreds], "hundred"] if hundreds else []
    if rest >= 20:
        words.append(TENS.split()[rest // 10 - 2])
        rest %= 10
    return words + ([SMALL.split()[rest]] if rest else [])


def _section(number: int) -> list[str]:
    words, gap = [], False
    for size, unit in UNITS.items():
        digit = number // size % 10
        if digit:
            words += ["零"] * gap + [DIGITS[digit]] + [unit] * (unit != "")
        gap = bool(words) and not digit
    return words or ["零"]


def _check(number: int) -> None:
    if not 0 <= number <= LARGEST:
        raise ValueError(f"a number is from 0 to {LARGEST}: got {number}. Larger ones would need words for a million.")
