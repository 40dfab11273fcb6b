"""English to French: a grammar made for this book, in the size of a toy.

Made for this book. Chapter: book/attention.
"""

from collections.abc import Sequence
from itertools import product

from companion.tasks.split import Pair, split

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
    return split(pairs, train, test, seed, "sentences")


def alignment(english: Sequence[str]) -> list[int]:
    """Name the English word that each French word of :func:`english_french` translates.

    >>> alignment(["the", "black", "mouse", "sees", "a", "cat"])  # la souris noire voit un chat
    [0, 2, 1, 3, 4, 5]

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


def _phrase(article: str, adjective: str | None, noun: str) -> Pair:
    french, gender = NOUNS[noun]
    english = [article, noun] if adjective is None else [article, adjective, noun]
    translated = [ARTICLES[article][gender], french] + ([] if adjective is None else [ADJECTIVES[adjective][gender]])
    return english, translated


def _french_order(start: int, end: int) -> list[int]:
    return [start, end - 1, *range(start + 1, end - 1)]  # article, noun, then the adjective if there is one
