"""Exercise on a tape that is only a history: ``read-tape``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _read_tape(moves: Tensor, written: Tensor, blank: float) -> Tensor:
    cell, step = moves.cumsum(0) - moves, torch.arange(len(moves))
    visits = (cell[:, None] == cell) & (step[:, None] > step)
    last = torch.where(visits, step, -1).amax(1)
    return torch.where(last >= 0, written[last.clamp(min=0)], blank)


def _first_visit(moves: Tensor, written: Tensor, blank: float) -> Tensor:
    cell, t = (moves.cumsum(0) - moves).tolist(), len(moves)
    read = [next((written[j] for j in range(i) if cell[j] == cell[i]), written.new_tensor(blank)) for i in range(t)]
    return torch.stack(read)


def _wall(moves: Tensor, written: Tensor, blank: float) -> Tensor:
    tape, cell, read = {}, 0, []
    for move, new in zip(moves.tolist(), written, strict=True):
        read.append(tape.get(cell, written.new_tensor(blank)))
        tape[cell] = new
        cell = max(cell + move, 0)
    return torch.stack(read)


def _before(moves: Tensor, written: Tensor, blank: float) -> Tensor:
    return torch.cat([written.new_tensor([blank]), written[:-1]])


def _averaged(moves: Tensor, written: Tensor, blank: float) -> Tensor:
    cell, step = moves.cumsum(0) - moves, torch.arange(len(moves))
    visits = ((cell[:, None] == cell) & (step[:, None] > step)).to(written.dtype)
    count = visits.sum(1)
    return torch.where(count > 0, visits @ written / count.clamp(min=1), blank)


def _cases() -> list[Case]:
    draw = RandomInputs(97)

    def walk(t: int, dtype: torch.dtype, scale: float = 1.0) -> tuple[Tensor, Tensor, float]:
        written = draw.normal(t, dtype=dtype, scale=scale)
        return (draw.normal(t, dtype=F64) * 0.9).round().clamp(-1, 1).long(), written, -2.0

    there_and_back = torch.tensor([1]).repeat(200).index_fill(0, torch.arange(100, 200), -1)
    return [
        Case((torch.tensor([1, -1, 0, 0]), torch.tensor([5.0, 6.0, 7.0, 8.0]), 2.0), "the example"),
        Case((torch.tensor([1]), torch.tensor([3.0], dtype=F64), 4.0), "one step"),
        Case((torch.ones(5, dtype=torch.long), draw.normal(5, dtype=F32), 0.5), "always to the right"),
        Case((torch.tensor([-1, 1, -1, 1, -1, 1]), draw.normal(6, dtype=F64), 1.0), "to and fro"),
        Case(walk(11, F32)),
        Case(walk(30, F64, 1e3), "large numbers"),
        Case(walk(64, F64)),
        Case((torch.tensor([0, 0]), torch.tensor([0.0, 1.0]), 2.0), "a 0 that is written and no blank"),
        Case((there_and_back, draw.normal(200), 0.5), "far away, and back"),
        Case((torch.tensor([0, 0, 0]), torch.tensor([1e3, 0.0, 5.0], dtype=F64), 2.0), "a 0 that replaces 1000"),
    ]


READ_TAPE = Exercise(
    name="read-tape",
    title="Read a tape from the history of its writes",
    chapter="theory",
    level=2,
    place=1,
    minutes=20,
    same_dtype=True,
    exact_zeros=True,
    reference=_read_tape,
    cases=_cases,
    tested="one step, cells visited once and often, moves of 0, a written 0, both dtypes, large numbers",
    hints=(
        "Where is the head before each step? It starts at cell 0, and a move counts from the next step on.",
        "Compare the cells of all pairs of steps, as scores of queries and keys do. Which of the matching steps may a "
        "step look at?",
        "Of the earlier steps at the same cell the latest counts: a mask, then the largest index. Where there is none, "
        "the blank.",
    ),
    mistakes=(
        Mistake(
            "first-visit", _first_visit, "You return what was written at the first visit. Later writes replace it."
        ),
        Mistake(
            "own-step",
            Edit("step[:, None] > step", "step[:, None] >= step"),
            "A step reads before it writes: it may not look at itself.",
        ),
        Mistake(
            "after-the-move",
            Edit("moves.cumsum(0) - moves", "moves.cumsum(0)"),
            "Your head has already moved. Before step i only the earlier moves count.",
        ),
        Mistake(
            "the-future",
            Edit(" & (step[:, None] > step)", " & (step[:, None] != step)"),
            "You look at steps that come later. A causal mask hides them.",
        ),
        Mistake(
            "no-blank",
            Edit("last >= 0, written[last.clamp(min=0)], blank", "last >= 0, written[last.clamp(min=0)], 0.0"),
            "A cell that was never visited holds the blank that you were given, not 0.",
        ),
        Mistake("step-before", _before, "You return what the step before wrote. It may have been at another cell."),
        Mistake("averaged", _averaged, "You average over all visits. Hard attention takes the latest one."),
        Mistake(
            "wall-at-0",
            _wall,
            "Your head stops at cell 0. The tape goes on to the left, to negative cells.",
        ),
        Mistake(
            "last-entry-for-blank",
            Edit("torch.where(last >= 0, written[last.clamp(min=0)], blank)", "written[last]"),
            "A cell that was never visited has the index -1 in your answer, which is the last entry. It holds the "
            "blank.",
        ),
    ),
)
