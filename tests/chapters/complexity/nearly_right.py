"""Answers to the exercises on complexity that are right on most inputs."""

import math

import numpy as np
import torch

from companion.chapters.complexity.exercises.graphs import _layers_needed


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


def ways_counted_in_64_bits(reads, pairs):
    """As a power of the matrix, which forgets 2^64 ways."""
    steps, ways = reads.long(), reads.long()
    found = torch.full_like(ways, -1)
    for layer in range(1, len(reads) + 1):
        found[(ways != 0) & (found < 0)] = layer
        ways = ways @ steps
    return [int(found[end, start]) for start, end in pairs]


def writing_by_a_half(n_layers, d, prompt, tokens, cached):
    """With one quotient that is a float, in one of the branches."""
    n = tokens - 1
    if cached:
        return int(n_layers * (24 * d * d * (prompt + n) + 4 * d * (prompt**2 + n * prompt + n * (n + 1) / 2)))
    return n_layers * sum(24 * d * d * t + 4 * d * t * t for t in range(prompt, prompt + tokens))


def writing_by_a_quotient(n_layers, d, prompt, tokens, cached):
    """With one summand that is a float on its way."""
    n = tokens - 1
    if cached:
        alike = 24 * d * d * (prompt + n) + 4 * d * (prompt**2 + n * prompt)
        return n_layers * alike + int(n_layers * 4 * d * n * (n + 1) / 2)
    return n_layers * sum(24 * d * d * t + 4 * d * t * t for t in range(prompt, prompt + tokens))


def writing_by_a_float_without_a_cache(n_layers, d, prompt, tokens, cached):
    if cached:
        return n_layers * sum(24 * d * d * t + 4 * d * t * k for t, k in writing_passes(prompt, tokens))
    return int(float(n_layers) * sum(24 * d * d * t + 4 * d * t * t for t in range(prompt, prompt + tokens)))


def writing_passes(prompt, tokens):
    return [(prompt, prompt), *((1, k) for k in range(prompt + 1, prompt + tokens))]


def layer_in_64_bits(n, d, d_ff):
    n = torch.tensor(n)
    return int(8 * n * d * d), int(4 * n * n * d), int(4 * n * d * d_ff)


def cache_in_64_bits(n_layers, n_heads, n_kv_heads, d_model, batch, t, size):
    return int(2 * torch.tensor(n_layers * n_kv_heads * (d_model // n_heads) * batch) * t * size)


def writing_in_64_bits(n_layers, d, prompt, tokens, cached):
    passes = writing_passes(prompt, tokens) if cached else [(t, t) for t in range(prompt, prompt + tokens)]
    d = torch.tensor(d)
    return int(n_layers * sum(24 * d * d * t + 4 * d * t * k for t, k in passes))


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


def ways_counted_in_float32(reads, pairs):
    step = reads.float()
    counts = [step]
    for _ in step[1:]:
        counts.append(step @ counts[-1])
    return [next((k for k, ways in enumerate(counts, 1) if ways[end, start] > 0), -1) for start, end in pairs]


def time_by_reciprocals(r, d, c, size, peak, bandwidth):
    arithmetic, memory = 2 * r * d * c * (1 / peak), size * (r * d + d * c + r * c) * (1 / bandwidth)
    return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"


UNITS = "more than a float holds to the unit"
BITS = "more than 64 bits hold"
AN_INT = "an int of Python is expected"


def ends_side_by_side(reads, pairs):
    starts, ends = zip(*pairs, strict=True)
    return _layers_needed(reads, list(zip(starts, ends, strict=True)))


NEARLY_RIGHT = [
    ("layers-needed", "no pair", ends_side_by_side),
    ("writing-flops", UNITS, writing_by_floats),
    ("cache-bytes", UNITS, cache_by_floats),
    ("layer-flops", UNITS, lambda n, d, d_ff: (int(8.0 * n * d**2), int(4.0 * n**2 * d), int(4.0 * n * d * d_ff))),
    ("least-time", "a tie", time_by_reciprocals),
    ("layers-needed", "more ways than a float32 holds", ways_counted_in_float32),
    ("layers-needed", "a long chain", short_ways_only),
    ("layers-needed", "many ways of one length", ways_counted_in_a_byte),
    ("layers-needed", "2^64 ways of one length", ways_counted_in_64_bits),
    ("writing-flops", "a wide model with a cache", writing_by_a_half),
    ("writing-flops", BITS, writing_by_a_quotient),
    ("writing-flops", UNITS, writing_by_a_float_without_a_cache),
    ("writing-flops", BITS, writing_in_64_bits),
    ("layer-flops", BITS, layer_in_64_bits),
    ("cache-bytes", BITS, cache_in_64_bits),
    ("layer-flops", AN_INT, lambda n, d, d_ff: (np.int64(8) * n * d * d, 4 * n * n * d, 4 * n * d * d_ff)),
    ("cache-bytes", AN_INT, lambda layers, h, kv, d, b, t, s: np.int64(2) * layers * kv * (d // h) * b * t * s),
    ("crossing", AN_INT, lambda d, d_ff: np.int64(2 * d + d_ff + 1)),
    ("crossing", AN_INT, lambda d, d_ff: torch.tensor(2 * d + d_ff + 1)),
]
