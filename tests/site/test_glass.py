"""The figures that open a model, each in a page of its own, which needs no built site: loading, speed, keyboard, width.

What they show is compared with PyTorch in ``tests/chapters/CHAPTER/test_glass*_in_browser.py``.
"""

import copy
import re
from types import SimpleNamespace

import pytest
import torch

from companion import interpret, tasks
from companion.book import weights
from companion.chapters.architecture import translator
from companion.chapters.training import small_gpt
from companion.chapters.training.explorers.gpt import TRIES
from companion.config import toy
from companion.explorers import Glass, GlassGPT
from companion.transformer import Transformer
from tests.chapters.architecture.test_glass_in_browser import OPEN, SHOWN
from tests.chapters.training.test_glass_gpt_in_browser import OPEN as OPEN_GPT
from tests.chapters.training.test_glass_gpt_in_browser import SHOWN as SHOWN_GPT
from tests.site.browser import put, slowed

pytestmark = pytest.mark.browser
STEP_MS = 100  # a desk takes 10 to 15, a slow computer with a busy neighbour twice as long
SLOW_MS = 200  # at a quarter of the speed
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
def figure(alone):
    """The Glass Transformer."""
    return alone(Glass())


@pytest.fixture
def gpt(alone):
    """The small GPT."""
    return alone(GlassGPT())


@pytest.mark.parametrize(
    ("explorer", "file", "box", "opened"),
    [(Glass, translator.WEIGHTS, ".ex-glass", OPEN), (GlassGPT, small_gpt.WEIGHTS, ".ex-gpt", OPEN_GPT)],
)
def test_weights_load_after_the_click_and_from_a_file_address(alone, explorer, file, box, opened):
    tab, root, loaded = alone(explorer())
    assert tab.url.startswith("file:")
    assert not [name for name in loaded if name.startswith(file.stem)]
    assert root.query_selector(box) is None
    kilobytes = int(re.search(r"(\d+) kB", root.inner_text())[1])
    assert kilobytes * 1000 == pytest.approx(len(weights.scripts()[f"{weights.stem(file)}.js"]), abs=5000)
    root.evaluate(opened)
    assert [name for name in loaded if name.startswith(file.stem)] == [f"{weights.stem(file)}.js"]


WORDS = [tasks.PAD, tasks.START, tasks.END, *"abcde"]
ROWS = [["a", "b", "c", "e", "e"], ["e", "e", "d", "a"], ["b", "a"]]
KERNEL = """function render({ model, el }) {
  model.send = (asked) => {
    if (asked === "weights") setTimeout(() => model.emit("msg:custom", {}, [new DataView(window.own.buffer)]));
  };"""


def from_a_kernel(script):
    """Make the script of a page one of a notebook: no address, and a kernel that sends bytes when it is asked."""
    script, replaced = re.subn(r"const SCRIPT = .*;", 'const SCRIPT = "";', script)
    assert replaced == 1
    before, head, after = script.rpartition("function render({ model, el }) {")
    assert head
    return before + KERNEL + after


@pytest.mark.parametrize(("seed", "sizes"), [(11, {"n_layers": 3, "n_heads": 4}), (2, {"n_layers": 1, "n_heads": 1})])
def test_a_model_of_the_readers_own_opens_from_the_kernel_and_shows_what_pytorch_gives(alone, seed, sizes):
    model = Transformer(toy(len(WORDS), d_model=16, **sizes), seed=seed)
    own = Glass(model, WORDS, ROWS, kinds=[list("abcde")])
    place = SimpleNamespace(get_state=lambda: own.get_state() | {"file": ["mine", own.file[1]]})
    tab, root, loaded = alone(place, from_a_kernel)
    tab.evaluate("bytes => (window.own = new Uint8Array(bytes))", list(own._packed))
    layer, head = sizes["n_layers"] - 1, sizes["n_heads"] - 1
    assert f"cross-attention, layer {layer}, head {head}" in root.inner_text()
    root.evaluate(OPEN)
    assert not [name for name in loaded if "mine" in name and name.endswith(".js")]
    model = copy.deepcopy(model).double().eval()
    for row, states, change in (
        (["a", "b", "c", "e", "e"], {}, {}),
        (["d", "b", "c", "e", "e"], {"swap__0": 3}, {}),
        (["e", "e", "d", "a"], {"sentence": 1, "off": 1}, {"heads": {"encoder.layers.0.attention": [0]}}),
        (["e", "e", "d", "a"], {"off": 0, "norm": False}, {"norm": False}),
    ):
        put(root, **states, all=None)
        with torch.no_grad(), translator.switched(model, **change), interpret.record_attention(model) as found:
            (written,) = translator.translations(model, [row], WORDS)
            target = [tasks.START, *written][: translator.MOST]
            numbers = (torch.tensor([[*map(WORDS.index, text)]]) for text in (row, target))
            model(*numbers)
        weights = found[f"decoder.layers.{layer}.cross_attention"][0, head]
        shown = root.evaluate(SHOWN)
        assert shown["english"].split() == row
        assert shown["changed"].split() == [*written, tasks.END][: translator.MOST]
        got = torch.tensor([float(label.rpartition(": ")[2]) for label in shown["labels"]], dtype=torch.float64)
        torch.testing.assert_close(got, weights.flatten(), rtol=0, atol=0.0051)
    assert len(root.query_selector_all('[data-trait="head"]')) == sizes["n_heads"]
    blocks = root.query_selector_all('[data-trait="block"]')
    assert len(blocks) == 2 + 10 * sizes["n_layers"]
    assert not root.query_selector('[data-trait="tour"]').is_visible()
    assert root.query_selector('[data-trait="another"]').click() is None
    assert root.evaluate(SHOWN)["english"].split() == ROWS[0]


def test_a_step_answers_at_once_with_its_drawing(figure, capsys):
    tab, root, _ = figure
    opened = root.evaluate(OPEN)
    took = root.evaluate(STEPS)
    with slowed(tab, 4):
        slow = root.evaluate(STEPS)
    with capsys.disabled():
        print(
            f"\nGlass: opened in {opened:.0f} ms, a step with its drawing {took:.1f} ms, at a quarter {slow:.1f} ",
            end="",
        )
    assert took < STEP_MS
    assert slow < SLOW_MS
    assert slow > 1.5 * took  # it was slowed


def test_the_keyboard_alone_opens_steps_and_leaves_a_part_out(figure):
    tab, root, _ = figure
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".ex-glass")
    focus = "() => document.activeElement.dataset.trait"
    before = root.evaluate(SHOWN)
    passed = [tab.evaluate(focus)]
    while passed[-1] != "back":
        tab.keyboard.press("Tab")
        passed.append(tab.evaluate(focus))
    assert passed[:4] == ["tour", "tour-begin", "sentence", "another"]
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


TAKEN = """(root) => {
  const step = (name, value) => {
    const started = performance.now();
    tools.put(root, name, value);
    root.getBoundingClientRect();
    return performance.now() - started;
  };
  for (let k = 0; k < 5; k += 1) step("more");
  const least = (once) => Math.min(...Array.from({ length: 5 }, once));
  return [
    least(() => [step("back"), step("next")][1]),  // in this order there is a next one at the end of the text, too
    least(() => [step("temperature", 2), step("temperature", 0.1)][0]),
  ];
}"""


def test_a_character_answers_at_once_with_its_drawing(gpt, capsys):
    tab, root, _ = gpt
    root.evaluate(OPEN_GPT)
    step, again = root.evaluate(TAKEN)
    with slowed(tab, 4):
        slow, _ = root.evaluate(TAKEN)
    with capsys.disabled():
        print(f"\nGlassGPT: a character with its drawing {step:.1f} ms, at a quarter {slow:.1f}, ", end="")
        print(f"fifty written anew {again:.0f} ms ", end="")
    assert step < STEP_MS
    assert slow < SLOW_MS
    assert slow > 1.5 * step  # it was slowed, and there was a step


def test_the_keyboard_alone_types_a_beginning_and_lets_the_model_go_on(gpt):
    tab, root, _ = gpt
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".ex-gpt")
    focus = "() => document.activeElement.dataset.trait"
    assert tab.evaluate(focus) == "prompt"
    tab.keyboard.press("Control+a")
    tab.keyboard.type("O, my")
    while tab.evaluate(focus) != "more":
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    text = root.evaluate(SHOWN_GPT)["text"]
    assert text.startswith("O, my")
    assert len(text) == 15
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    assert tab.evaluate("() => document.activeElement.dataset.j") == "14"
    tab.keyboard.press("Home")
    assert "“O”, token 27 at position 0, weight" in root.evaluate(SHOWN_GPT)["words"]


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("ROMEO:", {(row, j) for row in range(6) for j in range(5)}),
        ("XOME", {(row, j) for row in (0, 1) for j in (1, 2, 3)}),
    ],
    ids=["a character at the end", "another first character"],
)
def test_the_cache_tells_what_another_beginning_leaves_as_it_was(gpt, typed, same):
    _, root, _ = gpt
    root.evaluate(OPEN_GPT)
    put(root, prompt="ROMEO" if typed == "ROMEO:" else "ROME")
    root.query_selector('.ex-cache [data-i="2"][data-j="2"]').focus()
    pointed = "Layer 1, the key of “M” at position 2: 64 numbers, length "
    (size,) = re.findall(f"{pointed}([\\d.]+)\\.", root.evaluate(SHOWN_GPT)["words"])
    put(root, prompt=typed)
    marks = (
        "(root) => [...root.querySelectorAll('.ex-cache .ex-same')].map((mark) => [+mark.dataset.i, +mark.dataset.j])"
    )
    assert {(i, j) for i, j in root.evaluate(marks)} == same
    (now, was) = re.findall(f"{pointed}([\\d.]+)(?: \\(it was ([\\d.]+)\\))?\\.", root.evaluate(SHOWN_GPT)["words"])[0]
    assert (now == size and was == "") if (2, 2) in same else (now != size and was == size)
    assert root.query_selector(".ex-cache .ex-on").get_attribute("data-j") == "2"


@pytest.mark.parametrize(
    ("typed", "why"), [("naïve", "“ï” is none of them"), ("", "type at least one character"), ("2", "“2” is none")]
)
def test_a_beginning_that_the_model_cannot_read_is_refused_and_changes_nothing(gpt, typed, why):
    _, root, _ = gpt
    root.evaluate(OPEN_GPT)
    put(root, more=None)
    before = root.evaluate(SHOWN_GPT)
    put(root, prompt=typed)
    assert why in root.query_selector(".ex-refusal").inner_text()
    assert root.evaluate(SHOWN_GPT)["text"] == before["text"]
    put(root, prompt="Now")
    assert root.query_selector(".ex-refusal").inner_text() == ""
    assert root.evaluate(SHOWN_GPT)["text"] == "Now"


def test_the_open_gpt_is_no_wider_than_a_telephone_and_what_changes_lies_below_its_controls(gpt):
    tab, root, _ = gpt
    root.evaluate(OPEN_GPT)
    top = "(root) => root.querySelector('[data-trait=next]').getBoundingClientRect().top"
    before = root.evaluate(top)
    for moves in ({"prompt": "W" * 48}, {"temperature": 2}, *[{"more": None}] * 7):
        put(root, **moves)
        assert tab.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert root.evaluate(top) == before


@pytest.mark.parametrize("width", [390, 1440])
def test_the_open_gpt_keeps_its_height_and_colours_the_text_right_above_layer_and_head(gpt, width):
    tab, root, _ = gpt
    tab.set_viewport_size({"width": width, "height": 900})
    root.evaluate(OPEN_GPT)
    high = "(root) => Math.round(root.getBoundingClientRect().height)"
    before = root.evaluate(high)
    lines = {"prompt": "\n" * 6 + "W" * 42}
    moves = [{f"try-{k}": None} for k in range(len(TRIES))]
    for move in (*moves, {"prompt": "naïve"}, lines, *[{"more": None}] * 7, {"temperature": 2}, {"prompt": "a"}):
        put(root, **move)
        assert root.evaluate(high) == before, move
        if int(root.evaluate(SHOWN_GPT)["step"]) > 30:
            root.query_selector(".ex-token:last-of-type").focus()
            assert root.evaluate(high) == before, move
    gap = """(root) => root.querySelector('[data-trait=layer]').closest('fieldset').getBoundingClientRect().top
      - root.querySelector('.ex-tokens').getBoundingClientRect().bottom"""
    assert 0 <= root.evaluate(gap) < 40


def test_a_text_longer_than_its_room_shows_its_end_and_stays_where_the_reader_left_it(gpt):
    _, root, _ = gpt
    root.evaluate(OPEN_GPT)
    put(root, prompt="\n" * 12 + "My l")
    left = "(box) => box.scrollHeight - box.clientHeight - box.scrollTop"
    box = root.query_selector(".ex-tokens")
    assert box.evaluate("(box) => box.scrollHeight - box.clientHeight") > 30
    assert box.evaluate(left) <= 1
    box.evaluate("(box) => (box.scrollTop = 0)")
    put(root, head="2")
    assert box.evaluate("(box) => box.scrollTop") == 0
    put(root, next=None)
    assert box.evaluate(left) <= 1
