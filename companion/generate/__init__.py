"""Turn a model's predictions into text: greedy, sampled, and by beam search, all with the key-value cache.

Made for this book. Chapter: book/generation.
"""

from companion.generate.decoding import greedy
from companion.generate.sampling import keep_min_p, keep_top_k, keep_top_p, sample
from companion.generate.search import Hypothesis, beam, length_penalty
from companion.generate.speculative import Speculated, expected_tokens, speculate, verify

__all__ = [
    "Hypothesis",
    "Speculated",
    "beam",
    "expected_tokens",
    "greedy",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "length_penalty",
    "sample",
    "speculate",
    "verify",
]
