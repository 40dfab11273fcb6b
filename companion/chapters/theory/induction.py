"""Models of attention alone, which learn to continue repeated sequences: Elhage et al. (2021), Olsson et al. (2022).

Chapter: book/theory/what-heads-compute.
"""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.interpret import record_attention
from companion.measure import Experiment
from companion.multihead import MultiHeadAttention
from companion.positional import RotaryPosition
from companion.seeding import seeded

VOCAB, LENGTH, SHORTEST, LONGEST = 32, 48, 12, 24
"""Symbols; positions of a sequence; the shortest and the longest piece that is repeated until the sequence is full."""
WIDTH, HEADS, BATCH, STEPS = 48, 2, 32, 1000
NOTED = (0, *range(50, 600, 50), *range(600, STEPS + 1, 100))
"""Steps after which the heads are measured."""


class AttentionOnly(nn.Module):
    """Embedding, layers of causal attention with rotary positions that add to a residual stream, and an output layer.

    There are no feed-forward networks, so that whatever is computed, heads compute it.

    Args:
        n_layers: of attention.
        seed: of the initial parameters.
    """

    def __init__(self, n_layers: int, seed: int) -> None:
        super().__init__()
        with seeded(seed):
            self.embedding = nn.Embedding(VOCAB, WIDTH)
            self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(n_layers))
            self.layers = nn.ModuleList(
                MultiHeadAttention(WIDTH, HEADS, bias=False, position=RotaryPosition(WIDTH // HEADS))
                for _ in range(n_layers)
            )
            self.output = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens: Int[Tensor, "batch t"]) -> Float[Tensor, "batch t vocab"]:
        """Predict the next token after each token.

        Args:
            tokens: ``(batch, t)``.

        Returns:
            Logits ``(batch, t, vocab)``.
        """
        x = self.embedding(tokens)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x), causal=True)
        return self.output(x)


def repeated(count: int, generator: torch.Generator) -> tuple[Int[Tensor, "count t"], Int[Tensor, " count"]]:
    """Draw sequences of random symbols, each a piece that is repeated until the sequence is full.

    Args:
        count: number of sequences.
        generator: draws symbols and lengths of pieces, so that no fixed distance leads to the earlier copy.

    Returns:
        The tokens ``(count, 48)``, and the length of each piece ``(count,)``, from 12 to 24.
    """
    piece = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator)
    symbols = torch.randint(VOCAB, (count, LONGEST), generator=generator)
    return symbols.gather(1, torch.arange(LENGTH) % piece[:, None]), piece


def train_step(model: AttentionOnly, adam: torch.optim.Adam, generator: torch.Generator) -> float:
    """Take one step on fresh sequences: predict every next token.

    Args:
        model: changed in place.
        adam: of its parameters.
        generator: of the sequences.

    Returns:
        The loss before the step, in nats.
    """
    tokens, _ = repeated(BATCH, generator)
    loss = F.cross_entropy(model(tokens)[:, :-1].mT, tokens[:, 1:])
    adam.zero_grad()
    loss.backward()
    adam.step()
    return loss.item()


def measure(model: AttentionOnly, count: int = 128) -> dict[str, Float[Tensor, "..."]]:
    """Measure a model on fresh sequences, at the positions whose next token has been seen: from the second copy on.

    Args:
        model: of any number of layers.
        count: of sequences; they are the same in each call.

    Returns:
        ``loss`` and ``first``, the mean loss in nats in the later copies and in the first piece; ``previous`` and
        ``induction``, ``(n_layers, n_heads)``, the mean weight on the token before, and on the positions that
        hold, in an earlier copy, what comes next.
    """
    tokens, piece = repeated(count, torch.Generator().manual_seed(10**6))
    with torch.no_grad(), record_attention(model) as recorded:
        losses = F.cross_entropy(model(tokens)[:, :-1].mT, tokens[:, 1:], reduction="none")
    weights = torch.stack(list(recorded.values()), dim=1)  # (count, n_layers, n_heads, t, t)
    place = torch.arange(LENGTH)
    back = place[:, None] - place  # from each query to each key
    follows = ((back + 1) % piece[:, None, None] == 0) & (back >= 0)  # what comes next, in an earlier copy
    late = place >= piece[:, None]  # queries whose token is a copy
    known = late[:, 1:] & late[:, :-1]  # next tokens that can be told

    def score(pattern: Tensor) -> Tensor:
        found = (weights * pattern[:, None, None]).sum(-1)  # (count, n_layers, n_heads, t)
        return (found * late[:, None, None]).sum((0, 3)) / late.sum()

    return {
        "loss": losses[known].mean(),
        "first": losses[~known].mean(),
        "previous": score((back == 1).expand(count, -1, -1)),
        "induction": score(follows),
    }


@cache
def run(n_layers: int, seed: int) -> dict[int, dict[str, Tensor]]:
    """Train a model and measure it at the steps of ``NOTED``.

    Args:
        n_layers: of attention.
        seed: of the initial parameters and of the sequences.

    Returns:
        What :func:`measure` gives, by step.
    """
    model, generator = AttentionOnly(n_layers, seed), torch.Generator().manual_seed(seed)
    adam, noted = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True), {0: measure(model)}
    for step in range(1, STEPS + 1):
        train_step(model, adam, generator)
        if step in NOTED:
            noted[step] = measure(model)
    return noted


def copied_loss(seed: int, n_layers: int, step: int) -> float:
    """Read the loss of a run in the later copies.

    Args:
        seed: of the run.
        n_layers: of attention.
        step: one of ``NOTED``.

    Returns:
        Nats a token.
    """
    return float(run(n_layers, seed)[step]["loss"])


def largest_score(seed: int, n_layers: int, step: int, pattern: str) -> float:
    """Read the largest score of a head of a run.

    Args:
        seed: of the run.
        n_layers: of attention.
        step: one of ``NOTED``.
        pattern: ``"previous"`` or ``"induction"``.

    Returns:
        A mean weight, between 0 and 1.
    """
    return float(run(n_layers, seed)[step][pattern].max())


INDUCTION = [
    *(
        Experiment("loss on what was seen", "nats", copied_loss, {"n_layers": n, "step": step}, "median")
        for n in (1, 2)
        for step in NOTED
    ),
    *(
        Experiment("largest score", "weight", largest_score, {"n_layers": 2, "step": step, "pattern": kind}, "median")
        for kind in ("previous", "induction")
        for step in NOTED
    ),
]
"""The plan: models of one and of two layers, as they learn."""
