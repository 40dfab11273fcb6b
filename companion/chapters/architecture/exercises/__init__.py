"""Exercises of the chapter on the whole architecture (book/architecture), in order of difficulty."""

from companion.chapters.architecture.exercises.count import COUNT_PARAMETERS
from companion.chapters.architecture.exercises.decode import GREEDY_DECODE
from companion.chapters.architecture.exercises.inputs import MODEL_MASKS, POOL_MEAN, SHIFT_TARGET
from companion.chapters.architecture.exercises.layers import DECODER_LAYER, TIED_EMBEDDING

EXERCISES = (
    SHIFT_TARGET,
    TIED_EMBEDDING,
    POOL_MEAN,
    MODEL_MASKS,
    COUNT_PARAMETERS,
    GREEDY_DECODE,
    DECODER_LAYER,
)

__all__ = ["EXERCISES"]
