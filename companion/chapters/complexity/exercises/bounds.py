"""Exercises on time and on writing: ``least-time`` and ``writing-flops``."""

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _least_time(r: int, d: int, c: int, size: int, peak: float, bandwidth: float) -> tuple[float, str]:
    return _told(2 * r * d * c / peak, size * (r * d + d * c + r * c) / bandwidth)


def _told(arithmetic: float, memory: float) -> tuple[float, str]:
    return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"


LEAST_TIME = Exercise(
    name="least-time",
    title="Bound a time from below",
    chapter="complexity",
    level=2,
    place=4,
    minutes=15,
    reference=_least_time,
    cases=lambda: [
        Case((1, 2, 2, 4, 4.0, 8.0), "the example"),
        Case((1, 1, 2, 2, 18.0, 45.0), "a tie"),
        Case((3, 5, 7, 2, 10.0, 40.0), "sizes that all differ"),
        Case((5, 2, 3, 4, 30.0, 20.0)),
        Case((1, 4096, 4096, 2, 125e12, 900e9), "one row on a V100"),
        Case((4096, 4096, 4096, 2, 125e12, 900e9), "many rows on a V100"),
        Case((64, 512, 512, 4, 1e11, 1e10), "a CPU"),
    ],
    tested="one row, many rows, a tie, sizes that all differ",
    returns=("seconds", "which"),
    hints=(
        "Two clocks run at the same time: one for the multiplications, one for moving bytes. When is the work done?",
        "Count the operations of the product, and the numbers that have to come and go: both factors and the result.",
        "Divide the operations by `peak` and the bytes by `bandwidth`. The larger quotient is the bound, and "
        "its name is the second result.",
    ),
    mistakes=(
        Mistake(
            "added",
            lambda r, d, c, size, peak, bandwidth: (
                2 * r * d * c / peak + size * (r * d + d * c + r * c) / bandwidth,
                _least_time(r, d, c, size, peak, bandwidth)[1],
            ),
            "You added the two times. A bound from below lets them run at the same time: the larger one counts.",
        ),
        Mistake(
            "smaller",
            lambda r, d, c, size, peak, bandwidth: (
                min(2 * r * d * c / peak, size * (r * d + d * c + r * c) / bandwidth),
                _least_time(r, d, c, size, peak, bandwidth)[1],
            ),
            "You took the smaller of the two times. Neither can be beaten, so the larger one is the bound.",
        ),
        Mistake(
            "tie-to-memory",
            Edit("memory > arithmetic", "memory >= arithmetic", of=_told),
            "Where both take equally long the answer is arithmetic.",
        ),
        Mistake(
            "multiply-adds",
            lambda r, d, c, size, peak, bandwidth: _told(r * d * c / peak, size * (r * d + d * c + r * c) / bandwidth),
            "A multiplication and an addition are 2 FLOPs.",
        ),
        Mistake(
            "matrix-only",
            lambda r, d, c, size, peak, bandwidth: _told(2 * r * d * c / peak, size * d * c / bandwidth),
            "You moved the second factor only. The first one has to be read too, and the result written.",
        ),
        Mistake(
            "result-not-written",
            lambda r, d, c, size, peak, bandwidth: _told(2 * r * d * c / peak, size * (r * d + d * c) / bandwidth),
            "The result has to be written: r times c numbers more.",
        ),
        Mistake(
            "numbers-not-bytes",
            lambda r, d, c, size, peak, bandwidth: _told(2 * r * d * c / peak, (r * d + d * c + r * c) / bandwidth),
            "The bandwidth is in bytes, and each number takes `size` of them.",
        ),
    ),
)


def _pass(t: int, past: int, d: int) -> int:
    return 24 * t * d * d + 4 * t * (past + t) * d


def _writing_flops(n_layers: int, d: int, prompt: int, tokens: int, cached: bool) -> int:
    total = _pass(prompt, 0, d)
    for past in range(prompt, prompt + tokens - 1):
        total += _pass(1, past, d) if cached else _pass(past + 1, 0, d)
    return n_layers * total


WRITING_FLOPS = Exercise(
    name="writing-flops",
    title="Count the work of writing",
    chapter="complexity",
    level=3,
    place=7,
    minutes=25,
    same_dtype=True,
    reference=_writing_flops,
    cases=lambda: [
        Case((1, 1, 2, 2, True), "the example"),
        Case((1, 1, 2, 2, False), "the example"),
        Case((2, 3, 5, 1, True), "a single token"),
        Case((3, 4, 1, 7, True), "a prompt of one token"),
        Case((2, 5, 3, 4, False), "without a cache"),
        Case((12, 768, 100, 50, True)),
        Case((12, 768, 100, 50, False), "without a cache"),
        Case((80, 1601, 200_003, 101, False), "more than a float holds to the unit"),
        Case((80, 1601, 200_003, 101, True), "more than a float holds to the unit"),
        Case((1, 10**8 + 1, 1, 2, True), "a wide model with a cache"),
        Case((61, 2**53 + 1, 5, 4, True), "more than 64 bits hold, with a cache"),
        Case((61, 10**9 + 1, 5, 4, False), "more than 64 bits hold, without a cache"),
    ],
    tested="with and without a cache, a single token, a prompt of one token, numbers beyond 2^53 and 2^63",
    hints=(
        "Write a small function for one pass over t positions after p positions that a cache holds. Everything else is "
        "a sum of such passes.",
        "How many passes are needed for the tokens after the first one? How long is the text at each of them?",
        "With a cache a pass computes one position, which looks at all before it and at itself. Without a cache it "
        "computes all of them anew.",
    ),
    mistakes=(
        Mistake(
            "one-pass-too-many",
            Edit("tokens - 1", "tokens"),
            "You made one pass too many. The pass over the prompt already gives the first token.",
        ),
        Mistake(
            "no-self",
            Edit("(past + t)", "(past if past else t)", of=_pass),
            "The new position looks at itself too: one pair more than the cache holds.",
        ),
        Mistake(
            "cache-free-of-charge",
            Edit("(past + t)", "t", of=_pass),
            "You left out the pairs with the cached positions. A cache saves computing keys, not looking at them.",
        ),
        Mistake(
            "no-prompt",
            Edit("total = _pass(prompt, 0, d)", "total = 0"),
            "You left out the pass over the prompt.",
        ),
        Mistake(
            "text-does-not-grow",
            (Edit("_pass(1, past, d)", "_pass(1, prompt, d)"), Edit("_pass(past + 1", "_pass(prompt + 1")),
            "Your text stays as long as it was after the first token. Each token makes it longer by one.",
        ),
        Mistake(
            "always-cached",
            Edit(" if cached else _pass(past + 1, 0, d)", ""),
            "Without a cache each pass computes every position again.",
        ),
        Mistake(
            "half-the-pairs",
            Edit("4 * t * (past + t) * d", "2 * t * (2 * past + t + 1) * d", of=_pass),
            "You left out the pairs that the causal mask hides. Here they count: a pass over t positions after p "
            "cached ones has t (p + t) pairs.",
        ),
        Mistake(
            "cache-turned-round",
            Edit("if cached", "if not cached"),
            "You turned `cached` round: with a cache each later pass is over one position.",
        ),
        Mistake(
            "one-layer",
            Edit("n_layers * total", "total"),
            "You counted one layer.",
        ),
        Mistake(
            "one-position-ahead",
            Edit("range(prompt, prompt + tokens - 1)", "range(prompt + 1, prompt + tokens)"),
            "Your later passes are one position ahead. The first of them has the prompt behind it and nothing more.",
            also=(
                (
                    Edit("range(prompt, prompt + tokens - 1)", "range(prompt + 1, prompt + tokens)"),
                    Edit("_pass(past + 1", "_pass(past"),
                ),
            ),
        ),
    ),
)
