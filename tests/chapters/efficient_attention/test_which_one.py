"""The decoders that differ in how they mix positions: what they hold, how far they reach, and what they are asked."""

import math

import pytest
import torch

from companion.chapters.efficient_attention import which_one
from companion.efficient import linear_attention_step
from companion.efficient.states import state_step
from companion.seeding import seeded

WIDTH = which_one.WIDTH


def model(kind, d_k=WIDTH):
    with seeded(0):
        return which_one.Decoder(kind, d_k).eval()


@pytest.mark.parametrize("kind", which_one.KINDS)
def test_an_answer_depends_on_nothing_that_comes_later(kind):
    x = torch.randint(which_one.VALUES, (3, 40), generator=torch.Generator().manual_seed(0))
    later = x.clone()
    later[:, 25:] = (later[:, 25:] + 1) % which_one.VALUES
    with torch.no_grad():
        before, after = model(kind)(x), model(kind)(later)
    torch.testing.assert_close(after[:, :25], before[:, :25])
    assert (after[:, 25] - before[:, 25]).abs().max() > 1e-3


@pytest.mark.parametrize(("kind", "reached"), [("window", False), ("window and global", True), ("full", True)])
def test_two_windows_and_two_convolutions_reach_twenty_positions_back(kind, reached):
    """Closed form: 2 (7 + 3)."""
    x = torch.randint(which_one.VALUES, (3, 64), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        answers = [model(kind)(x.index_fill(1, torch.tensor([place]), which_one.MARK))[:, 50] for place in (30, 29)]
        plain = model(kind)(x)[:, 50]
    moved = [(answer - plain).abs().max().item() > 1e-6 for answer in answers]
    assert moved == [True, reached]


def test_the_decoders_have_nearly_the_same_number_of_parameters():
    counts = [sum(p.numel() for p in model(kind).parameters()) for kind in which_one.KINDS]
    assert max(counts) < 1.03 * min(counts)


@pytest.mark.parametrize("d_k", [8, 32])
def test_what_is_held_is_counted_as_steps_hold_it(d_k):
    row, wide = torch.ones(d_k), torch.ones(WIDTH)
    _, state = linear_attention_step(None, row, row, wide)
    assert which_one.held("linear", 64, d_k) == 2 * state.numel()
    _, state = state_step(torch.zeros(d_k, WIDTH), row, row, wide, torch.tensor(0.9), torch.tensor(0.5))
    assert which_one.held("gated delta rule", 64, d_k) == 2 * state.numel()
    lstm = model("LSTM").mixers[0].lstm
    assert which_one.held("LSTM", 64) == 2 * sum(part.numel() for part in lstm(torch.ones(1, 5, WIDTH))[1])


@pytest.mark.parametrize("kind", which_one.SOFTMAX)
def test_keys_are_held_that_the_last_position_sees(kind):
    keys = int(which_one.seen(kind, 64)[-1].sum())
    assert which_one.held(kind, 64) == 2 * keys * 2 * WIDTH
    assert which_one.flops(kind, 64) == 2 * keys * 4 * WIDTH  # score and sum, two each for d numbers
    full = which_one.held("full", 64) // 2 + which_one.held(kind, 64) // 2
    if kind == "window":
        assert which_one.held("window, then full", 64) == full


def test_the_flops_of_a_state_are_those_of_its_products():
    """Per layer: decay, read, add and read again for the delta rule; add and read for the sum."""
    area = WIDTH * WIDTH
    assert which_one.flops("gated delta rule", 64) == 2 * (area + 2 * area + 2 * area + 2 * area)
    assert which_one.flops("linear", 64) == 2 * 2 * 2 * WIDTH * (WIDTH + 1)


def test_each_task_asks_for_what_stands_before():
    generator = torch.Generator().manual_seed(0)
    x, wanted = which_one.examples("recall", 5, generator)
    for row, answers in zip(x.tolist(), wanted.tolist(), strict=True):
        pairs = dict(zip(row[:32:2], row[1:32:2], strict=True))
        assert len(pairs) == which_one.PAIRS
        assert [pairs[key] for key in row[32:]] == answers
        assert min(pairs) >= which_one.VALUES
        assert max(row) < which_one.MARK
    x, wanted = which_one.examples("copy", 5, generator)
    assert torch.equal(x[:, :24], wanted)
    assert torch.equal(x[:, 25:], wanted[:, :-1])
    assert (x[:, 24] == which_one.ASK).all()
    x, wanted = which_one.examples("remember", 50, generator)
    for row, answers in zip(x.tolist(), wanted.tolist(), strict=True):
        place = row.index(which_one.MARK)
        assert place < 8
        assert row.count(which_one.MARK) == 1
        assert answers == 4 * [row[place + 1]]
        assert row[-4:] == 4 * [which_one.ASK]


def test_full_attention_learns_a_little_in_a_few_steps():
    """Guessing gives 1/8; 150 steps of recall give far more, and 1 step does not."""
    assert which_one.share_right(0, "full", "recall", steps=150) > 0.5
    assert math.isclose(which_one.share_right(0, "full", "recall", steps=1), 1 / 8, abs_tol=0.05)
