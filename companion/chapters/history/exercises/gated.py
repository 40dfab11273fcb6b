"""Exercises on gates: ``lstm-step`` and ``gru-step``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32 = torch.float32
Pair = tuple[Tensor, Tensor]


def _lstm_step(sums: Tensor, c: Tensor) -> Pair:
    i, f, g, o = sums.chunk(4, dim=-1)
    new = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * new.tanh(), new


def _lstm_cases() -> list[Case]:
    draw = RandomInputs(73)
    by_hand = torch.tensor([[0.0, 2.0, 1.0, 0.0]], dtype=torch.float64), torch.tensor([[3.0]], dtype=torch.float64)
    far = torch.tensor([[1e3, -1e3, 1.0, 1e3], [-1e3, 1e3, -0.5, -1e3]], dtype=torch.float64)
    return [
        Case(by_hand, "the example"),
        Case((draw.normal(1, 8), draw.normal(1, 2)), "one sequence"),
        Case((draw.normal(3, 20), draw.normal(3, 5)), "a batch"),
        Case((draw.normal(2, 12, dtype=F32), draw.normal(2, 3, dtype=F32))),
        Case((draw.normal(5, 28, scale=3.0), draw.normal(5, 7, scale=2.0)), "gates near 0 and 1"),
        Case((draw.normal(4, 12), draw.normal(4, 3, scale=1e3)), "a memory near a thousand"),
        Case((draw.normal(2, 4), draw.normal(2, 1)), "one unit"),
        Case((draw.normal(2, 16), draw.normal(2, 4)), "as many units as parts"),
        Case((far, torch.tensor([[3.0], [2.0]], dtype=torch.float64)), "sums of a thousand either way"),
    ]


LSTM_STEP = Exercise(
    name="lstm-step",
    title="Take a step of an LSTM",
    chapter="history",
    level=1,
    place=2,
    reference=_lstm_step,
    cases=_lstm_cases,
    tested="one sequence, a batch, as many units as parts, gates near 0 and 1, sums of a thousand, both dtypes",
    returns=("h", "c"),
    hints=(
        "Cut the sums into four equal parts along the last axis. Three of them are gates and one is not.",
        "A gate lies between 0 and 1, the candidate between -1 and 1. Which functions do that?",
        "The new memory is the old one times the forget gate plus the candidate times the input gate. What is shown is "
        "tanh of the new memory, times the output gate.",
    ),
    mistakes=(
        Mistake(
            "forget-first",
            Edit("i, f, g, o =", "f, i, o, g ="),
            "You took the parts in another order. Here it is i, f, g, o.",
        ),
        Mistake(
            "output-before-candidate",
            Edit("i, f, g, o =", "i, f, o, g ="),
            "You swapped the last two parts: here g comes before o.",
        ),
        Mistake(
            "no-forget",
            Edit("f.sigmoid() * c", "c"),
            "You kept the whole old memory, as in 1997. Multiply it by the forget gate.",
        ),
        Mistake(
            "bare-memory",
            Edit("new.tanh()", "new"),
            "You showed the memory as it is. It passes tanh before the output gate.",
        ),
        Mistake(
            "sigmoid-candidate", Edit("g.tanh()", "g.sigmoid()"), "Your candidate is never negative. It passes tanh."
        ),
        Mistake(
            "one-minus-forget",
            Edit("i.sigmoid()", "(1 - f.sigmoid())"),
            "You wrote with 1 - f, as a GRU does. An LSTM has an input gate of its own.",
        ),
        Mistake(
            "old-memory-shown",
            Edit("new.tanh()", "c.tanh()"),
            "Your state shows the old memory. It comes from the new one.",
        ),
        Mistake(
            "forget-and-input-swapped",
            Edit("f.sigmoid() * c + i.sigmoid() * g.tanh()", "i.sigmoid() * c + f.sigmoid() * g.tanh()"),
            "You swapped input and forget gate: i comes first and multiplies the candidate, f multiplies the old "
            "memory.",
        ),
    ),
)


def _gru_step(x_sums: Tensor, h_sums: Tensor, h: Tensor) -> Tensor:
    (x_r, x_z, x_n), (h_r, h_z, h_n) = x_sums.chunk(3, dim=-1), h_sums.chunk(3, dim=-1)
    r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    n = (x_n + r * h_n).tanh()
    return z * h + (1 - z) * n


def _gru_cases() -> list[Case]:
    draw = RandomInputs(74)
    by_hand = ([[0.0, 0.0, 1.0]], [[0.0, 0.0, 2.0]], [[4.0]])
    far = ([[1e3, -1e3, 0.5], [-1e3, 1e3, 0.5]], [[0.0, 0.0, 0.25], [0.0, 0.0, 0.25]], [[4.0], [3.0]])
    return [
        Case(tuple(torch.tensor(rows, dtype=torch.float64) for rows in by_hand), "the example"),
        Case((draw.normal(1, 6), draw.normal(1, 6), draw.normal(1, 2)), "one sequence"),
        Case((draw.normal(3, 15), draw.normal(3, 15), draw.normal(3, 5)), "a batch"),
        Case((draw.normal(2, 9, dtype=F32), draw.normal(2, 9, dtype=F32), draw.normal(2, 3, dtype=F32))),
        Case((draw.normal(5, 21, scale=3.0), draw.normal(5, 21, scale=3.0), draw.normal(5, 7)), "gates near 0 and 1"),
        Case((draw.normal(4, 9), draw.normal(4, 9), draw.normal(4, 3, scale=1e3)), "a state near a thousand"),
        Case((draw.normal(2, 3), draw.normal(2, 3), draw.normal(2, 1)), "one unit"),
        Case(tuple(torch.tensor(rows, dtype=torch.float64) for rows in far), "sums of a thousand either way"),
    ]


GRU_STEP = Exercise(
    name="gru-step",
    title="Take a step of a GRU",
    chapter="history",
    level=1,
    place=3,
    reference=_gru_step,
    cases=_gru_cases,
    tested="one sequence, a batch, gates near 0 and 1, sums of a thousand, both dtypes",
    hints=(
        "Cut both sums into three parts: reset, update, candidate. The first two are gates.",
        "A gate adds both of its parts before sigma. In the candidate the reset gate acts on one of its two parts.",
        "The candidate is tanh of the input's part plus r times the state's part. The update gate says how much of the "
        "old state stays; the rest is candidate.",
    ),
    mistakes=(
        Mistake(
            "swapped-update",
            Edit("z * h + (1 - z) * n", "(1 - z) * h + z * n"),
            "Your update gate lets the candidate in. Here it keeps the old state.",
        ),
        Mistake("no-reset", Edit("r * h_n", "h_n"), "You left the reset gate out of the candidate."),
        Mistake(
            "reset-all",
            Edit("x_n + r * h_n", "r * (x_n + h_n)"),
            "You reset the input's part too. The reset gate acts on the state's part.",
        ),
        Mistake("swapped-gates", Edit("r, z =", "z, r ="), "You swapped reset and update. Here the order is r, z, n."),
        Mistake(
            "reset-state", Edit("z * h ", "z * (r * h) "), "You also reset the old state that is kept. Keep z times h."
        ),
        Mistake(
            "reset-on-the-state",
            Edit("r * h_n", "r * h"),
            "You reset the state itself. The reset gate multiplies the state's part of the sum, the last third of "
            "`h_sums`.",
        ),
        Mistake(
            "sigmoid-candidate",
            Edit(".tanh()", ".sigmoid()"),
            "Your candidate is never negative. It passes tanh.",
        ),
    ),
)
