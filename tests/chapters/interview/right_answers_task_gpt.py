"""Right answers to the stages of the small GPT, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from companion.chapters.interview.exercises.task_gpt_1_block import _block
from companion.chapters.interview.exercises.task_gpt_2_loss import _logits, _loss
from companion.feedforward import gelu
from companion.norm import layer_norm


def block_by_hand(x, gain_1, w_qkv, w_o, gain_2, w_up, w_down, n_heads):
    def norm(y, gain):
        centred = y - y.mean(-1, keepdim=True)
        return gain * centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-5)

    batch, t, d = x.shape
    q, k, v = (norm(x, gain_1) @ w_qkv).view(batch, t, 3, n_heads, d // n_heads).permute(2, 0, 3, 1, 4)
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d // n_heads)
    scores = scores.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
    x = x + torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v).reshape(batch, t, d) @ w_o
    hidden = norm(x, gain_2) @ w_up
    return x + (hidden * 0.5 * (1 + torch.erf(hidden / 2**0.5))) @ w_down


class Block(nn.Module):
    """A module, made at each call with the weights that are given."""

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.activation = nn.GELU()

    def forward(self, x, gain_1, w_qkv, w_o, gain_2, w_up, w_down):
        return self.feed(self.attend(x, gain_1, w_qkv, w_o), gain_2, w_up, w_down)

    def attend(self, x, gain, w_qkv, w_o):
        y, width = layer_norm(x) * gain, x.shape[-1] // self.n_heads
        later, total = torch.full((x.shape[1],) * 2, -torch.inf).triu(1), x
        q, k, v = y.matmul(w_qkv).split(x.shape[-1], dim=2)
        for start in range(0, x.shape[-1], width):
            part = slice(start, start + width)
            scores = torch.baddbmm(later.to(x), q[..., part], k[..., part].transpose(1, 2), alpha=width**-0.5)
            total = total + F.softmax(scores, dim=2).bmm(v[..., part]) @ w_o[part]
        return total

    def feed(self, x, gain, w_up, w_down):
        return torch.add(x, F.linear(self.activation(F.linear(layer_norm(x) * gain, w_up.T)), w_down.T))


def block_as_a_module(x, gain_1, w_qkv, w_o, gain_2, w_up, w_down, n_heads):
    return Block(n_heads)(x, gain_1, w_qkv, w_o, gain_2, w_up, w_down)


def block_in_place(x, gain_1, w_qkv, w_o, gain_2, w_up, w_down, n_heads):
    y = x.clone()
    q, k, v = torch.tensor_split(F.layer_norm(x, x.shape[-1:], weight=gain_1, bias=None) @ w_qkv, 3, -1)
    split = [z.reshape(*z.shape[:2], n_heads, -1).swapaxes(1, 2) for z in (q, k, v)]
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    y += F.scaled_dot_product_attention(*split, attn_mask=mask).swapaxes(1, 2).reshape(x.shape) @ w_o
    return y + gelu(F.layer_norm(y, x.shape[-1:]) * gain_2 @ w_up) @ w_down


def loss_ignoring_an_index(tokens, weights, n_heads, padding):
    logits = _logits(tokens[:, :-1], weights, n_heads).transpose(1, 2)
    total = F.cross_entropy(logits, tokens[:, 1:], ignore_index=padding, reduction="sum")
    return total / max(1, int((tokens[:, 1:] != padding).sum()))


def loss_of_the_whole_text(tokens, weights, n_heads, padding):
    """Read all tokens and drop the logits of the last position; pick log-probabilities by hand."""
    positions = F.pad(weights["positions"], (0, 0, 0, 1))
    logits = _logits(tokens, weights | {"positions": positions}, n_heads)[:, :-1]
    picked = logits.log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
    real = tokens[:, 1:].ne(padding)
    if not real.any():
        return 0 * picked.sum()
    return -picked[real].mean()


def loss_text_by_text(tokens, weights, n_heads, padding):
    total, count = 0.0 * sum(x.sum() for x in weights["blocks"][0]) if weights["blocks"] else 0.0, 0
    for text in tokens:
        for place in range(len(text) - 1):
            if text[place + 1] != padding:
                row = text[None, : place + 1]
                x = F.embedding(row, weights["table"]) + weights["positions"][torch.arange(place + 1)]
                for block in weights["blocks"]:
                    x = _block(x, *block, n_heads)
                logits = weights["table"] @ (layer_norm(x[0, -1]) * weights["gain"])
                total, count = total + logits.logsumexp(0) - logits[text[place + 1]], count + 1
    return total / count if count else 0.0 * weights["table"].sum()


def step_by_sums(batches, weights, n_heads, padding, optimizer, max_norm):
    """Add the gradients of sums, and divide them by the number of all targets in the end."""
    parameters = [x for group in optimizer.param_groups for x in group["params"]]
    for x in parameters:
        x.grad = None
    count, total = 0, 0.0
    for tokens in batches:
        here = int((tokens[:, 1:] != padding).sum())
        loss = _loss(tokens, weights, n_heads, padding) * here
        loss.backward()
        count, total = count + here, total + loss.detach()
    for x in parameters:
        x.grad /= max(count, 1)
    norm = sum(x.grad.pow(2).sum() for x in parameters).sqrt().item()
    if norm > max_norm:
        for x in parameters:
            x.grad *= max_norm / norm
    optimizer.step()
    optimizer.zero_grad()
    return total / max(count, 1)


def step_of_all_at_once(batches, weights, n_heads, padding, optimizer, max_norm):
    optimizer.zero_grad(set_to_none=False)
    loss = _loss(torch.cat(list(batches)), weights, n_heads, padding)
    loss.backward()
    torch.nn.utils.clip_grad_norm_((x for group in optimizer.param_groups for x in group["params"]), max_norm)
    optimizer.step()
    return loss


def step_with_autograd_grad(batches, weights, n_heads, padding, optimizer, max_norm):
    parameters = [x for group in optimizer.param_groups for x in group["params"]]
    counts = [tokens[:, 1:].ne(padding).sum().item() for tokens in batches]
    losses = [_loss(tokens, weights, n_heads, padding) for tokens in batches]
    loss = sum(x * n for x, n in zip(losses, counts, strict=True)) / (sum(counts) or 1)
    found = torch.autograd.grad(loss, parameters)
    factor = min(1.0, max_norm / (torch.cat([g.flatten() for g in found]).norm().item() + 1e-6))
    for x, g in zip(parameters, found, strict=True):
        x.grad = g * factor
    optimizer.step()
    return loss.item()


def generate_by_search(prompt, draws, weights, n_heads, temperature, end):
    texts, longest = [row.tolist() for row in prompt], weights["positions"].shape[0]
    with torch.no_grad():
        for row, text in enumerate(texts):
            for u in draws[row]:
                if len(text) > prompt.shape[1] and text[-1] == end:
                    text.append(end)
                    continue
                logits = _logits(torch.tensor([text[-longest:]]), weights, n_heads)[0, -1]
                if temperature == 0.0:
                    text.append(logits.tolist().index(logits.max().item()))
                else:
                    sums = torch.softmax(logits / temperature, 0).cumsum(0)
                    text.append(min(int(torch.searchsorted(sums, u, right=True)), len(sums) - 1))
    return torch.tensor(texts)


def generate_in_room(prompt, draws, weights, n_heads, temperature, end):
    """Write into a tensor that has its full length from the start, and stop when all texts have ended."""
    start, n_new = prompt.shape[1], draws.shape[1]
    room = torch.cat([prompt, torch.full((len(prompt), n_new), end)], dim=1)
    alive = torch.ones(len(prompt), dtype=torch.bool)
    for place in range(start, start + n_new):
        if not alive.any():
            break
        first = max(0, place - len(weights["positions"]))
        logits = _logits(room[:, first:place], weights, n_heads)[:, -1].detach()
        if temperature:
            sums = F.softmax(logits / temperature, dim=-1).cumsum(-1)
            sums[:, -1] = 1
            chosen = (sums > draws[:, place - start, None]).int().argmax(-1)
        else:
            chosen = logits.max(-1).indices
        room[alive, place] = chosen[alive]
        alive &= chosen != end
    return room


ALTERNATIVES = {
    "gpt-block": (block_by_hand, block_as_a_module, block_in_place),
    "gpt-loss": (loss_ignoring_an_index, loss_of_the_whole_text, loss_text_by_text),
    "gpt-step": (step_by_sums, step_of_all_at_once, step_with_autograd_grad),
    "gpt-generate": (generate_by_search, generate_in_room),
}


def no_shift(tokens, weights, n_heads, padding):
    logits = _logits(tokens[:, :-1], weights, n_heads)
    real = tokens[:, 1:] != padding
    picked = -logits.log_softmax(-1).gather(-1, tokens[:, :-1, None])[..., 0]
    return (picked * real).sum() / max(1, int(real.sum()))


def equal_shares(batches, weights, n_heads, padding, optimizer, max_norm):
    optimizer.zero_grad()
    loss = torch.stack([_loss(tokens, weights, n_heads, padding) for tokens in batches]).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([x for group in optimizer.param_groups for x in group["params"]], max_norm)
    optimizer.step()
    return loss.item()


def smallest_sum(prompt, draws, weights, n_heads, temperature, end):
    tokens, ended = prompt, torch.zeros(len(prompt), 1, dtype=torch.bool)
    for place in range(draws.shape[1]):
        logits = _logits(tokens[:, -len(weights["positions"]) :], weights, n_heads)[:, -1]
        new = logits.argmax(-1, keepdim=True)
        if temperature > 0:
            sums = (logits / temperature).softmax(-1).cumsum(-1).detach()
            new = torch.searchsorted(sums, draws[:, place, None].contiguous())
        new = torch.where(ended, end, new)
        ended = ended | (new == end)
        tokens = torch.cat([tokens, new], 1)
    return tokens


AS_WRITTEN = [
    ("gpt-loss", "not-shifted", no_shift),
    ("gpt-step", "mean-of-means", equal_shares),
    ("gpt-generate", "equal-to-the-draw", smallest_sum),
]
