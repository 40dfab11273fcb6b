r"""Cross-entropy with label smoothing over the real tokens of a batch: Vaswani et al. (2017), section 5.4.

Smoothing is that of Szegedy et al. (2016), section 7: of the wanted distribution over :math:`K` tokens, a share
:math:`\varepsilon` is spread evenly over all of them, the right one among them.

Chapter: book/training.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """The loss of a batch as a sum and a count, so that batches of different lengths add up to one exact mean.

    Args:
        total: sum of the losses of the real tokens.
        tokens: how many real tokens there are, at least 1.
    """

    total: Float[Tensor, ""]
    tokens: int

    @property
    def mean(self) -> Float[Tensor, ""]:
        """Loss per real token."""
        return self.total / self.tokens


def smoothed_targets(
    target: Int[Tensor, "batch t"], vocab: int, smoothing: float | int, *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch t {vocab}"]:
    r"""Write the wanted tokens as distributions.

    .. math:: q_k = (1 - \varepsilon) \, [k = \text{target}] + \varepsilon / K

    Args:
        target: the wanted tokens.
        vocab: number of tokens, :math:`K`.
        smoothing: :math:`\varepsilon`.
        dtype: of the distributions.

    Returns:
        One distribution over the vocabulary for each token.

    Raises:
        ValueError: a target lies outside the vocabulary, or the smoothing outside [0, 1).

    >>> smoothed_targets(torch.tensor([[2]]), vocab=4, smoothing=0.5).tolist()
    [[[0.125, 0.125, 0.625, 0.125]]]
    """
    _check_smoothing(smoothing)
    _check_target(target, vocab)
    return (1 - smoothing) * F.one_hot(target.long(), vocab).to(dtype) + smoothing / vocab


def token_losses(
    logits: Float[Tensor, "batch t vocab"],
    target: Int[Tensor, "batch t"],
    *,
    smoothing: float | int = 0.0,
    padding: int | None = None,
) -> Float[Tensor, "batch t"]:
    r"""Cross-entropy of each token between the smoothed target and the model's distribution.

    .. math:: -\sum_k q_k \log p_k = -(1 - \varepsilon) \log p_{\text{target}} - \varepsilon \frac1K \sum_k \log p_k

    Args:
        logits: the model's scores; half precision is widened to float32 first.
        target: the wanted tokens.
        smoothing: :math:`\varepsilon`; the paper has 0.1.
        padding: the token that only fills a row up, or any other number that stands for it; ``None`` for none.

    Returns:
        ``(batch, t)``, in natural logarithms (nats), and 0 at padding.

    Raises:
        ValueError: the shapes differ or are empty, a target lies outside the vocabulary, or the smoothing outside
            [0, 1).
    """
    _check_smoothing(smoothing)
    if logits.shape[:-1] != target.shape or target.numel() == 0:
        raise ValueError(
            f"each target has the logits of its place, and there is one: got logits {tuple(logits.shape)} and target "
            f"{tuple(target.shape)}. Both begin with (batch, t)."
        )
    real = not_padding(target, padding)
    target = target.masked_fill(~real, 0).long()  # any token of the vocabulary: its loss is struck out below
    _check_target(target, logits.shape[-1])
    log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)  # (batch, t, vocab)
    losses = -log_p.gather(-1, target[..., None]).squeeze(-1)
    if smoothing:  # without this test a logit of -inf would give 0 * inf
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(dim=-1)
    return losses.masked_fill(~real, 0.0)


def summed_loss(
    logits: Float[Tensor, "batch t vocab"],
    target: Int[Tensor, "batch t"],
    *,
    smoothing: float | int = 0.0,
    padding: int | None = None,
) -> Loss:
    """Add the losses of the real tokens and count them.

    Args:
        logits: the model's scores.
        target: the wanted tokens.
        smoothing: see :func:`token_losses`.
        padding: see :func:`token_losses`.

    Returns:
        Sum and count; ``.mean`` is what ``F.cross_entropy(..., label_smoothing=, ignore_index=)`` returns.

    Raises:
        ValueError: every token is padding.

    >>> summed_loss(torch.zeros(1, 3, 8), torch.tensor([[5, 1, 0]]), padding=0).mean  # log 8
    tensor(2.0794)
    """
    tokens = int(not_padding(target, padding).sum())
    if tokens == 0:
        raise ValueError(
            f"a loss needs at least one real token: all of {tuple(target.shape)} are padding, {padding}. "
            "Drop the batch."
        )
    return Loss(token_losses(logits, target, smoothing=smoothing, padding=padding).sum(), tokens)


def not_padding(target: Int[Tensor, "batch t"], padding: int | None) -> Bool[Tensor, "batch t"]:
    """Say which tokens count.

    Args:
        target: the wanted tokens.
        padding: the token that only fills a row up; ``None`` for none.

    Returns:
        ``True`` for all but the padding.
    """
    return torch.ones_like(target, dtype=torch.bool) if padding is None else target != padding


def _check_smoothing(smoothing: float | int) -> None:
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is a share of 1, at least 0 and below 1: got {smoothing}. The paper has 0.1.")


def _check_target(target: Tensor, vocab: int) -> None:
    low, high = (int(x) for x in target.aminmax())
    if low < 0 or high >= vocab:
        raise ValueError(
            f"a target is a token of the vocabulary, 0 to {vocab - 1}: got {low} to {high}. "
            "Name the number that stands for padding with padding=."
        )
