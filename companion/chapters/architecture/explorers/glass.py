"""The Glass Transformer: the released translator, opened and run in the browser. Chapter: book/architecture."""

from collections import Counter, defaultdict
from typing import Any

import torch

from companion import interpret, tasks
from companion.chapters.architecture import translator
from companion.chapters.architecture.tours import TOURS, packed
from companion.explorers.base import Choice, ModelExplorer, Numbers, Switch, Title, Whole, Words
from companion.tasks import lexicon
from companion.transformer import Transformer

PLACES = ("cross_attention", "self_attention", "attention")  # the names of the three in a layer
SHOWN = (12, 34, 18, 7, 28, 48, 20, 15, 36, 44)  # of the unseen sentences, those that differ most, first
DRAWN = 40


def _sentences() -> list[tasks.Pair]:
    unseen = translator.sentences()[1]
    return [unseen[k] for k in [*SHOWN, *sorted(set(range(DRAWN)) - {*SHOWN})][:DRAWN]]


def _gloss() -> dict[str, str]:
    """Give each Chinese word the English ones that it most often translates, or what it is where it translates none."""
    links = tasks.english_chinese_links(translator.TRAIN, translator.UNSEEN, seed=0)[1]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (english, chinese), link in zip(translator.sentences()[1], links, strict=True):
        for word, places in zip(chinese, link, strict=True):
            counts[word][" ".join(english[k] for k in places)] += 1
    classifiers = translator.kinds()["classifier"]
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    return {word: text or ("classifier" if word in classifiers else "particle") for word, text in best.items()}


def _kinds() -> list[list[str]]:
    """List words that may take each other's place: the sentence stays English, but may be none that was trained on."""
    nouns = (lexicon.THINGS, lexicon.ANIMALS)
    plural = [[f"{noun}s" for noun in kind] for kind in nouns]
    people = (lexicon.OWNERS, lexicon.SUBJECTS, lexicon.OBJECTS)
    alike = "he she,I you we they,buy sell,bought sold,find see,found saw,black white,red blue"
    places = "shop supermarket park,market station,school home"
    kinds = [*people, lexicon.PLURAL_POINTERS, lexicon.NUMBERS, lexicon.PLAIN, *nouns]
    return [*map(list, kinds), *plural, *(words.split() for words in f"{alike},{places}".split(","))]


class Swaps(Numbers):
    """Words of the sentence, by their places, each of one kind with the word that stands there."""

    def _check(self, value: object, obj: "Glass") -> dict[str, str]:
        swaps = super()._check(value, obj)
        english = obj.sentences[obj.sentence].split()
        for place, word in swaps.items():
            here = dict(zip(map(str, range(len(english))), english, strict=True)).get(place)
            if not any(here in kind and word in kind for kind in obj.kinds):
                raise ValueError(
                    f"a word takes the place of one of its kind: got {word!r} at {place}, where {' '.join(english)!r} "
                    f"has {here!r}. Look into kinds."
                )
        return swaps


class Glass(ModelExplorer):
    """Open the book's translator: step it word by word, see what it computes, and leave parts of it out.

    The picture before the model is opened, one head's weights on the first sentence, is computed here. Everything after
    that is computed in the browser, from the released weights, which come when the reader asks for them: on a page as
    one of its static files, in a notebook from the kernel.
    """

    _js = (
        *("tensors.js", "glass_model.js", "opened.js"),
        *("glass_parts.js", "glass_steps.js", "glass_tree.js", "glass_tour.js", "glass.js"),
    )
    _weights = translator.WEIGHTS

    sentences = Words(fixed=True)
    still = Numbers(words=True, fixed=True, digits=3)
    gloss = Numbers(words=True, fixed=True)
    heads = Words(fixed=True)
    kinds = Numbers(words=True, fixed=True)
    tours = Numbers(words=True, fixed=True)
    sentence = Whole(0, 0, DRAWN - 1, help="which of the unseen sentences")
    swapped = Swaps({}, words=True, help="other words in it, by their places: ``{5: 'novel'}``")
    step = Whole(9, 0, translator.MOST, help="how many words have been generated")
    place = Choice(PLACES, "cross_attention", help="which attention: the encoder's is ``attention``")
    layer = Whole(1, 0, 1, help="which layer")
    head = Whole(1, 0, 1, help="which head")
    block = Whole(0, 0, 21, help="which block's vectors, in the order of the computation")
    off = Whole(0, 0, 12, help="which head is left out, from 1, the encoder's first; 0 for none")
    causal = Switch(True, help="whether the decoder's self-attention hides later words")
    positions = Switch(True, help="whether positions are added to the embeddings")
    norm = Switch(True, help="whether the residual sums are normalised")
    scale = Switch(True, help="whether scores are divided by the root of ``d_k``")
    scores = Switch(False, help="whether the way from scores to weights is shown")
    tree = Switch(False, help="whether beam search is shown, as a tree")
    width = Whole(2, 1, 4, help="how many beginnings beam search keeps")
    tour = Whole(0, 0, len(TOURS), help="which tour; 0 for none. Its stops put the other traits into their states")
    stop = Whole(0, 0, 3, help="which stop of the tour")
    label = Title("The Glass Transformer: English to Chinese")

    def __init__(self, **traits: object) -> None:
        model, about = translator.load()
        pairs = _sentences()
        attention = interpret.attention_layers(model)
        super().__init__(
            sentences=[" ".join(english) for english, _ in pairs],
            still=_still(model, pairs[0], about["words"]),
            gloss=_gloss(),
            kinds=_kinds(),
            tours=packed(),
            heads=[f"{name}, head {head}" for name, layer in attention.items() for head in range(layer.n_heads)],
            **traits,
        )

    def _about(self) -> str:
        return f"{len(self.sentences)} sentences, {len(self.heads)} heads"


@torch.no_grad()
def _still(model: Transformer, pair: tasks.Pair, words: list[str]) -> dict[str, Any]:
    english, chinese = pair
    source, target = ([words.index(word) for word in text] for text in (english, [tasks.START, *chinese]))
    with interpret.record_attention(model) as found:
        model(torch.tensor([source]), torch.tensor([target]))
    rows = found["decoder.layers.1.cross_attention"][0, 1]
    return {"source": english, "target": [*chinese, tasks.END], "weights": rows.tolist()}
