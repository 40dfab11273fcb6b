"""What a model is trained for: functions that give the loss of a model on a batch.

The next token, from the true ones before it (teacher forcing): Vaswani et al. (2017), section 3.1; Williams and Zipser
(1989).

Chapter: book/training.
"""

from collections.abc import Callable

from jaxtyping import Int
from torch import Tensor, nn

from companion.training.loss import Loss, summed_loss


def seq2seq_loss(*, padding: int, smoothing: float | int = 0.0) -> Callable[[nn.Module, tuple], Loss]:
    """Make the loss of a model from source to target.

    The decoder reads the target up to each token and must say the next: what it reads is what it must say, shifted
    right by the start token.

    Args:
        padding: the token that only fills a row up.
        smoothing: see :func:`companion.training.token_losses`.

    Returns:
        A function of a model ``(source, target, source_lengths=) -> logits`` and a batch of pairs.
    """

    def loss_fn(model: nn.Module, batch: tuple) -> Loss:  # Pairs, or other fields of these names
        logits = model(batch.source, batch.target[:, :-1], source_lengths=batch.source_lengths)
        return summed_loss(logits, batch.target[:, 1:], smoothing=smoothing, padding=padding)

    return loss_fn


def language_model_loss(
    *, padding: int | None = None, smoothing: float | int = 0.0
) -> Callable[[nn.Module, Int[Tensor, "batch t"]], Loss]:
    """Make the loss of a language model.

    Args:
        padding: the token that only fills a row up; ``None`` for none.
        smoothing: see :func:`companion.training.token_losses`.

    Returns:
        A function of a model ``(tokens) -> logits`` and a batch of texts; each token but the first is to be said.

    >>> import torch
    >>> knows_nothing = nn.Embedding.from_pretrained(torch.zeros(5, 5))  # equal logits, whatever it reads
    >>> language_model_loss()(knows_nothing, torch.tensor([[1, 2, 3]])).mean  # log 5
    tensor(1.6094)
    """

    def loss_fn(model: nn.Module, batch: Int[Tensor, "batch t"]) -> Loss:
        return summed_loss(model(batch[:, :-1]), batch[:, 1:], smoothing=smoothing, padding=padding)

    return loss_fn
