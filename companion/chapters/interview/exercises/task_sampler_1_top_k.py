"""First stage of a sampler: ``sampler-top-k``, which cuts each row to its own number of tokens."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _top_k(scores: Tensor, k: Tensor) -> Tensor:
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    rank = order.argsort(dim=-1)
    k = k[:, None]
    return scores.masked_fill((rank >= k) & (k > 0), -torch.inf)


def _top_k_trial(answer: Answer, scores: Tensor, k: Sequence[int]) -> object:
    """Call the answer once, with ``k`` as a tensor."""
    return answer(scores, torch.tensor(k))


def _ties_kept(scores: Tensor, k: Tensor) -> Tensor:
    ranked = scores.sort(dim=-1, descending=True).values
    least = ranked.gather(-1, (k.clamp(max=scores.shape[-1]) - 1)[:, None] % scores.shape[-1])
    return scores.masked_fill(scores < least, -torch.inf)


def _hidden(scores: Tensor, *tokens: int) -> Tensor:
    """Give these tokens no chance in any row."""
    return scores.index_fill(-1, torch.tensor(tokens), -torch.inf)


def _top_k_cases() -> list[Case]:
    draw = RandomInputs(181)
    tied = torch.tensor([[0.0, 0.0, -1.0, 0.0], [-2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]], dtype=F64)
    return [
        Case((torch.tensor([[1.0, 3.0, 2.0]]), (2,)), "the example"),
        Case((draw.normal(1, 1, dtype=F64), (1,)), "one token in the vocabulary"),
        Case((draw.normal(3, 5, dtype=F32), (1, 3, 2)), "another k in each row"),
        Case((tied, (2, 2, 3)), "equal scores"),
        Case((draw.normal(4, 6, dtype=F64), (0, 4, 0, 1)), "k of 0"),
        Case((draw.normal(3, 4, dtype=F32), (4, 9, 5)), "k of the vocabulary and above"),
        Case((_hidden(draw.normal(3, 6, dtype=F64), 0, 4), (2, 5, 0)), "tokens that are hidden already"),
        Case((draw.normal(3, 3, dtype=F64), (2, 1, 3)), "as many rows as tokens"),
        Case((torch.zeros(2, 64), (5, 33)), "long rows of equal scores"),
        Case((torch.tensor([[1.0, 1.0 + 1e-9]], dtype=F64), (1,)), "scores that are equal in float32"),
        Case((draw.normal(3, 11, dtype=F64, scale=1e3) - 2e3, (3, 1, 9)), "large scores, nearly all below 0"),
    ]


TOP_K = Exercise(
    name="sampler-top-k",
    title="Keep the top k of each request",
    chapter="task-sampler",
    topic="generation",
    level=2,
    place=1,
    minutes=8,
    reference=_top_k,
    cases=_top_k_cases,
    trial=_top_k_trial,
    tested="another k in each row, k of 0, of the vocabulary and above, equal and hidden scores, both dtypes",
    hints=(
        "Every row has its own k, so no slice fits all rows. What would you have to know about a single token to say "
        "whether it stays?",
        "Its rank in its row: 0 for the largest score. A sort tells which token stands at each rank; you need the "
        "reverse, the rank of each token.",
        "The argsort of an order is the rank. A stable descending sort puts the smaller token first among equals. A "
        "token goes where its rank is k or more, unless k is 0.",
    ),
    mistakes=(
        Mistake(
            "first-k-for-all",
            Edit("k = k[:, None]", "k = k[0]"),
            "Every row is cut by the k of the first. Each row has its own.",
        ),
        Mistake(
            "one-more",
            Edit("rank >= k", "rank > k"),
            "You keep one token more than k: ranks begin at 0.",
        ),
        Mistake(
            "order-for-rank",
            Edit("order.argsort(dim=-1)", "order"),
            "You compare k with the order, which says which token has each rank. You need the rank of each token.",
        ),
        Mistake(
            "ties-kept",
            _ties_kept,
            "You keep every token whose score reaches the k-th largest. With equal scores those are more than k.",
        ),
        Mistake(
            "larger-of-equals",
            Edit(
                "scores.sort(dim=-1, descending=True, stable=True).indices",
                "scores.shape[-1] - 1 - scores.flip(-1).sort(dim=-1, descending=True, stable=True).indices",
            ),
            "Of equal scores you keep the larger token. The smaller one is asked for; `topk` promises no order.",
        ),
        Mistake(
            "zero-keeps-nothing",
            Edit(" & (k > 0)", ""),
            "With a k of 0 you keep nothing. It switches the filter off.",
        ),
        Mistake(
            "zero-keeps-one",
            Edit("(rank >= k) & (k > 0)", "rank >= k.clamp(min=1)"),
            "With a k of 0 you keep one token. It switches the filter off.",
        ),
        Mistake(
            "smallest-kept",
            Edit("descending=True", "descending=False"),
            "You keep the tokens with the smallest scores.",
        ),
        Mistake(
            "zero-for-a-score",
            Edit("-torch.inf)", "0.0)"),
            "You set scores to 0, which is a score like another. What is cut is minus infinity.",
        ),
        Mistake(
            "largest-k-for-all",
            Edit("k = k[:, None]", "k = k.max()"),
            "You cut every row at the largest k. Each row has its own.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf)", "-1e9)"),
            "You hide scores by a finite number. Minus infinity is asked for, and scores can be lower than -1e9.",
        ),
        Mistake(
            "left-sorted",
            lambda scores, k: _top_k(scores, k).sort(dim=-1, descending=True).values,
            "Your scores are in sorted order: entry 0 belongs to the largest score, not to token 0.",
        ),
    ),
)
