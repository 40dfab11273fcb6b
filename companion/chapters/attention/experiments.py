"""What the chapter's pages read from measurements/attention: how the scale of the scores decides what is learned."""

from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.attention import attention
from companion.measure import Experiment

SYMBOLS, PAIRS, CLASSES, FEATURES = 32, 16, 8, 64
FACTORS = {"1": 0.0, "1/√d_k": -0.5, "1/d_k": -1.0}
"""What multiplies a score: a power of d_k."""


def lookup_batch(generator: torch.Generator, batch: int = 64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw lookups: 16 of 32 symbols with a class each; one of them is asked for, and its class is wanted.

    Args:
        generator: of the draws.
        batch: number of lookups.

    Returns:
        The symbols shown ``(batch, 16)``, their classes as one-hot rows ``(batch, 16, 8)``, the symbol asked for and
        the class wanted, both ``(batch,)``.
    """
    shown = torch.rand(batch, SYMBOLS, generator=generator).argsort(dim=-1)[:, :PAIRS]
    classes = torch.randint(CLASSES, (batch, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (batch, 1), generator=generator)
    return shown, F.one_hot(classes, CLASSES).float(), shown.gather(1, asked)[:, 0], classes.gather(1, asked)[:, 0]


def lookup_loss(seed: int, d_k: int, factor: str, rate: float, steps: int = 2000) -> float:
    """Train the projections of one head to look a symbol up.

    Symbols are fixed vectors of 64 features with variance 1, and the values are the one-hot classes, so that the output
    is itself a distribution. Queries and keys have variance 1 at first. Guessing has a loss of ln 8 = 2.08.

    Args:
        seed: of the symbols, the first parameters and the lookups.
        d_k: width of the head.
        factor: what multiplies a score, one of ``FACTORS``.
        rate: learning rate of Adam.
        steps: of 64 lookups each.

    Returns:
        The mean loss of the last 50 steps, in nats.
    """
    generator, scale = torch.Generator().manual_seed(seed), d_k ** FACTORS[factor]
    symbols = torch.randn(SYMBOLS, FEATURES, generator=generator)
    w_q, w_k = torch.randn(2, FEATURES, d_k, generator=generator).div(FEATURES**0.5).unbind()
    adam = torch.optim.Adam([w_q.requires_grad_(), w_k.requires_grad_()], lr=rate)
    losses = []
    for _ in range(steps):
        shown, values, asked, wanted = lookup_batch(generator)
        query, key = symbols[asked][:, None] @ w_q, symbols[shown] @ w_k
        answer = attention(query, key, values, scale=scale)[:, 0]
        loss = F.nll_loss((answer + 1e-9).log(), wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return sum(losses[-50:]) / 50


EXPERIMENTS = [
    Experiment("loss of a lookup", "nats", lookup_loss, {"d_k": d_k, "factor": factor, "rate": rate})
    for d_k, factor, rate in product((64, 512), FACTORS, (0.001, 0.003, 0.01, 0.03, 0.1))
]
