"""Exercises of the chapter on what came before attention (book/history), in order of difficulty."""

from companion.chapters.history.exercises.align import ADDITIVE_CONTEXT
from companion.chapters.history.exercises.gated import GRU_STEP, LSTM_STEP
from companion.chapters.history.exercises.gradients import PRODUCT_NORMS, RNN_BACKWARD
from companion.chapters.history.exercises.steps import REVERSE_PADDED, RNN_STEPS

EXERCISES = (
    RNN_STEPS,
    LSTM_STEP,
    GRU_STEP,
    REVERSE_PADDED,
    PRODUCT_NORMS,
    ADDITIVE_CONTEXT,
    RNN_BACKWARD,
)

__all__ = ["EXERCISES"]
