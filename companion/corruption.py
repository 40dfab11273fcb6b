"""What a model is to repair: masked tokens, Devlin et al. (2019), and spans, Raffel et al. (2020).

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


def corrupt_spans(
    tokens: Int[Tensor, "batch t"],
    *,
    sentinels: Sequence[int],
    share: float | int = 0.15,
    mean: float | int = 3,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "batch t_read"], Int[Tensor, "batch t_said"]]:
    """Hide spans of each text, and ask for them in order: Raffel et al. (2020), sections 3.1.4 and 3.3.4.

    Of ``t`` tokens ``h = round(share * t)`` are hidden, at least one, in ``s = round(h / mean)`` spans, at least one;
    visible and hidden spans take turns, a visible one first, as in the code of T5, and every way to cut the two
    numbers is equally likely. In what is read, a sentinel stands for each hidden span; in what must be said, for each
    visible one. End symbols are not added.

    Args:
        tokens: ``(batch, t)``.
        sentinels: ids of the symbols that stand for the first span, the second, and so on.
        share: of the tokens that are hidden.
        mean: length of a hidden span.
        generator: what draws.

    Returns:
        What the encoder reads, ``(batch, t - h + s)``, and what the decoder must say, ``(batch, h + s)``.

    Raises:
        ValueError: ``share`` does not lie between 0 and 1, ``mean`` is below 1, the text is too short for its spans,
            or the sentinels are fewer than these.
    """
    if not 0 < share < 1:
        raise ValueError(f"share lies between 0 and 1: got {share}. T5 has 0.15.")
    if not mean >= 1:
        raise ValueError(f"mean is the length of a span, at least 1: got {mean}. T5 has 3.")
    batch, t = tokens.shape
    hidden = max(round(share * t), 1)
    spans = max(round(hidden / mean), 1)
    if t - hidden < spans:
        raise ValueError(
            f"a visible token stands before each span: got {t} tokens, of which {hidden} are hidden in {spans} spans. "
            "Give a longer text, or a smaller share."
        )
    if len(sentinels) < spans:
        raise ValueError(f"each of {spans} spans has a sentinel: got {len(sentinels)}. Add symbols, or raise mean.")
    lengths = [_cut(number, spans, batch, generator) for number in (t - hidden, hidden)]
    ends = torch.stack(lengths, dim=-1).flatten(1).cumsum(dim=1)  # visible, hidden, visible, ...
    turn = (torch.arange(t)[None, :, None] >= ends[:, None]).sum(dim=-1).to(tokens.device)  # (batch, t)
    marks = torch.as_tensor(sentinels, dtype=tokens.dtype, device=tokens.device)[turn // 2]
    first = torch.cat([torch.ones_like(turn[:, :1]), turn.diff(dim=1)], dim=1) > 0
    out = []
    for gone in (turn % 2 == 1, turn % 2 == 0):
        kept = ~gone | first
        out.append(torch.where(gone, marks, tokens)[kept].view(batch, -1))
    return out[0], out[1]


def _cut(number: int, parts: int, batch: int, generator: torch.Generator | None) -> Int[Tensor, "batch parts"]:
    """Cut a number into so many positive parts; every way to do it is equally likely."""
    order = torch.rand((batch, number - 1), generator=generator).argsort(dim=1)
    cuts = order[:, : parts - 1].sort(dim=1).values + 1
    edges = [torch.zeros(batch, 1, dtype=torch.long), cuts, torch.full((batch, 1), number)]
    return torch.cat(edges, dim=1).diff(dim=1)
