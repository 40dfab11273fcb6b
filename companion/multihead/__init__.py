"""Multi-head attention: Vaswani et al. (2017), section 3.2.2, in every form that shares keys and values among heads.

``heads`` cuts features into heads and lays them together again, ``kernels`` attends in all heads by the formula or by
torch's fused kernel, and ``layer`` adds the four projections, the position scheme and the cache.

Chapter: book/multi-head.
"""

from companion.multihead.heads import merge_heads, repeat_heads, split_heads
from companion.multihead.kernels import KERNELS, reference, sdpa
from companion.multihead.layer import MultiHeadAttention

__all__ = ["KERNELS", "MultiHeadAttention", "merge_heads", "reference", "repeat_heads", "sdpa", "split_heads"]
