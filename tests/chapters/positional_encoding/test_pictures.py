"""The numbers of the chapter's pictures, against the package."""

import math
import re

import pytest
import torch

from companion import pictures, positional
from companion.attention import attention, attention_weights
from companion.chapters.positional_encoding.pictures import ROTARY, SLOPES, VECTORS, WORDS
from companion.masks import causal
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def both(picture):
    return picture.wide, picture.narrow


def test_both_orders_give_dog_the_weights_and_the_output_of_the_package():
    x = torch.tensor(VECTORS, dtype=torch.float64)
    dog = x[WORDS.index("dog")][None]
    weights, (output,) = attention_weights(dog, x)[0].tolist(), attention(dog, x, x).tolist()
    for canvas in both(pictures.two_orders()):
        texts = said(canvas)
        assert texts.count("output ({:.2f}, {:.2f})".format(*output)) == 2
        assert all(texts.count(f"{weight:.2f}") == 2 for weight in weights)
        assert [text for text in texts if text in WORDS] == ["dog", "bites", "man", "man", "bites", "dog"]


@pytest.mark.parametrize("d_model", [8, 12])
def test_the_products_of_positions_are_those_of_the_package(d_model):
    table = positional.sinusoidal(6, d_model)
    products = [f"{entry:.2f}".replace("-", "−") for entry in (table @ table.T).flatten().tolist()]
    for canvas in both(pictures.position_products(d_model=d_model)):
        texts = [text for text in said(canvas) if re.fullmatch(r"−?\d\.\d\d", text)]
        assert texts == products + products[:6]


def test_query_and_key_are_rotated_as_in_the_package():
    arrow = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    canvas = pictures.rope_rotation().wide
    tips = re.findall(r'class="f-line f-(query|key)"', canvas.svg())
    assert tips == ["query", "key"] * 2
    for panel, (m, n) in enumerate(ROTARY):
        q, k = (positional.rotate(arrow, torch.tensor([p])) for p in (m, n))
        assert said(canvas).count(f"score {(q @ k.T).item():.3f}") == 2  # the same in both panels
        x, y = 152 + 352 * panel, 168
        ends = re.findall(rf'M{x} {y}L([\d.]+) ([\d.]+)" class="f-line f-(?:query|key)"', canvas.svg())
        found = [math.atan2(y - float(b), float(a) - x) for a, b in ends]
        wanted = [math.atan2(v[0, 1].item(), v[0, 0].item()) for v in (q, k)]
        assert found == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("head", SLOPES)
def test_the_bias_and_the_weights_of_a_head_are_those_of_the_package(head):
    zero = torch.zeros(1, 8, 4, 2, dtype=torch.float64)
    bias = positional.ALiBi(8).bias(zero, zero)
    rows = [f"{entry + 0:g}".replace("-", "−") for entry in bias[0, head - 1][causal(4)].tolist()]
    weights = [f"{w:.2f}" for w in attention_weights(zero, zero, causal(4), bias=bias)[0, head - 1, -1].tolist()]
    for canvas in both(pictures.alibi_bias()):
        texts = said(canvas)
        start = texts.index(f"Head {head}")
        numbers = [text for text in texts[start + 2 :] if re.fullmatch(r"−?[\d.]+", text)][:14]
        assert numbers == rows + weights


def test_positions_enter_in_three_places():
    for canvas in both(pictures.where_positions_enter()):
        texts = said(canvas)
        assert (texts.count("Q"), texts.count("K"), texts.count("rotate"), texts.count("softmax")) == (2, 2, 2, 2)
        assert {"word", "position", "all layers", "distance"} <= set(texts)
