"""Small generated tasks of the book: drawn from a seed, split so that training and test never share an item.

Each task is a function ``name(train, test, seed=0, **choices)`` that returns training and test pairs. A pair is a
source and a target, both lists of words (strings, also where the words are numbers). ``encode_pairs`` makes padded
tensors of them, ``decode`` makes words of tensors again.

Made for this book. Chapter: book/architecture.
"""

from companion.tasks.chinese import english_chinese, english_chinese_links
from companion.tasks.date import date_forms, dates
from companion.tasks.digit import digits
from companion.tasks.french import ADJECTIVES, ARTICLES, NOUNS, VERBS, alignment, english_french
from companion.tasks.number import chinese_number, english_number, number_words
from companion.tasks.sequence import copy_task, recall_task, reverse_task, sort_task
from companion.tasks.split import Pair
from companion.tasks.subword import Subwords, subwords
from companion.tasks.text import (
    END,
    PAD,
    START,
    EncodedPairs,
    decode,
    encode,
    encode_pairs,
    exact_match,
    vocabulary,
)

__all__ = [
    "ADJECTIVES",
    "ARTICLES",
    "END",
    "NOUNS",
    "PAD",
    "START",
    "VERBS",
    "EncodedPairs",
    "Pair",
    "Subwords",
    "alignment",
    "chinese_number",
    "copy_task",
    "date_forms",
    "dates",
    "decode",
    "digits",
    "encode",
    "encode_pairs",
    "english_chinese",
    "english_chinese_links",
    "english_french",
    "english_number",
    "exact_match",
    "number_words",
    "recall_task",
    "reverse_task",
    "sort_task",
    "subwords",
    "vocabulary",
]
