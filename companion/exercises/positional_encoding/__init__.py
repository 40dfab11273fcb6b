"""Exercises of the chapter on positional encoding (book/positional-encoding.ipynb), in order of difficulty."""

from companion.exercises.positional_encoding.absolute import SHIFT_MATRIX, SINUSOIDAL_ENCODING
from companion.exercises.positional_encoding.distance import ALIBI_BIAS, RELATIVE_SHIFT, T5_BUCKET
from companion.exercises.positional_encoding.rotary import LAYOUT_ROWS, ROTATE_PAIRS

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
