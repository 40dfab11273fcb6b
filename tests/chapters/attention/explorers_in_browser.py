"""The explorers of the chapter on attention: what the browser shows is what the package gives."""

import itertools
import math
import re

import pytest
import torch

from companion import masks
from companion.attention import attention, attention_weights
from companion.chapters.attention.explorers.softmax import MEASURES, SCALINGS, WIDTHS, scale_of
from companion.explorers import AttentionMap, AttentionWalk, MaskExplorer, ScalingExplorer, SoftmaxExplorer
from tests.site.browser import assert_right_as_shown, assert_shows, moves, number, put, tensor, tour


def check_walk(root, values):
    q, k, v = (tensor(values[name]) for name in ("query", "key", "value"))
    t_q, t_k = len(q), len(k)
    padding = masks.padding([values["length"]], t_k)[0]
    built = {"none": None, "padding": padding}
    if t_q <= t_k:
        built |= {"causal": masks.causal(t_q, t_k), "both": masks.and_masks(masks.causal(t_q, t_k), padding)}
    if values["length"] == t_k:  # where no key is padding, its masks are not offered
        built = {name: mask for name, mask in built.items() if name in ("none", "causal")}
    offered = root.evaluate("root => [...root.querySelectorAll('[data-trait=mask]')].map((one) => one.value)")
    assert set(offered) == set(built)
    stops, wanted = [], []
    for (name, mask), scaled in itertools.product(built.items(), (True, False)):
        scale = 1 / math.sqrt(q.shape[1]) if scaled else 1.0
        logits = q @ k.mT * scale
        stages = {
            "scores": ("scores", q @ k.mT),
            "scale": ("logits", logits),
            "mask": ("masked", logits if mask is None else logits.masked_fill(~mask, -torch.inf)),
            "softmax": ("weights", attention_weights(q, k, mask, scale=scale)),
            "sum": ("output", attention(q, k, v, mask, scale=scale)),
        }
        for stage, (matrix, want) in stages.items():
            stops.append((moves(mask=name, scaled=scaled, stage=stage), matrix))
            wanted.append((name, scaled, stage, matrix, want))
    for got, (name, scaled, stage, matrix, want) in zip(tour(root, stops), wanted, strict=True):
        where = f"mask {name}, scaled {scaled}, {stage}"
        assert_shows(got["cells"][matrix], want, where, digits=3 if stage == "softmax" else 2)
        if stage in ("mask", "softmax"):
            plain = "scaled scores" if scaled else "scores"
            hides = built[name] is not None and not built[name].all()
            assert got["captions"]["masked"] == ("masked scores" if hides else plain), where
        padded = f", {' '.join(values['key_tokens'][values['length'] :])}, count"
        assert (padded in got["lead"]) == (name in ("padding", "both")), (where, got["lead"])
        assert len(got["worked"]) == want.numel()
        for text, digits in got["worked"]:
            assert text in digits.split() or number(text) == 0, (where, text, digits)
            if " = " in digits and "∞" not in digits:
                assert_right_as_shown(digits, where)


def check_scaling(root, values):
    states = [(width, scaling) for width in WIDTHS for scaling in SCALINGS]
    stops = [moves(d_k=WIDTHS.index(width) + 1, scaling=scaling, draw=True) for width, scaling in states]
    for got, (width, scaling) in zip(tour(root, stops), states, strict=True):
        w, s, draw = WIDTHS.index(width), SCALINGS.index(scaling), int(got["data"]["draw"])
        where = (width, scaling, draw)
        dots = tensor([float(x) for x in values["dots"][w][draw].split()])
        scale = scale_of(scaling, width)
        p = attention_weights(torch.ones(1, 1, dtype=torch.float64), dots[:, None], scale=scale)[0]
        want = {
            "sd": (dots * scale).std(correction=0),
            "top": p.max(),
            "gradient": tensor(float(values["gradients"][w][s].split()[draw])),
        }
        assert [name for name, _, _ in got["measures"]] == list(want)
        for name, exact, texts in got["measures"]:
            this, median, low = (float(x) for x in exact.split())
            assert this == pytest.approx(want[name].item(), rel=1e-6, abs=1e-8), (where, name)
            quantiles = [float(x) for x in values["quantiles"][w][s][MEASURES.index(name)].split()]
            assert [low, median] == pytest.approx(quantiles[:2], rel=1e-7), (where, name)
            for text, value in zip(texts, (this, median, low), strict=True):
                digits, _, power = text.partition("×10")
                plain = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
                assert float(digits) * 10 ** int(plain or 0) == pytest.approx(value, rel=0.0051), (name, text)
        shown = {name: texts for name, _, texts in got["measures"]}
        readout = [shown["sd"][0], shown["top"][0], *shown["gradient"][1:]]
        assert re.findall(r"(?:of|is|than) (\d\S*)[.,;] ", f"{got['words']} ") == readout, where
        # The drawings, read by the numbers on their axes, which are the smallest of the steps that hold the query.
        ticks = [number(text) for text in got["ticks"]]
        reach, top = ticks[4], ticks[7]
        assert ticks == pytest.approx([-reach, -reach / 2, 0, reach / 2, reach, 0, top / 2, top]), where
        largest = (dots * scale).abs().max().item()
        assert reach == min(step for step in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if step >= largest), where
        assert top == min(step for step in (0.03, 0.1, 0.3, 1) if step >= p.max().item()), where
        torch.testing.assert_close((tensor(got["marks"]) - 170) / 162 * reach, dots * scale, rtol=0, atol=1e-4 * reach)
        heights = tensor(got["bars"]) / 104 * top
        torch.testing.assert_close(heights, p.sort(descending=True).values, rtol=0, atol=1e-3 * top)
        assert (112 - got["even"]) / 104 * top == pytest.approx(1 / len(p), abs=1e-3 * top), where
        assert got["unit"] / 324 * reach == pytest.approx(min(1, reach), abs=1e-3 * reach), where


def check_softmax(root, values):
    tokens, held = values["tokens"], tensor(values["values"])
    states = [*itertools.product((-2, -0.5, 0, 1), (-10, 0, 2.5), ([0.0] * len(tokens), values["scores"]))]
    states.append((0, 0, [6 - 2.5 * i for i in range(len(tokens))]))
    stops = [
        moves(temperature=exponent, shift=shift, **{f"scores__{i}": score for i, score in enumerate(scores)})
        for exponent, shift, scores in states
    ]
    for got, (exponent, shift, scores) in zip(tour(root, stops), states, strict=True):
        temperature = float(f"{10**exponent:.4g}")
        column = tensor(scores)[:, None] + shift
        p = attention_weights(torch.ones(1, 1, dtype=torch.float64), column, scale=1 / temperature)[0]
        exact = tensor([float(x) for x in got["data"]["weights"].split()])
        torch.testing.assert_close(exact, p, rtol=0, atol=2e-6)
        assert number(got["data"]["average"]) == pytest.approx((p @ held).item(), abs=1e-4)
        torch.testing.assert_close(tensor([number(t) for t in got["weights"]]), p, rtol=0, atol=5.1e-4)
        assert number(got["average"]) == pytest.approx((p @ held).item(), abs=5.1e-3)
        assert ("changes no weight" in got["words"]) == (shift != 0)
        spread = {-1: "lie further apart", 0: "", 1: "lie closer together"}[(exponent > 0) - (exponent < 0)]
        assert spread in got["words"]
        assert ("Divided by" in got["words"]) == (exponent != 0)


MAP = """(root) => {
  const cells = [...root.querySelectorAll("[data-matrix=weights] .ex-cell")];
  const lists = [...root.querySelectorAll("[data-matrix=weights] .ex-head[data-i]")].map((head) => {
    head.focus();
    return [root.querySelector(".ex-side .ex-caption").textContent,
      [...root.querySelectorAll(".ex-topkey")].map((row) => [row.firstChild, row.lastChild].map((n) => n.textContent))];
  });
  return [cells.map((c) => [c.getAttribute("aria-label"), c.classList.contains("ex-hidden"),
    Number(c.style.getPropertyValue("--a"))]), lists];
}"""


def check_map(root, values):
    assert "rows: queries, columns: keys" in root.inner_text()
    for e, example in enumerate(values["examples"]):
        if len(values["examples"]) > 1:
            put(root, example=e)
        queries, keys = example["queries"], example["keys"]
        for head, weights in enumerate(example["weights"]):
            if len(example["heads"]) > 1:
                put(root, head=head)
            labels, lists = root.evaluate(MAP)
            flat = [
                (q, k, weights[i][j], example["mask"] is not None and not example["mask"][i][j])
                for i, q in enumerate(queries)
                for j, k in enumerate(keys)
            ]
            assert len(labels) == len(flat)
            for (label, hidden, tint), (query, key, weight, masked) in zip(labels, flat, strict=True):
                assert label.startswith(f"{query} to {key}: ")
                assert number(label.rsplit(" ", 1)[1]) == pytest.approx(weight, abs=5.1e-4)
                assert hidden == masked
                assert tint == pytest.approx(weight, abs=1e-3)
            for query, row, (title, listed) in zip(queries, weights, lists, strict=True):
                ranked = sorted(zip(row, keys, strict=True), key=lambda pair: -pair[0])
                count = len(keys) if len(keys) <= 8 else 5
                assert title == f"{query} looks at" + (f": top 5 of {len(keys)}" if count < len(keys) else "")
                assert [key for key, _ in listed] == [key for _, key in ranked[:count]]
                for (_, text), (weight, _) in zip(listed, ranked, strict=False):
                    assert number(text) == pytest.approx(weight, abs=5.1e-4)


def run_code(code, scores, names):
    """Run the lines that the figure shows, on inputs that turn the scores into weights, as a batch of one."""
    t_k = scores.shape[1]
    layer = torch.nn.MultiheadAttention(t_k, 1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():  # projections that change nothing
        layer.in_proj_weight.copy_(torch.eye(t_k).repeat(3, 1))
    eye = torch.eye(t_k, dtype=torch.float64)[None]
    names |= {"scores": scores[None], "query": scores[None] * math.sqrt(t_k), "key": eye, "value": eye, "layer": layer}
    exec(code, names)
    if names["mask"] is None:
        return scores.softmax(-1)
    return names.get("weights", names.get("output")).detach()[0]


def check_masks(root, values):
    model, stops, wanted = MaskExplorer(), [], []
    sizes = [(1, 1), (2, 5), (6, 6), (4, 2)]
    conventions = {"look": ("True", "False"), "hide": ("False", "True"), "additive": ("0", "−∞")}
    patterns = itertools.product(sizes, ("every", "causal", "window"), (None, 0, 1, 6), conventions)
    for (t_q, t_k), pattern, length, convention in patterns:
        size = min(4 if length == 6 else 2, t_k)  # the slider ends at t_k, and a longer window hides nothing more
        model.t_q, model.t_k, model.pattern, model.size = t_q, t_k, pattern, size
        model.padded, model.length, model.convention = length is not None, length or 0, convention
        state = {"pattern": pattern, "padded": model.padded, "t_q": t_q, "t_k": t_k, "size": size}
        stops.append(moves(**state, length=model.length, convention=convention))
        where = f"{state}, {length}, {convention}"
        refused = pattern != "every" and t_q > t_k
        if refused:
            with pytest.raises(ValueError, match="last query stands at the last key"):
                model.boolean_mask()
        wanted.append(None if refused else (where, convention, model.boolean_mask(), t_q, t_k))
    for got, case in zip(tour(root, stops), wanted, strict=True):
        assert got["refused"] == (case is None), case
        if case is None:
            continue
        where, convention, mask, t_q, t_k = case
        look = torch.ones(t_q, t_k, dtype=torch.bool) if mask is None else mask.expand(1, t_q, t_k)[0]
        yes, no = conventions[convention]
        assert got["cells"]["mask"] == [[yes if may else no for may in row] for row in look.tolist()], where
        names = {"masks": masks, "attention": attention, "torch": torch}
        weights = run_code(got["code"], tensor(values["scores"])[:t_q, :t_k], names)
        assert_shows(got["cells"]["weights"], weights, where)
        assert (names["mask"] is None) if mask is None else torch.equal(names["mask"], mask), where
        if mask is not None:
            assert got["code"].split("\n")[0].endswith(f"# shape {tuple(mask.shape)}"), where
        empty = not look.any(dim=1).all()
        assert ("may look at no key" in got["words"]) == empty, where
        assert ("NaN" in got["words"]) == (empty and convention != "look"), where


CHECKS = {
    "AttentionWalk": check_walk,
    "ScalingExplorer": check_scaling,
    "SoftmaxExplorer": check_softmax,
    "AttentionMap": check_map,
    "MaskExplorer": check_masks,
}


def made():
    generator = torch.Generator().manual_seed(3)
    weights = torch.randn(2, 3, 7, generator=generator).softmax(-1)
    wide = torch.randn(10, 10, generator=generator).masked_fill(~masks.causal(10), -torch.inf).softmax(-1)
    letters = list("abcdefghij")
    return [
        AttentionWalk(
            ["one", "two", "three"],
            [[1.5, -1.0, 0.0], [0.0, 2.0, 1.0], [-2.0, 0.5, 3.0]],
            [[2.0, 0.0, 1.0], [0.0, -1.0, 1.0], [1.0, 1.0, -0.25], [4.0, 1.0, 6.0]],
            [[1.0, 0.0], [0.0, 3.5], [-1.0, 1.0], [2.0, 2.0]],
            key_tokens=["a", "b", "c", "d"],
            length=2,
            stage="sum",
            mask="both",
            scaled=False,
        ),
        SoftmaxExplorer(["x", "y", "z"], [1.0, 2.0, 0.0], [-3.0, -1.0, 4.0], temperature=0.5, shift=-2.0),
        AttentionMap(
            [
                {"title": "two heads", "queries": letters[:3], "keys": letters[:7], "weights": weights},
                {"title": "wide", "queries": letters, "keys": letters, "weights": wide, "mask": masks.causal(10)},
            ],
            head=1,
        ),
        MaskExplorer(pattern="window", t_q=6, t_k=6, length=3, convention="additive", seed=5),
        ScalingExplorer(d_k=1024, scaling="sqrt", draw=7, measure="entropy", seed=2),
    ]
