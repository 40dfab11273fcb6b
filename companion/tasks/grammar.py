"""A grammar of two languages at once, for the book's translation task: each rule rewrites both and links their words.

Such grammars are called synchronous: Chiang (2007).

Chapter: book/architecture.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Phrase:
    """English words with their translation.

    Args:
        english: the words.
        chinese: the words, each with the places of the English words that it translates.
        third: whether a verb of the present after it takes an s.
    """

    english: tuple[str, ...] = ()
    chinese: tuple[tuple[str, tuple[int, ...]], ...] = ()
    third: bool = False


def rule(english: str, chinese: str, *, third: bool = False, **parts: Phrase) -> Phrase:
    """Build a phrase of both languages at once.

    ``没=did+not`` translates two words of the English side; a word without ``=`` translates none: it is a classifier or
    a particle.

    >>> rule("two N", "两=two 本 N", N=rule("books", "书=books"))
    Phrase(english=('two', 'books'), chinese=(('两', (0,)), ('本', ()), ('书', (1,))), third=False)

    Args:
        english: words and names of parts, in English order.
        chinese: words and names of parts, in Chinese order.
        third: whether a verb of the present after the phrase takes an s.
        **parts: the phrases that the names stand for.

    Returns:
        The phrase.
    """
    words: list[str] = []
    place = {}
    for token in english.split():
        place[token] = len(words)
        words += parts[token].english if token in parts else [token]
    linked: list[tuple[str, tuple[int, ...]]] = []
    for token in chinese.split():
        if token in parts:
            linked += [(word, tuple(place[token] + i for i in links)) for word, links in parts[token].chinese]
        else:
            word, _, sources = token.partition("=")
            linked.append((word, tuple(place[source] for source in sources.split("+") if source)))
    return Phrase(tuple(words), tuple(linked), third)
