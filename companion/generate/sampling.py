"""Drawing a token: a temperature, and rules that remove the tail of the distribution.

Top-k: Fan et al. (2018). Top-p: Holtzman et al. (2020), section 3.1. Min-p: Nguyen et al. (2025).

Chapter: book/generation.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from companion.generate.decoding import IncrementalDecoder, Lengths, decode_loop
from companion.transformer import DecoderOnly, Transformer


def sample(
    model: DecoderOnly | Transformer,
    prompt: Int[Tensor, "batch t"],
    max_new: int,
    *,
    generator: torch.Generator,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    min_p: float | int | None = None,
    end: int | None = None,
    source: Int[Tensor, "batch t_k"] | None = None,
    source_lengths: Lengths = None,
) -> Int[Tensor, "batch t_new"]:
    """Continue each prompt with tokens drawn from the model's distribution.

    Args:
        model: in evaluation mode.
        prompt: as in :func:`greedy`.
        max_new: number of tokens to write at most.
        generator: of the CPU; where the draws come from, so that the same seed gives the same text on every device.
        temperature: divides the logits; below 1 makes the likely tokens likelier.
        top_k: draw among this many most probable tokens.
        top_p: draw among the fewest most probable tokens that together have this probability, after the temperature.
        min_p: draw among the tokens that have at least this share of the largest probability, after the temperature.
        end: as in :func:`greedy`.
        source: as in :func:`greedy`.
        source_lengths: as in :func:`greedy`.

    Returns:
        The new tokens, ``(batch, t_new)``; a finished row is filled up with ``end``.

    Raises:
        ValueError: a choice is out of its range, or what :func:`greedy` refuses.
    """
    if not 0 < temperature < math.inf:
        raise ValueError(f"a temperature is above 0: got {temperature}. For the limit of 0, use greedy.")

    def draw(logits: Tensor) -> Tensor:
        logits = logits.double()
        logits = (logits - logits.amax(-1, keepdim=True)) / temperature  # the largest is 0: no overflow to infinity
        logits = logits if top_k is None else keep_top_k(logits, top_k)
        logits = logits if top_p is None else keep_top_p(logits, top_p)
        logits = logits if min_p is None else keep_min_p(logits, min_p)
        chosen = torch.multinomial(logits.softmax(-1).cpu(), 1, generator=generator)
        return chosen.squeeze(-1).to(logits.device)

    return decode_loop(IncrementalDecoder(model, prompt, source, source_lengths), prompt, max_new, end, draw)


def keep_top_k(logits: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """Set all but the ``k`` largest logits to minus infinity; among equal ones the smaller token stays.

    >>> keep_top_k(torch.tensor([1.0, 3.0, 2.0]), 2)
    tensor([-inf, 3., 2.])

    Args:
        logits: ``(*batch, vocab)``.
        k: number of tokens to keep; more than there are keeps all.

    Returns:
        ``(*batch, vocab)``.

    Raises:
        ValueError: ``k`` is below 1.
    """
    if k < 1:
        raise ValueError(f"top-k keeps at least one token: got k={k}. Use k >= 1.")
    order = logits.sort(dim=-1, descending=True, stable=True).indices
    return logits.scatter(-1, order[..., k:], -torch.inf)


def keep_top_p(logits: Float[Tensor, "*batch vocab"], p: float | int) -> Float[Tensor, "*batch vocab"]:
    """Set all but the smallest set of most probable tokens with probability ``p`` or more to minus infinity.

    >>> keep_top_p(torch.tensor([0.5, 0.3, 0.2]).log(), 0.6).exp()
    tensor([0.5000, 0.3000, 0.0000])

    Args:
        logits: ``(*batch, vocab)``.
        p: the probability that the kept tokens reach together; the most probable one always stays.

    Returns:
        ``(*batch, vocab)``.

    Raises:
        ValueError: ``p`` is not above 0 and at most 1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top-p keeps a probability above 0 and at most 1: got p={p}.")
    if p == 1:
        return logits
    order = logits.sort(dim=-1, descending=True, stable=True).indices
    probabilities = logits.double().softmax(-1).gather(-1, order)
    before = probabilities.cumsum(-1) - probabilities  # what the tokens ahead of this one have together
    cut = torch.zeros_like(order, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(cut, -torch.inf)


def keep_min_p(logits: Float[Tensor, "*batch vocab"], p: float | int) -> Float[Tensor, "*batch vocab"]:
    """Set every token with less than ``p`` times the largest probability to minus infinity: Nguyen et al. (2025).

    >>> keep_min_p(torch.tensor([0.5, 0.3, 0.2]).log(), 0.5).exp()
    tensor([0.5000, 0.3000, 0.0000])

    Args:
        logits: ``(*batch, vocab)``.
        p: the share; the most probable tokens always stay.

    Returns:
        ``(*batch, vocab)``.

    Raises:
        ValueError: ``p`` is not above 0 and at most 1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"min-p is a share of the largest probability, above 0 and at most 1: got p={p}.")
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True) + math.log(p), -torch.inf)
