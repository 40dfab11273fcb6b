"""What the chapter's pictures say, against the package."""

import math
import re

import pytest
import torch

from companion import cost, pictures
from companion.chapters.complexity.pictures.machine import GPUS
from companion.chapters.complexity.pictures.memory import MIXED, SCORES, VALUES
from companion.efficient import online_softmax_sum
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_two_layers_of_equal_work_differ_as_the_package_counts():
    attention, lstm = cost.self_attention_layer(1024, 512), cost.recurrent_layer(1024, 512, gates=4)
    drawn = pictures.equal_work()
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        assert texts.count(f"{attention.flops / 1e9:.1f} billion") == 2
        assert [texts.count(f"{value:,}") for value in (attention.path, lstm.path)] == [3, 3]
        full = re.findall(r'<rect [^>]*width="([\d.]+)"[^>]*class="f-cell f-(attention|ink) f-full"', canvas.svg())
        widths = [float(width) for width, _ in full]
        assert [width == max(widths) for width in widths] == [True, False, False, True, True, True, True, False]


def test_layers_of_unequal_work_are_not_drawn():
    with pytest.raises(ValueError, match=r"n = 2 d: got n=1000 and d=512\. Change one"):
        pictures.equal_work(n=1000)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (2, 3, 4)])
def test_a_product_and_its_entry_have_the_flops_of_the_package(sizes):
    a, b, c = sizes
    drawn = pictures.one_product(sizes=sizes)
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        assert [text for text in texts if "×" in text and len(text) > 1] == [f"{a} × {b}", f"{b} × {c}", f"{a} × {c}"]
        assert f"one entry: {cost.matmul_flops(1, b, 1)} FLOPs" in texts
        assert f"{a * c} entries: {cost.matmul_flops(a, b, c)} FLOPs" in texts
        assert canvas.svg().count('class="f-cell f-attention"') == 2 * b + 1  # a row, a column, an entry
        assert len(re.findall(r'<rect [^>]*class="f-cell f-', canvas.svg())) == a * b + b * c + a * c


def test_a_product_without_room_is_refused():
    with pytest.raises(ValueError, match=r"sizes up to 5: got \(3, 6, 2\)\. Draw a smaller"):
        pictures.one_product(sizes=(3, 6, 2))


@pytest.mark.parametrize("n", [9, 7])
def test_the_ways_drawn_are_the_shortest_of_the_package(n):
    kinds = ("self-attention", "recurrent", "convolution", "dilated")
    ways = [cost.shortest_path(kind, n) for kind in kinds]
    drawn = pictures.connection_graphs(n=n)
    for canvas in (drawn.wide, drawn.narrow):
        lines = re.findall(r'<path d="M([^"]*)" class="f-line f-attention f-bold"/>', canvas.svg())
        assert [len(line.split("L")) for line in lines] == [len(way) for way in ways]
        lit = len(re.findall(r'<circle [^>]*class="f-box f-attention"', canvas.svg()))
        assert lit == sum(map(len, ways))
        lengths = [text for text in said(canvas) if re.fullmatch(r"\d+ (layers?|steps)", text)]
        assert [int(text.split()[0]) for text in lengths] == [len(way) - 1 for way in ways]


def test_each_connection_drawn_is_one_that_a_layer_has():
    """Of nine positions: attention has nine; recurrence eight of states and nine of inputs; a cone of each stack."""
    svg = pictures.connection_graphs().wide.svg()
    counts = [data.count("M") for data in re.findall(r'<path d="([^"]*)" class="f-cell f-muted"', svg)]
    contiguous = 3 * (1 + 3 + 5 + 7)
    dilated = 3 * (1 + 3)
    assert counts == [9, 8 + 9, contiguous, dilated]


@pytest.mark.parametrize(("n", "size"), [(12, 3), (9, 2)])
def test_graphs_without_room_are_refused(n, size):
    with pytest.raises(ValueError, match=rf"9 positions and 4 layers: got n={n} and kernels of {size}\. Change one"):
        pictures.connection_graphs(n=n, size=size)


def test_the_numbers_kept_from_tile_to_tile_are_those_of_the_online_softmax():
    scores, values = torch.tensor([SCORES]).log(), torch.tensor(VALUES)[:, None].float()
    output, _ = online_softmax_sum([(scores[:, :2], values[:2]), (scores[:, 2:], values[2:])])
    drawn = pictures.tiles()
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        (result,) = (text for text in texts if text.startswith("output"))
        assert float(result.split("=")[1]) == pytest.approx(output.item())
        totals = [float(text.split("=")[1]) for text in texts if text.startswith("ℓ")]
        for total, end in zip(totals, (2, 3), strict=True):
            assert math.log(total) + max(scores[0, :end]) == pytest.approx(scores[0, :end].logsumexp(0).item())
        assert len(re.findall(r'<rect [^>]*class="f-box f-(soft|attention)', canvas.svg())) == 16


def test_tiles_whose_maximum_does_not_rise_are_not_drawn():
    with pytest.raises(ValueError, match=r"has the largest score: got \[3, 1, 2\], first 2\. Move it"):
        pictures.tiles(powers=(3, 1, 2))


def test_the_bytes_of_a_parameter_are_those_of_the_package():
    assert sum(MIXED.values()) == cost.adam_bytes(1, mixed=True)
    drawn = pictures.bytes_of_a_parameter()
    for canvas in (drawn.wide, drawn.narrow):
        boxes = re.findall(r'<rect x="([\d.]+)"[^>]*width="([\d.]+)"', canvas.svg())
        starts, widths = zip(*((float(x), float(w)) for x, w in boxes), strict=True)
        assert [width / widths[0] for width in widths] == [size / MIXED["weights"] for size in MIXED.values()]
        assert all(x + w == y for x, w, y in zip(starts, widths, starts[1:], strict=False))
        assert f"together {sum(MIXED.values())} bytes" in said(canvas)


def points(data):
    """The corners of a line, from the data of its path."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", data)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_the_roofs_bend_where_arithmetic_and_memory_take_equally_long():
    drawn = pictures.roofline()
    for canvas in (drawn.wide, drawn.narrow):
        svg = canvas.svg()
        lines = [points(data) for data in re.findall(r'<path d="([^"]*)" class="f-line', svg)]
        (frame, *marks) = [start_of(data) for data in re.findall(r'<path d="([^"]*)" class="f-cell f-muted"', svg)]
        assert len(lines) == len(GPUS)
        per_decade = (marks[2] - marks[0]) / (
            math.log10(cost.matmul_intensity(1024, 4096, 4096)) - math.log10(cost.matmul_intensity(1, 4096, 4096))
        )
        for line, (peak, bandwidth) in zip(lines, GPUS.values(), strict=True):
            (x0, y0), (x1, y1) = line[0], line[1]
            ridge = peak / bandwidth
            assert (x1 - x0) / per_decade == pytest.approx(math.log10(ridge / 0.5), abs=0.01)
            assert cost.roofline_seconds(ridge, 1, peak_flops=peak, bandwidth=bandwidth) == pytest.approx(1 / bandwidth)
            assert (y0 - y1) / 60 == pytest.approx(math.log10(ridge / 0.5), abs=0.01)
        heights = [line[-1][1] for line in lines]
        assert heights == sorted(heights, reverse=True)
        assert frame < marks[0] < marks[1] < marks[2]


def start_of(data):
    """Where a path begins, from left to right."""
    return float(re.match(r"M([\d.]+)", data)[1])


def test_a_roof_without_room_is_refused():
    with pytest.raises(ValueError, match=r"peaks from 10\^13 to 10\^15 FLOP/s: got \{'toy': .*Change them"):
        pictures.roofline(gpus={"toy": (1e12, 1e11)})
