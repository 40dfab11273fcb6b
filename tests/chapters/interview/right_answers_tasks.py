"""Right answers to the stages of the composed tasks, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F

from companion.multihead import merge_heads, reference, split_heads


def heads_by_einsum(query, key, value, n_heads, allowed):
    q, k, v = (x.unflatten(-1, (n_heads, -1)) for x in (query, key, value))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
    if allowed is None:
        allowed = torch.ones(scores.shape[0], *scores.shape[2:], dtype=torch.bool)
    some = allowed.any(-1)
    shown = (allowed | ~some[..., None])[:, None]
    weights = torch.where(shown, scores, -torch.inf).softmax(-1) * some[:, None, :, None]
    return torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2)


def heads_one_by_one(query, key, value, n_heads, allowed):
    found = []
    for q, k, v in zip(*(x.chunk(n_heads, dim=-1) for x in (query, key, value)), strict=True):
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
        if allowed is not None:
            scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        scores = scores - scores.amax(dim=-1, keepdim=True).detach()
        powers = scores.exp() if allowed is None else scores.exp() * allowed
        found.append(
            torch.bmm(powers / powers.sum(-1, keepdim=True).clamp(min=1e-300 if q.dtype.itemsize == 8 else 1e-38), v)
        )
    return torch.cat(found, dim=-1)


def heads_of_the_package(query, key, value, n_heads, allowed):
    heads = (split_heads(x, n_heads) for x in (query, key, value))
    return merge_heads(reference(*heads, None if allowed is None else allowed[:, None]))


def heads_with_nan_replaced(query, key, value, n_heads, allowed):
    q, k, v = (x.view(*x.shape[:2], n_heads, -1).permute(0, 2, 1, 3) for x in (query, key, value))
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if allowed is not None:
        scores = scores.masked_fill(allowed.unsqueeze(1).logical_not(), float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    weights = torch.where(weights.isnan(), 0.0, weights)
    return (weights @ v).permute(0, 2, 1, 3).reshape(*query.shape[:2], -1)


def layer_by_positions(x, w_q, w_k, w_v, w_o, n_heads, real):
    places = torch.arange(x.shape[1])
    allowed = (places[None, :, None] >= places[None, None]) & real.unsqueeze(1)
    return heads_of_the_package(x @ w_q, x @ w_k, x @ w_v, n_heads, allowed) @ w_o


def layer_without_padding(x, w_q, w_k, w_v, w_o, n_heads, real):
    """Take the padding out, run torch's own causal attention on each text, and put zeros at padding."""
    out = torch.zeros_like(x)
    for number, (row, keep) in enumerate(zip(x, real, strict=True)):
        q, k, v = ((row[keep] @ w).unflatten(-1, (n_heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out = out.index_put((torch.tensor(number), keep.nonzero()[:, 0]), found.transpose(0, 1).flatten(1) @ w_o)
    return out


def cached_in_a_dict(x, w_q, w_k, w_v, w_o, n_heads, real, cache):
    """Keep chunks in lists, and number the positions."""
    cache = cache or {"keys": [], "values": [], "real": [], "length": 0}
    cache["keys"].append(x @ w_k)
    cache["values"].append(x @ w_v)
    cache["real"].append(real)
    start, cache["length"] = cache["length"], cache["length"] + x.shape[1]
    rows, columns = torch.arange(start, cache["length"]), torch.arange(cache["length"])
    allowed = (rows[:, None] >= columns) & torch.cat(cache["real"], 1).unsqueeze(1)
    keys, values = torch.cat(cache["keys"], 1), torch.cat(cache["values"], 1)
    return heads_by_einsum(x @ w_q, keys, values, n_heads, allowed) @ w_o, cache


class Room:
    """Keys and values in memory that is taken beforehand and written in place."""

    def __init__(self, batch, width, dtype, size):
        self.keys, self.values = (torch.zeros(batch, size, width, dtype=dtype) for _ in range(2))
        self.real, self.used = torch.zeros(batch, size, dtype=torch.bool), 0

    def write(self, keys, values, real):
        here = slice(self.used, self.used + keys.shape[1])
        self.keys[:, here], self.values[:, here], self.real[:, here] = keys, values, real
        self.used = here.stop
        return self.keys[:, : self.used], self.values[:, : self.used], self.real[:, : self.used]


def cached_in_room(x, w_q, w_k, w_v, w_o, n_heads, real, cache):
    cache = Room(len(x), w_k.shape[1], x.dtype, 32) if cache is None else cache
    keys, values, seen = cache.write(x @ w_k, x @ w_v, real)
    bias = torch.full((x.shape[1], cache.used), True).tril(cache.used - x.shape[1])
    return heads_with_nan_replaced(x @ w_q, keys, values, n_heads, bias & seen[:, None]) @ w_o, cache


def grouped_by_einsum(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, real, cache):
    q = (x @ w_q).unflatten(-1, (n_kv_heads, n_heads // n_kv_heads, -1))
    new = *((x @ w).unflatten(-1, (n_kv_heads, -1)) for w in (w_k, w_v)), real
    keys, values, seen = new if cache is None else (torch.cat(pair, 1) for pair in zip(cache, new, strict=True))
    scores = torch.einsum("bigmd,bjgd->bgmij", q, keys) / q.shape[-1] ** 0.5
    allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(keys.shape[1] - x.shape[1]) & seen[:, None]
    weights = scores.masked_fill(~allowed[:, None, None], torch.finfo(x.dtype).min).softmax(-1)
    return torch.einsum("bgmij,bjgd->bigmd", weights, values).flatten(2) @ w_o, [keys, values, seen]


def grouped_by_loop(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, real, cache):
    """Run the cached layer of one key head for each group, each with a cache of its own."""
    caches, total, share = cache or [None] * n_kv_heads, 0, n_heads // n_kv_heads
    width, after = w_k.shape[1] // n_kv_heads, []
    for group, old in enumerate(caches):
        own, narrow = (
            slice(group * share * width, (group + 1) * share * width),
            slice(group * width, (group + 1) * width),
        )
        key, value = x @ w_k[:, narrow], x @ w_v[:, narrow]
        new = (
            (key, value, real)
            if old is None
            else tuple(torch.cat(p, 1) for p in zip(old, (key, value, real), strict=True))
        )
        allowed = torch.ones(x.shape[1], new[0].shape[1], dtype=torch.bool).tril(new[0].shape[1] - x.shape[1])
        repeated = (y.repeat(1, 1, share) for y in new[:2])
        found = heads_by_einsum(x @ w_q[:, own], *repeated, share, allowed & new[2][:, None])
        total = total + found @ w_o[own]
        after.append(new)
    return total, after


ALTERNATIVES = {
    "grow-heads": (heads_by_einsum, heads_one_by_one, heads_of_the_package, heads_with_nan_replaced),
    "grow-masks": (layer_by_positions, layer_without_padding),
    "grow-cache": (cached_in_a_dict, cached_in_room),
    "grow-groups": (grouped_by_einsum, grouped_by_loop),
}


def nan_to_num_behind_an_added_mask(query, key, value, n_heads, allowed):
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (query, key, value))
    bias = 0.0 if allowed is None else torch.where(allowed, 0.0, -torch.inf).to(q.dtype)[:, None]
    return torch.nan_to_num((q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1) @ v).transpose(1, 2).flatten(2)


def view_both_ways(query, key, value, n_heads, allowed):
    batch, t_q, _ = query.shape
    q, k, v = (x.reshape(batch, n_heads, x.shape[1], -1) for x in (query, key, value))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if allowed is not None:
        scores = scores.masked_fill(~allowed.unsqueeze(1), -1e300 if q.dtype == torch.float64 else -1e30)
        scores = torch.where(allowed.any(-1)[:, None, :, None], scores, 0.0)
        v_weights = scores.softmax(-1) * allowed.any(-1)[:, None, :, None]
        return (v_weights @ v).reshape(batch, t_q, -1)
    return (scores.softmax(-1) @ v).reshape(batch, t_q, -1)


def misplaced_diagonal(x, w_q, w_k, w_v, w_o, n_heads, real, cache):
    key, value = x @ w_k, x @ w_v
    if cache:
        key, value, real = (
            torch.cat([cache[0], key], 1),
            torch.cat([cache[1], value], 1),
            torch.cat([cache[2], real], 1),
        )
    allowed = (torch.arange(x.shape[1])[:, None] >= torch.arange(key.shape[1])) & real[:, None]
    return heads_by_einsum(x @ w_q, key, value, n_heads, allowed) @ w_o, [key, value, real]


def tiled_groups(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, real, cache):
    share, width = n_heads // n_kv_heads, w_k.shape[1] // n_kv_heads
    order = torch.arange(n_heads).view(n_kv_heads, share).mT.flatten()  # reads the query heads in tiled order
    places = (order[:, None] * width + torch.arange(width)).flatten()
    back = places.argsort()
    return grouped_by_einsum(x, w_q[:, back], w_k, w_v, w_o[back], n_heads, n_kv_heads, real, cache)


AS_WRITTEN = [
    ("grow-heads", "nan-in-the-gradient", nan_to_num_behind_an_added_mask),
    ("grow-heads", "both-by-view", view_both_ways),
    ("grow-cache", "diagonal-at-the-left", misplaced_diagonal),
    ("grow-groups", "tiled", tiled_groups),
]
