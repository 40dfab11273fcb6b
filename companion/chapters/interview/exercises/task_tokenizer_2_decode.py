"""Last two stages of a tokenizer: ``tokenizer-decode`` and ``tokenizer-special``, and the task of all four."""

import re
from collections.abc import Callable, Mapping, Sequence

from companion.chapters.interview.exercises.task_tokenizer_1_train import ENCODE, TRAIN, Pair, _encode, _train
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.task import Task

Answer = Callable[..., object]


def _decode(ids: Sequence[int], merges: Sequence[Pair]) -> str:
    pieces = [bytes([i]) for i in range(256)]
    for one, two in merges:
        pieces.append(pieces[one] + pieces[two])
    return b"".join(pieces[i] for i in ids).decode("utf-8", errors="replace")


def _by_calls(ids: Sequence[int], merges: Sequence[Pair]) -> str:
    def piece(i: int) -> bytes:
        return bytes([i]) if i < 256 else piece(merges[i - 256][0]) + piece(merges[i - 256][1])

    return b"".join(map(piece, ids)).decode("utf-8", errors="replace")


def _decode_cases() -> list[Case]:
    a, b = map(ord, "ab")
    smile = list("🙂".encode())
    nested = [(a, b), (256, 256), (257, a), (b, 258)]
    trained = _train("été né été là 🙂🙂 là 🙂", 12)
    return [
        Case(([256, 98], [(a, b)]), "the example"),
        Case(([], [(a, b)]), "no number"),
        Case(([104, 105], []), "no merge"),
        Case(([259, 257, 256, 97], nested), "merges of merges"),
        Case(([32, 97, 32, 32, 10], [(a, b)]), "blanks"),
        Case(([195, 169, 256, 195], [(169, 32)]), "letters cut between two numbers, and one cut off"),
        Case(([smile[0], 256, smile[3]], [(smile[1], smile[2])]), "a sign of four bytes in three numbers"),
        Case(([97, 255, 98, 169], []), "bytes that are no letter"),
        Case(([240, 159, 153], []), "three bytes of a sign of four"),
        Case((_encode("été là 🙂 né", trained), trained), "what a trained tokenizer gives"),
        Case(([1755], [(97, 97), *((last, 97) for last in range(256, 1755))]), "1,500 merges, each of the one before"),
        Case(([97, 13, 10, 98], []), "the end of a line in two signs"),
        Case(([97, 0, 127, 194, 128], []), "the smallest and the largest of one byte"),
    ]


DECODE = Exercise(
    name="tokenizer-decode",
    title="Decode numbers",
    chapter="task-tokenizer",
    topic="architecture",
    level=1,
    place=3,
    minutes=6,
    reference=_decode,
    cases=_decode_cases,
    tested="no number, merges of merges, a chain of 1,500, letters cut between numbers, bytes that are no letter",
    hints=(
        "What does a number stand for, bytes or letters? Think of a model that has written the first half of a letter.",
        "List the bytes of every number: those of 256 are the bytes of both parts of the first merge, and so on "
        "upwards. Then join.",
        "Turn bytes into text once, at the very end, and tell `decode` what to do with bytes that are no letter.",
    ),
    mistakes=(
        Mistake(
            "each-alone",
            Edit(
                'b"".join(pieces[i] for i in ids).decode("utf-8", errors="replace")',
                '"".join(pieces[i].decode("utf-8", errors="replace") for i in ids)',
            ),
            "You turn each number into text by itself. A letter may be cut between two numbers: join the bytes first.",
        ),
        Mistake(
            "too-deep",
            _by_calls,
            "Your function calls itself for the parts of a merge, and the chain of merges is longer than Python's "
            "limit. List the bytes of all numbers from 0 on; the parts of a merge come before it.",
        ),
        Mistake(
            "fails-on-bad-bytes",
            Edit(', errors="replace"', ""),
            "Bytes that are no letter end your function. A model can write such bytes; each becomes the sign for "
            "what is not readable.",
        ),
        Mistake(
            "bad-bytes-dropped",
            Edit('errors="replace"', 'errors="ignore"'),
            "You drop bytes that are no letter. They become the sign for what is not readable.",
        ),
        Mistake(
            "bytes-as-letters",
            Edit('.decode("utf-8", errors="replace")', '.decode("latin-1")'),
            "You make a letter of every byte. The bytes are UTF-8.",
        ),
        Mistake(
            "parts-swapped",
            Edit("pieces[one] + pieces[two]", "pieces[two] + pieces[one]"),
            "The parts of a merge have changed places.",
        ),
        Mistake(
            "blank-between",
            Edit('b"".join', 'b" ".join'),
            "You put blanks between the numbers. Blanks are bytes like others and come by themselves.",
        ),
        Mistake(
            "stripped",
            Edit('errors="replace")', 'errors="replace").strip()'),
            "You cut blanks off at the ends. What was encoded comes back as it was.",
        ),
    ),
)


def _with_special(text: str, merges: Sequence[Pair], special: Mapping[str, int]) -> list[int]:
    if not special:
        return _encode(text, merges)
    names = sorted(special, key=len, reverse=True)
    ids = []
    for part in re.split(f"({'|'.join(map(re.escape, names))})", text):
        ids += [special[part]] if part in special else _encode(part, merges)
    return ids


def _special_trial(answer: Answer, text: str, merges: list[Pair], special: Sequence[tuple[str, int]]) -> object:
    """Call the answer once, with the special tokens as a dictionary."""
    return answer(text, merges, dict(special))


def _in_turn(text: str, merges: Sequence[Pair], special: Mapping[str, int]) -> list[int]:
    parts: list[str | int] = [text]
    for name, number in special.items():
        for i, part in reversed(list(enumerate(parts))):
            if isinstance(part, str):
                pieces = part.split(name)
                parts[i : i + 1] = [x for piece in pieces for x in (piece, number)][:-1]
    return [x for part in parts for x in ([part] if isinstance(part, int) else _encode(part, merges))]


def _special_cases() -> list[Case]:
    a, b, s = map(ord, "ab ")
    pairs = [(a, b), (s, 256), (60, 124), (256, 258)]
    end, start, longer = ("<|end|>", 300), ("<|start|>", 301), ("<|end|>>", 302)
    return [
        Case(("ab<s>", [(a, b)], (("<s>", 300),)), "the example"),
        Case(("", pairs, (end,)), "an empty text"),
        Case(("ab ab", pairs, ()), "no special token"),
        Case(("<|end|>", pairs, (end, start)), "a special token alone"),
        Case(("<|start|>ab ab<|end|><|end|>ab", pairs, (end, start)), "several, side by side"),
        Case(("ab<|end|>>ab<|end|>", pairs, (end, longer)), "one is the beginning of another, the shorter first"),
        Case(("ab<|end|>>ab<|end|>", pairs, (longer, end)), "one is the beginning of another, the longer first"),
        Case(("ab <|end|> ab", pairs, (end,)), "blanks around"),
        Case(("  <|end|> ab  ", pairs, (end,)), "blanks at both ends"),
        Case(("<a>b<a>", pairs, (("<a>", 909), ("<a>b", 808))), "the longer has the smaller number"),
        Case(("xABx ab", [(120, 65)], (("ab", 600),)), "capital letters"),
        Case(("ab<end of text>ab", pairs, (("<end of text>", 400),)), "a blank inside"),
        Case(("end | ab <|endab", pairs, (end,)), "parts of a special token"),
        Case(("a.b aab axb", pairs, (("a.b", 500),)), "signs that mean something in a pattern"),
        Case(("xyab yz", [(a, b)], (("yz", 7), ("xy", 5), ("xyab", 6), ("abc", 8))), "numbers below 256"),
        Case(("aba ba", [(a, b)], (("aba", 600), ("ba b", 601), ("b", 602))), "overlaps: the leftmost wins"),
        Case(("abcd", [(a, b)], (("bcd", 700), ("ab", 701))), "overlaps: the leftmost wins over the longer"),
        Case(("<s>", [], (("<s>", 0),)), "the number 0"),
        Case(("[INST]I", [], (("[INST]", 5),)), "brackets"),
    ]


SPECIAL = Exercise(
    name="tokenizer-special",
    title="Know special tokens",
    chapter="task-tokenizer",
    topic="architecture",
    level=2,
    place=4,
    minutes=10,
    reference=_with_special,
    cases=_special_cases,
    trial=_special_trial,
    tested="none, several side by side, one the beginning of another, blanks inside, signs of patterns, overlaps",
    hints=(
        "A special token is found before anything is cut into words. What are the pieces of text between two of them "
        "for stage 2?",
        "`re.split` with a group keeps what it splits at. Two things can go wrong with a pattern made of names: signs "
        "that mean something else in it, and the order of the alternatives.",
        "`re.escape` for the signs; longer names before shorter ones. An empty pattern would match everywhere, so no "
        "special token is a case of its own.",
    ),
    mistakes=(
        Mistake(
            "not-escaped",
            Edit("map(re.escape, names)", "names"),
            "Names of special tokens hold signs that mean something in a pattern, as | does. Escape them.",
        ),
        Mistake(
            "shorter-first",
            Edit("key=len, reverse=True", "key=len"),
            "Where a special token is the beginning of another, you find the shorter one. The longer wins.",
        ),
        Mistake(
            "given-order",
            Edit("sorted(special, key=len, reverse=True)", "list(special)"),
            "Where two special tokens begin at one place, yours depends on the order in which they are given. The "
            "longer wins.",
        ),
        Mistake(
            "one-after-the-other",
            lambda text, merges, special: _in_turn(
                text, merges, dict(sorted(special.items(), key=lambda item: -len(item[0])))
            ),
            "You look for one special token in the whole text, and then for the next. The leftmost wins, also over a "
            "longer one that begins later.",
        ),
        Mistake(
            "no-special-token",
            Edit("    if not special:\n        return _encode(text, merges)\n", ""),
            "Without special tokens your pattern is empty and matches everywhere, so nothing is merged.",
        ),
        Mistake(
            "ignored",
            Edit("[special[part]] if part in special else _encode(part, merges)", "_encode(part, merges)"),
            "Your special tokens are cut out of the text and then encoded like other text.",
        ),
        Mistake(
            "dropped",
            Edit("[special[part]] if part in special else", "[] if part in special else"),
            "Your special tokens have disappeared.",
        ),
        Mistake(
            "not-looked-for",
            Edit("if not special:", "if True:"),
            "You encode special tokens like other text.",
        ),
        Mistake(
            "stripped",
            Edit("_encode(part, merges)\n    return ids", "_encode(part.strip(), merges)\n    return ids"),
            "You cut off the blanks around special tokens.",
        ),
    ),
)

TOKENIZER = Task(
    name="tokenizer",
    title="Write a tokenizer",
    stages=(TRAIN, ENCODE, DECODE, SPECIAL),
)
