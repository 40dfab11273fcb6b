"""Exercises of the chapter on multi-head attention (book/multi-head), in order of difficulty."""

from companion.chapters.multi_head.exercises.cut import MERGE_HEADS, REPEAT_HEADS, SPLIT_HEADS
from companion.chapters.multi_head.exercises.forward import MULTI_HEAD
from companion.chapters.multi_head.exercises.parts import HEAD_CONTRIBUTIONS, HEAD_IMPORTANCE, PRUNE_HEADS

EXERCISES = (
    SPLIT_HEADS,
    MERGE_HEADS,
    REPEAT_HEADS,
    MULTI_HEAD,
    HEAD_CONTRIBUTIONS,
    PRUNE_HEADS,
    HEAD_IMPORTANCE,
)

__all__ = ["EXERCISES"]
