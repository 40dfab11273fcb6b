"""Exercise on what a decode step waits for: ``arithmetic-batch``."""

import math

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _arithmetic_batch(flops: int, weights: int, cache: int, peak: int, bandwidth: int) -> int:
    gained = flops * bandwidth - cache * peak
    return -(-weights * peak // gained) if gained > 0 else 0


def _without_a_limit(flops: int, weights: int, cache: int, peak: int, bandwidth: int) -> int:
    gained = flops * bandwidth - cache * peak
    return -(-weights * peak // (gained or 1))


def _in_seconds(flops: int, weights: int, cache: int, peak: int, bandwidth: int) -> int:
    gained = flops / peak - cache / bandwidth
    return math.ceil(weights / bandwidth / gained) if gained > 0 else 0


def _in_flops(flops: int, weights: int, cache: int, peak: int, bandwidth: int) -> int:
    gained = flops * (bandwidth / peak) - cache
    return math.ceil(weights / gained) if gained > 0 else 0


ARITHMETIC_BATCH = Exercise(
    name="arithmetic-batch",
    title="Find the batch that arithmetic limits",
    chapter="scaling",
    level=2,
    place=3,
    minutes=15,
    reference=_arithmetic_batch,
    cases=lambda: [
        Case((60, 60, 3, 20, 2), "the example"),
        Case((60, 60, 0, 20, 2), "no cache"),
        Case((60, 60, 6, 20, 2), "a cache that is just too large"),
        Case((60, 60, 9, 20, 2), "a cache that is much too large"),
        Case((50, 70, 1, 30, 4), "a batch that is no quotient"),
        Case((1000, 7, 1, 10, 5), "one sequence is enough"),
        Case((3, 10, 1, 5, 2), "a batch that is a quotient"),
        Case((1, 10**6, 0, 1, 1), "a batch of a million"),
        Case((10**18, 20 * 10**18 + 1, 0, 1, 1), "one byte more than 20 sequences pay for"),
        Case((14 * 10**9, 14 * 10**9, 64 * 2**19, 312 * 10**12, 2 * 10**12), "7 billion weights, 64 positions"),
        Case((14 * 10**9, 14 * 10**9, 2048 * 2**19, 312 * 10**12, 2 * 10**12), "7 billion weights, 2,048 positions"),
        Case((14 * 10**9, 35 * 10**8, 2048 * 2**13, 989 * 10**12, 3350 * 10**9), "4-bit weights and a small cache"),
    ],
    tested="no cache, caches too large, batches of one and of a million, the sizes of a model with 7 billion "
    "weights, numbers beyond a float's",
    hints=(
        "Write both times of a step with a batch of B: one for the arithmetic, one for the reading.",
        "The weights are read once for the batch, the caches once for each sequence. Solve for B.",
        "B flops / peak is at least (weights + B cache) / bandwidth. Multiply out, and collect B. When is its factor "
        "not positive?",
    ),
    mistakes=(
        Mistake(
            "no-cache",
            Edit("flops * bandwidth - cache * peak", "flops * bandwidth"),
            "You left out the caches. Each sequence of the batch reads its own.",
        ),
        Mistake(
            "rounded-down",
            Edit("-(-weights * peak // gained)", "weights * peak // gained"),
            "You rounded down. At that batch reading still takes longer: take the next whole number.",
        ),
        Mistake(
            "one-too-many",
            Edit("-(-weights * peak // gained)", "weights * peak // gained + 1"),
            "Where both times are equal the step is limited by arithmetic already. You added one sequence.",
        ),
        Mistake(
            "quotient-of-floats",
            lambda flops, weights, cache, peak, bandwidth: (
                math.ceil(weights * peak / gained) if (gained := flops * bandwidth - cache * peak) > 0 else 0
            ),
            "You round a quotient of floats up. A float has 53 bits, and such numbers need more: divide whole numbers.",
            also=(_in_seconds, _in_flops),
        ),
        Mistake(
            "never-is-an-answer",
            _without_a_limit,
            "With a large cache reading grows faster with the batch than arithmetic. Then there is no such batch: 0.",
        ),
        Mistake(
            "cache-read-once",
            lambda flops, weights, cache, peak, bandwidth: -(-(weights + cache) * peak // (flops * bandwidth)),
            "You read one cache for the whole batch. Each sequence has its own.",
        ),
        Mistake(
            "weights-read-each-time",
            lambda flops, weights, cache, peak, bandwidth: int(flops * bandwidth >= (weights + cache) * peak),
            "You read the weights for each sequence. A step reads them once for all.",
        ),
        Mistake(
            "peak-and-bandwidth-swapped",
            lambda flops, weights, cache, peak, bandwidth: _arithmetic_batch(flops, weights, cache, bandwidth, peak),
            "You divided FLOPs by the bandwidth and bytes by the peak.",
        ),
        Mistake(
            "ridge",
            lambda flops, weights, cache, peak, bandwidth: -(-peak // bandwidth),
            "You returned the FLOPs for each byte at which the GPU balances. That is the batch only if a token takes "
            "one FLOP for each byte of weights, as with 2 bytes a weight, and there are no caches.",
        ),
    ),
)
