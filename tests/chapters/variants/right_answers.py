"""Right answers to the exercises on the family, written in other ways than the references."""

import torch


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


ALTERNATIVES = {"triangle-sums": (triangles_by_loops, triangles_by_products)}
