"""BM25 is its formula, ranks and their fusion are what they say, and what cannot be searched is refused."""

import math

import pytest
import torch
from torch.testing import assert_close

from companion.retrieval import BM25, first_found, fuse, ranks, words

PASSAGES = ["a b a c", "b c d e f g", "a", "h h h h i"]


def by_hand(question, passage, k1, b):
    """Add the formula up for one passage, word by word."""
    split = [one.split() for one in PASSAGES]
    mean, own, total = sum(map(len, split)) / len(split), passage.split(), 0.0
    for word in set(question):
        holding = sum(word in one for one in split)
        f = own.count(word)
        if not f:
            continue
        rare = math.log(1 + (len(split) - holding + 0.5) / (holding + 0.5))
        total += rare * f * (k1 + 1) / (f + k1 * (1 - b + b * len(own) / mean))
    return total


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize("question", ["a c", "a a c", "h i unknown", "unknown"])
def test_bm25_is_its_formula(question, k1, b):
    index = BM25([one.split() for one in PASSAGES], k1=k1, b=b)
    wanted = [by_hand(question.split(), one, k1, b) for one in PASSAGES]
    assert_close(index.scores(question.split()), torch.tensor(wanted, dtype=torch.float64), rtol=0, atol=1e-12)


def test_words_are_in_lower_case_and_without_punctuation():
    assert words("Don't shout: XJ-4471, naïve!") == ["don't", "shout", "xj-4471", "na", "ve"]
    assert words("...") == []


def test_ranks_begin_at_one_and_keep_the_order_of_equals():
    scores = torch.tensor([[0.5, 2.0, 0.5, -1.0], [0.0, 0.0, 0.0, 0.0]])
    assert_close(ranks(scores), torch.tensor([[2.0, 1.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]))


def test_fusion_adds_reciprocal_ranks_and_sees_no_units():
    first, second = torch.tensor([3.0, 2.0, 1.0]), torch.tensor([0.1, 0.3, 0.2])
    wanted = torch.tensor([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62])
    assert_close(fuse(torch.stack([first, second])), wanted)
    assert_close(fuse(torch.stack([100 * first - 7, second.exp()])), wanted)
    assert_close(fuse(torch.stack([first, second]), k=0), torch.tensor([1 + 1 / 3, 1 / 2 + 1, 1 / 3 + 1 / 2]))


def test_the_first_relevant_passage_counts():
    scores = torch.tensor([[0.9, 0.5, 0.7], [0.1, 0.2, 0.3]])
    relevant = torch.tensor([[False, True, True], [True, False, False]])
    assert first_found(scores, relevant).tolist() == [2, 3]


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(ValueError, match="an index holds passages with words"):
        BM25([])
    with pytest.raises(ValueError, match="an index holds passages with words"):
        BM25([["a"], []])
    with pytest.raises(ValueError, match=r"k1 is at least 0 and b from 0 to 1: got k1 = -1, b = 0\.75"):
        BM25([["a"]], k1=-1)
    with pytest.raises(ValueError, match=r"b from 0 to 1: got k1 = 1\.2, b = 1\.5"):
        BM25([["a"]], b=1.5)
    with pytest.raises(ValueError, match="at least 0: got -1"):
        fuse(torch.ones(2, 3), k=-1)
    with pytest.raises(ValueError, match="each question has a relevant passage"):
        first_found(torch.ones(2, 2), torch.tensor([[True, False], [False, False]]))
