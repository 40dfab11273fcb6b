"""Seeded draws: the same inside, no trace outside."""

import pytest
import torch

from companion.seeding import seeded


def test_one_seed_gives_one_sequence_of_draws_and_another_seed_another():
    draws = []
    for seed in (5, 5, 6):
        with seeded(seed):
            draws.append(torch.rand(3))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert torch.equal(draws[0], torch.rand(3, generator=torch.Generator().manual_seed(5)))


@pytest.mark.parametrize("fails", [False, True])
def test_the_global_generator_goes_on_as_if_nothing_had_been_drawn(fails):
    before = torch.get_rng_state()
    try:
        with seeded(5):
            torch.rand(3)
            if fails:
                raise RuntimeError("stop")
    except RuntimeError:
        assert fails
    assert torch.equal(torch.get_rng_state(), before)


def test_no_seed_draws_from_the_global_generator():
    with torch.random.fork_rng(devices=[]):
        state = torch.get_rng_state()
        with seeded(None):
            drawn = torch.rand(3)
        assert not torch.equal(torch.get_rng_state(), state)
        torch.set_rng_state(state)
        assert torch.equal(drawn, torch.rand(3))
