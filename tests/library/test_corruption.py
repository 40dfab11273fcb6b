"""What is chosen of masked tokens, what becomes of it, and what stays."""

import pytest
import torch

from companion.corruption import mask_tokens


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
