"""Exercises of the chapter on positional encoding (book/positional-encoding), in order of difficulty."""

from companion.chapters.positional_encoding.exercises.absolute import SHIFT_MATRIX, SINUSOIDAL_ENCODING
from companion.chapters.positional_encoding.exercises.distance import ALIBI_BIAS, RELATIVE_SHIFT, T5_BUCKET
from companion.chapters.positional_encoding.exercises.rotary import LAYOUT_ROWS, ROTATE_PAIRS

EXERCISES = (
    SINUSOIDAL_ENCODING,
    ALIBI_BIAS,
    ROTATE_PAIRS,
    SHIFT_MATRIX,
    T5_BUCKET,
    RELATIVE_SHIFT,
    LAYOUT_ROWS,
)

__all__ = ["EXERCISES"]
