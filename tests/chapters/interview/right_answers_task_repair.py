"""Right repairs of the parts of a whole model, written in other ways than the references."""

import torch
import torch.nn.functional as F

from companion.chapters.interview.exercises.task_repair_1_attention import _attention
from companion.chapters.interview.exercises.task_repair_2_block import _block
from companion.multihead.heads import merge_heads, split_heads


def attention_by_torch(x, w_qkv, w_o, n_heads):
    q, k, v = (split_heads(part, n_heads) for part in (x @ w_qkv).chunk(3, dim=-1))
    return merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ w_o


def attention_head_by_head(x, w_qkv, w_o, n_heads):
    """One head after another; the exponentials of what is seen, divided by their sum."""
    d_k = x.shape[-1] // n_heads
    found = []
    for q, k, v in zip(*(part.split(d_k, dim=-1) for part in (x @ w_qkv).tensor_split(3, dim=-1)), strict=True):
        scores = torch.einsum("bid,bjd->bij", q, k) * d_k**-0.5
        scores = scores + torch.full_like(scores[0], -torch.inf).triu(1)
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        found.append(powers @ v / powers.sum(-1, keepdim=True))
    return torch.cat(found, dim=-1).matmul(w_o)


def block_with_a_stream(x, w_qkv, w_o, gains, w_up, w_down, n_heads):
    stream = x.clone()
    stream += _attention(F.rms_norm(stream, stream.shape[-1:], gains[0]), w_qkv, w_o, n_heads)
    hidden = F.relu(F.rms_norm(stream, stream.shape[-1:], gains[1]) @ w_up)
    return stream + hidden @ w_down


def block_by_roots(x, w_qkv, w_o, gains, w_up, w_down, n_heads):
    """Norms by hand, with the epsilon of PyTorch's, and the gains in the maps."""

    def scaled(y):
        return y * (y.square().mean(-1, keepdim=True) + torch.finfo(y.dtype).eps).rsqrt()

    y = x + attention_by_torch(scaled(x), gains[0][:, None] * w_qkv, w_o, n_heads)
    return y + torch.clamp(scaled(y) @ (gains[1][:, None] * w_up), min=0) @ w_down


def model_by_index(tokens, table, places, w_qkv, w_o, gains, w_up, w_down, n_heads):
    x = F.embedding(tokens, table) + F.embedding(torch.arange(tokens.shape[1]), places)
    for i in range(len(w_o)):
        x = _block(x, w_qkv[i], w_o[i], gains[i], w_up[i], w_down[i], n_heads)
    return F.linear(F.rms_norm(x, (x.shape[-1],)), table)


def model_text_by_text(tokens, table, places, w_qkv, w_o, gains, w_up, w_down, n_heads):
    rows = []
    for text in tokens:
        x = torch.stack([table[token] + places[at] for at, token in enumerate(text)])[None]
        for layer in zip(w_qkv, w_o, gains, w_up, w_down, strict=True):
            x = block_with_a_stream(x, *layer, n_heads)
        rows.append(torch.einsum("td,vd->tv", F.rms_norm(x[0], x.shape[-1:]), table))
    return torch.stack(rows)


ALTERNATIVES = {
    "repair-attention": (attention_by_torch, attention_head_by_head),
    "repair-block": (block_with_a_stream, block_by_roots),
    "repair-model": (model_by_index, model_text_by_text),
}
