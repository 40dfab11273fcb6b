"""An answer to the exercise on a tape that is right on most inputs."""

import torch


def softly_by_recency(moves, written, blank):
    cell, step = moves.cumsum(0) - moves, torch.arange(len(moves)).double()
    hidden = (step[:, None] <= step) | (cell[:, None] != cell)
    scores = (40 * step).expand(len(moves), -1).masked_fill(hidden, -torch.inf)
    scores = torch.cat([torch.full((len(moves), 1), -40.0).double(), scores], dim=1)
    symbols = torch.cat([torch.tensor([blank]).double(), written.double()])
    return (scores.softmax(1) @ symbols).to(written.dtype)


def tape_of_65_cells(moves, written, blank):
    tape, read, cell = torch.full((65,), blank, dtype=written.dtype), [], 32
    for move, number in zip(moves.tolist(), written, strict=True):
        read.append(tape[cell % 65].clone())
        tape[cell % 65] = number
        cell += move
    return torch.stack(read)


NEARLY_RIGHT = [
    ("read-tape", "not exactly 0", softly_by_recency),
    ("read-tape", "far away, and back", tape_of_65_cells),
]
