"""The explorers of the chapter on positional encoding: what the browser shows is what the package gives."""

import itertools
import math
import re

import pytest
import torch

from companion.chapters.positional_encoding.explorers.positions import (
    BUCKETS,
    FURTHEST,
    HEADS,
    LAYOUTS,
    REACHES,
    SPAN,
    WIDTHS,
)
from companion.explorers import DistanceBiasExplorer, RotaryExplorer, SinusoidExplorer
from companion.positional import rotate, t5_bucket
from tests.site.browser import CELLS, assert_right_as_shown, number, put, tensor

DRAWN = """root => [...root.querySelectorAll('[data-values]')].filter(g => g.style.display !== 'none').map(g => [
  Number(g.dataset.pair), g.dataset.values.split(' ').map(Number),
  [...g.querySelectorAll('.ex-hand')].map(l => ['x1', 'y1', 'x2', 'y2'].map(a => Number(l.getAttribute(a)))),
])"""


def words(root):
    return root.query_selector(".ex-readout").inner_text()


def data(root):
    return root.evaluate("root => ({...root.querySelector('.explorer').dataset})")


def spoken(root, place):
    """What the readout says when a mark has the focus."""
    root.evaluate("() => document.activeElement.blur()")  # a mark that has the focus would not say it again
    root.query_selector(place).focus()
    return words(root)


def direction(line):
    """The direction of a drawn hand: right and up."""
    x1, y1, x2, y2 = line
    return torch.nn.functional.normalize(tensor([x2 - x1, y1 - y2]), dim=0)


def check_sinusoids(root, values):
    model = SinusoidExplorer()
    for d_model, position, step in itertools.product(WIDTHS, (0, 7, 200), (-SPAN, 0, 1, 40)):
        model.d_model, model.position, model.step = d_model, position, step
        put(root, d_model=WIDTHS.index(d_model), position=position, step=step)
        here, there = model.hands()
        drawn = root.evaluate(DRAWN)
        assert len(drawn) == min(8, d_model // 2)
        assert [drawn[0][0], drawn[-1][0]] == [0, d_model // 2 - 1]
        for pair, shown, (later, hand) in drawn:
            own = slice(2 * pair, 2 * pair + 2)
            torch.testing.assert_close(tensor(shown), torch.cat([here[own], there[own]]), rtol=0, atol=1e-6)
            torch.testing.assert_close(direction(hand), here[own], rtol=0, atol=1e-3)
            torch.testing.assert_close(direction(later), there[own], rtol=0, atol=1e-3)
        dot = (here @ there).item()
        assert float(data(root)["dot"]) == pytest.approx(dot, abs=1e-6)
        said = re.search(r"times position (\S+): (\S+) of (\d+)\. Any two positions (\d+) apart", words(root))
        assert [number(said[1]), int(said[3]), int(said[4])] == [position + step, d_model // 2, abs(step)]
        assert number(said[2]) == pytest.approx(dot, abs=5.1e-4)
    rates = torch.tensor([10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)], dtype=torch.float64)
    curve = torch.cos(torch.arange(-SPAN, SPAN + 1)[:, None] * rates).mean(1)
    shown = tensor([float(part) for part in data(root)["parts"].split()])
    torch.testing.assert_close(shown, curve, rtol=0, atol=1e-6)
    assert f"Distance {SPAN}: " in spoken(root, f'.ex-hit[data-j="{2 * SPAN}"]')
    told = spoken(root, '.ex-dial[data-i="0"][data-j="0"]')
    assert told.startswith(f"Pair 0: one round in 6.3 positions. At {position}: ")


def check_rotary(root, values):
    model = RotaryExplorer(values["query"], values["key"])
    both = tensor([values["query"], values["key"]])
    pairs = both.shape[1] // 2
    for layout, position, distance in itertools.product(LAYOUTS, (0, 6, 150), (0, 2, 64)):
        model.pairing, model.position, model.distance = layout, position, distance
        put(root, pairing=layout, position=position, distance=distance)
        turned = rotate(both, torch.tensor([position, position - distance]), layout=layout)
        cut = turned.unflatten(1, (2, pairs)).mT if layout == "half" else turned.unflatten(1, (pairs, 2))
        score = (turned[0] @ turned[1]).item()
        assert model.score() == pytest.approx(score, abs=1e-12)
        assert float(data(root)["score"]) == pytest.approx(score, abs=1e-6)
        said = re.search(r"score (\S+) for every query and key (\d+) apart", words(root))
        assert (number(said[1]), int(said[2])) == (pytest.approx(score, abs=5.1e-4), distance)
        for i, (_, shown, hands) in enumerate(root.evaluate(DRAWN)):
            torch.testing.assert_close(tensor(shown), cut[:, i].flatten(), rtol=0, atol=1e-6)
            for hand, vector in zip(hands, cut[:, i], strict=True):
                want = torch.nn.functional.normalize(vector, dim=0)
                torch.testing.assert_close(direction(hand), want, rtol=0, atol=2e-3)
        for n, (label, digits, told, _) in enumerate(root.evaluate(CELLS, "pairs")):
            i, column = divmod(n, 3)
            first, second = (i, i + pairs) if layout == "half" else (2 * i, 2 * i + 1)
            assert told.startswith(f"Features {first} and {second}, ")
            product = (cut[0, i] @ cut[1, i]).item()
            assert_right_as_shown(digits, (layout, position, distance, i))
            assert number(digits.rpartition(" = ")[2]) == pytest.approx(product, abs=5.1e-3)
            if column < 2:
                angle = math.degrees(math.atan2(cut[column, i, 1], cut[column, i, 0]))
                off = (float(label.rsplit(" ", 1)[1].rstrip("°")) - angle) % 360
                assert min(off, 360 - off) <= 0.51
            else:
                assert number(label.rsplit(" ", 1)[1]) == pytest.approx(product, abs=5.1e-4)


def check_biases(root, values):
    model = DistanceBiasExplorer()
    for n_heads, head, distance in itertools.product(HEADS, (1, 4), (0, 20, FURTHEST)):
        model.n_heads, model.head = n_heads, head
        put(root, n_heads=str(n_heads))
        put(root, head=head, distance=distance)
        slope = model.slope()
        assert float(data(root)["slope"]) == pytest.approx(slope, rel=1e-12)
        said = re.search(r"Distance (\d+)\. ALiBi, head (\d+) of (\d+), slope (\S+): (\S+) on the score", words(root))
        assert [int(said[n]) for n in (1, 2, 3)] == [distance, head, n_heads]
        assert number(said[5]) == pytest.approx(-slope * distance, abs=5.1e-3)
        left = re.search(r"so (less than )?([\d.]+) of the weight", words(root))
        kept = math.exp(-slope * distance)
        assert (kept < 0.0005) if left[1] else number(left[2]) == pytest.approx(kept, abs=5.1e-4)
    every = torch.arange(FURTHEST + 1)
    for buckets, reach, causal in itertools.product(BUCKETS, REACHES, (True, False)):
        put(root, buckets=str(buckets), max_distance=REACHES.index(reach), causal=causal, distance=20)
        want = t5_bucket(every, buckets=buckets, max_distance=reach, causal=causal)
        where = (buckets, reach, causal)
        assert data(root)["buckets"] == " ".join(str(b) for b in want.tolist()), where
        assert root.evaluate("root => root.querySelectorAll('.ex-bucket').length") == len(want.unique()), where
        same = (want == want[20]).nonzero().flatten().tolist()
        span = f"{same[0]} and more" if same[-1] == FURTHEST else f"{same[0]} to {same[-1]}"
        span = f"{same[0]} alone" if same[0] == same[-1] else span
        assert f"bucket {want[20]}, for distance {span};" in words(root), where
        told = spoken(root, '.ex-hit[data-j="3"]')
        assert told.startswith("Distance 3. "), where


CHECKS = {
    "SinusoidExplorer": check_sinusoids,
    "RotaryExplorer": check_rotary,
    "DistanceBiasExplorer": check_biases,
}


def made():
    generator = torch.Generator().manual_seed(4)
    query, key = torch.randn(2, 6, generator=generator, dtype=torch.float64)
    return [
        SinusoidExplorer(d_model=64, position=30, step=-10),
        RotaryExplorer(query.tolist(), key.tolist(), position=3, distance=5, pairing="half"),
        DistanceBiasExplorer(n_heads=16, head=9, distance=50, buckets=16, max_distance=64, causal=False),
    ]
