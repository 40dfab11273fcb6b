"""Small generated tasks: drawn from a seed, split so that training and test never share an item.

English to French: a grammar made for this book, in the size of a toy. Chapter: book/attention.ipynb.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import torch
from jaxtyping import Int
from torch import Tensor

Pair = tuple[list[str], list[str]]

NOUNS = {
    "cat": ("chat", 0),
    "dog": ("chien", 0),
    "horse": ("cheval", 0),
    "mouse": ("souris", 1),
    "cow": ("vache", 1),
    "hen": ("poule", 1),
}  # French noun, and its gender: 0 masculine, 1 feminine
ARTICLES = {"the": ("le", "la"), "a": ("un", "une")}
ADJECTIVES = {"black": ("noir", "noire"), "white": ("blanc", "blanche"), "green": ("vert", "verte")}
VERBS = {"sees": "voit", "follows": "suit", "hears": "entend"}
PAD, START, END = "<pad>", "<s>", "</s>"


def english_french(train: int, test: int, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
    """Draw sentences such as *the black mouse sees a cat*, with their translations, *la souris noire voit un chat*.

    A French article and adjective take the gender of their noun, and the adjective follows it, so a translator has to
    look beyond the word that it translates. There are 6,912 sentences in all.

    Args:
        train: number of training pairs.
        test: number of test pairs, none of them among the training pairs.
        seed: of the shuffle that precedes the split.

    Returns:
        The training and the test pairs, each pair an English and a French list of words.

    Raises:
        ValueError: a number is below 1, or there are not that many sentences.
    """
    phrases = [_phrase(*words) for words in product(ARTICLES, [None, *ADJECTIVES], NOUNS)]
    pairs = [
        (subject[0] + [verb] + other[0], subject[1] + [VERBS[verb]] + other[1])
        for subject, verb, other in product(phrases, VERBS, phrases)
    ]
    if min(train, test) < 1 or train + test > len(pairs):
        raise ValueError(
            f"train and test are at least 1 and together at most {len(pairs)}, the number of sentences: "
            f"got train={train} and test={test}. Ask for fewer."
        )
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()
    return [pairs[i] for i in order[:train]], [pairs[i] for i in order[train : train + test]]


def alignment(english: Sequence[str]) -> list[int]:
    """Name the English word that each French word of :func:`english_french` translates.

    Args:
        english: the words of a sentence of that grammar.

    Returns:
        One index into ``english`` for each word of the translation, in French order.

    Raises:
        ValueError: the sentence has no verb of the grammar.
    """
    verbs = [i for i, word in enumerate(english) if word in VERBS]
    if len(verbs) != 1:
        raise ValueError(
            f"a sentence has one verb of {sorted(VERBS)}: got {' '.join(english)!r}. Use english_french()."
        )
    verb, end = verbs[0], len(english)
    return [*_french_order(0, verb), verb, *_french_order(verb + 1, end)]


def vocabulary(sentences: Iterable[Sequence[str]]) -> list[str]:
    """List padding, start and end, then every word of the sentences in alphabetical order."""
    return [PAD, START, END, *sorted({word for sentence in sentences for word in sentence} - {PAD, START, END})]


def encode(sentences: Sequence[Sequence[str]], words: Sequence[str]) -> Int[Tensor, "batch t"]:
    """Turn sentences into rows of word numbers, padded with 0 to the longest.

    Args:
        sentences: at least one, each with at least one word.
        words: the vocabulary; a word's number is its place.

    Returns:
        ``(batch, t)``, where ``t`` is the length of the longest sentence.

    Raises:
        ValueError: there is no sentence, one is empty, or a word is not in the vocabulary.
    """
    if not sentences or not all(sentences):
        raise ValueError("a batch holds at least one sentence and a sentence at least one word. Drop the empty ones.")
    number = {word: i for i, word in enumerate(words)}
    unknown = sorted({word for sentence in sentences for word in sentence if word not in number})
    if unknown:
        raise ValueError(f"every word is in the vocabulary: got {unknown}. Build it with vocabulary(sentences).")
    length = max(len(sentence) for sentence in sentences)
    rows = [[number[word] for word in sentence] + [0] * (length - len(sentence)) for sentence in sentences]
    return torch.tensor(rows)


def _phrase(article: str, adjective: str | None, noun: str) -> Pair:
    french, gender = NOUNS[noun]
    english = [article, noun] if adjective is None else [article, adjective, noun]
    translated = [ARTICLES[article][gender], french] + ([] if adjective is None else [ADJECTIVES[adjective][gender]])
    return english, translated


def _french_order(start: int, end: int) -> list[int]:
    return [start, end - 1, *range(start + 1, end - 1)]  # article, noun, then the adjective if there is one
