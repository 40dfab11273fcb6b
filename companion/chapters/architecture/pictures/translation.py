"""A sentence of the two languages with its translation, and which words translate which."""

from collections.abc import Sequence
from itertools import pairwise

from companion.pictures import BOLD, LABEL, SMALL, Canvas, picture

ENGLISH = ("you", "saw", "three", "sweaters", "at", "school")
CHINESE = ("你", "在", "学校", "看见", "了", "三", "件", "毛衣")
LINKS = ((0,), (4,), (5,), (1,), (), (2,), (), (3,))
"""For each Chinese word the places of the English words that it translates."""


@picture
def words_that_translate(
    wide: bool,
    english: Sequence[str] = ENGLISH,
    chinese: Sequence[str] = CHINESE,
    links: Sequence[Sequence[int]] = LINKS,
) -> Canvas:
    """Draw a sentence above its translation, with a line between words that translate each other.

    Args:
        english: the words of the source.
        chinese: the words of the translation.
        links: for each of these, which words of the source it translates.

    Returns:
        The picture.
    """
    labels = {
        "title": "A sentence and its translation",
        "desc": (
            "The English words you saw three sweaters at school stand above the Chinese words 你 在 学校 看见 了 三 "
            "件 毛衣. A line leads from each Chinese word to the English word that it translates. The lines of 在 "
            "学校, at school, cross that of 看见, saw, because the place comes before the verb. No line leads to 了, "
            "which marks that the action is over, or to 件, a classifier; they have no box."
        ),
        "english": "reads",
        "chinese": "generates",
        "none": "no box: translates no English word",
    }
    c = Canvas("words-that-translate", wide, 208, labels["title"], labels["desc"])
    left = 96 if wide else 4
    size = LABEL if wide else SMALL
    top, bottom = 8, 128
    places = []
    for words, y, letter in ((english, top, 1), (chinese, bottom, 2)):
        sizes = [letter * len(word) + 4 for word in words]
        step = (616 if wide else 340) / sum(sizes)
        ends = [left + step * sum(sizes[:i]) for i in range(len(words) + 1)]
        places.append([(start + end) / 2 for start, end in pairwise(ends)])
        for i, (word, (start, end)) in enumerate(zip(words, pairwise(ends), strict=True)):
            if y == bottom and not links[i]:
                c.text((start + end) / 2, y + 16, word, size, tone="muted")
                continue
            moved, gap = y == bottom and _crosses(links, i), 12 if wide else 3
            c.box(start + gap / 2, y, end - start - gap, 32, word, size=size, tone="attention" if moved else "ink")
    if wide:
        c.text(left - 8, top + 16, labels["english"], SMALL, "end", "muted")
        c.text(left - 8, bottom + 16, labels["chinese"], SMALL, "end", "muted")
    for i, sources in enumerate(links):
        moved = _crosses(links, i)
        for j in sources:
            ends = (places[0][j], top + 34), (places[1][i], bottom - 2)
            c.arrow(*ends, head=False, tone="attention" if moved else "muted", **({"width": BOLD} if moved else {}))
    c.text(left + (308 if wide else 170), bottom + 56, labels["none"], SMALL, tone="muted")
    return c


def _crosses(links: Sequence[Sequence[int]], i: int) -> bool:
    """Tell whether a word translates one that comes after the source of a later word, so that it moved forward."""
    later = [j for sources in links[i + 1 :] for j in sources]
    return any(j > k for j in links[i] for k in later)
