"""Beam search with the length penalty of Wu et al. (2016), section 7. Chapter: book/architecture."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from companion.generate.decoding import IncrementalDecoder, Lengths, check_end, check_steps
from companion.transformer import DecoderOnly, Transformer


def length_penalty(length: int, alpha: float | int) -> float:
    r"""Divide the log-probability of a text of this length by it, so that long texts can win.

    .. math:: lp(Y) = \left(\frac{5 + |Y|}{5 + 1}\right)^\alpha

    Wu et al. (2016), section 7, without their penalty on coverage. Vaswani et al. (2017), section 6.1, use ``alpha =
    0.6``.

    >>> length_penalty(7, 1.0), length_penalty(7, 0.0)
    (2.0, 1.0)

    Args:
        length: number of tokens, the end symbol among them.
        alpha: 0 for no penalty.

    Returns:
        What to divide by; 1 for a single token.
    """
    return ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class Hypothesis:
    """One text that a beam search found.

    Args:
        tokens: the new tokens, the end symbol last where the text reached it.
        log_probability: the sum over the tokens, natural logarithm.
        score: ``log_probability`` over the length penalty; what the search ranks by.
    """

    tokens: list[int]
    log_probability: float
    score: float


def beam(
    model: DecoderOnly | Transformer,
    prompt: Int[Tensor, "batch t"],
    max_new: int,
    *,
    width: int,
    end: int,
    alpha: float | int = 0.6,
    source: Int[Tensor, "batch t_k"] | None = None,
    source_lengths: Lengths = None,
) -> list[list[Hypothesis]]:
    """Follow the ``width`` best beginnings at once, and return the best texts of each prompt.

    A text that reaches ``max_new`` tokens without the end symbol is ranked with the finished ones. The search stops
    for a prompt when no beginning can still beat what is finished.

    Args:
        model: in evaluation mode.
        prompt: as in :func:`greedy`.
        max_new: number of tokens to write at most.
        width: number of beginnings that are kept; 1 and ``alpha=0`` is greedy search.
        end: the token that finishes a text.
        alpha: of the :func:`length_penalty`, at least 0.
        source: as in :func:`greedy`.
        source_lengths: as in :func:`greedy`.

    Returns:
        For each prompt at most ``width`` hypotheses, the best first.

    Raises:
        ValueError: the width is below 1, alpha below 0, or what :func:`greedy` refuses.
    """
    if width < 1 or alpha < 0:
        raise ValueError(f"a beam has width >= 1 and alpha >= 0: got width={width} and alpha={alpha}.")
    check_steps(max_new)
    batch = prompt.shape[0]
    decoder = IncrementalDecoder(model, prompt, source, source_lengths)
    log_p = decoder(prompt).log_softmax(-1)[:, None]  # (batch, alive, vocab): one beginning each, still empty
    check_end(end, log_p)
    written = torch.empty(batch, 1, 0, dtype=torch.long, device=prompt.device)
    done: list[list[Hypothesis]] = [[] for _ in range(batch)]
    for length in range(1, max_new + 1):
        alive, vocab = log_p.shape[1:]
        best, index = log_p.flatten(1).topk(min(2 * width, alive * vocab))  # enough: at most `width` of them end
        parent, token = index // vocab, index % vocab
        written = torch.cat([_rows(written, parent), token[..., None]], -1)
        penalty = length_penalty(length, alpha)
        _collect(done, best, written, penalty, finished=(token == end) | (length == max_new), width=width)
        best = best.masked_fill(token == end, -torch.inf)
        bound = best.max(1).values / length_penalty(max_new, alpha)  # a log-probability only falls, the penalty grows
        if length == max_new or all(_settled(found, width, limit) for found, limit in zip(done, bound, strict=True)):
            break
        best, kept = best.topk(min(width, best.shape[1]))
        parent, written = parent.gather(1, kept), _rows(written, kept)
        rows = (parent + alive * torch.arange(batch, device=parent.device)[:, None]).flatten()
        decoder.reorder(rows, same_sources=kept.shape[1] == alive)  # rows move only among those of one prompt
        log_p = decoder(written[..., -1].reshape(-1, 1)).log_softmax(-1).unflatten(0, (batch, -1)) + best[..., None]
    return done


def _collect(
    done: list[list[Hypothesis]], best: Tensor, written: Tensor, penalty: float, finished: Tensor, width: int
) -> None:
    """Put the finished candidates among the best of their prompt, at most `width` of them."""
    for found, scores, texts, ends in zip(done, best.tolist(), written, finished.tolist(), strict=True):
        for score, text, over in zip(scores, texts, ends, strict=True):
            if over and score > -math.inf:
                found.append(Hypothesis(text.tolist(), score, score / penalty))
        found.sort(key=lambda hypothesis: -hypothesis.score)
        del found[width:]


def _settled(found: list[Hypothesis], width: int, limit: Tensor) -> bool:
    return len(found) == width and found[-1].score >= limit.item()


def _rows(texts: Tensor, rows: Tensor) -> Tensor:
    """Take these rows (batch, kept) of texts (batch, alive, length)."""
    return texts.gather(1, rows[..., None].expand(-1, -1, texts.shape[-1]))
