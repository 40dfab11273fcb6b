"""Learning rates: peak, slope and meeting point of Eq. (3), the cosine, and every refusal."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from companion.training import cosine_schedule, lambda_lr, warmup_schedule

steps = st.integers(1, 10_000)


def test_the_base_model_peaks_at_seven_ten_thousandths():
    """Section 5.3 with d_model = 512 and 4,000 steps of warm-up: (512 * 4000) ** -0.5."""
    assert warmup_schedule(4000, 512) == pytest.approx(6.98771242968684e-4, rel=1e-12)


@given(step=steps, d_model=st.integers(1, 2048), warmup=st.integers(1, 8000))
def test_eq_3_rises_in_a_line_and_falls_with_the_root(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    want = peak * step / warmup if step <= warmup else peak * math.sqrt(warmup / step)
    assert warmup_schedule(step, d_model, warmup) == pytest.approx(want, rel=1e-12)
    assert warmup_schedule(step, d_model, warmup) <= peak * (1 + 1e-12)


def test_four_times_the_width_halves_the_rate():
    assert warmup_schedule(10, 4 * 64, 100) == warmup_schedule(10, 64, 100) / 2


def test_the_cosine_rises_to_its_peak_and_falls_to_its_floor():
    rates = [cosine_schedule(step, peak=1.0, warmup=4, total=10, floor=0.1) for step in range(1, 13)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[6] == pytest.approx(0.55, abs=1e-15)  # half-way down
    assert rates[9:] == pytest.approx([0.1, 0.1, 0.1], abs=1e-15)
    assert rates[3:10] == sorted(rates[3:10], reverse=True)


@given(step=steps, warmup=st.integers(0, 100), length=st.integers(1, 100), floor=st.floats(0, 1))
def test_the_cosine_stays_between_zero_or_floor_and_peak(step, warmup, length, floor):
    rate = cosine_schedule(step, peak=1.0, warmup=warmup, total=warmup + length, floor=floor)
    assert (0 if step <= warmup else floor - 1e-15) <= rate <= 1
    assert step < warmup + length or rate == pytest.approx(floor, abs=1e-15)


def test_stepped_once_an_epoch_for_a_tenth_of_its_length_the_cosine_hardly_falls():
    """The slip that the chapter shows: T = 100, and ten steps in all."""
    assert cosine_schedule(10, peak=1.0, warmup=0, total=100) == pytest.approx(0.9755, abs=1e-4)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0, 512, 4000), "step=0, d_model=512, warmup=4000"),
        ((1, 0, 4000), "d_model=0"),
        ((1, 512, 0), "warmup=0"),
    ],
)
def test_a_number_below_one_is_refused(arguments, named):
    with pytest.raises(ValueError, match=f"at least 1: got .*{named}"):
        warmup_schedule(*arguments)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    "changes",
    [{"step": 0}, {"warmup": -1}, {"warmup": 10}, {"floor": -0.1}, {"floor": 2.0}, {"total": 0}],
    ids=str,
)
def test_numbers_out_of_order_are_refused(changes):
    arguments = {"step": 1, "peak": 1.0, "warmup": 2, "total": 10, "floor": 0.0} | changes
    name, value = next(iter(changes.items()))
    with pytest.raises(ValueError, match=f"0 <= warmup < total and 0 <= floor <= peak: got .*{name}={value}"):
        cosine_schedule(**arguments)


@pytest.mark.usefixtures("shape_checks_off")
def test_lambda_lr_refuses_an_optimiser_whose_rate_would_multiply_the_schedule():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.001)
    with pytest.raises(ValueError, match=r"got lr=\[0\.001\]\. Make the optimiser with lr=1\.0"):
        lambda_lr(optimizer, lambda step: 1.0)
