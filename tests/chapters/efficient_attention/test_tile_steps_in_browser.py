"""A softmax over tiles, step by step: what the browser shows is what the package gives."""

import re

import pytest
import torch

from companion.attention import attention, attention_weights
from companion.explorers import TileSteps
from tests.site.browser import assert_right_as_shown, number, tensor
from tests.site.steps import Scene

SCORES, VALUES = [0.5, -0.3, -0.5, -0.2, 1.5, 1.2, -1.0], [-9.0, 3.0, 6.0, 1.0, 2.0, -4.5, 8.0]


def stages(scores, tile):
    """List what happens, how many keys are in the sums, in which tile, and the maximum, from the scores alone."""
    found = [("start", 0, 0, None)]
    for start in range(0, len(scores), tile):
        peak, before = max(scores[: start + tile]), max(scores[:start], default=None)
        if before is not None and peak > before:
            found.append(("rescale", start, start // tile, peak))
        found.append(("add", min(start + tile, len(scores)), start // tile, peak))
    return [*found, ("end", len(scores), (len(scores) - 1) // tile, max(scores))]


def check_tiles(root, values):
    scores, held, tile = values["scores"], tensor(values["values"]), values["tile"]
    plan = stages(scores, tile)
    row = tensor(scores)
    one = torch.ones(1, 1, dtype=torch.float64)
    weights = attention_weights(one, row[:, None], scale=1.0)[0]
    output = attention(one, row[:, None], held[:, None], scale=1.0).item()
    assert len(values["sentences"]) == len(plan)
    for step, (kind, count, now, peak) in enumerate(plan):
        seen, where = Scene(root, step + 1), (kind, now)
        terms = torch.zeros_like(row)
        if count:
            terms[:count] = (row[:count] - peak).exp()
        total, weighted = terms.sum().item(), (terms @ held).item()
        drawn = tensor(seen.numbers("ex-term", "height")) / 64
        torch.testing.assert_close(drawn, weights if kind == "end" else terms, rtol=0, atol=2e-4)
        shown = " ".join(seen.texts)
        if kind == "start":
            assert re.findall(r"(?:m|ℓ|o) = \?", shown) == ["m = ?", "ℓ = ?", "o = ?"]
        elif kind == "end":
            assert number(re.search(r"output o / ℓ = (\S+)", shown)[1]) == pytest.approx(output, abs=5.1e-3)
        else:
            told = [number(re.search(rf"{name} = (\S+)", shown)[1]) for name in ("largest m", "sum ℓ", "sum o")]
            assert told == pytest.approx([peak, total, weighted], abs=5.1e-3), where
        goals = [(226 - float(y)) / 64 for y in seen.numbers("ex-goal", "y1")]
        assert goals == pytest.approx(weights.tolist(), abs=2e-4)
        assert set(seen.numbers("ex-goal", "opacity")) == {float(kind == "end")}
        bars = [mark for mark in seen.all("ex-rect") if "ex-term" not in mark["class"]]
        scale = 80 / (max(0, *scores) - min(0, *scores))
        assert [float(bar["height"]) for bar in bars] == pytest.approx([abs(s) * scale for s in scores], abs=0.02)
        best = [k for k, bar in enumerate(bars) if "ex-best" in bar["class"]]
        read = [] if kind == "start" else range(min((now + 1) * tile, len(scores)))
        assert best == [k for k in read if scores[k] == peak], where
        clear = [kind in ("start", "end") or k // tile == now for k in range(len(scores))]
        assert [float(bar["opacity"]) == 1 for bar in bars] == clear, where
        (shade,) = seen.all("ex-unit")
        pitch = 302 / len(scores)
        assert float(shade["x"]) == pytest.approx(22 + now * tile * pitch, abs=0.01)
        assert float(shade["width"]) == pytest.approx(sum(k // tile == now for k in range(len(scores))) * pitch)
        for k, mark in enumerate(seen.all("ex-hit")):
            ending = "not in the sums yet" if k >= count else ("weight " if kind == "end" else "term ")
            assert mark["aria-label"].startswith(f"Key {k + 1}: score ")
            assert ending in mark["aria-label"], (where, k)
            if k < count:
                told = number(re.search(r"([\d.]+)\.$", mark["aria-label"])[1])
                assert told == pytest.approx((weights if kind == "end" else terms)[k].item(), abs=5.1e-4)
        assert seen.said == f"Step {step + 1} of {len(plan)}. {values['sentences'][step]}"


CHECKS = {"TileSteps": check_tiles}


def made():
    return [TileSteps(SCORES, VALUES, tile=3, step=3)]


def numbers(text):
    return [number(x) for x in re.findall(r"−?\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("tile", [1, 2, 3, 4])
def test_the_sentences_have_the_numbers_of_their_steps_and_right_equations(tile):
    row, held = tensor(SCORES), tensor(VALUES)
    output = attention(torch.ones(1, 1, dtype=torch.float64), row[:, None], held[:, None], scale=1.0).item()
    sentences = TileSteps(SCORES, VALUES, tile).sentences
    plan = stages(SCORES, tile)
    assert {kind for kind, *_ in plan} == {"start", "rescale", "add", "end"}
    for (kind, count, now, peak), sentence in zip(plan, sentences, strict=True):
        for equation in re.findall(r"(\S+ [+/] \S+ = −?\d[\d.]*\d)", sentence):
            if not equation.startswith("o"):
                assert_right_as_shown(equation, sentence)
        if kind == "start":
            assert numbers(sentence)[:2] == [len(SCORES), tile]
            continue
        terms = (row[:count] - peak).exp()
        total, weighted = terms.sum().item(), (terms @ held[:count]).item()
        if kind == "end":
            assert number(re.search(r" = (−?[\d.]+\d)", sentence)[1]) == pytest.approx(output, abs=5.1e-3)
            continue
        assert f"ile {now + 1}" in sentence or "tile itself" in sentence
        last = numbers(sentence)
        if kind == "rescale":
            factor = number(re.search(r"\) = ([\d.]+)", sentence)[1])
            old = max(SCORES[: now * tile])
            assert last[1] == peak
            assert last[2] == old
            assert factor == pytest.approx(torch.tensor(old - peak).exp().item(), abs=5.1e-4)
            results = [number(x) for x in re.findall(r"to (−?[\d.]+\d)", sentence)]
        else:
            results = [number(x) for x in re.findall(r"[ℓo] = (?:[^ ]+ \+ [^ ]+ = )?(−?[\d.]+\d)", sentence)]
        assert results == pytest.approx([total, weighted], abs=5.1e-3), sentence


def test_a_tile_without_a_larger_score_rescales_nothing():
    kinds = [kind for kind, *_ in TileSteps([2.0, 1.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0], tile=2).stages]
    assert kinds == ["start", "add", "add", "end"]


@pytest.mark.parametrize(
    ("scores", "values", "tile"),
    [([1.0, 2.0], [1.0], 1), ([1.0, 2.0], [1.0, 2.0], 2), ([1.0, 5.0], [1.0, 2.0], 1), ([1.0, 2.0], [1.0, 10.0], 1)],
)
def test_what_the_figure_has_no_room_for_is_refused(scores, values, tile):
    with pytest.raises(ValueError, match="one value each"):
        TileSteps(scores, values, tile)
