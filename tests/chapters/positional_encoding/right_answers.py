"""Right answers to the exercises on positional encoding, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F

from companion.positional import ALiBi, relative_shift, rotate, t5_bucket


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


def causal_alibi(n_heads, t):
    zero = torch.zeros(1, n_heads, t, 1, dtype=torch.float64)
    return ALiBi(n_heads).bias(zero, zero)[0].tril()


def encoding_by_cat(positions, d_model):
    angles = torch.outer(positions, 1 / 10000 ** (torch.arange(0, d_model, 2).to(positions.dtype) / d_model))
    return torch.cat([torch.sin(angles), torch.cos(angles)], 1)


def encoding_per_feature(positions, d_model):
    out = torch.zeros(len(positions), d_model, dtype=positions.dtype)
    for j in range(d_model):
        angle = positions / 10000 ** (j / d_model)
        out[:, j] = torch.cos(angle) if j % 2 else torch.sin(angle)
    return out


def slopes_of_eight(n_heads, t):
    slopes = torch.tensor([0.5**h for h in range(1, n_heads + 1)], dtype=torch.float64)
    return torch.stack([-m * (torch.arange(t)[:, None] - torch.arange(t)).clamp(min=0) for m in slopes])


def rotated_like_llama(x, positions):
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000 ** (-torch.arange(half).to(x.dtype) / half)
    cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def columns_matrix(k, d_model):
    out = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        c, s = math.cos(k / 10000 ** (2 * i / d_model)), math.sin(k / 10000 ** (2 * i / d_model))
        out[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [-s, c]], dtype=torch.float64)
    return out


def buckets_of_an_encoder(distances, buckets, max_distance):
    n, e = buckets // 2, buckets // 2 // 2
    far = e + torch.floor(torch.log(distances.clamp(min=1) / e) / math.log(max_distance / e) * (n - e)).long()
    return torch.where(distances < e, distances, torch.minimum(far, torch.tensor(n - 1)))


def shifted_by_padding(by_distance):
    """The trick of Dai et al., with the shift forgotten: the first columns only."""
    return by_distance[:, :, : by_distance.shape[2] - by_distance.shape[1] + 1]


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("encode-positions", "halves", encoding_by_cat),
    ("encode-positions", "own-rate-for-cosines", encoding_per_feature),
    ("alibi-bias", "one-slope-rule", slopes_of_eight),
    ("alibi-bias", "adds", lambda n, t: -causal_alibi(n, t)),
    ("rotate-pairs", "halves", rotated_like_llama),
    ("rotate-pairs", "other-way", lambda x, p: rotate(x, -p.long(), layout="interleaved")),
    ("shift-matrix", "transposed", columns_matrix),
    ("t5-bucket", "two-directions", buckets_of_an_encoder),
    ("relative-shift", "not-shifted", shifted_by_padding),
    ("relative-shift", "keys-reversed", lambda b: F.pad(relative_shift(b), (0, 0)).flip(-1)),
    ("layout-rows", "across-heads", lambda w, h: torch.cat([w[::2], w[1::2]])),
    (
        "layout-rows",
        "backwards",
        lambda w, h: torch.cat([torch.stack(x.chunk(2), 1).flatten(0, 1) for x in w.chunk(h)]),
    ),
]
