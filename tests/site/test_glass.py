"""The Glass Transformer in a page of its own, which needs no built site: what it loads, how fast it is, the keyboard.

What it shows is compared with PyTorch in ``tests/chapters/architecture/test_glass_in_browser.py``.
"""

import json

import pytest

from companion.book import weights
from companion.book.site import explorers as static_explorers
from companion.chapters.architecture import translator
from companion.explorers import Glass
from tests.chapters.architecture.test_glass_in_browser import OPEN, SHOWN
from tests.site.browser import TOOLS, put

pytestmark = pytest.mark.browser
STEP_MS = 50
STEPS = """(root) => {
  const step = (name) => {
    const started = performance.now();
    root.querySelector(`[data-trait="${name}"]`).click();
    root.getBoundingClientRect();
    return performance.now() - started;
  };
  step("all");
  const back = Array.from({ length: 20 }, () => step("back"));
  return Math.min(...Array.from({ length: 5 }, () => [step("all"), step("back")][1]));
}"""


@pytest.fixture
def figure(browser, tmp_path):
    """Lay the figure out as on the site, open it from ``file://``, and note what is loaded: tab, figure, file names."""
    state = json.loads(json.dumps(Glass().get_state()))
    key, script, place = static_explorers.figure({"state": state}, "0")
    (tmp_path / "light").mkdir()
    (tmp_path / "light" / "mount.js").write_text(static_explorers.MOUNT.read_text("utf8"), "utf8")
    (tmp_path / "light" / f"{key}.js").write_text(script, "utf8")
    weights.write(tmp_path)
    tags = "".join(f'<script defer src="light/{name}.js"></script>' for name in ("mount", key))
    page = tmp_path / "page.html"
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
    page.write_text(f'{head}<meta name="viewport" content="width=device-width">{tags}{place}', "utf8")
    context = browser.new_context(viewport={"width": 390, "height": 844})
    tab = context.new_page()
    loaded = []
    tab.on("request", lambda request: loaded.append(request.url.rpartition("/")[2]))
    tab.goto(page.as_uri())
    tab.wait_for_selector(".light-widget[data-ready=yes]")
    tab.evaluate(TOOLS)
    yield tab, tab.query_selector(".light-widget"), loaded
    context.close()


def test_weights_load_after_the_click_and_from_a_file_address(figure):
    tab, root, loaded = figure
    assert tab.url.startswith("file:")
    assert not [name for name in loaded if name.startswith("translator")]
    assert root.query_selector(".ex-glass") is None
    root.evaluate(OPEN)
    assert [name for name in loaded if name.startswith("translator")] == [f"{weights.stem(translator.WEIGHTS)}.js"]


def test_a_step_takes_less_than_50_ms_with_its_drawing(figure, capsys):
    _, root, _ = figure
    opened = root.evaluate(OPEN)
    took = root.evaluate(STEPS)
    with capsys.disabled():
        print(f"\nGlass: opened in {opened:.0f} ms, a step with its drawing {took:.1f} ms ", end="")
    assert took < STEP_MS


def test_the_keyboard_alone_opens_steps_and_leaves_a_part_out(figure):
    tab, root, _ = figure
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".ex-glass")
    focus = "() => document.activeElement.dataset.trait"
    assert tab.evaluate(focus) == "sentence"
    before = root.evaluate(SHOWN)
    for _ in range(2):
        tab.keyboard.press("Tab")
    assert tab.evaluate(focus) == "back"
    tab.keyboard.press("Enter")
    assert int(root.evaluate(SHOWN)["step"]) == int(before["step"]) - 1
    while tab.evaluate(focus) != "norm":
        tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    after = root.evaluate(SHOWN)
    assert after["changed"] != after["whole"] == before["whole"] == before["changed"]


def test_the_open_figure_is_no_wider_than_a_telephone(figure):
    tab, root, _ = figure
    root.evaluate(OPEN)
    for sentence in (0, 8):
        put(root, sentence=sentence, norm=sentence == 0, all=None)
        assert tab.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize(
    ("sentence", "off", "marked"), [(1, 12, ["支", "笔", "张", "地图"]), (2, 2, ["明天"]), (1, 0, [])]
)
def test_words_that_only_one_of_the_two_translations_has_are_marked(figure, sentence, off, marked):
    _, root, _ = figure
    root.evaluate(OPEN)
    put(root, sentence=sentence, off=off)
    assert root.evaluate(SHOWN)["differ"] == marked


def test_weights_that_do_not_come_are_reported_and_can_be_asked_for_again(figure, tmp_path):
    tab, root, _ = figure
    (script,) = (tmp_path / "weights").glob("translator.*.js")
    text = script.read_text("utf8")
    script.unlink()
    root.query_selector('[data-trait="open"]').click()
    tab.wait_for_function("() => document.querySelector('.ex-readout').textContent.includes('did not open')")
    script.write_text(text, "utf8")
    root.evaluate(OPEN)
    assert root.query_selector(".ex-glass")
