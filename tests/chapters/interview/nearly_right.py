"""Answers to the drills that are right on most inputs."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from companion.chapters.interview.exercises.task_gpt_2_loss import _loss
from companion.chapters.interview.exercises.task_lora_1_layer import _layer


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


NEARLY_RIGHT = [
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
