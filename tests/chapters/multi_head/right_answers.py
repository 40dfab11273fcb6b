"""Right answers to the exercises on multi-head attention, written in other ways than the references."""

import torch
import torch.nn.functional as F

from companion.attention import attention as package_attention
from companion.multihead import merge_heads, split_heads


def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def multi_head_by_loops(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    parts = zip(*(w.chunk(n_heads, dim=1) for w in (w_q, w_k, w_v)), w_o.chunk(n_heads), strict=True)
    return sum(package_attention(x @ q, x @ k, x @ v, mask) @ o for q, k, v, o in parts)


def multi_head_by_sdpa(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split_by_chunks(x @ w, n_heads) for w in (w_q, w_k, w_v))
    heads = F.scaled_dot_product_attention(q, k, v, None if mask is None else mask[:, None])
    return torch.cat(heads.unbind(1), dim=-1) @ w_o


def contributions_by_loops(heads, w_o):
    return torch.stack([h @ w for h, w in zip(heads.unbind(1), w_o.chunk(heads.shape[1]), strict=True)], dim=1)


def prune_by_blocks(w_q, w_k, w_v, w_o, n_heads, keep):
    inner = [torch.cat([w.chunk(n_heads, dim=1)[i] for i in keep.tolist()], dim=1) for w in (w_q, w_k, w_v)]
    return (*inner, torch.cat([w_o.chunk(n_heads)[i] for i in keep.tolist()]))


def prune_by_indices(w_q, w_k, w_v, w_o, n_heads, keep):
    def features(total):
        width = total // n_heads
        return [int(head) * width + i for head in keep for i in range(width)]

    return (*(w[:, features(w.shape[1])] for w in (w_q, w_k, w_v)), w_o[features(len(w_o))])


def importance_by_gates(contributions, gradient):
    gate = torch.ones(contributions.shape[:2], dtype=contributions.dtype, requires_grad=True)
    output = (gate[:, :, None, None] * contributions).sum(1)
    return torch.autograd.grad((output * gradient).sum(), gate)[0].abs().mean(0)


ALTERNATIVES = {
    "split-heads": [split_by_chunks, lambda x, h: torch.einsum("bthd->bhtd", x.unflatten(-1, (h, -1)))],
    "merge-heads": [
        lambda heads: torch.cat(heads.unbind(1), dim=-1),
        lambda heads: torch.einsum("bhtd->bthd", heads).reshape(len(heads), heads.shape[2], -1),
    ],
    "repeat-heads": [
        lambda heads, n: heads[:, [i * heads.shape[1] // n for i in range(n)]],
        lambda heads, n: heads[:, :, None].expand(-1, -1, n // heads.shape[1], -1, -1).flatten(1, 2),
    ],
    "multi-head": [multi_head_by_loops, multi_head_by_sdpa],
    "head-contributions": [
        contributions_by_loops,
        lambda heads, w: torch.einsum("bhtv,hvm->bhtm", heads, w.view(heads.shape[1], -1, w.shape[1])),
    ],
    "prune-heads": [prune_by_blocks, prune_by_indices],
    "head-importance": [
        importance_by_gates,
        lambda c, g: torch.einsum("bhtm,btm->bh", c, g).abs().sum(0) / len(c),
    ],
}


def softmax_over_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
    scores = scores if mask is None else torch.where(mask[:, None], scores, -torch.inf)
    return merge_heads(torch.softmax(scores, 1) @ v) @ w_o


def joined_by_reshape(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    mask = None if mask is None else mask[:, None]
    heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    return heads.reshape(len(x), x.shape[1], -1) @ w_o


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("split-heads", "view-only", lambda x, h: x.view(len(x), h, x.shape[1], x.shape[2] // h)),
    ("split-heads", "interleaved", lambda x, h: torch.stack([x[..., i::h] for i in range(h)], dim=1)),
    ("split-heads", "positions-last", lambda x, h: torch.stack(x.chunk(h, -1), 1).mT),
    ("merge-heads", "no-transpose", lambda heads: heads.reshape(len(heads), heads.shape[2], -1)),
    ("merge-heads", "interleaved", lambda heads: torch.stack(heads.unbind(1), dim=-1).flatten(2)),
    ("merge-heads", "added", lambda heads: sum(heads.unbind(1))),
    ("repeat-heads", "tiled", lambda heads, n: torch.cat([heads] * (n // heads.shape[1]), dim=1)),
    ("multi-head", "over-heads", softmax_over_heads),
    ("multi-head", "joined-by-view", joined_by_reshape),
    ("head-contributions", "first-block", lambda h, w: torch.stack([x @ w[: h.shape[-1]] for x in h.unbind(1)], 1)),
    ("head-importance", "sign-dropped-last", lambda c, g: torch.einsum("bhtm,btm->h", c, g).abs() / len(c)),
    (
        "head-importance",
        "sign-dropped-by-position",
        lambda c, g: torch.einsum("bhtm,btm->bht", c, g).abs().sum(2).mean(0),
    ),
]
