"""Models of attention alone, which learn to continue repeated sequences: Elhage et al. (2021), Olsson et al. (2022).

Chapter: book/theory/what-heads-compute.
"""

from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from companion.interpret import ablate, record_attention
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
    known = later(piece)

    def score(pattern: Tensor) -> Tensor:
        found = (weights * pattern[:, None, None]).sum(-1)  # (count, n_layers, n_heads, t)
        return (found * late[:, None, None]).sum((0, 3)) / late.sum()

    return {
        "loss": losses[known].mean(),
        "first": losses[~known].mean(),
        "previous": score((back == 1).expand(count, -1, -1)),
        "induction": score(follows),
    }


def loss_without(model: AttentionOnly, head: int, hidden: Literal["queries", "keys", "values"]) -> float:
    """Hide what a head of layer 1 wrote from one thing that layer 2 reads, and measure the loss in the later copies.

    Elhage et al. (2021) call the three ways in which layer 2 reads a head below Q-, K- and V-composition.

    Args:
        model: of two layers.
        head: of layer 1, counted from 0.
        hidden: from what its output is hidden; elsewhere it stays.

    Returns:
        Nats a token.
    """
    tokens, piece = repeated(128, torch.Generator().manual_seed(10**6))
    (first, second), (below, above) = model.layers, model.norms
    with torch.no_grad():
        x = model.embedding(tokens)
        with ablate(model, {"layers.0": [head]}):
            without = above(x + first(below(x), causal=True))
        x = x + first(below(x), causal=True)
        projection = {"queries": second.w_q, "keys": second.w_k, "values": second.w_v}[hidden]
        hook = projection.register_forward_pre_hook(lambda *_: (without,))
        try:
            logits = model.output(x + second(above(x), causal=True))
        finally:
            hook.remove()
        losses, known = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none"), later(piece)
    return losses[known].mean().item()


def later(piece: Int[Tensor, " count"]) -> Bool[Tensor, "count t_minus_1"]:
    """Tell which next tokens can be told: those in the later copies, but for the first of the second copy.

    Args:
        piece: the length of each sequence's piece ``(count,)``.

    Returns:
        ``(count, 47)``.
    """
    late = torch.arange(LENGTH) >= piece[:, None]
    return late[:, 1:] & late[:, :-1]


def matched(model: AttentionOnly, head: int) -> Float[Tensor, "circuits n_heads"]:
    """Read from the parameters alone which tokens the heads of layer 2 look for and which they write.

    The circuit of queries and keys scores the key of what a head of layer 1 writes about each token, against the query
    of each token, as if both stood at one position; that of values and output gives the logits that a head of layer 2
    adds where it attends to a token. Elhage et al. (2021), on the QK and OV circuits.

    Args:
        model: of two layers.
        head: of layer 1, counted from 0.

    Returns:
        ``(2, n_heads)``: the share of tokens for which the largest score belongs to the token itself, and for which the
        largest logit does.
    """
    (first, second), (below, above) = model.layers, model.norms
    with torch.no_grad():
        low, high = below(model.embedding.weight), above(model.embedding.weight)  # (vocab, width)
        value, out = _by_head(first.w_v.weight, 0)[head], _by_head(first.w_o.weight, 1)[:, head]
        stored = low @ value.T @ out.T
        query = torch.einsum("tm,hkm->htk", high, _by_head(second.w_q.weight, 0))
        key = torch.einsum("tm,hkm->htk", stored, _by_head(second.w_k.weight, 0))
        values = torch.einsum("tm,hkm->htk", high, _by_head(second.w_v.weight, 0))
        written = torch.einsum("htk,mhk->htm", values, _by_head(second.w_o.weight, 1)) @ model.output.weight.T
        found = torch.stack([(query @ key.mT), written]).argmax(-1)  # (2, n_heads, vocab)
        return (found == torch.arange(VOCAB)).float().mean(-1)


def loss_by_layer(model: AttentionOnly) -> list[float]:
    """Apply the output layer to the residual stream before layer 1, after it, and so on: the logit lens.

    Args:
        model: of any number of layers.

    Returns:
        For each, the mean loss in the later copies, in nats.
    """
    tokens, piece = repeated(128, torch.Generator().manual_seed(10**6))
    found = []
    with torch.no_grad():
        x = model.embedding(tokens)
        for norm, layer in [*zip(model.norms, model.layers, strict=True), (None, None)]:
            losses = F.cross_entropy(model.output(x)[:, :-1].mT, tokens[:, 1:], reduction="none")
            found.append(losses[later(piece)].mean().item())
            x = x if layer is None else x + layer(norm(x), causal=True)
    return found


def _by_head(weight: Tensor, dim: int) -> Tensor:
    return weight.unflatten(dim, (HEADS, -1))


@cache
def run(n_layers: int, seed: int) -> tuple[AttentionOnly, dict[int, dict[str, Tensor]]]:
    """Train a model and measure it at the steps of ``NOTED``.

    Args:
        n_layers: of attention.
        seed: of the initial parameters and of the sequences.

    Returns:
        The model in the end, and what :func:`measure` gives, by step.
    """
    model, generator = AttentionOnly(n_layers, seed), torch.Generator().manual_seed(seed)
    adam, noted = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True), {0: measure(model)}
    for step in range(1, STEPS + 1):
        train_step(model, adam, generator)
        if step in NOTED:
            noted[step] = measure(model)
    return model, noted
