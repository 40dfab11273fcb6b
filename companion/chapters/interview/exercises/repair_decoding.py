"""Code that writes text, to repair: ``debug-cache`` and ``debug-left-padding``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

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
    keys, values = x.new_zeros(0, w_k.shape[1]), x.new_zeros(0, w_v.shape[1])
    outputs = []
    for i in range(len(x)):
        h = x[i : i + 1] + positions[i : i + 1]
        keys = torch.cat([keys, h @ w_k])
        values = torch.cat([values, h @ w_v])
        scores = (h @ w_q) @ keys.mT / math.sqrt(w_k.shape[1])
        outputs.append(scores.softmax(dim=-1) @ values)
    return torch.cat(outputs)


def _all_seen(x: Tensor, positions: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    h = x + positions[: len(x)]
    return ((h @ w_q) @ (h @ w_k).mT / math.sqrt(w_k.shape[1])).softmax(dim=-1) @ (h @ w_v)


PLACE = Edit("positions[i : i + 1]", "positions[:1]")
OWN = (  # the caches grow only after the token has looked at them
    Edit("        keys = torch.cat([keys, h @ w_k])\n        values = torch.cat([values, h @ w_v])\n", ""),
    Edit(
        "@ values)\n",
        "@ values)\n        keys = torch.cat([keys, h @ w_k])\n        values = torch.cat([values, h @ w_v])\n",
    ),
)
ORDER = Edit("[values, h @ w_v]", "[h @ w_v, values]")


def _cache_cases() -> list[Case]:
    draw = RandomInputs(88)

    def text(t: int, d: int, d_k: int, d_v: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        w_q, w_k = (draw.normal(d, d_k, dtype=dtype, scale=0.5) for _ in range(2))
        w_v = draw.normal(d, d_v, dtype=dtype, scale=scale)
        return draw.normal(t, d, dtype=dtype), draw.normal(t + 1, d, dtype=dtype), w_q, w_k, w_v

    one = torch.ones(1, 1)
    by_hand = torch.tensor([[2.0], [4.0]]), torch.tensor([[0.0], [2.0]]), 0 * one, one, one
    far = torch.tensor([[200.0], [1.0]]), torch.zeros(2, 1), one, -one, one
    return [
        Case(by_hand, "the example"),
        Case(text(1, 3, 2, 2, F64), "one token"),
        Case(text(2, 3, 2, 4, F32)),
        Case(text(3, 2, 4, 3, F64)),
        Case(text(5, 4, 3, 2, F32)),
        Case(text(7, 5, 3, 4, F64)),
        Case(text(6, 3, 4, 5, F64, 1e3), "large values"),
        Case(far, "scores far below 0"),
    ]


DEBUG_CACHE = Exercise(
    name="debug-cache",
    title="Repair a cache that loses its place",
    chapter="debugging",
    level=2,
    place=6,
    minutes=25,
    topic="generation",
    reference=_steps,
    fixed=("positions",),  # one for each token, or more
    broken=_broken_steps,
    cases=_cache_cases,
    tested="one token and many, sizes that differ, large values, scores far below 0, both dtypes",
    hints=(
        "There are three faults. Write the same without a cache, as causal attention over all of `x + positions`, "
        "and compare row by row. The first row already differs: what does it look at?",
        "A token sees itself, so its key and value come into the cache before it attends. Then look at the second "
        "row: print `h` of both ways.",
        "A slice of `positions` that begins at 0 gives position 0 at every step. And weight j belongs to key j: both "
        "caches have to grow at the same end.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (PLACE, *OWN, ORDER),
            "This does what the code as given does. Compare its first row with causal attention over the whole text.",
        ),
        Mistake(
            "positions-from-zero",
            PLACE,
            "One fault is left: each step takes position 0 again, so the model does not know the order.",
        ),
        Mistake(
            "own-key-missing",
            OWN,
            "One fault is left: a token attends before its own key and value are in the cache.",
        ),
        Mistake(
            "values-in-front",
            ORDER,
            "One fault is left: keys are added at the end and values in front, so weights meet other values.",
        ),
        Mistake(
            "only-own-key",
            (PLACE, ORDER),
            "A token sees itself now. Two faults are left: the positions, and the ends at which the caches grow.",
        ),
        Mistake(
            "only-positions",
            (*OWN, ORDER),
            "The positions are right now. Two faults are left, both in how and when the caches grow.",
        ),
        Mistake(
            "only-order",
            (PLACE, *OWN),
            "The caches grow at the same end now. Two faults are left: the positions, and what the token itself sees.",
        ),
        Mistake(
            "one-position-late",
            Edit("positions[i : i + 1]", "positions[[min(i + 1, len(x) - 1)]]"),
            "Your positions are off by one: the first token has position 0.",
        ),
        Mistake(
            "sees-the-future",
            _all_seen,
            "Every token sees the whole text. When it is written, the tokens after it do not exist yet.",
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
    t = tokens.shape[1]
    place = (real.cumsum(dim=1) - 1).clamp(min=0)
    h = table[tokens] + positions[place]
    scores = (h @ w_q) @ (h @ w_k).mT / math.sqrt(w_q.shape[1])
    seen = torch.ones(t, t, dtype=torch.bool).tril() & real[:, None]
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1).nan_to_num(0.0)  # the first pads see nothing
    h = h + weights @ (h @ w_v)
    return h[:, -1] @ table.mT


FROM_THE_LEFT = Edit("positions[place]", "positions[:t]")
PADDING_SEEN = Edit(" & real[:, None]", "")
OTHER_LAST = Edit("h[:, -1]", "h[torch.arange(len(h)), real.sum(dim=1) - 1]")


def _next_cases() -> list[Case]:
    draw = RandomInputs(89)
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
    far = torch.tensor([[1, 0]]), by_hand[1], torch.tensor([[1e10], [1.0]]), torch.zeros(2, 1), one, -one, one
    return [
        Case(by_hand, "the example"),
        Case(batch([2], 2, 3, 3, F64), "no padding"),
        Case(batch([2, 3], 3, 4, 2, F32)),
        Case(batch([1, 4, 2], 4, 5, 3, F64)),
        Case(batch([3, 3], 5, 6, 4, F32), "every row padded"),
        Case(batch([5, 2, 6, 1], 6, 7, 3, F64)),
        Case(batch([4, 7], 7, 5, 4, F64, 1e3), "large values"),
        Case(far, "scores far below 0"),
    ]


DEBUG_LEFT_PADDING = Exercise(
    name="debug-left-padding",
    title="Repair the first token after left padding",
    chapter="debugging",
    level=3,
    place=7,
    minutes=30,
    topic="generation",
    reference=_next,
    broken=_broken_next,
    cases=_next_cases,
    tested="rows with and without padding, all rows padded, large values, scores far below 0, both dtypes",
    hints=(
        "There are three faults. A row alone has no padding. Pad it on the left by one and compare: the embedded "
        "tokens, the weights of the last row, and the vector that meets the table at the end.",
        "With padding on the left every row ends at the same place. That settles which vector is the last. What does "
        "`real.sum(dim=1) - 1` point at?",
        "The position of a token is the number of real tokens before it: a running sum of `real`, less 1. And "
        "besides the future, the padding must be hidden as keys.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (FROM_THE_LEFT, PADDING_SEEN, OTHER_LAST),
            "This does what the code as given does. Compare a row alone with the same row padded on the left.",
        ),
        Mistake(
            "positions-from-the-left",
            FROM_THE_LEFT,
            "One fault is left: positions are counted from the left edge, so a padded row begins in the middle.",
        ),
        Mistake(
            "padding-seen",
            PADDING_SEEN,
            "One fault is left: the padding lies in the past of every token, and nothing hides it.",
        ),
        Mistake(
            "last-as-with-right-padding",
            OTHER_LAST,
            "One fault is left: you take the vector at the place where a row padded on the right would end.",
        ),
        Mistake(
            "only-the-last",
            (FROM_THE_LEFT, PADDING_SEEN),
            "The last vector is right now. Two faults are left: the positions, and the padding as keys.",
        ),
        Mistake(
            "only-the-positions",
            (PADDING_SEEN, OTHER_LAST),
            "The positions are right now. Two faults are left: the padding as keys, and the vector at the end.",
        ),
        Mistake(
            "only-the-mask",
            (FROM_THE_LEFT, OTHER_LAST),
            "The padding is hidden now. Two faults are left: the positions, and the vector at the end.",
        ),
        Mistake(
            "one-position-late",
            Edit("positions[place]", "positions[(place + 1).clamp(max=t - 1)]"),
            "Your positions are off by one: the first real token has position 0.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf", "-1e9"),
            "You hide scores by a finite number, and scores that count can be lower. Use -inf.",
        ),
    ),
)
