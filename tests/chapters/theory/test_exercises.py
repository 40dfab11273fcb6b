"""The exercises on what can be computed: the example by hand."""

import torch

from companion.practice import exercises, inputs

BY_NAME = {exercise.name: exercise for exercise in exercises("theory")}


def test_the_hand_example_is_the_first_case():
    """Closed form: the numbers that the statement works out."""
    read = BY_NAME["read-tape"].reference(*inputs("read-tape", 1))
    torch.testing.assert_close(read, torch.tensor([2.0, 2.0, 5.0, 7.0]).to(read.dtype), rtol=0, atol=2e-5)
