"""Exercises of the chapter on scaled dot-product attention (book/attention.ipynb), in order of difficulty."""

from companion.exercises.attention.backward import ATTENTION_BACKWARD
from companion.exercises.attention.forward import ATTENTION
from companion.exercises.attention.jacobian import SOFTMAX_JACOBIAN
from companion.exercises.attention.masks import CAUSAL_MASK, PADDING_MASK
from companion.exercises.attention.padded import PADDED_BATCH
from companion.exercises.attention.scores import SCALED_SCORES
from companion.exercises.attention.weights import MASKED_WEIGHTS, SOFTMAX_STABLE

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
