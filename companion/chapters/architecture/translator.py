"""The book's translator with its released weights: an encoder and a decoder that turn English into Chinese.

It is the model of the page "A translator, trained on this page", trained once more and kept in eight bits.
``scripts/train_translator.py`` writes the file in ``weights/``, which the page "Glass Transformer" opens in a browser.
The file is one of safetensors: each matrix as integers with one scale a row, named as in the model, each vector in
float32, and under ``about`` what a reader of the file must know besides.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from companion import interpret, tasks
from companion.config import toy
from companion.norm import LayerNorm
from companion.packed import unpacked
from companion.tasks import lexicon
from companion.training import Batches, Trainer, cosine_schedule, pairs_batch, seq2seq_loss
from companion.transformer import Transformer

WEIGHTS = Path(__file__).parent / "weights" / "translator.safetensors"
TRAIN, UNSEEN, STEPS = 16_000, 500, 300
MOST = 25
"""Words of a translation at most."""


@cache
def sentences() -> tuple[list[tasks.Pair], list[tasks.Pair]]:
    """Draw the sentence pairs: 16,000 to train on, and 500 that are unseen."""
    return tasks.english_chinese(TRAIN, UNSEEN, seed=0)


@cache
def links() -> list[list[tuple[int, ...]]]:
    """Name the English words that each Chinese word translates, for each unseen sentence."""
    return tasks.english_chinese_links(TRAIN, UNSEEN, seed=0)[1]


@cache
def words() -> list[str]:
    """List the words of both languages, 231 with the special symbols; a token is a place in this list."""
    train, test = sentences()
    return tasks.vocabulary(sentence for pair in train + test for sentence in pair)


def train(steps: int = STEPS) -> Transformer:
    """Train the translator as its page does, for about ten seconds.

    Args:
        steps: of training.

    Returns:
        The model, in evaluation mode.
    """
    number = {word: i for i, word in enumerate(words())}
    pairs = [
        ([number[w] for w in en], [number[tasks.START], *(number[w] for w in zh), number[tasks.END]])
        for en, zh in sentences()[0]
    ]
    model = Transformer(toy(len(number), n_heads=2), seed=0)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    rate = partial(cosine_schedule, peak=5e-3, warmup=60, total=STEPS)
    batches = Batches(pairs, pairs_batch, tokens=600, seed=0)
    Trainer(model, seq2seq_loss(padding=0), batches, optimizer=adam, schedule=rate, clip=1.0).run(steps, progress=False)
    return model.eval()


def load(path: Path = WEIGHTS) -> tuple[Transformer, dict[str, Any]]:
    """Read a model that :func:`companion.packed.packed` wrote.

    Args:
        path: of the file.

    Returns:
        The model with its rounded weights, in evaluation mode, and what the file tells besides.
    """
    return unpacked(path, Transformer)


@contextmanager
def switched(
    model: Transformer,
    *,
    heads: Mapping[str, Sequence[int]] | None = None,
    causal: bool = True,
    positions: bool = True,
    norm: bool = True,
    scale: bool = True,
) -> Iterator[None]:
    """Leave parts of a model out inside the ``with`` block; the model is called without a cache.

    Args:
        model: an encoder and a decoder.
        heads: for the name of an attention layer, the heads whose output is 0.
        causal: whether the decoder's self-attention hides later words.
        positions: whether positions are added to the embeddings.
        norm: whether the residual sums are normalised.
        scale: whether scores are divided by the root of ``d_k``.

    Returns:
        A context manager; it gives nothing.
    """
    with interpret.ablate(model, heads or {}), ExitStack() as hooks:

        def hook(handle: RemovableHandle) -> None:
            hooks.callback(handle.remove)

        for layer in interpret.attention_layers(model).values():
            if not causal:
                see_all = partial(_with_options, causal=False)
                hook(layer.register_forward_pre_hook(see_all, with_kwargs=True))
            if not scale:
                hook(layer.w_q.register_forward_hook(lambda _, inputs, output, d_k=layer.d_k: output * math.sqrt(d_k)))
        for name, module in model.named_modules():
            if not norm and isinstance(module, LayerNorm):
                hook(module.register_forward_hook(lambda _, inputs, output: inputs[0]))
            if not positions and name.endswith("_embedding.position"):
                hook(module.register_forward_hook(lambda _, inputs, output: torch.zeros_like(output)))
        yield


def _with_options(_: nn.Module, inputs: tuple, options: dict, **changes: object) -> tuple[tuple, dict]:
    return inputs, options | {name: value for name, value in changes.items() if name in options}


def switches(model: Transformer) -> dict[str, dict[str, Any]]:
    """List the changes that are measured, each as arguments of :func:`switched`: every head, and the four others."""
    parts = {f"no {name}": {name: False} for name in ("causal", "positions", "norm", "scale")}
    found = {"none": {}} | parts
    for name, layer in interpret.attention_layers(model).items():
        found |= {f"{name}, head {head}": {"heads": {name: [head]}} for head in range(layer.n_heads)}
    return found


@torch.no_grad()
def translations(model: Transformer, english: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> list[list[str]]:
    """Translate sentences greedily, in one batch; the whole target is read anew at each step, as in the browser.

    Args:
        model: an encoder and a decoder.
        english: the sentences.
        vocabulary: the words of both languages, the special symbols among them.

    Returns:
        The Chinese sentences.
    """
    lengths = [len(sentence) for sentence in english]
    memory = model.encode(tasks.encode(english, vocabulary), lengths)
    target = torch.full((len(english), 1), vocabulary.index(tasks.START))
    while target.shape[1] <= MOST and not (target == vocabulary.index(tasks.END)).any(1).all():
        logits = model.decode(target, memory, source_lengths=lengths)
        target = torch.cat([target, logits[:, -1:].argmax(-1)], 1)
    return tasks.decode(target, vocabulary)


def percent_right(model: Transformer) -> float:
    """Translate the unseen sentences; return the percentage in which every word is right."""
    english, chinese = zip(*sentences()[1], strict=True)
    return 100 * tasks.exact_match(translations(model, english, words()), chinese)


def kinds() -> dict[str, set[str]]:
    """Sort Chinese words of the grammar by what they are, for :func:`looks`."""
    nouns = [*lexicon.THINGS.values(), *lexicon.ANIMALS.values()]
    return {
        "noun": {noun for _, noun, _ in nouns},
        "classifier": {classifier for classifier, _, _ in nouns},
        "adjective": {word for _, _, adjectives in nouns for word in adjectives.values()},
        "verb": {entry[1] for entry in lexicon.EVENTS.values()} | {entry[0] for entry in lexicon.STATES.values()},
        "place": {place.split()[1].partition("=")[0] for place in lexicon.PLACES.values()},
        "time": {"昨天", "昨晚", "今晚", "明天"},
    }


@torch.no_grad()
def looks(model: Transformer) -> dict[tuple[str, str, int], float]:
    """Count where the heads of cross-attention look while a right translation of an unseen sentence is read.

    Args:
        model: an encoder and a decoder.

    Returns:
        For each kind of word, layer and head, the percentage of the steps that predict such a word in which the
        largest weight falls on an English word that it translates; for a classifier, on its noun.
    """
    english, chinese = zip(*sentences()[1], strict=True)
    read = [[tasks.START, *sentence] for sentence in chinese]
    hits, steps = Counter(), Counter()
    with interpret.record_attention(model) as weights:
        model(*(tasks.encode(rows, words()) for rows in (english, read)), source_lengths=[len(row) for row in english])
    best = {name: found.argmax(-1) for name, found in weights.items() if "cross" in name}
    for k, (sentence, link) in enumerate(zip(chinese, links(), strict=True)):
        for kind, step, goal in _goals(sentence, link):
            steps[kind] += 1
            for name, places in best.items():
                hits.update((kind, name, head) for head, at in enumerate(places[k, :, step].tolist()) if at in goal)
    heads = [(name, head) for name, layer in interpret.attention_layers(model).items() for head in range(layer.n_heads)]
    return {
        (kind, name, head): 100 * hits[kind, name, head] / steps[kind]
        for kind in kinds()
        for name, head in heads
        if "cross" in name
    }


def _goals(chinese: Sequence[str], links: Sequence[tuple[int, ...]]) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Give the kind of each word, its step, and the English words at which a look is a hit."""
    groups = kinds()
    for i, word in enumerate(chinese):
        if word in groups["classifier"] and not links[i]:
            noun = next((links[j] for j in range(i, len(chinese)) if chinese[j] in groups["noun"]), None)
            if noun:
                yield "classifier", i, noun
        elif links[i]:
            yield from ((kind, i, links[i]) for kind in groups if kind != "classifier" and word in groups[kind])
