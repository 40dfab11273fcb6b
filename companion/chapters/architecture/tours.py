"""The guided tours of the Glass Transformer: at each stop the state of the figure, what it shows, and which part does.

``tests/chapters/architecture/test_glass_tours.py`` holds each sentence against PyTorch.
"""

from typing import Any

START = {
    **{"sentence": 0, "swapped": {}, "step": 0, "place": "cross_attention", "layer": 1, "head": 1, "off": 0},
    **{"causal": True, "positions": True, "norm": True, "scale": True},
    **{"scores": False, "tree": False, "width": 2},
}
"""The state that each stop changes."""
BUYS, PEN, DOG, SWEATERS = 0, 1, 2, 34


def _stop(light: str, text: str, *, at: int | None = None, **state: Any) -> dict[str, Any]:  # noqa: ANN401
    """Make a stop: the traits that differ from the whole model, and the row of the map that is looked at."""
    return {"light": light, "text": text, "at": at, "state": START | state}


_NOUN = [
    _stop(
        "map",
        "The last row is the step that predicts 杂志, “magazine”. Head 1 of cross-attention in layer 1 puts nearly all "
        "of its weight there on “magazine”.",
        sentence=BUYS,
        step=9,
    ),
    _stop(
        "map",
        "One word earlier, the model predicts 本, a classifier, which translates no English word: like “sheets” in "
        "“two sheets of paper”, it goes with the noun. So the head looks at “magazine” already.",
        sentence=BUYS,
        step=8,
    ),
    _stop(
        "next",
        "With “umbrella” in place of “magazine”, the head looks at “umbrella”, and the classifier becomes 把, "
        "which counts umbrellas.",
        sentence=BUYS,
        swapped={"5": "umbrella"},
        step=8,
    ),
    _stop(
        "steps",
        "How the weight comes about: among the keys, “magazine” has the largest score, and the softmax turns its lead "
        "into nearly all of the weight.",
        sentence=BUYS,
        step=9,
        scores=True,
    ),
]
_HEAD = [
    _stop("next", "The whole model is sure of 笔, “pen”. This head looks at “pen”.", sentence=PEN, step=6),
    _stop(
        "texts",
        "Without this head, the pen becomes a map, 地图, and the classifier changes with it, from 支 to 张. The "
        "sentence remains grammatical, and all else is right: what the model no longer knows is which noun was said.",
        sentence=PEN,
        step=25,
        off=12,
    ),
    _stop(
        "next",
        "The model now guesses among nouns: 地图, “map”, has probability 0.43, and 椅子, “chair”, 0.36. The right one, "
        "笔, is not among the six likeliest.",
        sentence=PEN,
        step=6,
        off=12,
    ),
]
_TIME = [
    _stop(
        "map",
        "English has the time at the end, Chinese before the verb. The third word is 明天, “tomorrow”. The head looks "
        "at “will” to predict it, and not at “tomorrow”.",
        sentence=DOG,
        step=2,
    ),
    _stop(
        "map",
        "In the encoder, head 1 of layer 0 looks from “will” to “tomorrow”: the vector of “will” can take up the time "
        "here.",
        sentence=DOG,
        step=2,
        place="attention",
        layer=0,
        at=2,
    ),
    _stop(
        "texts",
        "Without this head of the encoder, 明天 is missing from the translation, and nothing else changes.",
        sentence=DOG,
        step=25,
        off=2,
    ),
]
_BEAM = [
    _stop(
        "tree",
        "The whole model is sure of each word: the likeliest has a probability near 1 at each step. Two beams find the "
        "text of greedy search.",
        sentence=SWEATERS,
        step=25,
        tree=True,
    ),
    _stop(
        "tree",
        "Without the causal mask, greedy search repeats 看见, “see”, until it is stopped. A search with two beams "
        "keeps another beginning, and finds the translation of the whole model.",
        sentence=SWEATERS,
        step=25,
        causal=False,
        tree=True,
    ),
    _stop(
        "tree",
        "A higher score need not be a better translation. Without head 0 of cross-attention in layer 1, greedy search "
        "is still right. The best text of two beams scores higher, and leaves out 在学校, “at school”.",
        sentence=SWEATERS,
        step=25,
        off=11,
        tree=True,
    ),
]
TOURS = [
    {"title": "Where does a noun come from?", "stops": _NOUN},
    {"title": "What if that head is missing?", "stops": _HEAD},
    {"title": "Where does “tomorrow” come from?", "stops": _TIME},
    {"title": "What do beams find?", "stops": _BEAM},
]
"""Title and stops of each tour."""


def packed() -> dict[str, Any]:
    """Give the tours with each state as its differences from :data:`START`."""

    def short(stop: dict[str, Any]) -> dict[str, Any]:
        return stop | {"state": {name: x for name, x in stop["state"].items() if x != START[name]}}

    return {"start": START, "all": [tour | {"stops": [short(stop) for stop in tour["stops"]]} for tour in TOURS]}
