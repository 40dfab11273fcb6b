"""What the chapter's pictures say: the order of their parts, and their numbers against the package."""

import re

import pytest
import torch

from companion import pictures
from companion.chapters.add_norm.pictures import parts as drawn
from companion.feedforward import FeedForward, SwiGLU
from companion.masks import padding
from companion.norm import SequenceBatchNorm, layer_norm, rms_norm
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


def both(picture):
    return picture.wide, picture.narrow


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_four_sub_layers_read_the_stream_through_a_norm_and_write_to_it():
    for canvas in both(pictures.residual_stream()):
        texts = said(canvas)
        assert [text for text in texts if text in ("attention", "feed-forward")] == ["attention", "feed-forward"] * 2
        assert texts.count("Norm") == 4 + 1  # and one at the end
        assert [text for text in texts if re.fullmatch(r"x\d", text)] == [f"x{k}" for k in range(5)]
        signs = re.findall(r'<circle [^>]*class="f-box', canvas.svg())
        assert len(signs) == 4


def test_the_connections_say_how_much_gradient_arrives():
    for canvas in both(pictures.three_connections((2e-5, 4.0, 3e6))):
        shown = [text.removeprefix("gradient × ") for text in said(canvas) if "×" in text]
        assert shown == ["2 · 10−5", "4", "3 · 106"]
    formulas = [text for text in said(pictures.three_connections().wide) if "(" in text]
    assert formulas == ["F(x)", "x + F(x)", "x + F(Norm(x))"]


def test_the_first_number_becomes_what_the_package_makes_of_it():
    batch = torch.tensor(drawn.SENTENCES, dtype=torch.float64)
    mask = padding(torch.tensor(drawn.LENGTHS), 3)
    over_batch = SequenceBatchNorm(4, eps=1e-12).double()(batch, mask)
    results = (layer_norm(batch, eps=1e-12), over_batch, rms_norm(batch, eps=1e-12))
    wanted = [f"1 becomes {result[0, 0, 0].item() + 0:.2f}".replace("-", "−") for result in results]
    for canvas in both(pictures.what_a_norm_averages()):
        texts = said(canvas)
        assert [text for text in texts if "becomes" in text] == wanted
        numbers = [text.replace("−", "-") for text in texts if re.fullmatch(r"−?\d", text)]
        assert list(map(int, numbers)) == batch.flatten().int().tolist() * 3


def test_a_row_of_layernorm_and_a_column_of_batchnorm_are_marked():
    for canvas in both(pictures.what_a_norm_averages()):
        marked = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*class="f-cell f-attention"', canvas.svg())
        panels = marked[:4], marked[4:9], marked[9:]
        spread = [tuple(len(set(axis)) for axis in zip(*cells, strict=True)) for cells in panels]
        assert spread == [(4, 1), (1, 5), (4, 1)]


def test_the_memory_is_the_feed_forward_network_of_the_package():
    network = FeedForward(4, 2).double()
    with torch.no_grad():
        network.w_1.weight.copy_(torch.tensor(drawn.MEMORY_KEYS))
        network.w_1.bias.fill_(drawn.MEMORY_BIAS)
        network.w_2.weight.zero_()[:2] = torch.tensor(drawn.MEMORY_VALUES).T
        network.w_2.bias.zero_()
        x = torch.tensor(drawn.MEMORY_INPUT, dtype=torch.float64)
        hidden, output = network.w_1(x).relu(), network(x)
    for canvas in both(pictures.feed_forward_memory()):
        texts = said(canvas)
        assert [int(text[-1]) for text in texts if text.startswith("ReLU")] == hidden.tolist()
        numbers = [int(text) for text in texts if text.isdecimal()]
        assert [*numbers[-2:], 0, 0] == output.tolist()  # the network is as wide as its input
        assert len(numbers) == 4 + 2 * (4 + 2) + 2


def test_both_networks_have_the_parameters_that_the_picture_says():
    d_model, d_ff, gated = drawn.SWIGLU_SIZES
    networks = FeedForward(d_model, d_ff, bias=False), SwiGLU(d_model, gated)
    sizes = [f"{sum(p.numel() for p in network.parameters()):,} parameters" for network in networks]
    for canvas in both(pictures.swiglu_flow()):
        texts = said(canvas)
        assert [text for text in texts if "parameters" in text] == sizes
        assert texts.count(f"{d_ff:,}") == texts.count(f"{gated:,}") == 2
