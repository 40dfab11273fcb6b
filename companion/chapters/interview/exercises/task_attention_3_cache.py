"""Third stage of growing attention: ``grow-cache``, chunk by chunk."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_attention_1_heads import _attend
from companion.chapters.interview.exercises.task_attention_2_masks import _causal_layer, _layer_weights, _padded
from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import several, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]
Cache = tuple[Tensor, Tensor, Tensor]  # keys, values, and which of them are real
LONG = 32
"""Positions of the case on which work is counted."""


def _longer(cache: Cache | None, *new: Tensor) -> tuple[Tensor, ...]:
    return new if cache is None else tuple(torch.cat(pair, dim=1) for pair in zip(cache, new, strict=True))


def _cached(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor, cache: Cache | None
) -> tuple[Tensor, Cache]:
    key, value = x @ w_k, x @ w_v
    key, value, real = _longer(cache, key, value, real)
    t_new, t = x.shape[1], key.shape[1]
    causal = torch.ones(t_new, t, dtype=torch.bool).tril(t - t_new)
    output = _attend(x @ w_q, key, value, n_heads, causal & real[:, None])
    return output @ w_o, (key, value, real)


def _recomputed(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, real: Tensor, cache: tuple | None
) -> tuple[Tensor, tuple]:
    t_new = x.shape[1]
    if cache is not None:
        x, real = torch.cat([cache[0], x], dim=1), torch.cat([cache[1], real], dim=1)
    return _causal_layer(x, w_q, w_k, w_v, w_o, n_heads, real)[:, -t_new:], (x, real)


def _in_chunks(
    answer: Answer, x: Tensor, real: Tensor, chunks: tuple[int, ...], *settings: object
) -> tuple[Tensor, object]:
    """Feed a text chunk by chunk; give the outputs at real positions, side by side, and the last cache."""
    cache, outputs = None, []
    for part, counted in zip(x.split(chunks, dim=1), real.split(chunks, dim=1), strict=True):
        made = answer(part.clone(), *settings, counted.clone(), cache)
        output, cache = several(made, "output", "cache")
        outputs.append(tensor(output, *part.shape).masked_fill(~counted[..., None], 0.0))
    return torch.cat(outputs, dim=1), cache


def _in_turn(
    answer: Answer, x: Tensor, real: Tensor, chunks: tuple[int, ...], *settings: object
) -> tuple[tuple[Tensor, Tensor], object]:
    """Feed a text alone, then once more in turn with another; give its outputs of both times, and the last cache."""
    alone, cache = _in_chunks(answer, x, real, chunks, *settings)
    if x.shape[1] >= LONG:
        return (alone, alone), cache
    caches, outputs = [None, None], []
    for part, counted in zip(x.split(chunks, dim=1), real.split(chunks, dim=1), strict=True):
        for number, sign in enumerate((1, -1)):
            made = answer(sign * part, *settings, counted.clone(), caches[number])
            output, caches[number] = several(made, "output", "cache")
            if number == 0:
                outputs.append(tensor(output, *part.shape).masked_fill(~counted[..., None], 0.0))
    return (alone, torch.cat(outputs, dim=1)), cache


def _cached_trial(
    answer: Answer,
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    real: Tensor,
    chunks: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """Compare the outputs of all chunks."""
    return _in_turn(answer, x, real, chunks, w_q, w_k, w_v, w_o, n_heads)[0]


def _cached_budget(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    real: Tensor,
    chunks: tuple[int, ...],
) -> Budget:
    """Allow the four projections of each position three times, and attention over the cache four times."""
    t, d = x.shape[1:]
    return Budget(work=12 * t * d * d + 8 * t * t * d) if t >= LONG else Budget()


def _cached_cases() -> list[Case]:
    draw = RandomInputs(143)

    def layer(
        d: int, n_heads: int, d_k: int, dtype: torch.dtype, real: Tensor, *chunks: int, scale: float = 1.0
    ) -> tuple:
        w_q, w_k, w_v, w_o = _layer_weights(draw, d, n_heads, n_heads, d_k, dtype)
        return draw.normal(*real.shape, d, dtype=dtype), w_q, w_k, scale * w_v, w_o, n_heads, real, chunks

    one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    by_hand = torch.tensor([[[2.0], [4.0], [9.0]]]), zero, one, one, one, 1, _padded(3, t=3), (1, 1, 1)
    far = torch.tensor([[[1.0], [1e10]]])
    return [
        Case(by_hand, "the example"),
        Case(layer(4, 2, 2, F64, _padded(3, t=3), 3), "all at once"),
        Case(layer(4, 2, 2, F64, _padded(4, t=4), 1, 1, 1, 1), "one by one"),
        Case(layer(5, 5, 2, F32, _padded(5, 5, t=5), 3, 1, 1), "a prompt, then one by one"),
        Case(layer(7, 2, 3, F64, _padded(6, 6, t=6), 2, 3, 1), "a second chunk of several"),
        Case(layer(7, 2, 3, F64, _padded(6, 4, 3, t=6, left=True), 4, 1, 1), "a prompt padded on the left"),
        Case(layer(5, 3, 2, F32, _padded(6, 5, 4, t=6, left=True), 3, 2, 1), "as many heads as sentences"),
        Case(layer(5, 2, 3, F64, _padded(5, 5, t=5), 2, 1, 2, scale=1e4), "large weights"),
        Case(layer(32, 2, 16, F32, _padded(LONG, t=LONG), *[1] * LONG), "work is counted"),
        Case((*by_hand[:6], torch.tensor([[True, False, True]]), (1, 1, 1)), "a gap"),
        Case((torch.tensor([[[0.0], [4.0], [9.0]]]), *by_hand[1:]), "a real token of zeros"),
        Case((far, one, -one, one, one, 1, _padded(1, t=2, left=True), (1, 1)), "scores far below 0"),
    ]


CACHE = Exercise(
    name="grow-cache",
    title="Grow a cache",
    chapter="task-attention",
    topic="generation",
    level=3,
    place=3,
    minutes=15,
    reference=_cached,
    cases=_cached_cases,
    trial=_cached_trial,
    may_change=("cache",),
    returns=("output", "output when another text is read in turn"),
    budget=_cached_budget,
    tested="prompts, chunks of several positions, padding on the left, gaps, scores far below 0, two "
    "texts in turn, work, both dtypes",
    hints=(
        "What of an earlier position does a later one need? Neither its query nor its output. Keep what is needed, "
        "make it longer by the new positions, and attend over all of it with the new queries alone.",
        "The mask is no longer square: its rows are the new positions, its columns all positions so far. Which columns "
        "may the first new row see, and which the last?",
        "The diagonal of the causal mask moves to the right by the number of positions in the cache. Whether an old "
        "key was padding must be remembered too, so the cache has three parts.",
    ),
    mistakes=(
        Mistake(
            "recomputed",
            _recomputed,
            "The numbers are right and cost too much. You project earlier inputs again at each call, where their keys "
            "and values can be kept, or at each call you go through more than the text so far, such as a long buffer.",
        ),
        Mistake(
            "new-keys-only",
            Edit("    key, value, real = _longer(cache, key, value, real)\n", ""),
            "Your queries see the keys of their own chunk only. The cache is not used.",
        ),
        Mistake(
            "cache-of-last-chunk",
            Edit("(key, value, real)\n", "tuple(y[:, -t_new:] for y in (key, value, real))\n"),
            "The cache that you return holds the newest chunk only, so the call after the next forgets the beginning.",
        ),
        Mistake(
            "cache-stays",
            Edit("output @ w_o, (key, value, real)", "output @ w_o, cache or (key, value, real)"),
            "The cache stays what the first call made of it: later chunks are not added.",
        ),
        Mistake(
            "diagonal-at-the-left",
            Edit(".tril(t - t_new)", ".tril()"),
            "The diagonal of your causal mask begins at the first key of all, so new positions see the oldest keys "
            "only. It moves to the right by the positions in the cache.",
        ),
        Mistake(
            "open-chunk",
            Edit("causal & real[:, None]", "real[:, None].expand(-1, t_new, -1)"),
            "Within a chunk your positions see the later ones. A chunk of one needs no causal mask, a prompt does.",
        ),
        Mistake(
            "padding-forgotten",
            Edit("real[:, None]", "(real | (torch.arange(t) < t - t_new))[:, None]"),
            "Later chunks see the padding of earlier ones. The cache must remember which keys are real.",
        ),
        Mistake(
            "padding-never",
            Edit("causal & real[:, None]", "causal.expand(len(x), -1, -1)"),
            "Your queries look at padding: `real` has no effect yet.",
        ),
        Mistake(
            "one-later-seen",
            Edit(".tril(t - t_new)", ".tril(t - t_new + 1)"),
            "A position of a chunk sees the one after it: the diagonal begins at the number of cached positions.",
        ),
        Mistake(
            "not-itself",
            Edit(".tril(t - t_new)", ".tril(t - t_new - 1)"),
            "A position does not see itself: the diagonal begins at the number of cached positions.",
        ),
    ),
)
