"""Exercises of the chapter on training (book/training), in order of difficulty."""

from companion.chapters.training.exercises.loss import READ_AND_SAY, SMOOTHED_LOSS
from companion.chapters.training.exercises.optimizer import ADAM_STEPS, CLIP_GRADIENT, WARMUP_RATE
from companion.chapters.training.exercises.scale import ACCUMULATE, SCALED_GRADIENT

EXERCISES = (
    READ_AND_SAY,
    WARMUP_RATE,
    CLIP_GRADIENT,
    ACCUMULATE,
    SMOOTHED_LOSS,
    ADAM_STEPS,
    SCALED_GRADIENT,
)

__all__ = ["EXERCISES"]
