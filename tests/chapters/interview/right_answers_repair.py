"""Right repairs of the drills in debugging, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F

from companion.generate.sampling import keep_top_p
from companion.multihead.heads import merge_heads, split_heads
from companion.training.loss import summed_loss


def norm_repaired(x, gain, bias, eps):
    """The code as given, with its three faults mended where they stand."""
    mean = x.mean(dim=-1, keepdim=True)
    deviation = (x.var(dim=-1, keepdim=True, unbiased=False) + eps).sqrt()
    return gain * (x - mean) / deviation + bias


def norm_by_moments(x, gain, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return torch.addcmul(bias, centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + eps), gain)


def heads_by_package(x, lengths, w_q, w_k, w_v, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    real = torch.arange(x.shape[1]) < lengths[:, None]
    return merge_heads(F.scaled_dot_product_attention(q, k, v, real[:, None, None]))


def heads_by_einsum(x, lengths, w_q, w_k, w_v, n_heads):
    q, k, v = (torch.einsum("btd,dhe->bhte", x, w.unflatten(1, (n_heads, -1))) for w in (w_q, w_k, w_v))
    out = [
        (a @ b[:, :n].mT / math.sqrt(b.shape[-1])).softmax(-1) @ c[:, :n]
        for a, b, c, n in zip(q, k, v, lengths.tolist(), strict=True)
    ]
    return torch.cat(torch.stack(out).unbind(1), -1)


def steps_by_formula(w, x, y, real, rate, max_norm):
    for inputs, wanted, counts in zip(x, y, real, strict=True):
        inputs, wanted = inputs[counts], wanted[counts]
        gradient = 2 / len(inputs) * inputs.mT @ (inputs @ w - wanted)
        length = gradient.norm().item()
        w = w - (rate * min(1.0, max_norm / length) if length else 0.0) * gradient
    return w


def steps_by_torch(w, x, y, real, rate, max_norm):
    w = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.SGD([w], lr=rate)
    for inputs, wanted, counts in zip(x, y, real, strict=True):
        optimizer.zero_grad()
        loss = F.mse_loss((inputs @ w)[counts], wanted[counts])
        (w.grad,) = torch.autograd.grad(loss, [w])
        w.grad *= (max_norm / torch.linalg.vector_norm(w.grad)).clamp_max(1)
        optimizer.step()
    return w.detach()


def draw_by_loops(scores, p, u):
    tokens = []
    for row, draw in zip(scores.softmax(-1).tolist(), u.tolist(), strict=True):
        kept, total = [], 0.0
        for i in sorted(range(len(row)), key=lambda i: -row[i]):
            if total < p:
                kept.append(i)
                total += row[i]
        reached = 0.0
        for i in kept:
            reached += row[i] / total
            if reached > draw:
                break
        tokens.append(i)
    return torch.tensor(tokens)


def draw_by_package(scores, p, u):
    ranked, order = keep_top_p(scores, p).softmax(-1).sort(dim=-1, descending=True)
    place = torch.searchsorted(ranked.cumsum(-1), u[:, None], right=True).clamp(max=scores.shape[-1] - 1)
    return torch.take_along_dim(order, place, 1).flatten()


def cache_by_fused(x, positions, w_q, w_k, w_v):
    h = x + positions[: len(x)]
    return F.scaled_dot_product_attention((h @ w_q)[None], (h @ w_k)[None], (h @ w_v)[None], is_causal=True)[0]


def cache_in_place(x, positions, w_q, w_k, w_v):
    keys, values = x.new_zeros(len(x), w_k.shape[1]), x.new_zeros(len(x), w_v.shape[1])
    out = torch.zeros_like(values)
    for i, row in enumerate(x):
        h = row + positions[i]
        keys[i], values[i] = h @ w_k, h @ w_v
        out[i] = (keys[: i + 1] @ (h @ w_q) / w_k.shape[1] ** 0.5).softmax(0) @ values[: i + 1]
    return out


def next_alone(tokens, real, table, positions, w_q, w_k, w_v):
    """Each prompt without its padding."""
    rows = []
    for prompt, kept in zip(tokens, real, strict=True):
        h = table[prompt[kept]]
        h = h + positions[: len(h)]
        weights = (h @ w_k @ (h[-1] @ w_q) / math.sqrt(w_q.shape[1])).softmax(0)
        rows.append(table @ (h[-1] + weights @ (h @ w_v)))
    return torch.stack(rows)


def next_by_shift(tokens, real, table, positions, w_q, w_k, w_v):
    """Padding moved to the right, where no causal query sees it."""
    order = (~real).long().argsort(dim=1, stable=True)
    h = table[tokens.gather(1, order)] + positions[: tokens.shape[1]]
    h = h + F.scaled_dot_product_attention(h @ w_q, h @ w_k, h @ w_v, is_causal=True)
    return torch.stack([row[n - 1] for row, n in zip(h, real.sum(1).tolist(), strict=True)]) @ table.mT


ALTERNATIVES = {
    "debug-layer-norm": [norm_repaired, norm_by_moments],
    "debug-heads": [heads_by_package, heads_by_einsum],
    "debug-label-shift": [
        lambda s, y, pad: F.cross_entropy(s[:, :-1].flatten(0, 1), y[:, 1:].flatten(), ignore_index=pad),
        lambda s, y, pad: summed_loss(s[:, :-1], y[:, 1:], padding=pad).mean,
    ],
    "debug-training-step": [steps_by_formula, steps_by_torch],
    "debug-top-p": [draw_by_loops, draw_by_package],
    "debug-cache": [cache_by_fused, cache_in_place],
    "debug-left-padding": [next_alone, next_by_shift],
}
