"""Interactive figures on recurrent networks: a product of Jacobians, a memory cell, and an alignment.

Pascanu et al. (2013), Gers et al. (2000), Bahdanau et al. (2015). Chapter: book/history.

The browser half repeats products of two-by-two matrices and of gates; the trained networks' numbers it looks up.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from companion.explorers.base import Choice, Explorer, Numbers, Packed, Real, Switch, Title, Whole

KINDS = ("turn", "shear", "alternate")
STEPS = 40
LAGS = (5, 10, 25, 50, 100, 200, 500, 1000)
POINTS = 40  # of the curve, however long it is
SHEAR = 1.0  # entry beside the diagonal


class GradientProduct(Explorer):
    r"""Follow the norm of a product of Jacobians through the steps of a network with two units.

    .. math:: h_t = \tanh(W_t h_{t-1} + a\,x_t), \quad J_t = \operatorname{diag}(1 - h_t^2)\, W_t

    With inputs of size 0 the state stays 0 and the network is linear.

    Args:
        seed: draws the inputs.
    """

    _js = "gradient_product.js"

    draws = Packed(digits=2, fixed=True)
    kind = Choice(
        KINDS,
        "shear",
        help="a rotation; a matrix with one eigenvector; or two that take turns, each with all eigenvalues 0",
    )
    scale = Real(0.9, 0.5, 1.5, help="what the matrix is made of")
    inputs = Real(0.0, 0.0, 2.0, help="size of the inputs")
    label = Title("The gradient through 40 steps")

    def __init__(self, *, seed: int = 0, **traits: object) -> None:
        generator = torch.Generator().manual_seed(seed)
        draws = torch.randn(STEPS, 2, generator=generator, dtype=torch.float64)
        super().__init__(draws=draws, **traits)

    def weight(self, step: int) -> Float[Tensor, "2 2"]:
        """Give the matrix of a step, counted from 0."""
        s = self.scale
        rows = {
            "turn": [[0.8 * s, -0.6 * s], [0.6 * s, 0.8 * s]],
            "shear": [[s, SHEAR], [0.0, s]],
            "alternate": [[0.0, 0.0], [s, 0.0]] if step % 2 else [[0.0, s], [0.0, 0.0]],
        }
        return torch.tensor(rows[self.kind], dtype=torch.float64)

    def lines(self) -> dict[str, list[float]]:
        """Compute what the figure shows, one number for each step.

        Returns:
            ``gradient``, the norm of the product of the Jacobians so far; ``singular``, the product of the largest
            singular values of the matrices, its bound; ``eigenvalue``, the product of their spectral radii.
        """
        h, product = torch.zeros(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
        singular = eigenvalue = 1.0
        found: dict[str, list[float]] = {"gradient": [], "singular": [], "eigenvalue": []}
        for step, x in enumerate(torch.tensor(self.draws, dtype=torch.float64)):
            weight = self.weight(step)
            h = (weight @ h + self.inputs * x).tanh()
            product = (1 - h**2)[:, None] * weight @ product
            singular *= torch.linalg.matrix_norm(weight, 2).item()
            eigenvalue *= torch.linalg.eigvals(weight).abs().max().item()
            found["gradient"].append(torch.linalg.matrix_norm(product, 2).item())
            found["singular"].append(singular)
            found["eigenvalue"].append(eigenvalue)
        return found

    def _about(self) -> str:
        return f"{len(self.draws)} steps"


class MemoryCell(Explorer):
    r"""Show what is left in a memory cell after some steps: the product of its forget gates.

    .. math:: \prod_{t=1}^{n} \sigma(b + s\,\varepsilon_t)

    The draws repeat after 50 steps.

    Args:
        seed: draws the differences between the steps.
    """

    _js = "memory_cell.js"

    draws = Packed(digits=2, fixed=True)
    bias = Real(0.0, -2.0, 10.0, help="bias of the forget gate")
    lag = Choice(LAGS, 25, help="number of steps")
    spread = Real(0.0, 0.0, 5.0, help="how much the sum before the gate differs from step to step")
    label = Title("What is left in the memory")

    def __init__(self, *, seed: int = 0, **traits: object) -> None:
        draws = torch.randn(50, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        super().__init__(draws=draws, **traits)

    def gates(self) -> Float[Tensor, " lag"]:
        """Give the forget gate of each step."""
        draws = torch.tensor(self.draws, dtype=torch.float64)
        repeated = draws.repeat(-(-self.lag // len(draws)))[: self.lag]
        return (self.bias + self.spread * repeated).sigmoid()

    def left(self) -> list[float]:
        """Compute the share that is left after each step."""
        return self.gates().cumprod(dim=0).tolist()

    def half_life(self) -> float:
        """Give the steps after which half is left, if each gate is that of the bias alone."""
        return math.log(2) / math.log1p(math.exp(-self.bias))

    def _about(self) -> str:
        return f"{len(self.draws)} draws"


class AlignmentView(Explorer):
    """Set the answers of a network with a fixed vector beside those of one with attention, and show where that looks.

    The task is to reverse a row: target symbol ``i`` of ``n`` is source symbol ``n - 1 - i``.

    Args:
        examples: for each a mapping of ``source`` (symbols), ``fixed`` and ``attention`` (what the two networks
            wrote), and ``weights`` ``(n, n)``: row ``i`` is where the second looks to write target symbol ``i``.
        accuracy: for each example the shares of all test rows of its length that the two networks get right.

    Raises:
        ValueError: no examples, or weights or shares that do not fit them.
    """

    _js = "alignment_view.js"

    examples = Numbers(words=True, fixed=True)
    weights = Packed(digits=2, fixed=True)
    accuracy = Numbers(digits=3, fixed=True)
    example = Whole(0, 0, lambda self: len(self.examples) - 1, help="which example is shown")
    outline = Switch(True, help="whether the place of each symbol is outlined")
    label = Title("Two networks reverse a row")

    def __init__(
        self,
        examples: Sequence[Mapping[str, Any]],
        accuracy: Sequence[Sequence[float]],
        **traits: object,
    ) -> None:
        if not examples or len(accuracy) != len(examples):
            raise ValueError(
                f"each example has two shares: got {len(examples)} examples and {len(accuracy)} pairs of shares. "
                "Pass as many, and at least one."
            )
        tables = [torch.as_tensor(given["weights"], dtype=torch.float64) for given in examples]
        for given, table in zip(examples, tables, strict=True):
            n = len(given["source"])
            sums = table.sum(dim=-1) if table.shape == (n, n) else torch.zeros(1)
            if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
                raise ValueError(
                    f"the weights of a row of {n} are {n} distributions over {n} symbols: got {tuple(table.shape)}. "
                    "Leave the end mark out."
                )
        super().__init__(
            examples=[{name: list(given[name]) for name in ("source", "fixed", "attention")} for given in examples],
            weights=[table.tolist() for table in tables],
            accuracy=[list(shares) for shares in accuracy],
            **traits,
        )

    def errors(self) -> tuple[int, int]:
        """Count the wrong places in the two answers that are shown; a missing or spare symbol is a wrong place."""
        given = self.examples[self.example]
        target = given["source"][::-1]
        found = []
        for name in ("fixed", "attention"):
            wrote = given[name]
            same = sum(a == b for a, b in zip(wrote, target, strict=False))
            found.append(max(len(wrote), len(target)) - same)
        return found[0], found[1]

    def _about(self) -> str:
        return f"{len(self.examples)} rows"
