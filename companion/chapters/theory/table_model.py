"""A Transformer that is a table: any continuous function on short sequences of numbers, by construction.

Yun et al. (2020), section 4, in three stages: quantise, map contexts to numbers of their own, look up. As in Kajitsuka
& Sato (2024) the stages are wide and few: a feed-forward network, one head of softmax attention, a second network. Yun
et al. take narrow layers and many of them.

Chapter: book/theory.
"""

import itertools
import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from companion.attention import attention


def staircase(
    x: Float[Tensor, "*shape"], edges: Float[Tensor, " steps"], rises: Float[Tensor, " steps"], ramp: float
) -> Float[Tensor, "*shape"]:
    r"""Climb at each edge, by a feed-forward network with two ReLU units for each step.

    .. math:: \sum_k r_k \left[ \operatorname{ReLU}\!\left(\tfrac{x - e_k}{\rho} + 1\right)
              - \operatorname{ReLU}\!\left(\tfrac{x - e_k}{\rho}\right) \right]

    Args:
        x: where.
        edges: where a step is complete, :math:`e_k`.
        rises: how high it is, :math:`r_k`.
        ramp: how wide its slope is, :math:`\rho`, on the left of the edge.

    Returns:
        Of the shape of ``x``.
    """
    z = (x[..., None] - edges) / ramp
    return ((z + 1).relu() - z.relu()) @ rises


class TableTransformer:
    """One network, one attention head, one network, with weights set by hand so that they hold a table of a function.

    The cell of an input is a tuple of levels, one a token. A token's code is its level plus ``levels`` times its
    position, so that no two tokens of a cell have the same.
    """

    def __init__(self, function: Callable[[Tensor], Tensor], n: int, levels: int, ramp: float = 0.01) -> None:
        r"""Tabulate a function at the centres of the cells.

        Args:
            function: takes ``(cells, n)`` numbers from 0 to 1, and returns as many.
            n: tokens of a sequence, each of them one number.
            levels: into how many the interval is divided, :math:`1/\delta`.
            ramp: width of the slopes of the first network, as a share of a level.

        Raises:
            ValueError: a size is not positive, or two contexts get numbers that float64 cannot tell apart.
        """
        if n < 1 or levels < 1 or not 0 < ramp < 1:
            raise ValueError(f"n and levels must be positive, ramp between 0 and 1: got {n}, {levels} and {ramp}.")
        self.n, self.levels, self.ramp = n, levels, ramp / levels
        self.positions = levels * torch.arange(n, dtype=torch.float64)
        self.sharpness = 1 / (n * levels)
        cells = torch.tensor(list(itertools.product(range(levels), repeat=n)), dtype=torch.float64)  # (levels^n, n)
        ids, order = self.mapping(cells + self.positions).flatten().sort()
        values = function((cells + 0.5) / levels).double().flatten()[order]
        self.distance = float(ids.diff().min()) if len(ids) > 1 else math.inf
        if self.distance < 1e-8:
            raise ValueError(
                f"two contexts are {self.distance:.0e} apart, too near for float64: take fewer than {levels} levels or "
                f"{n} tokens."
            )
        self.first, self.edges, self.rises = values[0], (ids[1:] + ids[:-1]) / 2, values.diff()

    @property
    def entries(self) -> int:
        """Count the entries of the table: a value for each token of each cell."""
        return self.n * self.levels**self.n

    def quantise(self, x: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
        """Give each token its code, by a network with two units for each edge between levels."""
        edges = torch.arange(1, self.levels, dtype=torch.float64) / self.levels
        return staircase(x, edges, torch.ones_like(edges), self.ramp) + self.positions

    def mapping(self, codes: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
        """Add to each code a number that tells the whole context: a mean of all codes, weighted by a softmax.

        The score of a key is its code, whatever asks, so that the mean is the same for every token. It is smaller than
        ``n * levels``, the factor that keeps the tokens apart.
        """
        keys = codes[..., None]
        mean = attention(torch.ones_like(keys), keys, keys, scale=self.sharpness)[..., 0]
        return codes * (self.n * self.levels) + mean

    def __call__(self, x: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
        """Compute the function, nearly.

        Args:
            x: numbers from 0 to 1.

        Returns:
            For each token the value at the centre of its cell; on the slopes of the first network, something else.
        """
        ids = self.mapping(self.quantise(x))
        return self.first + staircase(ids, self.edges, self.rises, self.distance / 4)


def blocks(n: int, d: int, levels: int, *, positions: bool) -> float:
    r"""Say how many blocks the construction of Yun et al. (2020) takes, up to a constant factor, as a power of ten.

    .. math:: n\,(1/\delta)^{dn} \text{ with positions}, \qquad n\,(1/\delta)^{dn} / n! \text{ without}

    Args:
        n: tokens.
        d: numbers a token.
        levels: :math:`1/\delta`.
        positions: whether the model has positions.

    Returns:
        The logarithm to base 10.
    """
    return math.log10(n) + d * n * math.log10(levels) - (0 if positions else math.lgamma(n + 1) / math.log(10))
