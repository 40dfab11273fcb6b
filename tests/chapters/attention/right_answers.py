"""Right answers to the exercises on attention, written in other ways than the references."""

import itertools
import math

import torch
import torch.nn.functional as F

from companion import masks
from companion.attention import attention as package_attention
from companion.attention import attention_weights


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
            weights = masked_by_hand(scores, mask.expand(*query.shape[:-1], -1)[..., i, :].expand(scores.shape))
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


def backward_by_output(q, k, v, g):
    """As FlashAttention: the sum over a row is that of the output times its gradient; the scale goes into the query."""
    q = q / math.sqrt(k.shape[-1])
    p = (q @ k.mT).softmax(-1)
    row = ((p @ v) * g).sum(-1, keepdim=True)
    d_scores = p * (g @ v.mT - row)
    return [d_scores @ k / math.sqrt(k.shape[-1]), d_scores.mT @ q, p.mT @ g]


ALTERNATIVES = {
    "scaled-scores": [
        lambda q, k: torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5,
        scores_by_loops,
        lambda q, k: (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).swapaxes(-1, -2),
    ],
    "softmax-stable": [softmax_by_rows, softmax_in_place],
    "causal-mask": [causal_by_loops, causal_by_flip, masks.causal],
    "padding-mask": [padding_by_loops, padding_by_lists, masks.padding],
    "masked-weights": [
        masked_by_hand,
        masked_by_bias,
        lambda scores, mask: torch.where(mask, scores, -1e30).softmax(-1) * mask,
    ],
    "attention": [
        attention_by_einsum,
        attention_by_queries,
        F.scaled_dot_product_attention,
        lambda q, k, v, m=None: package_attention(q, k, v, m if m is None else m.expand((q @ k.mT).shape)),
    ],
    "debug-padded-batch": [sentences_alone, sentences_by_average_weight],
    "softmax-jacobian": [jacobian_by_loops, jacobian_by_identity, jacobian_by_autograd],
    "attention-backward": [backward_by_jacobian, backward_by_output],
}


def as_given(x, lengths, w_q, w_k, w_v):
    """The code that the chapter hands over for repair."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    real = torch.arange(x.shape[1]) <= lengths[:, None]
    weights = scores.softmax(dim=-1) * real[:, None, :]
    output = weights @ value
    return output.mean(dim=1)


def two_axes(x, lengths, w_q, w_k, w_v):
    real = torch.stack([torch.arange(x.shape[1]) < n for n in lengths])
    scores = torch.where(real, (x @ w_q) @ (x @ w_k).mT / w_q.shape[1] ** 0.5, -torch.inf)
    return (scores.softmax(-1) @ (x @ w_v) * real[..., None]).sum(1) / lengths[:, None]


def backward_without_row_sum(q, k, v, g):
    c = q.shape[-1] ** -0.5
    p = torch.einsum("...id,...jd->...ij", c * q, k).softmax(-1)
    d = c * p * torch.einsum("...id,...jd->...ij", g, v)
    return d @ k, torch.einsum("...ij,...id->...jd", d, q), p.mT @ g


def backward_without_scale(q, k, v, g):
    d_query, d_key, d_value = backward_by_autograd(q, k, v, g)
    return d_query * q.shape[-1] ** 0.5, d_key * q.shape[-1] ** 0.5, d_value


def backward_without_transpose(q, k, v, g):
    weights = ((q / q.shape[-1] ** 0.5) @ k.mT).softmax(-1)
    return (*backward_by_autograd(q, k, v, g)[:2], weights @ g)


def softmax_then_mask(scores, mask):
    weights = torch.where(mask, scores.softmax(-1), 0.0)
    return weights / weights.sum(-1, keepdim=True)


def attention_then_mask(query, key, value, mask):
    if mask is None:
        return package_attention(query, key, value)
    return softmax_then_mask(query @ key.mT / query.shape[-1] ** 0.5, mask) @ value


def sentences_then_mask(x, lengths, w_q, w_k, w_v):
    real = torch.arange(x.shape[1]) < lengths[:, None]
    output = attention_then_mask(x @ w_q, x @ w_k, x @ w_v, real[:, None])
    return torch.where(real[..., None], output, 0.0).sum(1) / lengths[:, None]


def backward_without_keepdim(q, k, v, g):
    c = q.shape[-1] ** -0.5
    p = (c * q @ k.mT).softmax(-1)
    d = p * (g @ v.mT)
    d = c * (d - p * d.sum(-1))
    return d @ k, torch.einsum("...ij,...id->...jd", d, q), p.mT @ g


def attention_by_einsum_weights(scores, mask):
    powers = torch.where(mask, (scores - scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)).exp(), 0.0)
    return powers / powers.sum(-1, keepdim=True)


def over_queries(q, k, v, mask):
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    scores = scores if mask is None else torch.where(mask, scores, -torch.inf)
    return torch.softmax(scores, dim=scores.ndim - 2).nan_to_num(0.0) @ v


def off_by_one(x, lengths, w_q, w_k, w_v):
    seen = (lengths + 1).clamp_max(x.shape[1])
    real = torch.arange(x.shape[1]) < seen[:, None]
    output = package_attention(x @ w_q, x @ w_k, x @ w_v, masks.padding(seen, x.shape[1]))
    return torch.where(real[..., None], output, 0.0).sum(1) / lengths[:, None]


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("scaled-scores", "not-transposed", lambda q, k: torch.matmul(q, k)),
    ("scaled-scores", "not-transposed", lambda q, k: k @ (q / q.shape[-1] ** 0.5)),
    ("masked-weights", "renormalised", lambda s, mask: softmax_then_mask(s, mask)),
    ("masked-weights", "renormalised", lambda s, mask: softmax_then_mask(s, mask).nan_to_num(0.0)),
    ("masked-weights", "renormalised", lambda s, mask: F.normalize(torch.softmax(s, -1) * mask, p=1, dim=-1)),
    ("attention", "key-not-transposed", lambda q, k, v, m=None: torch.softmax(q @ k / q.shape[-1] ** 0.5, -1) @ v),
    ("attention", "renormalised", lambda q, k, v, m=None: attention_then_mask(q, k, v, m)),
    ("debug-padded-batch", "renormalised", lambda x, n, *w: sentences_then_mask(x, n, *w)),
    ("attention-backward", "key-not-transposed", lambda q, k, v, g: torch.softmax(q @ k, -1).mT @ g),
    ("attention-backward", "no-keepdim", lambda q, k, v, g: backward_without_keepdim(q, k, v, g)),
    ("scaled-scores", "no-scale", lambda q, k: torch.einsum("...id,...jd->...ij", q, k)),
    ("scaled-scores", "width-not-root", lambda q, k: (q / q.shape[-1]) @ k.swapaxes(-1, -2)),
    ("scaled-scores", "keys-by-queries", lambda q, k: torch.einsum("...id,...jd->...ji", q, k) / q.shape[-1] ** 0.5),
    ("scaled-scores", "wrong-axes-swapped", lambda q, k: q @ k.permute(*range(k.ndim)[::-1]) / q.shape[-1] ** 0.5),
    ("scaled-scores", "softmax-applied", lambda q, k: attention_weights(q, k)),
    ("softmax-stable", "no-shift", lambda s: (math.e**s) / (math.e**s).sum(-1, keepdim=True)),
    ("softmax-stable", "over-queries", lambda s: softmax_by_rows(s.mT).mT),
    ("softmax-stable", "one-maximum", lambda s: F.normalize((s - s.max()).exp(), p=1, dim=-1)),
    ("softmax-stable", "empty-row-nan", lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()),
    ("causal-mask", "top-left", lambda t_q, t_k: torch.arange(t_k) <= torch.arange(t_q)[:, None]),
    ("causal-mask", "strict", lambda t_q, t_k: torch.arange(t_k) < torch.arange(t_k - t_q, t_k)[:, None]),
    ("causal-mask", "hides-where-true", lambda t_q, t_k: torch.arange(t_k) > torch.arange(t_k - t_q, t_k)[:, None]),
    ("causal-mask", "zeros-and-ones", lambda t_q, t_k: torch.tril(torch.ones(t_q, t_k), t_k - t_q)),
    ("padding-mask", "two-axes", lambda n, t_k: padding_by_loops(n, t_k)[:, 0]),
    ("padding-mask", "off-by-one", lambda n, t_k: padding_by_loops(n + 1, t_k)),
    ("padding-mask", "true-for-padding", lambda n, t_k: padding_by_loops(n, t_k).logical_not()),
    ("masked-weights", "inverted", lambda s, mask: torch.where(mask, -torch.inf, s).softmax(-1)),
    ("masked-weights", "after-softmax", lambda s, mask: torch.where(mask, s.softmax(-1), 0.0)),
    ("masked-weights", "finite-stand-in", lambda s, mask: torch.where(mask, s, -1e9).softmax(-1)),
    ("masked-weights", "empty-row-nan", lambda s, mask: attention_by_einsum_weights(s, mask)),
    ("attention", "over-queries", lambda q, k, v, m=None: over_queries(q, k, v, m)),
    ("attention", "no-scale", lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, scale=1.0)),
    ("attention", "mask-inverted", lambda q, k, v, m=None: package_attention(q, k, v, m if m is None else ~m)),
    ("attention", "mask-ignored", lambda q, k, v, m=None: attention_by_einsum(q, k, v)),
    ("attention", "weights-returned", lambda q, k, v, m=None: attention_weights(q, k, m)),
    ("debug-padded-batch", "as-given", as_given),
    ("debug-padded-batch", "two-axes", two_axes),
    ("debug-padded-batch", "off-by-one", lambda x, n, *w: off_by_one(x, n, *w)),
    ("softmax-jacobian", "no-product", lambda s: torch.eye(s.shape[-1], dtype=s.dtype) * s.softmax(-1)[..., None]),
    ("softmax-jacobian", "plus", lambda s: 2 * torch.diag_embed(s.softmax(-1)) - jacobian_by_loops(s)),
    ("softmax-jacobian", "vector", lambda s: s.softmax(-1) - s.softmax(-1) ** 2),
    ("attention-backward", "no-row-sum", backward_without_row_sum),
    ("attention-backward", "no-scale", backward_without_scale),
    ("attention-backward", "value-untransposed", backward_without_transpose),
    ("attention-backward", "order-swapped", lambda *given: [backward_by_jacobian(*given)[i] for i in (1, 0, 2)]),
]
