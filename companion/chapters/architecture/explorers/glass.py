"""The Glass Transformer: a translator, the book's or the reader's, run in the browser. Chapter: book/architecture."""

import copy
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from companion import interpret, tasks
from companion.chapters.architecture import translator
from companion.chapters.architecture.tours import packed
from companion.explorers.base import Choice, ModelExplorer, Numbers, Switch, Title, Whole, Words
from companion.packed import packed as as_bytes
from companion.tasks import lexicon
from companion.transformer import Transformer

PLACES = ("cross_attention", "self_attention", "attention")  # the names of the three in a layer
SHOWN = (12, 34, 18, 7, 28, 48, 20, 15, 36, 44)  # of the unseen sentences, those that differ most, first
DRAWN = 40
FORM = {  # of the models that the browser's half computes: that of 2017
    **{"position": "sinusoidal", "activation": "relu", "norm": "layer", "norm_placement": "post"},
    **{"bias": True, "tied": True, "target_vocab": None, "n_kv_heads": None, "segments": 0, "embedding_norm": False},
}


def _sentences() -> list[tasks.Pair]:
    unseen = translator.sentences()[1]
    return [unseen[k] for k in [*SHOWN, *sorted(set(range(DRAWN)) - {*SHOWN})][:DRAWN]]


def _gloss() -> dict[str, str]:
    """Give each Chinese word the English ones that it most often translates; a classifier, the nouns that it counts."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (english, chinese), link in zip(translator.sentences()[1], translator.links(), strict=True):
        for word, places in zip(chinese, link, strict=True):
            counts[word][" ".join(english[k] for k in places)] += 1
    nouns = {**lexicon.THINGS, **lexicon.ANIMALS}
    counted = {classifier: f"for {noun}s" for noun, (classifier, *_) in reversed(nouns.items())}
    counted["位"] = "for doctors"  # the one noun that the lexicon does not list
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    return {word: text or counted.get(word, "particle") for word, text in best.items()}


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
    """Open a Transformer that translates: step it word by word, see what it computes, and leave parts of it out.

    Without arguments it is the book's translator. The picture before the model is opened, one head's weights on the
    first sentence, is computed here. Everything after that is computed in the browser, from weights that come when the
    reader asks for them: on a page as one of its static files, in a notebook from the kernel. A model of your own needs
    the kernel; it is opened as it is, in float32.

    Args:
        model: an encoder and a decoder in the form of 2017, trained on ``words``, and small: the browser computes each
            step anew.
        words: its vocabulary, in the order of its tokens, with ``tasks.START`` and ``tasks.END``.
        sentences: to choose from.
        kinds: lists of words that may take each other's place in them.

    Raises:
        ValueError: the model has another form, or words, sentences and model do not fit each other.
    """

    _js = (
        *("tensors.js", "glass_model.js", "opened.js"),
        *("glass_parts.js", "glass_steps.js", "glass_tree.js", "glass_tour.js", "glass.js"),
    )
    _weights = translator.WEIGHTS

    sentences = Words(fixed=True)
    languages = Words(fixed=True)
    still = Numbers(words=True, fixed=True, digits=3)
    gloss = Numbers(words=True, fixed=True)
    heads = Words(fixed=True)
    kinds = Numbers(words=True, fixed=True)
    tours = Numbers(words=True, fixed=True)
    sentence = Whole(0, 0, lambda self: len(self.sentences) - 1, help="which of the sentences")
    swapped = Swaps({}, words=True, help="other words in it, by their places: ``{5: 'novel'}``")
    step = Whole(9, 0, translator.MOST, help="how many words have been generated")
    place = Choice(PLACES, "cross_attention", help="which attention: the encoder's is ``attention``")
    layer = Whole(1, 0, lambda self: self.still["layer"], help="which layer")
    head = Whole(1, 0, lambda self: self.still["head"], help="which head")
    block = Whole(0, 0, lambda self: 10 * self.still["layer"] + 11, help="which block's vectors, in their order")
    off = Whole(
        *(0, 0, lambda self: len(self.heads)), help="which head is left out, from 1, the encoder's first; 0 for none"
    )
    causal = Switch(True, help="whether the decoder's self-attention hides later words")
    positions = Switch(True, help="whether positions are added to the embeddings")
    norm = Switch(True, help="whether the residual sums are normalised")
    scale = Switch(True, help="whether scores are divided by the root of ``d_k``")
    scores = Switch(False, help="whether the way from scores to weights is shown")
    tree = Switch(False, help="whether beam search is shown, as a tree")
    width = Whole(2, 1, 4, help="how many beginnings beam search keeps")
    tour = Whole(0, 0, lambda self: len(self.tours["all"]), help="which tour; 0 for none. Its stops set other traits")
    stop = Whole(0, 0, 3, help="which stop of the tour")
    label = Title("The Glass Transformer: English to Chinese")

    def __init__(
        self,
        model: Transformer | None = None,
        words: Sequence[str] = (),
        sentences: Sequence[Sequence[str]] = (),
        *,
        kinds: Sequence[Sequence[str]] = (),
        **traits: object,
    ) -> None:
        if model is None and (words or sentences or kinds):
            raise ValueError("words, sentences and kinds belong to a model of your own: got no model. Pass it first.")
        made = _released() if model is None else _own(model, words, sentences, kinds)
        model = made.pop("model")
        attention = interpret.attention_layers(model)
        super().__init__(
            heads=[f"{name}, head {head}" for name, layer in attention.items() for head in range(layer.n_heads)],
            **{**made, **traits},
        )

    def _about(self) -> str:
        return f"{len(self.sentences)} sentences, {len(self.heads)} heads"


def _released() -> dict[str, Any]:
    """Make what the figure holds of the book's translator."""
    model, about = translator.load()
    pairs = _sentences()
    return {
        **{"model": model, "languages": ["English", "zh"], "still": _still(model, *pairs[0], about["words"])},
        **{"sentences": [" ".join(english) for english, _ in pairs], "gloss": _gloss(), "kinds": _kinds()},
        "tours": packed(),
    }


def _own(
    model: Transformer, words: Sequence[str], sentences: Sequence[Sequence[str]], kinds: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Make what the figure holds of a reader's model."""
    config, words = model.config, list(words)
    for name, value in FORM.items():
        if getattr(config, name) != value:
            raise ValueError(
                f"the Glass Transformer has {name}={value!r}: got {getattr(config, name)!r}. Build the model with "
                "toy(len(words)), whose form is that of 2017."
            )
    if len(words) != config.vocab or not {tasks.START, tasks.END} <= {*words}:
        raise ValueError(
            f"words names each of the model's {config.vocab} tokens, {tasks.START!r} and {tasks.END!r} among them: got "
            f"{len(words)} words. Pass the vocabulary that the model was trained on."
        )
    texts = [*sentences, *kinds]
    if not sentences or any(isinstance(text, str) or not text for text in texts):
        raise ValueError(f"sentences and kinds are lists of words, at least one: got {texts!r}. Split the texts first.")
    if unknown := sorted({word for text in texts for word in text} - {*words}):
        raise ValueError(f"sentences have words of the vocabulary: got {unknown}. Leave them out.")
    model = copy.deepcopy(model).cpu().float().eval()  # the reader's own stays as and where it is
    (written,) = translator.translations(model, [sentences[0]], words)
    about = {"words": words, "start": tasks.START, "end": tasks.END, "most": translator.MOST}
    return {
        **{"model": model, "own": as_bytes(model, about, bits=None), "languages": ["source", ""], "gloss": {}},
        **{"sentences": [" ".join(text) for text in sentences], "kinds": [list(kind) for kind in kinds]},
        **{"still": _still(model, sentences[0], written, words), "tours": {"start": {}, "all": []}},
        **{"label": "A Transformer of your own", "step": 0, "layer": config.n_layers - 1, "head": config.n_heads - 1},
    }


@torch.no_grad()
def _still(model: Transformer, english: Sequence[str], chinese: Sequence[str], words: list[str]) -> dict[str, Any]:
    """Compute the weights of the last head of cross-attention, and name it."""
    source, target = ([words.index(word) for word in text] for text in (english, [tasks.START, *chinese]))
    with interpret.record_attention(model) as found:
        model(torch.tensor([source]), torch.tensor([target]))
    layer, head = model.config.n_layers - 1, model.config.n_heads - 1
    rows = found[f"decoder.layers.{layer}.cross_attention"][0, head]
    named = {"layer": layer, "head": head, "weights": rows.tolist()}
    return {"source": list(english), "target": [*chinese, tasks.END], **named}
