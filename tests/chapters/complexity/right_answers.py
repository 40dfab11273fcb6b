"""Right answers to the exercises on complexity, written in other ways than the references."""

import math

import torch

from companion import cost


def least_time_by_sorting(r, d, c, size, peak, bandwidth):
    times = [(2 * r * d * c / peak, "arithmetic"), (size * (r * d + d * c + r * c) / bandwidth, "memory")]
    return max(times, key=lambda pair: pair[0])


def least_time_by_package(r, d, c, size, peak, bandwidth):
    moved = size * (r * d + d * c + r * c)
    least = cost.roofline_seconds(2 * r * d * c, moved, peak_flops=peak, bandwidth=bandwidth)
    return least, "memory" if least > 2 * r * d * c / peak else "arithmetic"


def layers_by_powers(reads, pairs):
    power, found = torch.eye(len(reads)), dict.fromkeys(pairs, -1)
    for layer in range(1, len(reads) + 1):
        power = (reads.float() @ power > 0).float()
        for start, end in pairs:
            if found[start, end] < 0 and power[end, start]:
                found[start, end] = layer
    return list(found.values())


def layers_by_sets(reads, pairs):
    def search(start, end):
        front = {start}
        for layer in range(1, len(reads) + 1):
            front = {i for i in range(len(reads)) if any(reads[i, j] for j in front)}
            if end in front:
                return layer
        return -1

    return [search(start, end) for start, end in pairs]


def merged_by_stacking(m_1, l_1, o_1, m_2, l_2, o_2):
    factors = torch.stack([m_1, m_2]).sub(torch.stack([m_1, m_2]).amax(0)).exp()
    total = (torch.stack([l_1, l_2]) * factors).sum(0)
    return (torch.stack([o_1, o_2]) * factors[..., None]).sum(0) / total[:, None]


def merged_by_log_sums(m_1, l_1, o_1, m_2, l_2, o_2):
    share = torch.sigmoid(m_1 + l_1.log() - m_2 - l_2.log())[:, None]
    return share * o_1 / l_1[:, None] + (1 - share) * o_2 / l_2[:, None]


def writing_by_steps(n_layers, d, prompt, tokens, cached):
    total, held = 0, 0
    for length in range(prompt, prompt + tokens):
        new = length - held
        total += n_layers * (24 * new * d * d + 4 * new * length * d)
        held = length if cached else 0
    return total


def writing_by_pairs(n_layers, d, prompt, tokens, cached):
    texts = range(prompt, prompt + tokens)
    computed = [prompt] + [1 if cached else n for n in texts[1:]]
    pairs = sum(new * n for new, n in zip(computed, texts, strict=True))
    return n_layers * (24 * d * d * sum(computed) + 4 * d * pairs)


ALTERNATIVES = {
    "layer-flops": [
        lambda n, d, d_ff: tuple(2 * n * inner * times for inner, times in ((d * d, 4), (n * d, 2), (d * d_ff, 2))),
        lambda n, d, d_ff: [cost.projection_flops(1, n, n, d), cost.pair_flops(1, n, n, d), 4 * n * d * d_ff],
    ],
    "crossing": [
        lambda d, d_ff: next(n for n in range(1, 10**6) if 4 * n * n * d > 8 * n * d * d + 4 * n * d * d_ff),
        lambda d, d_ff: math.floor((8 * d + 4 * d_ff) / 4) + 1,
    ],
    "cache-bytes": [
        lambda layers, h, kv, d, batch, t, size: cost.cache_bytes(layers, kv, d // h, batch, t, "int8") * size,
        lambda layers, h, kv, d, batch, t, size: sum(2 * kv * (d // h) * t * size for _ in range(layers * batch)),
    ],
    "least-time": [least_time_by_sorting, least_time_by_package],
    "layers-needed": [layers_by_powers, layers_by_sets],
    "merge-softmax": [merged_by_stacking, merged_by_log_sums],
    "writing-flops": [writing_by_steps, writing_by_pairs],
}


def queue_with_edges_turned(reads, pairs):
    answers = []
    for start, end in pairs:
        front, layer = {start}, 0
        while layer <= len(reads):
            front = {j for i in front for j in range(len(reads)) if reads[i, j]}
            layer += 1
            if end in front:
                break
        answers.append(layer if end in front else -1)
    return answers


def sequential(n_layers, d, prompt, tokens, cached):
    total = 0
    for step in range(tokens + 1):
        t, past = (prompt, 0) if step == 0 else (1, prompt + step - 1)
        if step and not cached:
            t, past = prompt + step, 0
        total += n_layers * (24 * t * d * d + 4 * t * (past + t) * d)
    return total


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("layer-flops", "multiply-adds", lambda n, d, d_ff: (4 * d * d * n, 2 * d * n**2, 2 * n * d_ff * d)),
    (
        "layer-flops",
        "no-output-projection",
        lambda n, d, d_ff: (3 * 2 * n * d**2, 2 * 2 * n**2 * d, 2 * 2 * n * d * d_ff),
    ),
    ("crossing", "at-the-tie", lambda d, d_ff: (8 * d * d + 4 * d * d_ff) // (4 * d)),
    ("crossing", "without-network", lambda d, d_ff: next(n for n in range(1, 10**6) if n * n * d > 2 * n * d * d)),
    ("cache-bytes", "query-heads", lambda layers, h, kv, d, b, t, s: 2 * layers * h * (d // h) * b * t * s),
    (
        "least-time",
        "multiply-adds",
        lambda r, d, c, s, p, w: max((r * d * c / p, "arithmetic"), (s * (r * d + d * c + r * c) / w, "memory")),
    ),
    ("layers-needed", "backwards", queue_with_edges_turned),
    (
        "merge-softmax",
        "mean-of-outputs",
        lambda m, s, o, n, t, p: torch.stack([o / s[:, None], p / t[:, None]]).mean(0),
    ),
    ("writing-flops", "one-pass-too-many", sequential),
]
