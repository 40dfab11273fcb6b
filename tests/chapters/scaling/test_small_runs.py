"""The models and measures behind the pages on scaling laws, few bits and stability."""

import math

import pytest
import torch

from companion.chapters.scaling import laws, stability, widths
from companion.chapters.scaling.pictures import scales
from companion.chapters.training import small_gpt


@pytest.mark.parametrize(("block", "drawn"), [(8, scales.ONE_SCALE), (4, scales.TWO_SCALES)])
def test_the_numbers_drawn_are_those_that_fp8_gives_back(block, drawn):
    numbers = torch.tensor(scales.NUMBERS, dtype=torch.float64).reshape(-1, block)
    scale = 448 / numbers.abs().amax(dim=1, keepdim=True)
    back = (numbers * scale).to(torch.float8_e4m3fn).double() / scale
    torch.testing.assert_close(back.flatten(), torch.tensor(drawn, dtype=torch.float64), rtol=0.02, atol=0)


def test_the_text_is_that_of_the_small_gpt():
    for ours, theirs in zip(laws.splits(), small_gpt.splits(), strict=True):
        assert torch.equal(ours, theirs)
    assert len(small_gpt.symbols()) == laws.SYMBOLS


@pytest.mark.parametrize("width", [8, 24])
def test_a_model_of_the_law_has_the_parameters_of_its_formula(width):
    """Two layers: 12 d^2 weights, 9 d biases and 4 d of norms each; a table of 65 characters; the final norm."""
    assert laws.parameters(width) == 2 * (12 * width**2 + 13 * width) + 65 * width + 2 * width


def test_the_loss_of_equal_logits_is_that_of_guessing():
    model = laws.law_model(8)
    with torch.no_grad():
        model.embedding.token.weight.zero_()  # tied: every logit is 0
    assert math.isclose(laws.validation_loss(model), math.log(65), rel_tol=1e-6)


def test_repeated_text_is_the_beginning_of_the_training_text(monkeypatch):
    tokens, seen = 2048, []
    drawn = torch.randint

    def note(high, *args, **kwargs):
        seen.append(high)
        return drawn(high, *args, **kwargs)

    monkeypatch.setattr(torch, "randint", note)
    monkeypatch.setattr(laws, "validation_loss", lambda model: 0.0)
    laws.loss(0, 8, tokens, epochs=4)
    assert seen == [512 - laws.CONTEXT] * 2


@pytest.mark.parametrize("epochs", laws.EPOCHS)
def test_a_spread_text_has_pieces_from_all_of_the_training_text(epochs):
    train, _ = laws.splits()
    part = laws.sample(500_000 // epochs, spread=True)
    pieces, length = part.shape
    assert 480 <= length <= 510
    assert abs(part.numel() - 500_000 / epochs) < pieces
    apart = len(train) // pieces
    for number in (0, pieces // 2, pieces - 1):
        assert torch.equal(part[number], train[number * apart : number * apart + length])


def test_qk_norm_bounds_every_score_by_the_root_of_the_width():
    """Closed form: both sides have length sqrt(d_k), so no score is above d_k / sqrt(d_k)."""
    rows = stability.batch(torch.Generator().manual_seed(0))
    models = [laws.law_model(24), stability.with_qk_norm(laws.law_model(24))]
    for model in models:
        with torch.no_grad():
            for layer in model.decoder.layers:
                layer.self_attention.w_q.weight *= 100
    free, bounded = (stability.largest_score(model, rows[:, :-1]) for model in models)
    assert free > 2 * math.sqrt(8)
    assert 0.9 * math.sqrt(8) < bounded <= math.sqrt(8) * (1 + 1e-4)


def test_the_rules_of_mup_scale_rates_and_starts_by_the_width():
    plain, model = widths.wide_model(64), widths.wide_model(64)
    matrices, rest = widths.mup(model, 64)
    assert (matrices["lr"], rest["lr"]) == (widths.RATE / 2, widths.RATE)
    assert sum(p.numel() for group in (matrices, rest) for p in group["params"]) == sum(
        p.numel() for p in model.parameters()
    )
    assert {p.ndim for p in matrices["params"]} == {2}
    root = math.sqrt(2)
    torch.testing.assert_close(model.embedding.token.weight, plain.embedding.token.weight * root)
    torch.testing.assert_close(model.output.weight, plain.output.weight / root)


def test_at_the_base_width_both_parametrisations_move_alike():
    models = [widths.wide_model(widths.BASE) for _ in range(2)]
    groups = (widths.standard(models[0], widths.BASE), widths.mup(models[1], widths.BASE))
    moved = [widths.moves(model, group) for model, group in zip(models, groups, strict=True)]
    assert moved[0] == pytest.approx(moved[1], rel=1e-3)


def test_three_batches_of_random_characters_follow_the_first_120():
    losses = stability.losses_around(0, 0.95, 0.5, 124)
    assert max(losses[110:120]) < 3.2 < 4.0 < min(losses[120:123])  # guessing among 65 costs ln 65 = 4.17
    assert losses[123] < 4.0
