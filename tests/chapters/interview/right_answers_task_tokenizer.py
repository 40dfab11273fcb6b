"""Right answers to the stages of the tokenizer, written in other ways than the references."""

import re
from collections import Counter
from itertools import pairwise

from companion.chapters.interview.exercises.task_tokenizer_1_train import _encode

WORD = re.compile(r"\s?\S+|\s")


def train_on_distinct_words(text, n_merges):
    """Keep each distinct word once with its count, as a tuple that is rebuilt."""
    words = Counter(tuple(word.encode()) for word in WORD.findall(text))
    merges = []
    while len(merges) < n_merges:
        counts = {}
        for word, times in words.items():
            for i in range(len(word) - 1):
                counts[word[i], word[i + 1]] = counts.get((word[i], word[i + 1]), 0) + times
        if not counts:
            return merges
        most = max(counts.values())
        one, two = min(pair for pair, count in counts.items() if count == most)
        after = Counter()
        for word, times in words.items():
            out = []
            for x in word:
                if out and out[-1] == one and x == two:
                    out[-1] = 256 + len(merges)
                else:
                    out.append(x)
            after[tuple(out)] += times
        words = after
        merges.append([one, two])
    return merges


def train_on_text(text, n_merges):
    """Keep numbers as letters of a string, and let `str.replace` merge; a letter of its own parts words."""
    wall = chr(0x10FFFF)
    line = wall.join("".join(map(chr, word.encode())) for word in WORD.findall(text))
    merges = []
    for rank in range(n_merges):
        pairs = Counter(a + b for a, b in pairwise(line) if wall not in (a, b))
        if not pairs:
            break
        best = sorted(pairs.items(), key=lambda item: (-item[1], tuple(map(ord, item[0]))))[0][0]
        line = line.replace(best, chr(256 + rank))
        merges.append(tuple(map(ord, best)))
    return tuple(merges)


def encode_merge_by_merge(text, merges):
    ids = []
    for word in WORD.findall(text):
        line = "".join(map(chr, word.encode()))
        for rank, (one, two) in enumerate(merges):
            line = line.replace(chr(one) + chr(two), chr(256 + rank))
        ids.extend(map(ord, line))
    return ids


def encode_one_place_at_a_time(text, merges):
    """Merge one place at a time, of the lowest rank the leftmost."""
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    out = []
    for word in re.split(r"(\s?\S+|\s)", text)[1::2]:
        ids = list(bytes(word, "utf8"))
        while True:
            found = [(ranks[ids[i], ids[i + 1]], i) for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) in ranks]
            if not found:
                break
            rank, i = min(found)
            ids = [*ids[:i], 256 + rank, *ids[i + 2 :]]
        out += ids
    return out


def decode_by_unfolding(ids, merges):
    """Unfold numbers on a stack until only bytes are left."""
    stack, found = list(ids)[::-1], bytearray()
    while stack:
        top = stack.pop()
        if top < 256:
            found.append(top)
        else:
            stack.extend(merges[top - 256][::-1])
    return str(found, "utf8", "replace")


def decode_by_undoing(ids, merges):
    """Undo the merges, the last one first."""
    for number, pair in reversed(list(enumerate(merges, start=256))):
        ids = [part for i in ids for part in (pair if i == number else (i,))]
    return bytes(ids).decode(errors="replace")


def special_by_scanning(text, merges, special):
    ids, start, i = [], 0, 0
    while i < len(text):
        here = max((name for name in special if text.startswith(name, i)), key=len, default=None)
        if here is None:
            i += 1
            continue
        ids += [*_encode(text[start:i], merges), special[here]]
        i = start = i + len(here)
    return ids + _encode(text[start:], merges)


def special_by_recursion(text, merges, special):
    found = [(text.find(name), -len(name), name) for name in special if name in text]
    if not found:
        return _encode(text, merges)
    place, _, name = min(found)
    rest = special_by_recursion(text[place + len(name) :], merges, special)
    return [*_encode(text[:place], merges), special[name], *rest]


ALTERNATIVES = {
    "tokenizer-train": (train_on_distinct_words, train_on_text),
    "tokenizer-encode": (encode_merge_by_merge, encode_one_place_at_a_time),
    "tokenizer-decode": (decode_by_unfolding, decode_by_undoing),
    "tokenizer-special": (special_by_scanning, special_by_recursion),
}


def letters_counted(text, n_merges):
    words, merges = [[ord(letter) for letter in word] for word in WORD.findall(text)], []
    for new in range(256, 256 + n_merges):
        pairs = Counter(pair for word in words for pair in pairwise(word))
        if not pairs:
            break
        best = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[0]
        for word in words:
            i = 0
            while i < len(word) - 1:
                if (word[i], word[i + 1]) == best:
                    word[i : i + 2] = [new]
                i += 1
        merges.append(best)
    return merges


def letter_by_letter(ids, merges):
    return "".join(decode_by_undoing([i], merges) for i in ids)


AS_WRITTEN = [
    ("tokenizer-train", "letters-for-bytes", letters_counted),
    ("tokenizer-decode", "each-alone", letter_by_letter),
]
