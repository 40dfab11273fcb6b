"""Right answers to the stages of attention in tiles, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F


def fold_by_logarithms(state, scores, value):
    """Join the old results and the tile as two parts of one softmax, with the tile's own sums."""
    top, total, output = state
    own = scores.max(1, keepdim=True).values
    new = torch.where(own > top, own, top)

    def factor(of):
        return torch.where(of.isneginf(), torch.zeros_like(of), (of - new).exp())

    powers = torch.where(own.isneginf(), torch.zeros_like(scores), (scores - own).exp())
    joined = total * factor(top) + powers.sum(1, keepdim=True) * factor(own)
    return [new, joined, output * factor(top) + (powers @ value) * factor(own)]


def fold_row_by_row(state, scores, value):
    """Change the given tensors, row by row and key by key."""
    top, total, output = state
    for i in range(len(scores)):
        for j in range(scores.shape[1]):
            if scores[i, j] == -math.inf:
                continue
            new = max(top[i, 0].clone(), scores[i, j])
            shrink, power = torch.exp(top[i, 0] - new), torch.exp(scores[i, j] - new)
            total[i] = total[i] * shrink + power
            output[i] = output[i] * shrink + power * value[j]
            top[i] = new
    return top, total, output


def causal_in_place(query, key, value, rows, cols):
    """Write the results into their places; keep a normalised output and its logsumexp all the way."""
    t, d_k = query.shape
    output, lse = torch.zeros_like(value), query.new_full((t,), -math.inf)
    for i in range(0, t, rows):
        q, part = query[i : i + rows], lse[i : i + rows]
        for j in range(0, min(i + rows, t), cols):
            scores = torch.einsum("id,jd->ij", q, key[j : j + cols]) * d_k**-0.5
            hidden = (torch.arange(scores.shape[1]) + j)[None] > (torch.arange(len(q)) + i)[:, None]
            scores[hidden] = -math.inf
            both = torch.logaddexp(part, scores.logsumexp(1))
            old = (part - both).exp()[:, None]
            output[i : i + rows] = output[i : i + rows] * old + (scores - both[:, None]).exp() @ value[j : j + cols]
            part.copy_(both)
    return output, lse


def causal_diagonal_apart(query, key, value, rows, cols):
    """Mask only the tiles that need it, and split the tensors before."""
    scale, results = 1 / math.sqrt(query.shape[-1]), []
    for i, q in enumerate(query.split(rows)):
        begin = i * rows
        top = torch.full((len(q),), -math.inf, dtype=q.dtype)
        total, output = torch.zeros_like(top), q.new_zeros(len(q), value.shape[-1])
        for j, (k, v) in enumerate(zip(key.split(cols), value.split(cols), strict=True)):
            if j * cols >= begin + len(q):
                break
            scores = F.linear(q, k) * scale
            if (j + 1) * cols > begin + 1:
                scores += torch.full_like(scores, -math.inf).triu(begin - j * cols + 1)
            new = torch.maximum(top, scores.amax(1))
            shrink = (top - new).exp()
            powers = (scores - new[:, None]).exp()
            total, output, top = total * shrink + powers.sum(1), output * shrink[:, None] + powers @ v, new
        results.append((output / total[:, None], total.log() + top))
    return tuple(torch.cat(parts) for parts in zip(*results, strict=True))


def backward_keys_outside(query, key, value, output, lse, d_output, rows, cols):
    """Tiles of keys in the outer loop, as FlashAttention goes, so that a key's gradients are finished in one pass."""
    t, scale = len(query), query.shape[1] ** -0.5
    mean = torch.linalg.vecdot(output, d_output)
    d_query, d_keys, d_values = torch.zeros_like(query), [], []
    for j in range(0, t, cols):
        k, v = key[j : j + cols], value[j : j + cols]
        d_k, d_v = torch.zeros_like(k), torch.zeros_like(v)
        for i in range(j // rows * rows, t, rows):
            q, d_o = query[i : i + rows], d_output[i : i + rows]
            shifted = torch.addmm(-lse[i : i + rows, None], q, k.T, alpha=scale)
            seen = torch.arange(i, i + len(q))[:, None] >= torch.arange(j, j + len(k))
            weights = torch.where(seen, shifted.exp(), torch.zeros_like(shifted))
            d_v += weights.T @ d_o
            d_s = weights * torch.sub(d_o @ v.T, mean[i : i + rows, None])
            d_query[i : i + rows] += scale * (d_s @ k)
            d_k += scale * (d_s.T @ q)
        d_keys.append(d_k)
        d_values.append(d_v)
    return d_query, torch.cat(d_keys), torch.cat(d_values)


def backward_by_einsum(query, key, value, output, lse, d_output, rows, cols):
    """Collect the parts of each row of tiles, with the mean folded into the gradient of the output."""
    d_k, d_v = torch.zeros_like(key), torch.zeros_like(value)
    parts = []
    for i in range(0, len(query), rows):
        q, d_o = query[i : i + rows], d_output[i : i + rows]
        mean = torch.einsum("id,id->i", output[i : i + rows], d_o)
        total = torch.zeros_like(q)
        for j in range(0, i + len(q), cols):
            k, v = key[j : j + cols], value[j : j + cols]
            scores = torch.einsum("id,jd->ij", q / math.sqrt(q.shape[1]), k)
            scores = scores.where(torch.ones_like(scores, dtype=torch.bool).tril(i - j), torch.tensor(-math.inf).to(q))
            weights = torch.exp(scores - lse[i : i + rows].unsqueeze(-1))
            d_s = weights * (torch.einsum("iv,jv->ij", d_o, v) - mean[:, None]) / math.sqrt(q.shape[1])
            total = total + torch.einsum("ij,jd->id", d_s, k)
            d_k[j : j + cols] += torch.einsum("ij,id->jd", d_s, q)
            d_v[j : j + cols] += torch.einsum("ij,iv->jv", weights, d_o)
        parts.append(total)
    return torch.cat(parts), d_k, d_v


ALTERNATIVES = {
    "tiles-fold": (fold_by_logarithms, fold_row_by_row),
    "tiles-causal": (causal_in_place, causal_diagonal_apart),
    "tiles-backward": (backward_keys_outside, backward_by_einsum),
}
