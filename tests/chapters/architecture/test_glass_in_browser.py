"""The Glass Transformer in a browser: what its figure shows, whole and with parts left out, is what PyTorch gives.

The model here computes in float64, as JavaScript does.
"""

import functools
import re

import pytest
import torch

from companion import interpret, tasks
from companion.chapters.architecture import translator
from companion.chapters.architecture.explorers.glass import PLACES
from companion.explorers import Glass
from tests.site.browser import put, table

OPEN = """async (root) => {
  const started = performance.now();
  root.querySelector('[data-trait="open"]').click();
  while (!root.querySelector(".ex-glass")) {
    if (performance.now() - started > 30_000) throw new Error("Timeout: the model does not open");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - started;
}"""
SHOWN = """(root) => {
  const text = (node) => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("rt").forEach((gloss) => gloss.remove());
    return copy.textContent.trim();
  };
  return {
  ...root.querySelector(".explorer").dataset,
  labels: [...root.querySelectorAll('[data-matrix="weights"] .ex-cell')].map((c) => c.getAttribute("aria-label")),
  hidden: [...root.querySelectorAll('[data-matrix="weights"] .ex-cell')].map((c) => c.classList.contains("ex-hidden")),
  bars: [...root.querySelectorAll(".ex-topkey")].map((row) => [...row.children].map((cell) => cell.textContent)),
  heat: [...root.querySelectorAll(".ex-heat rect")].map((rect) => rect.getAttribute("aria-label")),
  words: root.querySelector(".ex-readout").textContent,
  chips: [...root.querySelectorAll(".ex-chip")].map((chip) => [Number(chip.dataset.trait.slice(5)), chip.value]),
  lines: [...root.querySelectorAll(".ex-line-of-words")].map((line) => text(line.lastChild)),
  differ: [...root.querySelectorAll(".ex-differs")].map(text),
}; }"""


@functools.cache
def released():
    model, about = translator.load()
    return model.double(), about["words"]


@torch.no_grad()
def numbers(english, step, change):
    """Translate by PyTorch with parts left out, and run the pass that predicts the word after ``step`` words."""
    model, words = released()
    target = [tasks.START]
    kept = {}
    hooks = [
        module.register_forward_hook(
            lambda _, inputs, output, name=name: kept.update({name: output[0] if isinstance(output, tuple) else output})
        )
        for name, module in model.named_modules()
        if name
    ]
    with translator.switched(model, **change), interpret.record_attention(model) as found:
        source = torch.tensor([[words.index(word) for word in english]])
        memory = model.encode(source)
        (written,) = translator.translations(model, [english], words)
        written = [*written, tasks.END][: translator.MOST]
        step = min(step, len(written) - 1)
        target = [tasks.START, *written[:step]]
        memory = model.encode(source)
        logits = model.decode(torch.tensor([[words.index(word) for word in target]]), memory)
        found, kept = dict(found), dict(kept)
    for hook in hooks:
        hook.remove()
    return {"english": english, "written": written, "step": step, "target": target, "kept": kept} | {
        "weights": {name: rows[0] for name, rows in found.items()},
        "probabilities": logits[0, -1].softmax(-1),
    }


@functools.cache
def in_whole(english):
    """Translate by the whole model."""
    return numbers(english, 0, {})["written"]


def change_of(values, **states):
    """Name a change as :func:`translator.switched` takes it."""
    off = states.pop("off", 0)
    if off:
        name, head = values["heads"][off - 1].split(", head ")
        states["heads"] = {name: [int(head)]}
    return states


@functools.cache
def values_of_gloss():
    return Glass().gloss


def in_english(sentence, swapped):
    """Put other words into a sentence; "a" becomes "an" where the next word asks."""
    words = [dict(swapped).get(k, dict(swapped).get(str(k), word)) for k, word in enumerate(sentence.split())]
    following = zip(words, [*words[1:], ""], strict=True)
    return ["an" if word == "a" and after[0] in "aeiou" else word for word, after in following]


def compare(root, values, sentence, step, place, layer, head, swapped=(), row=None, **states):
    """Hold one state of the figure against PyTorch; `row` of the map is the one that is pointed at, if any."""
    english = in_english(values["sentences"][sentence], swapped)
    want = numbers(english, step, change_of(values, **states))
    whole = in_whole(tuple(english))
    got = root.evaluate(SHOWN)
    where = (sentence, step, place, layer, head, states)
    assert got["changed"].split() == want["written"], where
    assert got["whole"].split() == whole, where
    assert int(got["step"]) == want["step"], where
    goals = want["written"][: want["step"] + 1]
    assert got["english"].split() == english, where
    assert got["chips"] == [
        [i, word] for i, word in enumerate(english) if any(word in kind for kind in values["kinds"])
    ]
    assert got["lines"][1] == " ".join([*goals[:-1], "→", goals[-1]]), where
    assert got["lines"][2].replace(" ", "") == "".join(whole).removesuffix(tasks.END)
    if states:
        written = "".join(want["written"]).replace(tasks.END, "")
        alike = want["written"] == whole
        assert got["lines"][3].replace(" ", "") == ("thesametranslation" if alike else written), where
    rows = english if place == "attention" else goals
    cols = want["target"] if place == "self_attention" else english
    side = "encoder" if place == "attention" else "decoder"
    heads = want["weights"][f"{side}.layers.{layer}.{place}"][head]
    assert heads.shape == (len(rows), len(cols)), where
    labels = [label.rpartition(": ") for label in got["labels"]]
    assert [words for words, _, _ in labels] == [f"{row} to {col}" for row in rows for col in cols], where
    shown = table([[text] for _, _, text in labels]).reshape(heads.shape)
    torch.testing.assert_close(shown, heads, rtol=0, atol=0.0051, msg=lambda m: f"{where}: {m}")
    masked = place == "self_attention" and states.get("causal", True)
    assert got["hidden"] == [masked and j > i for i in range(len(rows)) for j in range(len(cols))], where
    best, places = want["probabilities"].topk(6)
    _, words = released()
    shown = table([[row[-1]] for row in got["bars"]])[:, 0]
    torch.testing.assert_close(shown, best, rtol=0, atol=0.00051, msg=lambda m: f"{where}: {m}")
    assert words[places[0]] == goals[-1], where
    assert got["bars"][0][0].split(" (")[0] == goals[-1], where
    row = len(rows) - 1 if row is None else row
    most, gloss = cols[int(heads[row].argmax())], values_of_gloss()
    named = f"{most} ({gloss[most]})" if most[0].isalpha() and most in gloss else most
    off = states.get("off") and Glass().heads[states["off"] - 1] == f"{side}.layers.{layer}.{place}, head {head}"
    looks = "is left out; it would look most at" if off else "looks most at"
    assert f"{looks} “{named}” ({heads[row].max():.2f})." in got["words"], (where, got["words"])
    acts = not states.get("causal", True) and place != "self_attention"
    assert ("acts in the self-attention of the decoder" in got["words"]) == acts, where
    assert f"with probability {best[0]:.2f}" in got["words"], where
    return got, want


def check(root, values):
    """Open the model, and put it into states that differ in every control."""
    root.evaluate(OPEN)
    looked = {"place": values["place"], "layer": values["layer"], "head": values["head"]}
    changes = ("off", "causal", "positions", "norm", "scale")
    states = {k: values[k] for k in changes if values[k] not in (0, True) or values[k] is False}
    compare(root, values, values["sentence"], values["step"], **looked, swapped=values["swapped"], **states)
    put(root, off=0, causal=True, positions=True, norm=True, scale=True, sentence=1)
    put(root, sentence=0)  # another sentence begins anew
    assert root.evaluate(SHOWN)["step"] == "0"
    for step in range(3):
        compare(root, values, 0, step, **looked)
        put(root, next=None)
    put(root, back=None)
    compare(root, values, 0, 2, **looked)
    check_swaps(root, values, looked)
    put(root, another=None, all=None)
    compare(root, values, 17, translator.MOST, **looked)
    for place, layer, head in (("cross_attention", 0, 1), ("self_attention", 1, 0), ("attention", 0, 1)):
        put(root, sentence=5, place=PLACES.index(place))
        put(root, layer=str(layer), head=str(head), all=None)
        for states in ({}, {"off": 12}, {"causal": False}, {"positions": False}, {"norm": False}, {"scale": False}):
            put(root, **states, all=None)
            got, _ = compare(root, values, 5, translator.MOST, place, layer, head, **states)
            assert bool(got["differ"]) == (got["changed"] != got["whole"])
            put(root, off=0, causal=True, positions=True, norm=True, scale=True)
    check_blocks(root, values)


def check_swaps(root, values, looked):
    """Put other words into the first sentence: the article follows, and another sentence begins as it is."""
    words = values["sentences"][0].split()
    assert words[4:6] == ["a", "magazine"]

    def kind(word):
        return next(kind for kind in values["kinds"] if word in kind)

    put(root, all=None, swap__5=kind("magazine").index("umbrella"))
    compare(root, values, 0, translator.MOST, **looked, swapped={5: "umbrella"})
    put(root, swap__0=kind(words[0]).index("my"), off=12)
    swapped = {0: "my", 5: "umbrella"}
    compare(root, values, 0, translator.MOST, **looked, swapped=swapped, off=12)
    put(root, off=0, swap__5=kind("magazine").index("book"))
    compare(root, values, 0, translator.MOST, **looked, swapped={0: "my", 5: "book"})
    put(root, sentence=1)
    compare(root, values, 1, 0, **looked)
    put(root, sentence=0)
    compare(root, values, 0, 0, **looked)


def check_blocks(root, values):
    """Hold the vectors of each block against PyTorch, and the weights that an attention shows with them."""
    put(root, sentence=1, head="1", all=None)
    want = numbers(values["sentences"][1].split(), translator.MOST, {})
    parts = {
        "embeddings and positions": "",
        "cross-attention": "cross_attention",
        "feed-forward network": "feed_forward",
    }
    names = root.evaluate("root => [...root.querySelectorAll('.ex-machine label')].map(label => label.textContent)")
    assert len(names) == len(set(names)) == 22
    for k, name in enumerate(names):
        put(root, block=str(k))
        side, _, part = name.partition(": ")
        layer, part = (part[0], part[2:]) if part[0].isdigit() else ("", part)
        attention = "attention" if side == "encoder" else "self_attention"
        part = re.sub(r"after add and norm (\d)", r"norm_\1", parts.get(part, part)).replace(
            "self-attention", attention
        )
        path = (
            f"{side}.layers.{layer}.{part}"
            if layer
            else {"encoder": "source", "decoder": "target"}[side] + "_embedding"
        )
        labels = [label.rpartition(": ") for label in root.evaluate(SHOWN)["heat"]]
        words = want["english"] if side == "encoder" else want["target"]
        assert [text for text, _, _ in labels] == [f"{word}, feature {j}" for word in words for j in range(64)], name
        shown = table([[text] for _, _, text in labels]).reshape(len(words), 64)
        torch.testing.assert_close(shown, want["kept"][path][0], rtol=0, atol=0.0051, msg=lambda m, n=name: f"{n}: {m}")
        if place := next((one for one in PLACES if path.endswith(f".{one}")), None):
            compare(root, values, 1, translator.MOST, place, int(layer), 1)


CHECKS = {"Glass": check}


def made():
    swapped = {7: "coat"}
    return [Glass(sentence=3, swapped=swapped, step=4, place="self_attention", layer=0, head=1, off=3, scale=False)]


# ---- Without a browser


def test_a_word_has_the_english_one_that_it_most_often_translates():
    gloss = Glass().gloss
    want = {"杂志": "magazine", "昨晚": "last night", "没": "did not", "本": "for books", "吗": "particle"}
    assert {word: gloss[word] for word in want} == want


def test_each_word_that_can_be_swapped_is_of_one_kind_and_known_to_the_model():
    swapped = [word for kind in Glass().kinds for word in kind]
    assert len(swapped) == len(set(swapped)) > 60
    assert set(swapped) <= set(released()[1])


def test_a_notebook_gets_the_weights_from_its_kernel(monkeypatch):
    sent = []
    glass = Glass()
    monkeypatch.setattr(glass, "send", lambda content, buffers: sent.append((content, buffers)))
    glass._handle_custom_msg("something else", [])
    assert sent == []
    glass._handle_custom_msg("weights", [])
    assert sent == [("weights", [translator.WEIGHTS.read_bytes()])]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"sentence": 40}, "sentence is a whole number from 0 to 39: got 40"),
        ({"place": "cross"}, "place is one of 'cross_attention'.*got 'cross'"),
        ({"off": 13}, "off is a whole number from 0 to 12: got 13"),
        ({"norm": 0}, "norm is True or False: got 0"),
        ({"swapped": {5: "dog"}}, "one of its kind: got 'dog' at 5, .* has 'magazine'"),
        ({"swapped": {4: "an"}}, "got 'an' at 4, .* has 'a'"),
        ({"swapped": {9: "book"}}, "got 'book' at 9, .* has None"),
    ],
)
def test_a_state_that_is_not_there_is_refused(changes, rule):
    with pytest.raises(ValueError, match=rule):
        Glass(**changes)
