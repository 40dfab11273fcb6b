"""Every explorer in a real browser: each control does something, quickly, and what it shows is what the package gives.

First the explorers on the pages of the built site, whichever they are; then pages made here from explorers in states
that the site need not have.
"""

import importlib.util
import itertools
import json
import math
import re
import sys
import warnings
from pathlib import Path

import pytest
import torch

from companion import masks
from companion.attention import attention, attention_weights
from companion.widgets import AttentionMap, AttentionWalk, MaskExplorer, ScalingExplorer, SoftmaxExplorer
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
  worked(root, name) {
    return [...root.querySelectorAll(`[data-matrix="${name}"] .ex-cell`)].map((cell) => {
      cell.focus();
      return [cell.textContent, root.querySelector(".ex-digits").textContent];
    });
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


def put(root, **traits):
    moves = [[name.replace("__", "-"), value] for name, value in traits.items()]
    root.evaluate("(root, moves) => moves.forEach(([name, value]) => tools.put(root, name, value))", moves)


def shown(root, matrix):
    texts = root.evaluate("(root, name) => tools.cells(root, name)", matrix)
    return tensor([[number(text) for text in row] for row in texts])


def assert_shows(root, matrix, want, where):
    got = shown(root, matrix)
    assert got.shape == want.shape, where
    finite = want.isfinite()
    assert torch.equal(got[~finite], want[~finite]), where
    torch.testing.assert_close(got[finite], want[finite], rtol=0, atol=0.0051, msg=lambda m: f"{where}: {m}")


def check_walk(root, values):
    q, k, v = (tensor(values[name]) for name in ("query", "key", "value"))
    t_q, t_k = len(q), len(k)
    padding = masks.padding([values["length"]], t_k)[0]
    built = {"none": None, "padding": padding}
    if t_q <= t_k:
        built |= {"causal": masks.causal(t_q, t_k), "both": masks.joint(masks.causal(t_q, t_k), padding)}
    for (name, mask), scaled in itertools.product(built.items(), (True, False)):
        where = f"mask {name}, scaled {scaled}"
        scale = 1 / math.sqrt(q.shape[1]) if scaled else 1.0
        logits = q @ k.mT * scale
        put(root, mask=name, scaled=scaled)
        stages = {
            "scores": ("scores", q @ k.mT),
            "scale": ("logits", logits),
            "mask": ("masked", logits if mask is None else logits.masked_fill(~mask, -torch.inf)),
            "softmax": ("weights", attention_weights(q, k, mask, scale=scale)),
            "sum": ("output", attention(q, k, v, mask, scale=scale)),
        }
        for stage, (matrix, want) in stages.items():
            put(root, stage=stage)
            assert_shows(root, matrix, want, f"{where}, {stage}")
            worked = root.evaluate("(root, name) => tools.worked(root, name)", matrix)
            assert len(worked) == want.numel()
            for text, digits in worked:
                assert text in digits.split() or text == digits.split()[-1] or number(text) == 0, (where, text, digits)
                if stage in ("scores", "sum"):
                    sides = digits.replace("−", "-").replace("×", "*").split(" = ")
                    assert re.fullmatch(r"[-+*. ()\d]+", sides[0]), digits
                    assert eval(sides[0]) == pytest.approx(float(sides[1]), abs=0.006 * float(v.abs().sum()))


def check_scaling(root, values):
    packed = values["dots"]
    for (w, width), (s, scaling) in itertools.product(enumerate(WIDTHS), enumerate(SCALINGS)):
        put(root, d_k=w + 1, scaling=scaling)
        draw = root.evaluate("root => root.querySelector('.explorer').dataset.draw")
        dots = tensor([float(x) for x in packed[w][int(draw)].split()])
        scale = scale_of(scaling, width)
        p = attention_weights(torch.ones(1, 1, dtype=torch.float64), dots[:, None], scale=scale)[0]
        want = {
            "sd": (dots * scale).std(correction=0),
            "top": p.max(),
            "entropy": torch.special.entr(p).sum(),
            "slope": (p.diag() - p[:, None] * p).norm(),
            "gradient": tensor(float(values["gradients"][w][s].split()[int(draw)])),
        }
        rows = root.evaluate(
            "root => [...root.querySelectorAll('[data-measure]')].map(r => "
            "[r.dataset.measure, r.dataset.values, [...r.children].slice(1).map(c => c.textContent)])"
        )
        assert [name for name, _, _ in rows] == list(want)
        for m, (name, exact, texts) in enumerate(rows):
            this, median, low = (float(x) for x in exact.split())
            assert this == pytest.approx(want[name].item(), rel=1e-6, abs=1e-8), (width, scaling, name)
            quantiles = [float(x) for x in values["quantiles"][w][s][m].split()]
            assert [low, median] == pytest.approx(quantiles[:2], rel=1e-7), (width, scaling, name)
            for text, value in zip(texts, (this, median, low), strict=True):
                digits, _, power = text.partition("×10")
                plain = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
                assert float(digits) * 10 ** int(plain or 0) == pytest.approx(value, rel=0.06, abs=5.1e-4), (name, text)
        heights = root.evaluate("root => [...root.querySelectorAll('.ex-rect')].map(r => +r.getAttribute('height'))")
        torch.testing.assert_close(tensor(heights) / 104, p.sort(descending=True).values, rtol=0, atol=1e-3)
        put(root, draw=True)


def check_softmax(root, values):
    tokens, held = values["tokens"], tensor(values["values"])
    states = itertools.product((-2, -0.5, 0, 1), (-10, 0, 2.5), ([0.0] * len(tokens), values["scores"]))
    for exponent, shift, scores in [*states, (0, 0, [6 - 2.5 * i for i in range(len(tokens))])]:
        put(root, temperature=exponent, shift=shift, **{f"scores__{i}": score for i, score in enumerate(scores)})
        temperature = float(f"{10**exponent:.4g}")
        column = tensor(scores)[:, None] + shift
        p = attention_weights(torch.ones(1, 1, dtype=torch.float64), column, scale=1 / temperature)[0]
        data = root.evaluate("root => ({...root.querySelector('.explorer').dataset})")
        got = tensor([float(x) for x in data["weights"].split()])
        torch.testing.assert_close(got, p, rtol=0, atol=2e-6)
        assert number(data["average"]) == pytest.approx((p @ held).item(), abs=1e-4)
        texts = root.evaluate("root => [...root.querySelectorAll('[data-weight]')].map(n => n.textContent)")
        torch.testing.assert_close(tensor([number(t) for t in texts]), p, rtol=0, atol=5.1e-4)
        average = root.evaluate("root => root.querySelector('.ex-average').textContent")
        assert number(average) == pytest.approx((p @ held).item(), abs=5.1e-3)
        words = root.query_selector(".ex-readout").inner_text()
        assert ("changes no weight" in words) == (shift != 0)


def check_map(root, values):
    for e, example in enumerate(values["examples"]):
        if len(values["examples"]) > 1:
            put(root, example=e)
        for head, weights in enumerate(example["weights"]):
            if len(example["heads"]) > 1:
                put(root, head=head)
            labels = root.evaluate(
                "root => [...root.querySelectorAll('[data-matrix=weights] .ex-cell')]"
                ".map(c => [c.getAttribute('aria-label'), c.classList.contains('ex-hidden'), "
                "+c.style.getPropertyValue('--a')])"
            )
            flat = [
                (q, k, weights[i][j], example["mask"] is not None and not example["mask"][i][j])
                for i, q in enumerate(example["queries"])
                for j, k in enumerate(example["keys"])
            ]
            assert len(labels) == len(flat)
            for (label, hidden, tint), (query, key, weight, masked) in zip(labels, flat, strict=True):
                assert label.startswith(f"{query} to {key}: ")
                assert number(label.rsplit(" ", 1)[1]) == pytest.approx(weight, abs=5.1e-4)
                assert hidden == masked
                assert tint == pytest.approx(weight, abs=1e-3)


def check_masks(root, values):
    model = MaskExplorer()
    sizes = [(1, 1), (2, 5), (6, 6), (4, 2)]
    lengths = [None, 0, 1, 3, 6]
    for (t_q, t_k), pattern, length in itertools.product(sizes, ("every", "causal", "window"), lengths):
        size = 2 if length in (None, 3) else 4
        model.t_q, model.t_k, model.pattern, model.size = t_q, t_k, pattern, size
        model.padded, model.length = length is not None, length or 0
        where = repr((t_q, t_k, pattern, length))
        put(root, pattern=pattern, padded=model.padded, t_q=t_q, t_k=t_k, size=size, length=model.length)
        if pattern != "every" and t_q > t_k:
            assert root.query_selector(".ex-refusal").is_visible(), where
            with pytest.raises(ValueError, match="last query stands at the last key"):
                model.boolean_mask()
            continue
        assert not root.query_selector(".ex-refusal").is_visible(), where
        if size > t_k:  # the slider ends at t_k, and a longer window hides nothing more
            model.size = t_k
        mask = model.boolean_mask()
        look = torch.ones(t_q, t_k, dtype=torch.bool) if mask is None else mask.expand(1, t_q, t_k)[0]
        scores = tensor(values["scores"])[:t_q, :t_k]
        want = attention_weights(scores, torch.eye(t_k, dtype=torch.float64), look, scale=1.0)
        assert_shows(root, "weights", want, where)
        for convention, yes, no in (("hide", "False", "True"), ("additive", "0", "−∞"), ("look", "True", "False")):
            put(root, convention=convention)
            texts = root.evaluate("root => tools.cells(root, 'mask')")
            assert texts == [[yes if may else no for may in row] for row in look.tolist()], (where, convention)
        line, *_ = root.query_selector(".ex-code").inner_text().split("\n")
        names = {name: getattr(masks, name) for name in ("causal", "padding", "window", "joint")}
        exec(line, names)
        assert (names["mask"] is None) if mask is None else torch.equal(names["mask"], mask), (where, line)
        if mask is not None:
            assert line.endswith(f"# shape {tuple(mask.shape)}"), (where, line)
        empty = [i for i in range(t_q) if not look[i].any()]
        words = root.query_selector(".ex-readout").inner_text()
        assert ("may look at no key" in words) == bool(empty), where


CHECKS = {
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


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1440), ("light", 390), ("dark", 360)])
def test_an_explorer_fits_the_page_and_reads_well_in_both_themes(contexts, theme, width, places, server, settle):
    from axe_playwright_python.sync_playwright import Axe

    context, watch = contexts(theme)
    watch.clear()
    tab = context.new_page()
    tab.set_viewport_size({"width": width, "height": 800})
    for place in places:
        tab.goto(f"{server}/{place}")
        for name, root, _ in figures(tab, settle, place):
            dead_controls(tab, root)  # into another state, with all that can be shown
            over = root.evaluate("root => root.scrollWidth - root.clientWidth")
            assert over <= 0, f"{name} is {over} px too wide at {width}"
            cut = root.evaluate(
                "root => [...root.querySelectorAll('.ex-scroll')].filter(n => n.scrollWidth > n.clientWidth + 1).length"
            )
            assert not cut, f"{name}: a table is cut off at {width}"
        assert tab.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), f"{place} at {width}"
        report = Axe().run(tab, context=".light-widget", options={"preload": False})
        assert report.violations_count == 0, report.generate_report()
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


@pytest.fixture(scope="module")
def light():
    """`book/extensions/light_widgets.py`."""
    spec = importlib.util.spec_from_file_location("light_widgets", ROOT / "book" / "extensions" / "light_widgets.py")
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Sphinx's own, on import
        sys.modules.setdefault(spec.name, module)
        spec.loader.exec_module(module)
    return module


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
    weights = torch.randn(2, 3, 5, generator=generator).softmax(-1)
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
                {"title": "two heads", "queries": letters[:3], "keys": letters[:5], "weights": weights},
                {"title": "wide", "queries": letters, "keys": letters, "weights": wide, "mask": masks.causal(10)},
            ],
            head=1,
        ),
        MaskExplorer(pattern="window", t_q=6, t_k=6, length=3, convention="additive", seed=5),
        ScalingExplorer(d_k=1024, scaling="sqrt", draw=7, measure="entropy", seed=2),
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


def test_two_views_of_one_model_move_together_and_by_themselves(tab, bench, settle):
    walk = made()[0]
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


def test_the_readout_is_read_aloud_only_when_the_reader_rests(tab, bench, settle):
    tab.goto(bench(made()[1]))
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


def test_words_that_look_like_html_are_shown_as_words(tab, bench, settle):
    word = "<img src=x onerror=alert(1)>"
    example = {"title": word, "queries": [word], "keys": [word, "b"], "weights": torch.full((1, 2), 0.5)}
    tab.goto(bench(AttentionMap([example])))
    ((_, root, _),) = figures(tab, settle)
    assert root.query_selector("img") is None
    assert word in root.inner_text()
