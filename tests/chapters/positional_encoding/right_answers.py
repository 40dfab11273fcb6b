"""Right answers to the exercises on positional encoding, written in other ways than the references."""

import math

import torch

from companion.positional import t5_bucket


def encoding_by_complex(positions, d_model):
    rates = 10000 ** (-torch.arange(0, d_model, 2).to(positions.dtype) / d_model)
    turned = torch.polar(torch.ones_like(positions)[:, None] * torch.ones_like(rates), positions[:, None] * rates)
    return torch.view_as_real(turned).flip(-1).flatten(1)


def encoding_by_assignment(positions, d_model):
    out = torch.empty(len(positions), d_model, dtype=positions.dtype)
    for i in range(0, d_model, 2):
        out[:, i], out[:, i + 1] = (
            torch.sin(positions / 10000 ** (i / d_model)),
            torch.cos(positions / 10000 ** (i / d_model)),
        )
    return out


def alibi_by_loops(n_heads, t):
    rows = [
        [[-(2 ** (-8 * h / n_heads)) * max(0, i - j) for j in range(t)] for i in range(t)]
        for h in range(1, n_heads + 1)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def alibi_by_cumulation(n_heads, t):
    first = 2 ** (-8 / n_heads)
    slopes = torch.full((n_heads,), first, dtype=torch.float64).cumprod(0)
    return -torch.einsum("h,ij->hij", slopes, torch.ones(t, t, dtype=torch.float64).tril(-1).cumsum(0))


def rotated_by_complex(x, positions):
    rates = 10000 ** (-torch.arange(0, x.shape[-1], 2).to(x.dtype) / x.shape[-1])
    turned = positions[:, None] * rates
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(turned), turned)
    return torch.view_as_real(pairs).flatten(-2)


def rotated_by_matrices(x, positions):
    out = torch.empty_like(x)
    for row, position in enumerate(positions.tolist()):
        out[:, row] = (x[:, row].double() @ shift_by_blocks(-position, x.shape[-1]).T.inverse()).to(x.dtype)
    return out


def shift_by_blocks(k, d_model):
    out = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = k * 10000 ** (-i / d_model)
        out[i, i] = out[i + 1, i + 1] = math.cos(angle)
        out[i + 1, i], out[i, i + 1] = math.sin(angle), -math.sin(angle)
    return out


def shift_by_exponential(k, d_model):
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        generator[i + 1, i], generator[i, i + 1] = k * 10000 ** (-i / d_model), -k * 10000 ** (-i / d_model)
    return torch.linalg.matrix_exp(generator)


def buckets_by_loops(distances, buckets, max_distance):
    e = buckets // 2

    def one(d):
        return d if d < e else min(buckets - 1, e + int((buckets - e) * math.log(d / e) / math.log(max_distance / e)))

    return torch.tensor([one(d) for d in distances.flatten().tolist()]).view(distances.shape)


def shifted_by_rows(by_distance):
    t_q, n = by_distance.shape[1:]
    return torch.stack([by_distance[:, i, t_q - 1 - i : n - i] for i in range(t_q)], dim=1)


def shifted_by_diagonals(by_distance):
    t_q, n = by_distance.shape[1:]
    rows = [by_distance[:, i].roll(i + 1 - t_q, -1)[:, : n - t_q + 1] for i in range(t_q)]
    return torch.stack(rows, dim=1)


ALTERNATIVES = {
    "encode-positions": [encoding_by_complex, encoding_by_assignment],
    "alibi-bias": [alibi_by_loops, alibi_by_cumulation],
    "rotate-pairs": [rotated_by_complex, rotated_by_matrices],
    "shift-matrix": [shift_by_blocks, shift_by_exponential],
    "t5-bucket": [buckets_by_loops, lambda d, n, m: t5_bucket(d, buckets=n, max_distance=m, causal=True)],
    "relative-shift": [shifted_by_rows, shifted_by_diagonals],
    "layout-rows": [
        lambda w, h: torch.cat([torch.cat([x[0::2], x[1::2]]) for x in w.chunk(h)]),
        lambda w, h: torch.einsum("hpio->hipo", w.view(h, -1, 2, w.shape[1])).reshape(w.shape),
    ],
}
