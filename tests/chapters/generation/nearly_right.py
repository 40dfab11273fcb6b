"""Answers to the exercises on generation and serving that are right on most inputs."""

import math

import torch


def places_kept_by_sizes():
    kept = {}

    def gather(pool, table, length):
        size = pool.shape[1]
        places = [table[i // size] * size + i % size for i in range(length)]
        return pool.flatten(0, 1)[kept.setdefault((pool.shape, length), torch.tensor(places))]

    return gather


def maximum_from_minus_a_milliard(query, keys, values, table, length):
    scores = keys[table].flatten(0, 1)[:length] @ query / math.sqrt(len(query))
    powers = (scores - scores.max().clamp(min=-1e9)).exp()
    return powers @ values[table].flatten(0, 1)[:length] / powers.sum()


def zeros_left_out(pool, table, length):
    rows = pool[table].flatten(0, 1)
    return rows[(rows != 0).any(1)][:length]


NEARLY_RIGHT = [
    ("gather-pages", "a vector of zeros", zeros_left_out),
    ("gather-pages", "Your function keeps something", places_kept_by_sizes()),
    ("paged-attention", "scores of -1e20", maximum_from_minus_a_milliard),
]
