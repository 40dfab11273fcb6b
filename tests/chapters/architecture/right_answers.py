"""Right answers to the exercises on the whole architecture, written in other ways than the references."""

import torch
import torch.nn.functional as F

from companion import masks
from companion.attention import attention as package_attention


def shifted_by_lists(target, start):
    return torch.tensor([[start, *row[:-1]] for row in target.tolist()])


def shifted_by_roll(target, start):
    return target.roll(1, dims=1).index_fill(1, torch.tensor([0]), start)


def ends_by_one_hot(tokens, table, code, hidden):
    rows = F.one_hot(tokens, len(table)).to(table) @ table
    return rows * table.shape[1] ** 0.5 + code, torch.einsum("btd,vd->btv", hidden, table)


def masks_by_lists(source_lengths, t):
    longest = max(source_lengths.tolist())
    real = torch.tensor([[[j < n for j in range(longest)]] for n in source_lengths.tolist()])
    return real, torch.tensor([[j <= i for j in range(t)] for i in range(t)]), real


def count_by_matrices(vocab, d_model, n_layers, d_ff):
    square = [(d_model, d_model), (1, d_model)] * 4
    network = [(d_model, d_ff), (1, d_ff), (d_ff, d_model), (1, d_model)]
    encoder, decoder = square + network + [(2, d_model)] * 2, square * 2 + network + [(2, d_model)] * 3
    return sum(a * b for a, b in (encoder + decoder) * n_layers) + vocab * d_model


def greedy_by_recursion(logits, start, end, max_new):
    def rest(token, left):
        found = int(logits[token].topk(1).indices)
        return [found] + ([] if found == end or left == 1 else rest(found, left - 1))

    return torch.tensor(rest(start, max_new))


def decoder_layer_by_sdpa(x, memory, w_self, w_cross, w_1, w_2):
    def norm(y):
        return (y - y.mean(-1, keepdim=True)) / (y.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    q, k, v = (x @ w for w in w_self)
    x = norm(x + F.scaled_dot_product_attention(q, k, v, is_causal=True))
    x = norm(x + F.scaled_dot_product_attention(x @ w_cross[0], memory @ w_cross[1], memory @ w_cross[2]))
    return norm(x + F.linear(F.relu(F.linear(x, w_1.T)), w_2.T))


def decoder_layer_by_positions(x, memory, w_self, w_cross, w_1, w_2):
    def norm(y):
        return F.layer_norm(y, y.shape[-1:])

    q, k, v = (x @ w for w in w_self)
    seen = [package_attention(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1]) for i in range(x.shape[1])]
    x = norm(x + torch.cat(seen, dim=1))
    x = norm(x + package_attention(*(y @ w for y, w in zip((x, memory, memory), w_cross, strict=True))))
    return norm(x + torch.where(x @ w_1 > 0, x @ w_1, 0.0) @ w_2)


ALTERNATIVES = {
    "shift-target": [shifted_by_lists, shifted_by_roll],
    "tied-embedding": [
        ends_by_one_hot,
        lambda w, e, p, h: (F.embedding(w, e * e.shape[1] ** 0.5).add(p), F.linear(h, e)),
    ],
    "pool-mean": [
        lambda x, lengths: torch.stack([row[:n].mean(0) for row, n in zip(x, lengths.tolist(), strict=True)]),
        lambda x, lengths: torch.einsum(
            "btd,bt->bd", x, (torch.arange(x.shape[1]) < lengths[:, None]).to(x) / lengths[:, None].to(x)
        ),
    ],
    "model-masks": [
        masks_by_lists,
        lambda lengths, t: (masks.padding(lengths), masks.causal(t), masks.padding(lengths)),
    ],
    "count-parameters": [
        count_by_matrices,
        lambda v, d, n, f: v * d + n * (12 * d * d + 12 * d + 4 * d * f + 2 * f + 2 * d + 10 * d),
    ],
    "greedy-decode": [
        greedy_by_recursion,
        lambda logits, start, end, max_new: greedy_by_recursion(logits.softmax(-1), start, end, max_new),
    ],
    "decoder-layer": [decoder_layer_by_sdpa, decoder_layer_by_positions],
}


def scaled_rows(tokens, table):
    return F.embedding(tokens, table) * table.shape[1] ** 0.5


def greedy_past_the_end(logits, start, end, max_new):
    made = [start]
    for _ in range(max_new):
        made.append(int(logits[made[-1]].argmax()))
    return torch.tensor(made[1:])


def layer_that_sees_the_future(x, memory, w_self, w_cross, w_1, w_2):
    def norm(y):
        return F.layer_norm(y, y.shape[-1:])

    x = norm(x + F.scaled_dot_product_attention(x @ w_self[0], x @ w_self[1], x @ w_self[2]))
    x = norm(x + F.scaled_dot_product_attention(x @ w_cross[0], memory @ w_cross[1], memory @ w_cross[2]))
    return norm(x + (x @ w_1).relu() @ w_2)


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("shift-target", "rolled", lambda target, start: torch.cat([target[:, -1:], target[:, :-1]], 1)),
    ("shift-target", "one-too-long", lambda target, start: F.pad(target, (1, 0), value=start)),
    ("tied-embedding", "no-factor", lambda w, e, p, h: (F.embedding(w, e) + p, F.linear(h, e))),
    ("tied-embedding", "probabilities", lambda w, e, p, h: (scaled_rows(w, e) + p, F.softmax(F.linear(h, e), -1))),
    ("pool-mean", "over-all", lambda x, lengths: x.sum(1) / x.shape[1]),
    ("pool-mean", "not-divided", lambda x, n: torch.stack([r[:k].sum(0) for r, k in zip(x, n.tolist(), strict=True)])),
    ("model-masks", "decoder-open", lambda n, t: (masks.padding(n), masks.causal(t) | True, masks.padding(n))),
    ("model-masks", "strict", lambda n, t: (masks.padding(n), masks.causal(t).tril(-1), masks.padding(n))),
    ("count-parameters", "two-tables", lambda v, d, n, f: 2 * v * d + n * (12 * d * d + 24 * d + 4 * d * f + 2 * f)),
    ("greedy-decode", "goes-on", greedy_past_the_end),
    ("decoder-layer", "not-causal", layer_that_sees_the_future),
]
