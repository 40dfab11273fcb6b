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
    """Change copies, row by row and key by key."""
    top, total, output = (x.clone() for x in state)
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


def lean_causal(reach):
    """Make an answer that works in place; of a row of tiles up to `stop` it takes the keys up to `reach(stop, t)`."""

    def answer(query, key, value, rows, cols):
        t, d_k = query.shape
        output, lse = torch.empty_like(value), query.new_empty(t)
        for start in range(0, t, rows):
            q = query[start : start + rows] / math.sqrt(d_k)
            stop = start + len(q)
            top = q.new_full((len(q), 1), -math.inf)
            total, part = torch.zeros_like(top), q.new_zeros(len(q), value.shape[1])
            for first in range(0, reach(stop, t), cols):
                scores = q @ key[first : first + cols].mT
                if first + cols > start + 1:
                    hidden = torch.ones(scores.shape, dtype=torch.bool).triu_(start - first + 1)
                    scores.masked_fill_(hidden, -math.inf)
                new = torch.maximum(top, scores.amax(1, keepdim=True))
                shrink, powers = (top - new).exp_(), scores.sub_(new).exp_()
                total.mul_(shrink).add_(powers.sum(1, keepdim=True))
                part.mul_(shrink).addmm_(powers, value[first : first + cols])
                top = new
            output[start:stop], lse[start:stop] = part / total, (top + total.log())[:, 0]
        return output, lse

    return answer


def lean_backward(reach):
    """The same for the backward pass, with all five products in place."""

    def answer(query, key, value, output, lse, d_output, rows, cols):
        t, scale = len(query), query.shape[1] ** -0.5
        d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
        mean = torch.linalg.vecdot(output, d_output)[:, None]
        for start in range(0, t, rows):
            r = slice(start, min(start + rows, t))
            for first in range(0, reach(r.stop, t), cols):
                c = slice(first, first + cols)
                weights = torch.addmm(-lse[r, None], query[r], key[c].mT, alpha=scale)
                if first + cols > start + 1:
                    hidden = torch.ones(weights.shape, dtype=torch.bool).triu_(start - first + 1)
                    weights.masked_fill_(hidden, -math.inf)
                d_value[c].addmm_(weights.exp_().mT, d_output[r])
                weights.mul_(torch.addmm(-mean[r], d_output[r], value[c].mT))
                d_query[r].addmm_(weights, key[c], alpha=scale)
                d_key[c].addmm_(weights.mT, query[r], alpha=scale)
        return d_query, d_key, d_value

    return answer


def one_row_of_tiles(answer):
    """Make tiles as wide as the text."""
    return lambda *given: answer(*given[:-1], len(given[0]))


def scores_of_all_later_queries(query, key, value, rows, cols):
    """One tile of keys after the other, and all queries that see some of it at once."""
    t, d_k = query.shape
    top = query.new_full((t, 1), -math.inf)
    total, output = torch.zeros_like(top), torch.zeros_like(value)
    for first in range(0, t, cols):
        k, v = key[first : first + cols], value[first : first + cols]
        scores = (query[first:] @ k.mT).mul_(d_k**-0.5)
        scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu_(1), -math.inf)
        new = torch.maximum(top[first:], scores.amax(1, keepdim=True))
        shrink, powers = (top[first:] - new).exp_(), scores.sub_(new).exp_()
        total[first:].mul_(shrink).add_(powers.sum(1, keepdim=True))
        output[first:].mul_(shrink).addmm_(powers, v)
        top[first:] = new
    return output / total, (top + total.log())[:, 0]


def causal_past_the_end(query, key, value, rows, cols):
    """Split the queries, and go on with keys to where a whole tile of them would end."""
    found = []
    for number, q in enumerate(query.split(rows)):
        top, total, output = q.new_full((len(q), 1), -math.inf), q.new_zeros(len(q), 1), 0.0
        places = number * rows + torch.arange(len(q))[:, None]
        for first in range(0, (number + 1) * rows, cols):
            k, v = key[first : first + cols], value[first : first + cols]
            scores = (q @ k.mT / math.sqrt(q.shape[1])).masked_fill(first + torch.arange(len(k)) > places, -math.inf)
            new = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
            shrink, powers = (top - new).exp(), (scores - new).exp()
            total, output, top = total * shrink + powers.sum(1, keepdim=True), output * shrink + powers @ v, new
        found.append((output / total, (top + total.log())[:, 0]))
    return tuple(map(torch.cat, zip(*found, strict=True)))


def needed(stop, t):
    return stop


def one_more(stop, t):
    """Begin a tile behind the last query too, where one begins right there."""
    return min(stop + 1, t)


def all_of_them(stop, t):
    return t


ALTERNATIVES = {
    "tiles-fold": (fold_by_logarithms, fold_row_by_row),
    "tiles-causal": (causal_in_place, causal_diagonal_apart, lean_causal(needed)),
    "tiles-backward": (backward_keys_outside, backward_by_einsum, lean_backward(needed)),
}
AS_WRITTEN = [
    ("tiles-causal", "past-the-end", causal_past_the_end),
    ("tiles-causal", "all-pairs", lean_causal(all_of_them)),
    ("tiles-causal", "all-pairs", lean_causal(one_more)),
    ("tiles-causal", "all-pairs", one_row_of_tiles(lean_causal(needed))),
    ("tiles-backward", "all-pairs", lean_backward(all_of_them)),
    ("tiles-backward", "all-pairs", lean_backward(one_more)),
    ("tiles-backward", "all-pairs", one_row_of_tiles(lean_backward(needed))),
]
