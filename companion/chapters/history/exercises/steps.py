"""Exercises on reading a sequence: ``rnn-steps`` and ``reverse-padded``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32 = torch.float32


def _rnn_steps(x: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    h, states = torch.zeros_like(b), []
    for row in x:
        h = (w_x @ row + w_h @ h + b).tanh()
        states.append(h)
    return torch.stack(states)


def _steps_cases() -> list[Case]:
    draw = RandomInputs(71)

    def case(t: int, d_in: int, d: int, note: str = "", dtype: torch.dtype = torch.float64, scale: float = 1.0) -> Case:
        shapes = ((t, d_in), (d, d_in), (d, d), (d,))
        return Case(tuple(draw.normal(*shape, dtype=dtype, scale=scale) for shape in shapes), note)

    by_hand = tuple(torch.tensor(rows, dtype=torch.float64) for rows in ([[0.0], [1.0]], [[1.0]], [[2.0]], [0.5]))
    return [
        Case(by_hand, "the example"),
        case(1, 2, 3, "one step"),
        case(2, 3, 2),
        case(5, 3, 7, "widths that differ"),
        case(11, 2, 5, dtype=F32, scale=0.5),
        case(30, 4, 6, "thirty steps", scale=0.3),
        case(3, 2, 4, "numbers near a thousand", scale=1e3),
        case(2, 3, 3, "inputs as wide as the state"),
    ]


RNN_STEPS = Exercise(
    name="rnn-steps",
    title="Run a recurrent network",
    chapter="history",
    level=1,
    place=1,
    same_dtype=True,
    reference=_rnn_steps,
    cases=_steps_cases,
    tested="one step, thirty steps, widths that differ and that do not, both dtypes",
    hints=(
        "What does a step need that the step before has made? Where does the first step get it?",
        "Keep one vector, replace it at each step, and collect the vectors.",
        "A row of x is a vector: multiply it by w_x from the left. Start with zeros, and stack the states.",
    ),
    mistakes=(
        Mistake(
            "no-carry",
            Edit("w_x @ row + w_h @ h + b", "w_x @ row + b"),
            "Each of your states comes from its input alone. Add w_h times the state before.",
        ),
        Mistake("transposed", Edit("w_h @ h", "w_h.T @ h"), "You multiplied the state by w_h from the wrong side."),
        Mistake(
            "last-only",
            Edit("torch.stack(states)", "h"),
            "You returned the last state. Return the states of all steps.",
        ),
        Mistake(
            "state-outside",
            Edit("(w_x @ row + w_h @ h + b).tanh()", "(w_x @ row + b).tanh() + w_h @ h"),
            "You added the old state after tanh. Both products are summed before it, so that states stay within 1.",
        ),
        Mistake("no-tanh", Edit(".tanh()", ""), "You left tanh out: your states may leave the range from -1 to 1."),
        Mistake(
            "before-the-step",
            Edit("torch.stack(states)", "torch.stack([torch.zeros_like(b), *states[:-1]])"),
            "You collected each state before its step, so that the first is zero and the last is missing. Step "
            "first, then append.",
        ),
        Mistake(
            "bias-outside",
            Edit(" + b).tanh()", ").tanh() + b"),
            "You added the bias after tanh. It belongs to the sum inside, so that states stay within 1.",
        ),
    ),
)


def _reverse_padded(x: Tensor, lengths: Tensor) -> Tensor:
    result = x.clone()
    for row, n in enumerate(lengths.tolist()):
        result[row, :n] = x[row, :n].flip(0)
    return result


def _padded_cases() -> list[Case]:
    draw = RandomInputs(72)
    rows = torch.tensor([[[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]], dtype=torch.float64)
    return [
        Case((rows, torch.tensor([2])), "the example"),
        Case((draw.normal(1, 3, 2), torch.tensor([1])), "one real token"),
        Case((draw.normal(2, 4, 3), torch.tensor([2, 3])), "padding in every row"),
        Case((draw.normal(3, 5, 2, dtype=F32), torch.tensor([5, 2, 4])), "one full row"),
        Case((draw.normal(5, 7, 3), torch.tensor([3, 7, 1, 6, 2])), "five lengths"),
        Case((draw.normal(2, 6, 4), torch.tensor([6, 6])), "no padding"),
        Case((draw.normal(3, 4, 2, scale=1e3), torch.tensor([3, 1, 4])), "numbers near a thousand"),
        Case((draw.normal(2, 3, 2, dtype=F32), torch.tensor([0, 3])), "no real token"),
        Case((draw.normal(2, 3, 3), torch.tensor([2, 3])), "as many positions as features"),
        Case((torch.tensor([[[0.0, 0.0], [5.0, 6.0], [7.0, 8.0]]], dtype=F32), torch.tensor([2])), "a token of zeros"),
    ]


REVERSE_PADDED = Exercise(
    name="reverse-padded",
    title="Turn padded sequences round",
    chapter="history",
    level=2,
    place=4,
    reference=_reverse_padded,
    cases=_padded_cases,
    tested="no and one real token, one full row, padding in every row, no padding, as many positions as features, a "
    "token of zeros, both dtypes",
    hints=(
        "Look at the example: which rows change places, and which stays?",
        "Each sequence of the batch has its own number of real tokens. Only these are turned round.",
        "Copy x. For each sequence replace its first n rows by the same rows, flipped.",
    ),
    mistakes=(
        Mistake(
            "whole",
            lambda x, lengths: x.flip(1),
            "You turned the padding round too, so that a backward reader would begin with it.",
        ),
        Mistake(
            "zeroed",
            Edit("x.clone()", "torch.zeros_like(x)"),
            "The order is right, but you changed the padding. Leave it as it is.",
        ),
        Mistake(
            "to-the-end",
            Edit("result[row, :n] = x[row, :n].flip(0)", "result[row] = torch.cat([x[row, n:], x[row, :n].flip(0)])"),
            "You put the padding in front. It stays after the real tokens.",
        ),
        Mistake("features", Edit("flip(0)", "flip(0, 1)"), "You also turned the features of each token round."),
        Mistake(
            "longest",
            Edit("enumerate(lengths.tolist())", "enumerate([int(lengths.max())] * len(x))"),
            "You used one length for all sequences. Each has its own.",
        ),
        Mistake(
            "padding-filled",
            Edit(
                "result[row, :n] = x[row, :n].flip(0)",
                "result[row] = x[row, (n - 1 - torch.arange(x.shape[1])).clamp(min=0)]",
            ),
            "Where the padding stands you wrote the first token again: an index below 0 was cut off at 0. After the "
            "real tokens each position keeps its own.",
        ),
        Mistake(
            "index-of-the-end",
            Edit("x[row, :n].flip(0)", "x[row, [(n - i) % x.shape[1] for i in range(n)]]"),
            "You counted back from n. The last of n tokens is number n - 1, so token i comes from n - 1 - i.",
        ),
    ),
)
