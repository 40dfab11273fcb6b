"""An answer to the exercise on a tape that is right on most inputs."""

import torch


def softly_by_recency(moves, written, blank):
    cell, step = moves.cumsum(0) - moves, torch.arange(len(moves)).double()
    hidden = (step[:, None] <= step) | (cell[:, None] != cell)
    scores = (40 * step).expand(len(moves), -1).masked_fill(hidden, -torch.inf)
    scores = torch.cat([torch.full((len(moves), 1), -40.0).double(), scores], dim=1)
    symbols = torch.cat([torch.tensor([blank]).double(), written.double()])
    return (scores.softmax(1) @ symbols).to(written.dtype)


NEARLY_RIGHT = [("read-tape", "not exactly 0", softly_by_recency)]
