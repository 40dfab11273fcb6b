"""Answers to the exercises on attention that are right on most inputs."""

import math

import torch
import torch.nn.functional as F

from companion.chapters.attention.exercises.backward import _attention_backward


def square_by_columns(query, key):
    if query.shape[-2:] == key.shape[-2:] and query.shape[-1] == query.shape[-2]:
        query, key = query.mT, key.mT
    return query @ key.mT / math.sqrt(key.shape[-1])


def low_rows_emptied(scores):
    top = scores.amax(-1, keepdim=True)
    powers = (scores - top).exp()
    return torch.where(top <= -2e6, 0.0, powers / powers.sum(-1, keepdim=True)).to(scores.dtype)


def nothing_to_see_ignored(scores, mask):
    return scores.softmax(-1) if not mask.any() else scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)


def filled_with(number):
    return lambda scores, mask: scores.masked_fill(~mask, number).softmax(-1) * mask


def nothing_to_attend_ignored(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None and mask.any():
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ value


def attention_filled(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return (scores.softmax(-1) if mask is None else filled_with(-1e4)(scores, mask)) @ value


def attention_less_a_milliard(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    return ((scores - 1e9 * ~mask).softmax(-1) * mask.any(-1, keepdim=True)) @ value


def square_masks_causal(query, key, value, mask=None):
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value)
    if mask.shape[-2:] == (query.shape[-2], query.shape[-2]):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).nan_to_num(0.0)


def jacobian_of(weights):
    return torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]


def small_weights_dropped(scores):
    weights = scores.softmax(-1)
    return jacobian_of(torch.where(weights < 1e-4, 0.0, weights).to(scores.dtype))


def zero_tokens_hidden(x, lengths, w_q, w_k, w_v):
    inside = torch.arange(x.shape[1]) < lengths[:, None]
    real = inside & (x != 0).any(-1)
    scores = x @ w_q @ (x @ w_k).mT / math.sqrt(w_k.shape[1])
    output = scores.masked_fill(~real[:, None], -torch.inf).softmax(-1) @ (x @ w_v)
    return output.where(inside[..., None], 0.0).sum(1) / lengths[:, None]


def small_weights_cut(scores):
    top = scores.amax(-1, keepdim=True)
    powers = (scores - top.masked_fill(top.isinf(), 0.0)).exp()
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.where(weights < 1e-6, 0.0, weights)


def empty_rows_of_whole_masks(scores, mask):
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights if mask.dim() == 1 else weights.masked_fill(~mask, 0.0)


def batch_of_one_dropped(*given):
    return tuple(x.squeeze(0) if x.ndim > 2 else x for x in _attention_backward(*given))


def mask_added(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ value


def mask_of_a_table(t_q, t_k):
    return torch.ones(512, 512).tril().bool()[t_k - t_q : t_k, :t_k]


NEARLY_RIGHT = [
    ("causal-mask", "a long text", mask_of_a_table),
    ("attention", "NaN comes back from a step whose result is replaced later", mask_added),
    ("attention-backward", "(a size of 1)", batch_of_one_dropped),
    ("debug-padded-batch", "a real token of zeros", zero_tokens_hidden),
    ("scaled-scores", "all sizes equal", square_by_columns),
    ("softmax-stable", "one score of -1e20, the others are -inf", low_rows_emptied),
    ("softmax-stable", "weights of 8e-7 and 4e-8", small_weights_cut),
    ("masked-weights", "a mask of keys that hides all of them", empty_rows_of_whole_masks),
    ("masked-weights", "everything hidden", nothing_to_see_ignored),
    ("masked-weights", "scores of -1e20 that are not hidden", filled_with(-1e4)),
    ("masked-weights", "scores of -1e20 that are not hidden", filled_with(-1e9)),
    ("attention", "everything hidden", nothing_to_attend_ignored),
    ("attention", "a score of -1e20 that is not hidden", attention_filled),
    ("attention", "a score of -1e20 that is not hidden", attention_less_a_milliard),
    ("attention", "a mask that is not causal", square_masks_causal),
    ("softmax-jacobian", "a row far below 0", lambda scores: jacobian_of(scores.clamp(min=-1e4).softmax(-1))),
    ("softmax-jacobian", "a weight below 1e-4", small_weights_dropped),
]
