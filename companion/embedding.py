"""Tokens to vectors, and vectors back to scores of tokens: Vaswani et al. (2017), section 3.4.

The same matrix for both is due to Press and Wolf (2017), which the paper cites there.

Chapter: book/architecture.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.checks import check_sizes

__all__ = ["TokenEmbedding"]


class TokenEmbedding(nn.Module):
    r"""One vector for each entry of a vocabulary, used at the input and, where tied, at the output.

    .. math:: x_t = \sqrt{d_{model}} \; E_{w_t} \qquad \operatorname{logits} = x E^\top

    The entries of ``weight`` are drawn with standard deviation :math:`1 / \sqrt{d_{model}}`. Then the embedding, times
    the root, has numbers of unit size like the positions that are added to it, and a normalised vector gets logits of
    unit size. The factor acts on the input only. The paper gives the factor but not the draw.

    >>> embedding = TokenEmbedding(vocab=5, d_model=4)
    >>> embedding(torch.tensor([[3, 1, 0]])).shape, embedding.logits(torch.zeros(1, 3, 4)).shape
    (torch.Size([1, 3, 4]), torch.Size([1, 3, 5]))

    Args:
        vocab: number of entries.
        d_model: width of a vector.
        scale: whether the input is multiplied by ``sqrt(d_model)``.
    """

    def __init__(self, vocab: int, d_model: int, *, scale: bool = True) -> None:
        super().__init__()
        check_sizes(vocab=vocab, d_model=d_model)
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.scale = scale
        nn.init.normal_(self.weight, std=1 / math.sqrt(d_model))

    def forward(self, tokens: Int[Tensor, "*batch t"]) -> Float[Tensor, "*batch t d_model"]:
        """Look the vectors up.

        Args:
            tokens: ids from 0 to ``vocab - 1``, ``(*batch, t)``, int64 or int32.

        Returns:
            ``(*batch, t, d_model)``.

        Raises:
            ValueError: no tokens, ids of another dtype, or an id outside the vocabulary.
        """
        _check_tokens(tokens, len(self.weight))
        vectors = F.embedding(tokens, self.weight)
        return vectors * math.sqrt(self.weight.shape[1]) if self.scale else vectors

    def logits(self, x: Float[Tensor, "*batch t d_model"]) -> Float[Tensor, "*batch t vocab"]:
        """Score each entry of the vocabulary by its product with the vector: the tied output layer.

        Args:
            x: ``(*batch, t, d_model)``.

        Returns:
            ``(*batch, t, vocab)``; softmax over the last axis makes them probabilities.

        Raises:
            ValueError: ``x`` is empty, not floating point, or of another width.
        """
        d_model = self.weight.shape[1]
        if not x.is_floating_point():
            raise ValueError(f"logits are of floating-point vectors: got {x.dtype}. For ids, call the module itself.")
        if x.numel() == 0 or x.ndim == 0 or x.shape[-1] != d_model:
            raise ValueError(f"x is (*batch, t, d_model={d_model}) and no axis is empty: got {tuple(x.shape)}.")
        return F.linear(x, self.weight)

    def extra_repr(self) -> str:
        """Name the sizes in the module's text."""
        vocab, d_model = self.weight.shape
        return f"vocab={vocab}, d_model={d_model}, scale={self.scale}"


def _check_tokens(tokens: Tensor, vocab: int) -> None:
    if tokens.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"tokens are ids of dtype int64 or int32: got {tokens.dtype}. Convert with .long().")
    if tokens.ndim == 0 or tokens.numel() == 0:
        raise ValueError(f"tokens are (*batch, t) and no axis is empty: got {tuple(tokens.shape)}.")
    if tokens.is_meta:  # a shape without numbers
        return
    low, high = torch.stack(tokens.aminmax()).tolist()  # one pass; on a GPU such an id would end the process
    if low < 0 or high >= vocab:
        raise ValueError(
            f"an id lies between 0 and vocab - 1 = {vocab - 1}: got ids from {low} to {high}. "
            "Use the vocabulary that the ids come from."
        )
