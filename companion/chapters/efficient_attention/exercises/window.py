"""Exercise on attention within a window: ``window-attention``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.chapters.efficient_attention.exercises.tiles import F32, F64, LONG, single_head
from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _window(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
    """Line up, for each query, its own keys: those of the window, by unfolding the padded keys."""
    t, d_k = query.shape
    keys, values = (F.pad(x, (0, 0, size - 1, 0)).unfold(0, size, 1) for x in (key, value))  # (t, width, size)
    scores = (query[:, None] @ keys)[:, 0] / math.sqrt(d_k)
    before = torch.arange(size) < size - 1 - torch.arange(t)[:, None]
    weights = scores.masked_fill(before, -torch.inf).softmax(dim=-1)
    return (values @ weights[..., None])[..., 0]


def _back(query: Tensor) -> Tensor:
    """Measure, for each query and each key, how far the key lies back."""
    return torch.arange(len(query))[:, None] - torch.arange(len(query))


def _under(query: Tensor, key: Tensor, value: Tensor, near: Tensor) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~near, -torch.inf).softmax(dim=-1) @ value


def _all_pairs(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
    return _under(query, key, value, (_back(query) >= 0) & (_back(query) < size))


def _slices(query: Tensor, key: Tensor, value: Tensor, back: int, ahead: int) -> Tensor:
    """Take keys from `back` positions before the query on, to `ahead` positions after it, the last left out."""
    rows = []
    for i, q in enumerate(query):
        near = slice(max(0, i - back), i + ahead)
        rows.append((key[near] @ q / math.sqrt(len(q))).softmax(dim=0) @ value[near])
    return torch.stack(rows)


def _blocks_apart(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
    block = torch.arange(len(query)) // size
    return _under(query, key, value, (_back(query) >= 0) & (block[:, None] == block))


def _window_cases() -> list[Case]:
    draw = RandomInputs(62)
    keys = torch.tensor([[-200.0], [-100.0], [100.0]])
    by_hand = torch.zeros(3, 1), torch.zeros(3, 1), torch.tensor([[0.0], [4.0], [8.0]]), 2
    return [
        Case(by_hand, "the example"),
        Case((*single_head(draw, 4, 3, 2, F64), 3)),
        Case((*single_head(draw, 5, 3, 2, F32), 1), "itself only"),
        Case((*single_head(draw, 7, 5, 3, F64), 4)),
        Case((*single_head(draw, 5, 2, 3, F32), 7), "a window longer than the text"),
        Case((*single_head(draw, 13, 3, 5, F64, 1e3), 3), "large values"),
        Case((*single_head(draw, 512, 4, 4, F32), 4), "a long text"),
        Case(
            (torch.full((3, 1), 1e10), 1e8 * keys, draw.normal(3, 2, dtype=F32), 3),
            "low scores, a large one after them",
        ),
    ]


def _window_budget(query: Tensor, key: Tensor, value: Tensor, size: int) -> Budget:
    t, width = len(query), max(query.shape[1], value.shape[1])
    return Budget(largest=4 * t * size * width, work=30 * t * size * width) if t >= LONG else Budget()


WINDOW_ATTENTION = Exercise(
    name="window-attention",
    title="Attend within a window, and pay for the window only",
    chapter="efficient-attention",
    level=3,
    place=12,
    minutes=35,
    topic="complexity",
    reference=_window,
    cases=_window_cases,
    budget=_window_budget,
    tested="windows of one and longer than the text, large values and scores, a long text within limits, both dtypes",
    hints=(
        "Write the version with a mask over all pairs first; it is right and too expensive. How many scores of a row "
        "survive the mask?",
        "Give each query its own few keys: an array of shape (t, size, d_k) holds them, and a product for each query "
        "gives (t, size) scores. Or split the sequence into blocks: a block needs its own keys and those of the block "
        "before.",
        "With zeros in front, `unfold` shows each window as a view. The positions in front of the sequence are not "
        "keys: hide them before the softmax. A loop over the distances 0 to size - 1 works as well.",
    ),
    mistakes=(
        Mistake(
            "all-pairs",
            _all_pairs,
            "The numbers are right, and the cost grows with the square of the length: by a score for every pair, most "
            "of them hidden, or by copying all earlier results at every position. Compute only what is in the window.",
        ),
        Mistake(
            "one-more",
            lambda query, key, value, size: _all_pairs(query, key, value, size + 1),
            "Your window is one position too long: it holds the query's own position and `size - 1` before it.",
        ),
        Mistake(
            "both-sides",
            lambda query, key, value, size: _under(query, key, value, _back(query).abs() < size),
            "Your window reaches into the future. It ends at the query's own position.",
        ),
        Mistake(
            "blocks-apart",
            _blocks_apart,
            "Your blocks do not see each other. A window slides: the first query of a block needs keys of the block "
            "before.",
        ),
        Mistake(
            "padding-attended",
            Edit(".masked_fill(before, -torch.inf)", ""),
            "The zeros in front of the text take part in the softmax: a score of 0 has weight exp(0). Hide them.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(d_k)", ""),
            "You did not divide the scores by the square root of their width.",
        ),
        Mistake(
            "one-fewer",
            lambda query, key, value, size: _slices(query, key, value, size - 2, 1),
            "Your window is one position too short: it holds the query's own position and `size - 1` before it.",
            also=(
                lambda query, key, value, size: _under(
                    query, key, value, (_back(query) >= 0) & (_back(query) < size - 1)
                ),
            ),
        ),
        Mistake(
            "without-itself",
            lambda query, key, value, size: _slices(query, key, value, size, 0),
            "A position does not see itself: a slice that ends at i leaves i out. The window ends at the query's own "
            "position.",
            also=(
                lambda query, key, value, size: _slices(query, key, value, size - 1, 0),
                lambda query, key, value, size: _under(query, key, value, (_back(query) > 0) & (_back(query) <= size)),
                lambda query, key, value, size: _under(query, key, value, (_back(query) > 0) & (_back(query) < size)),
            ),
        ),
    ),
)
