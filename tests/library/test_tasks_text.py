"""Words to tensors and back: what is encoded is decoded, and padding, START and END stand where they should."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion import tasks

WORDS = tasks.vocabulary(["abcde"])  # 0 <pad>, 1 <s>, 2 </s>, 3 a, 4 b, ...
PAIRS = [(["a", "b", "c"], ["c", "a"]), (["d"], ["d", "e", "a", "b"]), (["e", "e"], ["b"])]
sentences = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [
        (False, False, [[4, 3], [5, 0]]),
        (True, False, [[1, 4, 3], [1, 5, 0]]),
        (False, True, [[4, 3, 2], [5, 2, 0]]),
        (True, True, [[1, 4, 3, 2], [1, 5, 2, 0]]),
    ],
)
def test_start_and_end_stand_at_the_words_and_padding_behind_them(start, end, rows):
    assert tasks.encode([["b", "a"], ["c"]], WORDS, start=start, end=end).tolist() == rows


@given(sentences, st.booleans(), st.booleans())
def test_what_is_encoded_is_decoded(texts, start, end):
    assert tasks.decode(tasks.encode(texts, WORDS, start=start, end=end), WORDS) == texts


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([3, 2, 4, 2, 0], ["a"]),  # the first END counts
        ([1, 3, 4, 5, 3], ["a", "b", "c", "a"]),  # no END
        ([3, 0, 4, 2, 0], ["a", "<pad>", "b"]),  # padding between words is a mistake, and stays to be seen
        ([3, 1, 2, 0, 0], ["a", "<s>"]),
        ([2, 3, 3, 3, 3], []),
        ([1, 2, 0, 0, 0], []),
        ([3, 0, 2, 0, 0], ["a"]),
    ],
)
def test_a_row_is_read_up_to_its_first_end(row, sentence):
    assert tasks.decode(torch.tensor([row]), WORDS) == [sentence]


def test_a_batch_without_columns_decodes_to_empty_sentences():
    assert tasks.decode(torch.zeros(3, 0, dtype=torch.int64), WORDS) == [[], [], []]


@pytest.mark.parametrize("row", [[3, 8], [-1, 3]])
def test_a_number_outside_the_vocabulary_is_refused(row):
    with pytest.raises(ValueError, match=rf"from 0 to 7, .* got numbers from {min(row)} to {max(row)}\. Decode with"):
        tasks.decode(torch.tensor([row]), WORDS)


def test_encoded_pairs_carry_their_lengths():
    data = tasks.encode_pairs(PAIRS, WORDS)
    assert data.source.tolist() == [[3, 4, 5], [6, 0, 0], [7, 7, 0]]
    assert data.source_lengths.tolist() == [3, 1, 2]
    assert data.target.tolist() == [[1, 5, 3, 2, 0, 0], [1, 6, 7, 3, 4, 2], [1, 4, 2, 0, 0, 0]]
    assert data.target_lengths.tolist() == [4, 6, 3]
    assert {x.dtype for x in data} == {torch.int64}


def test_sources_and_targets_may_have_vocabularies_of_their_own():
    targets = tasks.vocabulary(target for _, target in PAIRS)
    data = tasks.encode_pairs([(["a"], ["d", "e"])], WORDS, targets)
    assert data.source.tolist() == [[3]]
    assert tasks.decode(data.target, targets) == [["d", "e"]]
    with pytest.raises(ValueError, match=r"in the vocabulary: got \['d', 'e'\]"):
        tasks.encode_pairs([(["a"], ["d", "e"])], WORDS, ["<pad>", "<s>", "</s>", "a"])


def test_a_vocabulary_without_start_is_named():
    with pytest.raises(ValueError, match=r"in the vocabulary: got \['<s>'\]"):
        tasks.encode([["a"]], ["<pad>", "a"], start=True)


def test_a_sentence_matches_only_if_every_word_does():
    wanted = [["a", "b"], ["c"], ["d", "d"], ["e"]]
    assert tasks.exact_match(wanted, wanted) == 1.0
    assert tasks.exact_match([["a", "b"], ["c", "c"], ["d"], ["a"]], wanted) == 0.25
    assert tasks.exact_match([["b", "a"], [], ["d", "e"], ["e", "e"]], wanted) == 0.0
    assert tasks.exact_match([("a", "b")], [["a", "b"]]) == 1.0


@pytest.mark.parametrize(("predicted", "wanted"), [([], []), ([["a"]], []), ([["a"]], [["a"], ["b"]])])
def test_lists_that_do_not_pair_up_are_refused(predicted, wanted):
    with pytest.raises(ValueError, match=rf"got {len(predicted)} predicted and {len(wanted)} wanted"):
        tasks.exact_match(predicted, wanted)
