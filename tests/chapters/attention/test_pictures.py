"""The numbers and the masks of the chapter's pictures, against the package."""

import re

import pytest
import torch

from companion import pictures
from companion.attention import attention, attention_weights
from companion.chapters.attention.pictures import flow
from companion.masks import and_masks, causal, padding
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


@pytest.mark.parametrize("asking", [0, 1, 2])
def test_queries_keys_and_values_are_those_of_the_package(asking):
    x, w_q, w_k, w_v = (torch.tensor(rows, dtype=torch.float64) for rows in (flow.X, flow.W_Q, flow.W_K, flow.W_V))
    query, key, value = x[asking : asking + 1] @ w_q, x @ w_k, x @ w_v
    drawn = pictures.queries_keys_values(asking=asking)
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        for weight in attention_weights(query, key)[0].tolist():
            assert f"{weight:.3f}" in texts
        for row in (query[0], *key, *value):
            cells = "|".join(f"{entry:g}" for entry in row.tolist())
            assert cells in "|".join(texts)
        assert "|".join(f"{entry:.2f}" for entry in attention(query, key, value)[0].tolist()) in "|".join(texts)
        assert "|".join(f"{dot:g}" for dot in (query @ key.mT)[0].tolist()).count("|") == 2
    for dot in (query @ key.mT)[0].tolist():
        assert f"{dot:g} ÷ 2 = {dot / 2:g}" in said(drawn.wide)


def test_queries_keys_and_values_take_the_numbers_of_a_page():
    double = [[2.0 * entry for entry in row] for row in flow.W_V]
    texts = said(pictures.queries_keys_values(words=["le", "chat", "dort"], w_v=double).wide)
    assert {"chat", "4.62", "3.38"} <= set(texts)
    assert "cat" not in texts
    with pytest.raises(ValueError, match=r"room for 3 words.*got \[2, 3, 4, 4, 2\]\. Make the example smaller"):
        pictures.queries_keys_values(words=["le", "chat"])


def cells(canvas, x0, y0, kind):
    """The cells of one mask, by the classes of their path, as (row, column)."""
    found = re.findall(rf'<path d="([^"]*)" class="{kind}', canvas.svg())
    corners = re.findall(r"M([\d.]+) ([\d.]+)h24", "".join(found))
    places = [((float(y) - y0) / 26, (float(x) - x0) / 26) for x, y in corners]
    return {(int(row), int(column)) for row, column in places if 0 <= row < 5 and 0 <= column < 5}


@pytest.mark.parametrize("wide", [True, False])
def test_the_four_masks_are_those_of_the_package(wide):
    canvas = getattr(pictures.four_masks(), "wide" if wide else "narrow")
    short = padding([3], 5)[0].expand(5, 5)
    left = short.flip(1)  # padded on the right, a decoder would need no padding mask
    rules = (torch.ones(5, 5, dtype=torch.bool), causal(5), short, and_masks(causal(5), left))
    for k, rule in enumerate(rules):
        x, y = (56 + 172 * k, 88) if wide else (36 + 168 * (k % 2), 88 + 248 * (k // 2))
        assert cells(canvas, x, y, "f-full") == {tuple(cell) for cell in rule.nonzero().tolist()}
        assert cells(canvas, x, y, "f-cell") == {tuple(cell) for cell in (~rule).nonzero().tolist()}


def test_in_every_use_each_query_asks_the_keys_that_it_may():
    svg = pictures.three_uses().wide.svg()
    arrows = re.findall(r'<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+" class="f-line f-(?:muted|attention)', svg)
    found = [[], [], []]
    for start, end in arrows:
        panel, across = divmod(float(start) - 64, 224)
        first = 34 * (panel == 2)  # two words above three stand in the middle
        found[int(panel)].append((round((across - 28 - first) / 68), round((float(end) - 64 - 224 * panel - 28) / 68)))
    pairs = [(i, j) for i in range(3) for j in range(3)]
    assert found == [pairs, [(i, j) for i, j in pairs if causal(3)[i, j]], pairs[:6]]
