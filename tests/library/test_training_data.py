"""Batches: every item once an epoch, like lengths together, an order of their own, a place to come back to."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.training import Batches, Pairs, pad, pairs_batch, texts_batch, to_device

ITEMS = [[n] * (1 + n % 5) for n in range(23)]  # rows of 1 to 5 tokens; the number tells the row
PAIRS = [([n] * (1 + n % 3), [n] * (1 + n % 5)) for n in range(23)]


def first(rows):
    """A batch as the numbers of its rows."""
    return [row[0] for row in rows]


def epoch(batches):
    return [next(batches) for _ in range(len(batches.plan))]


def test_rows_are_filled_up_on_the_right():
    tokens, lengths = pad([[5], [6, 7, 8], [9, 9]], padding=-1)
    assert tokens.tolist() == [[5, -1, -1], [6, 7, 8], [9, 9, -1]]
    assert lengths.tolist() == [1, 3, 2]


def test_the_padding_of_sources_and_targets_is_the_one_asked_for():
    batch = pairs_batch([([1], [2, 3]), ([4, 5], [6])], padding=9)
    assert (batch.source.tolist(), batch.target.tolist()) == ([[1, 9], [4, 5]], [[2, 3], [6, 9]])
    assert batch.source_lengths.tolist() == [1, 2]
    assert texts_batch([[1], [2, 3]], padding=9).tolist() == [[1, 9], [2, 3]]


def test_a_batch_moves_to_a_device_whole():
    batch = to_device(pairs_batch(PAIRS[:3]), "meta")
    assert isinstance(batch, Pairs)
    assert {part.device.type for part in batch} == {"meta"}
    assert to_device(torch.zeros(2), "meta").device.type == "meta"
    inner, outer = to_device(((torch.zeros(2),), torch.zeros(3)), "meta")
    assert (inner[0].device.type, outer.device.type) == ("meta", "meta")


@given(options=st.one_of(st.builds(dict, size=st.integers(1, 30)), st.builds(dict, tokens=st.integers(5, 60))))
def test_an_epoch_holds_every_item_once(options):
    batches = Batches(ITEMS, first, **options)
    for number in range(3):
        assert sorted(itertools.chain(*epoch(batches))) == list(range(23))
        assert batches.epoch == number


@given(size=st.integers(1, 30))
def test_batches_of_a_size_differ_by_at_most_one_item(size):
    sizes = [len(rows) for rows in epoch(Batches(ITEMS, first, size=size))]
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


@given(tokens=st.integers(5, 60))
def test_a_batch_of_tokens_holds_no_more_with_its_padding(tokens):
    shapes = [batch.shape for batch in epoch(Batches(ITEMS, texts_batch, tokens=tokens))]
    assert all(rows * length <= tokens for rows, length in shapes)


def test_a_pair_counts_the_tokens_of_both_sides():
    for batch in epoch(Batches(PAIRS, pairs_batch, tokens=12)):
        longest = (batch.source_lengths + (batch.target != 0).sum(dim=1)).max().item()
        assert len(batch.source) * longest <= 12
    assert Batches(PAIRS, pairs_batch, tokens=12).lengths == [len(a) + len(b) for a, b in PAIRS]


def test_a_word_counts_as_one_token_in_texts_and_in_pairs():
    assert Batches([["cat", "sat"], ["a"]], list, size=1).lengths == [2, 1]
    assert Batches([(["cat", "sat"], ["on"]), [["a"], ["mat"]]], list, size=1).lengths == [3, 2]


def test_like_lengths_come_together_and_little_is_padding():
    def padded(**options):
        batches = epoch(Batches(ITEMS, texts_batch, **options))
        return sum(batch.numel() for batch in batches) - sum(map(len, ITEMS))

    assert padded(tokens=10) <= 6
    assert padded(size=4) > 10


def test_batches_of_like_lengths_come_in_random_order():
    lengths = [batch.shape[1] for batch in epoch(Batches(ITEMS, texts_batch, tokens=5))]
    assert lengths != sorted(lengths)


@pytest.mark.parametrize("options", [{"size": 4}, {"tokens": 12}], ids=str)
def test_the_seed_decides_the_order_and_each_epoch_has_another(options):
    one, same, other = (Batches(ITEMS, first, seed=seed, **options) for seed in (1, 1, 2))
    before = epoch(one)
    assert before == epoch(same)
    assert before != epoch(other)
    assert before != epoch(one)


def test_the_order_leaves_torchs_own_generator_alone():
    state = torch.get_rng_state()
    epoch(Batches(ITEMS, first, size=4))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("options", [{"size": 4}, {"tokens": 12}], ids=str)
@pytest.mark.parametrize("taken", [0, 1, 5, 17])
def test_batches_go_on_from_a_saved_place(options, taken):
    batches = Batches(ITEMS, first, **options)
    for _ in range(taken):
        next(batches)
    state = batches.state_dict()
    want = [next(batches) for _ in range(20)]
    again = Batches(ITEMS, first, seed=99, **options)
    again.load_state_dict(state)
    assert [next(again) for _ in range(20)] == want
    assert again.epoch == batches.epoch


# Refusals


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("rows", [[], [[1], []]], ids=str)
def test_a_batch_without_rows_or_a_row_without_tokens_is_refused(rows):
    with pytest.raises(ValueError, match="at least one row and a row one token: got lengths"):
        pad(rows)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("items", "options", "got"),
    [
        ([], {"size": 2}, "got 0 items, size=2 and tokens=None"),
        ([[1], []], {"size": 2}, "got 2 items, size=2 and tokens=None"),
        (ITEMS, {}, "got 23 items, size=None and tokens=None"),
        (ITEMS, {"size": 2, "tokens": 9}, "got 23 items, size=2 and tokens=9"),
    ],
    ids=str,
)
def test_batches_need_items_and_one_measure(items, options, got):
    with pytest.raises(ValueError, match=f"{got}. Drop empty items, and give one of the two"):
        Batches(items, first, **options)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("options", "got"), [({"size": 0}, "size=0 and tokens=None"), ({"tokens": 4}, "size=None and tokens=4")], ids=str
)
def test_a_batch_too_small_for_an_item_is_refused(options, got):
    with pytest.raises(ValueError, match=f"at least one item: got {got}, and the longest item has 5 tokens"):
        Batches(ITEMS, first, **options)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_batch_that_holds_no_tensors_is_refused():
    with pytest.raises(ValueError, match="a tensor or a tuple of tensors: got dict"):
        to_device({"source": torch.zeros(2)}, "cpu")
