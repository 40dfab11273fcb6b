"""The experiments on positions: the loss that no model of the echo can beat."""

import math

import pytest
import torch

from companion.chapters.positional_encoding.experiments import TESTED, best_echo_loss, echo


def test_the_best_loss_is_that_of_the_rule_that_draws_the_symbols():
    """By loops over the sources, for the first three positions and for the last."""
    x, y = echo(torch.Generator().manual_seed(99), 96, TESTED)
    found = best_echo_loss()
    assert found.shape == (TESTED,)
    for position in (0, 1, 2, TESTED - 1):
        losses = []
        for past, wanted in zip(x[:, : position + 1].tolist(), y[:, position].tolist(), strict=True):
            back = {n: 2.0**-n for n in range(1, len(past) + 1)}
            copied = sum(part for n, part in back.items() if past[-n] == wanted)
            too_far = 1 - sum(back.values())
            losses.append(-math.log(0.9 * (copied + too_far / 8) + 0.1 / 8))
        assert found[position].item() == pytest.approx(sum(losses) / len(losses), abs=1e-12)
