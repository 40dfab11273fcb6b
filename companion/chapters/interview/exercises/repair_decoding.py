"""Code that writes text, to repair: ``debug-cache`` and ``debug-left-padding``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw

F32, F64 = torch.float32, torch.float64


def _broken_steps(x: Tensor, positions: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    keys, values = x.new_zeros(0, w_k.shape[1]), x.new_zeros(0, w_v.shape[1])
    outputs = []
    for i in range(len(x)):
        h = x[i : i + 1]
        h = h + positions[: len(h)]
        scores = (h @ w_q) @ keys.mT / math.sqrt(w_k.shape[1])
        outputs.append(scores.softmax(dim=-1) @ values)
        keys = torch.cat([keys, h @ w_k])
        values = torch.cat([h @ w_v, values])
    return torch.cat(outputs)


def _steps(x: Tensor, positions: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return _attended(x, positions, w_q, w_k, w_v)


def _attended(
    x: Tensor,
    positions: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    *,
    place: str = "right",
    own: bool = True,
    order: bool = True,
    later: bool = False,
) -> Tensor:
    """Attend step by step, with each of the faults mended or not."""
    h = x + (positions[:1] if place == "zero" else positions[: len(x)])
    if place == "late":
        h = x + torch.cat([positions[1 : len(x)], positions[len(x) - 1 : len(x)]])
    query, key, value = h @ w_q, h @ w_k, h @ w_v
    rows = []
    for i in range(len(x)):
        end = len(x) if later else i + own
        seen = value[:end] if order else value[:end].flip(0)
        rows.append((query[i : i + 1] @ key[:end].mT / math.sqrt(w_k.shape[1])).softmax(dim=-1) @ seen)
    return torch.cat(rows)


def _cache_cases() -> list[Case]:
    draw = Draw(88)

    def text(t: int, d: int, d_k: int, d_v: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        w_q, w_k = (draw.normal(d, d_k, dtype=dtype, scale=0.5) for _ in range(2))
        w_v = draw.normal(d, d_v, dtype=dtype, scale=scale)
        return draw.normal(t, d, dtype=dtype), draw.normal(t + 1, d, dtype=dtype), w_q, w_k, w_v

    one = torch.ones(1, 1)
    by_hand = torch.tensor([[2.0], [4.0]]), torch.tensor([[0.0], [2.0]]), 0 * one, one, one
    return [
        Case(by_hand, "the example"),
        Case(text(1, 3, 2, 2, F64), "one token"),
        Case(text(2, 3, 2, 4, F32)),
        Case(text(3, 2, 4, 3, F64)),
        Case(text(5, 4, 3, 2, F32)),
        Case(text(7, 5, 3, 4, F64)),
        Case(text(6, 3, 4, 5, F64, 1e3), "large values"),
    ]


DEBUG_CACHE = Exercise(
    name="debug-cache",
    title="Repair a cache that loses its place",
    chapter="debugging",
    tier=2,
    minutes=25,
    topic="inference",
    reference=_steps,
    broken=_broken_steps,
    cases=_cache_cases,
    tested="one token and many, sizes that differ, large values, both dtypes",
    hints=(
        "Write the same without a cache, as causal attention over all of `x + positions`, and compare row by row. The "
        "first row already differs: what does it look at?",
        "A token sees itself, so its key and value come into the cache before it attends. Then look at the second row: "
        "print `h` of both ways.",
        "A slice of `positions` that begins at 0 gives position 0 at every step. And weight j belongs to key j: both "
        "caches have to grow at the same end.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            lambda *given: _attended(*given, place="zero", own=False, order=False),
            "This does what the code as given does. Compare its first row with causal attention over the whole text.",
        ),
        Mistake(
            "positions-from-zero",
            lambda *given: _attended(*given, place="zero"),
            "One fault is left: each step takes position 0 again, so the model does not know the order.",
        ),
        Mistake(
            "own-key-missing",
            lambda *given: _attended(*given, own=False),
            "One fault is left: a token attends before its own key and value are in the cache.",
        ),
        Mistake(
            "values-in-front",
            lambda *given: _attended(*given, order=False),
            "One fault is left: keys are added behind and values in front, so a weight meets another token's value.",
        ),
        Mistake(
            "only-own-key",
            lambda *given: _attended(*given, place="zero", order=False),
            "A token sees itself now. Two faults are left: the positions, and the ends at which the caches grow.",
        ),
        Mistake(
            "only-positions",
            lambda *given: _attended(*given, own=False, order=False),
            "The positions are right now. Two faults are left, both in how and when the caches grow.",
        ),
        Mistake(
            "only-order",
            lambda *given: _attended(*given, place="zero", own=False),
            "The caches grow at the same end now. Two faults are left: the positions, and what the token itself sees.",
        ),
        Mistake(
            "one-position-late",
            lambda *given: _attended(*given, place="late"),
            "Your positions are off by one: the first token has position 0.",
        ),
        Mistake(
            "sees-the-future",
            lambda *given: _attended(*given, later=True),
            "Every token sees the whole text. When it is written, the tokens behind it do not exist yet.",
        ),
    ),
)


def _broken_next(
    tokens: Tensor, real: Tensor, table: Tensor, positions: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    t = tokens.shape[1]
    h = table[tokens] + positions[:t]
    scores = (h @ w_q) @ (h @ w_k).mT / math.sqrt(w_q.shape[1])
    seen = torch.ones(t, t, dtype=torch.bool).tril()
    h = h + scores.masked_fill(~seen, -torch.inf).softmax(dim=-1) @ (h @ w_v)
    last = real.sum(dim=1) - 1
    return h[torch.arange(len(h)), last] @ table.mT


def _next(
    tokens: Tensor, real: Tensor, table: Tensor, positions: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    return _scored(tokens, real, table, positions, w_q, w_k, w_v)


def _scored(
    tokens: Tensor,
    real: Tensor,
    table: Tensor,
    positions: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    *,
    place: str = "right",
    hide: bool = True,
    last: bool = True,
) -> Tensor:
    """Score the next token after a row padded on the left, with each fault mended or not."""
    t = tokens.shape[1]
    where = torch.arange(t).expand_as(tokens) if place == "from the left" else (real.cumsum(1) - 1).clamp(min=0)
    where = (where + 1).clamp(max=t - 1) if place == "late" else where
    h = table[tokens] + positions[where]
    seen = torch.ones(t, t, dtype=torch.bool).tril().expand(len(tokens), t, t)
    seen = seen & real[:, None] if hide else seen
    scores = ((h @ w_q) @ (h @ w_k).mT / math.sqrt(w_q.shape[1])).masked_fill(~seen, -torch.inf)
    h = h + scores.softmax(dim=-1).nan_to_num(0.0) @ (h @ w_v)
    end = torch.full((len(h),), t - 1) if last else real.sum(dim=1) - 1
    return h[torch.arange(len(h)), end] @ table.mT


def _next_cases() -> list[Case]:
    draw = Draw(89)
    generator = torch.Generator().manual_seed(90)

    def batch(lengths: list[int], t: int, vocab: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        tokens = torch.randint(1, vocab, (len(lengths), t), generator=generator)
        real = torch.arange(t) >= t - torch.tensor(lengths)[:, None]
        w_q, w_k = (draw.normal(d, d, dtype=dtype, scale=0.3) for _ in range(2))
        w_v = draw.normal(d, d, dtype=dtype, scale=0.5 * scale)
        return tokens * real, real, draw.normal(vocab, d, dtype=dtype), draw.normal(t, d, dtype=dtype), w_q, w_k, w_v

    one = torch.ones(1, 1)
    by_hand = (
        torch.tensor([[0, 1]]),
        torch.tensor([[False, True]]),
        torch.tensor([[5.0], [1.0]]),
        torch.tensor([[1.0], [7.0]]),
        0 * one,
        one,
        one,
    )
    return [
        Case(by_hand, "the example"),
        Case(batch([2], 2, 3, 3, F64), "no padding"),
        Case(batch([2, 3], 3, 4, 2, F32)),
        Case(batch([1, 4, 2], 4, 5, 3, F64)),
        Case(batch([3, 3], 5, 6, 4, F32), "every row padded"),
        Case(batch([5, 2, 6, 1], 6, 7, 3, F64)),
        Case(batch([4, 7], 7, 5, 4, F64, 1e3), "large values"),
    ]


DEBUG_LEFT_PADDING = Exercise(
    name="debug-left-padding",
    title="Repair the first token after left padding",
    chapter="debugging",
    tier=3,
    minutes=30,
    topic="inference",
    reference=_next,
    broken=_broken_next,
    cases=_next_cases,
    tested="rows with and without padding, all rows padded, large values, both dtypes",
    hints=(
        "A row alone has no padding. Pad it on the left by one and compare: the embedded tokens, the weights of the "
        "last row, and the vector that meets the table at the end.",
        "With padding on the left every row ends at the same place. That settles which vector is the last. What does "
        "`real.sum(dim=1) - 1` point at?",
        "The position of a token is the number of real tokens before it: a running sum of `real`, less 1. And besides "
        "the future, the padding must be hidden as keys.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            lambda *given: _scored(*given, place="from the left", hide=False, last=False),
            "This does what the code as given does. Compare a row alone with the same row padded on the left.",
        ),
        Mistake(
            "positions-from-the-left",
            lambda *given: _scored(*given, place="from the left"),
            "One fault is left: positions are counted from the left edge, so a padded row begins in the middle.",
        ),
        Mistake(
            "padding-seen",
            lambda *given: _scored(*given, hide=False),
            "One fault is left: the padding lies in the past of every token, and nothing hides it.",
        ),
        Mistake(
            "last-as-with-right-padding",
            lambda *given: _scored(*given, last=False),
            "One fault is left: you take the vector at the place where a row padded on the right would end.",
        ),
        Mistake(
            "only-the-last",
            lambda *given: _scored(*given, place="from the left", hide=False),
            "The last vector is right now. Two faults are left: the positions, and the padding as keys.",
        ),
        Mistake(
            "only-the-positions",
            lambda *given: _scored(*given, hide=False, last=False),
            "The positions are right now. Two faults are left: the padding as keys, and the vector at the end.",
        ),
        Mistake(
            "only-the-mask",
            lambda *given: _scored(*given, place="from the left", last=False),
            "The padding is hidden now. Two faults are left: the positions, and the vector at the end.",
        ),
        Mistake(
            "one-position-late",
            lambda *given: _scored(*given, place="late"),
            "Your positions are off by one: the first real token has position 0.",
        ),
    ),
)
