"""Exercises of the chapter on complexity (book/complexity), in order of difficulty."""

from companion.chapters.complexity.exercises.bounds import LEAST_TIME, WRITING_FLOPS
from companion.chapters.complexity.exercises.counts import CACHE_BYTES, CROSSING, LAYER_FLOPS
from companion.chapters.complexity.exercises.graphs import LAYERS_NEEDED, MERGE_SOFTMAX

EXERCISES = (
    LAYER_FLOPS,
    CROSSING,
    CACHE_BYTES,
    LEAST_TIME,
    LAYERS_NEEDED,
    MERGE_SOFTMAX,
    WRITING_FLOPS,
)

__all__ = ["EXERCISES"]
