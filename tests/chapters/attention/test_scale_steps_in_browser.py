"""Why the root, step by step: what the browser shows is what the package gives."""

import math
import re

import pytest
import torch

from companion.attention import attention_weights
from companion.chapters.attention.explorers.scale_steps import N_KEYS, PLAN, SEED, WIDTHS
from companion.explorers import ScaleSteps
from tests.site.browser import number, tensor
from tests.site.steps import Scene, spoken


def scores(step):
    """Draw query and keys once more, and compute the scores of a step."""
    generator = torch.Generator().manual_seed(SEED)
    query = torch.randn(1, WIDTHS[-1], generator=generator, dtype=torch.float64)
    key = torch.randn(N_KEYS, WIDTHS[-1], generator=generator, dtype=torch.float64)
    width, divisor = PLAN[step]
    return query[:, :width], key[:, :width], (query[:, :width] @ key[:, :width].mT)[0] / divisor


def weights_and_slopes(step):
    """Compute the weights of a step and their derivatives by their own scores, these by autograd."""
    query, key, row = scores(step)
    weights = attention_weights(query, key, scale=1 / PLAN[step][1])[0]
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row)
    return weights, jacobian.diagonal()


def check_scale(root, values):
    assert values["sentences"] == ScaleSteps().sentences
    for step, (width, divisor) in enumerate(PLAN):
        _, _, row = scores(step)
        weights, slopes = weights_and_slopes(step)
        seen = Scene(root, step + 1)
        drawn = (tensor(seen.numbers("ex-mark", "cx")) - 170) / 156 * 50
        torch.testing.assert_close(drawn, row, rtol=0, atol=5e-3)
        heights = tensor(seen.numbers("ex-rect", "height"))
        torch.testing.assert_close(heights[:N_KEYS] / 60, weights, rtol=0, atol=2e-4)
        torch.testing.assert_close(heights[N_KEYS:] / 160, slopes, rtol=0, atol=2e-4)
        lows = heights + tensor(seen.numbers("ex-rect", "y"))
        assert set(lows.round(decimals=2).tolist()) == {184.0, 256.0}
        (shaded,) = seen.numbers("ex-unit", "width")
        assert shaded / 312 * 50 == pytest.approx(math.sqrt(width) / divisor, abs=5e-3)
        found = {name: number(x) for name, x in re.findall(r"(spread|largest|sum) ([\d.]+)", " ".join(seen.texts))}
        wanted = {"spread": row.std(correction=0), "largest": weights.max(), "sum": slopes.sum()}
        assert found == pytest.approx({name: x.item() for name, x in wanted.items()}, abs=5.1e-3)
        best = [mark["class"].endswith("ex-best") for mark in seen.all("ex-mark")]
        assert best.index(True) == weights.argmax()
        assert sum(best) == 1
        assert seen.said == f"Step {step + 1} of 8. {spoken(values['sentences'][step])}"
        for k, mark in enumerate(seen.all("ex-hit")):
            said = re.fullmatch(r"Key (\d+): score (\S+), weight (\S+), derivative ([\d.]+)\.", mark["aria-label"])
            told = [row[k].item(), weights[k].item(), slopes[k].item()]
            assert int(said[1]) == k + 1
            assert [number(said[n]) for n in (2, 3, 4)] == pytest.approx(told, abs=5.1e-3)


CHECKS = {"ScaleSteps": check_scale}


def made():
    return [ScaleSteps(step=4)]


def test_the_sentences_have_the_numbers_of_their_steps():
    sentences = ScaleSteps().sentences
    for step, sentence in enumerate(sentences):
        weights, slopes = weights_and_slopes(step)
        spread = f"{scores(step)[2].std(correction=0):.2f}"
        assert spread in sentence, (step, spread)
        for name, x in (("largest weight|One key has", weights.max()), ("derivatives add up", slopes.sum())):
            words = {0.0: "less than 0.001", 1.0: "more than 0.999"}.get(round(x.item(), 3), f"{x:.3f}")
            assert not re.search(name, sentence) or words in sentence, (step, name, words)
    assert (
        f"{weights_and_slopes(2)[1].sum():.3f} in total, {weights_and_slopes(0)[1].sum():.3f} in step 1."
        in sentences[2]
    )


def test_the_softmax_freezes_and_the_division_brings_it_back():
    spreads = [scores(step)[2].std(correction=0).item() for step in range(len(PLAN))]
    wanted = [math.sqrt(width) / divisor for width, divisor in PLAN]
    assert spreads == pytest.approx(wanted, rel=0.13)
    tops, sums = zip(*((w.max().item(), s.sum().item()) for w, s in map(weights_and_slopes, range(5))), strict=True)
    assert list(tops) == sorted(tops)
    assert list(sums) == sorted(sums, reverse=True)
    assert tops[4] > 0.999
    assert sums[4] < 0.001
    for step in (5, 6):
        weights, slopes = weights_and_slopes(step)
        assert weights.max() < 0.2
        assert slopes.sum() > 0.95
