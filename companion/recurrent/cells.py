"""One step of the simple recurrent network: Elman (1990).

A step has two halves: `project` multiplies the input, which needs no state, so that a layer does it for all steps at
once; `step` joins the result to the state.

Chapter: book/history.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_sizes
from companion.recurrent.checks import check_input, check_state, draw_uniform


class ElmanCell(nn.Module):
    r"""The simple recurrent network: Elman (1990), in the notation of today.

    .. math:: h_t = \tanh(W_x x_t + W_h h_{t-1} + b)

    Elman's units lie between 0 and 1; tanh, and ReLU beside it, are what ``nn.RNN`` offers. Weights start uniform in
    ``±1 / sqrt(d_hidden)``, as there. torch keeps two biases, whose sum is ours.

    >>> cell, x, h = ElmanCell(3, 2), torch.zeros(3), torch.zeros(2)
    >>> torch.func.jacrev(lambda state: cell(x, state))(h).shape  # dh_t / dh_{t-1}: row = new, column = old
    torch.Size([2, 2])

    Args:
        d_in: width of the input.
        d_hidden: width of the state.
        activation: the nonlinearity.

    Raises:
        ValueError: a width is below 1, or the activation is unknown.
    """

    def __init__(self, d_in: int, d_hidden: int, *, activation: Literal["tanh", "relu"] = "tanh") -> None:
        super().__init__()
        check_sizes(d_in=d_in, d_hidden=d_hidden)
        if activation not in ("tanh", "relu"):
            raise ValueError(f"activation is 'tanh' or 'relu': got {activation!r}. Use one of the two.")
        self.d_in, self.d_hidden, self.activation = d_in, d_hidden, activation
        self.w_x = nn.Linear(d_in, d_hidden)
        self.w_h = nn.Linear(d_hidden, d_hidden, bias=False)
        draw_uniform(self, d_hidden**-0.5)

    def project(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_hidden"]:
        """Multiply the input, of one step or of all, by its weights: the half of the step that needs no state."""
        check_input(x, self.d_in)
        return self.w_x(x)

    def zeros(self, projected: Float[Tensor, "*batch d_hidden"]) -> Float[Tensor, "*batch d_hidden"]:
        """Make the state before the first step, all zero, to fit a projected input."""
        return torch.zeros_like(projected)

    def step(
        self, projected: Float[Tensor, "*batch d_hidden"], state: Float[Tensor, "*batch d_hidden"]
    ) -> Float[Tensor, "*batch d_hidden"]:
        """Join a projected input to the state.

        Args:
            projected: what :meth:`project` gave for this step.
            state: ``h`` of the step before.

        Returns:
            ``h`` of this step.

        Raises:
            ValueError: the state does not fit the input or the cell.
        """
        check_state(projected, self.d_hidden, h=state)
        total = projected + self.w_h(state)
        return total.tanh() if self.activation == "tanh" else total.relu()

    def forward(
        self, x: Float[Tensor, "*batch d_in"], state: Float[Tensor, "*batch d_hidden"] | None = None
    ) -> Float[Tensor, "*batch d_hidden"]:
        """Take one step.

        Args:
            x: input of this step.
            state: ``h`` of the step before; ``None`` means zeros.

        Returns:
            ``h`` of this step.

        Raises:
            ValueError: input or state do not fit the cell.
        """
        projected = self.project(x)
        return self.step(projected, self.zeros(projected) if state is None else state)
