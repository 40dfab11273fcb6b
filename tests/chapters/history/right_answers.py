"""Right answers to the exercises on recurrent networks, written in other ways than the references."""

import torch
import torch.nn.functional as F
from torch import nn

from companion.recurrent import AdditiveAttention, ElmanCell


def steps_by_torch(x, w_x, w_h, b):
    layer = nn.RNN(x.shape[1], len(b), batch_first=True, bias=True).to(x.dtype)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(w_x), layer.weight_hh_l0.copy_(w_h)
        layer.bias_ih_l0.copy_(b), layer.bias_hh_l0.zero_()
        return layer(x[None])[0][0]


def steps_by_cell(x, w_x, w_h, b):
    cell, states = ElmanCell(x.shape[1], len(b)).to(x.dtype), [torch.zeros_like(b)]
    with torch.no_grad():
        cell.w_x.weight.copy_(w_x), cell.w_h.weight.copy_(w_h), cell.w_x.bias.copy_(b)
        for row in x:
            states.append(cell(row, states[-1]))
    return torch.stack(states[1:])


def lstm_by_torch(sums, c):
    cell = nn.LSTMCell(1, c.shape[-1]).to(c.dtype)
    found = []
    for row, old in zip(sums, c, strict=True):
        with torch.no_grad():
            cell.bias_ih.copy_(row), cell.bias_hh.zero_()
            zero = torch.zeros(1, 1, dtype=c.dtype)
            found.append(cell(zero, (torch.zeros_like(old)[None], old[None])))
    return torch.cat([h for h, _ in found]), torch.cat([new for _, new in found])


def lstm_by_slices(sums, c):
    d = c.shape[-1]
    sigma = lambda u: 1 / (1 + torch.exp(-u))  # noqa: E731
    c = c * sigma(sums[:, d : 2 * d]) + sigma(sums[:, :d]) * torch.tanh(sums[:, 2 * d : 3 * d])
    return torch.tanh(c) * sigma(sums[:, 3 * d :]), c


def gru_by_lerp(x_sums, h_sums, h):
    d = h.shape[-1]
    r, z = (x_sums[:, : 2 * d] + h_sums[:, : 2 * d]).sigmoid().split(d, dim=1)
    return torch.lerp(torch.tanh(x_sums[:, 2 * d :] + r * h_sums[:, 2 * d :]), h, z)


def gru_by_numbers(x_sums, h_sums, h):
    new = torch.empty_like(h)
    d = h.shape[1]
    for b in range(h.shape[0]):
        for k in range(d):
            r = torch.sigmoid(x_sums[b, k] + h_sums[b, k])
            z = torch.sigmoid(x_sums[b, d + k] + h_sums[b, d + k])
            n = torch.tanh(x_sums[b, 2 * d + k] + r * h_sums[b, 2 * d + k])
            new[b, k] = n + z * (h[b, k] - n)
    return new


def reversed_by_gather(x, lengths):
    place = torch.arange(x.shape[1]).expand(x.shape[:2])
    mirrored = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
    return x.gather(1, mirrored[..., None].expand_as(x))


def reversed_by_lists(x, lengths):
    return torch.stack([torch.cat([row[:n].flip(0), row[n:]]) for row, n in zip(x, lengths.tolist(), strict=True)])


def norms_by_singular_values(jacobians):
    found = []
    for n in range(1, len(jacobians) + 1):
        product = jacobians[0]
        for k in range(1, n):
            product = jacobians[k].matmul(product)
        found.append(torch.linalg.svdvals(product)[0])
    return torch.stack(found)


def norms_by_gram(jacobians):
    product, found = torch.eye(jacobians.shape[1], dtype=torch.float64), []
    for j in jacobians.double():
        product = j @ product
        found.append(torch.linalg.eigvalsh(product.T @ product)[-1].sqrt())
    return torch.stack(found).to(jacobians.dtype)


def backward_by_autograd(states, w_h, gradient):
    found = []
    for t in range(len(states)):
        h = start = states[t].clone().requires_grad_()
        for later in states[t + 1 :]:  # inputs that give the same states again
            total = w_h @ h
            h = (total + (later.atanh() - total).detach()).tanh()
        found.append(torch.autograd.grad(h @ gradient, start)[0])
    return torch.stack(found)


def backward_by_matrices(states, w_h, gradient):
    found = [gradient]
    for t in range(len(states) - 1, 0, -1):
        jacobian = torch.diag(1 - states[t].square()) @ w_h
        found.insert(0, jacobian.T @ found[0])
    return torch.stack(found)


def context_by_package(s, states, w, u, v, n):
    look = AdditiveAttention(len(s), states.shape[1], len(v)).to(s.dtype)
    with torch.no_grad():
        look.w_query.weight.copy_(w), look.w_key.weight.copy_(u), look.v.copy_(v)
        real = (torch.arange(len(states)) < n)[None, None]
        return look(s[None, None], states[None], real)[0, 0]


def context_by_cutting(s, states, w, u, v, n):
    scores = torch.stack([v @ torch.tanh(w @ s + u @ h) for h in states[:n]])
    return (F.softmax(scores, dim=0)[:, None] * states[:n]).sum(0)


ALTERNATIVES = {
    "rnn-steps": [steps_by_torch, steps_by_cell],
    "lstm-step": [lstm_by_torch, lstm_by_slices],
    "gru-step": [gru_by_lerp, gru_by_numbers],
    "reverse-padded": [reversed_by_gather, reversed_by_lists],
    "product-norms": [norms_by_singular_values, norms_by_gram],
    "rnn-backward": [backward_by_autograd, backward_by_matrices],
    "additive-context": [context_by_package, context_by_cutting],
}


def own_lstm_of_1997(sums, c):
    d = c.shape[-1]
    c = c + torch.sigmoid(sums[:, :d]) * torch.tanh(sums[:, 2 * d : 3 * d])
    return torch.sigmoid(sums[:, 3 * d :]) * torch.tanh(c), c


def own_bound(jacobians):
    return torch.stack([torch.linalg.svdvals(jacobians[: n + 1])[:, 0].prod() for n in range(len(jacobians))])


def own_without_slope(states, w_h, gradient):
    powers = [torch.linalg.matrix_power(w_h, len(states) - 1 - t) for t in range(len(states))]
    return torch.stack([gradient @ power for power in powers])


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("rnn-steps", "no-carry", lambda x, w_x, w_h, b: torch.tanh(torch.nn.functional.linear(x, w_x, b))),
    ("lstm-step", "no-forget", own_lstm_of_1997),
    (
        "gru-step",
        "no-reset",
        lambda a, b, h: torch.lerp((a + b).chunk(3, 1)[2].tanh(), h, (a + b).chunk(3, 1)[1].sigmoid()),
    ),
    ("reverse-padded", "whole", lambda x, lengths: torch.flip(x, [1])),
    ("product-norms", "norm-of-each", own_bound),
    ("rnn-backward", "no-slope", own_without_slope),
    ("additive-context", "no-mask", lambda s, h, w, u, v, n: (torch.tanh(h @ u.T + w @ s) @ v).softmax(0) @ h),
]
