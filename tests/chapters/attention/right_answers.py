"""Right answers to the exercises on attention, written in other ways than the references."""

import itertools
import math

import torch
import torch.nn.functional as F

from companion import masks
from companion.attention import attention as package_attention


def scores_by_loops(query, key):
    out = query.new_zeros(*query.shape[:-1], key.shape[-2])
    for i, j in itertools.product(range(query.shape[-2]), range(key.shape[-2])):
        out[..., i, j] = (query[..., i, :] * key[..., j, :]).sum(-1) / query.shape[-1] ** 0.5
    return out


def softmax_by_rows(scores):
    out = torch.zeros_like(scores)
    for index in itertools.product(*map(range, scores.shape[:-1])):
        row = scores[index]
        if row.max() > -torch.inf:
            out[index] = (row - row.logsumexp(0)).exp()
    return out


def softmax_in_place(scores):
    out = scores.clone()
    out -= out.max(dim=-1, keepdim=True).values.nan_to_num(neginf=0.0)
    out.exp_()
    out /= out.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(out.dtype).tiny)
    return out


def causal_by_loops(t_q, t_k):
    return torch.tensor([[j - i <= t_k - t_q for j in range(t_k)] for i in range(t_q)])


def causal_by_flip(t_q, t_k):
    return torch.ones(t_q, t_k, dtype=torch.bool).flip(0, 1).triu().flip(0, 1)


def padding_by_loops(lengths, t_k):
    mask = torch.zeros(len(lengths), 1, t_k, dtype=torch.bool)
    for sentence, length in enumerate(lengths.tolist()):
        mask[sentence, 0, :length] = True
    return mask


def padding_by_lists(lengths, t_k):
    return torch.tensor([[[True] * n + [False] * (t_k - n)] for n in lengths.tolist()])


def masked_by_hand(scores, mask):
    top = torch.where(mask, scores, -torch.inf).amax(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
    powers = torch.where(mask, (scores - top).clamp_max(0).exp(), 0.0)
    return powers / powers.sum(-1, keepdim=True).clamp_min(1e-30)


def masked_by_bias(scores, mask):
    bias = torch.zeros_like(scores)
    bias.masked_fill_(~mask, float("-inf"))
    return (scores + bias).softmax(-1).nan_to_num(0.0)


def attention_by_einsum(q, k, v, mask=None):
    scores = torch.einsum("...id,...jd->...ij", q / math.sqrt(q.shape[-1]), k)
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    return torch.einsum("...ij,...jd->...id", torch.softmax(scores, -1).nan_to_num(0.0), v)


def attention_by_queries(query, key, value, mask=None):
    rows = []
    for i in range(query.shape[-2]):
        scores = (query[..., i : i + 1, :] * key).sum(-1) * key.shape[-1] ** -0.5
        if mask is None:
            weights = scores.softmax(-1)
        else:
            allowed = mask[..., min(i, mask.shape[-2] - 1), :].expand(scores.shape)
            weights = masked_by_hand(scores, allowed)
        rows.append((weights[..., None] * value).sum(-2))
    return torch.stack(rows, -2)


def sentences_alone(x, lengths, w_q, w_k, w_v):
    means = []
    for sentence, length in zip(x, lengths.tolist(), strict=True):
        real = sentence[:length]
        means.append(F.scaled_dot_product_attention(real @ w_q, real @ w_k, real @ w_v).mean(0))
    return torch.stack(means)


def sentences_by_average_weight(x, lengths, w_q, w_k, w_v):
    real = torch.arange(x.shape[1])[None] < lengths[:, None]
    scores = torch.einsum("bid,bjd->bij", x @ w_q, x @ w_k) / w_q.shape[1] ** 0.5
    weights = masked_by_bias(scores, real[:, None]) * real[:, :, None]
    return torch.einsum("bj,bjd->bd", weights.sum(1) / lengths[:, None], x @ w_v)


def jacobian_by_loops(scores):
    p = scores.softmax(-1)
    n = p.shape[-1]
    out = p.new_empty(*p.shape, n)
    for i, j in itertools.product(range(n), range(n)):
        out[..., i, j] = p[..., i] * (float(i == j) - p[..., j])
    return out


def jacobian_by_identity(scores):
    p = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return p[..., None] * (torch.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :])


def jacobian_by_autograd(scores):
    rows = [
        torch.autograd.functional.jacobian(lambda s: s.softmax(0), row) for row in scores.reshape(-1, scores.shape[-1])
    ]
    return torch.stack(rows).reshape(*scores.shape, scores.shape[-1])


def backward_by_autograd(query, key, value, d_output):
    leaves = [x.clone().requires_grad_() for x in (query, key, value)]
    return torch.autograd.grad(F.scaled_dot_product_attention(*leaves), leaves, d_output)


def backward_by_jacobian(q, k, v, g):
    c = q.shape[-1] ** -0.5
    p = (c * q @ k.mT).softmax(-1)
    d_scores = torch.einsum(
        "...ij,...ijl->...il", torch.einsum("...id,...jd->...ij", g, v), jacobian_by_identity(c * q @ k.mT)
    )
    return [
        c * d_scores @ k,
        c * torch.einsum("...ij,...id->...jd", d_scores, q),
        torch.einsum("...ij,...id->...jd", p, g),
    ]


ALTERNATIVES = {
    "scaled-scores": [
        lambda q, k: torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5,
        scores_by_loops,
        lambda q, k: (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).swapaxes(-1, -2),
    ],
    "softmax-stable": [softmax_by_rows, softmax_in_place, lambda s: s.softmax(-1).nan_to_num(0.0)],
    "causal-mask": [causal_by_loops, causal_by_flip, masks.causal],
    "padding-mask": [padding_by_loops, padding_by_lists, masks.padding],
    "masked-weights": [
        masked_by_hand,
        masked_by_bias,
        lambda scores, mask: torch.where(mask, scores, -1e30).softmax(-1) * mask,
    ],
    "attention": [attention_by_einsum, attention_by_queries, F.scaled_dot_product_attention, package_attention],
    "debug-padded-batch": [sentences_alone, sentences_by_average_weight],
    "softmax-jacobian": [jacobian_by_loops, jacobian_by_identity, jacobian_by_autograd],
    "attention-backward": [backward_by_autograd, backward_by_jacobian],
}
