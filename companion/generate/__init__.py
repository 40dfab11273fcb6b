"""Turn a model's predictions into text: greedy, sampled, and by beam search, all with the key-value cache.

Made for this book. Chapter: book/architecture.
"""

from companion.generate.decoding import greedy
from companion.generate.sampling import keep_top_k, keep_top_p, sample
from companion.generate.search import Hypothesis, beam, length_penalty

__all__ = ["Hypothesis", "beam", "greedy", "keep_top_k", "keep_top_p", "length_penalty", "sample"]
