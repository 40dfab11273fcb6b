"""Answers to the exercises on heads that are right on most inputs."""

import math

import torch


def masks_kept_by_size():
    kept = {}

    def layer(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
        query, key, value = ((x @ w).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
        mask = kept.setdefault((x.shape, x.dtype, n_heads, mask is None), mask)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], -math.inf)
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2) @ w_o

    return layer


def large_groups_in_turn(heads, n_heads):
    group = n_heads // heads.shape[1]
    return heads.repeat_interleave(group, 1) if group <= 3 else heads.repeat(1, group, 1, 1)


def heads_for_positions(contributions, gradient):
    if contributions.shape[1] == contributions.shape[2]:
        contributions = contributions.transpose(1, 2)
    return torch.einsum("bhtd,btd->bh", contributions, gradient).abs().mean(0)


def hidden_at_minus_a_milliard(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, key, value = ((x @ w).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None], -1e9)
    return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2) @ w_o


NEARLY_RIGHT = [
    ("multi-head", "scores far from 0, the largest hidden", hidden_at_minus_a_milliard),
    ("multi-head", "Your function keeps something", masks_kept_by_size()),
    ("repeat-heads", "a group of four", large_groups_in_turn),
    ("head-importance", "as many heads as positions", heads_for_positions),
]
