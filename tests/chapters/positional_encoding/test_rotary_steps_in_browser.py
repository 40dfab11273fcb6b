"""Rotary positions, step by step: what the browser shows is what the package gives."""

import math
import re

import pytest
import torch

from companion.chapters.positional_encoding.explorers.rotary_steps import CONTENTS, PLAN
from companion.explorers import RotarySteps
from companion.positional import rotate
from tests.site.browser import number, tensor
from tests.site.steps import Scene, spoken

LONGEST = max(torch.tensor(v).view(-1, 2).norm(dim=1).max().item() for pair in CONTENTS for v in pair)


def turned(step):
    """Rotate the pairs of query and key of a step: 2 x pairs x 2."""
    at_query, at_key, pairs, which = PLAN[step]
    positions = torch.tensor([at_query, at_key])
    return rotate(tensor(CONTENTS[which]), positions, layout="interleaved").view(2, 4, 2)[:, :pairs]


def arrow(mark):
    """Where a drawn arrow points to, as a part of the longest one."""
    angle = -math.radians(float(re.search(r"rotate\((\S+)\)", mark["transform"])[1]))
    length = float(re.match(r"M0 0L([\d.]+) 0", mark["d"])[1]) / 94
    return [length * math.cos(angle), length * math.sin(angle)]


def check_rotary_steps(root, values):
    assert values["sentences"] == RotarySteps().sentences
    for step, (at_query, at_key, pairs, _) in enumerate(PLAN):
        seen, both = Scene(root, step + 1), turned(step)
        places = (tensor(seen.numbers("ex-place", "cx")) - 10) / 320 * 44
        torch.testing.assert_close(places, tensor([at_query, at_key]), rtol=0, atol=1e-2)
        for name, vectors in zip(("ex-of-query", "ex-of-key"), both, strict=True):
            drawn = [mark for mark in seen.all(name, "path") if mark["opacity"] == "1"]
            torch.testing.assert_close(tensor([arrow(m) for m in drawn]), vectors / LONGEST, rtol=0, atol=2e-3)
        dials = [mark for mark in seen.all("ex-face") if mark["visibility"] == "visible"]
        products = (both[0] * both[1]).sum(-1)
        angles = [math.atan2(q[1], q[0]) - math.atan2(k[1], k[0]) for q, k in zip(*both.tolist(), strict=True)]
        shown = tensor([[float(x) for x in dial["data-values"].split()] for dial in dials])
        torch.testing.assert_close(shown[:, 0], products, rtol=0, atol=1e-6)
        torch.testing.assert_close(shown[:, 1].cos(), tensor(angles).cos(), rtol=0, atol=1e-6)
        torch.testing.assert_close(shown[:, 1].sin(), tensor(angles).sin(), rtol=0, atol=1e-6)
        for dial, arc in zip(shown, seen.all("ex-between"), strict=False):  # from the key to the query
            x, y = (float(part) for part in arc["points"].split()[-1].split(","))
            assert math.atan2(-y, x) == pytest.approx(dial[1].item(), abs=1e-3)
            assert arc["points"].startswith("36.00,")
        told = " ".join(seen.texts)
        assert number(re.search(r"score (\S+)", told)[1]) == pytest.approx(products.sum().item(), abs=5.1e-4)
        assert f"query at {at_query} key at {at_key} distance {at_query - at_key}" in told
        rates = [number(x) for x in re.findall(r"ω = (\S+)", told)]
        assert rates == pytest.approx([10000 ** (-i / 4) for i in range(4)])
        words = [number(x) for x in re.findall(r"q·k (\S+)", told)][:pairs]
        assert words == pytest.approx(products.tolist(), abs=5.1e-3)
        assert seen.said == f"Step {step + 1} of 9. {spoken(values['sentences'][step])}"
        for i, dial in enumerate(dials):
            said = re.search(r"rotated by (\S+) and (\S+) radians, product (\S+)\.$", dial["aria-label"])
            want = [rates[i] * at_query, rates[i] * at_key, products[i].item()]
            assert [number(x) for x in said.groups()] == pytest.approx(want, abs=5.1e-3)


CHECKS = {"RotarySteps": check_rotary_steps}


def made():
    return [RotarySteps(step=8)]


def test_the_sentences_have_the_scores_of_their_steps():
    scores = [(turned(step)[0] * turned(step)[1]).sum().item() for step in range(len(PLAN))]
    for step, sentence in enumerate(RotarySteps().sentences):
        assert f"{scores[step]:.3f}".replace("-", "−") in sentence, (step, scores[step])
    assert scores[2] == pytest.approx(scores[1])
    assert scores[5] == pytest.approx(scores[4])
    assert scores[8] == pytest.approx(scores[7])
    assert len({round(scores[step], 3) for step in (0, 1, 3, 4, 6, 7)}) == 6
