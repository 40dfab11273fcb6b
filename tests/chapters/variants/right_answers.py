"""Right answers to the exercises on variants and uses, written in other ways than the references."""

import torch
import torch.nn.functional as F


def triangles_by_loops(a, b, known):
    n, result = len(a), torch.zeros_like(a)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if known[i, k] and known[j, k]:
                    result[i, j] += a[i, k] * b[j, k]
    return result


def triangles_by_products(a, b, known):
    hidden = ~known[..., None]
    a, b = a.masked_fill(hidden, 0).movedim(-1, 0), b.masked_fill(hidden, 0).movedim(-1, 0)
    return (a @ b.mT).movedim(0, -1)


def patches_by_unfold(images, size):
    height, width = images.shape[-2:]
    padded = F.pad(images, (0, -width % size, 0, -height % size))
    return F.unfold(padded, size, stride=size).mT


def patches_by_loops(images, size):
    rows = []
    for top in range(0, images.shape[-2], size):
        for left in range(0, images.shape[-1], size):
            patch = images.new_zeros(*images.shape[:2], size, size)
            part = images[..., top : top + size, left : left + size]
            patch[..., : part.shape[-2], : part.shape[-1]] = part
            rows.append(patch.flatten(1))
    return torch.stack(rows, dim=1)


def clip_by_loops(images, captions, log_scale):
    n, scores = len(images), []
    for u in images:
        scores.append([log_scale.exp() * (u @ v) / (u.norm() * v.norm()) for v in captions])
    rows = torch.stack([torch.stack(row) for row in scores])
    losses = [rows[i].logsumexp(0) + rows[:, i].logsumexp(0) - 2 * rows[i, i] for i in range(n)]
    return sum(losses) / (2 * n)


def clip_by_cosines(images, captions, log_scale):
    scores = log_scale.exp() * F.cosine_similarity(images[:, None], captions[None], dim=-1)
    return -(scores.log_softmax(0).diagonal() + scores.log_softmax(1).diagonal()).mean() / 2


ALTERNATIVES = {
    "clip-loss": (clip_by_loops, clip_by_cosines),
    "triangle-sums": (triangles_by_loops, triangles_by_products),
    "padded-patches": (patches_by_unfold, patches_by_loops),
}
