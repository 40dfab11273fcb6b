"""The explorers on training without a browser: what they compute, and what they refuse."""

import pytest
import torch
from torch import nn

from companion.chapters.training.explorers.training import BETAS, CAUSES
from companion.explorers import AdamSteps, CurveClinic, ScheduleExplorer
from companion.training import cosine_schedule, warmup_schedule

GRADIENTS = [0.5, 0.5, -1.0, 20.0, 0.25]
RUN = {"title": "A", "train": [2.0, 1.0], "new": [2.5, 1.5], "cause": 1, "sign": "It falls."}


def test_the_schedule_is_the_packages():
    shown = ScheduleExplorer(d_model=256, warmup=500, total=20_000)
    assert shown.marks() == [1, 250, 500, 5000, 10_000, 20_000]
    assert [shown.rate(s) for s in shown.marks()] == [warmup_schedule(s, 256, 500) for s in shown.marks()]
    shown.kind, shown.peak = "cosine", 1e-3
    assert [shown.rate(s) for s in shown.marks()] == [cosine_schedule(s, 1e-3, 500, 20_000) for s in shown.marks()]


def test_a_warm_up_of_one_step_is_marked_once():
    assert ScheduleExplorer(warmup=1, total=20_000).marks() == [1, 5000, 10_000, 20_000]


@pytest.mark.parametrize("beta_1", [0.0, 0.9])
@pytest.mark.parametrize("beta_2", BETAS)
def test_the_steps_are_those_of_torch(beta_1, beta_2):
    shown = AdamSteps(GRADIENTS, beta_1=beta_1, beta_2=beta_2, factor=10.0)
    weight, places = nn.Parameter(torch.zeros((), dtype=torch.float64)), [0.0]
    adam = torch.optim.Adam([weight], lr=1.0, betas=(beta_1, beta_2), eps=1e-9)
    for gradient in GRADIENTS:
        weight.grad = torch.tensor(10 * gradient, dtype=torch.float64)
        adam.step()
        places.append(weight.item())
    steps = torch.tensor(places, dtype=torch.float64).diff()
    torch.testing.assert_close(torch.tensor(shown.numbers()["step"], dtype=torch.float64), steps, rtol=0, atol=1e-12)


def test_the_first_step_is_the_rate_and_without_the_correction_it_is_not():
    """Closed form: 0.1 over the root of 0.02."""
    assert AdamSteps([5.0, 1.0]).numbers()["step"][0] == pytest.approx(-1.0, abs=1e-8)
    assert AdamSteps([5.0, 1.0], correct=False).numbers()["step"][0] == pytest.approx(-0.1 / 0.02**0.5, abs=1e-8)


@pytest.mark.parametrize("gradients", [[1.0], [1.0] * 9, [1.0, 0.0]])
def test_adam_takes_two_to_eight_gradients_that_are_not_zero(gradients):
    with pytest.raises(ValueError, match="two to eight gradients, none of them 0: got"):
        AdamSteps(gradients)


def test_a_value_that_no_control_offers_is_refused():
    with pytest.raises(ValueError, match=r"warmup is one of 1, 250.*got 300"):
        ScheduleExplorer(warmup=300)
    with pytest.raises(ValueError, match=r"beta_2 is one of 0.9, 0.95.*got 0.5"):
        AdamSteps(GRADIENTS, beta_2=0.5)


def test_the_clinic_keeps_its_curves_and_knows_the_right_answer():
    shown = CurveClinic([RUN, RUN | {"title": "B", "cause": 0}])
    assert shown.curves[0]["train"] == [2.0, 1.0]
    assert shown.causes == [list(cause) for cause in CAUSES]
    assert not shown.right()
    shown.guess = 1
    assert shown.right()
    shown.curve = 1
    assert not shown.right()
    assert repr(shown) == "CurveClinic(2 curves, 6 causes)"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"new": [1.0]}, r"as many losses in validation as in training.*got 'A', missing \[\]"),
        ({"cause": 6}, "a cause from 0 to 5: got 'A'"),
    ],
)
def test_the_clinic_refuses_curves_that_do_not_fit(changes, rule):
    with pytest.raises(ValueError, match=rule):
        CurveClinic([RUN | changes])


def test_the_clinic_names_what_is_missing_and_places_that_do_not_exist():
    with pytest.raises(ValueError, match=r"missing \['sign'\]. Mend it"):
        CurveClinic([{key: value for key, value in RUN.items() if key != "sign"}])
    with pytest.raises(ValueError, match="the clinic needs at least one curve: got none"):
        CurveClinic([])
    with pytest.raises(ValueError, match="curve is a whole number from 0 to 0: got 1"):
        CurveClinic([RUN], curve=1)
    with pytest.raises(ValueError, match="guess is a whole number from -1 to 5: got 6"):
        CurveClinic([RUN], guess=6)
