"""What temperature, top-k, top-p and min-p leave: the browser shows what PyTorch gives, in the order of ``sample``."""

import itertools
import math
import re

import pytest
import torch

from companion import generate
from companion.chapters.generation.explorers.sampling_rules import BEGINNINGS, SPEAKER
from companion.chapters.training import small_gpt
from companion.explorers import SamplingRules
from companion.generate import keep_min_p, keep_top_k, keep_top_p
from tests.site.browser import assert_shows, moves, number, put, tensor, tour
from tests.tools.traits import assert_takes_and_refuses

SHOWN, HIGH = 20, 176
SIGNS, NAMES = {" ": "␣", "\n": "↵"}, {" ": "space", "\n": "new line"}
RULES = ("temperature", "top-k", "top-p", "min-p")
STATES = (
    (1.0, 65, 1.0, 0.0),
    (0.1, 65, 1.0, 0.0),
    (2.0, 65, 1.0, 0.0),
    (1.0, 1, 1.0, 0.0),
    (1.0, 5, 1.0, 0.0),
    (1.0, 65, 0.8, 0.0),
    (1.0, 65, 0.05, 0.0),
    (1.0, 65, 1.0, 0.1),
    (0.7, 30, 0.9, 0.02),
    (1.5, 8, 0.6, 0.05),
    (2.0, 64, 0.95, 0.01),
)
MARKS = """(root) => ({
  after: tools.snapshot(root).bars,
  before: [...root.querySelectorAll(".ex-whole")].map((bar) => Number(bar.getAttribute("height"))),
  gone: [...root.querySelectorAll(".ex-whole")].map((bar) => bar.classList.contains("ex-gone")),
  texts: [...root.querySelectorAll(".ex-plot > text")].map((text) => text.textContent),
  says: [...root.querySelectorAll(".ex-hit")].map((hit) => hit.getAttribute("aria-label")),
})"""


def stages(logits, temperature, top_k, top_p, min_p):
    """Give the logits after each rule, from the package's functions."""
    warm = tensor(logits) / temperature
    best = keep_top_k(warm, top_k)
    nucleus = keep_top_p(best, top_p)
    return [tensor(logits), warm, best, nucleus, keep_min_p(nucleus, min_p) if min_p else nucleus]


def check(root, values):
    logits = [[float(x) for x in row.split()] for row in values["logits"]]
    cases = [*itertools.product(range(len(logits)), STATES)]
    names = ("temperature", "top_k", "top_p", "min_p")
    stops = [moves(prompt=str(prompt), **dict(zip(names, state, strict=True))) for prompt, state in cases]
    for got, (prompt, state) in zip(tour(root, stops), cases, strict=True):
        where = (values["beginnings"][prompt], state)
        left = stages(logits[prompt], *state)
        p = torch.stack(left).softmax(-1)
        drawn = tensor([float(x) for x in got["data"]["drawn"].split()])
        torch.testing.assert_close(drawn, p[-1], rtol=0, atol=6e-8, msg=lambda m, where=where: f"{where}: {m}")
        assert got["data"]["order"] == " ".join(map(str, p[0].argsort(descending=True, stable=True).tolist())), where
        kept = torch.stack(left).isfinite()
        counts = kept.sum(-1)
        want = torch.stack([counts, (p[1] * kept).sum(-1), torch.special.entr(p).sum(-1) / math.log(2)], -1)
        assert [row[1] for row in got["cells"]["rules"]] == [str(n) for n in counts.tolist()], where
        for column, digits in ((1, 3), (2, 2)):
            assert_shows(
                [[row[column + 1]] for row in got["cells"]["rules"]], want[:, column : column + 1], where, digits=digits
            )
        temperature, top_k, top_p, min_p = state
        assert [row[0] for row in got["cells"]["rules"]] == [
            "–",
            f"÷ {temperature:.1f}",
            "off" if top_k == 65 else f"best {top_k}",
            "off" if top_p == 1 else f"sum {top_p:.2f}",
            f"≥ {min_p * p[3].max():.3f}" if min_p else "off",
        ], where
        n, share, bits = want[-1].tolist()
        plural = "" if n == 1 else "s"
        assert f"the rules leave {n:.0f} character{plural} of 65 and a share of {share:.3f} of" in got["words"], where
        assert f"entropy is {bits:.2f} bits, in the model {want[0, 2]:.2f}." in got["words"], where
        found = [int(torch.isfinite(stages(row, *state)[-1]).sum()) for row in logits]
        assert [int(x) for x in re.findall(r"”\s(\d+)", got["lead"])] == found, where
    for prompt, state in ((0, STATES[2]), (len(logits) - 1, STATES[8]), (1, STATES[4])):
        put(root, prompt=str(prompt), **dict(zip(names, state, strict=True)))
        compare_bars(root, stages(logits[prompt], *state), (prompt, state))


def compare_bars(root, left, where):
    """Hold the drawing against the logits after each rule: heights, crosses, and what is heard of each bar."""
    got = root.evaluate(MARKS)
    p, kept = torch.stack(left).softmax(-1), torch.stack(left).isfinite()
    order = p[0].argsort(descending=True, stable=True).tolist()
    groups = [*([token] for token in order[:SHOWN]), order[SHOWN:]]
    before, after = (tensor([row[group].sum().item() for group in groups]) for row in (p[0], p[-1]))
    assert [number(text) for text in got["texts"][:3]] == [0, 0.5, 1], where
    for name, want in (("before", before), ("after", after)):
        torch.testing.assert_close(tensor(got[name]) / (HIGH - 46), want, rtol=0, atol=1e-3)
    cut = [not kept[-1][group].any().item() for group in groups]
    assert got["gone"] == cut, where
    letters = [SIGNS.get(symbol, symbol) for symbol in (small_gpt.symbols()[token] for token in order[:SHOWN])]
    assert got["texts"][3::2] == [*letters, "rest"], where
    assert got["texts"][4::2] == ["×" if gone else "" for gone in cut], where
    for token, says in zip(order, got["says"][:-1], strict=False):
        symbol = small_gpt.symbols()[token]
        assert says.startswith(f"{NAMES.get(symbol, f'“{symbol}”')}: "), where
        first = [name for rule, name in enumerate(RULES, 1) if not kept[rule][token]][:1]
        assert re.findall(r"cut by (.*)\.$", says) == first, (where, says)
        told = [p[0][token], *([] if first else [p[-1][token]])]
        for text, want in zip(re.findall(r"[\d.]+\d", says.partition(": ")[2]), told, strict=True):
            assert float(text) == pytest.approx(want.item(), abs=5.1e-4 if want >= 5e-4 else 1e-3), (where, says)
    rest = groups[-1]
    many = int(kept[-1][rest].sum())
    assert got["says"][-1].startswith(f"The {len(rest)} others together: "), where
    assert got["says"][-1].endswith(f"which leave {many}." if many else "all cut."), (where, got["says"][-1])


CHECKS = {"SamplingRules": check}


def made():
    return [SamplingRules(["I lov", "The ", "O"], prompt=1, temperature=1.4, top_k=30, top_p=0.9, min_p=0.05)]


@pytest.mark.parametrize(
    ("name", "good", "bad", "rule"),
    [
        ("prompt", 3, 4, "prompt is a whole number from 0 to 3: got 4"),
        ("temperature", 0.1, 0.0, "temperature is a number from 0.1 to 2.0: got 0.0"),
        ("top_k", 1, 0, "top_k is a whole number from 1 to 65: got 0"),
        ("top_k", 64, 2.5, "top_k is a whole number from 1 to 65: got 2.5. Round it"),
        ("top_p", 0.05, 0.0, "top_p is a number from 0.05 to 1.0: got 0.0"),
        ("top_p", 0.5, math.nan, "top_p is a number from 0.05 to 1.0: got nan"),
        ("min_p", 0.5, 0.6, "min_p is a number from 0.0 to 0.5: got 0.6"),
    ],
)
def test_what_a_reader_sets_is_taken_or_refused(name, good, bad, rule):
    assert_takes_and_refuses(SamplingRules(), name, good, bad, rule)


@pytest.mark.parametrize(
    ("beginnings", "rule"),
    [
        (["O"], r"compares 2 to 4 beginnings of 1 to 16 characters: got \['O'\]. Leave some out"),
        (["O", ""], "2 to 4 beginnings of 1 to 16 characters"),
        (["O"] * 5, "2 to 4 beginnings of 1 to 16 characters"),
        (["O", "a" * 17], "or shorten them"),
        (["O", "é"], r"the model knows the 65 characters of its text: got \['é'\]"),
    ],
)
def test_beginnings_that_the_figure_cannot_show_are_refused(beginnings, rule):
    with pytest.raises(ValueError, match=rule):
        SamplingRules(beginnings)


@torch.no_grad()
def test_the_logits_of_the_figure_are_those_of_the_released_model():
    figure = SamplingRules()
    for text, logits in zip(BEGINNINGS, figure.logits, strict=True):
        want = small_gpt.load()(small_gpt.encode(SPEAKER + text)[None])[0, -1]
        torch.testing.assert_close(tensor(logits), want.double(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("state", STATES)
def test_the_figure_applies_the_rules_in_the_order_of_sample(monkeypatch, state):
    """What `sample` draws from is seen where it draws; a temperature of 0.1 makes ten of what the figure rounds."""
    seen, draw = [], torch.multinomial
    monkeypatch.setattr(torch, "multinomial", lambda p, *rest, **more: (seen.append(p), draw(p, *rest, **more))[1])
    temperature, top_k, top_p, min_p = state
    for prompt, text in enumerate(BEGINNINGS):
        figure = SamplingRules(prompt=prompt, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
        rules = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p or None}
        start = small_gpt.encode(SPEAKER + text)[None]
        generate.sample(small_gpt.load(), start, 1, generator=torch.Generator().manual_seed(0), **rules)
        (want,) = seen.pop()
        assert torch.equal(figure.probabilities()[-1] > 0, want > 0)
        torch.testing.assert_close(figure.probabilities()[-1], want, rtol=0, atol=3e-4)
        assert seen == []


def test_the_page_is_right_about_what_the_rules_leave():
    left = {
        name: [int((SamplingRules(prompt=prompt, **rule).probabilities()[-1] > 0).sum()) for prompt in range(4)]
        for name, rule in {"k": {"top_k": 5}, "p": {"top_p": 0.8}, "min": {"min_p": 0.1}}.items()
    }
    assert left == {"k": [5, 5, 5, 5], "p": [1, 2, 3, 12], "min": [1, 2, 5, 17]}
    own = SamplingRules(prompt=3).probabilities()[0].sort(descending=True).values
    assert own[:5].sum() == pytest.approx(0.47, abs=0.005)
    sure = SamplingRules(prompt=0).probabilities()[0].sort(descending=True).values
    assert sure[1:5].sum() == pytest.approx(0.002, abs=5e-5)
    warm = [
        [int((SamplingRules(prompt=prompt, temperature=2, **rule).probabilities()[-1] > 0).sum()) for prompt in (0, 3)]
        for rule in ({"top_p": 0.8}, {"min_p": 0.1})
    ]
    assert warm == [[1, 21], [1, 33]]
