"""Every explorer in a real browser: each control does something, quickly, and what it shows is what the package gives.

First the explorers on the pages of the built site, whichever they are; then pages made here from explorers in states
that the site need not have.
"""

import itertools
import json
import math
import re
from pathlib import Path

import pytest
import torch

from companion import masks
from companion.attention import attention, attention_weights
from companion.widgets import (
    AttentionMap,
    AttentionWalk,
    HeadGrid,
    HeadSizes,
    HeadSwitches,
    MaskExplorer,
    ScalingExplorer,
    SoftmaxExplorer,
)
from companion.widgets.heads import HEADS, LENGTHS, QUANTITIES
from companion.widgets.heads import WIDTHS as MODEL_WIDTHS
from companion.widgets.softmax import SCALINGS, WIDTHS, scale_of

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
SLOW_MS = 100  # a step takes a few; a control that takes more than this feels stuck

TOOLS = """
window.tools = {
  // What a reader sees of a figure, without the control that was moved and without what is only heard.
  seen(root, control) {
    const own = control && control.closest(".ex-field, fieldset, .ex-toggle, .ex-key");
    if (own) own.setAttribute("data-own", "");
    const copy = root.cloneNode(true);
    if (own) own.removeAttribute("data-own");
    copy.querySelectorAll("[data-own], .ex-heard, script, noscript").forEach((node) => node.remove());
    copy.querySelectorAll("*").forEach((node) => [...node.attributes].forEach(({ name }) => {
      if (/^(data-|id$|for$|name$|tabindex$|aria-)/.test(name)) node.removeAttribute(name);
    }));
    return copy.innerHTML;
  },
  put(root, trait, value) {
    const controls = [...root.querySelectorAll(`[data-trait="${trait}"]`)];
    if (!controls.length) throw new Error(`no control for ${trait}`);
    const [first] = controls;
    const control = first.type === "radio" ? controls.find((c) => c.value === value) : first;
    if (first.type === "radio" || first.type === "checkbox") control.checked = first.type === "radio" || value;
    else if (first.tagName === "SELECT") control.selectedIndex = value;
    else if (first.tagName === "BUTTON") return control.click();
    else control.value = value;
    control.dispatchEvent(new Event(first.type === "range" ? "input" : "change", { bubbles: true }));
  },
  cells(root, name) {
    const rows = [...root.querySelectorAll(`[data-matrix="${name}"] .ex-row`)];
    return rows.map((row) => [...row.querySelectorAll(".ex-cell")].map((cell) => cell.textContent))
      .filter((row) => row.length);
  },
  // All that the comparisons below read.
  snapshot(root) {
    const all = (selector) => [...root.querySelectorAll(selector)];
    const texts = (selector) => all(selector).map((node) => node.textContent);
    const numbers = (selector, name) => all(selector).map((node) => Number(node.getAttribute(name)));
    const tables = all("[data-matrix]").map((table) => table.dataset.matrix);
    const caption = (name) => root.querySelector(`[data-matrix="${name}"]`).closest(".ex-panel").firstChild.textContent;
    return {
      data: { ...root.querySelector(".explorer").dataset },
      cells: Object.fromEntries(tables.map((name) => [name, this.cells(root, name)])),
      captions: Object.fromEntries(tables.map((name) => [name, caption(name)])),
      words: texts(".ex-readout")[0],
      lead: texts(".ex-lead")[0],
      code: texts(".ex-code")[0],
      refused: all(".ex-refusal").some((node) => node.offsetParent !== null),
      measures: all("[data-measure]").map((row) => [row.dataset.measure, row.dataset.values,
        [...row.children].slice(1).map((cell) => cell.textContent)]),
      ticks: texts(".ex-plot > text"),
      marks: numbers(".ex-mark", "cx"),
      bars: numbers(".ex-rect", "height"),
      even: numbers(".ex-uniform", "y1")[0],
      unit: numbers(".ex-unit", "width")[0],
      weights: texts("[data-weight]"),
      average: texts(".ex-average")[0],
    };
  },
  // A snapshot after each list of moves; `table` also gives each of its cells with the arithmetic behind it.
  tour(root, stops) {
    return stops.map(([moves, table]) => {
      moves.forEach(([name, value]) => this.put(root, name, value));
      const worked = table ? [...root.querySelectorAll(`[data-matrix="${table}"] .ex-cell`)].map((cell) => {
        cell.focus();
        return [cell.textContent, root.querySelector(".ex-digits").textContent];
      }) : [];
      return { ...this.snapshot(root), worked };
    });
  },
  // Move every control to an end, those that appear on the way too.
  stir(root) {
    for (const turn of [1, 2]) {
      const controls = [...root.querySelectorAll("input, select, button")];
      for (const control of controls.filter((c) => c.offsetParent !== null)) {
        if (["radio", "checkbox"].includes(control.type)) control.checked = true;
        else if (control.tagName === "SELECT") control.selectedIndex = control.options.length - 1;
        else if (control.type === "range") control.value = control.max;
        if (control.tagName === "BUTTON") control.click();
        else control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
      }
    }
  },
  // Milliseconds from an input to the finished layout, the median of five, for each control.
  times(root) {
    const shown = [...root.querySelectorAll("input, select, button")].filter((c) => c.offsetParent !== null);
    return shown.map((control) => {
      const once = (turn) => {
        if (control.type === "radio") {
          const other = [...document.getElementsByName(control.name)].find((c) => c !== control);
          other.checked = true;
          other.dispatchEvent(new Event("change", { bubbles: true }));
          control.checked = true;
        }
        else if (control.type === "checkbox") control.checked = !control.checked;
        else if (control.tagName === "SELECT") control.selectedIndex = turn % control.options.length;
        else if (control.type === "range") control.value = turn % 2 ? control.min : control.max;
        const start = performance.now();
        if (control.tagName === "BUTTON") control.click();
        else control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
        root.getBoundingClientRect();
        return performance.now() - start;
      };
      return [control.dataset.trait, [0, 1, 2, 3, 4].map(once).sort((a, b) => a - b)[2]];
    });
  },
};
"""


# ---- What the package gives, beside what the browser shows


def number(text):
    """Read a number as a figure writes it."""
    return float(text.replace("−", "-").replace("∞", "inf"))


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def moves(**traits):
    return [[name.replace("__", "-"), value] for name, value in traits.items()]


def put(root, **traits):
    root.evaluate("(root, moves) => moves.forEach(([name, value]) => tools.put(root, name, value))", moves(**traits))


def tour(root, stops):
    """Put a figure into one state after another; what it shows in each. A stop is moves, or moves and a table."""
    stops = [stop if isinstance(stop, tuple) else (stop, None) for stop in stops]
    return root.evaluate("(root, stops) => tools.tour(root, stops)", [list(stop) for stop in stops])


def shown(root, matrix):
    return table(root.evaluate("(root, name) => tools.cells(root, name)", matrix))


def table(texts):
    return tensor([[number(text) for text in row] for row in texts])


def assert_shows(texts, want, where, digits=2):
    got = table(texts)
    assert got.shape == want.shape, where
    torch.testing.assert_close(
        got, want, rtol=0, atol=0.51 * 10**-digits, equal_nan=True, msg=lambda m: f"{where}: {m}"
    )


def value_of(side):
    """Compute one side of an equation that a figure shows."""
    text = side.replace("−", "-").replace("×", "*")
    text = re.sub(r"√([\d.]+)", r"math.sqrt(\1)", re.sub(r"e\^(\([-\d.]+\)|[\d.]+)", r"math.exp(\1)", text))
    assert re.fullmatch(r"(math\.(exp|sqrt)|[-+*/. ()\d])+", text), text
    return eval(text, {"math": math})


def assert_right_as_shown(line, where):
    """Each side, computed from its own digits, gives the next one to the last digit shown; fractions part by part."""
    assert not re.search(r"/ 0\.0+( |$)", line), f"{where}: a division by 0 in {line}"
    sides = line.split(" = ")
    for left, right in itertools.pairwise(sides):
        pairs = zip(left.split(" / "), right.split(" / "), strict=True) if " / " in right else [(left, right)]
        for computed, printed in pairs:
            digits = len(printed.partition(".")[2]) if re.fullmatch(r"[−\d.]+", printed) else 9
            error = abs(value_of(computed) - value_of(printed))
            assert error <= 0.5 * 10**-digits + 1e-9, f"{where}: {computed} is not {printed} in {line}"


def check_walk(root, values):
    q, k, v = (tensor(values[name]) for name in ("query", "key", "value"))
    t_q, t_k = len(q), len(k)
    padding = masks.padding([values["length"]], t_k)[0]
    built = {"none": None, "padding": padding}
    if t_q <= t_k:
        built |= {"causal": masks.causal(t_q, t_k), "both": masks.joint(masks.causal(t_q, t_k), padding)}
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
            "entropy": torch.special.entr(p).sum(),
            "slope": (p.diag() - p[:, None] * p).norm(),
            "gradient": tensor(float(values["gradients"][w][s].split()[draw])),
        }
        assert [name for name, _, _ in got["measures"]] == list(want)
        for m, (name, exact, texts) in enumerate(got["measures"]):
            this, median, low = (float(x) for x in exact.split())
            assert this == pytest.approx(want[name].item(), rel=1e-6, abs=1e-8), (where, name)
            quantiles = [float(x) for x in values["quantiles"][w][s][m].split()]
            assert [low, median] == pytest.approx(quantiles[:2], rel=1e-7), (where, name)
            for text, value in zip(texts, (this, median, low), strict=True):
                digits, _, power = text.partition("×10")
                plain = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
                assert float(digits) * 10 ** int(plain or 0) == pytest.approx(value, rel=0.06, abs=5.1e-4), (name, text)
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


CELLS = """(root, name) => [...root.querySelectorAll(`[data-matrix="${name}"] .ex-cell`)].map((cell) => {
  cell.focus();
  return [cell.getAttribute("aria-label"), root.querySelector(".ex-digits").textContent,
    root.querySelector(".ex-readout").textContent, root.querySelector(".ex-side")?.textContent];
})"""


def check_sizes(root, values):
    model = HeadSizes()
    sizes = itertools.product((64, 768, 4096), (1, 4, 64), (1, 4, 32), (128, 32768))
    for d_model, n_heads, n_kv_heads, t in sizes:
        model.d_model, model.n_heads, model.n_kv_heads, model.t = d_model, n_heads, n_kv_heads, t
        places = {"d_model": MODEL_WIDTHS.index(d_model), "t": LENGTHS.index(t)}
        put(root, **places, n_heads=HEADS.index(n_heads), n_kv_heads=HEADS.index(n_kv_heads))
        where = repr(model)
        columns = [model.numbers(), model.numbers(single=True)]
        wanted = [column[name] for name in QUANTITIES for column in columns]
        for (label, worked, _, _), number_wanted in zip(root.evaluate(CELLS, "numbers"), wanted, strict=True):
            made, _, printed = worked.rpartition(" = ")
            assert printed == f"{number_wanted:,}", (where, label)
            assert label.endswith(f": {number_wanted:,}"), (where, label)
            assert value_of(made) == number_wanted, (where, worked)
        kv = min(n_kv_heads, n_heads)
        strips = root.evaluate("root => [...root.querySelectorAll('.ex-strip')].map(n => n.childElementCount)")
        assert strips == [n_heads, kv], where
        colours = root.evaluate("root => [...root.querySelector('.ex-strip').children].map(n => n.className)")
        assert [bool(c) for c in colours] == [(i * kv // n_heads) % 2 == 1 for i in range(n_heads)], where


def check_grid(root, values):
    for e, example in enumerate(values["examples"]):
        if len(values["examples"]) > 1:
            put(root, example=e)
        weights, keys = tensor(example["weights"]), example["keys"]
        for key, word in enumerate(keys):
            put(root, key=key)
            found = root.evaluate(CELLS, "heads")
            want = [(i, j) for i in range(len(weights)) for j in range(len(weights[0]))]
            large = int((weights[:, :, key] > 0.5).sum())
            for (label, digits, words, side), (i, j) in zip(found, want, strict=True):
                weight = weights[i, j, key].item()
                assert label.startswith(f"layer {i}, head {j}: ")
                assert number(label.rsplit(" ", 1)[1]) == pytest.approx(weight, abs=5.1e-4)
                assert digits.startswith(f"Layer {i}, head {j}: {example['query']} → {word} ")
                assert words.endswith(f"above 0.5 in {large}.")
                mean = number(re.search(r"mean ([\d.]+)", words)[1])
                assert mean == pytest.approx(weights[:, :, key].mean().item(), abs=5.1e-4)
                best = keys[int(weights[i, j].argmax())]
                assert side.startswith(f"layer {i}, head {j}: {example['query']} looks at{best}")


def check_switches(root, values):
    tasks, n = values["tasks"], values["n_heads"]
    for r, run in enumerate(values["runs"]):
        if len(values["runs"]) > 1:
            put(root, run=r)
        for on in range(2**n):
            put(root, **{f"on__{i}": bool(on >> i & 1) for i in range(n)})
            subsets = [on, *(on ^ (1 << i) for i in range(n))]
            found = root.evaluate(CELLS, "scores")
            want = [(t, c, run["scores"][subset][t]) for t in range(len(tasks)) for c, subset in enumerate(subsets)]
            for (label, digits, words, _), (t, c, score) in zip(found, want, strict=True):
                assert number(label.rsplit(" ", 1)[1].rstrip("%")) == pytest.approx(100 * score, abs=0.51)
                assert f"{tasks[t]} {label.rsplit(' ', 1)[1]}" in digits
                switched = "off" if c and on >> (c - 1) & 1 else "on"
                assert digits.startswith(f"Head {c - 1} switched {switched}: " if c else "Now: ")
                heads = ", ".join(f"head {i}" for i in range(n) if on >> i & 1)
                assert (f"On: {heads}." if heads else "No head is on.") in words


CHECKS = {
    "HeadSizes": check_sizes,
    "HeadGrid": check_grid,
    "HeadSwitches": check_switches,
    "AttentionWalk": check_walk,
    "ScalingExplorer": check_scaling,
    "SoftmaxExplorer": check_softmax,
    "AttentionMap": check_map,
    "MaskExplorer": check_masks,
}


# ---- The explorers of the built site


@pytest.fixture(scope="module")
def places(site):
    """The pages that hold explorers, as paths from the root of the site."""
    pages = [path for path in site.rglob("*.html") if 'class="light-widget"' in path.read_text("utf8")]
    assert pages, "no page of the site holds an explorer"
    return [path.relative_to(site).as_posix() for path in sorted(pages)]


@pytest.fixture
def explorers(page, places, server, settle):
    """Open each page in turn and give each of its explorers: its name on the page, its element, its stored values."""

    def each():
        for place in places:
            page.goto(f"{server}/{place}")
            yield from figures(page, settle, place)

    return each


def figures(page, settle, place="page"):
    settle(page)
    page.evaluate(TOOLS)
    for index, root in enumerate(page.query_selector_all(".light-widget")):
        assert root.get_attribute("data-ready") == "yes", f"{place}, figure {index} was not drawn"
        values = json.loads(root.query_selector("script").text_content())["values"]
        yield f"{place}#{index} {root.get_attribute('data-widget').split('.')[0]}", root, values


def press(control):
    """Move a focused control by one key; None where it cannot move."""
    kind = control.evaluate("c => c.tagName === 'INPUT' ? c.type : c.tagName")
    if kind == "radio":
        return "ArrowRight"
    if kind == "range":
        return "ArrowRight" if control.evaluate("c => +c.value < +c.max") else "ArrowLeft"
    if kind == "SELECT":
        return "ArrowDown" if control.evaluate("c => c.selectedIndex < c.options.length - 1") else "ArrowUp"
    return {"checkbox": "Space", "BUTTON": "Enter"}[kind]


def dead_controls(page, root):
    """Move every control of a figure by keyboard, those that appear on the way too; list those that change nothing."""
    dead, moved = [], 0
    waiting = root.query_selector_all("input, select, button")
    while True:
        control = next((c for c in waiting if c.is_visible()), None)
        if control is None:
            return dead, moved
        waiting.remove(control)
        name = control.evaluate("c => c.dataset.trait || c.textContent")
        group = control.evaluate("c => c.type === 'radio' ? document.getElementsByName(c.name).length : 1")
        if group > 1:
            if not control.evaluate("c => c.checked"):
                continue  # its group is walked through from the checked one
            steps = group - 1
        else:
            steps = 1
        control.focus()
        for _ in range(steps):
            current = page.evaluate_handle("() => document.activeElement").as_element()
            before = root.evaluate("(root, control) => tools.seen(root, control)", current)
            page.keyboard.press(press(current))
            moved += 1
            if root.evaluate("(root, control) => tools.seen(root, control)", current) == before:
                dead.append(f"{name} ({current.get_attribute('value')})")


def test_every_explorer_on_the_site_is_compared_with_the_package_here(site, places):
    text = "".join((site / place).read_text("utf8") for place in places)
    assert set(re.findall(r'data-widget="(\w+)\.', text)) <= set(CHECKS)


def test_every_control_on_the_site_changes_what_the_reader_sees(page, explorers):
    for name, root, _ in explorers():
        dead, moved = dead_controls(page, root)
        assert not dead, f"{name}: these controls change nothing: {dead}"
        assert moved or name.endswith("AttentionMap"), f"{name} has no control"


def test_what_an_explorer_on_the_site_shows_is_what_the_package_gives(explorers):
    for name, root, values in explorers():
        CHECKS[name.split()[-1]](root, values)


def test_an_explorer_on_the_site_answers_at_once(explorers, capsys):
    slow = {}
    for name, root, _ in explorers():
        times = root.evaluate("root => tools.times(root)")
        trait, worst = max(times, key=lambda item: item[1], default=("no control", 0.0))
        slow[name] = worst
        with capsys.disabled():
            print(f"\n{name}: slowest control {trait}, {worst:.1f} ms", end="")
    assert max(slow.values()) < SLOW_MS, slow


def test_numbers_come_by_pointer_and_by_keyboard(page, explorers):
    for name, root, _ in explorers():
        marks = [mark for mark in root.query_selector_all("[data-i][tabindex]") if mark.is_visible()]
        assert marks, f"{name} has nothing to point at"
        root.query_selector('[data-i][tabindex="0"]').focus()
        heard = set()
        for key in ("Home", "ArrowRight", "ArrowDown", "End", "ArrowUp"):
            page.keyboard.press(key)
            heard.add(root.query_selector(".ex-readout").inner_text())
            assert page.evaluate("() => document.activeElement.matches('[data-i]')"), f"{name}: {key} lost the focus"
        assert len(heard) > 1, f"{name}: the readout does not follow the keyboard"
        before = root.query_selector(".ex-readout").inner_text()
        other = next(m for m in marks if m.evaluate("m => m !== document.activeElement"))
        other.scroll_into_view_if_needed()
        other.hover(force=True)
        after = root.query_selector(".ex-readout").inner_text()
        if after == before:  # it was the one that spoke last
            marks[len(marks) // 2].hover(force=True)
            after = root.query_selector(".ex-readout").inner_text()
        assert after != before, f"{name}: the readout does not follow the pointer"
        lists = root.evaluate(
            "root => [...root.querySelectorAll('[role=grid], .ex-plot, .ex-numberline')]"
            ".filter(n => n.offsetParent !== null || n.tagName === 'svg').filter(n => n.querySelector('[data-i]'))"
            ".map(n => n.querySelectorAll('[data-i][tabindex=\"0\"]').length)"
        )
        assert set(lists) == {1}, f"{name}: each set of marks is one stop of the tab key"


@pytest.mark.parametrize(("theme", "widths"), [("light", (1440, 360)), ("dark", (390,))])
def test_an_explorer_fits_the_page_and_reads_well_in_both_themes(
    contexts, theme, widths, places, server, settle, resize
):
    from axe_playwright_python.sync_playwright import Axe

    context, watch = contexts(theme)
    watch.clear()
    tab = context.new_page()
    for place in places:
        tab.set_viewport_size({"width": widths[0], "height": 800})
        tab.goto(f"{server}/{place}")
        roots = [(name, root) for name, root, _ in figures(tab, settle, place)]
        for _, root in roots:
            root.evaluate("root => tools.stir(root)")  # into another state, with all that can be shown
        options = {"preload": False, "resultTypes": ["violations"]}
        report = Axe().run(tab, context=".light-widget", options=options)
        assert report.violations_count == 0, report.generate_report()
        for width in widths:
            resize(tab, width, 800)
            for name, root in roots:
                over = root.evaluate("root => root.scrollWidth - root.clientWidth")
                assert over <= 0, f"{name} is {over} px too wide at {width}"
                cut = root.evaluate(
                    "root => [...root.querySelectorAll('.ex-scroll')]"
                    ".filter(n => n.scrollWidth > n.clientWidth + 1).length"
                )
                assert not cut, f"{name}: a table is cut off at {width}"
            assert tab.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), f"{place} {width}"
    tab.close()
    watch.check()


def test_explorers_are_drawn_from_a_folder_without_a_server(page, places, site, settle):
    for place in places:
        page.goto((site / place).as_uri())
        assert list(figures(page, settle, place))


def test_one_broken_figure_on_the_site_leaves_the_others_alive(browser, site, places, settle):
    place = max(places, key=lambda place: (site / place).read_text("utf8").count('class="light-widget"'))
    context = browser.new_context()
    tab = context.new_page()
    errors = []
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    victim = re.search(r'data-widget="([\w.]+)"', (site / place).read_text("utf8"))[1]
    script = (site / "_static" / "light" / f"{victim}.js").read_text("utf8")
    broken = BREAK["throws when drawn"](script)
    assert broken != script
    tab.route(f"**/{victim}.js*", lambda route: route.fulfill(body=broken, content_type="text/javascript"))
    tab.goto((site / place).as_uri())
    settle(tab)
    for root in tab.query_selector_all(".light-widget"):
        own = root.get_attribute("data-widget") == victim
        assert root.get_attribute("data-ready") == ("failed" if own else "yes")
        assert ("could not be drawn" in root.inner_text()) == own
    assert any(victim in text for text in errors), "the console does not name the figure that failed"
    context.close()


# ---- Pages made here, from explorers in other states


@pytest.fixture
def tab(browser):
    """A page of its own, which needs no built site; the test fails if it asked the net or wrote to the console."""
    context = browser.new_context(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(15_000)
    heard = []
    context.route("http*://**", lambda route: (heard.append(route.request.url), route.abort()))
    context.on("console", lambda message: heard.append(message.text))
    context.on("weberror", lambda error: heard.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert heard == []


@pytest.fixture
def bench(light, tmp_path):
    """Write a page with the given explorers, the same one twice being two views of one model; gives its address."""

    def write(*explorers, change=lambda key, script: script):
        body, scripts = [], {}
        for explorer in explorers:
            state = json.loads(json.dumps(explorer.get_state()))
            key, script, place = light.figure({"state": state}, explorer.model_id)
            scripts[key] = change(key, script)
            body.append(place)
        for key, script in scripts.items():
            if script is not None:
                (tmp_path / f"{key}.js").write_text(script, "utf8")
        (tmp_path / "mount.js").write_text(light.MOUNT.read_text("utf8"), "utf8")
        (tmp_path / "spy.js").write_text(
            "window.codes = {}; const define = LightWidgets.define; LightWidgets.define = (key, css, factory) => "
            "define(key, css, () => (codes[key.split('.')[0]] = factory()));",
            "utf8",
        )
        tags = "".join(f'<script defer src="{name}.js"></script>' for name in ("mount", "spy", *scripts))
        page = tmp_path / "page.html"
        page.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{tags}{"".join(body)}', "utf8"
        )
        return page.as_uri()

    return write


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
        HeadSizes(d_model=768, n_heads=16, n_kv_heads=4, t=512),
        HeadGrid(
            [
                {
                    "title": f"{layers} layers",
                    "query": "it",
                    "keys": letters[:n],
                    "weights": torch.randn(layers, heads, n, generator=generator).mul(3).softmax(-1),
                }
                for layers, heads, n in ((2, 3, 7), (4, 12, 5))
            ],
            key=4,
        ),
        HeadSwitches(
            [{"title": f"run {r}", "scores": torch.rand(8, 2, generator=generator)} for r in range(2)],
            ["letters", "digits"],
            chance=0.25,
            run=1,
            on=5,
        ),
    ]


@pytest.fixture(scope="module")
def five():
    """One explorer of each class, in a state of its own."""
    return made()


def test_there_is_one_of_each_class_here(five):
    assert {type(explorer).__name__ for explorer in five} == set(CHECKS)


def test_an_explorer_in_any_state_shows_what_the_package_gives(tab, bench, five, settle):
    tab.goto(bench(*five))
    for name, root, values in figures(tab, settle):
        CHECKS[name.split()[-1]](root, values)


def test_every_control_changes_what_the_reader_sees(tab, bench, five, settle):
    tab.goto(bench(*five))
    for name, root, _ in figures(tab, settle):
        dead, moved = dead_controls(tab, root)
        assert not dead, f"{name}: these controls change nothing: {dead}"
        assert moved, f"{name} has no control"


def test_an_explorer_opens_in_the_state_that_python_gave_it(tab, bench, five, settle):
    tab.goto(bench(*five))
    for (name, root, values), explorer in zip(figures(tab, settle), five, strict=True):
        assert values["label"] in root.inner_text()
        for trait in ("stage", "mask", "scaling", "pattern", "convention"):
            if trait in values:
                checked = root.query_selector(f'[data-trait="{trait}"]:checked').get_attribute("value")
                assert checked == getattr(explorer, trait), (name, trait)


def test_two_views_of_one_model_move_together_and_by_themselves(tab, bench, five, settle):
    walk = five[0]
    tab.goto(bench(walk, walk))
    (_, first, _), (_, second, _) = figures(tab, settle)
    put(first, stage="softmax", mask="causal")
    assert second.query_selector('[data-trait="mask"]:checked').get_attribute("value") == "causal"
    assert torch.equal(shown(first, "weights"), shown(second, "weights"))
    put(second, scaled=True)
    assert torch.equal(shown(first, "weights"), shown(second, "weights"))
    first.query_selector('[data-matrix="weights"] .ex-cell').focus()
    assert first.query_selector(".ex-readout").inner_text() != second.query_selector(".ex-readout").inner_text()


def test_a_view_that_is_closed_leaves_no_listener_and_no_element(tab, bench, five, settle):
    tab.goto(bench(*five))
    settle(tab)
    for explorer in five:
        left = tab.evaluate(
            """([name, values]) => {
              const listeners = [];
              const model = {
                get: (key) => values[key],
                set() {}, save_changes() {},
                on: (events, f) => events.split(" ").forEach((e) => listeners.push([e, f])),
                off: (events, f) => events.split(" ").forEach((e) => {
                  const at = listeners.findIndex(([a, b]) => a === e && b === f);
                  if (at >= 0) listeners.splice(at, 1);
                }),
              };
              const el = document.body.appendChild(document.createElement("div"));
              const done = codes[name].render({ model, el });
              const before = listeners.length;
              done();
              return [before, listeners.length, el.childElementCount];
            }""",
            [type(explorer).__name__, {k: v for k, v in explorer.get_state().items() if not k.startswith("_")}],
        )
        assert left[0] > 0, type(explorer).__name__
        assert left[1:] == [0, 0], type(explorer).__name__


def test_the_readout_is_read_aloud_only_when_the_reader_rests(tab, bench, five, settle):
    tab.goto(bench(five[1]))
    ((_, root, _),) = figures(tab, settle)
    heard = root.query_selector("[aria-live]")
    assert heard.get_attribute("aria-live") == "polite"
    assert heard.text_content() == ""  # nothing is said when the page opens
    for exponent in (-1, 0, 0.5, 1):
        put(root, temperature=exponent)
    assert heard.text_content() == ""
    tab.wait_for_function("() => document.querySelector('[aria-live]').textContent !== ''")
    assert heard.text_content() == root.query_selector(".ex-readout").text_content()


BREAK = {
    "throws when drawn": lambda script: script.replace("function render({ model, el }) {", "function render() { oo();"),
    "throws when loaded": lambda script: script.replace('"use strict";', '"use strict"; oops();', 1),
    "does not parse": lambda script: "(" + script,
    "is missing": lambda script: None,
}


@pytest.mark.parametrize("how", BREAK)
def test_a_figure_whose_script_fails_says_so_and_the_others_live(browser, bench, five, settle, how):
    context = browser.new_context()
    tab = context.new_page()
    errors = []
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    tab.goto(bench(*five[:3], change=lambda key, script: BREAK[how](script) if key.startswith("Softmax") else script))
    settle(tab)
    ready = [root.get_attribute("data-ready") for root in tab.query_selector_all(".light-widget")]
    assert ready == ["yes", "failed", "yes"]
    assert "This figure could not be drawn" in tab.query_selector_all(".light-widget")[1].inner_text()
    assert any("SoftmaxExplorer" in text for text in errors)
    context.close()


def test_worked_equations_are_right_as_shown_for_very_high_and_very_low_scores(tab, bench, settle):
    generator = torch.Generator().manual_seed(3)
    q, k, v = (4 * torch.randn(3, d, generator=generator, dtype=torch.float64) for d in (2, 2, 1))
    best = (q @ k.mT).amax(dim=-1)
    assert best.max() > 8
    assert best.min() < -8
    tab.goto(bench(AttentionWalk(["a", "b", "c"], q, k, v)))
    ((_, root, values),) = figures(tab, settle)
    check_walk(root, values)


@pytest.mark.parametrize("width", [1000, 360])
def test_labels_of_nearly_equal_values_do_not_overlap(tab, bench, settle, width):
    tokens = ["apple", "bread", "cheese", "dates", "strawberries"]
    held = [1.0, 9.0, 9.02, 9.1, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 5.0, 9.0, 4.0, 3.0]
    lookups = [SoftmaxExplorer(tokens, [0.0] * 5, row) for row in held]
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(bench(*lookups))
    for name, root, values in figures(tab, settle):
        assert "value, size = weight" in root.inner_text()
        boxes = root.evaluate(
            "root => [...root.querySelectorAll('.ex-tick')].filter(n => n.offsetParent !== null)"
            ".map(n => [n.getBoundingClientRect(), n.innerText]).map(([b, text]) => [b.left, b.right, text])"
        )
        line = root.query_selector(".ex-numberline").bounding_box()
        assert {word for *_, text in boxes for word in re.findall(r"[a-z]+", text)} == set(values["tokens"]), name
        assert all(left >= line["x"] - 1 and right <= line["x"] + line["width"] + 1 for left, right, _ in boxes)
        for (_, right, first), (left, _, second) in itertools.pairwise(sorted(boxes)):
            assert right < left, f"{name}: {first!r} and {second!r} overlap at {width}"


def test_words_that_look_like_html_are_shown_as_words(tab, bench, settle):
    word = "<img src=x onerror=alert(1)>"
    example = {"title": word, "queries": [word], "keys": [word, "b"], "weights": torch.full((1, 2), 0.5)}
    tab.goto(bench(AttentionMap([example])))
    ((_, root, _),) = figures(tab, settle)
    assert root.query_selector("img") is None
    assert word in root.inner_text()
