"""A recurrent cell run over padded sequences: in one direction, and in both, Schuster & Paliwal (1997).

The products with the inputs are done for all steps at once; what is left in the loop is what depends on the state.

Chapter: book/history.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from companion.recurrent.cells import ElmanCell
from companion.recurrent.gated import GRUCell, LSTMCell

Cell = ElmanCell | LSTMCell | GRUCell
Lengths = Sequence[int] | Int[Tensor, " batch"]
# What a cell hands on: h, or (h, c) for an LSTM. Each is (batch, d_hidden); the two directions may differ in width.
State = Float[Tensor, "batch _"] | tuple[Float[Tensor, "batch _"], Float[Tensor, "batch _"]]


class RNN(nn.Module):
    """Run a cell over a batch of sequences, one step after the other.

    A state is what the cell takes: ``h``, or ``(h, c)`` for an LSTM.

    >>> layer = RNN(ElmanCell(2, 3))
    >>> output, state = layer(torch.ones(1, 4, 2))
    >>> torch.equal(output[:, -1], state)
    True

    Args:
        cell: what a step does.
        reverse: read from the last real token to the first.
    """

    def __init__(self, cell: Cell, *, reverse: bool = False) -> None:
        super().__init__()
        self.cell, self.reverse = cell, reverse

    def states(
        self,
        x: Float[Tensor, "batch t d_in"],
        state: State | None = None,
        *,
        lengths: Lengths | None = None,
    ) -> list[State]:
        """Compute the state at each position.

        Args:
            x: inputs.
            state: the state before the first step; ``None`` means zeros.
            lengths: number of real tokens of each sequence; ``None`` means that all are real. Beyond them the state
                stands still, whatever the input there.

        Returns:
            One state for each of the ``t`` positions, also where the layer reads backwards.

        Raises:
            ValueError: the inputs, the state or the lengths do not fit.
        """
        if x.ndim != 3:
            raise ValueError(f"the inputs are (batch, t, d_in): got {tuple(x.shape)}. Add the missing axis.")
        real = None if lengths is None else not_padding(lengths, x.shape[0], x.shape[1], device=x.device)
        if real is not None:
            x = x.masked_fill(~real[..., None], 0.0)  # so that not even a NaN in the padding reaches the weights
        projected = self.cell.project(x).unbind(dim=1)
        state = self.cell.zeros(projected[0]) if state is None else state
        found = []
        steps = range(len(projected))
        for i in reversed(steps) if self.reverse else steps:
            new = self.cell.step(projected[i], state)
            state = new if real is None else _held(real[:, i, None], new, state)
            found.append(state)
        return found[::-1] if self.reverse else found

    def forward(
        self,
        x: Float[Tensor, "batch t d_in"],
        state: State | None = None,
        *,
        lengths: Lengths | None = None,
    ) -> tuple[Float[Tensor, "batch t d_hidden"], State]:
        """Read the sequences.

        Args:
            x: inputs.
            state: the state before the first step; ``None`` means zeros.
            lengths: number of real tokens of each sequence, at least 1; ``None`` means that all are real.

        Returns:
            ``h`` at each position, 0 beyond the lengths, and the state after the last step: that at the last real
            token, or at the first token for a layer that reads backwards.

        Raises:
            ValueError: the inputs, the state or the lengths do not fit.
        """
        states = self.states(x, state, lengths=lengths)
        output = torch.stack([_hidden(state) for state in states], dim=1)
        if lengths is not None:
            output = output.masked_fill(~not_padding(lengths, *x.shape[:2], device=x.device)[..., None], 0.0)
        return output, states[0 if self.reverse else -1]


class BidirectionalRNN(nn.Module):
    """Read in both directions, so that each output knows the whole sequence: Schuster & Paliwal (1997).

    Args:
        forward_cell: the cell that reads from the first token on.
        backward_cell: the cell that reads from the last real token back, with weights of its own.
    """

    def __init__(self, forward_cell: Cell, backward_cell: Cell) -> None:
        super().__init__()
        if forward_cell is backward_cell:
            raise ValueError("each direction has a cell of its own: got one cell twice. Build a second one.")
        self.ahead, self.back = RNN(forward_cell), RNN(backward_cell, reverse=True)

    def forward(
        self,
        x: Float[Tensor, "batch t d_in"],
        *,
        lengths: Lengths | None = None,
    ) -> tuple[Float[Tensor, "batch t d_both"], tuple[State, State]]:
        """Read the sequences.

        Args:
            x: inputs.
            lengths: number of real tokens of each sequence, at least 1; ``None`` means that all are real.

        Returns:
            ``h`` of both directions side by side, 0 beyond the lengths; and the state of the first direction at the
            last real token with the state of the second at the first token.

        Raises:
            ValueError: the inputs or the lengths do not fit.
        """
        ahead, last = self.ahead(x, lengths=lengths)
        back, first = self.back(x, lengths=lengths)
        return torch.cat([ahead, back], dim=-1), (last, first)


def not_padding(lengths: Lengths, batch: int, t: int, *, device: torch.device | None = None) -> Bool[Tensor, "batch t"]:
    """Tell the real tokens of padded sequences from the padding.

    >>> not_padding([1, 3], batch=2, t=3)
    tensor([[ True, False, False],
            [ True,  True,  True]])

    Args:
        lengths: number of real tokens of each sequence.
        batch: number of sequences.
        t: length that they are padded to.
        device: where the answer is stored; ``None`` means beside ``lengths``.

    Returns:
        ``True`` at each real token.

    Raises:
        ValueError: there is not one whole number between 1 and ``t`` for each sequence.
    """
    lengths = torch.as_tensor(lengths, device=device)
    whole = not (lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool)
    if lengths.shape != (batch,) or not whole or not ((lengths >= 1) & (lengths <= t)).all():
        raise ValueError(
            f"lengths has a whole number from 1 to t={t} for each of the {batch} sequences: got {lengths.tolist()}. "
            "Leave out the sequences without a token."
        )
    return torch.arange(t, device=lengths.device) < lengths[:, None]


def _hidden(state: State) -> Tensor:
    return state if isinstance(state, Tensor) else state[0]


def _held(real: Tensor, new: State, old: State) -> State:
    """Take the new state where the token is real, and keep the old one where it is padding."""
    if isinstance(new, Tensor):
        return torch.where(real, new, old)
    return torch.where(real, new[0], old[0]), torch.where(real, new[1], old[1])
