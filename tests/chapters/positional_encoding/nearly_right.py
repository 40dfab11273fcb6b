"""Answers to the exercises on positional encoding that are right on most inputs."""

import math

import torch

from companion.chapters.positional_encoding.exercises.distance import _alibi


def positions_of_sentences(x, positions):
    turned = positions[:, None] * 10000.0 ** (-torch.arange(0, x.shape[-1], 2).to(x.dtype) / x.shape[-1])
    turned = turned[:, None] if x.shape[0] == x.shape[1] else turned
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * turned.cos() - b * turned.sin(), b * turned.cos() + a * turned.sin()), -1).flatten(-2)


def far_buckets(distances, buckets, max_distance):
    near = buckets // 2
    return (buckets - near) * (distances.clamp(min=1).double() / near).log() / math.log(max_distance / near), near


def buckets_in_the_dtype_of_distances(distances, buckets, max_distance):
    far, near = far_buckets(distances, buckets, max_distance)
    far = (near + far.floor()).clamp(max=buckets - 1)
    return torch.where(distances < near, distances, far.to(distances.dtype))


def one_by_one(distances, buckets, max_distance):
    """Walk over the axes, of which there has to be one."""
    if not distances.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return buckets_in_the_dtype_of_distances(distances.long(), buckets, max_distance)


def edges_below(distances, buckets, max_distance):
    far, near = far_buckets(distances, buckets, max_distance)
    far = near + far.ceil().long() - 1
    return torch.where(distances <= near, distances, far.clamp(max=buckets - 1))


def memory_used_again():
    kept = {}

    def shifted(by_distance):
        h, t_q, columns = by_distance.shape
        t_k = columns - t_q + 1
        size = (h, t_q, t_k, by_distance.dtype)
        out = kept.setdefault(size, by_distance.new_empty(h, t_q, t_k))
        for i in range(t_q):
            out[:, i] = by_distance[:, i, t_q - 1 - i : t_q - 1 - i + t_k]
        return out

    return shifted


def biases_kept_by_length():
    kept = {}

    def bias(n_heads, t):
        if t not in kept:
            slopes = 2.0 ** (-8 / n_heads * torch.arange(1, n_heads + 1, dtype=torch.float64))
            place = torch.arange(t, dtype=torch.float64)
            kept[t] = -slopes[:, None, None] * (place[:, None] - place).clamp(min=0)
        return kept[t]

    return bias


def buckets_kept_by_shape():
    kept = {}

    def bucket(distances, buckets, max_distance):
        if distances.shape not in kept:
            e = buckets // 2
            far = e + ((distances / e).log() / math.log(max_distance / e) * (buckets - e)).long()
            kept[distances.shape] = torch.where(distances < e, distances, far.clamp(max=buckets - 1)).long()
        return kept[distances.shape]

    return bucket


def rows_kept_by_number():
    kept = {}

    def rows(w, n_heads):
        order = torch.arange(len(w)).view(n_heads, -1, 2).transpose(1, 2).flatten()
        return w[kept.setdefault(len(w), order)]

    return rows


KEPT = "Your function keeps something"


def frequencies_kept_by_width():
    kept = {}

    def encoding(positions, d_model):
        rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=positions.dtype) / d_model)
        angles = positions[:, None] * kept.setdefault(d_model, rates)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).to(positions.dtype)

    return encoding


def biases_of_a_table(n_heads, t):
    return _alibi(n_heads, 512)[:, :t, :t]


NEARLY_RIGHT = [
    ("alibi-bias", "a long text", biases_of_a_table),
    ("encode-positions", "a step of yours in float32", frequencies_kept_by_width()),
    ("alibi-bias", KEPT, biases_kept_by_length()),
    ("t5-bucket", KEPT, buckets_kept_by_shape()),
    ("layout-rows", KEPT, rows_kept_by_number()),
    ("rotate-pairs", "as many sentences as positions", positions_of_sentences),
    ("t5-bucket", "distances in int32", buckets_in_the_dtype_of_distances),
    ("t5-bucket", "one distance, no axis", one_by_one),
    ("t5-bucket", "distances on an edge", edges_below),
    ("relative-shift", "a later call changed it", memory_used_again()),
]
