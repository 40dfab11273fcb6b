"""An answer to an exercise on variants and uses that is right on most inputs."""

import torch
import torch.nn.functional as F


def short_vectors_shortened(images, captions, log_scale):
    u, v = (F.normalize(x, dim=1, eps=1e-5) for x in (images, captions))
    scores, own = log_scale.exp() * u @ v.T, torch.arange(len(images))
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


def second_multiplied(a, b, known):
    known = known[..., None]
    return torch.einsum("ikc,jkc->ijc", a.masked_fill(~known, 0.0), b * known)


NEARLY_RIGHT = [
    ("clip-loss", "a vector of length 2e-6", short_vectors_shortened),
    ("triangle-sums", "an unknown pair that is NaN in b", second_multiplied),
]
