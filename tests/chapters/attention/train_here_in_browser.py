"""Train it here in a browser: what its figure shows is what PyTorch gives, before a run and within it."""

import re

import pytest
import torch

from companion.chapters.attention import small_translator as small
from companion.chapters.attention.explorers.train_here import EVERY
from companion.explorers import TrainHere
from tests.site.browser import put, table

REACHED = """async (root, step) => {
  const started = performance.now();
  const now = () => {
    const facts = root.querySelector(".ex-card .ex-facts").textContent;
    return Number(/step(\\d+) of/.exec(facts)[1]);
  };
  while (now() < step) {
    if (performance.now() - started > 100_000) throw new Error(`Timeout: at step ${now()} of ${step}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return performance.now() - started;
}"""
STOPPED = """async (root) => {
  const started = performance.now();
  while (!root.querySelector(".ex-readout").textContent.endsWith(" Stopped.")) {
    if (performance.now() - started > 60_000) throw new Error("Timeout: the training does not stop");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}"""
SHOWN = """(root) => ({
  going: root.querySelector(".explorer").dataset.going === "true",
  words: root.querySelector(".ex-readout").textContent,
  points: [...root.querySelectorAll(".ex-point")].map((c) => [Number(c.dataset.i), c.getAttribute("aria-label")]),
  // in the order in which they were started; the newest stands first
  cards: [...root.querySelectorAll(".ex-card")].reverse().map((card) => ({
    title: card.querySelector(".ex-run").textContent,
    line: Number(/ex-line(\\d)/.exec(card.querySelector(".ex-swatch").className)[1]),
    facts: Object.fromEntries(
      [...card.querySelectorAll(".ex-facts p")].map((p) => [...p.children].map((c) => c.textContent)),
    ),
    cells: [...card.querySelectorAll(".ex-cell")].map((c) => c.getAttribute("aria-label")),
    says: [...card.querySelectorAll(".ex-says [lang]")].map((w) => [w.textContent, w.classList.contains("ex-differs")]),
  })),
  buttons: Object.fromEntries([...root.querySelectorAll("button")].map((b) => [b.dataset.trait,
    [b.textContent, b.getAttribute("aria-disabled") === "false"]])),
})"""


def loss_words(loss):
    return f"{loss:.4f}" if loss < 0.1 else f"{loss:.2f}"


def assert_card(shown, title, values, run, steps, counted=True):
    """Hold a card and its curve against a run of PyTorch."""
    (card,) = (one for one in shown["cards"] if one["title"] == title)
    losses = [sum(run.losses[k : k + EVERY]) / EVERY for k in range(0, steps, EVERY)]
    curve = [label for line, label in shown["points"] if line == card["line"]]
    for j, (label, loss) in enumerate(zip(curve, losses, strict=True), start=1):
        where, _, text = label.rpartition(" ")
        assert where == f"{title}, step {j * EVERY}: loss"
        assert float(text) == pytest.approx(loss, abs=0.51 * 10 ** -len(text.partition(".")[2]))
    assert card["facts"]["step"] == f"{steps} of 400"
    if counted:
        assert card["facts"][f"words wrong at step {steps}"] == f"{small.words_wrong(run.model)} of 2,248"
        assert card["facts"][f"sentences right at step {steps}"] == f"{small.sentences_right(run.model)} of 300"
    example = values["examples"][values["sentence"]]
    want = small.look(run.model, (example["english"], example["french"]))
    rows, cols = [*example["french"], "end"], example["english"]
    labels = [label.rpartition(": ") for label in card["cells"]]
    assert [words for words, _, _ in labels] == [f"{row} to {col}" for row in rows for col in cols]
    weights = torch.tensor(want["weights"], dtype=torch.float64)
    got = table([[text] for _, _, text in labels]).reshape(weights.shape)
    torch.testing.assert_close(got, weights, rtol=0, atol=0.0051)
    assert [word for word, _ in card["says"]] == want["says"]
    right = [*example["french"], *[None] * 8]
    assert [differs for _, differs in card["says"]] == [a != b for a, b in zip(want["says"], right, strict=False)]


def check(root, values):
    """Read the run made beforehand; train for some steps, stop, and read them."""
    beforehand = small.trained(1, small.Recipe())
    assert_card(root.evaluate(SHOWN), "seed 1, trained by PyTorch beforehand", values, beforehand, small.STEPS)
    put(root, seed="2", scale=False, causal=True, warmup=True, rate=values["rates"].index(0.01))
    title = "seed 2, no scale, warm-up, rate 0.01"
    assert root.evaluate(SHOWN)["buttons"] == {
        "train": [f"Train {title}", True],
        "stop": ["Stop", False],
        "reset": ["Reset", False],
    }
    put(root, train=None)
    root.evaluate(REACHED, 20)
    put(root, stop=None)
    shown = root.evaluate(SHOWN)
    assert not shown["going"]
    assert shown["buttons"]["stop"] == [f"Resume {title}", True]
    root.evaluate(STOPPED)  # the steps under way are over
    shown = root.evaluate(SHOWN)
    steps = int(re.match(r"\d+", shown["cards"][0]["facts"]["step"])[0])
    assert steps >= 20
    run = small.trained(2, small.Recipe(scale=False, warmup=True, rate=0.01), steps)
    assert_card(shown, title, values, run, steps, counted=False)
    put(root, reset=None)
    assert_card(root.evaluate(SHOWN), "seed 1, trained by PyTorch beforehand", values, beforehand, small.STEPS)


CHECKS = {"TrainHere": check}


def made():
    return [TrainHere(seed=3, scale=False, rate=0.02, sentence=1)]
