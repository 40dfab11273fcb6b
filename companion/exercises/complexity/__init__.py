"""Exercises of the chapter on complexity (book/complexity.ipynb), in order of difficulty."""

from companion.exercises.complexity.bounds import LEAST_TIME, WRITING_FLOPS
from companion.exercises.complexity.counts import CACHE_BYTES, CROSSING, LAYER_FLOPS
from companion.exercises.complexity.graphs import LAYERS_NEEDED, MERGE_SOFTMAX

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
