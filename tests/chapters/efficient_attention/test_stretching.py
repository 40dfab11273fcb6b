"""YaRN with the ramp of the paper, beside that of the released code."""

import math

import pytest
import torch

from companion.chapters.efficient_attention.stretching import stretched_position, yarn_by_turns
from companion.positional import frequencies, yarn_frequencies, yarn_scale


def test_a_pair_of_five_turns_keeps_four_parts_in_31():
    """Closed form: the first pair makes 32 / 2π turns in 32 positions, and the other three less than one."""
    kept = (32 / (2 * math.pi) - 1) / 31
    found = yarn_by_turns(8, 4, 32) / frequencies(8)
    assert found.tolist() == pytest.approx([kept + (1 - kept) / 4, 0.25, 0.25, 0.25])


def test_pairs_of_32_turns_are_kept_and_those_of_one_are_divided():
    turns = 2048 * frequencies(128) / (2 * math.pi)
    divided = frequencies(128) / yarn_by_turns(128, 8, 2048)
    torch.testing.assert_close(divided[turns >= 32], torch.ones(17, dtype=torch.float64))
    torch.testing.assert_close(divided[turns <= 1], torch.full((23,), 8.0, dtype=torch.float64))
    assert (divided.diff() >= 0).all()


@pytest.mark.parametrize(("method", "ramp"), [("YaRN by turns", yarn_by_turns), ("YaRN", yarn_frequencies)])
def test_a_layer_turns_by_the_frequencies_of_its_method(method, ramp):
    row = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat_interleave(4).view(1, 1, 1, 8)
    cosine, sine = stretched_position(method, 8, 4, 32).embed(row, 1).flatten().chunk(2)
    torch.testing.assert_close(torch.atan2(sine, cosine), ramp(8, 4, 32))
    assert torch.hypot(sine, cosine).tolist() == pytest.approx(4 * [yarn_scale(4)])
