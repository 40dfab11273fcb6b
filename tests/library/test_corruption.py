"""What is hidden of a text, by tokens and by spans, what becomes of it, and what stays."""

from itertools import pairwise

import pytest
import torch

from companion.corruption import corrupt_spans, mask_tokens


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def masked(n=200_000, **choices):
    tokens = torch.randint(5, 1000, (n // 100, 100), generator=generator(1))
    settings = {"vocab": 1000, "mask": 3, "generator": generator(2)} | choices
    return tokens, *mask_tokens(tokens, **settings)


def test_fifteen_percent_are_chosen_and_split_80_10_10():
    tokens, read, chosen = masked()
    assert chosen.double().mean().item() == pytest.approx(0.15, abs=0.003)  # four deviations
    became_mask, stayed = (read == 3)[chosen].double().mean(), (read == tokens)[chosen].double().mean()
    assert became_mask.item() == pytest.approx(0.8, abs=0.01)
    assert stayed.item() == pytest.approx(0.1 + 0.1 / 1000, abs=0.007)
    assert read[~chosen].equal(tokens[~chosen])


def test_a_random_token_is_any_of_the_vocabulary():
    tokens, read, chosen = masked()
    drawn = read[chosen & (read != tokens) & (read != 3)]
    assert drawn.min() < 5  # special ones too
    assert drawn.double().mean().item() == pytest.approx(499.5, abs=25)
    assert drawn.double().std().item() == pytest.approx(288.7, abs=15)


def test_each_token_is_chosen_on_its_own():
    """Were a fixed number of each row chosen, the variance of that number would be 0."""
    _, _, chosen = masked(share=0.3)
    assert chosen.sum(-1).double().var().item() == pytest.approx(100 * 0.3 * 0.7, rel=0.15)
    assert chosen.sum(0).double().var().item() == pytest.approx(2000 * 0.3 * 0.7, rel=0.6)


def test_special_tokens_are_never_chosen():
    tokens, _, chosen = masked(share=1.0, special=[7, 11])
    assert chosen.equal((tokens != 7) & (tokens != 11))


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_that_is_no_probability_is_refused(share):
    with pytest.raises(ValueError, match=rf"share is a probability from 0 to 1: got {share}"):
        masked(share=share)


def test_a_mask_symbol_outside_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match="token of the vocabulary of 1000: got 1000"):
        masked(mask=1000)


# Spans

SENTINELS = tuple(range(900, 1000))


def spans(batch=1, t=60, **choices):
    tokens = torch.arange(t).repeat(batch, 1)
    settings = {"sentinels": SENTINELS, "generator": generator()} | choices
    return tokens, *corrupt_spans(tokens, **settings)


def restored(read, said):
    """Put what each sentinel of the target announces in the place of that sentinel."""
    hidden, out = {}, []
    for token in said:
        if token in SENTINELS:
            hidden[token] = []
            last = token
        else:
            hidden[last].append(token)
    for token in read:
        out += hidden.pop(token) if token in SENTINELS else [token]
    assert not hidden
    return out


@pytest.mark.parametrize(
    ("t", "share", "mean"), [(60, 0.15, 3.0), (60, 0.5, 3.0), (60, 0.5, 1.0), (7, 0.5, 1.5), (2, 0.15, 3.0)]
)
def test_what_is_read_and_what_is_said_give_the_text_back(t, share, mean):
    tokens, read, said = spans(40, t, share=share, mean=mean)
    for row in range(40):
        assert restored(read[row].tolist(), said[row].tolist()) == tokens[row].tolist()


def test_the_lengths_are_those_of_t5():
    """With their end symbols, 568 tokens make 512 that are read and 114 that are said."""
    _, read, said = spans(t=568)
    assert (read.shape, said.shape) == ((1, 511), (1, 113))


def test_sentinels_come_in_order_and_spans_take_turns():
    _, read, said = spans(30, share=0.3, mean=2)
    marks = list(SENTINELS[:9])
    for row in read.tolist():
        assert [token for token in row if token >= 900] == marks
        assert row[0] < 900 <= row[-1]
        assert all(a < 900 or b < 900 for a, b in pairwise(row))
    for row in said.tolist():
        assert [token for token in row if token >= 900] == marks
        assert row[0] >= 900 > row[-1]


def test_every_way_to_cut_is_equally_likely():
    """Of eight tokens four are hidden in two spans: three ways to cut the visible ones, and three for the hidden."""
    _, read, said = spans(18_000, 8, share=0.5, mean=2)
    ways, counts = torch.cat([read, said], dim=1).unique(dim=0, return_counts=True)
    assert len(ways) == 9
    assert counts.tolist() == pytest.approx([2000] * 9, rel=0.11)  # five deviations


@pytest.mark.parametrize("share", [0, 1, -0.1])
def test_a_share_of_spans_outside_its_range_is_refused(share):
    with pytest.raises(ValueError, match=rf"share lies between 0 and 1: got {share}"):
        spans(share=share)


def test_spans_shorter_than_a_token_are_refused():
    with pytest.raises(ValueError, match=r"at least 1: got 0\.9"):
        spans(mean=0.9)


def test_a_text_too_short_for_its_spans_is_refused():
    with pytest.raises(ValueError, match="got 10 tokens, of which 8 are hidden in 8 spans"):
        spans(t=10, share=0.8, mean=1)


def test_too_few_sentinels_are_refused():
    with pytest.raises(ValueError, match="each of 3 spans has a sentinel: got 2"):
        spans(sentinels=(900, 901))
