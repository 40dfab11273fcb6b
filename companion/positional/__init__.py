"""Positional encodings: where a token stands, told to a mechanism that sees a set.

``absolute`` adds a vector for each position to the embeddings: sinusoidal (Vaswani et al. (2017), section 3.5) and
learned. ``relative`` adds a number for each distance to the scores: Transformer-XL (Dai et al. (2019)), T5 (Raffel et
al. (2020)) and ALiBi (Press et al. (2022)). ``rotary`` turns queries and keys by their positions (Su et al. (2021)),
and ``stretched`` changes their frequencies, for texts longer than those of the training.

Absolute schemes are modules with ``forward(t, start)``, a table to add. Relative and rotary schemes belong to one
attention layer and have two methods: ``embed(x, start)`` changes queries and keys before the cache, and
``bias(query, key)`` is added to the scaled scores. Positions count from 0; the last query stands at the last key.

Chapter: book/positional-encoding.
"""

from companion.positional.absolute import (
    Learned,
    Sinusoidal,
    angles,
    encode,
    frequencies,
    rotation,
    sinusoidal,
    wavelengths,
)
from companion.positional.biases import ALiBi, T5Bias, alibi_slopes, t5_bucket
from companion.positional.relative import TransformerXLPosition, relative_shift, spread
from companion.positional.rotary import RotaryPosition, rotate
from companion.positional.stretched import (
    interpolated_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    yarn_frequencies,
    yarn_scale,
)

__all__ = [
    "ALiBi",
    "Learned",
    "RotaryPosition",
    "Sinusoidal",
    "T5Bias",
    "TransformerXLPosition",
    "alibi_slopes",
    "angles",
    "encode",
    "frequencies",
    "interpolated_frequencies",
    "llama3_frequencies",
    "ntk_frequencies",
    "relative_shift",
    "rotate",
    "rotation",
    "sinusoidal",
    "spread",
    "t5_bucket",
    "wavelengths",
    "yarn_frequencies",
    "yarn_scale",
]
