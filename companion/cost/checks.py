"""What the formulas refuse: sizes that are no sizes, and models that do not exist.

Made for this book. Chapter: book/complexity.
"""

import math

from companion.checks import check_sizes
from companion.config import ModelConfig

KINDS = ("encoder-decoder", "decoder-only", "encoder-only")
"""The three models of ``companion.transformer``."""


def check_amounts(**amounts: float | int) -> None:
    """Refuse an amount that is not a positive finite number.

    Args:
        **amounts: what came, by name.

    Raises:
        ValueError: one of them is no amount; the message names the first.
    """
    for name, amount in amounts.items():
        if not 0 < amount < math.inf:
            raise ValueError(f"{name} is positive and finite: got {name}={amount!r}. Use such a number.")


def check_model(config: ModelConfig, kind: str, source: int | None) -> None:
    """Refuse a model that ``companion.transformer`` does not have, and a source where nothing reads it.

    Args:
        config: its sizes.
        kind: which of the three models.
        source: length of the source, or ``None``.

    Raises:
        ValueError: no model is of this kind, the source is missing or superfluous, or the config has a vocabulary or
            segments that this kind has no use for.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}: got {kind!r}. Use one of these.")
    if (source is not None) != (kind == "encoder-decoder"):
        raise ValueError(
            f"an encoder-decoder has a source, the other models have none: got kind={kind!r} and source={source}. "
            "Give the length of the source, or leave it out."
        )
    if source is not None:
        check_sizes(source=source)
    if config.target_vocab is not None and kind != "encoder-decoder":
        raise ValueError(f"{kind} models have one vocabulary: got target_vocab={config.target_vocab}. Set None.")
    if config.segments and kind != "encoder-only":
        raise ValueError(f"only encoder-only models have segments: got segments={config.segments}. Set 0.")
