"""Copy, reverse, sort and recall: the target follows from the source, and every choice of size is kept."""

from collections import Counter
from itertools import pairwise

import pytest

from companion import tasks

REWRITING = [tasks.copy_task, tasks.reverse_task, tasks.sort_task]
each_task = pytest.mark.parametrize("task", REWRITING)


def test_a_copy_is_the_source():
    train, test = tasks.copy_task(40, 20)
    assert all(source == target for source, target in train + test)


def test_a_reverse_read_backwards_is_the_source():
    train, test = tasks.reverse_task(40, 20, length=(3, 7))
    assert all(source == list(reversed(target)) for source, target in train + test)
    assert any(source != target for source, target in train)


def test_a_sorted_sequence_rises_as_numbers_and_keeps_each_symbol():
    train, test = tasks.sort_task(40, 20, symbols=111, length=13)
    for source, target in train + test:
        numbers = [int(symbol) for symbol in target]
        assert all(one <= other for one, other in pairwise(numbers))
        assert Counter(source) == Counter(target)
    assert {len(symbol) for source, _ in train for symbol in source} == {3}  # alphabetical order is that of the numbers


@each_task
def test_sequences_have_the_length_and_the_symbols_asked_for(task):
    train, test = task(200, 20, symbols=7, length=5)
    assert {len(source) for source, _ in train + test} == {5}
    assert {symbol for source, _ in train for symbol in source} == set("0123456")


def test_the_first_example_of_the_annotated_transformer_has_ten_symbols_of_eleven():
    train, _ = tasks.copy_task(200, 20)
    assert {len(source) for source, _ in train} == {10}
    assert len({symbol for source, _ in train for symbol in source}) == 11


@each_task
def test_each_length_comes_as_often_as_another_while_sequences_last(task):
    train, test = task(200, 64, symbols=4, length=(2, 5))
    lengths = Counter(len(source) for source, _ in train + test)
    assert lengths == {2: 16, 3: 64, 4: 92, 5: 92}  # 4 x 4 and 4 x 4 x 4 exist; the rest is shared out


@each_task
@pytest.mark.parametrize(
    ("symbols", "length"), [(0, 5), (5, 0), (5, (0, 3)), (5, (4, 3)), (-1, (1, 2))], ids=lambda value: str(value)
)
def test_sizes_that_make_no_sequence_are_refused(task, symbols, length):
    with pytest.raises(ValueError, match=r"got symbols=.* and length=.*\. Give a positive length") as refusal:
        task(5, 5, symbols=symbols, length=length)
    assert f"got symbols={symbols} and length={length}." in str(refusal.value)


def test_the_value_recalled_is_that_of_the_key_asked_for():
    train, test = tasks.recall_task(300, 100, keys=11, values=13, pairs=5)
    asked = Counter()
    for source, target in train + test:
        keys, values, query = source[:-1:2], source[1:-1:2], source[-1]
        assert len(keys) == len(values) == len(set(keys)) == 5
        assert target == [dict(zip(keys, values, strict=True))[query]]
        asked[keys.index(query)] += 1
    assert set(asked) == set(range(5))
    assert {key for source, _ in train for key in source[:-1:2]} == set("abcdefghijk")
    assert {value for source, _ in train for value in source[1:-1:2]} == {f"{i:02}" for i in range(13)}


def test_every_list_of_the_smallest_recall_is_drawn_once():
    train, test = tasks.recall_task(15, 1, keys=2, values=2, pairs=2)
    lists = {
        " ".join([first, v, second, w, query])
        for first, second in ("ab", "ba")
        for v in "01"
        for w in "01"
        for query in "ab"
    }
    assert {" ".join(source) for source, _ in train + test} == lists


@pytest.mark.parametrize(("keys", "values", "pairs"), [(3, 5, 4), (27, 5, 4), (3, 0, 2), (3, 2, 0)])
def test_a_recall_that_cannot_be_made_is_refused(keys, values, pairs):
    with pytest.raises(ValueError, match=rf"<= 26 and .* got pairs={pairs}, keys={keys} and values={values}\."):
        tasks.recall_task(2, 1, keys=keys, values=values, pairs=pairs)
