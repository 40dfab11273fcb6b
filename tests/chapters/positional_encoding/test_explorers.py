"""The explorers on positions without a browser: what they compute, and what they refuse."""

import math

import pytest
import torch

from companion.explorers import DistanceBiasExplorer, RotaryExplorer, SinusoidExplorer
from companion.positional import t5_bucket


def test_the_hands_are_the_encodings_of_the_two_positions():
    """Closed form: position 1 and position 1 - 1 = 0 at the smallest width."""
    here, there = SinusoidExplorer(d_model=8, position=1, step=-1).hands()
    assert there.tolist() == [0, 1] * 4
    angles = [1.0, 0.1, 0.01, 0.001]
    want = torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)], dtype=torch.float64)
    torch.testing.assert_close(here, want, rtol=0, atol=1e-12)


def test_the_rotary_score_knows_the_distance_and_not_the_position():
    query, key = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
    for position in (0, 3, 100):
        shown = RotaryExplorer(query, key, position=position, distance=2)
        assert shown.score() == pytest.approx(math.cos(math.pi / 2 - 2), abs=1e-12)  # the key is ahead by 90 degrees
    assert RotaryExplorer(query, key, pairing="half", distance=0).score() == 0


def test_a_rotary_explorer_takes_pairs_only():
    with pytest.raises(ValueError, match=r"even number of features, 2 to 16: got 3 and 3\. Rotary positions rotate"):
        RotaryExplorer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="got 2 and 4"):
        RotaryExplorer([1.0, 2.0], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="got 18 and 18"):
        RotaryExplorer([1.0] * 18, [1.0] * 18)


def test_the_slope_is_that_of_the_head():
    """Closed form: eight heads have 1/2 to 1/256."""
    assert [DistanceBiasExplorer(n_heads=8, head=h).slope() for h in (1, 8)] == [1 / 2, 1 / 256]
    assert DistanceBiasExplorer(n_heads=4, head=16).slope() == 1 / 256  # beyond the last head means the last
    assert DistanceBiasExplorer(n_heads=16, head=1).slope() == pytest.approx(2**-0.5)


def test_the_buckets_are_those_of_the_package():
    shown = DistanceBiasExplorer(buckets=16, max_distance=64, causal=False).bucket_of()
    assert torch.equal(shown, t5_bucket(torch.arange(141), buckets=16, max_distance=64))
    assert DistanceBiasExplorer(buckets=8, max_distance=32).bucket_of()[[0, 3, 140]].tolist() == [0, 3, 7]


@pytest.mark.parametrize(
    ("made", "name", "good", "bad", "rule"),
    [
        (SinusoidExplorer, "d_model", 512, 7, "d_model is one of 8, 16, 32, 64, 128, 512: got 7"),
        (SinusoidExplorer, "step", -64, 65, "step is a whole number from -64 to 64: got 65"),
        (SinusoidExplorer, "position", 200, -1, "position is a whole number from 0 to 200: got -1"),
        (DistanceBiasExplorer, "n_heads", 4, 6, "n_heads is one of 4, 8, 16: got 6"),
        (DistanceBiasExplorer, "head", 16, 0, "head is a whole number from 1 to 16: got 0"),
        (DistanceBiasExplorer, "buckets", 8, 9, "buckets is one of 8, 16, 32: got 9"),
        (DistanceBiasExplorer, "causal", False, 0, "causal is True or False: got 0"),
        (DistanceBiasExplorer, "distance", 140, 141, "distance is a whole number from 0 to 140: got 141"),
    ],
)
def test_a_trait_takes_what_its_control_offers(made, name, good, bad, rule):
    explorer = made()
    setattr(explorer, name, good)
    assert getattr(explorer, name) == good
    with pytest.raises(ValueError, match=rule):
        setattr(explorer, name, bad)


def test_the_sizes_stand_in_the_repr():
    assert repr(SinusoidExplorer()) == "SinusoidExplorer(d_model=16, position=5)"
    assert repr(RotaryExplorer([1.0, 2.0], [3.0, 4.0])) == "RotaryExplorer(2 features, layout interleaved)"
    assert repr(DistanceBiasExplorer()) == "DistanceBiasExplorer(8 heads, 32 buckets, up to 128)"
