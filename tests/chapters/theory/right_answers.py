"""Right answers to the exercises on what can be computed, written in other ways than the references."""

import torch


def tape_as_a_dictionary(moves, written, blank):
    tape, head, read = {}, 0, []
    for move, symbol in zip(moves.tolist(), written, strict=True):
        read.append(tape.get(head, written.new_tensor(blank)))
        tape[head] = symbol
        head += move
    return torch.stack(read)


def tape_by_hard_attention(moves, written, blank):
    cell = (moves.cumsum(0) - moves).double()
    step = torch.arange(len(moves)).double()
    scores = -(cell[:, None] - cell).square() + step / (2 * len(moves))  # below 1/2 for the tie
    scores = scores.masked_fill(step[:, None] <= step, -torch.inf)
    never = torch.full((len(moves), 1), -0.25, dtype=torch.float64)
    best = torch.cat([never, scores], dim=1).argmax(dim=1)
    return torch.cat([written.new_tensor([blank]), written])[best]


ALTERNATIVES = {"read-tape": (tape_as_a_dictionary, tape_by_hard_attention)}
