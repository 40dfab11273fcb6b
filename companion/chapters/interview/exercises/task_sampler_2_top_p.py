"""Second stage of a sampler: ``sampler-top-p``, which cuts each row to its nucleus."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_sampler_1_top_k import _hidden
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _top_p(scores: Tensor, p: Tensor) -> Tensor:
    ranked, order = scores.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    before = ranked.cumsum(dim=-1) - ranked
    p = p[:, None]
    kept = (before < p) | (p >= 1)
    kept[:, 0] = True
    return scores.masked_fill(~kept.gather(-1, order.argsort(dim=-1)), -torch.inf)


def _top_p_trial(answer: Answer, scores: Tensor, p: Sequence[float]) -> object:
    """Call the answer once, with ``p`` as a tensor of the dtype of the scores."""
    return answer(scores, torch.tensor(p, dtype=scores.dtype))


def _top_p_cases() -> list[Case]:
    draw = RandomInputs(182)
    tied = torch.tensor([[0.0, -9.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=F64)
    steep = torch.tensor([[0.0, -50.0, -60.0, 3.0], [40.0, -45.0, 1.0, 0.0], [0.0, -50.0, -60.0, 3.0]])
    large = draw.normal(2, 11, dtype=F64, scale=1e3)
    large[0, :2] = torch.tensor([5000.0, 5001.0])
    return [
        Case((torch.tensor([[2.0, 5.0, 3.0]]).log(), (0.6,)), "the example"),
        Case((draw.normal(1, 1, dtype=F64), (0.5,)), "one token in the vocabulary"),
        Case((draw.normal(4, 7, dtype=F64), (0.9, 0.3, 0.7, 0.5)), "another p in each row"),
        Case((draw.normal(3, 5, dtype=F32), (0.0, 0.01, 0.8)), "p of 0, and less than the first token has"),
        Case((torch.zeros(3, 4), (0.5, 0.25, 0.75)), "the sum reaches p exactly"),
        Case((torch.zeros(2, 4), (0.5000005, 0.25001)), "the sum nearly reaches p"),
        Case((tied, (0.6, 0.3)), "equal scores"),
        Case((steep, (1.0, 1.0, 0.999)), "p of 1, tokens that hardly count"),
        Case((_hidden(draw.normal(3, 6, dtype=F64), 0, 3), (0.8, 1.0, 0.4)), "tokens that are hidden already"),
        Case((draw.normal(5, 5, dtype=F64), (0.6, 0.9, 0.2, 0.7, 0.8)), "as many rows as tokens"),
        Case((large, (0.9, 1.0)), "large scores, two of them close"),
    ]


TOP_P = Exercise(
    name="sampler-top-p",
    title="Keep the nucleus of each request",
    chapter="task-sampler",
    topic="generation",
    level=2,
    place=2,
    minutes=12,
    reference=_top_p,
    cases=_top_p_cases,
    trial=_top_p_trial,
    tested="another p in each row, p of 0 and 1, sums that are exactly p, equal and hidden scores, both dtypes",
    hints=(
        "Sort the probabilities of a row and add them up from the front. Look at the token with which the sum reaches "
        "p: is it needed?",
        "A token stays where the sum of those before it is below p. Then see what this rule does at p = 0, and what "
        "rounding does to it at p = 1.",
        "The mask belongs to the sorted places. The ranks, an argsort of the order, bring it back to the tokens with "
        "`gather`; then it is laid on the scores, not on the probabilities.",
    ),
    mistakes=(
        Mistake(
            "first-p-for-all",
            Edit("p = p[:, None]", "p = p[0]"),
            "Every row is cut by the p of the first. Each row has its own.",
        ),
        Mistake(
            "crossing-token-dropped",
            Edit("before < p", "before + ranked <= p"),
            "You drop the token with which the sum reaches p. It belongs to the nucleus, which has p or more.",
        ),
        Mistake(
            "one-more-at-the-border",
            Edit("before < p", "before <= p"),
            "Where the tokens before have exactly p, they are enough. You keep one more.",
        ),
        Mistake(
            "nothing-at-zero",
            Edit("    kept[:, 0] = True\n", ""),
            "At a p of 0 you keep nothing. The likeliest token always stays.",
        ),
        Mistake(
            "tail-lost-at-one",
            Edit(" | (p >= 1)", ""),
            "At a p of 1 you lose tokens that hardly count: the sum before them is rounded to 1. A p of 1 switches the "
            "filter off.",
        ),
        Mistake(
            "not-sorted",
            Edit(
                "scores.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)",
                "scores.softmax(dim=-1), torch.arange(scores.shape[-1]).expand(scores.shape)",
            ),
            "You add the probabilities in the order of the vocabulary. The likeliest come first.",
        ),
        Mistake(
            "ascending",
            Edit("descending=True", "descending=False"),
            "You keep the least probable tokens.",
        ),
        Mistake(
            "mask-left-sorted",
            Edit("kept.gather(-1, order.argsort(dim=-1))", "kept"),
            "Your mask belongs to the sorted places, and you lay it on the tokens in their own order.",
        ),
        Mistake(
            "mask-taken-the-wrong-way",
            Edit("order.argsort(dim=-1)", "order"),
            "You take the mask back by the order itself. `gather` needs the rank of each token; with the order it is "
            "`scatter`.",
        ),
        Mistake(
            "ties-kept",
            Edit("before < p", "ranked >= ranked.masked_fill(before >= p, torch.inf).amin(dim=-1, keepdim=True)"),
            "You keep all tokens as probable as the last one needed. Among equal ones only the first are needed.",
        ),
        Mistake(
            "larger-of-equals",
            Edit(
                "scores.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)",
                "(lambda top: (top.values, scores.shape[-1] - 1 - top.indices))("
                "scores.softmax(dim=-1).flip(-1).sort(dim=-1, descending=True, stable=True))",
            ),
            "Of equally probable tokens you keep the larger. The smaller one is asked for.",
        ),
        Mistake(
            "probabilities-returned",
            Edit("return scores.masked_fill", "return scores.softmax(dim=-1).masked_fill"),
            "You return probabilities. Scores are asked for, so that the filters can follow one another.",
            also=(lambda scores, p: _top_p(scores, p).softmax(dim=-1),),
        ),
        Mistake(
            "log-probabilities-returned",
            Edit("return scores.masked_fill", "return scores.log_softmax(dim=-1).masked_fill"),
            "You returned log-probabilities. What is kept has its own score.",
        ),
    ),
)
