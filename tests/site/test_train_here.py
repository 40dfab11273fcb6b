"""Train it here, alone on a page: a whole run and its time, stop and resume, three seeds, keyboard, width, calm.

What it computes is compared with PyTorch in ``tests/chapters/attention/*train_here*.py``.
"""

import pytest

from companion.explorers import TrainHere
from tests.chapters.attention.train_here_in_browser import REACHED, SHOWN, STOPPED, loss_words
from tests.site.browser import put, tab_to

pytestmark = pytest.mark.browser
SECONDS = 60
OVER = "() => document.querySelector('.explorer').dataset.going === 'false'"


def ending_at(steps):
    """End each run after fewer than 400 steps."""

    def change(script):
        assert script.count("const STEPS = 400;") == 1
        return script.replace("const STEPS = 400;", f"const STEPS = {steps};")

    return change


def run_through(tab, root):
    put(root, train=None)
    tab.wait_for_function(OVER, timeout=100_000)
    return root.evaluate(SHOWN)


def test_nothing_is_loaded_and_no_worker_runs_before_the_reader_starts(alone):
    tab, root, loaded = alone(TrainHere())
    assert tab.url.startswith("file:")
    assert tab.workers == []
    before = list(loaded)
    with tab.expect_event("worker") as started:
        put(root, train=None)
    root.evaluate(REACHED, 10)
    assert tab.workers == [started.value]
    assert loaded == [*before, started.value.url.rpartition("/")[2]]  # the worker is a text of the page itself


def test_a_seed_ends_within_a_minute_where_pytorch_ended(alone, capsys):
    figure = TrainHere()
    tab, root, _ = alone(figure)
    before = root.evaluate(SHOWN)
    with tab.expect_event("worker") as started:
        put(root, train=None)
    with started.value.expect_event("close", timeout=100_000):  # nothing stays behind
        took = root.evaluate(REACHED, 400) / 1000
    with capsys.disabled():
        print(f"\nTrain it here: a seed in {took:.1f} s, with its drawing ", end="")
    assert took < SECONDS
    tab.wait_for_function(OVER)
    after = root.evaluate(SHOWN)
    (card,), (beforehand,) = after["cards"], before["cards"]
    assert card["title"] == "seed 1"
    assert {**card, "title": ""} == {**beforehand, "title": ""}
    assert [label.partition(", ")[2] for _, label in after["points"]] == [
        f"step {10 * j}: loss {loss_words(loss)}" for j, loss in enumerate(figure.still["losses"], start=1)
    ]


def test_a_run_that_is_stopped_and_resumed_ends_as_one_that_is_not(alone):
    tab, root, _ = alone(TrainHere(seed=2), ending_at(60))
    whole = run_through(tab, root)
    put(root, reset=None, train=None)
    root.evaluate(REACHED, 10)
    put(root, stop=None)
    root.evaluate(STOPPED)
    stopped = root.evaluate(SHOWN)
    assert 0 < len(stopped["points"]) < 6
    assert stopped["points"] == whole["points"][: len(stopped["points"])]
    put(root, stop=None)
    tab.wait_for_function(OVER)
    resumed = root.evaluate(SHOWN)
    assert (resumed["points"], resumed["cards"]) == (whole["points"], whole["cards"])


def test_three_seeds_are_trained_in_turn_and_stay_for_comparison(alone):
    tab, root, _ = alone(TrainHere(seed="all"), ending_at(20))
    assert root.evaluate(SHOWN)["buttons"]["train"] == ["Train seeds 1 to 3 in turn", True]
    seeds = run_through(tab, root)
    assert [card["title"] for card in seeds["cards"]] == ["seed 1", "seed 2", "seed 3"]
    assert root.query_selector(".ex-card .ex-run").inner_text() == "seed 3", "the newest stands first"
    assert [line for line, _ in seeds["points"]] == [0] * 2 + [1] * 2 + [2] * 2
    assert len({str(card["cells"]) for card in seeds["cards"]}) == 3
    put(root, scale=False)
    both = run_through(tab, root)
    assert [card["title"] for card in both["cards"]][3:] == [f"seed {seed}, no scale" for seed in (1, 2, 3)]
    assert both["cards"][:3] == seeds["cards"]
    put(root, seed="1", scale=True, causal=False)
    last = run_through(tab, root)  # six are shown at most
    assert (last["cards"][0]["title"], last["cards"][-1]["title"]) == ("seed 2", "seed 1, no causal mask")
    assert len({card["line"] for card in last["cards"]}) == len(last["cards"]) == 6
    put(root, causal=True)
    again = run_through(tab, root)
    assert {**again["cards"][-1], "line": 0} == {**seeds["cards"][0], "line": 0}
    assert tab.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.evaluate(
        "() => [...document.querySelectorAll('.ex-scroll')].every((n) => n.scrollWidth <= n.clientWidth)"
    )


def test_without_a_causal_mask_nothing_is_wrong_but_what_the_model_says_alone(alone):
    tab, root, _ = alone(TrainHere(causal=False), ending_at(150))
    (card,) = run_through(tab, root)["cards"]
    assert card["facts"]["words wrong at step 150"] == "0 of 2,248"
    assert card["facts"]["sentences right at step 150"] == "0 of 300"


SECOND_VIEW = """() => {
  const { values } = JSON.parse(document.querySelector(".light-widget script").textContent);
  const model = { get: (name) => values[name], set() {}, save_changes() {}, on() {}, off() {} };
  const el = document.body.appendChild(document.createElement("div"));
  window.done = window.figure.render({ model, el });
  el.querySelector("[data-trait=train]").click();
}"""


def test_reset_and_a_closed_view_end_the_worker(alone):
    tab, root, _ = alone(
        TrainHere(), lambda script: script.replace("return $default;", "window.figure = $default; return $default;")
    )
    before = root.evaluate(SHOWN)
    with tab.expect_event("worker") as started:
        put(root, train=None)
    root.evaluate(REACHED, 10)
    with started.value.expect_event("close"):
        put(root, reset=None)
    after = root.evaluate(SHOWN)
    assert (after["going"], after["cards"], after["points"]) == (False, before["cards"], before["points"])
    with tab.expect_event("worker") as started:
        tab.evaluate(SECOND_VIEW)
    with started.value.expect_event("close"):
        tab.evaluate("() => window.done()")
    assert len(tab.query_selector_all(".explorer")) == 1


def test_the_keyboard_alone_trains_stops_and_looks_at_the_curve(alone):
    tab, root, _ = alone(TrainHere())
    tab_to(tab, '[data-trait="causal"]')
    tab.keyboard.press("Space")
    tab_to(tab, '[data-trait="train"]')
    tab.keyboard.press("Enter")
    tab_to(tab, ".ex-point")
    root.evaluate(REACHED, 30)
    assert tab.evaluate("() => document.activeElement.matches('.ex-point')")  # though the curve was drawn anew
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowLeft")
    assert "Seed 1, no causal mask" in root.query_selector(".ex-readout").inner_text()
    assert root.query_selector(".ex-digits").inner_text().startswith("seed 1, no causal mask, step ")
    while tab.evaluate("() => document.activeElement.dataset.trait") != "stop":
        tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Enter")
    root.evaluate(STOPPED)
    assert root.evaluate(SHOWN)["buttons"]["stop"][0] == "Resume seed 1, no causal mask"


COUNT = """() => {
  window.drawn = 0;
  window.heard = [];
  const curve = document.querySelector(".ex-plot polyline");
  new MutationObserver(() => (window.drawn += 1)).observe(curve, { attributes: true });
  const live = document.querySelector("[aria-live]");
  new MutationObserver(() => window.heard.push(live.textContent)).observe(live, { childList: true });
}"""


@pytest.mark.parametrize(("motion", "most", "least"), [("reduce", 5, 2), ("no-preference", 12, 7)])
def test_a_reader_who_wants_less_motion_sees_a_drawing_every_fifty_steps(alone, motion, most, least):
    tab, root, _ = alone(TrainHere(), ending_at(60), reduced_motion=motion)
    tab.evaluate(COUNT)
    run_through(tab, root)
    assert least <= tab.evaluate("() => window.drawn") <= most


def test_a_run_is_read_aloud_at_its_start_and_at_its_end_and_not_each_second(alone):
    tab, root, _ = alone(TrainHere(), ending_at(60))
    tab.evaluate(COUNT)
    run_through(tab, root)
    tab.wait_for_function("() => window.heard.some((text) => text.includes('step 60 of 60'))")
    heard = tab.evaluate("() => window.heard")
    assert all("step 0 of 60" in text or "step 60 of 60" in text for text in heard), heard
    assert "step 60 of 60" in heard[-1]
    assert "Counted at step 50: " in heard[-1]
    assert "of 2,248 words wrongly" in heard[-1]
    assert "sentences without a mistake" in heard[-1]


def test_a_browser_that_allows_no_worker_says_so(alone):
    tab, root, _ = alone(TrainHere())
    tab.evaluate("() => { window.Worker = class { constructor() { throw new Error('not here'); } }; }")
    put(root, train=None)
    assert "The training stopped (Error: not here)" in root.query_selector(".ex-readout").inner_text()
    assert root.evaluate(SHOWN)["buttons"]["train"][1]
