"""Right answers to the exercises on generation and serving, written in other ways than the references."""

import heapq
import math

import torch
import torch.nn.functional as F

from companion.generate import expected_tokens
from companion.quantise import dequantise, quantise


def gathered_by_position(pool, table, length):
    size = pool.shape[1]
    return torch.stack([pool[table[i // size], i % size] for i in range(length)])


def gathered_by_pages(pool, table, length):
    size = pool.shape[1]
    return torch.cat([pool[page, : length - i * size] for i, page in enumerate(table)])


def passes_by_heap(answers, rows):
    static, left = 0, list(answers)
    while left:
        static, left = static + max(left[:rows]), left[rows:]
    ends = [0] * rows
    for answer in answers:
        heapq.heapreplace(ends, ends[0] + answer)
    return static, max(ends)


def passes_one_by_one(answers, rows):
    def serve(continuous):
        waiting, running, passes = list(answers), [], 0
        while waiting or any(running):
            if continuous or not any(running):
                running = [n for n in running if n]
                while waiting and len(running) < rows:
                    running.append(waiting.pop(0))
            running = [max(n - 1, 0) for n in running]
            passes += 1
        return passes

    return serve(False), serve(True)


def draft_by_package(rate, cost, most):
    gain, guesses = max((expected_tokens(rate, n) / (1 + cost * n), -n) for n in range(most + 1))
    return -guesses, gain


def draft_by_closed_form(rate, cost, most):
    best = 0, 1.0
    for n in range(1, most + 1):
        tokens = (1 - rate ** (n + 1)) / (1 - rate) if rate < 1 else n + 1
        gain = tokens / (1 + n * cost)
        best = (n, gain) if gain > best[1] else best
    return best


def rounded_by_package(weight, bits, group):
    integers, scales = quantise(weight, bits, group)
    return dequantise(integers, scales), scales


def rounded_by_loops(weight, bits, group):
    rounded, scales = torch.empty_like(weight), []
    for i, row in enumerate(weight):
        for j in range(0, len(row), group):
            part = row[j : j + group]
            scales.append(part.abs().max() / (2 ** (bits - 1) - 1))
            rounded[i, j : j + group] = torch.round(part / scales[-1]) * scales[-1]
    return rounded, torch.stack(scales).view(len(weight), -1)


def attention_by_sdpa(query, keys, values, table, length):
    k, v = (x[table].flatten(0, 1)[:length] for x in (keys, values))
    return F.scaled_dot_product_attention(query[None], k, v)[0]


def attention_by_log_sums(query, keys, values, table, length):
    size, outputs, sums = keys.shape[1], [], []
    for i, page in enumerate(table):
        part = slice(0, length - i * size)
        scores = keys[page, part] @ query / math.sqrt(query.numel())
        outputs.append(scores.softmax(0) @ values[page, part])
        sums.append(scores.logsumexp(0))
    return torch.stack(sums).softmax(0) @ torch.stack(outputs)


ALTERNATIVES = {
    "gather-pages": (gathered_by_position, gathered_by_pages),
    "batch-passes": (passes_by_heap, passes_one_by_one),
    "best-draft": (draft_by_package, draft_by_closed_form),
    "group-quantise": (rounded_by_package, rounded_by_loops),
    "paged-attention": (attention_by_sdpa, attention_by_log_sums),
}
