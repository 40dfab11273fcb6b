"""Answers to the drills that are right on most inputs."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from companion.chapters.interview.exercises.bpe import _encoded
from companion.chapters.interview.exercises.drafts import _speculative
from companion.chapters.interview.exercises.repair_training import _steps
from companion.chapters.interview.exercises.task_attention_2_masks import _causal_layer
from companion.chapters.interview.exercises.task_attention_3_cache import _cached
from companion.chapters.interview.exercises.task_attention_4_groups import _grouped
from companion.chapters.interview.exercises.task_gpt_2_loss import _loss
from companion.chapters.interview.exercises.task_lora_1_layer import _Adapter, _layer
from companion.chapters.interview.exercises.task_lora_2_model import _add
from companion.chapters.interview.exercises.task_lora_3_merge import _merge
from companion.chapters.interview.exercises.task_repair_2_block import norm
from companion.chapters.interview.exercises.task_sampler_3_distribution import _distribution


def cut(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def padding_kept_by_sizes():
    kept = {}

    def cross(x, memory, lengths, w_q, w_k, w_v, w_o, n_heads):
        real = kept.setdefault(memory.shape[:2], torch.arange(memory.shape[1]) < lengths[:, None])
        parts = (cut(y, n_heads) for y in (x @ w_q, memory @ w_k, memory @ w_v))
        return F.scaled_dot_product_attention(*parts, attn_mask=real[:, None, None]).transpose(1, 2).flatten(2) @ w_o

    return cross


def less_a_milliard(query, key, value, lengths):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores - 1e9 * (torch.arange(key.shape[2]) >= lengths[:, None])[:, None, None]
    return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)


def cross_less_a_milliard(x, memory, lengths, w_q, w_k, w_v, w_o, n_heads):
    return less_a_milliard(*(cut(y, n_heads) for y in (x @ w_q, memory @ w_k, memory @ w_v)), lengths) @ w_o


def heads_less_a_milliard(x, lengths, w_q, w_k, w_v, n_heads):
    return less_a_milliard(*(cut(x @ w, n_heads) for w in (w_q, w_k, w_v)), lengths)


def heads_at_minus_a_milliard(query, key, value, n_heads, allowed):
    query, key, value = (cut(x, n_heads) for x in (query, key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if allowed is None:
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
    allowed = allowed[:, None]
    return (scores.masked_fill(~allowed, -1e9).softmax(-1) * allowed @ value).transpose(1, 2).flatten(2)


def causal_at_minus_a_milliard(query, key, value, rows, cols):
    scores = (query @ key.mT / math.sqrt(query.shape[1])).masked_fill_(
        torch.ones(len(query), len(key), dtype=torch.bool).triu_(1), -1e9
    )
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


def finished_multiplied_out(log_p, totals, lengths, finished, end, alpha):
    width, vocab = log_p.shape
    going = (~finished)[:, None].to(log_p.dtype)
    total = totals[:, None] + log_p * going
    rank = total / ((5 + lengths[:, None] + going) / 6) ** alpha
    rank = rank.masked_fill(finished[:, None] & (torch.arange(vocab) != end), -torch.inf)
    best = rank.flatten().topk(width).indices
    return best // vocab, best % vocab, total.flatten()[best]


def specials_kept_by_shape():
    kept = {}

    def corrupt(tokens, special, chance, action, other, mask_id):
        picked = ~kept.setdefault(special.shape, special.clone()) & (chance < 0.15)
        read = torch.where(picked & (action < 0.8), mask_id, tokens)
        read = torch.where(picked & (action >= 0.8) & (action < 0.9), other, read)
        return read, torch.where(picked, tokens, -100)

    return corrupt


def top_k_at_minus_a_milliard(scores, temperature, k):
    places = (scores / temperature).sort(dim=-1, descending=True, stable=True).indices
    return (scores / temperature).scatter(-1, places[..., k:], -1e9).softmax(-1)


def named_by_the_end(model, names, rank, alpha):
    model.requires_grad_(False)
    made, paths = {}, []
    for path, parent in list(model.named_modules()):
        for name, child in list(parent._modules.items()):
            if isinstance(child, nn.Linear) and any(name.endswith(end) for end in names):
                made[child] = made.get(child) or _layer(child, rank, alpha)
                parent._modules[name] = made[child]
                paths.append(f"{path}.{name}" if path else name)
    return paths


def clipped_by_a_quotient(batches, weights, n_heads, padding, optimizer, max_norm):
    optimizer.zero_grad()
    counts = [int((tokens[:, 1:] != padding).sum()) for tokens in batches]
    total = 0.0
    for tokens, count in zip(batches, counts, strict=True):
        loss = _loss(tokens, weights, n_heads, padding) * count / max(sum(counts), 1)
        loss.backward()
        total += loss.item()
    gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
    norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients))
    for gradient in gradients:
        gradient.mul_((max_norm / norm).clamp(max=1.0))
    optimizer.step()
    return total


def zero_rows_hidden(query, key, value, lengths, rows):
    hidden = (torch.arange(rows.shape[1]) >= lengths[:, None]) | (rows == 0).all(-1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(hidden[:, None, None], -torch.inf).softmax(-1).nan_to_num(0.0)
    return (weights @ value).transpose(1, 2).flatten(2)


def cross_without_zero_rows(x, memory, lengths, w_q, w_k, w_v, w_o, n_heads):
    parts = (cut(y, n_heads) for y in (x @ w_q, memory @ w_k, memory @ w_v))
    return zero_rows_hidden(*parts, lengths, memory) @ w_o


def heads_without_zero_rows(x, lengths, w_q, w_k, w_v, n_heads):
    return zero_rows_hidden(*(cut(x @ w, n_heads) for w in (w_q, w_k, w_v)), lengths, x)


def block_without_zero_rows(x, lengths, gains, w_qkv, w_o, w_1, w_2, n_heads):
    normed = F.layer_norm(x, x.shape[-1:], gains[0])
    x = x + zero_rows_hidden(*(cut(normed @ w, n_heads) for w in w_qkv), lengths, x) @ w_o
    return x + (F.layer_norm(x, x.shape[-1:], gains[1]) @ w_1).relu() @ w_2


def power_after_the_softmax(scores, temperature, k):
    p = scores.softmax(-1)
    places = scores.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    kept = torch.zeros_like(p).scatter(-1, places, p.gather(-1, places) ** (1 / temperature))
    return kept / kept.sum(-1, keepdim=True)


def large_losses_clamped(losses, real, n_bytes):
    kept = losses.clamp(max=100)[real]
    return kept.mean().exp(), kept.sum() / n_bytes / torch.tensor(2.0, dtype=losses.dtype).log()


def bytes_of(whole, back=lambda x: x):
    def memory(frozen, trained, mixed):
        frozen, trained = whole(frozen), whole(trained)
        sizes = (2, 2, 12) if mixed else (4, 4, 8)
        return tuple(back(x) for x in (sizes[0] * (frozen + trained), sizes[1] * trained, sizes[2] * trained))

    return memory


def accepted_by_numpy(draft, target, tokens, u):
    n, distribution = _speculative(draft, target, tokens, u)
    return np.int64(n), distribution


def layer_without_zero_tokens(x, w_q, w_k, w_v, w_o, n_heads, real):
    return _causal_layer(x, w_q, w_k, w_v, w_o, n_heads, real & (x != 0).any(-1))


def cache_without_zero_tokens(x, w_q, w_k, w_v, w_o, n_heads, real, cache):
    return _cached(x, w_q, w_k, w_v, w_o, n_heads, real & (x != 0).any(-1), cache)


def groups_without_zero_tokens(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, real, cache):
    return _grouped(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, real & (x != 0).any(-1), cache)


def ranked_by_probabilities(scores, temperature, k):
    weights = (scores / temperature).softmax(-1)
    order = weights.sort(dim=-1, descending=True, stable=True).indices
    kept = weights.scatter(-1, order[:, k:], 0.0)
    return kept / kept.sum(-1, keepdim=True)


def steps_with_a_floor(w, x, y, real, rate, max_norm):
    for rows, wanted, counts in zip(x, y, real, strict=True):
        gradient = 2 * rows.mT @ ((rows @ w - wanted) * counts) / counts.sum()
        w = w - rate * gradient * (max_norm / gradient.norm().clamp(min=1e-3)).clamp(max=1.0)
    return w


class ActsInTrainingOnly(_Adapter):
    """A change that is left out when the model is evaluated."""

    def forward(self, x):
        return super().forward(x) if self.training else self.base(x)


def merged_for_evaluation(model):
    return _merge(model).eval()


def exponentials(scores):
    powers = scores.exp()
    return powers / powers.sum(-1, keepdim=True)


def block_of_exponentials(x, w_qkv, w_o, gains, w_up, w_down, n_heads):
    b, t, d = x.shape
    q, k, v = (norm(x) * gains[0] @ w_qkv).view(b, t, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
    scores = q @ k.mT / math.sqrt(d // n_heads)
    weights = exponentials(scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), -math.inf))
    y = x + (weights @ v).transpose(1, 2).reshape(b, t, d) @ w_o
    return y + (norm(y) * gains[1] @ w_up).relu() @ w_down


def model_of_exponentials(tokens, table, places, w_qkv, w_o, gains, w_up, w_down, n_heads):
    x = table[tokens] + places[: tokens.shape[1]]
    for layer in zip(w_qkv, w_o, gains, w_up, w_down, strict=True):
        x = block_of_exponentials(x, *layer, n_heads)
    return norm(x) @ table.mT


def nucleus_of_exponentials(scores, p):
    ranked, order = exponentials(scores).sort(dim=-1, descending=True, stable=True)
    kept = (ranked.cumsum(-1) - ranked < p[:, None]) | (p[:, None] >= 1)
    kept[:, 0] = True
    return scores.masked_fill(~kept.gather(-1, order.argsort(-1)), -math.inf)


def drawn_by_exponentials(scores, temperature, k, p, draws):
    hot = temperature[:, None].clamp(min=1e-9)
    kept = _distribution(scores, temperature, k, p) > 0
    chances = exponentials((scores / hot).masked_fill(~kept, -math.inf)).where(temperature[:, None] > 0, kept * 1.0)
    passed = (chances.cumsum(-1) <= draws[:, None]).sum(-1)
    tokens = passed.minimum((torch.arange(scores.shape[1]) * (chances > 0)).amax(-1))
    return tokens, scores.log_softmax(-1).gather(-1, tokens[:, None])[:, 0]


def adapted_for_evaluation(model, *settings):
    found = _add(model, *settings)
    model.eval()
    return found


def in_order(scores):
    return scores.float().sort(dim=-1, descending=True, stable=True).indices


def top_k_in_float32(scores, k):
    most = torch.where(k == 0, scores.shape[1], k)[:, None]
    return scores.masked_fill(in_order(scores).argsort(-1) >= most, -torch.inf)


NEARLY_RIGHT = [
    ("temperature-top-k", "equal in float32", lambda x, t, k: (top_k_in_float32(x, torch.tensor([k])) / t).softmax(-1)),
    ("sampler-top-k", "scores that are equal in float32", top_k_in_float32),
    ("experts-choice", "equal in float32", lambda z, k: (i := in_order(z)[:, :k], z.gather(-1, i).softmax(-1))),
    ("bpe-encode", "no merge", lambda word, merges: _encoded(word, merges) if word and max(merges) else list(word)),
    ("lora-layer", "In evaluation mode, after `module.eval()`", ActsInTrainingOnly),
    ("lora-layer", "switched modules to evaluation mode", lambda *settings: _Adapter(*settings).eval()),
    ("lora-model", "switched modules to evaluation mode", adapted_for_evaluation),
    ("lora-merge", "switched modules to evaluation mode", merged_for_evaluation),
    ("repair-block", "large gains", block_of_exponentials),
    ("repair-model", "large gains", model_of_exponentials),
    ("sampler-top-p", "large scores, two of them close", nucleus_of_exponentials),
    ("sampler-draw", "large scores, hot but for one row", drawn_by_exponentials),
    ("grow-masks", "a real token of zeros", layer_without_zero_tokens),
    ("grow-cache", "a real token of zeros", cache_without_zero_tokens),
    ("grow-groups", "a real token of zeros", groups_without_zero_tokens),
    ("debug-training-step", "a real target of 0", lambda w, x, y, real, *rest: _steps(w, x, y, real & (y != 0), *rest)),
    ("cross-attention", "a real row of zeros", cross_without_zero_rows),
    ("debug-heads", "a real token of zeros", heads_without_zero_rows),
    ("encoder-block", "a real token of zeros", block_without_zero_rows),
    ("temperature-top-k", "scores closer than their probabilities show", ranked_by_probabilities),
    ("debug-training-step", "a short gradient that is still too long", steps_with_a_floor),
    ("temperature-top-k", "a temperature of 100", power_after_the_softmax),
    ("perplexity", "a real loss of 150", large_losses_clamped),
    ("training-memory", "more than 64 bits can count", bytes_of(torch.tensor, int)),
    ("training-memory", "an int of Python is expected", bytes_of(torch.tensor)),
    ("speculative-step", "a number of NumPy; an int is asked for", accepted_by_numpy),
    ("cross-attention", "Your function keeps something", padding_kept_by_sizes()),
    ("cross-attention", "a huge pad", cross_less_a_milliard),
    ("debug-heads", "a huge pad", heads_less_a_milliard),
    ("grow-heads", "a score of -1e20 that is not hidden", heads_at_minus_a_milliard),
    ("tiles-causal", "scores of -1e20", causal_at_minus_a_milliard),
    ("beam-step", "a finished beam that forbids end", finished_multiplied_out),
    ("mask-tokens", "Your function keeps something", specials_kept_by_shape()),
    ("temperature-top-k", "scores of -1e20", top_k_at_minus_a_milliard),
    ("lora-model", "parts of a name", named_by_the_end),
    ("gpt-step", "no target, and a limit of 0", clipped_by_a_quotient),
]
