"""What the pictures of processors and experts say, against the package."""

import pytest
import torch

from companion import cost, pictures
from companion.chapters.scaling.pictures.experts import PROBABILITIES
from companion.chapters.scaling.pictures.processors import PARTS, STAGES
from companion.experts import route
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_weights_are_those_of_the_package():
    routing = route(torch.tensor([PROBABILITIES]).log(), 2)
    wanted = [f"× {weight:.2f}" for weight in routing.weights[0].sort(descending=True).values.tolist()]
    drawn = pictures.experts_and_router()
    for canvas in (drawn.wide, drawn.narrow):
        assert [text for text in said(canvas) if "×" in text] == wanted
        assert {f"{p:.2f}" for p in PROBABILITIES} <= set(said(canvas))


def test_each_stage_of_the_pipeline_waits_as_long_as_the_bubble():
    drawn = pictures.pipeline_schedule()
    for canvas in (drawn.wide, drawn.narrow):
        cells = [text for text in said(canvas) if text.isdigit()]
        slots = 2 * STAGES * (PARTS + STAGES - 1)
        assert (slots - len(cells)) / slots == pytest.approx(cost.bubble(STAGES, PARTS))


def test_probabilities_that_leave_the_choice_open_are_refused():
    with pytest.raises(ValueError, match="four experts with different probabilities"):
        pictures.experts_and_router((0.25, 0.25, 0.25, 0.25))
