"""What the tours of the Glass Transformer say of their states, computed by PyTorch and found in their texts."""

import re
from functools import cache, cached_property
from types import SimpleNamespace

import pytest
import torch

from companion import generate, tasks
from companion.chapters.architecture import translator
from companion.chapters.architecture.explorers.glass import SHOWN
from companion.chapters.architecture.tours import TOURS
from companion.explorers import Glass
from companion.tasks import lexicon
from tests.chapters.architecture.beams import searched
from tests.chapters.architecture.test_glass_in_browser import change_of, in_english, in_whole, numbers, released


@cache
def figure():
    return Glass()


class Seen:
    """What a stop shows."""

    def __init__(self, stop):
        self.stop = SimpleNamespace(**stop["state"], at=stop["at"])
        self.text, self.light = stop["text"], stop["light"]
        glass = figure()
        for name, value in stop["state"].items():
            setattr(glass, name, value)  # refused where it is none
        self.gloss = glass.gloss
        self.before = glass.sentences[self.stop.sentence].split()
        self.english = in_english(" ".join(self.before), self.stop.swapped)
        states = {name: stop["state"][name] for name in ("off", "causal", "positions", "norm", "scale")}
        changed = {name: value for name, value in states.items() if value not in (0, True) or value is False}
        self.change = change_of({"heads": glass.heads}, **changed)
        self.run = numbers(self.english, self.stop.step, self.change)
        self.written, self.whole = self.run["written"], in_whole(tuple(self.english))
        self.predicts = self.written[self.run["step"]]
        side = "encoder" if self.stop.place == "attention" else "decoder"
        self.name = f"{side}.layers.{self.stop.layer}.{self.stop.place}"
        row = -1 if self.stop.at is None else self.stop.at
        self.weights = self.run["weights"][self.name][self.stop.head][row]
        self.looks_at = self.english[self.weights.argmax()]
        self.weight = self.weights.max()

    @cached_property
    def beam(self):
        model, words = released()
        source = [words.index(word) for word in self.english]
        with translator.switched(model, **self.change):
            done, _ = searched(model, source, self.stop.width)
            if self.stop.causal:
                (want,) = generate.beam(
                    model, torch.tensor([[1]]), translator.MOST, width=2, end=2, source=torch.tensor([source])
                )
                assert [text.tokens for text in want] == [text["tokens"] for text in done]
        return [words[token] for token in done[0]["tokens"]]

    def likeliest(self, count):
        _, words = released()
        found = self.run["probabilities"].topk(count)
        return [(words[k], p) for p, k in zip(found.values.tolist(), found.indices.tolist(), strict=True)]

    def english_of(self, word):
        return f"{word}, “{self.gloss[word]}”"


def noun(see):
    assert f"The last row is the step that predicts {see.english_of(see.predicts)}." in see.text
    assert f"Head {see.stop.head} of cross-attention in layer {see.stop.layer} puts nearly all" in see.text
    assert f"there on “{see.looks_at}”" in see.text
    assert see.weight > 0.95


def classifier(see):
    at = see.run["step"]
    links = translator.links()[SHOWN[see.stop.sentence]]
    assert see.predicts in translator.kinds()["classifier"]
    assert links[at] == ()
    assert f"predicts {see.predicts}, a classifier, which translates no English word" in see.text
    assert f"One word earlier, the model predicts {see.written[at]}" in see.text
    assert see.written[at + 1] in translator.kinds()["noun"]
    assert f"looks at “{see.looks_at}” already" in see.text
    assert see.weight > 0.95


def exchanged(see):
    (new,) = [word for word in see.english if word not in {*see.before, "an"}]
    (old,) = [word for word in see.before if word not in {*see.english, "a"}]
    assert see.predicts in translator.kinds()["classifier"] - set(in_whole(tuple(see.before)))
    assert f"With “{new}” in place of “{old}”, the head looks at “{see.looks_at}”" in see.text
    assert see.looks_at == new
    assert f"classifier becomes {see.predicts}, which counts {new}s." in see.text
    assert lexicon.THINGS[new][0] == see.predicts


def scores(see):
    assert see.stop.scores
    cut = slice(32 * see.stop.head, 32 * see.stop.head + 32)
    query, key = (see.run["kept"][f"{see.name}.w_{letter}"][0, :, cut] for letter in "qk")
    best = see.english[(key @ query[-1]).argmax()]
    assert f"“{best}” has the largest score" in see.text
    assert best == see.looks_at
    assert see.weight > 0.95


def sure(see):
    ((word, p), *_) = see.likeliest(1)
    assert f"The whole model is sure of {see.english_of(word)}." in see.text
    assert p > 0.95
    assert f"This head looks at “{see.looks_at}”." in see.text
    assert see.change == {}


def another_noun(see):
    lost = [word for word in see.whole if word not in see.written]
    new = [word for word in see.written if word not in see.whole]
    assert f"the {see.gloss[lost[1]]} becomes a {see.gloss[new[1]]}, {new[1]}" in see.text
    assert f"the classifier changes with it, from {lost[0]} to {new[0]}" in see.text
    meant = [see.gloss[new[1]] if word == see.gloss[lost[1]] else word for word in see.english]
    assert see.written == in_whole(tuple(meant)), "it is the translation of another sentence, so grammatical"


def guesses(see):
    (first, p), (second, q) = see.likeliest(2)
    assert f"{see.english_of(first)}, has probability {p:.2f}, and {see.english_of(second)}, {q:.2f}" in see.text
    (right,) = set(see.whole) & translator.kinds()["noun"]
    assert f"The right one, {right}, is not among the six likeliest" in see.text
    assert right not in [word for word, _ in see.likeliest(6)]
    assert {first, second} <= translator.kinds()["noun"]


def time_early(see):
    when = see.gloss[see.predicts]
    assert see.run["step"] == 2
    assert f"The third word is {see.english_of(see.predicts)}." in see.text
    assert f"looks at “{see.looks_at}” to predict it, and not at “{when}”" in see.text
    assert see.weights[see.english.index(when)] < 0.05
    assert see.english.index(when) == len(see.english) - 2
    verb = next(word for word in see.whole if word in translator.kinds()["verb"])
    assert see.whole.index(see.predicts) < see.whole.index(verb)


def time_in_the_encoder(see):
    row = see.english[see.stop.at]
    assert f"head {see.stop.head} of layer {see.stop.layer} looks from “{row}” to “{see.looks_at}”" in see.text
    assert see.weight > 0.95
    assert f"the vector of “{row}”" in see.text


def time_lost(see):
    (lost,) = [word for word in see.whole if word not in see.written]
    assert see.written == [word for word in see.whole if word != lost]
    assert f"{lost} is missing from the translation, and nothing else changes" in see.text


def beams_agree(see):
    source, target = ([released()[1].index(word) for word in text] for text in (see.english, [tasks.START, *see.whole]))
    with torch.no_grad():
        logits = released()[0](torch.tensor([source]), torch.tensor([target[:-1]]))
    assert logits[0].softmax(-1).max(-1).values.min() > 0.9, "near 1 at each step"
    assert see.beam == see.written == see.whole
    assert see.change == {}


def beams_rescue(see):
    word = max(set(see.written), key=see.written.count)
    assert see.written.count(word) > 10
    assert tasks.END not in see.written
    assert f"greedy search repeats {see.english_of(word)}, until it is stopped" in see.text
    assert see.beam == see.whole
    assert see.change == {"causal": False}


def beams_mislead(see):
    assert see.written == see.whole, "greedy search is still right"
    lost = [word for word in see.written if word not in see.beam]
    assert see.beam == [word for word in see.written if word not in lost]
    assert f"leaves out {''.join(lost)}, “{' '.join(see.gloss[word] for word in lost)}”" in see.text
    assert see.change == {"heads": {f"decoder.layers.{see.stop.layer}.cross_attention": [0]}}
    assert f"Without head 0 of cross-attention in layer {see.stop.layer}" in see.text


SAID = [
    [noun, classifier, exchanged, scores],
    [sure, another_noun, guesses],
    [time_early, time_in_the_encoder, time_lost],
    [beams_agree, beams_rescue, beams_mislead],
]
STOPS = [(number, k) for number, tour in enumerate(TOURS) for k in range(len(tour["stops"]))]


@pytest.mark.parametrize(("number", "k"), STOPS)
def test_what_a_stop_says_is_what_pytorch_gives_in_its_state(number, k):
    see = Seen(TOURS[number]["stops"][k])
    SAID[number][k](see)
    shown = ["".join(see.written), "".join(see.whole), *(word for word, _ in see.likeliest(6))]
    for word in re.findall(r"[\u4e00-\u9fff]+", see.text):
        assert any(word in text for text in shown), f"{word} is not to be seen"


@pytest.mark.parametrize("width", [2, 3, 4])
def test_the_whole_model_writes_greedy_s_text_with_beams_for_each_sentence_of_the_menu(width):
    model, words = released()
    english = [sentence.split() for sentence in figure().sentences]
    rows = tasks.encode(english, words), [len(sentence) for sentence in english]
    start = torch.full((len(english), 1), words.index(tasks.START))
    found = generate.beam(model, start, translator.MOST, width=width, end=2, source=rows[0], source_lengths=rows[1])
    best = [tasks.decode(torch.tensor([texts[0].tokens]), words)[0] for texts in found]
    assert best == translator.translations(model, english, words)
    assert len(best) == len(figure().sentences) == 40


def test_each_tour_has_two_to_four_stops_each_with_its_own_check():
    assert [len(tour["stops"]) for tour in TOURS] == [len(checks) for checks in SAID]
    assert {len(checks) for checks in SAID} <= {2, 3, 4}
    checks = [check for checks in SAID for check in checks]
    assert len({*checks}) == len(checks)
