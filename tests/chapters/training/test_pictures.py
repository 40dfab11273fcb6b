"""What the chapter's pictures say, against the package and torch."""

import re
from itertools import pairwise

import pytest
import torch

from companion import pictures
from companion.book import toc
from companion.chapters.training.pictures import FORMATS, ROW
from tests.tools.layout import read

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "fp8, E5M2": torch.float8_e5m2,
    "fp8, E4M3": torch.float8_e4m3fn,
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_bits_drawn_are_those_of_torchs_formats_the_sign_among_them(name):
    exponent, fraction = FORMATS[name]
    info = torch.finfo(DTYPES[name])
    assert info.bits == 1 + exponent + fraction
    assert info.eps == 2.0**-fraction
    assert info.smallest_normal == 2.0 ** (2 - 2 ** (exponent - 1))
    for canvas in (pictures.float_bits().wide, pictures.float_bits().narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert texts.count(f"1 + {exponent} + {fraction} = {info.bits} bits") >= 1


def test_each_format_has_as_many_cells_as_bits():
    for canvas in (pictures.float_bits().wide, pictures.float_bits().narrow):
        ticks = re.findall(r'<path d="(M[^"]*)" class="f-cell', canvas.svg())
        cells = sum(path.count("M") + 1 for path in ticks) + len(FORMATS)  # a sign is a cell without a line inside
        assert cells == sum(1 + e + f for e, f in FORMATS.values())


@pytest.mark.parametrize("bits", [(8, 24), (0, 7), (5, 0)])
def test_a_format_of_impossible_bits_is_refused(bits):
    with pytest.raises(ValueError, match=rf"3 to 32 bits together: odd has 1, {bits[0]} and {bits[1]}"):
        pictures.float_bits(formats={"odd": bits})


def test_each_token_leads_to_the_one_that_comes_next():
    drawn = pictures.read_and_predict()
    for canvas in (drawn.wide, drawn.narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        words = [text for text in texts if text in ROW]
        assert words == [word for pair in pairwise(ROW) for word in pair]
    assert all(f"after {' '.join(ROW[: i + 1])} comes {ROW[i + 1]}" in drawn.wide.desc for i in range(len(ROW) - 1))


@pytest.mark.parametrize("row", [("a", "b"), tuple("abcdefg")])
def test_a_row_without_room_is_refused(row):
    with pytest.raises(ValueError, match=rf"three to six tokens: got {len(row)}"):
        pictures.read_and_predict(row=row)


def test_every_core_page_of_the_chapter_is_a_part_of_the_step():
    svg = pictures.training_step().wide.svg()
    parts = set(re.findall(r'data-page="([^"]+)"', svg))
    names = {path.stem for path in (toc.CHECKOUT / "book" / "training").glob("*.md")}
    core = {name for name in names - {"index", "questions", "exercises", "claims"} if not name.startswith("deeper-")}
    assert parts == {f"training/{name}" for name in core}


def test_decay_enters_before_the_division_in_adam_and_after_it_in_adamw():
    for canvas in (pictures.two_decays().wide, pictures.two_decays().narrow):
        divisions = [text.box for text in read(canvas.svg())[0] if text.said.startswith("divide")]
        arrows = re.findall(r'<path d="([^"]*)" class="f-line f-attention"', canvas.svg())
        (inside, _), (beside, _) = (tuple(map(float, re.findall(r"-?[\d.]+", path)[-2:])) for path in arrows)
        assert inside < divisions[0][0]
        assert beside > divisions[1][2]
