"""Right answers to the stages of the sampler, written in other ways than the references."""

import math

import torch

from companion.chapters.interview.exercises.task_sampler_3_distribution import _distribution


def top_k_row_by_row(scores, k):
    rows = []
    for row, n in zip(scores.tolist(), k.tolist(), strict=True):
        best = sorted(range(len(row)), key=lambda token: (-row[token], token))[: n or len(row)]
        rows.append([x if token in best else -math.inf for token, x in enumerate(row)])
    return torch.tensor(rows, dtype=scores.dtype)


def top_k_by_counting(scores, k):
    """Count, for each token, those that go before it."""
    place = torch.arange(scores.shape[-1])
    ahead = (scores[:, None] > scores[..., None]) | (
        (scores[:, None] == scores[..., None]) & (place[None] < place[:, None])
    )
    limit = torch.where(k == 0, scores.shape[-1], k)
    return torch.where(ahead.sum(-1) < limit.unsqueeze(1), scores, float("-inf"))


def top_k_by_scatter(scores, k):
    order = torch.argsort(scores, dim=1, descending=True, stable=True)
    cut = torch.arange(scores.shape[1]).expand_as(order) >= k.unsqueeze(1)
    cut[k == 0] = False
    hidden = torch.zeros_like(cut).scatter(1, order, cut)
    out = scores.clone()
    out[hidden] = -torch.inf
    return out


def top_p_row_by_row(scores, p):
    out = torch.full_like(scores, -torch.inf)
    for row, (chances, limit) in enumerate(zip(scores.softmax(-1).tolist(), p.tolist(), strict=True)):
        total = 0.0
        for token in sorted(range(len(chances)), key=lambda t: (-chances[t], t)):
            out[row, token] = scores[row, token]
            total += chances[token]
            if total >= limit and limit < 1:
                break
    return out


def top_p_shifted(scores, p):
    """Cut where the sum has reached p, moved on by one place."""
    values, order = torch.sort(scores, descending=True, stable=True)
    cut = values.softmax(-1).cumsum(-1) >= p.unsqueeze(-1)
    cut = torch.cat([torch.zeros(len(scores), 1, dtype=torch.bool), cut[:, :-1]], dim=1) & (p < 1)[:, None]
    return torch.where(torch.zeros_like(cut).scatter_(1, order, cut), -torch.inf, scores)


def chances_row_by_row(scores, temperature, k, p):
    rows = []
    for row, t, n, limit in zip(scores, temperature.tolist(), k.tolist(), p.tolist(), strict=True):
        if t == 0:
            rows.append(torch.nn.functional.one_hot(row.argmax(), len(row)).to(row))
            continue
        values, order = (row / t).sort(descending=True, stable=True)
        values, order = values[: n or None], order[: n or None]
        chances = values.softmax(0)
        if limit < 1:
            chances = chances[: max(1, int((chances.cumsum(0) - chances < limit).sum()))]
        rows.append(torch.zeros_like(row).index_put((order[: len(chances)],), chances / chances.sum()))
    return torch.stack(rows)


def chances_in_sorted_places(scores, temperature, k, p):
    """Stay in sorted order to the end, with a greedy row as one of k = 1."""
    vocab = scores.shape[1]
    values, order = scores.sort(dim=1, descending=True, stable=True)
    number = torch.where(k == 0, vocab, k).where(temperature > 0, 1)
    values = values / torch.where(temperature > 0, temperature, 1)[:, None]
    values = torch.where(torch.arange(vocab) < number[:, None], values, -torch.inf)
    chances = values.softmax(1)
    kept = torch.cumsum(chances, 1).roll(1, 1)
    kept[:, 0] = -1.0
    chances = chances * torch.logical_or(kept < p[:, None], p[:, None] >= 1)
    return torch.empty_like(scores).scatter_(1, order, chances / chances.sum(1, keepdim=True))


def draw_row_by_row(scores, temperature, k, p, draws):
    tokens = []
    for row, draw in zip(_distribution(scores, temperature, k, p), draws, strict=True):
        alive = row.nonzero()[:, 0]
        sums = row[alive].cumsum(0)
        tokens.append(alive[min(int((draw >= sums).sum()), len(alive) - 1)])
    tokens = torch.stack(tokens)
    own = scores - scores.exp().sum(-1, keepdim=True).log() if scores.max() < 80 else scores.log_softmax(-1)
    return tokens, own[torch.arange(len(tokens)), tokens]


def draw_by_search(scores, temperature, k, p, draws):
    chances = _distribution(scores, temperature, k, p)
    found = torch.searchsorted(chances.cumsum(-1), draws[:, None], right=True)
    last = chances.shape[-1] - 1 - (chances > 0).flip(-1).int().argmax(-1, keepdim=True)
    found = found.minimum(last)
    own = torch.take_along_dim(scores, found, 1) - scores.logsumexp(1, keepdim=True)
    return [found.squeeze(1), own.squeeze(1)]


ALTERNATIVES = {
    "sampler-top-k": (top_k_row_by_row, top_k_by_counting, top_k_by_scatter),
    "sampler-top-p": (top_p_row_by_row, top_p_shifted),
    "sampler-distribution": (chances_row_by_row, chances_in_sorted_places),
    "sampler-draw": (draw_row_by_row, draw_by_search),
}


def nucleus_of_all(scores, temperature, k, p):
    """Sort once and lay both limits on the same probabilities, those of all tokens."""
    greedy = temperature == 0
    scaled = scores / temperature.where(~greedy, 1)[:, None]
    chances, order = scaled.softmax(-1).sort(dim=-1, descending=True, stable=True)
    place, number = torch.arange(scores.shape[1]), torch.where(k == 0, scores.shape[1], k).where(~greedy, 1)
    kept = (place < number[:, None]) & ((chances.cumsum(-1) - chances < p[:, None]) | (p[:, None] >= 1) | (place == 0))
    chances = chances * kept
    return torch.zeros_like(scores).scatter(1, order, chances / chances.sum(-1, keepdim=True))


def searched_from_the_left(scores, temperature, k, p, draws):
    chances = _distribution(scores, temperature, k, p)
    last = chances.shape[-1] - 1 - (chances > 0).flip(-1).int().argmax(-1, keepdim=True)
    found = torch.searchsorted(chances.cumsum(-1), draws[:, None]).minimum(last)
    return found[:, 0], scores.log_softmax(-1).gather(1, found)[:, 0]


AS_WRITTEN = [
    ("sampler-distribution", "top-p-first", nucleus_of_all),
    ("sampler-draw", "equal-to-the-draw", searched_from_the_left),
]
