"""The picture of CLIP's two towers."""

import re

from companion import pictures
from companion.chapters.variants.pictures import towers


def test_each_image_has_its_own_text_and_the_diagonal_is_marked():
    names = {"3": "three", "5": "five", "2": "two"}
    assert [names[image] for image in towers.IMAGES] == list(towers.TEXTS)
    drawn = pictures.two_towers()
    for canvas in (drawn.wide, drawn.narrow):
        bold = re.findall(r'class="[^"]*f-bold[^"]*"', canvas.svg())
        assert len(bold) == len(towers.IMAGES)
