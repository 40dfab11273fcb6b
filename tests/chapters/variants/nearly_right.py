"""An answer to an exercise on variants and uses that is right on most inputs."""

import torch
import torch.nn.functional as F


def short_vectors_shortened(images, captions, log_scale):
    u, v = (F.normalize(x, dim=1, eps=1e-5) for x in (images, captions))
    scores, own = log_scale.exp() * u @ v.T, torch.arange(len(images))
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


def product_of_lengths_floored(images, captions, log_scale):
    lengths = images.norm(dim=1)[:, None] * captions.norm(dim=1)
    scores, own = log_scale.exp() * images @ captions.T / lengths.clamp(min=1e-8), torch.arange(len(images))
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


def second_multiplied(a, b, known):
    known = known[..., None]
    return torch.einsum("ikc,jkc->ijc", a.masked_fill(~known, 0.0), b * known)


NEARLY_RIGHT = [
    ("clip-loss", "an image and its caption of length 2e-6", short_vectors_shortened),
    ("clip-loss", "an image and its caption of length 2e-6", product_of_lengths_floored),
    ("triangle-sums", "an unknown pair that is NaN in b", second_multiplied),
]
