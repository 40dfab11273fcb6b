"""Answers to the exercises on long contexts that are right on most inputs."""

import math

import numpy as np
import torch


def tiles(least, width):
    """Begin the largest score at a number, and take blocks of another width."""

    def attend(query, key, value, block):
        top = query.new_full((len(query), 1), least)
        total, output = torch.zeros_like(top), query.new_zeros(len(query), value.shape[1])
        for k, v in zip(key.split(width * block), value.split(width * block), strict=True):
            scores = query @ k.T / math.sqrt(key.shape[1])
            new = torch.maximum(top, scores.amax(1, keepdim=True))
            shrink = (top - new).exp()
            scores.sub_(new).exp_()
            total = total * shrink + scores.sum(1, keepdim=True)
            output = output * shrink + scores @ v
            top = new
        return output / total

    return attend


def softmax_of_arrays(scores):
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return (powers / powers.sum(1, keepdims=True)).astype(scores.dtype)


def tiles_in_numpy(query, key, value, block):
    q, k, v = query.numpy(), key.numpy(), value.numpy()
    return torch.from_numpy(softmax_of_arrays(q @ k.T / math.sqrt(q.shape[1])) @ v)


def window_in_numpy(query, key, value, size):
    q, k, v = query.numpy(), key.numpy(), value.numpy()
    back = np.arange(len(q))[:, None] - np.arange(len(q))
    scores = np.where((back >= 0) & (back < size), q @ k.T / math.sqrt(q.shape[1]), -np.inf).astype(q.dtype)
    return torch.from_numpy(softmax_of_arrays(scores) @ v)


NEARLY_RIGHT = [
    ("tiled-attention", "scores of -1e20", tiles(-1e9, 1)),
    ("tiled-attention", "the largest tensor that it makes has", tiles(-math.inf, 2)),
    ("tiled-attention", "your code computes in NumPy", tiles_in_numpy),
    ("window-attention", "your code computes in NumPy", window_in_numpy),
]
