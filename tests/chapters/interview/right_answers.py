"""Right answers to the drills of interviews, written in other ways than the references."""

import itertools
import math
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

from companion.attention import attention
from companion.chapters.interview.exercises.lora_adamw import ADAMW_STEP
from companion.cost.memory import adam_bytes, weight_bytes
from companion.efficient.linear import linear_attention
from companion.generate.sampling import keep_top_k, keep_top_p


def grouped_by_einsum(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads):
    b, t, _ = x.shape
    q = (x @ w_q).reshape(b, t, n_kv_heads, n_heads // n_kv_heads, -1)
    k, v = ((x @ w).reshape(b, t, n_kv_heads, -1) for w in (w_k, w_v))
    s = torch.einsum("bigmd,bjgd->bgmij", q, k) / k.shape[-1] ** 0.5
    s = s + torch.full((t, t), -torch.inf, dtype=x.dtype).triu(1)
    return torch.einsum("bgmij,bjgd->bigmd", s.softmax(-1), v).reshape(b, t, -1) @ w_o


def grouped_by_heads(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads):
    d, out = w_q.shape[1] // n_heads, 0
    for i in range(n_heads):
        j = i * n_kv_heads // n_heads
        q, k, v = x @ w_q[:, i * d : (i + 1) * d], x @ w_k[:, j * d : (j + 1) * d], x @ w_v[:, j * d : (j + 1) * d]
        out = out + F.scaled_dot_product_attention(q, k, v, is_causal=True) @ w_o[i * d : (i + 1) * d]
    return out


def cross_by_sentences(x, memory, lengths, w_q, w_k, w_v, w_o, n_heads):
    rows = []
    for ask, source, n in zip(x, memory, lengths.tolist(), strict=True):
        heads = [
            F.scaled_dot_product_attention(q, k, v)
            for q, k, v in zip(
                *((y @ w).chunk(n_heads, -1) for y, w in ((ask, w_q), (source[:n], w_k), (source[:n], w_v))),
                strict=True,
            )
        ]
        rows.append(torch.cat(heads, -1) @ w_o)
    return torch.stack(rows)


def cross_by_einsum(x, memory, lengths, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = ((y @ w).unflatten(-1, (n_heads, -1)) for y, w in ((x, w_q), (memory, w_k), (memory, w_v)))
    s = torch.einsum("bihd,bjhd->bhij", q, k) * k.shape[-1] ** -0.5
    for row, n in zip(s, lengths.tolist(), strict=True):
        row[..., n:] = float("-inf")
    return torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v).flatten(2) @ w_o


def hand_norm(x, gain):
    x = x - x.mean(-1, keepdim=True)
    return gain * x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def block_by_hand(x, lengths, gains, w_qkv, w_o, w_1, w_2, n_heads):
    b, t, d = x.shape
    q, k, v = torch.einsum("btd,sde->sbte", hand_norm(x, gains[0]), w_qkv).reshape(3, b, t, n_heads, -1).transpose(2, 3)
    real = (torch.arange(t) < lengths[:, None])[:, None, None]
    a = F.scaled_dot_product_attention(q, k, v, real.expand(b, 1, t, t))
    y = x + a.permute(0, 2, 1, 3).reshape(b, t, d) @ w_o
    return y + F.relu(hand_norm(y, gains[1]) @ w_1) @ w_2


def block_by_sentences(x, lengths, gains, w_qkv, w_o, w_1, w_2, n_heads):
    """Each sentence by itself, with its padding as queries that see the real tokens."""
    rows = []
    for h, n in zip(x, lengths.tolist(), strict=True):
        normed = F.layer_norm(h, h.shape[-1:]) * gains[0]
        heads = zip(*((normed @ w).chunk(n_heads, -1) for w in w_qkv), strict=True)
        out = [((q @ k[:n].mT) / k.shape[-1] ** 0.5).softmax(-1) @ v[:n] for q, k, v in heads]
        h = h + torch.cat(out, -1) @ w_o
        rows.append(h + ((F.layer_norm(h, h.shape[-1:]) * gains[1]) @ w_1).clamp(min=0) @ w_2)
    return torch.stack(rows)


def top_k_by_rows(scores, temperature, k):
    out = torch.zeros_like(scores)
    for row, filled in zip(scores, out, strict=True):
        kept = sorted(range(len(row)), key=lambda i: (-row[i].item(), i))[:k]
        filled[kept] = (row[kept] / temperature).softmax(0)
    return out


def top_p_by_loops(scores, p):
    out = torch.zeros_like(scores)
    for row, filled in zip(scores.softmax(-1), out, strict=True):
        total = 0.0
        for i in sorted(range(len(row)), key=lambda i: (-row[i].item(), i)):
            if total < p:
                filled[i] = row[i]
            total += row[i].item()
    return out / out.sum(-1, keepdim=True)


def beam_by_lists(log_p, totals, lengths, finished, end, alpha):
    found = []
    for i in range(len(log_p)):
        if finished[i]:
            found.append((totals[i].item(), int(lengths[i]), i, end))
        else:
            found += [((totals[i] + x).item(), int(lengths[i]) + 1, i, j) for j, x in enumerate(log_p[i])]
    found.sort(key=lambda row: -row[0] / ((5 + row[1]) / 6) ** alpha)
    best = found[: len(log_p)]
    parent, token = torch.tensor([row[2] for row in best]), torch.tensor([row[3] for row in best])
    return parent, token, log_p.new_tensor([row[0] for row in best])


def beam_by_sort(log_p, totals, lengths, finished, end, alpha):
    width, vocab = log_p.shape
    only_end = torch.arange(vocab) == end
    step = log_p.masked_fill(finished[:, None], 0.0).masked_fill(finished[:, None] & ~only_end, -torch.inf)
    total = (step + totals[:, None]).reshape(-1)
    penalty = ((5.0 + lengths + ~finished) / 6).pow(alpha).repeat_interleave(vocab).to(total)
    flat = (total / penalty).argsort(descending=True)[:width]
    return torch.div(flat, vocab, rounding_mode="floor"), flat.remainder(vocab), total[flat]


def speculative_by_mask(draft, target, tokens, u):
    chosen = tokens[:, None]
    refused = u * draft.gather(1, chosen)[:, 0] >= target[:-1].gather(1, chosen)[:, 0]
    n = int(torch.cat([refused, torch.tensor([True])]).nonzero()[0])
    left = F.relu(target - torch.cat([draft, torch.zeros_like(target[-1:])]))[n]
    return n, left / left.sum()


def speculative_by_steps(draft, target, tokens, u):
    n = 0
    while n < len(tokens) and u[n] < min(1.0, (target[n, tokens[n]] / draft[n, tokens[n]]).item()):
        n += 1
    if n == len(tokens):
        return n, target[n].clone()
    return n, F.normalize((target[n] - draft[n]).clamp_min(0), p=1, dim=0)


def step_by_heads(x, keys, values, w_q, w_k, w_v, w_o):
    h = keys.shape[1]
    q, k, v = (torch.stack((x @ w).chunk(h, -1), 1) for w in (w_q, w_k, w_v))
    keys = torch.cat((keys, k.unsqueeze(2)), -2)
    values = torch.cat((values, v.unsqueeze(2)), -2)
    a = torch.einsum("bhd,bhtd->bht", q, keys).div(math.sqrt(k.shape[-1])).softmax(-1)
    return torch.einsum("bht,bhtd->bhd", a, values).flatten(1) @ w_o, keys, values


def step_by_fused(x, keys, values, w_q, w_k, w_v, w_o):
    n, h, t, d = keys.shape
    more = [y.new_empty(n, h, t + 1, d) for y in (keys, values)]
    for new, old, w in zip(more, (keys, values), (w_k, w_v), strict=True):
        new[:, :, :t] = old
        new[:, :, t] = (x @ w).reshape(n, h, d)
    out = F.scaled_dot_product_attention((x @ w_q).reshape(n, h, 1, d), *more)
    return out.squeeze(2).flatten(1) @ w_o, *more


def writer(prompt, n_new, table, positions, w_q, w_k, w_v, w_1, w_2, *, at_once):
    """Read the prompt at once or token by token, with caches filled in place."""
    size, d = len(prompt) + n_new, table.shape[1]
    keys, values = (table.new_zeros(len(w_q), size, d) for _ in range(2))
    tokens, scores, done = prompt.clone(), [], 0
    while len(scores) < n_new:
        end = len(tokens) if at_once or done >= len(prompt) - 1 else done + 1
        h = table[tokens[done:end]] + positions[done:end]
        for i in range(len(w_q)):
            keys[i, done:end], values[i, done:end] = h @ w_k[i], h @ w_v[i]
            mask = torch.arange(end) <= torch.arange(done, end)[:, None]
            h = h + attention(h @ w_q[i], keys[i, :end], values[i, :end], mask)
            h = h + F.relu(h @ w_1[i]) @ w_2[i]
        done = end
        if done >= len(prompt):
            scores.append(h[-1] @ table.mT)
            tokens = torch.cat([tokens, scores[-1].argmax(keepdim=True)])
    return tokens[len(prompt) :], torch.stack(scores)


def stream_by_logsumexp(stream, d_v):
    log_total = mean = None
    for scores, values in stream:
        part, log_part = scores.softmax(0) @ values, scores.logsumexp(0)
        if mean is None:
            mean, log_total = part, log_part
        else:
            share = torch.sigmoid(log_part - log_total)
            mean, log_total = mean + share * (part - mean), torch.logaddexp(log_total, log_part)
    return mean


def stream_by_positions(stream, d_v):
    top, total, output = -math.inf, 0.0, torch.zeros(d_v)
    for scores, values in stream:
        output = output.to(values)
        for score, value in zip(scores.tolist(), values, strict=True):
            new = max(top, score)
            total, output = total * math.exp(top - new) + math.exp(score - new), output * math.exp(top - new)
            output, top = output + math.exp(score - new) * value, new
    return output / total


def linear_in_place(query, key, value):
    query, key = (torch.where(x > 0, x + 1, x.exp()) for x in (query, key))
    one = torch.cat([value, torch.ones_like(value[:, :1])], 1)
    state, out = key.new_zeros(key.shape[1], one.shape[1]), torch.empty_like(value)
    for i in range(len(query)):
        state.addr_(key[i], one[i])
        row = query[i] @ state
        out[i] = row[:-1] / row[-1]
    return out


def linear_by_chunks(query, key, value):
    """Within a chunk of four by a small matrix, over the chunks before it by their state."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    one, out, state = F.pad(value, (0, 1), value=1.0), [], 0.0
    for q, k, v in zip(query.split(4), key.split(4), one.split(4), strict=True):
        out.append((q @ k.mT).tril() @ v + (q @ state if isinstance(state, torch.Tensor) else 0.0))
        state = state + k.mT @ v
    sums = torch.cat(out)
    return sums[:, :-1] / sums[:, -1:]


def merge_by_counter(words, counts):
    seen = Counter()
    for word, count in zip(words, counts, strict=True):
        seen.update(dict.fromkeys(itertools.pairwise(word), 0))
        for pair in itertools.pairwise(word):
            seen[pair] += count
    best = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[0][0]
    out = []
    for word in words:
        left, new = list(word), []
        while left:
            if tuple(left[:2]) == best:
                new.append(left.pop(0) + left.pop(0))
            else:
                new.append(left.pop(0))
        out.append(new)
    return best, out


def merge_by_text(words, counts):
    """Join by replacing text; each piece stands between two marks."""
    best, most = None, 0
    for pair in sorted({pair for word in words for pair in itertools.pairwise(word)}):
        number = sum(
            count * sum(both == pair for both in itertools.pairwise(word))
            for word, count in zip(words, counts, strict=True)
        )
        best, most = (pair, number) if number > most else (best, most)
    text = ["|" + "||".join(word) + "|" for word in words]
    joined = [line.replace(f"|{best[0]}||{best[1]}|", f"|{best[0]}{best[1]}|") for line in text]
    return best, [line[1:-1].split("||") for line in joined]


def encode_by_rank(word, merges):
    """Each merge once, in order: none can make a pair that was learned before it."""
    pieces = list(word)
    for pair in merges:
        i = 0
        while i < len(pieces) - 1:
            if (pieces[i], pieces[i + 1]) == pair:
                pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
            i += 1
    return pieces


def encode_in_one_pass(word, merges):
    """No two pairs join to one piece, so a join makes room for later pairs only."""
    pieces = list(word)
    for one, other in merges:
        i = 0
        while i < len(pieces) - 1:
            if (pieces[i], pieces[i + 1]) == (one, other):
                pieces[i : i + 2] = [one + other]
            i += 1
    return pieces


def encode_by_recursion(word, merges, pieces=None):
    pieces = list(word) if pieces is None else pieces
    ranks = [merges.index(p) if p in merges else len(merges) for p in itertools.pairwise(pieces)]
    if not ranks or min(ranks) == len(merges):
        return pieces
    i = ranks.index(min(ranks))
    return encode_by_recursion(word, merges, [*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]])


def corrupted_by_loops(tokens, special, chance, action, other, mask_id):
    inputs, labels = tokens.clone(), torch.full_like(tokens, -100)
    for i, j in (~special & (chance < 0.15)).nonzero().tolist():
        labels[i, j] = tokens[i, j]
        if action[i, j] < 0.8:
            inputs[i, j] = mask_id
        elif action[i, j] < 0.9:
            inputs[i, j] = other[i, j]
    return inputs, labels


def corrupted_by_sums(tokens, special, chance, action, other, mask_id):
    picked = torch.logical_and(chance < 0.15, special.logical_not()).long()
    hidden, replaced = picked * (action < 0.8), picked * ((action >= 0.8) & (action < 0.9))
    inputs = tokens * (1 - hidden - replaced) + hidden * mask_id + replaced * other
    return inputs, picked * (tokens + 100) - 100


def steps_by_torch(weight, gradient, m, v, step, rate, decay):
    out = []
    for kind in (torch.optim.AdamW, torch.optim.Adam):
        w = torch.nn.Parameter(weight.clone())
        w.grad = gradient.clone()
        optimizer = kind([w], lr=rate, weight_decay=decay)
        optimizer.state[w] = {"step": torch.tensor(step - 1.0), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
        optimizer.step()
        out.append(w.detach())
    return tuple(out)


def steps_by_factors(weight, gradient, m, v, step, rate, decay):
    def change(g):
        size = rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        return size * torch.lerp(g, m, 0.9) / (torch.lerp(g**2, v, 0.999).sqrt() + 1e-8 * math.sqrt(1 - 0.999**step))

    return weight - rate * decay * weight - change(gradient), weight - change(gradient + decay * weight)


def bytes_by_package(frozen, trained, mixed):
    kind = "float16" if mixed else "float32"
    weights = weight_bytes(frozen + trained, kind)
    if not trained:
        return weights, 0, 0
    gradients = weight_bytes(trained, kind)
    return weights, gradients, adam_bytes(trained, mixed=mixed) - weight_bytes(trained, kind) - gradients


def checkpointed_by_autograd(x, weights, every, d_output):
    with torch.no_grad():
        inputs = [x]
        for part in weights.split(every)[:-1]:
            h = inputs[-1]
            for w in part:
                h = torch.tanh(h @ w)
            inputs.append(h)
    d, out = d_output, torch.empty_like(weights)
    for number in reversed(range(len(inputs))):
        start = inputs.pop().detach().requires_grad_()
        part = weights[number * every : (number + 1) * every].clone().requires_grad_()
        h = start
        for w in part.unbind():
            h = torch.tanh(h @ w)
        d, out[number * every : (number + 1) * every] = torch.autograd.grad(h, (start, part), d)
    return d, out


def checkpointed_by_one_more_run(x, weights, every, d_output):
    """Find the input of each layer by a run from its checkpoint: more work, less memory."""
    kept, h = {}, x
    for i, w in enumerate(weights):
        if i % every == 0:
            kept[i] = h
        h = (h @ w).tanh()
    d, out = d_output, torch.zeros_like(weights)
    for i in range(len(weights) - 1, -1, -1):
        h = kept[i - i % every]
        for j in range(i - i % every, i):
            h = (h @ weights[j]).tanh()
        slope = (h @ weights[i]).cosh().square().reciprocal()
        d = d * slope
        out[i] = torch.einsum("ni,nj->ij", h, d)
        d = torch.einsum("nj,ij->ni", d, weights[i])
    return d, out


ALTERNATIVES = {
    "grouped-query": [grouped_by_einsum, grouped_by_heads],
    "cross-attention": [cross_by_sentences, cross_by_einsum],
    "encoder-block": [block_by_hand, block_by_sentences],
    "temperature-top-k": [top_k_by_rows, lambda s, temperature, k: keep_top_k(s / temperature, k).softmax(-1)],
    "top-p": [top_p_by_loops, lambda s, p: keep_top_p(s, p).softmax(-1)],
    "beam-step": [beam_by_lists, beam_by_sort],
    "speculative-step": [speculative_by_mask, speculative_by_steps],
    "cached-step": [step_by_heads, step_by_fused],
    "cached-decoder": [lambda *given: writer(*given, at_once=True), lambda *given: writer(*given, at_once=False)],
    "stream-softmax": [stream_by_logsumexp, stream_by_positions],
    "linear-recurrent": [
        linear_in_place,
        linear_by_chunks,
        lambda q, k, v: linear_attention(q, k, v, causal=True, chunk=8),
    ],
    "bpe-merge": [merge_by_counter, merge_by_text],
    "bpe-encode": [encode_by_rank, encode_by_recursion, encode_in_one_pass],
    "perplexity": [
        lambda x, real, n: (
            torch.exp((x := x.where(real, 0.0)).sum() / real.sum()),
            (x / math.log(2)).sum() / n,
        ),
        lambda x, real, n: (2 ** (x[real] / math.log(2)).mean(), torch.log2(x.exp())[real].sum() / n),
    ],
    "mask-tokens": [corrupted_by_loops, corrupted_by_sums],
    "lora": [
        lambda x, w, a, b, alpha: ((m := w.addmm(a, b, alpha=alpha / len(b))).new_tensor(0) + x @ m, m),
        lambda x, w, a, b, alpha: (
            x @ w + torch.einsum("ni,ir,ro->no", x, a, b) * alpha / len(b),
            w + sum(torch.outer(a[:, i], b[i]) for i in range(len(b))) * (alpha / len(b)),
        ),
    ],
    "adamw-step": [steps_by_torch, steps_by_factors],
    "training-memory": [
        bytes_by_package,
        lambda f, t, mixed: (2 * (f + t), 2 * t, 12 * t) if mixed else (4 * (f + t), 4 * t, 8 * t),
    ],
    "checkpointed-backward": [checkpointed_by_autograd, checkpointed_by_one_more_run],
}


def given(x, n):
    y = x * n
    return y


def tiled_heads(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads):
    b, t, _ = x.shape
    q = (x @ w_q).reshape(b, t, n_heads, -1).permute(0, 2, 1, 3)
    k, v = (
        torch.cat([(x @ w).reshape(b, t, n_kv_heads, -1).permute(0, 2, 1, 3)] * (n_heads // n_kv_heads), 1)
        for w in (w_k, w_v)
    )
    out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.permute(0, 2, 1, 3).reshape(b, t, -1) @ w_o


def nucleus_without_its_last(scores, p):
    ranked, order = torch.sort(scores.softmax(-1), descending=True, stable=True)
    ranked = torch.where(ranked.cumsum(-1) > p, 0.0, ranked)
    return (ranked / ranked.sum(-1, keepdim=True)).gather(-1, order.argsort(-1))


def stepped_without_itself(x, keys, values, w_q, w_k, w_v, w_o):
    n, h, _, d = keys.shape
    q, k, v = ((x @ w).reshape(n, h, 1, d) for w in (w_q, w_k, w_v))
    out = (torch.softmax(q @ keys.mT / math.sqrt(d), -1) @ values).reshape(n, h * d) @ w_o
    return out, torch.cat([keys, k], 2), torch.cat([values, v], 2)


def adam_twice(weight, gradient, m, v, step, rate, decay):
    w = weight - ADAMW_STEP.reference(weight, gradient, m, v, step, rate, decay)[1]
    return weight - w, weight - w


def top_probabilities(scores, temperature, k):
    best = (scores / temperature).softmax(-1)
    order = best.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    return torch.zeros_like(best).scatter(-1, order, best.gather(-1, order))


def exponentiated(stream):
    total, output = 0.0, 0.0
    for scores, values in stream:
        total, output = total + torch.exp(scores).sum(), output + torch.exp(scores) @ values
    return output / total


def one_result_a_chunk(stream):
    parts = [(scores.logsumexp(0), scores.softmax(0) @ values) for scores, values in stream]
    return torch.stack([part[0] for part in parts]).softmax(0) @ torch.stack([part[1] for part in parts])


def heads_with_the_scale_alone(x, lengths, w_q, w_k, w_v, n_heads):
    batch, t = x.shape[:2]
    query, key, value = ((x @ w).view(batch, n_heads, t, -1) for w in (w_q, w_k, w_v))
    rows = (torch.arange(t) < lengths[:, None])[:, None, :, None]
    scores = torch.where(rows, query @ key.mT / query.shape[-1] ** 0.5, -1e4)
    return (scores.softmax(-1) @ value).reshape(batch, t, -1)


def not_causal(query, key, value):
    query, key = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    return query @ (key.mT @ value) / (query @ key.sum(0))[:, None]


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("grouped-query", "tiled", tiled_heads),
    ("top-p", "crossing-token-dropped", nucleus_without_its_last),
    ("temperature-top-k", "not-renormalised", lambda s, t, k: top_probabilities(s, t, k)),
    ("cached-step", "own-key-missing", stepped_without_itself),
    ("adamw-step", "both-coupled", adam_twice),
    ("perplexity", "per-token", lambda x, r, n: (x[r].mean().exp(), x[r].mean() / math.log(2))),
    ("perplexity", "two-to-the-mean", lambda x, r, n: (torch.pow(2.0, x[r].mean()), x[r].sum() / n / math.log(2))),
    ("lora", "no-scale", lambda x, w, a, b, alpha: (x @ (w + a @ b), w + a @ b)),
    (
        "training-memory",
        "no-float32-copy",
        lambda f, t, mixed: ((f + t) * (2 if mixed else 4), t * (2 if mixed else 4), 8 * t),
    ),
    ("stream-softmax", "no-shift", lambda stream, d: exponentiated(stream)),
    ("stream-softmax", "all-kept", lambda stream, d: one_result_a_chunk(stream)),
    ("debug-heads", "only-the-scale", lambda *given: heads_with_the_scale_alone(*given)),
    ("linear-recurrent", "not-causal", lambda q, k, v: not_causal(q, k, v)),
    (
        "debug-layer-norm",
        "still-unbiased",
        lambda x, g, b, e: g * (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + e) ** 0.5 + b,
    ),
    ("debug-label-shift", "not-shifted", lambda s, y, pad: nn.functional.cross_entropy(s.mT, y, ignore_index=pad)),
]
