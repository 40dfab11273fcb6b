"""Dates: every form is read by a reader of its own as the same date, and as no other."""

import re
from collections import Counter
from datetime import date, timedelta

import pytest

from companion import tasks

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DIGITS = {c: str(i) for i, c in enumerate("〇一二三四五六七八九")}
DAYS = [date(1949, 12, 30) + timedelta(15 * i) for i in range(2_440)]  # a hundred years, every day of the week


def numeral(text):
    """Read 三, 十, 十三, 二十, 二十三 or 3."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (int(DIGITS[tens]) if tens else 1) * 10 * bool(ten) + (int(DIGITS[ones]) if ones else 0)


def read_english(text):
    """Take the year, the day and the month by what they look like, and check the weekday and the ending."""
    year = int(re.search(r"\b\d{4}\b", text)[0])
    day, ending = re.search(r"\b(\d{1,2})(st|nd|rd|th)?\b", text).groups()
    words = re.findall(r"[A-Za-z]{3,}", re.sub(r"\d+(st|nd|rd|th)", "", text))
    (month,) = (MONTHS.index(w[:3].lower()) + 1 for w in words if w[:3].lower() in MONTHS)
    found = date(year, month, int(day))
    weekdays = [w for w in words if w[:3].lower() not in MONTHS]
    assert weekdays in ([], [found.strftime("%A")], [found.strftime("%a")])
    if ending:
        assert ending == ("th" if int(day) in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(int(day) % 10, "th"))
    return {found}


def read_chinese(text):
    year, month, day, weekday = re.fullmatch("(.{4})年(.+?)月(.+?)[日号](?:(?:星期|周)(.))?", text).groups()
    found = date(int("".join(DIGITS.get(c, c) for c in year)), numeral(month), numeral(day))
    assert weekday is None or weekday == "一二三四五六日"[found.isoweekday() - 1]
    return {found}


def read_numbers(text, century=None):
    """Return every date that the numbers can mean: year first or last, day and month in either order."""
    one, two, three = (int(part) for part in re.split(r"[./]", text))
    readings = [(one, two, three), (three, two, one), (three, one, two)]  # year, month, day
    found = set()
    for year, month, day in readings:
        if century is not None and year < 100:
            year += century if century + year >= 1950 else 100 + century
        try:
            found.add(date(year, month, day))
        except ValueError:
            continue  # no such date: no reading
    return {day for day in found if day.year >= 1000}


READERS = {"english": read_english, "chinese": read_chinese, "numeric": read_numbers}


@pytest.mark.parametrize("style", READERS)
def test_every_form_of_a_date_is_read_as_that_date_and_no_other(style):
    for day in DAYS:
        for text in tasks.date_forms(day)[style]:
            assert READERS[style](text) == {day}, text


def test_a_year_of_two_digits_leaves_no_doubt_within_a_century():
    short = {
        text: day
        for day in DAYS
        if 1950 <= day.year <= 2049
        for text in tasks.date_forms(day, short_years=True)["numeric"]
        if len(text) == 8 and text.count(".") == 2 and re.fullmatch(r"\d\d\.\d\d\.\d\d", text)
    }
    assert len(short) > 400
    assert {text: read_numbers(text, century=1900) for text in short} == {text: {day} for text, day in short.items()}


def test_the_forms_of_a_date_are_those_in_the_table():
    assert tasks.date_forms(date(1987, 3, 3), short_years=True) == {
        "english": [
            "3 March 1987",
            "3 Mar 1987",
            "03-Mar-1987",
            "3rd of March 1987",
            "March 3, 1987",
            "Mar 3, 1987",
            "March 3rd, 1987",
            "Tuesday, 3 March 1987",
            "Tue 3 Mar 1987",
            "Tuesday, March 3rd, 1987",
        ],
        "chinese": [
            "1987年3月3日",
            "1987年03月03日",
            "一九八七年三月三日",
            "1987年3月3日星期二",
            "一九八七年三月三日星期二",
            "1987年3月3号",
            "1987年3月3号周二",
        ],
        "numeric": ["1987/3/3", "1987.03.03", "03/03/1987", "3.3.1987", "03.03.87"],
    }


def test_day_and_month_in_digits_stand_alone_only_where_they_cannot_be_exchanged():
    assert tasks.date_forms(date(2024, 12, 11))["numeric"] == ["2024/12/11", "2024.12.11"]
    assert tasks.date_forms(date(2024, 12, 13), short_years=True)["numeric"][2:] == [
        "13/12/2024",
        "12/13/2024",
        "13.12.2024",
    ]


def test_a_chinese_year_is_read_digit_by_digit_and_sunday_is_a_sun_day():
    forms = tasks.date_forms(date(2010, 10, 31))["chinese"]
    assert "二〇一〇年十月三十一日星期日" in forms
    assert "2010年10月31号周日" in forms


def test_forms_of_one_date_differ():
    for day in DAYS[::5]:
        forms = [text for texts in tasks.date_forms(day, short_years=True).values() for text in texts]
        assert len(forms) == len(set(forms))


def test_a_target_is_the_date_in_iso_8601_and_the_source_one_of_its_forms():
    train, test = tasks.dates(400, 100)
    for source, target in train + test:
        text = "".join(target)
        assert re.fullmatch(r"(19|20)\d\d-\d\d-\d\d", text)
        forms = tasks.date_forms(date.fromisoformat(text))
        assert "".join(source) in {form for texts in forms.values() for form in texts}
        assert {len(character) for character in source + target} == {1}


def test_styles_come_equally_often_and_so_does_each_form_of_a_style():
    train, _ = tasks.dates(6000, 1)
    styles, places = Counter(), {style: Counter() for style in READERS}
    for source, target in train:
        forms = tasks.date_forms(date.fromisoformat("".join(target)))
        (style,) = (name for name, texts in forms.items() if "".join(source) in texts)
        styles[style] += 1
        places[style][len(forms[style]), forms[style].index("".join(source))] += 1
    assert all(1817 < styles[style] < 2183 for style in READERS)  # a third, within five standard deviations (37 each)
    for style, most in {"english": 10, "chinese": 7, "numeric": 5}.items():
        often = [places[style][most, place] for place in range(most)]  # of the dates that have all forms
        assert min(often) > 0.6 * sum(often) / most


def test_short_years_come_only_where_the_years_span_a_century_at_most():
    def short(years):
        train, test = tasks.dates(4000, 100, years=years, styles=["numeric"])
        return [text for text, _ in train + test if re.fullmatch(r"\d\d\.\d\d\.\d\d", "".join(text))]

    assert len(short((1950, 2049))) > 100
    assert short((1950, 2050)) == []


@pytest.mark.parametrize("style", READERS)
def test_one_style_may_be_chosen(style):
    train, _ = tasks.dates(50, 1, styles=[style], years=(1880, 1987))
    assert all(READERS[style]("".join(source)) == {date.fromisoformat("".join(target))} for source, target in train)
    assert all(1880 <= int("".join(target[:4])) <= 1987 for _, target in train)


def test_the_first_and_the_last_day_of_the_years_can_be_drawn():
    train, test = tasks.dates(365, 1, years=(2024, 2024))
    targets = sorted("".join(target) for _, target in train + test)
    assert (targets[0], targets[-1], len(targets)) == ("2024-01-01", "2024-12-31", 366)


@pytest.mark.parametrize("years", [(999, 1200), (2000, 1999), (1900, 10_000)])
def test_years_that_are_not_legal_are_refused(years):
    with pytest.raises(ValueError, match=rf"from 1000 to 9999: got \({years[0]}, {years[1]}\)\. Give \(first, last\)"):
        tasks.dates(2, 1, years=years)


@pytest.mark.parametrize("styles", [["roman"], [], ["english", "iso"]])
def test_an_unknown_style_is_refused(styles):
    with pytest.raises(ValueError, match=r"some of \['english', 'chinese', 'numeric'\]: got \[.*\]\. Name") as refusal:
        tasks.dates(2, 1, styles=styles)
    assert f"got {styles}." in str(refusal.value)
