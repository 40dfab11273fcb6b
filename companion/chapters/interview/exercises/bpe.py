"""Drills on byte-pair encoding: ``bpe-merge`` and ``bpe-encode``."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.trial import Refusal, several

Pair = tuple[str, str]


def _joined(word: Sequence[str], pair: Pair) -> list[str]:
    """Join a pair of neighbours wherever it stands, from the left."""
    out, i = [], 0
    while i < len(word):
        if tuple(word[i : i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def _merge_most_frequent(words: list[list[str]], counts: list[int]) -> tuple[Pair, list[list[str]]]:
    seen: Counter[Pair] = Counter()
    for word, count in zip(words, counts, strict=True):
        for pair in pairwise(word):
            seen[pair] += count
    best = min(seen, key=lambda pair: (-seen[pair], pair))
    return best, [_joined(word, best) for word in words]


def _from_the_right(words: list[list[str]], counts: list[int]) -> tuple[Pair, list[list[str]]]:
    best, _ = _merge_most_frequent(words, counts)
    turned = [_joined([piece[::-1] for piece in word[::-1]], (best[1][::-1], best[0][::-1])) for word in words]
    return best, [[piece[::-1] for piece in word[::-1]] for word in turned]


def _merge_trial(answer: Callable[..., object], words: list[list[str]], counts: list[int]) -> tuple[object, object]:
    """Call the answer once, and see that its pair can be the key of a dictionary."""
    pair, joined = several(answer(words, counts), "pair", "words")
    if isinstance(pair, list):
        raise Refusal("Your pair is a list; a tuple is asked for, which can be the key of a dictionary.")
    return pair, joined


def _merge_cases() -> list[Case]:
    def text(*words: str) -> list[list[str]]:
        return [list(word) for word in words]

    return [
        Case((text("low", "lot"), [2, 1]), "the example"),
        Case((text("ab"), [1]), "one pair"),
        Case((text("aaa", "ba"), [1, 1]), "a pair that overlaps itself"),
        Case((text("yx", "ab"), [2, 2]), "two pairs equally frequent"),
        Case((text("newest", "widest", "low", "lower"), [6, 3, 5, 2])),
        Case((text("banana", "bandana", "cab"), [2, 1, 4]), "a pair several times in a word"),
        Case(([["th", "e"], ["th", "en"], ["o", "th", "e", "r"]], [5, 2, 3]), "pieces of several letters"),
        Case((text("abcbc", "bcd", "dd", "ddd", "q"), [2, 1, 1, 2, 9]), "a word of one letter"),
        Case((text("aaa", "bc"), [2, 3]), "a pair that overlaps itself, and one nearly as frequent"),
        Case((text("zz", "yx", "zzzz", "yxyx", "ay", "by"), [2, 3, 2, 3, 1, 2])),
        Case(([["ab", "a"], ["a", "c"]], [1, 1]), "equally frequent pairs of long and short pieces"),
        Case(([["a", "c"], ["a", "b"]], [1, 1]), "equally frequent pairs with the same first piece"),
        Case(([["a", "bc"], ["b", "c"]], [1, 1]), "equally frequent pairs of long and short pieces"),
        Case(([["h", "e"], ["th", "e"]], [2, 1]), "a piece that ends like another"),
        Case(([["ab", "c"], ["a", "bc"]], [2, 1]), "two ways to cut the same letters"),
        Case(([[".", "a"], ["b", "a"]], [2, 1]), "a full stop"),
    ]


BPE_MERGE = Exercise(
    name="bpe-merge",
    title="Learn one merge of byte-pair encoding",
    chapter="exercises",
    level=1,
    place=14,
    minutes=15,
    topic="training",
    reference=_merge_most_frequent,
    cases=_merge_cases,
    trial=_merge_trial,
    tested="words that occur often, equally frequent pairs, a pair that overlaps itself, pieces of several letters, "
    "a full stop",
    returns=("pair", "words"),
    hints=(
        "Count first, join afterwards. Which neighbours does a word have, and how much does a word that occurs five "
        "times add to each of them?",
        "`itertools.pairwise` gives the neighbours of a word. Among equally frequent pairs take the one that sorts "
        "first: compare minus the count first, then the pair.",
        "Join from the left with an index that moves by two after a join and by one otherwise, so that three equal "
        "letters give one joined pair and one letter.",
    ),
    mistakes=(
        Mistake(
            "counts-ignored",
            Edit("+= count", "+= 1"),
            "Each word counts once in your answer. A word that occurs more often adds more to its pairs.",
        ),
        Mistake(
            "once-a-word",
            Edit("pairwise(word)", "set(pairwise(word))"),
            "A pair that stands twice in a word counts twice.",
        ),
        Mistake(
            "joins-counted",
            Edit(
                "        for pair in pairwise(word):\n            seen[pair] += count",
                "        for pair in set(pairwise(word)):\n"
                "            seen[pair] += count * (len(word) - len(_joined(word, pair)))",
            ),
            "You counted the joins that a pair allows. Count the places where it stands: two in three equal letters.",
        ),
        Mistake(
            "last-of-equals",
            Edit("min(seen, key=lambda pair: (-seen[pair], pair))", "max(seen, key=lambda pair: (seen[pair], pair))"),
            "Among equally frequent pairs you took the one that sorts last.",
        ),
        Mistake(
            "first-seen",
            Edit("min(seen, key=lambda pair: (-seen[pair], pair))", "max(seen, key=seen.get)"),
            "Among equally frequent pairs you took the one that was met first. The result then depends on the order of "
            "the words.",
        ),
        Mistake(
            "first-place-only",
            Edit("== pair:", "== pair and pair[0] + pair[1] not in out:", of=_joined),
            "You joined the pair at its first place in a word only.",
        ),
        Mistake(
            "overlapping",
            Edit("i += 2", "i += 1", of=_joined),
            "After a join you moved on by one letter, so a letter was used twice.",
        ),
        Mistake(
            "across-words",
            Edit("    best =", "    seen = Counter(pairwise([piece for word in words for piece in word]))\n    best ="),
            "You counted the last letter of a word with the first of the next. Pairs stand within a word.",
        ),
        Mistake(
            "joined-text-decides",
            Edit("(-seen[pair], pair))", "(-seen[pair], pair[0] + pair[1]))"),
            "Among equally frequent pairs you compare the joined texts. Pairs are compared piece by piece.",
        ),
        Mistake(
            "replaced-as-text",
            Edit("_joined(word, best)", '" ".join(word).replace(" ".join(best), "".join(best)).split(" ")'),
            "You replaced the pair in the joined text, where it also matches the end of one piece or the beginning of "
            "another. Compare whole pieces.",
        ),
        Mistake(
            "from-the-right",
            _from_the_right,
            "You joined from the right. In three equal letters the first two are joined.",
        ),
    ),
)


def _encoded(word: str, merges: list[Pair]) -> list[str]:
    pieces = list(word)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    while True:
        known = [pair for pair in pairwise(pieces) if pair in ranks]
        if not known:
            return pieces
        pieces = _joined(pieces, min(known, key=ranks.__getitem__))


def _from_the_left(word: str, merges: list[Pair]) -> list[str]:
    pieces = list(word)
    while known := [i for i, pair in enumerate(pairwise(pieces)) if pair in merges]:
        pieces[known[0] : known[0] + 2] = ["".join(pieces[known[0] : known[0] + 2])]
    return pieces


def _longest_first(word: str, merges: list[Pair]) -> list[str]:
    known, pieces, i = {a + b for a, b in merges}, [], 0
    while i < len(word):
        end = max((j for j in range(i + 1, len(word) + 1) if word[i:j] in known), default=i + 1)
        pieces.append(word[i:end])
        i = end
    return pieces


def _one_place_each(word: str, merges: list[Pair]) -> list[str]:
    pieces = list(word)
    for pair in merges:
        if pair in (places := list(pairwise(pieces))):
            i = places.index(pair)
            pieces[i : i + 2] = ["".join(pair)]
    return pieces


def _encode_cases() -> list[Case]:
    lower = [("l", "o"), ("lo", "w"), ("e", "r"), ("low", "er")]
    mixed = [("b", "c"), ("a", "b"), ("bc", "d"), ("ab", "c")]
    return [
        Case(("abc", [("b", "c"), ("a", "b")]), "the example"),
        Case(("a", [("a", "b")]), "one letter"),
        Case(("xyz", [("a", "b")]), "nothing to join"),
        Case(("", [("a", "b")]), "no letter"),
        Case(("ab", []), "no merge"),
        Case((" a b", [("a", " ")]), "blanks"),
        Case(("lower", lower)),
        Case(("abcd", mixed), "two ways to cut"),
        Case(("abc", [("a", "b"), ("b", "c")]), "two ways to cut"),
        Case(("ababab", [("a", "b"), ("ab", "ab")]), "a pair several times"),
        Case(("aaaaa", [("a", "a"), ("aa", "aa")]), "equal letters"),
        Case(("slowerlower", [*lower, ("s", "lower")])),
        Case(("xb", [(".", "b")]), "a full stop"),
        Case(("abc", [("b", "c"), ("a", "b"), ("ab", "c")]), "a whole word that its merges do not reach"),
        Case(("abcd", [("a", "b"), ("ab", "c"), ("c", "d")]), "a merge that is too late"),
        Case(("abcabcd", [("c", "a"), ("b", "c"), ("a", "b"), ("ab", "c"), ("bc", "d"), ("ab", "ca")])),
    ]


BPE_ENCODE = Exercise(
    name="bpe-encode",
    title="Encode a word with ranked merges",
    chapter="exercises",
    level=2,
    place=15,
    minutes=20,
    topic="training",
    reference=_encoded,
    cases=_encode_cases,
    tested="one letter, nothing to join, two ways to cut, a pair several times, merges of merges, no letter, blanks, "
    "a full stop",
    hints=(
        "Encoding repeats what learning did, in the same order. Which of the pairs that stand in the word was learned "
        "first?",
        "Repeat: list the neighbours that are in the merges, take the one with the lowest rank, join it wherever it "
        "stands. Stop when no neighbours are in the merges.",
        "A dictionary from pair to rank makes the search short. A join creates new neighbours, so look at all of them "
        "again after each join.",
    ),
    mistakes=(
        Mistake(
            "from-the-left",
            _from_the_left,
            "You joined the first known pair from the left. The rank decides, not the place.",
        ),
        Mistake(
            "longest-piece-first",
            _longest_first,
            "You took the longest known piece from the left. That is another method: byte-pair encoding replays its "
            "merges in the order in which they were learned.",
        ),
        Mistake(
            "late-merges-first",
            Edit("min(known", "max(known"),
            "You joined the pair that was learned last. The one learned first goes first.",
        ),
        Mistake(
            "one-place-each",
            _one_place_each,
            "A merge is used at its first place only. It applies wherever the pair stands.",
        ),
        Mistake(
            "one-merge-only",
            Edit("pieces = _joined", "return _joined"),
            "You stopped after one merge. Its result may have known neighbours.",
        ),
    ),
)
