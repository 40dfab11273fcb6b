"""What the picture of the tables says, against the package."""

import re

import pytest

from companion import pictures
from companion.chapters.interview.pictures import CARDS, CONTEXT, PLAN
from companion.cost import RELEASED, adam_bytes, released_cache_bytes, released_parameters
from tests.tools.layout import read


def takes(name, bits):
    """The bytes of a model that is served in these bits, or for 0 trained, each part by itself."""
    model, numbers = RELEASED[name], released_parameters(RELEASED[name]).total
    if bits:
        return [numbers * bits / 8, released_cache_bytes(model, 1, CONTEXT)]
    return [2 * numbers, 2 * numbers, adam_bytes(numbers, mixed=True) - 4 * numbers]


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_bars_and_lines_of_cards_have_one_scale(layout):
    canvas = getattr(pictures.what_fits_on_a_card(), layout)
    needs = [takes(name, bits) for name, ways in PLAN.items() for bits in ways]
    drawn = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="20" rx="3" class', canvas.svg())
    bars = {}
    for x, y, width in drawn:
        bars.setdefault(float(y), []).append((float(x), float(width)))
    assert len(bars) == len(needs)
    left, scale = next(iter(bars.values()))[0][0], None
    for parts, bar in zip(needs, bars.values(), strict=True):
        scale = scale or sum(width for _, width in bar) / sum(parts)
        assert [width for _, width in bar] == pytest.approx([scale * part for part in parts], rel=0.05, abs=0.02)
        assert bar[0][0] == left
    lines = [float(x) for x in re.findall(r'<path d="M([\d.]+) [^"]*" class="f-line f-muted"', canvas.svg())]
    assert [(x - left) / scale / 1e9 for x in lines] == pytest.approx(CARDS, rel=0.01)


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_each_bar_says_its_gigabytes(layout):
    said = [text.said for text in read(getattr(pictures.what_fits_on_a_card(), layout).svg())[0]]
    wanted = [f"{sum(takes(name, bits)) / 1e9:.1f} GB" for name, ways in PLAN.items() for bits in ways]
    assert [text for text in said if re.fullmatch(r"[\d.]+\.\d GB", text)] == wanted
