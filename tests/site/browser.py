"""What the checks of all explorers share: how a figure is found, moved and read, and how its numbers are compared."""

import contextlib
import itertools
import json
import math
import re
from pathlib import Path

import pytest
import torch

TOOLS = Path(__file__).with_name("tools.js").read_text("utf8")
CELLS = """(root, name) => [...root.querySelectorAll(`[data-matrix="${name}"] .ex-cell`)].map((cell) => {
  tools.look(cell);
  return [cell.getAttribute("aria-label"), root.querySelector(".ex-digits").textContent,
    root.querySelector(".ex-readout").textContent, root.querySelector(".ex-side")?.textContent];
})"""

# Two frames, or a second where a tab draws none; then the end of what still moves. Nothing here waits for a promise of
# the page's: one that never settles would hold up the whole run, since `evaluate` has no limit of time.
AT_REST = """async () => {
  await new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
    setTimeout(done, 1000);
  });
  for (const one of document.getAnimations()) if (one.effect.getComputedTiming().endTime < Infinity) one.finish();
}"""


def unfold(page):
    """Open what narrows the draw of an interview or a coding round."""
    page.evaluate("() => document.querySelectorAll('.mock-choice').forEach((fold) => { fold.open = true; })")


def fill(box, text):
    """Type a text in place of what is in a box."""
    box.press("ControlOrMeta+a")
    box.press("Delete")
    box.press_sequentially(text)


@contextlib.contextmanager
def slowed(page, times):
    """Run a page at a fraction of the computer's speed, as a phone does."""
    if page.context.browser.browser_type.name != "chromium":
        pytest.skip("only Chromium can be slowed down")
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": times})
    try:
        yield
    finally:
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        session.detach()


def tab_to(page, selector, limit=500):
    """Press the tab key until an element is reached."""
    for _ in range(limit):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the tab key does not reach {selector}")


def figures(page, settle, place="page"):
    settle(page)
    page.evaluate(TOOLS)
    for index, root in enumerate(page.query_selector_all(".light-widget")):
        assert root.get_attribute("data-ready") == "yes", f"{place}, figure {index} was not drawn"
        values = json.loads(root.query_selector("script").text_content())["values"]
        yield f"{place}#{index} {root.get_attribute('data-widget').split('.')[0]}", root, values


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
