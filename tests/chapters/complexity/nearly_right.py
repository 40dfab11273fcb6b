"""Answers to the exercises on complexity that are right on most inputs."""

import math

import torch


def short_ways_only(reads, pairs):
    far = torch.where(reads, 1.0, math.inf)
    for k in range(len(far)):
        far = torch.minimum(far, far[:, k : k + 1] + far[k : k + 1])
    return [-1 if far[end, start] > 8 else int(far[end, start]) for start, end in pairs]


def ways_counted_in_a_byte(reads, pairs):
    """As a power of the matrix, which forgets 256 ways."""
    found, ways = {}, reads.to(torch.uint8)
    for layer in range(1, len(reads) + 1):
        for start, end in pairs:
            if ways[end, start]:
                found.setdefault((start, end), layer)
        ways = ways @ reads.to(torch.uint8)
    return [found.get(pair, -1) for pair in pairs]


def writing_by_floats(n_layers, d, prompt, tokens, cached):
    def pairs(n):
        return n * (n + 1) / 2

    def squares(n):
        return n * (n + 1) * (2 * n + 1) / 6

    end = prompt + tokens - 1
    if cached:
        total = 24 * d * d * end + 4 * d * (prompt**2 + pairs(end) - pairs(prompt))
    else:
        total = 24 * d * d * (pairs(end) - pairs(prompt - 1)) + 4 * d * (squares(end) - squares(prompt - 1))
    return int(n_layers * total)


def cache_by_floats(n_layers, n_heads, n_kv_heads, d_model, batch, t, size):
    return int(2 * n_layers * n_kv_heads * d_model / n_heads * batch * t * size)


UNITS = "more than a float holds to the unit"
NEARLY_RIGHT = [
    ("writing-flops", UNITS, writing_by_floats),
    ("cache-bytes", UNITS, cache_by_floats),
    ("layer-flops", UNITS, lambda n, d, d_ff: (int(8.0 * n * d**2), int(4.0 * n**2 * d), int(4.0 * n * d * d_ff))),
    ("layers-needed", "a long chain", short_ways_only),
    ("layers-needed", "many ways of one length", ways_counted_in_a_byte),
]
