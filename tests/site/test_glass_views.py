"""The Glass Transformer's table of scores, its tree of a search, and its tours, on a page of their own.

What they show is compared with PyTorch; the model here computes in float64, as JavaScript does.
"""

import re

import pytest
import torch

from companion import tasks
from companion.chapters.architecture import translator
from companion.chapters.architecture.explorers.glass import PLACES
from companion.chapters.architecture.tours import SWEATERS, TOURS
from companion.explorers import Glass
from companion.generate.search import length_penalty
from tests.chapters.architecture.beams import searched
from tests.chapters.architecture.test_glass_in_browser import OPEN, change_of, compare, numbers, released
from tests.site.browser import assert_right_as_shown, put, tab_to, table
from tests.site.test_glass import STEP_MS, STEPS

pytestmark = pytest.mark.browser

TABLE = """(root) => {
  const all = [...root.querySelectorAll('[data-matrix="steps"] .ex-cell')];
  const heads = [...root.querySelectorAll('[data-matrix="steps"] .ex-head')].map((head) => head.textContent);
  return { cells: tools.cells(root, "steps"), heads, hidden: all.map((c) => c.classList.contains("ex-hidden")),
    told: all.map((cell) => { tools.look(cell); return root.querySelector(".ex-digits").textContent; }) };
}"""
TREE = """(root) => {
  const text = (node) => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("rt").forEach((gloss) => gloss.remove());
    return copy.textContent.replaceAll(" ", "");
  };
  const place = (node, ...names) => names.map((name) => Number(node.getAttribute(name)));
  return {
    nodes: [...root.querySelectorAll(".ex-node")].map((node) => ({
      label: node.getAttribute("aria-label"), kinds: [...node.classList],
      box: place(node.firstChild, "x", "y", "width", "height"),
      texts: [...node.querySelectorAll("text")].map((one) => one.textContent),
    })),
    edges: [...root.querySelectorAll(".ex-edge")].map((edge) => place(edge, "x1", "y1", "x2", "y2")),
    verdict: root.querySelector(".ex-verdict").textContent,
    lines: [...root.querySelectorAll(".ex-beams .ex-line-of-words")].map((line) => [...line.children].map(text)),
  };
}"""
WIDE = "() => document.documentElement.scrollWidth <= window.innerWidth"


@pytest.fixture
def figure(alone):
    """The Glass Transformer, open."""
    tab, root, _ = alone(Glass())
    root.evaluate(OPEN)
    return tab, root


# ---- From score to weight


@pytest.mark.parametrize(
    ("place", "layer", "row", "states"),
    [
        ("cross_attention", 1, None, {}),
        ("cross_attention", 0, 2, {"scale": False}),
        ("self_attention", 0, 2, {}),
        ("self_attention", 1, 2, {"causal": False}),
        ("attention", 1, 3, {"off": 3}),
    ],
)
def test_the_table_leads_from_the_scores_of_pytorch_to_its_weights(figure, place, layer, row, states):
    _, root = figure
    put(root, sentence=1, place=PLACES.index(place), layer=str(layer), all=None, scores=True, **states)
    glass = Glass()
    english = glass.sentences[1].split()
    want = numbers(english, translator.MOST, change_of({"heads": glass.heads}, **states))
    side = "encoder" if place == "attention" else "decoder"
    name = f"{side}.layers.{layer}.{place}"
    weights = want["weights"][name][1]
    if row is not None:
        root.query_selector(f'[data-matrix="weights"] [data-i="{row}"][data-j="0"]').click()
    row = len(weights) - 1 if row is None else row
    query, key = (want["kept"][f"{name}.w_{letter}"][0, :, 32:] for letter in "qk")
    raw = key @ query[row]
    scores = raw if states.get("scale") is False else raw / 32**0.5
    masked = place == "self_attention" and states.get("causal", True)
    hidden = torch.tensor([masked and j > row for j in range(len(raw))])
    after = scores.masked_fill(hidden, -torch.inf)
    steps = [raw, scores, *([after] if masked else []), (after - after.max()).exp(), weights[row]]
    columns = torch.stack(steps, -1)
    got = root.evaluate(TABLE)
    torch.testing.assert_close(table(got["cells"]), columns, rtol=0, atol=0.0051)
    scaled = "no scale" if states.get("scale") is False else "/ √32"
    keys = want["target"] if place == "self_attention" else english
    heads = ["key", "query · key", scaled, *(["mask"] if masked else []), "exp", "weight", *keys]
    assert got["heads"] == heads
    assert got["hidden"] == [bool(h) and j == 2 for h in hidden for j in range(len(steps))]
    for k, told in enumerate(got["told"]):
        i, j = divmod(k, len(steps))
        j += j > 1 and not masked  # without a mask that column is not there
        assert told.startswith(f"“{keys[i]}”"), told
        if hidden[i] and j >= 2:
            assert "a later word: the mask makes its score −∞" in told
        for equation in re.findall(r"(?:^|: )([e√\d−][^=:]* = [−\d.]*\d)", told):
            assert_right_as_shown(equation, told)
        assert ("=" in told) == (j in {0, 1, 3, 4} and not (hidden[i] and j >= 2)) or "stays" in told


# ---- The tree of a search


def check_tree(root, english, width, changes):
    """Hold the tree, its paths and its texts against a search by PyTorch."""
    model, words = released()
    with translator.switched(model, **changes):
        done, steps = searched(model, [words.index(word) for word in english], width)
        (greedy,) = translator.translations(model, [english], words)
    greedy = [words.index(word) for word in [*greedy, tasks.END][: translator.MOST]]
    names = [*words]
    names[2] = "end"
    got = root.evaluate(TREE)
    labels = [
        f"word {i + 1}, place {j + 1}: {names[node['tokens'][-1]]}, probability {node['p']:.2f}"
        for i, row in enumerate(steps)
        for j, node in enumerate(row)
    ]
    assert [node["label"] for node in got["nodes"]] == labels
    best = done[0]["tokens"]
    boxes = {}
    for node, shown in zip([node for row in steps for node in row], got["nodes"], strict=True):
        tokens = node["tokens"]
        boxes[*tokens] = x, y, wide, high = shown["box"]
        won = best[: len(tokens)] == tokens
        lost = greedy[: len(tokens)] == tokens and not won
        kept = node["kept"] or node["score"] is not None
        assert [f"ex-{kind}" in shown["kinds"] for kind in ("kept", "dropped", "won", "greedy")] == [
            *(kept, not kept, won, lost)
        ]
        assert shown["texts"][-1] == f"{node['p']:.2f}"
        assert (shown["texts"][0] == "end ★") == (tokens == best)
        if len(tokens) > 1:
            x0, y0, *_ = boxes[*tokens[:-1]]
            across = [x0 + wide, y0 + high / 2, x, y + high / 2]
            down = [x0 + wide / 2, y0 + high, x + wide / 2, y]
            assert across in got["edges"] or down in got["edges"]
    assert len(got["edges"]) == len(got["nodes"]) - len(steps[0])
    with translator.switched(model, **changes), torch.no_grad():
        source, target = torch.tensor([[words.index(word) for word in english]]), torch.tensor([[1, *greedy[:-1]]])
        logs = model.decode(target, model.encode(source))[0].log_softmax(-1)
    score = logs[range(len(greedy)), greedy].sum().item() / length_penalty(len(greedy), 0.6)
    same = best == greedy
    lines = [("besttext", done[0]["score"], best)] + ([] if same else [("greedy", score, greedy)])
    lines += [(name, t["score"], t["tokens"]) for name, t in zip(("second", "third", "fourth"), done[1:], strict=False)]
    text = {entry[0]: "".join(words[token] for token in entry[2] if token != 2) for entry in lines}
    assert got["lines"] == [[f"{name}:{value:.2f}".replace("-", "−"), text[name]] for name, value, _ in lines]
    if same:
        assert got["verdict"] == "The best text of this search is that of greedy search."
    else:
        assert f"its score is {done[0]['score']:.2f}, that of greedy’s {score:.2f}.".replace("-", "−") in got["verdict"]
    return got, same


def test_the_tree_is_the_search_of_pytorch_and_follows_the_sentence_its_words_and_the_switches(figure):
    _, root = figure
    glass = Glass()
    english = glass.sentences[SWEATERS].split()
    put(root, sentence=SWEATERS)
    assert not root.query_selector(".ex-tree").is_visible()
    put(root, tree=True)
    assert check_tree(root, english, 2, {})[1]
    put(root, width="4", off=11)
    _, same = check_tree(root, english, 4, change_of({"heads": glass.heads}, off=11))
    assert not same
    things = next(kind for kind in glass.kinds if "sweaters" in kind)
    put(root, width="1", off=0, scale=False, swap__3=things.index("hats"))
    check_tree(root, [*english[:3], "hats", *english[4:]], 1, {"scale": False})
    put(root, scale=True, causal=False, sentence=0, width="3")
    check_tree(root, glass.sentences[0].split(), 3, {"causal": False})


@pytest.mark.parametrize("room", [360, 390, 1000])
def test_the_tree_runs_across_where_there_is_room_and_down_where_there_is_none(figure, room):
    tab, root = figure
    put(root, sentence=SWEATERS, tree=True, off=11)  # ten words
    tab.set_viewport_size({"width": room, "height": 800})
    tab.wait_for_timeout(100)
    x, y, *_ = root.evaluate(TREE)["nodes"][-1]["box"]
    assert (x > y) == (room == 1000)
    for width in "1234":
        put(root, width=width, norm=width == "1", scores=True)
        assert tab.evaluate(WIDE)
        assert root.evaluate(
            "(r) => [...r.querySelectorAll('.ex-scroll')].every((n) => n.scrollWidth <= n.clientWidth + 1)"
        )
        assert root.evaluate("(r) => r.querySelector('.ex-tree').getBoundingClientRect().right <= window.innerWidth")


def test_the_keyboard_shows_the_tree_and_walks_through_it(figure):
    tab, root = figure
    root.query_selector('[data-trait="tour"]').focus()
    tab_to(tab, '[data-trait="tree"]')
    tab.keyboard.press("Space")
    tab_to(tab, ".ex-node")
    label = "() => document.activeElement.getAttribute('aria-label')"
    assert tab.evaluate(label).startswith("word 1, place 1: 她")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate(label).startswith("word 2, place 2: ")
    said = root.query_selector(".ex-readout").inner_text()
    word, p = re.search(r": (\S+), probability ([\d.]+)", tab.evaluate(label)).groups()
    assert re.match(rf"{word}( \(.+\))?, after .: probability {p}; log-probability of the text −[\d.]+; ", said)


def test_a_step_answers_at_once_with_table_and_tree_open(figure, capsys):
    _, root = figure
    put(root, tree=True, scores=True)
    took = root.evaluate(STEPS)
    with capsys.disabled():
        print(f"\nGlass: a step with table and tree open {took:.1f} ms ", end="")
    assert took < STEP_MS


# ---- Tours

TOUR = """(root) => ({
  place: root.querySelector(".ex-tourplace").textContent,
  text: root.querySelector(".ex-tourtext").textContent,
  lit: [...root.querySelectorAll(".ex-lit")].map((part) => [part.className, part.checkVisibility()]),
  inside: [...root.querySelectorAll(".ex-lit")].map((part) => {
    const { top, bottom } = part.getBoundingClientRect();
    const box = root.querySelector(".ex-tourbox").getBoundingClientRect();
    return box.top >= 0 && box.bottom <= window.innerHeight && top < window.innerHeight && bottom > box.bottom;
  }),
})"""


@pytest.mark.parametrize("number", range(1, len(TOURS) + 1))
def test_each_stop_of_a_tour_shows_its_state_and_outlines_its_part(figure, number):
    tab, root = figure
    glass = Glass()
    values = {"sentences": glass.sentences, "kinds": glass.kinds, "heads": glass.heads}
    stops = TOURS[number - 1]["stops"]
    marks = {"map": '[data-matrix="weights"]', "next": ".ex-topkey", "steps": '[data-matrix="steps"]'}
    marks |= {"texts": ".ex-line-of-words", "tree": ".ex-tree"}
    put(root, norm=False, swap__0=1)
    for k, stop in enumerate(stops):
        put(root, **({"tour": number} if k == 0 else {"tour-next": None}))
        state = {name: value for name, value in stop["state"].items() if name not in {"scores", "tree", "width"}}
        states = {name: state.pop(name) for name in ("off", "causal", "positions", "norm", "scale")}
        changed = {name: value for name, value in states.items() if value not in (0, True) or value is False}
        compare(root, values, **state, row=stop["at"], **changed)
        seen = root.evaluate(TOUR)
        assert (seen["place"], seen["text"]) == (f"{k + 1} of {len(stops)}", stop["text"])
        last = "next" if number == len(TOURS) else "next tour"
        assert root.query_selector("[data-trait=tour-next]").inner_text() == (last if k == len(stops) - 1 else "next")
        assert len(seen["lit"]) == 1
        assert seen["lit"][0][1]
        assert seen["inside"] == [True]
        assert root.query_selector(f".ex-lit {marks[stop['light']]}").is_visible()
        assert tab.evaluate(WIDE)
        if stop["state"]["tree"]:
            check_tree(root, glass.sentences[state["sentence"]].split(), 2, change_of(values, **changed))
    put(root, another=None)
    left = {"place": f"{len(stops)} of {len(stops)}", "text": "You have left the tour.", "lit": [], "inside": []}
    assert root.evaluate(TOUR) == left
    put(root, **{"tour-again": None})
    assert root.evaluate(TOUR)["text"].endswith(stops[-1]["text"])
    put(root, **{"tour-back": None})
    assert root.evaluate(TOUR)["text"].endswith(stops[-2]["text"])
    if number < len(TOURS):
        for _ in range(2):
            put(root, **{"tour-next": None})
        assert root.evaluate(TOUR)["text"] == TOURS[number]["stops"][0]["text"], "behind the last stop is the next tour"
    put(root, **{"tour-end": None})
    assert not root.query_selector(".ex-tourtext").is_visible()
    assert root.query_selector(".ex-lit") is None
