"""Last stage of growing attention: ``grow-groups``, and the task of all four stages."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_attention_1_heads import HEADS, _attend
from companion.chapters.interview.exercises.task_attention_2_masks import MASKS, _layer_weights, _padded
from companion.chapters.interview.exercises.task_attention_3_cache import CACHE, Cache, _in_turn, _longer
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task
from companion.practice.trial import Refusal, entries

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _shared(x: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    return x.unflatten(-1, (n_kv_heads, -1)).repeat_interleave(n_heads // n_kv_heads, dim=2).flatten(2)


def _grouped(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    n_kv_heads: int,
    real: Tensor,
    cache: Cache | None,
) -> tuple[Tensor, Cache]:
    key, value = x @ w_k, x @ w_v
    key, value, real = _longer(cache, key, value, real)
    t_new, t = x.shape[1], key.shape[1]
    causal = torch.ones(t_new, t, dtype=torch.bool).tril(t - t_new)
    each_key, each_value = (_shared(y, n_heads, n_kv_heads) for y in (key, value))
    output = _attend(x @ w_q, each_key, each_value, n_heads, causal & real[:, None])
    return output @ w_o, (key, value, real)


def _grouped_trial(
    answer: Answer,
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    n_kv_heads: int,
    real: Tensor,
    chunks: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """Compare the outputs of all chunks; the cache may take twice what keys, values and mask need."""
    outputs, cache = _in_turn(answer, x, real, chunks, w_q, w_k, w_v, w_o, n_heads, n_kv_heads)
    needed = real.numel() * (w_k.shape[1] + w_v.shape[1] + 1)
    if entries(cache) > 2 * needed and n_heads > 2 * n_kv_heads:
        raise Refusal(
            f"In the end your cache keeps {entries(cache):,} numbers. The keys, values and mask of {x.shape[1]} "
            f"positions are {needed:,}, and twice that is allowed."
        )
    return outputs


def _grouped_cases() -> list[Case]:
    draw = RandomInputs(144)

    def layer(
        d: int,
        n_heads: int,
        n_kv_heads: int,
        d_k: int,
        dtype: torch.dtype,
        real: Tensor,
        *chunks: int,
        scale: float = 1.0,
    ) -> tuple:
        w_q, w_k, w_v, w_o = _layer_weights(draw, d, n_heads, n_kv_heads, d_k, dtype)
        x = draw.normal(*real.shape, d, dtype=dtype)
        return x, w_q, w_k, scale * w_v, w_o, n_heads, n_kv_heads, real, chunks

    ones, twice = torch.ones(2, 1), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    by_hand = torch.tensor([[[1.0, 2.0]]]), torch.ones(2, 2), ones, ones, twice, 2, 1, _padded(1, t=1), (1,)
    one = torch.ones(1, 1)
    far = torch.tensor([[[1.0], [1e10]]]), one, -one, one, one, 1, 1, _padded(1, t=2, left=True), (1, 1)
    return [
        Case(by_hand, "the example"),
        Case(layer(5, 4, 2, 2, F64, _padded(3, t=3), 3), "all at once"),
        Case(layer(4, 3, 3, 2, F32, _padded(4, 4, t=4), 2, 1, 1), "as many key heads as query heads"),
        Case(layer(5, 6, 2, 3, F64, _padded(5, 5, t=5), 3, 1, 1), "groups of three"),
        Case(layer(7, 6, 3, 2, F64, _padded(6, 4, 3, t=6, left=True), 4, 1, 1), "a prompt padded on the left"),
        Case(layer(4, 4, 1, 5, F32, _padded(4, 3, t=4, left=True), 2, 2), "one key head"),
        Case(layer(6, 8, 2, 2, F64, _padded(7, 7, t=7), 3, 2, 2), "groups of four"),
        Case(layer(5, 6, 2, 3, F64, _padded(5, 5, t=5), 2, 3, scale=1e4), "large weights"),
        Case(layer(4, 4, 2, 2, F64, torch.tensor([[True, False, True, True]]), 1, 1, 2), "a gap"),
        Case((torch.tensor([[[0.0], [2.0]]]), *[one] * 4, 1, 1, _padded(2, t=2), (1, 1)), "a real token of zeros"),
        Case(far, "scores far below 0"),
    ]


GROUPS = Exercise(
    name="grow-groups",
    title="Grow grouped heads",
    chapter="task-attention",
    topic="generation",
    level=2,
    place=4,
    minutes=10,
    reference=_grouped,
    cases=_grouped_cases,
    trial=_grouped_trial,
    may_change=("cache",),
    returns=("output", "output when another text is read in turn"),
    tested="outputs chunk by chunk and the size of the cache; groups of one to six heads, left padding, a gap, "
    "scores far below 0, two texts in turn, both dtypes",
    hints=(
        "Only keys and values have fewer heads. Ask when each query head must have keys of its own, and keep "
        "everything before that moment narrow.",
        "What is cached is what the projections give, with the few heads. The copies are made after the cache, for "
        "this call alone, and thrown away.",
        "Neighbouring query heads share: the heads 0, 1 become 0, 0, 1, 1. Split keys and values by their own number "
        "of heads, repeat along that axis, and merge again for stage 1.",
    ),
    mistakes=(
        Mistake(
            "tiled",
            Edit(
                "repeat_interleave(n_heads // n_kv_heads, dim=2)", "repeat(1, 1, n_heads // n_kv_heads, 1)", of=_shared
            ),
            "Your key heads come in the order 0, 1, 0, 1. Neighbouring query heads share a key head: 0, 0, 1, 1.",
        ),
        Mistake(
            "first-head-for-all",
            Edit(
                ".repeat_interleave(n_heads // n_kv_heads, dim=2)", "[:, :, :1].expand(-1, -1, n_heads, -1)", of=_shared
            ),
            "Every query head uses the first key head. Each group has its own.",
        ),
        Mistake(
            "features-repeated",
            Edit(
                "x.unflatten(-1, (n_kv_heads, -1)).repeat_interleave(n_heads // n_kv_heads, dim=2).flatten(2)",
                "x.repeat_interleave(n_heads // n_kv_heads, dim=-1)",
                of=_shared,
            ),
            "You repeated single features. Split into heads first, and repeat whole heads.",
        ),
        Mistake(
            "wide-cache",
            (
                Edit("x @ w_k, x @ w_v", "(_shared(x @ w, n_heads, n_kv_heads) for w in (w_k, w_v))"),
                Edit("(_shared(y, n_heads, n_kv_heads) for y in (key, value))", "key, value"),
            ),
            "Your cache holds one copy for each query head, so nothing is saved. Cache the narrow keys and values, and "
            "repeat them after the cache.",
        ),
        Mistake(
            "copies-cached-again",
            (
                Edit("each_key, each_value = (", "key, value = ("),
                Edit("each_key, each_value, n_heads", "key, value, n_heads"),
            ),
            "The second call repeats what the first had repeated already: the copies went into the cache.",
        ),
        Mistake(
            "keys-shared-values-not",
            Edit(
                "(_shared(y, n_heads, n_kv_heads) for y in (key, value))",
                "_shared(key, n_heads, n_kv_heads), value.repeat(1, 1, n_heads // n_kv_heads)",
            ),
            "Keys are shared by neighbours, values in the order 0, 1, 0, 1. A group shares both.",
        ),
    ),
)

GROWING_ATTENTION = Task(
    name="growing-attention",
    title="Grow multi-head attention",
    stages=(HEADS, MASKS, CACHE, GROUPS),
)
