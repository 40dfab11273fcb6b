"""Every explorer in a real browser: each control does something, quickly, and what it shows is what the package gives.

First the explorers on the pages of the built site, whichever they are; then pages made here from explorers in states
that the site need not have. What is compared stands in ``tests/chapters/CHAPTER/explorers_in_browser.py``.
"""

import itertools
import json
import re

import pytest
import torch
from bs4 import BeautifulSoup

from companion.book import weights
from companion.book.site import explorers as static_explorers
from companion.explorers import AttentionMap, AttentionWalk, SoftmaxExplorer
from tests.site.accessibility import axe_faults
from tests.site.browser import figures, put, shown
from tests.site.checks import CHECKS, MODULES
from tests.site.conftest import serve

pytestmark = pytest.mark.browser
SLOW_MS = 100  # a step takes a few; a control that never takes less than this feels stuck

# ---- The explorers of the built site


@pytest.fixture(scope="module")
def places(site):
    """The pages that hold explorers, as paths from the root of the site."""
    pages = [path for path in site.rglob("*.html") if 'class="light-widget"' in path.read_text("utf8")]
    assert pages, "no page of the site holds an explorer"
    return [path.relative_to(site).as_posix() for path in sorted(pages)]


def without_text(html):
    """Leave of a page its explorers and the boxes that hold them, so that it opens in a tenth of the time."""
    page = BeautifulSoup(html, "html.parser")
    kept = {id(node) for root in page.select(".light-widget") for node in (root, *root.parents, *root.descendants)}
    for node in [*page.article.descendants, *page.select("a[href^='#']")]:
        if id(node) not in kept:
            node.extract()
    return str(page)


@pytest.fixture(scope="module")
def bare(site, places, tmp_path_factory):
    """The address of a server that has the pages with explorers without their text."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "_static").symlink_to(site / "_static")
    for place in places:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(without_text((site / place).read_text("utf8")), "utf8")
    with serve(folder) as address:
        yield address


@pytest.fixture
def explorers(page, places, bare, settle):
    """Open each page in turn and give each of its explorers: its name on the page, its element, its stored values."""

    def each():
        for place in places:
            page.goto(f"{bare}/{place}")
            yield from figures(page, settle, place)

    return each


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


def corners_of(name, root):
    """Give the corners of the tables of a figure, which say what a row is."""
    corners = root.evaluate("root => [...root.querySelectorAll('.ex-corner')].map(c => c.textContent)")
    assert all(re.fullmatch("[a-z ]+", corner) for corner in corners), f"{name}: no word for a row in {corners}"
    return corners


MARKS = """root => [...root.querySelectorAll("[data-i][tabindex]")].filter((one) => {
  const { width, height } = one.getBoundingClientRect();
  return width > 0 && height > 0 && one.checkVisibility({ visibilityProperty: true });
})"""


def assert_numbers_come(page, name, root):
    """Walk through the marks of a figure by keyboard and by pointer: the readout follows both."""
    marks = root.evaluate_handle(MARKS)  # one handle for all: a curve has hundreds
    assert marks.evaluate("marks => marks.length"), f"{name} has nothing to point at"
    root.query_selector('[data-i][tabindex="0"]').focus()
    heard = set()
    for key in ("Home", "ArrowRight", "ArrowDown", "End", "ArrowUp"):
        page.keyboard.press(key)
        heard.add(root.query_selector(".ex-readout").inner_text())
        assert page.evaluate("() => document.activeElement.matches('[data-i]')"), f"{name}: {key} lost the focus"
    assert len(heard) > 1, f"{name}: the readout does not follow the keyboard"
    before = root.query_selector(".ex-readout").inner_text()
    other = marks.evaluate_handle("marks => marks.find((m) => m !== document.activeElement)").as_element()
    other.scroll_into_view_if_needed()
    other.hover(force=True)
    after = root.query_selector(".ex-readout").inner_text()
    if after == before:  # it was the one that spoke last
        marks.evaluate_handle("marks => marks[marks.length >> 1]").as_element().hover(force=True)
        after = root.query_selector(".ex-readout").inner_text()
    assert after != before, f"{name}: the readout does not follow the pointer"
    lists = root.evaluate(
        "root => [...root.querySelectorAll('[role=grid], .ex-plot, .ex-numberline')]"
        ".filter(n => n.offsetParent !== null || n.tagName === 'svg').filter(n => n.querySelector('[data-i]'))"
        ".map(n => n.querySelectorAll('[data-i][tabindex=\"0\"]').length)"
    )
    assert lists, f"{name}: its marks stand in no table, .ex-plot or .ex-numberline"
    assert set(lists) == {1}, f"{name}: each set of marks is one stop of the tab key"


def compare(name, root, values):
    """Hold what a figure shows against the package."""
    kind = name.split()[-1]
    assert kind in CHECKS, f"{name}: tests/chapters has no check of {kind}"
    CHECKS[kind](root, values)


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
        compare(name, root, values)


def test_an_explorer_on_the_site_answers_at_once(explorers, capsys):
    slow = {}
    for name, root, _ in explorers():
        for _ in range(5):  # a busy computer can make any control slow, but not each time
            times = root.evaluate("root => tools.times(root)")
            trait, worst = max(times, key=lambda item: item[1], default=("no control", 0.0))
            if worst < SLOW_MS:
                break
        slow[name] = worst
        with capsys.disabled():
            print(f"\n{name}: slowest control {trait}, {worst:.1f} ms", end="")
    assert max(slow.values()) < SLOW_MS, slow


def test_numbers_come_by_pointer_and_by_keyboard_and_a_table_says_what_a_row_is(page, explorers):
    found = []
    for name, root, _ in explorers():
        found += corners_of(name, root)
        assert_numbers_come(page, name, root)
    assert found


@pytest.mark.parametrize(("theme", "widths"), [("light", (1440, 360)), ("dark", (390,))])
def test_an_explorer_fits_the_page_and_reads_well_in_both_themes(contexts, theme, widths, places, bare, settle, resize):
    context, watch = contexts(theme)
    watch.clear()
    tab = context.new_page()
    for place in places:
        tab.set_viewport_size({"width": widths[0], "height": 800})
        tab.goto(f"{bare}/{place}")
        roots = [(name, root) for name, root, _ in figures(tab, settle, place)]
        for _, root in roots:
            root.evaluate("root => tools.stir(root)")  # into another state, with all that can be shown
        assert axe_faults(tab, ".light-widget") == []
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


def test_one_broken_figure_on_the_site_leaves_the_others_alive(browser, site, server, places, settle):
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
    tab.goto(f"{server}/{place}")
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
    context.set_default_timeout(60_000)
    heard = []
    context.route("http*://**", lambda route: (heard.append(route.request.url), route.abort()))
    context.on("console", lambda message: heard.append(message.text))
    context.on("weberror", lambda error: heard.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert heard == []


@pytest.fixture
def bench(tmp_path):
    """Write a page with the given explorers, the same one twice being two views of one model; gives its address."""

    def write(*explorers, change=lambda key, script: script):
        body, scripts = [], {}
        light = tmp_path / "light"
        light.mkdir(exist_ok=True)
        weights.write(tmp_path)
        for explorer in explorers:
            state = json.loads(json.dumps(explorer.get_state()))
            key, script, place = static_explorers.figure({"state": state}, explorer.model_id)
            scripts[key] = change(key, script)
            body.append(place)
        for key, script in scripts.items():
            if script is not None:
                (light / f"{key}.js").write_text(script, "utf8")
        (light / "mount.js").write_text(static_explorers.MOUNT.read_text("utf8"), "utf8")
        (light / "spy.js").write_text(
            "window.codes = {}; const define = LightWidgets.define; LightWidgets.define = (key, css, factory) => "
            "define(key, css, () => (codes[key.split('.')[0]] = factory()));",
            "utf8",
        )
        tags = "".join(f'<script defer src="light/{name}.js"></script>' for name in ("mount", "spy", *scripts))
        page = tmp_path / "page.html"
        page.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{tags}{"".join(body)}', "utf8"
        )
        return page.as_uri()

    return write


@pytest.fixture(scope="module", params=MODULES)
def module(request):
    """Each chapter's checks in turn."""
    return MODULES[request.param]


@pytest.fixture(scope="module")
def one_of_each(module):
    """One explorer of each class of a chapter, in a state of its own."""
    return module.made()


@pytest.fixture(scope="module")
def five():
    """The explorers of the chapter on attention."""
    return MODULES["attention/explorers_in_browser"].made()


def test_there_is_one_of_each_class_here(one_of_each, module):
    assert {type(explorer).__name__ for explorer in one_of_each} == set(module.CHECKS)


def test_an_explorer_in_any_state_shows_what_the_package_gives(tab, bench, one_of_each, settle):
    tab.goto(bench(*one_of_each))
    for name, root, values in figures(tab, settle):
        compare(name, root, values)


# Everything that a figure says, to the eye or aloud, as it is made and with each slider at either end.
SAYS = """root => {
  const texts = () => [...root.querySelectorAll("*:not(script, style)")].flatMap((one) => [
    one.children.length && !one.matches(".ex-readout, .ex-heard") ? "" : one.textContent,
    one.getAttribute("aria-label") ?? "", one.getAttribute("title") ?? "",
  ]);
  const found = new Set(texts());
  const put = (slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  };
  for (const slider of root.querySelectorAll("input[type=range]")) {
    const before = slider.value;
    for (const end of [slider.min, slider.max]) {
      put(slider, end);
      texts().forEach((text) => found.add(text));
    }
    put(slider, before);
  }
  return [...found];
}"""
THINGS = "bytes|columns|FLOPs|guesses|heads|keys|layers|pairs|positions|queries|rows|sequences|steps|tokens|words"
MISWRITTEN = {
    "digits of the machine": r"\d\.\d{7,}",
    "a power as programs write it": r"\de[-+]\d",
    "minus zero": r"[-−]0(\.0+)?(?![\d.e])",
    "one of several": rf"(?<![\d.,−×=] )(?<![\d.,−])1 ({THINGS})\b",
    "a word of the program": r"\b(NaN|undefined|null|Infinity)\b|\[object",
}


def miswritten(texts):
    return [(why, text) for text in texts for why, bad in MISWRITTEN.items() if re.search(bad, text)]


@pytest.mark.parametrize(
    "text",
    ["0.30000000000000004 left", "a rate of 1e-07", "6.9e+4", "a score of −0.00", "5 queries and 1 keys", "NaN% left"],
)
def test_a_number_that_no_person_writes_is_found(text):
    assert [why for why, _ in miswritten([text, "1 key, 11 keys, −0.05 and 1.75e−7"])] != []
    assert {found for _, found in miswritten([text, "1 key, 11 keys, −0.05 and 1.75e−7"])} == {text}


def test_a_figure_writes_its_numbers_as_people_do(tab, bench, one_of_each, settle):
    tab.goto(bench(*one_of_each))
    found = {}
    for name, root, _ in figures(tab, settle):
        texts = root.evaluate(SAYS)
        if name.endswith("MaskExplorer"):  # whose subject it is
            texts = [text.replace("NaN", "") for text in texts]
        found[name] = miswritten(texts)
    assert {name: wrong[:5] for name, wrong in found.items() if wrong} == {}


def test_every_control_changes_what_the_reader_sees(tab, bench, one_of_each, settle):
    tab.goto(bench(*one_of_each))
    for name, root, _ in figures(tab, settle):
        dead, moved = dead_controls(tab, root)
        assert not dead, f"{name}: these controls change nothing: {dead}"
        assert moved, f"{name} has no control"


def test_numbers_come_by_pointer_and_by_keyboard_before_it_is_on_a_page(tab, bench, one_of_each, settle):
    tab.goto(bench(*one_of_each))
    for name, root, _ in figures(tab, settle):
        assert_numbers_come(tab, name, root)
        corners_of(name, root)


def test_an_explorer_opens_in_the_state_that_python_gave_it(tab, bench, one_of_each, settle):
    tab.goto(bench(*one_of_each))
    for (name, root, values), explorer in zip(figures(tab, settle), one_of_each, strict=True):
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


def test_a_view_that_is_closed_leaves_no_listener_and_no_element(tab, bench, one_of_each, settle):
    tab.goto(bench(*one_of_each))
    settle(tab)
    for explorer in one_of_each:
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
    ((name, root, values),) = figures(tab, settle)
    compare(name, root, values)


def test_a_walk_without_padding_offers_no_mask_of_it(tab, bench, settle):
    table = [[1.0, 0.0], [0.0, 1.0]]
    tab.goto(bench(AttentionWalk(["a", "b"], table, table, table, length=2)))
    ((name, root, values),) = figures(tab, settle)
    compare(name, root, values)


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
            ".map(n => [n.getBoundingClientRect(), n.innerText]).map(([b, text]) => [b.top, b.left, b.right, text])"
        )
        line = root.query_selector(".ex-numberline").bounding_box()
        assert {word for *_, text in boxes for word in re.findall(r"[a-z]+", text)} == set(values["tokens"]), name
        assert all(left >= line["x"] - 1 and right <= line["x"] + line["width"] + 1 for _, left, right, _ in boxes)
        for (top, _, right, first), (other, left, _, second) in itertools.pairwise(sorted(boxes)):
            assert right < left or other - top > 20, f"{name}: {first!r} and {second!r} overlap at {width}"


@pytest.mark.parametrize("width", [1000, 360])
def test_a_lookup_has_each_head_over_its_numbers_and_each_label_under_its_dot(tab, bench, settle, width):
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(bench(SoftmaxExplorer()))
    ((_, root, values),) = figures(tab, settle)
    rights = """(root, row) => [...root.querySelectorAll(`.ex-key:nth-child(${row}) > :not(input, .ex-bar, label)`)]
      .filter((one) => one.checkVisibility() && one.textContent && one.textContent !== "key")
      .map((one) => Math.round(one.getBoundingClientRect().right))"""
    assert root.evaluate(rights, 1) == root.evaluate(rights, 2)
    assert (
        root.eval_on_selector_all(".ex-keyhead span", "all => all.map((e) => getComputedStyle(e).textAlign)")[1:]
        == ["right"] * 5
    )
    middles = """root => [...root.querySelectorAll(".ex-tick")].filter((one) => one.checkVisibility())
      .map((one) => [one.firstChild.textContent, one.getBoundingClientRect()])
      .map(([word, box]) => [word, (box.left + box.right) / 2])"""
    dots = """root => [...root.querySelectorAll(".ex-dot")].map((one) => one.getBoundingClientRect())
      .map((box) => (box.left + box.right) / 2)"""
    labels, dots = dict(root.evaluate(middles)), root.evaluate(dots)
    assert labels.keys() == set(values["tokens"])
    for token, dot in zip(values["tokens"], dots, strict=True):
        assert abs(labels[token] - dot) < 20, token
    temperature = root.query_selector("[data-trait=temperature]").bounding_box()["y"]
    assert 0 < temperature - root.query_selector(".ex-numberline").bounding_box()["y"] < 300, "the result is in view"


def test_words_that_look_like_html_are_shown_as_words(tab, bench, settle):
    word = "<img src=x onerror=alert(1)>"
    example = {"title": word, "queries": [word], "keys": [word, "b"], "weights": torch.full((1, 2), 0.5)}
    tab.goto(bench(AttentionMap([example])))
    ((_, root, _),) = figures(tab, settle)
    assert root.query_selector("img") is None
    assert word in root.inner_text()
