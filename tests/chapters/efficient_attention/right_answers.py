"""Right answers to the exercises on long contexts, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F

from companion.efficient.tiled import tiled_attention
from companion.efficient.window import window_attention


def tiled_twice(query, key, value, block):
    """Go through the keys once for the logarithm of each row's sum, and once more for the weights."""
    query, tiles = query * key.shape[1] ** -0.5, list(zip(key.split(block), value.split(block), strict=True))
    total = query.new_full((len(query),), -torch.inf)
    for k, _ in tiles:
        total = total.logaddexp((query @ k.mT).logsumexp(1))
    return sum((query @ k.mT - total[:, None]).exp() @ v for k, v in tiles)


def tiled_in_place(query, key, value, block):
    """Keep the largest score, the sum and the output of each query, with the sum as a last column."""
    top = query.new_full((len(query), 1), -torch.inf)
    both = query.new_zeros(len(query), value.shape[1] + 1)
    for start in range(0, len(key), block):
        k, v = key[start : start + block], F.pad(value[start : start + block], (0, 1), value=1.0)
        scores = (query @ k.T).mul_(query.shape[1] ** -0.5)
        new = top.maximum(scores.amax(1, keepdim=True))
        both.mul_((top - new).exp_()).add_(scores.sub_(new).exp_() @ v)
        top = new
    return both[:, :-1] / both[:, -1:]


def window_by_distances(query, key, value, size):
    """One diagonal at a time."""
    t, size = len(query), min(size, len(query))
    scores = query.new_full((t, size), -torch.inf)
    for back in range(size):
        scores[back:, back] = (query[back:] * key[: t - back]).sum(-1) / query.shape[1] ** 0.5
    weights, out = scores.softmax(-1), torch.zeros_like(value)
    for back in range(size):
        out[back:] += weights[back:, back : back + 1] * value[: t - back]
    return out


def window_by_queries(query, key, value, size):
    rows = []
    for i in range(len(query)):
        near = slice(max(0, i - size + 1), i + 1)
        rows.append((key[near] @ query[i] / math.sqrt(query.shape[1])).softmax(0) @ value[near])
    return torch.stack(rows)


ALTERNATIVES = {
    "tiled-attention": [tiled_twice, tiled_in_place, lambda q, k, v, block: tiled_attention(q, k, v, block=block)],
    "window-attention": [window_by_distances, window_by_queries, window_attention],
}


def unshifted_tiles(query, key, value, block):
    parts = zip(key.split(block), value.split(block), strict=True)
    powers = [((query @ k.mT / query.shape[1] ** 0.5).exp(), v) for k, v in parts]
    return sum(p @ v for p, v in powers) / sum(p.sum(1, keepdim=True) for p, _ in powers)


def query_by_query(query, key, value, block):
    return torch.cat([F.softmax(q @ key.mT * key.shape[1] ** -0.5, -1) @ value for q in query.split(1)])


def one_result_a_block(query, key, value, block):
    sums, outputs = [], []
    for k, v in zip(key.split(block), value.split(block), strict=True):
        scores = query @ k.mT / query.shape[1] ** 0.5
        sums.append(scores.logsumexp(1))
        outputs.append(scores.softmax(1) @ v)
    return (torch.stack(sums).softmax(0)[..., None] * torch.stack(outputs)).sum(0)


def copied_at_each_position(query, key, value, size):
    rows = value[:0]
    for i in range(len(query)):
        near = slice(max(0, i - size + 1), i + 1)
        row = (key[near] @ query[i] / query.shape[1] ** 0.5).softmax(0) @ value[near]
        rows = torch.cat([rows, row[None]])
    return rows


def both_sides(query, key, value, size):
    t = len(query)
    mask = torch.ones(t, t, dtype=torch.bool).triu(-size + 1).tril(size - 1)
    return F.scaled_dot_product_attention(query[None], key[None], value[None], mask)[0]


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("tiled-attention", "no-shift", unshifted_tiles),
    ("tiled-attention", "whole-matrix", one_result_a_block),
    ("tiled-attention", "whole-matrix", query_by_query),
    ("window-attention", "all-pairs", copied_at_each_position),
    ("window-attention", "both-sides", both_sides),
]
