"""What the recurrent encoder-decoders share around their networks: embeddings and greedy decoding.

Greedy decoding is beam search with one hypothesis: Sutskever et al. (2014), section 3.2.

Chapter: book/history.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.checks import check_sizes


def embed(table: nn.Embedding, tokens: Int[Tensor, "batch t"], side: str) -> Float[Tensor, "batch t d_embed"]:
    """Look up the embeddings of tokens.

    Args:
        table: one row a symbol.
        tokens: which rows.
        side: how a refusal names the tokens.

    Returns:
        A row for each token.

    Raises:
        ValueError: the tokens are not int64 or int32 of shape ``(batch, t)``, there are none, or one has no row.
    """
    if tokens.ndim != 2 or tokens.numel() == 0 or tokens.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{side} tokens are int64 or int32 (batch, t), at least one: got {tuple(tokens.shape)} of {tokens.dtype}. "
            "Drop the empty sequences, pad the others to one length, and convert with .long()."
        )
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= table.num_embeddings:
        raise ValueError(
            f"{side} tokens lie between 0 and {table.num_embeddings - 1}: got {low} to {high}. "
            "Build the model for the whole vocabulary."
        )
    return table(tokens)


def greedy(
    run: Callable[[Tensor, Any], tuple[Tensor, Any]],
    state: Any,  # noqa: ANN401 - whatever `run` takes
    first: Int[Tensor, "batch 1"],
    *,
    end: int,
    max_len: int,
) -> Int[Tensor, "batch t"]:
    """Take the likeliest token again and again.

    Args:
        run: turns tokens and a state into logits and the next state.
        state: what it begins with.
        first: the token that it reads first.
        end: the token after which a row is finished.
        max_len: most tokens to write.

    Returns:
        The tokens after the first, up to the end of the longest row; a finished row repeats the end token.

    Raises:
        ValueError: ``max_len`` is below 1, the end token is not in the vocabulary, or the logits are not numbers.
    """
    check_sizes(max_len=max_len)
    token, ended, found = first, torch.zeros_like(first, dtype=torch.bool), []
    for _ in range(max_len):
        logits, state = run(token, state)
        if not 0 <= end < logits.shape[-1]:
            raise ValueError(f"end lies between 0 and {logits.shape[-1] - 1}: got {end}. Name a target token.")
        if logits.isnan().any():
            raise ValueError("a token is chosen by its logits: got NaN among them. Look for NaN in the weights.")
        token = logits.argmax(dim=-1).masked_fill(ended, end)
        ended = ended | (token == end)
        found.append(token)
        if ended.all():
            break
    return torch.cat(found, dim=1)
