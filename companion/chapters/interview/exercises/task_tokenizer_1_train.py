"""First two stages of a tokenizer: ``tokenizer-train`` and ``tokenizer-encode``."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from companion.practice.definition import Case, Edit, Exercise, Mistake

Pair = tuple[int, int]


def _words(text: str) -> list[list[int]]:
    return [list(word.encode()) for word in re.findall(r"\s?\S+|\s", text)]


def _merge(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair of neighbours wherever it stands, from the left."""
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def _train(text: str, n_merges: int) -> list[Pair]:
    words, merges = _words(text), []
    for new in range(256, 256 + n_merges):
        seen = Counter(pair for word in words for pair in pairwise(word))
        if not seen:
            break
        best = min(seen, key=lambda pair: (-seen[pair], pair))
        words = [_merge(word, best, new) for word in words]
        merges.append(best)
    return merges


def _train_cases() -> list[Case]:
    return [
        Case(("abab", 2), "the example"),
        Case(("", 1), "an empty text"),
        Case(("q", 3), "one byte"),
        Case(("low lower lowest", 0), "no merge"),
        Case(("aaaa b aaa", 3), "a pair that overlaps itself"),
        Case(("yx yx ab ab", 2), "pairs equally frequent"),
        Case(("low low lower newest newest widest", 12), "words that repeat"),
        Case(("one  two\n\nthree\tone  two", 8), "blanks of all kinds"),
        Case(("é è ê né né été", 7), "letters of two bytes"),
        Case(("abc abd", 9), "fewer pairs than merges"),
        Case(("aaa bc bc bc", 2), "a pair that overlaps itself, and one more frequent"),
        Case(("aaab xy", 1), "a pair that overlaps itself, and nothing more frequent"),
        Case(("Low low LOW lOw", 5), "small and capital letters"),
        Case((7 * "abc" + " cab", 6), "a long word"),
        Case(("a\u00a0b", 1), "a blank that is not ASCII"),
        Case(("banana bandana 🙂🙂 banana cab 🙂", 15), "four bytes a sign"),
    ]


TRAIN = Exercise(
    name="tokenizer-train",
    title="Train the merges",
    chapter="task-tokenizer",
    topic="architecture",
    level=2,
    place=1,
    minutes=15,
    reference=_train,
    returns=tuple(f"merge {i}" for i in range(1, 16)),
    cases=_train_cases,
    tested="empty text, one byte, overlaps, equal counts, blanks, letters of several bytes, too many merges",
    hints=(
        "Two loops: one over the merges, inside it one over the words. What has to be counted again after a merge, and "
        "what is a word now?",
        "A word is a list of numbers, at first its bytes. `itertools.pairwise` gives its neighbours, a `Counter` over "
        "all words their counts. The new number takes the place of the pair in every word.",
        "For the choice compare minus the count first and the pair second. Replace from the left with an index that "
        "moves by two after a match, and stop when there is no pair left.",
    ),
    mistakes=(
        Mistake(
            "letters-for-bytes",
            Edit("list(word.encode())", "list(map(ord, word))", of=_words),
            "Your numbers are those of letters. A letter that is not ASCII has two bytes or more.",
        ),
        Mistake(
            "across-words",
            Edit(
                '[list(word.encode()) for word in re.findall(r"\\s?\\S+|\\s", text)]',
                "[list(text.encode())]",
                of=_words,
            ),
            "You merge across the borders of words.",
        ),
        Mistake(
            "blanks-dropped",
            Edit('re.findall(r"\\s?\\S+|\\s", text)', "text.split()", of=_words),
            "Your words have lost their blanks. The pattern leaves one in front of a word, so that nothing is lost.",
        ),
        Mistake(
            "each-word-once",
            Edit(
                "words, merges = _words(text), []", "words, merges = list(map(list, set(map(tuple, _words(text))))), []"
            ),
            "You count every word once, however often it stands in the text.",
        ),
        Mistake(
            "once-a-word",
            Edit("in pairwise(word)", "in set(pairwise(word))"),
            "A pair that stands twice in a word counts twice.",
        ),
        Mistake(
            "larger-of-equals",
            Edit("min(seen, key=lambda pair: (-seen[pair], pair))", "max(seen, key=lambda pair: (seen[pair], pair))"),
            "Of equally frequent pairs you take the largest. The smallest is asked for.",
        ),
        Mistake(
            "first-met",
            Edit("min(seen, key=lambda pair: (-seen[pair], pair))", "max(seen, key=seen.get)"),
            "Of equally frequent pairs you take the one that was met first. The smallest is asked for.",
        ),
        Mistake(
            "numbers-off-by-one",
            Edit("range(256, 256 + n_merges)", "range(257, 257 + n_merges)"),
            "Your first new number is not 256. The bytes have 0 to 255.",
        ),
        Mistake(
            "overlap",
            Edit("i += 2", "i += 1", of=_merge),
            "After a match you move on by one, so a byte is used twice.",
        ),
        Mistake(
            "first-place-only",
            Edit("== pair:", "== pair and new not in out:", of=_merge),
            "You replace the pair at its first place in a word only.",
        ),
        Mistake(
            "nothing-left",
            Edit("        if not seen:\n            break\n", ""),
            "Your loop goes on when no pair is left. Then it ends, with fewer merges than asked for.",
        ),
        Mistake(
            "twice-at-least",
            Edit("if not seen:", "if not seen or max(seen.values()) < 2:"),
            "You stop when every pair is left once. Go on as long as there is a pair.",
        ),
        Mistake(
            "bytes-alone",
            Edit(
                "words = [_merge(word, best, new) for word in words]",
                "words = [_merge(word, best, -new) for word in words]",
            ),
            "Later merges do not see the numbers of earlier ones.",
        ),
    ),
)


def _encode(text: str, merges: Sequence[Pair]) -> list[int]:
    new = {pair: 256 + rank for rank, pair in enumerate(merges)}
    ids = []
    for word in _words(text):
        while len(word) > 1:
            best = min(pairwise(word), key=lambda pair: new.get(pair, math.inf))
            if best not in new:
                break
            word = _merge(word, best, new[best])
        ids += word
    return ids


def _longest_first(text: str, merges: Sequence[Pair]) -> list[int]:
    pieces = [bytes([i]) for i in range(256)]
    for one, two in merges:
        pieces.append(pieces[one] + pieces[two])
    known, ids = {piece: i for i, piece in reversed(list(enumerate(pieces)))}, []
    for word in map(bytes, _words(text)):
        while word:
            size = next(n for n in range(len(word), 0, -1) if word[:n] in known)
            ids.append(known[word[:size]])
            word = word[size:]
    return ids


def _from_the_left(text: str, merges: Sequence[Pair]) -> list[int]:
    new, ids = {pair: 256 + rank for rank, pair in enumerate(merges)}, []
    for word in _words(text):
        while found := [i for i, pair in enumerate(pairwise(word)) if pair in new]:
            word[found[0] : found[0] + 2] = [new[tuple(word[found[0] : found[0] + 2])]]
        ids += word
    return ids


def _encode_cases() -> list[Case]:
    a, b, c, d, s = map(ord, "abcd ")
    latin = [(195, 169), (s, 256), (257, 116), (116, 256), (s, 259)]
    crossed = [(b, c), (a, b), (256, d), (257, c)]
    trained = _train("low low lower newest newest widest low slow lowest", 14)
    return [
        Case(("abc", [(b, c), (a, b)]), "the example"),
        Case(("", [(a, b)]), "an empty text"),
        Case(("a", [(a, b)]), "one byte"),
        Case(("hi there" + 50 * "-", []), "no merge"),
        Case(("abcd abcd", crossed), "two ways to merge"),
        Case(("abcd abc cda", [(c, d), (b, c), (a, 257), (a, b), (d, a)]), "several ways in each word"),
        Case(("aaaaa aa", [(a, a), (256, 256)]), "equal letters"),
        Case(("ab ab a b", [(a, b), (s, 256), (b, s)]), "blanks"),
        Case(("été é t é", latin), "letters of two bytes"),
        Case(("slowest newer wide low", trained), "words that were not trained on"),
        Case(("abcbc cab", [(b, c), (a, 256), (257, 256), (c, a), (259, b)]), "merges of merges"),
        Case(("x\na\ta Ab", [(10, a), (9, a), (s, a)]), "a line and a tab in front of a word"),
        Case((30 * "ab", [(a, b), (256, 256)]), "a long word"),
        Case(("aab", [(a, b), (a, a), (257, b)]), "a merge that is never reached"),
        Case(("abc", [(b, c), (a, b), (257, c)]), "a whole word that its merges do not reach"),
        Case(("abcd", [(a, b), (256, c), (c, d)]), "a merge that is too late"),
        Case(("b\u00a0b", [(b, 194)]), "a blank that is not ASCII"),
        Case(("  a\n\n🙂 b", [(s, a), (10, 10), (240, 159), (257, 153)]), "blanks that stand alone, four bytes a sign"),
    ]


ENCODE = Exercise(
    name="tokenizer-encode",
    title="Encode a text",
    chapter="task-tokenizer",
    topic="architecture",
    level=2,
    place=2,
    minutes=12,
    reference=_encode,
    cases=_encode_cases,
    tested="empty text, one byte, no merge, two ways to merge, blanks, letters of several bytes, merges of merges",
    hints=(
        "Encoding repeats what training did, in the same order. Of the pairs that stand in a word, which was learned "
        "first?",
        "A dictionary from a pair to its number: it tells whether a pair was learned, and a smaller number means "
        "earlier. Each word goes alone, as in training.",
        "Repeat for a word: its neighbours, the one among them with the smallest number, replaced wherever it stands. "
        "End when none is in the dictionary or one number is left.",
    ),
    mistakes=(
        Mistake(
            "from-the-left",
            _from_the_left,
            "You merge the first known pair from the left. The one that was learned first goes first.",
        ),
        Mistake(
            "longest-piece",
            _longest_first,
            "You take the longest known piece from the left. That is another method: the merges are repeated in the "
            "order in which they were learned.",
        ),
        Mistake(
            "last-learned-first",
            Edit(
                "min(pairwise(word), key=lambda pair: new.get(pair, math.inf))",
                "max(pairwise(word), key=lambda pair: new.get(pair, -1))",
            ),
            "You merge the pair that was learned last. The one that was learned first goes first.",
        ),
        Mistake(
            "across-words",
            Edit(
                '[list(word.encode()) for word in re.findall(r"\\s?\\S+|\\s", text)]',
                "[list(text.encode())]",
                of=_words,
            ),
            "You merge across the borders of words.",
        ),
        Mistake(
            "letters-for-bytes",
            Edit("list(word.encode())", "list(map(ord, word))", of=_words),
            "Your numbers are those of letters. A letter that is not ASCII has two bytes or more.",
        ),
        Mistake(
            "blanks-dropped",
            Edit('re.findall(r"\\s?\\S+|\\s", text)', "text.split()", of=_words),
            "Your words have lost their blanks.",
        ),
        Mistake(
            "one-merge-a-word",
            Edit("word = _merge(word, best, new[best])", "word = _merge(word, best, new[best])\n            break"),
            "You stop after one merge in a word. Its result may have known neighbours.",
        ),
        Mistake(
            "numbers-off-by-one",
            Edit("256 + rank", "257 + rank"),
            "The first merge gives 256. Yours gives another number.",
        ),
    ),
)
