"""The map of the Transformer: its parts, their order and their pages."""

import re

import pytest

from companion import pictures
from companion.chapters.architecture.pictures import CAUSAL, NEXT_WORDS, PAGES
from companion.masks import causal
from tests.tools.layout import read


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_every_part_of_the_map_opens_its_page(layout):
    svg = getattr(pictures.transformer_map(), layout).svg()
    found = re.findall(r'<a data-page="([^"]+)"><g data-part="([^"]+)"><title>([^<]+)</title>', svg)
    assert {part: page for page, part, _ in found} == PAGES
    assert svg.count("<a ") == svg.count("</a>") == len(found)
    assert all(title[0].isupper() and len(title.split()) > 4 for _, _, title in found)


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_the_sublayers_follow_each_other_as_in_the_paper(layout):
    canvas = getattr(pictures.transformer_map(), layout)
    texts, _ = read(canvas.svg())
    first = re.compile("Self|Masked|Cross|Feed|add|Embedding|Linear")
    columns = [[], []]
    for text in sorted(texts, key=lambda text: -text.box[1]):
        if found := first.match(text.said):
            columns[text.box[0] > canvas.width / 2].append(found[0])
    assert columns == [
        ["Embedding", "Self", "add", "Feed", "add"],
        ["Embedding", "Masked", "add", "Cross", "add", "Feed", "add", "Linear"],
    ]


def test_the_map_shows_a_causal_mask_and_shares_of_one():
    assert causal(4).tolist() == CAUSAL
    assert sum(NEXT_WORDS) == pytest.approx(1)
