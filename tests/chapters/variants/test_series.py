"""The series to be forecast, and what the forecasters can see."""

import pytest
import torch

from companion.chapters.variants import series
from companion.chapters.variants.series import FUTURE, MODELS, PAST, PERIOD, Forecaster


def generator():
    return torch.Generator().manual_seed(0)


def test_the_past_is_standardised_and_a_season_comes_again():
    past, future = series.series(3000, generator())
    assert (past.shape, future.shape) == ((3000, PAST), (3000, FUTURE))
    torch.testing.assert_close(past.mean(dim=1), torch.zeros(3000), rtol=0, atol=1e-5)
    torch.testing.assert_close(past.std(dim=1), torch.ones(3000), rtol=0, atol=1e-5)
    steps = past.diff(dim=1)
    alike = [(steps[:, lag:] * steps[:, : steps.shape[1] - lag]).mean().item() for lag in (PERIOD // 2, PERIOD)]
    assert alike[1] > 0.1 > alike[0]


def test_without_positions_the_order_of_the_earlier_values_does_not_matter():
    past, _ = series.series(4, generator())
    turned = torch.cat([past[:, :-1].flip(1), past[:, -1:]], dim=1)
    for kind in MODELS[2:]:
        model = Forecaster(kind, seed=0).eval()
        with torch.no_grad():
            change = (model(past) - model(turned)).abs().max().item()
        assert change < 1e-5 if kind.endswith("none") else change > 1e-4, kind


def test_the_naive_forecast_is_the_last_season_and_the_linear_one_is_better():
    naive, linear = (series.forecast_error(0, model, steps=30) for model in MODELS[:2])
    past, future = series.series(2000, torch.Generator().manual_seed(96))
    assert naive == pytest.approx((past[:, -FUTURE:] - future).square().mean().sqrt().item())
    assert linear < 0.9 * naive


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match=r"kind is one of LSTM, .*: got 'GRU'"):
        Forecaster("GRU", seed=0)


def test_training_lowers_the_error():
    untrained, trained = (series.forecast_error(0, "LSTM", steps=steps) for steps in (0, 60))
    assert trained < untrained
