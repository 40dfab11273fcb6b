"""Train it here: the small translator of the chapter, trained in the browser. Chapter: book/attention.

What is shown before the reader starts is a run of PyTorch, of ``companion.chapters.attention.small_translator``. The
browser trains anew, with the same draws.
"""

import string
from typing import Any

from companion import tasks
from companion.chapters.attention import small_translator as small
from companion.explorers.base import Choice, Explorer, Numbers, Switch, Title, Whole

RATES = (0.002, 0.005, 0.01, 0.02)
SEEDS = (1, 2, 3)
EVERY = 10
"""Steps of one point of the curve."""
EXAMPLES = (
    "the white cow follows a green hen",
    "the hen hears the green cow",
    "a black horse follows a green dog",
)
"""Of the test sentences."""


class TrainHere(Explorer):
    """Train the chapter's translator in the browser: losses, maps and mistakes, one curve and one map for each run."""

    _js = ("train_parts.js", "train_engine.js", "train_worker.js", "train_here.js")

    room = Numbers((717, 1107), fixed=True)
    packed = Numbers(words=True, fixed=True)
    still = Numbers(words=True, fixed=True, digits=4)
    examples = Numbers(words=True, fixed=True)
    rates = Numbers(RATES, fixed=True)
    seed = Choice((*SEEDS, "all"), 1, help="of the first parameters and the batches; ``'all'`` trains three in turn")
    rate = Choice(RATES, 0.005, help="the learning rate of Adam")
    scale = Switch(True, help="whether scores are divided by the root of the width")
    causal = Switch(True, help="whether the decoder's self-attention hides later words")
    warmup = Switch(False, help="whether the learning rate rises over the first 100 steps")
    sentence = Whole(0, 0, len(EXAMPLES) - 1, help="which sentence's map")
    label = Title("Train a translator here")

    def __init__(self, **traits: object) -> None:
        given = packed()
        examples = _examples(given["test"])
        super().__init__(packed=given, examples=examples, still=_still(examples), **traits)

    def _about(self) -> str:
        return f"{len(self.examples)} sentences, {len(self.still['losses'])} losses"


def packed() -> dict[str, Any]:
    """Pack the sentences of the chapter: three characters each, for the subject, the verb and the object.

    Returns:
        The vocabularies, the phrases and the verbs of both languages, and a text each for training and test.
    """
    phrases: dict[tuple[str, str], str] = {}

    def letter(english: list[str], french: list[str]) -> str:
        return phrases.setdefault((" ".join(english), " ".join(french)), string.ascii_letters[len(phrases)])

    def letters(pair: tasks.Pair) -> str:
        english, french = pair
        (verb,) = {*english} & {*tasks.VERBS}
        i, j = english.index(verb), french.index(tasks.VERBS[verb])
        number = list(tasks.VERBS).index(verb)
        return f"{letter(english[:i], french[:j])}{number}{letter(english[i + 1 :], french[j + 1 :])}"

    train, test = ("".join(map(letters, pairs)) for pairs in small.sentences())
    return {
        **{"train": train, "test": test, "phrases": [*phrases], "verbs": [*tasks.VERBS.items()]},
        **{"symbols": "".join(phrases.values()), "english": small.data().english, "french": small.data().french},
        **{"start": tasks.START, "end": tasks.END},
    }


def _examples(test: str) -> list[dict[str, Any]]:
    """Find the example sentences among those of the test: the words of both languages, and the packed text."""
    there = [" ".join(english) for english, _ in small.sentences()[1]]
    places = [there.index(text) for text in EXAMPLES]
    pairs = [small.sentences()[1][at] for at in places]
    return [
        {"english": english, "french": french, "text": test[3 * at : 3 * at + 3]}
        for at, (english, french) in zip(places, pairs, strict=True)
    ]


def _still(examples: list[dict[str, Any]]) -> dict[str, Any]:
    """Train by PyTorch what the figure shows first: its curve, its mistakes, and what it makes of the examples."""
    run = small.trained(SEEDS[0], small.Recipe())
    return {
        "losses": [sum(run.losses[k : k + EVERY]) / EVERY for k in range(0, len(run.losses), EVERY)],
        "wrong": small.words_wrong(run.model),
        "right": small.sentences_right(run.model),
        "looks": [small.look(run.model, (one["english"], one["french"])) for one in examples],
        "counts": {"words": int((small.data().test[2] > 0).sum()), "sentences": len(small.sentences()[1])},
    }
