"""Exercises of the chapter on scaled dot-product attention (book/attention), in order of difficulty."""

from companion.chapters.attention.exercises.backward import ATTENTION_BACKWARD
from companion.chapters.attention.exercises.forward import ATTENTION
from companion.chapters.attention.exercises.jacobian import SOFTMAX_JACOBIAN
from companion.chapters.attention.exercises.masks import CAUSAL_MASK, PADDING_MASK
from companion.chapters.attention.exercises.padded import PADDED_BATCH
from companion.chapters.attention.exercises.scores import SCALED_SCORES
from companion.chapters.attention.exercises.weights import MASKED_WEIGHTS, SOFTMAX_STABLE

EXERCISES = (
    SCALED_SCORES,
    SOFTMAX_STABLE,
    CAUSAL_MASK,
    PADDING_MASK,
    MASKED_WEIGHTS,
    ATTENTION,
    PADDED_BATCH,
    SOFTMAX_JACOBIAN,
    ATTENTION_BACKWARD,
)

__all__ = ["EXERCISES"]
