"""One step of a gated network: LSTM, Hochreiter & Schmidhuber (1997), Gers et al. (2000); GRU, Cho et al. (2014).

The gates of a cell share one matrix for the input and one for the state, their rows in torch's order.

Chapter: book/history.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_sizes
from companion.recurrent.checks import check_input, check_state, draw_uniform

HiddenAndMemory = tuple[Float[Tensor, "*batch d_hidden"], Float[Tensor, "*batch d_hidden"]]


class LSTMGates(NamedTuple):
    """Activations inside one step of an LSTM, each ``(*batch, d_hidden)``."""

    input: Float[Tensor, "*batch d_hidden"]  # i, in (0, 1)
    forget: Float[Tensor, "*batch d_hidden"]  # f, in (0, 1); exactly 1 in the cell of 1997
    candidate: Float[Tensor, "*batch d_hidden"]  # g, in (-1, 1)
    output: Float[Tensor, "*batch d_hidden"]  # o, in (0, 1)


class GRUGates(NamedTuple):
    """Activations inside one step of a GRU, each ``(*batch, d_hidden)``."""

    reset: Float[Tensor, "*batch d_hidden"]  # r, in (0, 1)
    update: Float[Tensor, "*batch d_hidden"]  # z, in (0, 1): the share of the old state
    candidate: Float[Tensor, "*batch d_hidden"]  # n, in (-1, 1)


class LSTMCell(nn.Module):
    r"""Long short-term memory: Hochreiter & Schmidhuber (1997), and with the forget gate of Gers et al. (2000).

    .. math::
        i, f, o = \sigma(W_x x_t + W_h h_{t-1} + b) \quad g = \tanh(W_x x_t + W_h h_{t-1} + b) \\
        c_t = f \odot c_{t-1} + i \odot g \quad h_t = o \odot \tanh(c_t)

    Without the forget gate :math:`f = 1`. Along the memory alone, with ``h`` detached between the steps, the derivative
    of :math:`c_n` by :math:`c_0` is then exactly 1 (the constant error carousel), and with the gate it is the product
    of all :math:`f`. The paper of 1997 squashes by scaled logistic functions and cuts the gradient at the gates; this
    cell uses tanh and the whole gradient, as ``nn.LSTM`` does.

    >>> cell = LSTMCell(3, 2, forget_gate=False)
    >>> cell.gates(torch.zeros(3), (torch.zeros(2), torch.zeros(2))).forget
    tensor([1., 1.])

    Args:
        d_in: width of the input.
        d_hidden: width of ``h`` and of ``c``.
        forget_gate: ``False`` gives the cell of 1997.
        forget_bias: where the bias of the forget gate starts; ``None`` draws it like the rest, uniform in
            ``±1 / sqrt(d_hidden)``. Gers et al. start it positive, so that the cell first learns to keep.

    Raises:
        ValueError: a width is below 1, or there is a bias for a forget gate that is not there.
    """

    def __init__(
        self, d_in: int, d_hidden: int, *, forget_gate: bool = True, forget_bias: float | int | None = None
    ) -> None:
        super().__init__()
        check_sizes(d_in=d_in, d_hidden=d_hidden)
        if forget_bias is not None and not forget_gate:
            raise ValueError(f"a forget_bias needs a forget gate: got forget_bias={forget_bias}. Leave it out.")
        self.d_in, self.d_hidden, self.forget_gate = d_in, d_hidden, forget_gate
        n_gates = 4 if forget_gate else 3
        self.w_x = nn.Linear(d_in, n_gates * d_hidden)  # rows: i, f, g, o
        self.w_h = nn.Linear(d_hidden, n_gates * d_hidden, bias=False)
        draw_uniform(self, d_hidden**-0.5)
        if forget_bias is not None:
            nn.init.constant_(self.w_x.bias[d_hidden : 2 * d_hidden], forget_bias)

    def project(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_gates"]:
        """Multiply the input, of one step or of all, by its weights: the half of the step that needs no state."""
        check_input(x, self.d_in)
        return self.w_x(x)

    def zeros(self, projected: Float[Tensor, "*batch d_gates"]) -> HiddenAndMemory:
        """Make the state before the first step, all zero, to fit a projected input."""
        h = projected.new_zeros(*projected.shape[:-1], self.d_hidden)
        return h, h.clone()

    def gates(self, x: Float[Tensor, "*batch d_in"], state: HiddenAndMemory) -> LSTMGates:
        """Compute the activations that a step from this state uses.

        Args:
            x: input of this step.
            state: ``(h, c)`` of the step before; ``c`` has no influence.

        Returns:
            ``input``, ``forget``, ``candidate`` and ``output``.

        Raises:
            ValueError: input or state do not fit the cell.
        """
        return self._gates(self.project(x), state)

    def _gates(self, projected: Tensor, state: HiddenAndMemory) -> LSTMGates:
        if isinstance(state, Tensor):
            raise ValueError(f"the state of an LSTM is a pair (h, c): got one tensor {tuple(state.shape)}. Give both.")
        h, c = state
        check_state(projected, self.d_hidden, h=h, c=c)
        total = projected + self.w_h(h)
        if self.forget_gate:
            i, f, g, o = total.chunk(4, dim=-1)
            return LSTMGates(i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid())
        i, g, o = total.chunk(3, dim=-1)
        return LSTMGates(i.sigmoid(), torch.ones_like(c), g.tanh(), o.sigmoid())

    def step(self, projected: Float[Tensor, "*batch d_gates"], state: HiddenAndMemory) -> HiddenAndMemory:
        """Join a projected input to the state.

        Args:
            projected: what :meth:`project` gave for this step.
            state: ``(h, c)`` of the step before.

        Returns:
            ``(h, c)`` of this step.

        Raises:
            ValueError: the state does not fit the input or the cell.
        """
        gates = self._gates(projected, state)
        c = gates.forget * state[1] + gates.input * gates.candidate
        return gates.output * c.tanh(), c

    def forward(self, x: Float[Tensor, "*batch d_in"], state: HiddenAndMemory | None = None) -> HiddenAndMemory:
        """Take one step.

        Args:
            x: input of this step.
            state: ``(h, c)`` of the step before; ``None`` means zeros.

        Returns:
            ``(h, c)`` of this step.

        Raises:
            ValueError: input or state do not fit the cell.
        """
        projected = self.project(x)
        return self.step(projected, self.zeros(projected) if state is None else state)


class GRUCell(nn.Module):
    r"""Gated recurrent unit: Cho et al. (2014), in both of the forms that the paper was published in.

    .. math::
        r, z = \sigma(W_x x_t + W_h h_{t-1} + b) \quad h_t = z \odot h_{t-1} + (1 - z) \odot n \\
        n = \tanh(W_x x_t + r \odot (W_h h_{t-1} + b_h) + b) \quad \text{(reset after the product)} \\
        n = \tanh(W_x x_t + W_h (r \odot h_{t-1}) + b) \quad \text{(reset before the product)}

    The first version of the preprint, arXiv:1406.1078v1, resets after the product, and so do ``nn.GRU`` and cuDNN: all
    products with the state are then one. The published version, Eq. (8), resets before it. Some texts, Bahdanau et al.
    (2015) among them, swap :math:`z` and :math:`1 - z`.

    >>> GRUCell(3, 2).gates(torch.ones(3), torch.zeros(2)).update.shape
    torch.Size([2])

    Args:
        d_in: width of the input.
        d_hidden: width of the state.
        reset: whether the reset gate acts after the product with the state, as in torch, or before it.

    Raises:
        ValueError: a width is below 1, or the form is unknown.
    """

    def __init__(self, d_in: int, d_hidden: int, *, reset: Literal["after", "before"] = "after") -> None:
        super().__init__()
        check_sizes(d_in=d_in, d_hidden=d_hidden)
        if reset not in ("after", "before"):
            raise ValueError(f"reset is 'after' or 'before' the product: got {reset!r}. torch has 'after'.")
        self.d_in, self.d_hidden, self.reset = d_in, d_hidden, reset
        self.w_x = nn.Linear(d_in, 3 * d_hidden)  # rows: r, z, n
        self.w_h = nn.Linear(d_hidden, 3 * d_hidden, bias=False)
        self.b_h = nn.Parameter(torch.empty(d_hidden)) if reset == "after" else None
        draw_uniform(self, d_hidden**-0.5)

    def project(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_gates"]:
        """Multiply the input, of one step or of all, by its weights: the half of the step that needs no state."""
        check_input(x, self.d_in)
        return self.w_x(x)

    def zeros(self, projected: Float[Tensor, "*batch d_gates"]) -> Float[Tensor, "*batch d_hidden"]:
        """Make the state before the first step, all zero, to fit a projected input."""
        return projected.new_zeros(*projected.shape[:-1], self.d_hidden)

    def gates(self, x: Float[Tensor, "*batch d_in"], state: Float[Tensor, "*batch d_hidden"]) -> GRUGates:
        """Compute the activations that a step from this state uses.

        Args:
            x: input of this step.
            state: ``h`` of the step before.

        Returns:
            ``reset``, ``update`` and ``candidate``.

        Raises:
            ValueError: input or state do not fit the cell.
        """
        return self._gates(self.project(x), state)

    def _gates(self, projected: Tensor, h: Tensor) -> GRUGates:
        check_state(projected, self.d_hidden, h=h)
        d = self.d_hidden
        x_gates, x_candidate = projected.split([2 * d, d], dim=-1)
        if self.reset == "after":
            h_gates, h_candidate = self.w_h(h).split([2 * d, d], dim=-1)
            r, z = (x_gates + h_gates).sigmoid().chunk(2, dim=-1)
            return GRUGates(r, z, (x_candidate + r * (h_candidate + self.b_h)).tanh())
        w_gates, w_candidate = self.w_h.weight.split([2 * d, d])
        r, z = (x_gates + h @ w_gates.mT).sigmoid().chunk(2, dim=-1)
        return GRUGates(r, z, (x_candidate + (r * h) @ w_candidate.mT).tanh())

    def step(
        self, projected: Float[Tensor, "*batch d_gates"], state: Float[Tensor, "*batch d_hidden"]
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
        _, z, candidate = self._gates(projected, state)
        return z * state + (1 - z) * candidate

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
