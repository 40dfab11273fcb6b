"""Every explorer on a phone: whoever moves a control sees what it changes, and the control stays under the finger."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companion.explorers import CostCalculator, MaskExplorer, SoftmaxExplorer
from tests.site.browser import TOOLS

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
BAR = 48  # pixels at the top that the site's own bar covers
# Move each control once, in the middle of the window; name those that move themselves or change nothing in the window.
UNSEEN = """async (root, bar) => {
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const traits = [...new Set([...root.querySelectorAll("[data-trait]")].map((one) => one.dataset.trait))];
  const found = [];
  let tried = 0;
  await frames(); // what the browser still has to scroll, since something above has grown
  for (const trait of traits) {
    const all = [...root.querySelectorAll(`[data-trait="${trait}"]`)].filter((one) => one.checkVisibility());
    const control = all.find((one) => one.type === "radio" && !one.checked) ?? all[0];
    if (!control || control.disabled || control.tagName === "BUTTON") continue;
    if (trait === "tour") continue; // it leads to the part that it speaks of
    tried += 1;
    control.scrollIntoView({ block: "center" });
    await frames();
    const before = control.getBoundingClientRect().top;
    const changed = new Set();
    const note = (records) => records.forEach(({ target }) => changed.add(target.nodeType === 3 ? target.parentElement
      : target));
    const observer = new MutationObserver(note);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    const value = { checkbox: !control.checked, radio: control.value, range: control.value === control.max
      ? control.min : control.max }[control.type] ?? (control.selectedIndex + 1) % (control.options?.length ?? 1);
    tools.put(root, trait, value);
    await frames();
    note(observer.takeRecords());
    observer.disconnect();
    const own = control.closest(".ex-field, fieldset, .ex-toggle, .ex-key") ?? control;
    const seen = [...changed].filter((one) => one?.isConnected && !own.contains(one) && !one.contains(control)
      && !one.matches(".ex-heard")).map((one) => one.getBoundingClientRect())
      .filter(({ width, height, top, bottom }) => width > 2 && height > 2 && bottom > bar && top < innerHeight);
    const moved = Math.abs(control.getBoundingClientRect().top - before);
    if (moved > 2) found.push(`${trait} moves by ${moved.toFixed(0)} pixels`);
    if (!seen.length) found.push(`${trait} changes nothing in view`);
  }
  return [tried, found];
}"""


@pytest.fixture
def phone(browser: object) -> Iterator[object]:
    context = browser.new_context(**PHONE)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def test_a_finger_that_scrolls_over_a_slider_leaves_it_as_it_was(
    phone: object, server: str, settle: Callable[[object], None]
) -> None:
    phone.goto(f"{server}/book/attention/masks.html")
    settle(phone)
    slider = phone.locator(".explorer input[type=range]").first
    slider.evaluate("one => one.scrollIntoView({ block: 'center' })")
    session = phone.context.new_cdp_session(phone)

    def swipe(right: float, down: float) -> None:
        """Put a finger on the left part of the slider, and move it in 14 steps."""
        box = slider.bounding_box()
        x, y = box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2
        for kind, step in (("touchStart", 0), *(("touchMove", step) for step in range(1, 15)), ("touchEnd", 14)):
            points = [] if kind == "touchEnd" else [{"x": x + right * step, "y": y + down * step}]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    before, place = slider.input_value(), phone.evaluate("scrollY")
    swipe(0.5, -12)
    phone.wait_for_function("place => scrollY > place + 50", arg=place)
    phone.wait_for_function("([one, value]) => one.value === value", arg=[slider.element_handle(), before])
    swipe(-4, 0.5)
    phone.wait_for_function("([one, value]) => one.value !== value", arg=[slider.element_handle(), before])


def test_on_a_phone_each_control_stays_where_it_is_and_shows_what_it_does(
    phone: object, site: Path, server: str, settle: Callable[[object], None]
) -> None:
    pages = [path for path in sorted(site.rglob("*.html")) if 'class="light-widget"' in path.read_text("utf8")]
    found, moved = [], 0
    for path in pages:
        place = path.relative_to(site).as_posix()
        phone.goto(f"{server}/{place}")
        settle(phone)
        phone.evaluate(TOOLS)
        phone.add_style_tag(content="body { padding-top: 1000px; }")  # what goes above a control can be scrolled away
        for model in phone.locator(".light-widget [data-trait=open]:visible").all():
            model.click()
        phone.wait_for_function("() => !document.querySelector('.light-widget [data-trait=open]')")
        for root in phone.query_selector_all(".light-widget"):
            number, faults = root.evaluate(f"root => ({UNSEEN})(root, {BAR})")
            moved += number
            found += [f"{place}: {fault}" for fault in faults]
    assert moved > 80
    assert found == []


def test_a_result_far_below_and_a_control_that_moves_are_found(alone: Callable[..., tuple]) -> None:
    tab, root, _ = alone(SoftmaxExplorer())
    look = f"root => ({UNSEEN})(root, 0)"
    assert root.evaluate(look)[1] == []
    tab.add_style_tag(content=".explorer > :not(.ex-controls) { position: relative; top: 3000px; }")
    assert any("changes nothing in view" in fault for fault in root.evaluate(look)[1])
    tab, root, _ = alone(SoftmaxExplorer())
    tab.add_style_tag(content="html { overflow-anchor: none; }")  # else the browser scrolls after it
    root.evaluate(
        """(root) => root.addEventListener("input", () => {
          root.prepend(Object.assign(document.createElement("div"), { style: "height: 40px" }));
        }, true)"""
    )
    assert any("moves by 40 pixels" in fault for fault in root.evaluate(look)[1])


def test_all_results_of_the_calculator_stay_in_view_while_a_control_is_moved(
    phone: object, server: str, settle: Callable[[object], None]
) -> None:
    phone.goto(f"{server}/book/complexity/what-a-model-costs.html")
    settle(phone)
    root = phone.locator(f".light-widget[data-widget^={CostCalculator.__name__}]")
    for control in root.locator("input").all():
        control.evaluate("one => one.scrollIntoView({ block: 'center' })")
        for block in ("center", "nearest"):
            control.evaluate("(one, block) => one.scrollIntoView({ block })", block)
            results = root.locator(".ex-matrix").bounding_box()
            assert results["y"] >= BAR
            assert results["y"] + results["height"] <= PHONE["viewport"]["height"]
            box = control.bounding_box()
            free = results["y"] + results["height"] <= box["y"] or box["y"] + box["height"] <= results["y"]
            assert free, "no control lies under them"
    root.locator("input").last.focus()
    for _ in range(7):
        phone.keyboard.press("Shift+Tab")
        box = phone.locator(":focus").bounding_box()
        results = root.locator(".ex-matrix").bounding_box()
        assert results["y"] + results["height"] <= box["y"], "what has the focus is seen"


CONTRASTS = """(root) => {
  const cell = root.querySelector(".ex-cell.ex-hidden");
  const light = (colour) => {
    const linear = (v) => (v > 10.31 ? ((v / 255 + 0.055) / 1.055) ** 2.4 : v / 3294.6);
    const [r, g, b] = colour.match(/[0-9.]+/g).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ratio = (one, other) => Math.max(light(one) / light(other), light(other) / light(one));
  const { color, backgroundImage } = getComputedStyle(cell);
  const hatch = backgroundImage.match(/rgb\\([^)]*\\)/g).at(-1);
  const { backgroundColor } = getComputedStyle(root.querySelector(".explorer"));
  return [ratio(color, hatch), ratio(hatch, backgroundColor)];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_cell_that_a_mask_hides_can_be_read_and_told_from_the_others(alone: Callable[..., tuple], theme: str) -> None:
    tab, root, _ = alone(MaskExplorer())
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    number, hatch = root.evaluate(CONTRASTS)
    assert number >= 4.5, "WCAG 1.4.3, on the lines themselves"
    assert hatch >= 3, "WCAG 1.4.11"
    key = root.query_selector(".ex-hatchkey")
    assert key.inner_text() == "hatched: hidden by the mask"
    assert key.query_selector(".ex-hidden").is_visible()
