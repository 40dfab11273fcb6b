"""Attention among keys that a hash puts near the query: Kitaev et al. (2020), section 2.

Chapter: book/efficient-attention.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from companion.checks import check_sizes


def lsh_buckets(
    x: Float[Tensor, "t d_k"], n_buckets: int, rounds: int, generator: torch.Generator
) -> Int[Tensor, "rounds t"]:
    r"""Hash vectors so that those at a small angle often share a bucket, in several independent rounds.

    .. math:: h(x) = \operatorname{argmax}\,[xR; -xR], \qquad R_{ij} \sim \mathcal N(0, 1)

    With two buckets, vectors at the angle :math:`\theta` share one with probability :math:`1 - \theta / \pi`.

    Args:
        x: ``(t, d_k)``; lengths do not matter.
        n_buckets: an even number.
        rounds: number of hashes.
        generator: of the directions :math:`R`, ``d_k`` by ``n_buckets / 2`` for each round.

    Returns:
        ``(rounds, t)``, from 0 to ``n_buckets - 1``.

    Raises:
        ValueError: a size is below 1, or the number of buckets is odd.
    """
    check_sizes(n_buckets=n_buckets, rounds=rounds)
    if n_buckets % 2:
        raise ValueError(f"half of the buckets are opposite the other half: got n_buckets={n_buckets}. Make it even.")
    directions = torch.randn(rounds, x.shape[-1], n_buckets // 2, generator=generator, dtype=torch.float64)
    turned = x @ directions.to(x)  # (rounds, t, n_buckets / 2)
    return torch.cat([turned, -turned], dim=-1).argmax(dim=-1)


def lsh_attention(
    query_key: Float[Tensor, "t d_k"],
    value: Float[Tensor, "t d_v"],
    buckets: Int[Tensor, "rounds t"],
    chunk: int,
    *,
    causal: bool = False,
) -> Float[Tensor, "t d_v"]:
    r"""Sort the positions by bucket, and let each look at its chunk of the sorted positions and the chunk before.

    Queries serve as keys, which are scaled to length 1 in place of the division by the root of the width. A position
    sees itself only where it sees nothing else. Rounds are merged by their sums of exponentials, so a key that several
    rounds find counts several times; the paper divides that out, and lets a query see its own bucket only. Here, as in
    ``transformers``, it sees all of both chunks.

    Args:
        query_key: ``(t, d_k)``, one head of one sequence.
        value: ``(t, d_v)``.
        buckets: ``(rounds, t)``, from :func:`lsh_buckets`.
        chunk: positions in a chunk; ``t`` is a multiple.
        causal: whether later positions stay hidden.

    Returns:
        ``(t, d_v)``.

    Raises:
        ValueError: the lengths do not fit together.
    """
    rounds, t = buckets.shape
    check_sizes(chunk=chunk)
    if query_key.shape[0] != t or value.shape[0] != t or t % chunk:
        raise ValueError(
            f"query_key, value and buckets have as many positions, a multiple of the chunk: got "
            f"{query_key.shape[0]}, {value.shape[0]} and {t}, and chunks of {chunk}. Pad to whole chunks."
        )
    apart = torch.arange(rounds, device=buckets.device)[:, None] * (buckets.max() + 1)  # rounds share no bucket
    order = (buckets + apart).flatten().argsort(stable=True)
    place = (order % t).unflatten(0, (-1, chunk))
    query = query_key[place]
    key, seen, key_place = (
        torch.cat([x.roll(1, dims=0), x], dim=1) for x in (F.normalize(query, dim=-1), value[place], place)
    )
    scores = query @ key.mT
    if causal:
        scores = scores.masked_fill(place[:, :, None] < key_place[:, None], -torch.inf)
    scores = scores.masked_fill(place[:, :, None] == key_place[:, None], -1e5)
    log_sum = scores.logsumexp(dim=-1, keepdim=True)
    output = (scores - log_sum).exp() @ seen
    back = order.argsort()
    output, log_sum = (x.flatten(0, 1)[back].unflatten(0, (rounds, t)) for x in (output, log_sum))
    return (log_sum.softmax(dim=0) * output).sum(dim=0)
