"""Attention that never holds a whole matrix of weights: tiled and exact, in a window, in blocks, linear.

Read :mod:`~companion.efficient.online` first: one pass over the keys is what the tiled form is built on.

Made for this book. Chapter: book/complexity.
"""

from companion.efficient.linear import feature_map, linear_attention, linear_attention_recurrent, linear_attention_step
from companion.efficient.online import online_softmax_sum
from companion.efficient.paged import PagedCache
from companion.efficient.patterns import block_sparse_attention
from companion.efficient.tiled import tiled_attention
from companion.efficient.window import window_attention

__all__ = [
    "PagedCache",
    "block_sparse_attention",
    "feature_map",
    "linear_attention",
    "linear_attention_recurrent",
    "linear_attention_step",
    "online_softmax_sum",
    "tiled_attention",
    "window_attention",
]
