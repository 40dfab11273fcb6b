"""Dates in many forms, English, Chinese and numeric, to ISO 8601: the book's task in characters.

A form has one reading only. A weekday is the right one. Numbers alone stand in the order year, month, day, or the day
cannot be taken for the month (it is above 12, or equal to it). A year of two digits is above 31, so it is no day, and
comes only where the years of the task span a century at most. A Chinese year is read digit by digit, with 〇 for 0.

Made for this book. Chapter: book/training.
"""

from collections.abc import Sequence
from datetime import date, timedelta

import torch

from companion.tasks.number import chinese_number
from companion.tasks.split import Pair, split

MONTHS = "January February March April May June July August September October November December"
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
STYLES = ("english", "chinese", "numeric")


def dates(
    train: int,
    test: int,
    seed: int = 0,
    *,
    years: tuple[int, int] = (1900, 2099),
    styles: Sequence[str] = STYLES,
) -> tuple[list[Pair], list[Pair]]:
    """Draw dates as people write them whose target is the date as ISO 8601 writes it, ``1987-03-03``.

    No date occurs twice, in whichever form, so a test date has not been seen in another form either. Each style comes
    equally often, and each form within a style. Words are single characters, spaces too.

    Args:
        train: number of training pairs.
        test: number of test pairs, none of their dates among the training pairs.
        seed: of the draw.
        years: the first and the last year, from 1000 to 9999.
        styles: some of ``english``, ``chinese`` and ``numeric``.

    Returns:
        The training and the test pairs, both sides lists of characters.

    Raises:
        ValueError: a choice is not legal, or there are not that many dates.
    """
    first, last = years
    if not 1000 <= first <= last <= 9999:
        raise ValueError(f"years are two in rising order, from 1000 to 9999: got {years}. Give (first, last).")
    if not styles or not set(styles) <= set(STYLES):
        raise ValueError(f"styles are some of {list(STYLES)}: got {list(styles)}. Name at least one of them.")
    start = date(first, 1, 1)
    days = range((date(last, 12, 31) - start).days + 1)
    generator = torch.Generator().manual_seed(seed + 1)  # other numbers than those of the shuffle

    def build(chosen: list[int]) -> list[Pair]:
        draws = torch.rand(len(chosen), 2, generator=generator, dtype=torch.float64).tolist()
        written = []
        for day, (style, form) in zip((start + timedelta(i) for i in chosen), draws, strict=True):
            forms = date_forms(day, short_years=last - first < 100)[styles[int(style * len(styles))]]
            written.append((list(forms[int(form * len(forms))]), list(day.isoformat())))
        return written

    train_days, test_days = split(days, train, test, seed, "dates")
    return build(train_days), build(test_days)


def date_forms(day: date, *, short_years: bool = False) -> dict[str, list[str]]:
    """Write a date in every form of each style that leaves no doubt which date it is.

    >>> date_forms(date(1987, 3, 3))["chinese"][:3]
    ['1987年3月3日', '1987年03月03日', '一九八七年三月三日']

    Args:
        day: the date.
        short_years: whether a year may be written with its last two digits.

    Returns:
        For each style the different forms, at least one.
    """
    forms = {"english": _english(day), "chinese": _chinese(day), "numeric": _numeric(day, short_years)}
    return {style: list(dict.fromkeys(texts)) for style, texts in forms.items()}  # May is its own short form


def _english(day: date) -> list[str]:
    name, weekday = MONTHS.split()[day.month - 1], WEEKDAYS.split()[day.weekday()]
    number, year = day.day, day.year
    short, ending = name[:3], {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 != 1 else 0, "th")
    return [
        f"{number} {name} {year}",
        f"{number} {short} {year}",
        f"{number:02}-{short}-{year}",
        f"{number}{ending} of {name} {year}",
        f"{name} {number}, {year}",
        f"{short} {number}, {year}",
        f"{name} {number}{ending}, {year}",
        f"{weekday}, {number} {name} {year}",
        f"{weekday[:3]} {number} {short} {year}",
        f"{weekday}, {name} {number}{ending}, {year}",
    ]


def _chinese(day: date) -> list[str]:
    year = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(day.year))
    words = f"{year}年{''.join(chinese_number(day.month))}月{''.join(chinese_number(day.day))}日"
    weekday = "一二三四五六日"[day.weekday()]
    digits = f"{day.year}年{day.month}月{day.day}"
    return [
        f"{digits}日",
        f"{day.year}年{day.month:02}月{day.day:02}日",
        words,
        f"{digits}日星期{weekday}",
        f"{words}星期{weekday}",
        f"{digits}号",
        f"{digits}号周{weekday}",
    ]


def _numeric(day: date, short_years: bool) -> list[str]:
    texts = [f"{day.year}/{day.month}/{day.day}", f"{day.year}.{day.month:02}.{day.day:02}"]
    if day.day > 12 or day.day == day.month:
        texts += [
            f"{day.day:02}/{day.month:02}/{day.year}",
            f"{day.month:02}/{day.day:02}/{day.year}",
            f"{day.day}.{day.month}.{day.year}",
        ]
        if short_years and day.year % 100 > 31:
            texts.append(f"{day.day:02}.{day.month:02}.{day.year % 100}")
    return texts
