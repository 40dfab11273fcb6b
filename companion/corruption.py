"""What a model is to repair: masked tokens, Devlin et al. (2019).

Chapter: book/variants.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from companion.checks import check_sizes


def mask_tokens(
    tokens: Int[Tensor, "*batch t"],
    *,
    vocab: int,
    mask: int,
    special: Sequence[int] = (),
    share: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "*batch t"], Bool[Tensor, "*batch t"]]:
    """Choose tokens to predict, and hide most of them: Devlin et al. (2019), section 3.1, task 1.

    Each token that is not special is chosen with probability ``share``, on its own. Of the chosen ones 80% become
    ``mask``, 10% a random token of the vocabulary, and 10% stay as they are.

    Args:
        tokens: ``(*batch, t)``.
        vocab: size of the vocabulary.
        mask: id of the mask symbol.
        special: ids that are never chosen, such as those of ``[CLS]``, ``[SEP]`` and padding.
        share: of the tokens that are chosen.
        generator: what draws.

    Returns:
        What the model reads, and ``True`` where it must say what was there; both ``(*batch, t)``.

    Raises:
        ValueError: ``share`` is no probability, or the mask symbol is not in the vocabulary.
    """
    check_sizes(vocab=vocab)
    if not 0 <= share <= 1:
        raise ValueError(f"share is a probability from 0 to 1: got {share}. BERT has 0.15.")
    if not 0 <= mask < vocab:
        raise ValueError(f"mask is a token of the vocabulary of {vocab}: got {mask}. Add a symbol for it.")
    chosen, how = torch.rand((2, *tokens.shape), generator=generator)
    chosen = chosen < share
    for token in special:
        chosen &= tokens != token
    anything = torch.randint(vocab, tokens.shape, generator=generator, dtype=tokens.dtype)
    read = torch.where(chosen & (how < 0.8), mask, tokens)
    return torch.where(chosen & (how >= 0.9), anything, read), chosen
