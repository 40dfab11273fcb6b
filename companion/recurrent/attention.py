"""Attention over the states of a recurrent encoder: Bahdanau et al. (2015), additive; Luong et al. (2015), products.

The two kinds of product are *dot* and *general* in Luong et al. (2015), section 3.1. Neither is divided by the root of
the width: that came with Vaswani et al. (2017).

Chapter: book/history.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.checks import check_sizes


def additive_scores(
    query: Float[Tensor, "batch t_q d_align"],
    key: Float[Tensor, "batch t_k d_align"],
    v: Float[Tensor, " d_align"],
) -> Float[Tensor, "batch t_q t_k"]:
    r"""Score each pair by a network with one hidden layer: Bahdanau et al. (2015), appendix A.1.2.

    .. math:: e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)

    Args:
        query: :math:`W s_{i-1}`, already multiplied.
        key: :math:`U h_j`, already multiplied.
        v: the weights of the hidden layer.

    Returns:
        ``(batch, t_q, t_k)``, before softmax.

    Raises:
        ValueError: queries, keys and ``v`` do not have one width, or queries and keys not one batch.
    """
    _check_pair(query, key)
    if v.shape != query.shape[-1:]:
        raise ValueError(
            f"v has one weight a unit, ({query.shape[-1]},): got {tuple(v.shape)}. Take that of the layer."
        )
    return (query[:, :, None] + key[:, None]).tanh() @ v  # the sum is (batch, t_q, t_k, d_align)


def distribution(
    scores: Float[Tensor, "batch t_q t_k"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "batch t_q t_k"]:
    """Turn scores into weights that sum to 1 over the keys that a query may look at.

    >>> distribution(torch.zeros(1, 1, 3), torch.tensor([[True, True, False]]))
    tensor([[[0.5000, 0.5000, 0.0000]]])

    Args:
        scores: one number for each pair.
        mask: ``True`` where the query may look at the key, ``(t_q or 1, t_k)`` or ``(batch or 1, t_q or 1, t_k)``.
            ``None`` allows every pair.

    Returns:
        One distribution for each query.

    Raises:
        ValueError: the mask is not boolean, has another shape, or allows some query no key.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    batch, t_q, t_k = scores.shape
    sizes = zip(reversed(mask.shape), (t_k, t_q, batch), strict=False)
    legal = mask.ndim in (2, 3) and mask.shape[-1] == t_k and all(got in (1, want) for got, want in sizes)
    if mask.dtype != torch.bool or not legal:
        raise ValueError(
            f"a mask is boolean, True = may look, of shape ({t_q} or 1, {t_k}) or ({batch} or 1, {t_q} or 1, {t_k}): "
            f"got {mask.dtype} of {tuple(mask.shape)}. A mask of (batch, t_k) needs mask[:, None]."
        )
    if not mask.any(dim=-1).all():
        raise ValueError("each query has a key to look at: got a mask with a row of False. Drop empty sequences.")
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


class RecurrentAttention(nn.Module):
    """What additive and multiplicative attention share: scores become weights, and weights an average of the keys.

    A subclass has ``project(key)``, which a decoder does once for all its steps, and ``scores(query, projected)``.
    """

    def weights(
        self,
        query: Float[Tensor, "batch t_q d_query"],
        key: Float[Tensor, "batch t_k d_key"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch t_q t_k"]:
        """Turn the scores into one distribution over the keys for each query.

        Args:
            query: states of the decoder.
            key: states of the encoder.
            mask: see :func:`distribution`.

        Returns:
            The weights, the soft alignment of the paper.

        Raises:
            ValueError: a width differs, an axis is empty, or the mask is not legal or allows some query no key.
        """
        return distribution(self.scores(query, self.project(key)), mask)

    def forward(
        self,
        query: Float[Tensor, "batch t_q d_query"],
        key: Float[Tensor, "batch t_k d_key"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch t_q d_key"]:
        """Average the keys by their weights: the context of each query.

        Args:
            query: states of the decoder.
            key: states of the encoder, which are the values too.
            mask: see :func:`distribution`.

        Returns:
            One context for each query.

        Raises:
            ValueError: a width differs, an axis is empty, or the mask is not legal or allows some query no key.
        """
        return self.weights(query, key, mask) @ key


class AdditiveAttention(RecurrentAttention):
    """Attention by a small network: Bahdanau et al. (2015), section 3.1 and appendix A.1.2.

    Args:
        d_query: width of the queries, the states of the decoder.
        d_key: width of the keys, the states of the encoder.
        d_align: width of the hidden layer.
    """

    def __init__(self, d_query: int, d_key: int, d_align: int) -> None:
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key, d_align=d_align)
        self.w_query = nn.Linear(d_query, d_align, bias=False)
        self.w_key = nn.Linear(d_key, d_align, bias=False)
        self.v = nn.Parameter(torch.empty(d_align).uniform_(-(d_align**-0.5), d_align**-0.5))

    def project(self, key: Float[Tensor, "batch t_k d_key"]) -> Float[Tensor, "batch t_k d_align"]:
        """Multiply the keys by their weights, which a decoder does once for all its steps."""
        _check_width("key", key, self.w_key.in_features)
        return self.w_key(key)

    def scores(
        self, query: Float[Tensor, "batch t_q d_query"], projected: Float[Tensor, "batch t_k d_align"]
    ) -> Float[Tensor, "batch t_q t_k"]:
        """Score each pair.

        Args:
            query: states of the decoder.
            projected: what :meth:`project` gave.

        Returns:
            The scores, before softmax.

        Raises:
            ValueError: a width or the batch of the queries does not fit.
        """
        _check_width("query", query, self.w_query.in_features)
        return additive_scores(self.w_query(query), projected, self.v)


class MultiplicativeAttention(RecurrentAttention):
    r"""Attention by products: Luong et al. (2015), section 3.1.

    .. math:: \operatorname{dot}: h_t^\top \bar h_s \qquad \operatorname{general}: h_t^\top W_a \bar h_s

    Args:
        d_query: width of the queries, the states of the decoder.
        d_key: width of the keys, the states of the encoder.
        score: ``"dot"``, which has no weights and needs two equal widths, or ``"general"``.

    Raises:
        ValueError: the score is unknown, or a dot product of different widths is asked for.
    """

    def __init__(self, d_query: int, d_key: int, *, score: Literal["dot", "general"] = "general") -> None:
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key)
        if score not in ("dot", "general"):
            raise ValueError(f"score is 'dot' or 'general': got {score!r}. For a small network use AdditiveAttention.")
        if score == "dot" and d_query != d_key:
            raise ValueError(
                f"a dot product needs equal widths: got d_query={d_query} and d_key={d_key}. Use 'general'."
            )
        self.d_query, self.d_key, self.score = d_query, d_key, score
        self.w_a = nn.Linear(d_key, d_query, bias=False) if score == "general" else None

    def project(self, key: Float[Tensor, "batch t_k d_key"]) -> Float[Tensor, "batch t_k d_query"]:
        """Multiply the keys by ``W_a``, which a decoder does once for all its steps; *dot* leaves them as they are."""
        _check_width("key", key, self.d_key)
        return key if self.w_a is None else self.w_a(key)

    def scores(
        self, query: Float[Tensor, "batch t_q d_query"], projected: Float[Tensor, "batch t_k d_query"]
    ) -> Float[Tensor, "batch t_q t_k"]:
        """Score each pair.

        Args:
            query: states of the decoder.
            projected: what :meth:`project` gave.

        Returns:
            The scores, before softmax.

        Raises:
            ValueError: a width or the batch of the queries does not fit.
        """
        _check_width("query", query, self.d_query)
        _check_pair(query, projected)
        return query @ projected.mT


def _check_pair(query: Tensor, key: Tensor) -> None:
    if query.ndim != 3 or key.ndim != 3 or query.shape[0] != key.shape[0] or query.shape[2] != key.shape[2]:
        raise ValueError(
            f"query (batch, t_q, d) and key (batch, t_k, d) share batch and width: got {tuple(query.shape)} and "
            f"{tuple(key.shape)}. Project both to one width, and expand a batch of 1 first."
        )


def _check_width(name: str, tensor: Tensor, width: int) -> None:
    if tensor.ndim != 3 or tensor.shape[-1] != width or tensor.numel() == 0:
        raise ValueError(
            f"a {name} is (batch, t, {width}) with no axis empty: got {tuple(tensor.shape)}. "
            "Build the attention for that width, or add the missing axis."
        )
