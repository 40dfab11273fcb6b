"""The exercises on long contexts: the examples by hand."""

import torch

from companion.practice import exercises, inputs

BY_NAME = {exercise.name: exercise for exercise in exercises("efficient-attention")}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    tiled = BY_NAME["tiled-attention"].reference(*inputs("tiled-attention", 1))
    window = BY_NAME["window-attention"].reference(*inputs("window-attention", 1))
    torch.testing.assert_close(tiled, torch.tensor([[3.0]], dtype=tiled.dtype), rtol=0, atol=2e-5)
    torch.testing.assert_close(window, torch.tensor([[0.0], [2.0], [6.0]], dtype=window.dtype), rtol=0, atol=2e-5)
