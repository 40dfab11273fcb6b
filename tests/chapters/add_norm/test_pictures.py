"""Where the norm is in each of the four blocks: the drawing and its formula say the same."""

import pytest

from companion import pictures
from tests.tools.layout import read

MIDDLES = {"wide": [90 + 180 * k for k in range(4)], "narrow": [86, 258, 86, 258]}


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_the_boxes_of_a_block_are_in_the_order_of_its_formula(layout):
    texts, _ = read(getattr(pictures.norm_placements(), layout).svg())
    formulas = [text for text in texts if "(" in text.said]
    assert [text.said for text in formulas] == [
        "Norm(x + F(x))",
        "x + F(Norm(x))",
        "x + Norm(F(Norm(x)))",
        "x + Norm(F(x))",
    ]
    for middle, formula in zip(MIDDLES[layout], formulas, strict=True):
        beside = [text for text in texts if text.said in ("Norm", "F") and -90 < text.box[0] - middle < 80]
        block = [text for text in beside if 0 < formula.box[1] - text.box[1] < 300]
        upward = "".join(text.said[0] for text in sorted(block, key=lambda text: -text.box[1]))
        assert upward == formula.said.replace("Norm", "N").translate({ord(c): None for c in "x +()"})[::-1]
