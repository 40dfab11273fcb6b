"""Exercises of the chapter on residuals, norms and the feed-forward network (book/add-norm), easy ones first."""

from companion.chapters.add_norm.exercises.backward import FOLD_GAIN, LAYER_NORM_BACKWARD
from companion.chapters.add_norm.exercises.blocks import FEED_FORWARD, NORM_ORDER, SWIGLU
from companion.chapters.add_norm.exercises.norms import LAYER_NORM, MASKED_BATCH_NORM, RMS_NORM

EXERCISES = (
    LAYER_NORM,
    RMS_NORM,
    FEED_FORWARD,
    SWIGLU,
    NORM_ORDER,
    MASKED_BATCH_NORM,
    FOLD_GAIN,
    LAYER_NORM_BACKWARD,
)

__all__ = ["EXERCISES"]
