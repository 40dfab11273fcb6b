"""What holds of every task: the split never overlaps, the seed decides, and no more is given than exists."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion import tasks
from companion.tasks.split import draw, shares, split

TASKS = {
    "french": (tasks.english_french, {}),
    "chinese": (tasks.english_chinese, {}),
    "copy": (tasks.copy_task, {}),
    "copy of few": (tasks.copy_task, {"symbols": 3, "length": (1, 7)}),
    "reverse": (tasks.reverse_task, {"symbols": 2, "length": 11}),
    "sort": (tasks.sort_task, {"symbols": 101, "length": (2, 5)}),
    "recall": (tasks.recall_task, {"keys": 5, "values": 3, "pairs": 2}),
    "dates": (tasks.dates, {}),
    "dates of few years": (tasks.dates, {"years": (1987, 1991)}),
    "numbers": (tasks.number_words, {}),
    "numbers of three digits": (tasks.number_words, {"largest": 999}),
}
each_task = pytest.mark.parametrize(("task", "choices"), TASKS.values(), ids=TASKS)
TRAIN, TEST = 300, 59


@each_task
def test_a_test_item_is_never_a_training_item(task, choices):
    train, test = task(TRAIN, TEST, **choices)
    sources = [tuple(source) for source, _ in train + test]
    assert (len(train), len(test)) == (TRAIN, TEST)
    assert len(set(sources)) == TRAIN + TEST


@pytest.mark.parametrize("name", ["dates", "dates of few years", "numbers", "numbers of three digits"])
def test_a_date_or_number_occurs_once_in_whichever_form(name):
    task, choices = TASKS[name]
    train, test = task(TRAIN, TEST, **choices)
    assert len({tuple(target) for _, target in train + test}) == TRAIN + TEST


@each_task
def test_the_seed_decides_the_draw_of_each_task(task, choices):
    assert task(50, 10, seed=3, **choices) == task(50, 10, seed=3, **choices)
    assert task(50, 10, seed=3, **choices) != task(50, 10, seed=4, **choices)
    assert task(50, 10, **choices) == task(50, 10, seed=0, **choices)


@each_task
def test_sentences_are_lists_of_strings_that_encode_takes(task, choices):
    train, test = task(17, 5, **choices)
    words = tasks.vocabulary(sentence for pair in train + test for sentence in pair)
    assert {type(word) for pair in train + test for sentence in pair for word in sentence} == {str}
    for side in (0, 1):
        sentences = [pair[side] for pair in train]
        assert tasks.decode(tasks.encode(sentences, words, start=True, end=True), words) == sentences


@pytest.mark.parametrize(
    ("task", "choices", "existing", "what"),
    [
        (tasks.english_french, {}, 6912, "sentences"),
        (tasks.copy_task, {"symbols": 2, "length": (1, 3)}, 14, "sequences"),
        (tasks.reverse_task, {"symbols": 3, "length": 2}, 9, "sequences"),
        (tasks.sort_task, {"symbols": 5, "length": 1}, 5, "sequences"),
        (tasks.recall_task, {"keys": 3, "values": 5, "pairs": 2}, 300, "lists"),  # 3 x 2 keys, 5 x 5 values, 2 queries
        (tasks.dates, {"years": (2023, 2024)}, 731, "dates"),
        (tasks.number_words, {"largest": 120}, 121, "numbers"),
    ],
)
def test_all_that_exists_is_given_and_not_one_item_more(task, choices, existing, what):
    train, test = task(existing - 2, 2, **choices)
    assert len({tuple(source) for source, _ in train + test}) == existing
    for train, test in ((existing - 1, 2), (0, 1), (1, 0), (-1, 2)):
        with pytest.raises(
            ValueError, match=rf"most {existing}, the number of {what}: got train={train} and test={test}"
        ):
            task(train, test, **choices)


def test_a_task_too_large_to_list_is_refused_only_beyond_its_size():
    assert len(tasks.copy_task(5, 3, symbols=1000, length=100)[0]) == 5
    with pytest.raises(ValueError, match="at most 21108630, the number of sentences"):
        tasks.english_chinese(21_108_630, 1)


def test_shares_are_even_and_what_a_small_family_lacks_the_others_give():
    assert shares([100, 100, 100], 30) == [10, 10, 10]
    assert shares([100, 4, 100], 30) == [13, 4, 13]
    assert shares([3, 1, 2], 6) == [3, 1, 2]


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=7), data=st.data())
def test_shares_add_up_and_no_family_gives_more_than_it_has(sizes, data):
    total = data.draw(st.integers(0, sum(sizes)))
    given_shares = shares(sizes, total)
    assert sum(given_shares) == total
    assert all(0 <= share <= size for share, size in zip(given_shares, sizes, strict=True))
    spare = [share for share, size in zip(given_shares, sizes, strict=True) if share < size]
    assert max(given_shares) - min(spare, default=max(given_shares)) <= 1


@given(
    families=st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=3),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_drawn_rows_are_distinct_and_their_digits_in_range(families, seed, data):
    existing = sum(len(list(rows_of(family))) for family in families)
    if existing < 2:
        return
    train = data.draw(st.integers(1, existing - 1))
    items = [item for part in draw(families, train, 1, seed, "rows") for item in part]
    assert len(set(items)) == len(items) == train + 1
    assert all(row in set(rows_of(families[family])) for family, row in items)


def rows_of(radices):
    if not radices:
        yield ()
        return
    for digit in range(radices[0]):
        for rest in rows_of(radices[1:]):
            yield digit, *rest


def test_training_and_test_are_drawn_from_each_family_alike():
    train, test = draw([[1000], [1000]], 600, 600, 0, "rows")
    for part in (train, test):
        share = sum(family for family, _ in part) / len(part)
        assert 0.4 < share < 0.6  # half, within five standard deviations (0.02 each)


def test_a_split_is_a_shuffle_that_is_cut():
    train, test = split(range(100), 60, 40, seed=2, what="numbers")
    assert sorted(train + test) == list(range(100))
    assert train != sorted(train)
    assert split(range(100), 50, 10, seed=2, what="numbers") == (train[:50], train[50:])


def test_only_sub_words_load_the_tokenizers_library():
    code = (
        "import sys; from companion import tasks; tasks.dates(2, 1); tasks.english_chinese(2, 1)\n"
        "print('tokenizers' in sys.modules); tasks.subwords(['a b'], 300); print('tokenizers' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert (run.stdout, run.stderr) == ("False\nTrue\n", "")
