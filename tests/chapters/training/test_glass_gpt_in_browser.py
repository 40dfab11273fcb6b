"""The small GPT in a browser: what its figure shows in any state is what PyTorch gives on the same rounded weights.

The model here computes in float64, as JavaScript does.
"""

import functools
import re
from collections import Counter

import pytest
import torch

from companion import interpret
from companion.chapters.training import small_gpt
from companion.chapters.training.explorers.gpt import FIRST, MOST, PROMPT, START, TRIES
from companion.explorers import GlassGPT
from companion.generate import keep_top_k, keep_top_p
from tests.site.browser import put, tensor

OPEN = """async (root) => {
  const started = performance.now();
  root.querySelector('[data-trait="open"]').click();
  while (!root.querySelector(".ex-tokens")) {
    if (performance.now() - started > 30_000) throw new Error("Timeout: the model does not open");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}"""
SHOWN = """(root) => {
  const all = (selector) => [...root.querySelectorAll(selector)];
  return {
    ...root.querySelector(".explorer").dataset,
    tokens: all(".ex-token").map((node) => [node.textContent, node.getAttribute("aria-label"),
      node.classList.contains("ex-made"), Number(node.style.getPropertyValue("--a"))]),
    bars: all(".ex-topkey:not(.ex-keyhead)").map((row) => [...row.children].map((cell) => cell.textContent)),
    cache: all(".ex-cache rect").map((rect) => [rect.getAttribute("aria-label"), !rect.classList.contains("ex-kept")]),
    held: root.querySelector(".ex-gpt > .ex-caption:not(:has(+ .ex-top))")?.textContent,
    words: root.querySelector(".ex-readout").textContent,
    said: all(".ex-said > p").filter((p) => getComputedStyle(p).visibility === "visible").map((p) => p.textContent),
    pressed: all("button[aria-pressed=true]").map((button) => button.textContent),
    off: all("button[aria-disabled=true]").map((button) => button.dataset.trait),
  };
}"""
SIGNS, NAMES = {" ": "␣", "\n": "↵"}, {" ": "space", "\n": "new line"}


def quoted(symbol):
    return NAMES.get(symbol, f"“{symbol}”")


def uniform(series, draw):
    """The integer hash lowbias32 of one draw of one series, as a share of 1."""
    low = 0xFFFFFFFF
    a = series * 1000 + draw + 1
    a = ((a ^ (a >> 16)) * 0x7FEB352D) & low
    a = ((a ^ (a >> 15)) * 0x846CA68B) & low
    return (a ^ (a >> 16)) / 2**32


@functools.cache
def released():
    return small_gpt.load_packed().double()


@torch.no_grad()
def reading(tokens):
    """Read a text whole, without a cache: logits of the next token, weights by layer, keys and values by layer."""
    seen = {}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: seen.update({name: output[0]}))
        for name, module in released().named_modules()
        if name.endswith(("w_k", "w_v"))
    ]
    with interpret.record_attention(released()) as weights:
        logits = released()(torch.tensor([tokens]))[0, -1]
        looks = [one[0, :, -1] for one in weights.values()]
    for hook in hooks:
        hook.remove()
    return logits, looks, seen


def next_token(logits, rules, u):
    """Give the distribution before and after the cut, the order of the tokens, and the token that is drawn."""
    warm = (logits - logits.max()) / rules["temperature"]
    order = warm.argsort(descending=True, stable=True)
    before = warm.softmax(-1)
    after = keep_top_p(keep_top_k(warm, rules["top_k"]), rules["top_p"]).softmax(-1)
    passed = (after[order].cumsum(0) > u).nonzero()
    return before, after, order, order[passed[0, 0]].item()


def compare(root, prompt, step, series, layer, head, **rules):
    """Hold one state of the figure against PyTorch."""
    where = (prompt, step, series, layer, head, rules)
    got = root.evaluate(SHOWN)
    tokens, chances = small_gpt.encode(prompt).tolist(), []
    for draw in range(step):
        _, after, order, token = next_token(reading(tokens)[0], rules, uniform(series, draw))
        chances.append((after[token].item(), order.tolist().index(token) + 1))
        tokens.append(token)
    logits, looks, seen = reading(tokens)
    before, after, order, token = next_token(logits, rules, uniform(series, step))
    look = looks[layer][head]
    symbols = [small_gpt.symbols()[k] for k in tokens]
    assert got["text"] == "".join(symbols), where
    assert int(got["step"]) == step
    for j, (sign, says, made, amount) in enumerate(got["tokens"]):
        symbol = symbols[j]
        assert (sign, made) == (SIGNS.get(symbol, symbol), j >= len(prompt)), where
        want = f"{quoted(symbol)}, token {tokens[j]} at position {j}, weight {look[j]:.2f}"
        if made:
            chance, place = chances[j - len(prompt)]
            want += f"; it was drawn with probability {chance:.2f}, as number {place} in order"
        assert says == f"{want}.", where
        assert amount == pytest.approx((look[j] / look.max()).item(), abs=6e-4), where
    assert len(got["tokens"]) == len(tokens)
    for (name, _, p, cut), k in zip(got["bars"], order.tolist(), strict=False):
        symbol = small_gpt.symbols()[k]
        assert name == SIGNS.get(symbol, symbol) + NAMES.get(symbol, ""), where
        assert float(p) == pytest.approx(before[k].item(), abs=6e-4), where
        assert (cut == "cut") == (after[k] == 0), where
        assert cut == "cut" or float(cut) == pytest.approx(after[k].item(), abs=6e-4), where
    assert len(got["bars"]) == FIRST
    rows = [(i, name, letter) for i in range(3) for name, letter in (("key", "k"), ("value", "v"))]
    fresh = 1 if step else len(prompt)
    want = [
        [
            f"Layer {i}, the {name} of {quoted(symbols[j])} at position {j}: 64 numbers, length "
            f"{seen[f'decoder.layers.{i}.self_attention.w_{letter}'][j].norm():.2f}.",
            j >= len(tokens) - fresh,
        ]
        for i, name, letter in rows
        for j in range(len(tokens))
    ]
    assert got["cache"] == want, where
    whole = f"The whole beginning, {'one token' if fresh == 1 else f'{fresh} tokens'}, was read in one pass."
    saved = f"The last pass computed one token; without the cache it would have computed {len(tokens)}."
    assert got["held"] == (
        f"The cache holds 3 layers × 2 (keys and values) × {len(tokens)} tokens × 64 = {384 * len(tokens):,} numbers. "
        + (saved if step else whole)
    ), where
    best = order[0].item()
    at = int(look.argmax())
    back = len(tokens) - 1 - at
    far = f"{back} character{'s' * (back > 1)} back" if back else "itself the newest"
    line_ends = sum(p for symbol, p in zip(symbols, look.tolist(), strict=True) if symbol == "\n")
    for words in (
        f"Most probable next: {quoted(small_gpt.symbols()[best])}, {before[best]:.2f}. ",
        f"{int((after > 0).sum())} of 65 characters can be drawn; the next draw gives ",
        f"gives {quoted(small_gpt.symbols()[token])}. Layer {layer}, head {head} looks most at ",
        f"at {quoted(symbols[at])}, {far} ({look[at]:.2f}), and puts {line_ends:.2f} on ends of lines.",
    ):
        assert words in got["words"], (where, got["words"])
    assert ("the last one that this figure generates" in got["words"]) == (step == MOST)
    return got


def check(root, values):
    """Open the model, and put it into states that differ in every control."""
    root.evaluate(OPEN)
    names = ("prompt", "step", "series", "layer", "head", "temperature", "top_k", "top_p")
    state = {name: values[name] for name in names}

    def move(**traits):
        state.update(traits)
        put(root, **{name: str(value) if name in ("layer", "head") else value for name, value in traits.items()})
        compare(root, **state)

    def press(trait, **after):
        state.update(after)
        put(root, **{trait: None})
        return compare(root, **state)

    compare(root, **state)
    put(root, prompt="O, th")
    state |= {"prompt": "O, th", "step": 0}  # another beginning begins anew
    assert press("next", step=1)["off"] == []
    assert press("back", step=0)["off"] == ["back"]
    press("more", step=10)
    move(temperature=0.3)
    move(temperature=1.6)
    move(top_k=4)
    move(layer=0)
    move(head=3)
    move(top_k=65)
    move(top_p=0.5)
    press("other", series=(state["series"] + 1) % 100, step=0)
    for _ in range(MOST // 10 + 1):
        put(root, more=None)
    state["step"] = MOST
    assert compare(root, **state)["off"] == ["next", "more"]
    press("back", step=MOST - 1)
    press("plain", temperature=1.0, top_k=65, top_p=1.0)
    for k, (title, own, text) in enumerate(TRIES):
        put(root, prompt="naïve")  # refused, and forgotten with the next try
        found = press(f"try-{k}", **START | own)
        assert (found["said"], found["pressed"]) == ([text, ""], [title])
        assert root.query_selector("textarea").input_value() == state["prompt"]


CHECKS = {"GlassGPT": check}


def made():
    return [GlassGPT(prompt="Enter a\n", step=7, series=3, temperature=0.7, top_k=20, top_p=0.9, layer=1, head=2)]


@pytest.mark.parametrize(
    ("trait", "value", "rule"),
    [
        ("prompt", "", "has 1 to 48 characters: got ''"),
        ("prompt", "é", "Leave them out"),
        ("prompt", "a" * 49, "Write that many"),
        ("temperature", 0, "a number from 0.1 to 2.0: got 0"),
        ("top_p", 0.0, "a number from 0.05 to 1.0"),
        ("step", MOST + 1, "a whole number from 0 to 64"),
        ("layer", 3, "one of 0, 1, 2: got 3"),
    ],
)
def test_what_the_figure_cannot_show_is_refused(trait, value, rule):
    with pytest.raises(ValueError, match=rule):
        GlassGPT(**{trait: value})


def test_the_picture_before_opening_has_the_best_characters_of_the_model():
    still = GlassGPT().still
    logits = reading(small_gpt.encode(still["prompt"]).tolist())[0]
    best, tokens = logits.softmax(-1).topk(FIRST)
    assert [symbol for symbol, _ in still["best"]] == [small_gpt.symbols()[k] for k in tokens]
    assert [p for _, p in still["best"]] == pytest.approx(best.tolist(), abs=6e-4)


@torch.no_grad()
def written(series, temperature, length):
    """Continue the first prompt of the figure by each of several series of draws, all read in one batch."""
    texts = small_gpt.encode(PROMPT).expand(len(series), -1)
    rules = {"temperature": temperature, "top_k": 65, "top_p": 1.0}
    for draw in range(length):
        logits = released()(texts)[:, -1]
        drawn = [next_token(row, rules, uniform(k, draw))[3] for k, row in zip(series, logits, strict=True)]
        texts = torch.cat([texts, torch.tensor(drawn)[:, None]], dim=1)
    return [small_gpt.decode(text) for text in texts]


def test_the_page_is_right_about_temperatures():
    cold = Counter(written(range(20), 0.1, 20))
    assert cold.most_common(1)[0][1] == 11
    words = [re.findall("[A-Za-z']+", text)[:-1] for text in (small_gpt.text(), *written(range(20), 2.0, 60))]
    known, hot = set(words[0]), [word for text in words[1:] for word in text[3:]]  # behind ROMEO, My and the first word
    assert len(hot) > 100
    assert sum(word in known for word in hot) / len(hot) == pytest.approx(1 / 3, abs=0.05)


def test_the_things_to_try_show_what_they_promise():
    heat, cut, far, cache = (START | own for _, own, _ in TRIES)
    cool, warm, hot = (written([heat["series"]], temperature, heat["step"])[0] for temperature in (0.1, 1.0, 2.0))
    assert heat["temperature"] == 1.0
    assert cool[: len(PROMPT) + 3] == warm[: len(PROMPT) + 3]  # a part stays, and not all of it
    assert cool != warm
    assert hot[: len(PROMPT) + 1] == warm[: len(PROMPT) + 1]
    assert hot != warm

    tokens, counts = small_gpt.encode(cut["prompt"]).tolist(), []
    for draw in range(9):
        _, after, _, token = next_token(reading(tokens)[0], cut, uniform(cut["series"], draw))
        counts.append(int((after > 0).sum()))
        tokens.append(token)
    text = small_gpt.decode(torch.tensor(tokens))[len(cut["prompt"]) :]
    word = text.index(" ")
    assert max(counts[1 : word + 1]) < 10 < min(counts[0], counts[word + 1])

    text = written([far["series"]], far["temperature"], far["step"])[0]
    looks = reading(small_gpt.encode(text).tolist())[1]
    ends = tensor([symbol == "\n" for symbol in text])
    for layer, heads in enumerate(looks):
        for head, look in enumerate(heads):
            if (layer, head) == (far["layer"], far["head"]):
                assert look @ ends > 0.5
                assert not ends[-20:].any()
            else:
                assert look[-8:].sum() > 0.75
    assert cache == START


def test_a_new_character_changes_no_column_of_the_cache_and_another_first_one_all_but_those_of_layer_0():
    cache = {text: reading(small_gpt.encode(text).tolist())[2] for text in (PROMPT, PROMPT + "o", "J" + PROMPT[1:])}
    for name, columns in cache[PROMPT].items():
        torch.testing.assert_close(cache[PROMPT + "o"][name][:-1], columns, rtol=0, atol=1e-12)
        moved = (cache["J" + PROMPT[1:]][name] - columns).norm(dim=-1) > 1e-3
        assert moved[0]
        assert moved[1:].tolist() == [".layers.0." not in name] * (len(PROMPT) - 1), name


def test_the_random_numbers_are_spread_evenly_and_differ_by_series():
    """The chi-squared statistic of 6,400 draws in 20 classes has 19 degrees of freedom: above 43.8 in one of 1,000."""
    drawn = tensor([[uniform(series, draw) for draw in range(MOST)] for series in range(100)])
    counts = torch.histc(drawn, 20, 0, 1)
    assert ((counts - 320) ** 2 / 320).sum() < 43.8
    pairs = torch.corrcoef(torch.stack([drawn[:, :-1].flatten(), drawn[:, 1:].flatten()]))[0, 1]
    assert pairs.abs() < 0.04
    assert drawn.unique().numel() == drawn.numel()
