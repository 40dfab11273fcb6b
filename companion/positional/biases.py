"""A number for each head and distance: T5 (Raffel et al. (2020), section 2.1) and ALiBi (Press et al. (2022)).

Distances are query minus key, as in :mod:`companion.positional.relative`.

Chapter: book/positional-encoding.
"""

import math
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.checks import check_sizes
from companion.positional.relative import check_scheme, spread
from companion.positional.table import GrowingTable


def t5_bucket(
    distance: Int[Tensor, "*shape"], *, buckets: int = 32, max_distance: int = 128, causal: bool = False
) -> Int[Tensor, "*shape"]:
    r"""Return the bucket of each distance: Raffel et al. (2020), section 2.1.

    With n buckets and the largest distance m, the first :math:`e = \lfloor n / 2 \rfloor` buckets hold one distance
    each, and the others grow logarithmically; from m on, all distances share the last:

    .. math:: b(\delta) = \delta \text{ if } \delta < e, \text{ else }
        \min\left(n - 1, e + \left\lfloor \frac{\ln(\delta / e)}{\ln(m / e)} (n - e) \right\rfloor\right)

    Not causal, each direction has half of the buckets: the past the first half, the future the second.

    Args:
        distance: query minus key. (T5's own code counts key minus query.)
        buckets: number of buckets; even unless ``causal``.
        max_distance: from here on there is one bucket.
        causal: whether later keys stay hidden; they then fall into bucket 0.

    Returns:
        Numbers from 0 to ``buckets - 1``, of the shape of ``distance``.

    Raises:
        ValueError: too few buckets, an odd number of them for two directions, or a ``max_distance`` that the buckets
            of one distance each reach.

    >>> t5_bucket(torch.tensor([0, 1, 7, 8, 40, 1000, -1])).tolist()
    [0, 1, 7, 8, 12, 15, 17]
    """
    exact = _exact_buckets(buckets, max_distance, causal)
    number = buckets if causal else buckets // 2
    away = distance.clamp(min=0) if causal else distance.abs()
    # float32 as in T5's code: where an edge between two buckets is a whole number, rounding decides, as it did there
    ratio = away.clamp(min=1).float() / exact
    far = exact + (ratio.log() / math.log(max_distance / exact) * (number - exact)).long()
    bucket = torch.where(away < exact, away, far.clamp(max=number - 1))
    return bucket if causal else bucket + number * (distance < 0)


class T5Bias(nn.Module):
    """A learned number for each head and bucket of distances: Raffel et al. (2020), section 2.1.

    T5 uses one table for all layers of a stack: give them one module. T5 does not divide its scores by ``sqrt(d_k)``;
    here they are divided, as everywhere in this package.

    ``weight`` is ``(buckets, n_heads)``, drawn from N(0, 1) as by ``nn.Embedding``.

    Args:
        n_heads: number of query heads.
        buckets: number of buckets; even unless ``causal``.
        max_distance: from here on there is one bucket.
        causal: whether later keys stay hidden, so that the past has all the buckets.
    """

    def __init__(self, n_heads: int, *, buckets: int = 32, max_distance: int = 128, causal: bool) -> None:
        super().__init__()
        check_sizes(n_heads=n_heads)
        self.n_heads = n_heads
        self._buckets = GrowingTable(partial(t5_bucket, buckets=buckets, max_distance=max_distance, causal=causal))
        self.weight = nn.Parameter(torch.randn(buckets, n_heads))

    def embed(self, x: Float[Tensor, "batch heads t d_k"], start: int) -> Float[Tensor, "batch heads t d_k"]:
        """Return queries or keys as they are: this scheme changes the scores only.

        Args:
            x: queries or keys.
            start: the position of the first.

        Returns:
            ``x``.
        """
        return x

    def bias(
        self, query: Float[Tensor, "batch n_heads t_q d_k"], key: Float[Tensor, "batch n_kv_heads t_k d_k"]
    ) -> Float[Tensor, "1 n_heads t_q t_k"]:
        """Return each head's number for the bucket of each distance.

        Args:
            query: the last ``t_q`` positions.
            key: all ``t_k`` positions; query heads may share key heads.

        Returns:
            ``(1, n_heads, t_q, t_k)``, to be added to the scaled scores.

        Raises:
            ValueError: not ``n_heads`` query heads, key heads that they cannot share evenly, no query, or fewer keys
                than queries.
        """
        t_q, t_k = check_scheme(query, key, self.n_heads)
        buckets = self._buckets.rows(1 - t_q, t_k - 1, dtype=torch.long, device=self.weight.device).flip(0)
        return spread(self.weight[buckets].to(query.dtype).mT, t_q)[None]


def alibi_slopes(n_heads: int) -> Float[Tensor, " n_heads"]:
    r"""Return the slope of each head: Press et al. (2022), section 3.

    For a power of two, n heads have the geometric progression :math:`m_h = 2^{-8h/n}`, :math:`h = 1, \dots, n`. For
    other numbers: the slopes of the power of two below, followed by every second slope of the power above, the first
    included, as in the authors' code.

    Args:
        n_heads: number of heads, at least 1.

    Returns:
        ``(n_heads,)`` in float64 on the CPU.

    >>> alibi_slopes(8).log2().tolist()
    [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]
    """
    check_sizes(n_heads=n_heads)
    below = 1 << (n_heads.bit_length() - 1)
    exponents = [8 * h / below for h in range(1, below + 1)]
    exponents += [8 * h / (2 * below) for h in range(1, 2 * below, 2)]
    return 2.0 ** -torch.tensor(exponents[:n_heads], dtype=torch.float64, device="cpu")


class ALiBi(nn.Module):
    r"""Attention with linear biases: Press et al. (2022), section 3.

    .. math:: b_{hij} = -m_h |i - j|

    The paper is about causal models, where no distance is negative; the absolute value serves an encoder.

    Args:
        n_heads: number of query heads.
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self._biases = GrowingTable(partial(_linear_biases, slopes=alibi_slopes(n_heads)))

    def embed(self, x: Float[Tensor, "batch heads t d_k"], start: int) -> Float[Tensor, "batch heads t d_k"]:
        """Return queries or keys as they are: this scheme changes the scores only.

        Args:
            x: queries or keys.
            start: the position of the first.

        Returns:
            ``x``.
        """
        return x

    def bias(
        self, query: Float[Tensor, "batch n_heads t_q d_k"], key: Float[Tensor, "batch n_kv_heads t_k d_k"]
    ) -> Float[Tensor, "1 n_heads t_q t_k"]:
        """Return minus the slope of each head times each distance.

        Args:
            query: the last ``t_q`` positions.
            key: all ``t_k`` positions; query heads may share key heads.

        Returns:
            ``(1, n_heads, t_q, t_k)``, to be added to the scaled scores.

        Raises:
            ValueError: not ``n_heads`` query heads, key heads that they cannot share evenly, no query, or fewer keys
                than queries.
        """
        t_q, t_k = check_scheme(query, key, self.n_heads)
        by_distance = self._biases.rows(1 - t_q, t_k - 1, dtype=query.dtype, device=query.device).flip(0)
        return spread(by_distance.mT, t_q)[None]


def _linear_biases(distance: Int[Tensor, " n"], slopes: Float[Tensor, " n_heads"]) -> Float[Tensor, "n n_heads"]:
    return -distance.abs()[:, None] * slopes


def _exact_buckets(buckets: int, max_distance: int, causal: bool) -> int:
    """Return how many buckets hold one distance each in one direction."""
    if not causal and buckets % 2:
        raise ValueError(f"two directions share the buckets equally: got buckets={buckets}. Use {buckets + 1}.")
    least = 2 if causal else 4
    if buckets < least:
        raise ValueError(f"there are at least {least} buckets: got buckets={buckets}. Use buckets >= {least}.")
    exact = buckets // least
    if max_distance <= exact:
        raise ValueError(
            f"{buckets} buckets hold one distance each up to {exact}, so max_distance lies beyond: got "
            f"max_distance={max_distance}. Use max_distance > {exact}, or fewer buckets."
        )
    return exact
