"""Number words, held to a table made by hand, and to a second way of writing and reading them."""

import re
from collections import Counter

import pytest

from companion import tasks

BY_HAND = {
    0: ("zero", "零"),
    2: ("two", "二"),
    10: ("ten", "十"),
    12: ("twelve", "十二"),
    20: ("twenty", "二十"),
    22: ("twenty two", "二十二"),
    100: ("one hundred", "一百"),
    101: ("one hundred one", "一百零一"),
    110: ("one hundred ten", "一百一十"),
    112: ("one hundred twelve", "一百一十二"),
    200: ("two hundred", "二百"),
    222: ("two hundred twenty two", "二百二十二"),
    1_000: ("one thousand", "一千"),
    1_001: ("one thousand one", "一千零一"),
    1_010: ("one thousand ten", "一千零一十"),
    1_100: ("one thousand one hundred", "一千一百"),
    2_000: ("two thousand", "两千"),
    2_002: ("two thousand two", "两千零二"),
    2_200: ("two thousand two hundred", "两千二百"),
    10_000: ("ten thousand", "一万"),
    10_001: ("ten thousand one", "一万零一"),
    10_010: ("ten thousand ten", "一万零一十"),
    10_100: ("ten thousand one hundred", "一万零一百"),
    11_000: ("eleven thousand", "一万一千"),
    20_000: ("twenty thousand", "两万"),
    22_000: ("twenty two thousand", "两万二千"),
    30_303: ("thirty thousand three hundred three", "三万零三百零三"),
    100_000: ("one hundred thousand", "十万"),
    100_010: ("one hundred thousand ten", "十万零一十"),
    105_000: ("one hundred five thousand", "十万五千"),
    120_000: ("one hundred twenty thousand", "十二万"),
    200_000: ("two hundred thousand", "二十万"),
    202_020: ("two hundred two thousand twenty", "二十万二千零二十"),
    600_606: ("six hundred thousand six hundred six", "六十万零六百零六"),
    999_999: ("nine hundred ninety nine thousand nine hundred ninety nine", "九十九万九千九百九十九"),
}
SAMPLE = [*range(2_300), *range(2_300, 1_000_000, 397), *range(10_000, 1_000_000, 10_000), *range(100_000, 130_000, 99)]


@pytest.mark.parametrize("number", BY_HAND)
def test_a_number_is_written_as_in_the_table(number):
    english, chinese = BY_HAND[number]
    assert " ".join(tasks.english_number(number)) == english
    assert "".join(tasks.chinese_number(number)) == chinese


def in_chinese(number):
    """Write every digit with its unit, then leave out by the rules of school: a second way to the same words."""
    units = ["", "十", "百", "千", "万", "十", "百", "千"]
    digits = str(number)
    text = "".join("零一二三四五六七八九"[int(d)] + units[len(digits) - 1 - i] for i, d in enumerate(digits))
    text = re.sub("零[千百十]", "零", text)
    text = re.sub("零+", "零", text).replace("零万", "万")
    text = text.rstrip("零") or "零"
    return re.sub("^二(?=[千万])", "两", re.sub("^一十", "十", text))


def test_chinese_words_are_those_of_the_second_way():
    assert {n: "".join(tasks.chinese_number(n)) for n in SAMPLE} == {n: in_chinese(n) for n in SAMPLE}


def test_chinese_words_read_back_as_the_number():
    values = {**{c: i for i, c in enumerate("零一二三四五六七八九")}, "两": 2}
    units = {"十": 10, "百": 100, "千": 1000}
    for number in SAMPLE:
        total, section, digit = 0, 0, 0
        for word in tasks.chinese_number(number):
            if word == "万":
                total, section, digit = (section + digit) * 10_000, 0, 0
            elif word in units:
                section, digit = section + (digit or 1) * units[word], 0
            else:
                digit = values[word]
        assert total + section + digit == number


def test_english_words_read_back_as_the_number():
    small = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    small += "seventeen eighteen nineteen"
    tens = "twenty thirty forty fifty sixty seventy eighty ninety"
    values = {word: i for i, word in enumerate(small.split())}
    values |= {word: 10 * i for i, word in enumerate(tens.split(), start=2)}
    for number in SAMPLE:
        total, group = 0, 0
        for word in tasks.english_number(number):
            if word == "thousand":
                total, group = group * 1000, 0
            else:
                group = group * 100 if word == "hundred" else group + values[word]
        assert total + group == number


def test_each_pair_is_words_of_one_language_and_the_digits_of_the_number():
    train, test = tasks.number_words(400, 100)
    languages = Counter()
    for words, digits in train + test:
        number = int("".join(digits))
        assert list(str(number)) == digits
        english = words == tasks.english_number(number)
        assert english or words == tasks.chinese_number(number)
        languages[english] += 1
    assert 190 < languages[True] < 310  # half of 500, within five standard deviations (11 each)


def test_numbers_of_each_length_come_equally_often_while_they_last():
    train, test = tasks.number_words(900, 100, largest=54_321)
    lengths = Counter(len(digits) for _, digits in train + test)
    assert lengths == {1: 10, 2: 90, 3: 300, 4: 300, 5: 300}
    assert max(int("".join(digits)) for _, digits in train + test) <= 54_321


@pytest.mark.parametrize(("language", "zero"), [("english", "zero"), ("chinese", "零")])
def test_one_language_may_be_chosen(language, zero):
    train, test = tasks.number_words(9, 1, largest=9, languages=[language])
    write = {"english": tasks.english_number, "chinese": tasks.chinese_number}[language]
    assert sorted((digits, words) for words, digits in train + test) == [([str(n)], write(n)) for n in range(10)]
    assert ([zero], ["0"]) in train + test


@pytest.mark.parametrize("languages", [["french"], [], ["english", "latin"]])
def test_an_unknown_language_is_refused(languages):
    with pytest.raises(
        ValueError, match=r"some of \['english', 'chinese'\]: got \[.*\]\. Name at least one"
    ) as refusal:
        tasks.number_words(2, 1, languages=languages)
    assert f"got {languages}." in str(refusal.value)


@pytest.mark.parametrize("number", [-1, 1_000_000])
def test_a_number_out_of_range_is_refused(number):
    for refused in (
        lambda: tasks.english_number(number),
        lambda: tasks.chinese_number(number),
        lambda: tasks.number_words(2, 1, largest=number),
    ):
        with pytest.raises(ValueError, match=f"from 0 to 999999: got {number}"):
            refused()
