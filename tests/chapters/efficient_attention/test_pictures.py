"""What the chapter's pictures say, against the package."""

import re

import torch

from companion import masks, pictures
from companion.chapters.efficient_attention.pictures.hashing import BUCKETS, CHUNK
from companion.chapters.efficient_attention.pictures.patterns import RANDOM, STRIDE, WINDOW, N
from companion.chapters.efficient_attention.pictures.ways import KEYS
from companion.chapters.efficient_attention.pictures.ways import N as WAYS
from companion.efficient import patterns
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_patterns_drawn_are_those_of_the_package():
    longformer = patterns.window_and_global(N, WINDOW, 1)
    bigbird = longformer | torch.zeros_like(longformer).scatter(1, torch.tensor(RANDOM)[:, None], value=True)
    want = [
        masks.causal(N),
        masks.window(N, WINDOW),
        patterns.strided(N, STRIDE),
        patterns.fixed(N, STRIDE),
        longformer,
        bigbird,
    ]
    drawn = pictures.sparse_patterns()
    for canvas in (drawn.wide, drawn.narrow):
        svg, texts = canvas.svg(), said(canvas)
        grids = re.findall(r'<path d="([^"]*)" class="f-full f-attention"/>', svg)
        hidden = re.findall(r'<path d="([^"]*)" class="f-cell f-soft"', svg)
        assert [data.count("M") for data in grids] == [int(mask.sum()) for mask in want]
        assert [data.count("M") for data in hidden] == [N * N - int(mask.sum()) for mask in want]
        assert [text for text in texts if "pairs" in text] == [f"{int(mask.sum())} pairs" for mask in want]
        for data, mask in zip(grids, want, strict=True):
            corners = [tuple(map(float, at)) for at in re.findall(r"M([\d.]+) ([\d.]+)", data)]
            columns, rows = ({at[k] for at in corners} for k in (0, 1))
            places = {(sorted(rows).index(y), sorted(columns).index(x)) for x, y in corners}
            assert places == {tuple(pair) for pair in mask.nonzero().tolist()}
    assert all(not longformer[i, j] for i, j in enumerate(RANDOM) if i)


def test_the_four_ways_read_as_many_pairs_as_they_say():
    drawn = pictures.four_ways()
    for canvas in (drawn.wide, drawn.narrow):
        grids = re.findall(r'<path d="([^"]*)" class="f-full f-attention"/>', canvas.svg())
        assert [data.count("M") for data in grids] == [WAYS**2, int(masks.window(WAYS, 2).sum()), WAYS * KEYS]
        assert len(re.findall("f-ink f-bold", canvas.svg())) == 1  # the tile that is computed


def test_the_state_has_the_shape_of_the_product_of_keys_and_values():
    n, d = 7, 3
    keys, values = torch.zeros(n, d), torch.zeros(n, d)
    drawn = pictures.product_orders()
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        shapes = {"n × n": (keys @ keys.mT).shape, "d × d": (keys.mT @ values).shape}
        assert all(texts.count(name) == 1 for name in shapes)
        assert {name: eval(f"({name.replace('×', ',')})", {"n": n, "d": d}) for name in shapes} == shapes


def test_the_sorted_positions_drawn_are_those_that_a_hash_would_sort():
    order = torch.tensor(BUCKETS).argsort(stable=True).tolist()
    drawn = pictures.sorted_buckets()
    for canvas in (drawn.wide, drawn.narrow):
        numbers = [int(text) for text in said(canvas) if text.isdigit()]
        n = len(BUCKETS)
        assert numbers == [*range(n), *BUCKETS, *order, *sorted(BUCKETS)]
        (frame,) = re.findall(r'<rect x="([\d.]+)"[^>]*width="([\d.]+)"[^>]*class="f-line f-attention', canvas.svg())
        cell = float(re.findall(r'<rect x="[\d.]+"[^>]*width="([\d.]+)"', canvas.svg())[0]) / n
        assert (float(frame[1]) - 6) / cell == 2 * CHUNK
