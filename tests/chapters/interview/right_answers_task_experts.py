"""Right answers to the stages of a mixture-of-experts layer, written in other ways than the references."""

import torch
import torch.nn.functional as F

from companion.experts import within_capacity


def choice_by_sorting(logits, k):
    """Sort all experts, and divide the probabilities of the first k by their sum."""
    order = logits.argsort(dim=-1, descending=True)[:, :k]
    probabilities = (logits - logits.max(dim=-1, keepdim=True).values).exp()
    picked = torch.take_along_dim(probabilities, order, dim=-1)
    return order, picked / picked.sum(-1, keepdim=True)


def choice_one_by_one(logits, k):
    """Take the largest, hide it, and go on; log-probabilities to the end."""
    left, found = logits.clone(), []
    for _ in range(k):
        best = left.argmax(dim=1, keepdim=True)
        found.append(best)
        left = left.scatter(1, best, -torch.inf)
    chosen = torch.cat(found, dim=1)
    kept = logits.gather(1, chosen)
    return [chosen, (kept - kept.logsumexp(1, keepdim=True)).exp()]


def places_by_counting(chosen, n_experts, capacity):
    """Walk through the ranks and the tokens with a counter for each expert."""
    taken, places = [0] * n_experts, torch.full_like(chosen, -1)
    for rank in range(chosen.shape[1]):
        for token in range(chosen.shape[0]):
            expert = chosen[token, rank].item()
            if taken[expert] < capacity:
                places[token, rank] = taken[expert]
                taken[expert] += 1
    return places


def places_by_pairs(chosen, n_experts, capacity):
    """Compare each choice with all before it."""
    order = chosen.T.flatten()
    before = (order[:, None] == order).tril(-1).sum(1)
    before[before >= capacity] = -1
    return before.unflatten(0, chosen.T.shape).T


def places_by_sorting(chosen, n_experts, capacity):
    """Sort by expert, stably; a place is the distance from the first of its expert."""
    order = chosen.t().reshape(-1)
    sorted_, by = order.sort(stable=True)
    begins = torch.searchsorted(sorted_, torch.arange(n_experts))
    places = torch.empty_like(order).index_copy_(0, by, torch.arange(len(order)) - begins[sorted_])
    return places.masked_fill(places >= capacity, -1).reshape(chosen.shape[1], -1).t()


def layer_expert_by_expert(x, logits, w_up, w_down, k, capacity):
    """No buffers: each expert computes the tokens that it keeps, whose weights multiply its input."""
    top, chosen = logits.topk(k)
    weights = F.softmax(top, -1)
    kept = within_capacity(chosen, len(w_up), capacity)
    y = torch.zeros_like(x)
    for e in range(len(w_up)):
        token, rank = torch.where((chosen == e) & kept)
        scaled = x[token] * weights[token, rank].unsqueeze(1)  # a ReLU lets a positive factor pass
        y = y.index_add(0, token, torch.relu(scaled @ w_up[e]) @ w_down[e])
    return y


def layer_by_masks(x, logits, w_up, w_down, k, capacity):
    """Dispatch and combine as products with masks of tokens by slots, as the first implementations did."""
    top, chosen = logits.topk(k)
    n = len(w_up)
    flat = chosen.T.flatten()
    place = (flat[:, None] == flat).tril(-1).sum(1)
    slots = F.one_hot(flat, n)[:, :, None] * F.one_hot(place.clamp(max=capacity), capacity + 1)[:, None, :capacity]
    slots = slots.view(k, len(x), n, capacity).to(x)
    combine = (slots * top.softmax(-1).T[:, :, None, None]).sum(0)
    buffer = torch.einsum("tec,td->ecd", slots.sum(0), x)
    made = torch.bmm(torch.bmm(buffer, w_up).clamp(min=0), w_down)
    return torch.einsum("tec,ecd->td", combine, made)


def layer_token_by_token(x, logits, w_up, w_down, k, capacity):
    """A loop over tokens and their kept choices, each with its expert's weights picked by number."""
    chosen, weights = choice_by_sorting(logits, k)
    places, rows = places_by_counting(chosen, len(w_up), capacity), []
    for i in range(len(x)):
        y = torch.zeros_like(x[i])
        for j in range(k):
            if places[i, j] >= 0:
                e = int(chosen[i, j])
                y = y + weights[i, j] * (torch.relu(x[i] @ w_up[e]) @ w_down[e])
        rows.append(y)
    return torch.stack(rows)


def balance_by_bincount(logits, k):
    n = logits.size(1)
    chosen = torch.argsort(logits, descending=True)[:, :k]
    share = torch.bincount(chosen.flatten(), minlength=n) / chosen.numel()
    return n * torch.dot(share.to(logits.dtype), F.softmax(logits, 1).mean(0))


def balance_by_a_loop(logits, k):
    limit = logits.detach().sort(1, descending=True).values[:, k - 1 : k]
    p = torch.exp(torch.log_softmax(logits, -1))
    total = torch.zeros((), dtype=logits.dtype)
    for e in range(logits.shape[1]):
        total = total + (logits[:, e] >= limit[:, 0]).sum() / (len(logits) * k) * p[:, e].sum() / len(logits)
    return total * logits.shape[1]


ALTERNATIVES = {
    "experts-choice": (choice_by_sorting, choice_one_by_one),
    "experts-places": (places_by_counting, places_by_pairs, places_by_sorting),
    "experts-layer": (layer_expert_by_expert, layer_by_masks, layer_token_by_token),
    "experts-balance": (balance_by_bincount, balance_by_a_loop),
}
