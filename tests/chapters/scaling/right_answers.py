"""Right answers to the exercises on scaling, written in other ways than the references."""

import itertools
import math
from fractions import Fraction

import torch


def slots_by_counting(expert, n_experts, capacity):
    taken, slots = [0] * n_experts, []
    for choice in expert.tolist():
        slots.append(taken[choice] if taken[choice] < capacity else -1)
        taken[choice] += 1
    return torch.tensor(slots)


def slots_by_comparing_pairs(expert, n_experts, capacity):
    slot = (expert[:, None] == expert).tril(-1).sum(dim=1)
    return slot.masked_fill(slot >= capacity, -1)


def order_by_what_is_held(stage, stages, microbatches):
    forward, backward, order = 0, 0, []
    while backward < microbatches:
        if forward < microbatches and forward - backward < stages - stage:
            forward += 1
            order.append(forward)
        else:
            backward += 1
            order.append(-backward)
    return torch.tensor(order), max(itertools.accumulate(1 if one > 0 else -1 for one in order))


def order_by_sorting(stage, stages, microbatches):
    numbers = torch.arange(1, microbatches + 1)
    times = torch.cat([2 * numbers, 2 * (numbers + stages - 1 - stage) + 1])
    order = torch.cat([numbers, -numbers])[times.argsort()]
    return order, int(order.sign().cumsum(0).max())


def batch_by_trying(flops, weights, cache, peak, bandwidth):
    if flops / peak <= cache / bandwidth:
        return 0
    batches = itertools.count(1)
    return next(b for b in batches if b * flops * bandwidth >= (weights + b * cache) * peak)


def batch_by_fractions(flops, weights, cache, peak, bandwidth):
    slack = Fraction(flops, peak) - Fraction(cache, bandwidth)
    return math.ceil(Fraction(weights, bandwidth) / slack) if slack > 0 else 0


ALTERNATIVES = {
    "expert-slots": (slots_by_counting, slots_by_comparing_pairs),
    "one-f-one-b": (order_by_what_is_held, order_by_sorting),
    "arithmetic-batch": (batch_by_trying, batch_by_fractions),
}
