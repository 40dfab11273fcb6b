"""Third stage of a sampler: ``sampler-distribution``, temperature and filters in order."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_sampler_1_top_k import _hidden, _top_k
from companion.chapters.interview.exercises.task_sampler_2_top_p import _top_p
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _distribution(scores: Tensor, temperature: Tensor, k: Tensor, p: Tensor) -> Tensor:
    greedy = temperature == 0
    scaled = scores / temperature.masked_fill(greedy, 1.0)[:, None]
    kept = _top_p(_top_k(scaled, k.masked_fill(greedy, 1)), p)
    return kept.softmax(dim=-1)


def _settings(scores: Tensor, temperature: Sequence[float], k: Sequence[int], p: Sequence[float]) -> tuple[Tensor, ...]:
    return (
        torch.tensor(temperature, dtype=scores.dtype),
        torch.tensor(k),
        torch.tensor(p, dtype=scores.dtype),
    )


def _distribution_trial(
    answer: Answer, scores: Tensor, temperature: Sequence[float], k: Sequence[int], p: Sequence[float]
) -> object:
    """Call the answer once, with the settings as tensors."""
    return answer(scores, *_settings(scores, temperature, k, p))


def _distribution_cases() -> list[Case]:
    draw = RandomInputs(183)
    tied = torch.tensor([[0.0, 1.0, 1.0, -1.0], [0.0, 0.0, 0.0, 0.0]], dtype=F64)
    steep = torch.tensor([[4.0, 5.0, 3.0, 1.0]]).log()
    return [
        Case((torch.tensor([[4.0, 3.0, 2.0, 1.0]]).log(), (1.0,), (3,), (0.75,)), "the example"),
        Case((draw.normal(1, 3, dtype=F64), (1.0,), (0,), (1.0,)), "no filter"),
        Case((steep, (0.5,), (0,), (0.6,)), "a temperature that changes the nucleus"),
        Case((draw.normal(3, 7, dtype=F64), (0.3, 2.0, 1.0), (0, 4, 2), (0.9, 1.0, 0.8)), "all settings differ"),
        Case((draw.normal(4, 6, dtype=F32), (0.0, 0.7, 0.0, 1.5), (0, 3, 4, 0), (1.0, 0.9, 0.1, 0.7)), "greedy rows"),
        Case((tied, (0.0, 0.0), (0, 3), (1.0, 0.9)), "greedy, equal scores"),
        Case((draw.normal(3, 5, dtype=F64), (1.5, 0.5, 1.0), (2, 9, 5), (0.0, 0.5, 1.0)), "p of 0, k above"),
        Case((_hidden(draw.normal(3, 6, dtype=F64), 1, 5), (0.8, 0.0, 3.0), (3, 0, 0), (0.9, 1.0, 0.95)), "hidden"),
        Case((draw.normal(2, 9, dtype=F64, scale=1e3), (50.0, 1e3), (5, 0), (0.95, 0.9)), "large scores, hot"),
        Case((torch.tensor([[-1e20, -3e20, -2e20]], dtype=F64), (0.5,), (2,), (1.0,)), "scores of -1e20"),
    ]


DISTRIBUTION = Exercise(
    name="sampler-distribution",
    title="Put temperature and filters in order",
    chapter="task-sampler",
    topic="generation",
    level=2,
    place=3,
    minutes=12,
    reference=_distribution,
    cases=_distribution_cases,
    trial=_distribution_trial,
    exact_zeros=True,
    tested="all settings differ between rows, greedy rows among others, hidden tokens, large scores, both dtypes",
    hints=(
        "Which of the three steps would give another result if a later one came first? Try four tokens by hand.",
        "The nucleus is taken of the probabilities that are left: after the temperature, and after the top k with what "
        "is left summing to 1. Since both filters give scores, that comes by itself.",
        "A row with temperature 0 must not divide by 0, and its neighbours must not notice. Give it a harmless "
        "temperature, and say with k what greedy means.",
    ),
    mistakes=(
        Mistake(
            "top-p-first",
            Edit(
                "_top_p(_top_k(scaled, k.masked_fill(greedy, 1)), p)",
                "_top_k(_top_p(scaled, p), k.masked_fill(greedy, 1))",
            ),
            "You take the nucleus of all tokens, before the top k or beside it. It is that of what the top k leaves, "
            "with a sum of 1 again.",
        ),
        Mistake(
            "temperature-last",
            (
                Edit("_top_p(_top_k(scaled,", "_top_p(_top_k(scores,"),
                Edit("kept.softmax", "(kept / temperature.masked_fill(greedy, 1.0)[:, None]).softmax"),
            ),
            "You filter first and scale afterwards, so the nucleus is that of temperature 1. The temperature comes "
            "first.",
        ),
        Mistake(
            "temperature-multiplied",
            Edit("scores / temperature", "scores * temperature"),
            "You multiply by the temperature. Scores are divided by it.",
        ),
        Mistake(
            "temperature-ignored",
            Edit("scores / temperature.masked_fill(greedy, 1.0)[:, None]", "scores"),
            "The temperature of a row that is not greedy has no effect.",
        ),
        Mistake(
            "first-temperature-for-all",
            Edit(
                "scores / temperature.masked_fill(greedy, 1.0)[:, None]",
                "scores / temperature.masked_fill(greedy, 1.0)[0]",
            ),
            "Every row has the temperature of the first.",
        ),
        Mistake(
            "zero-divides",
            (
                Edit("temperature.masked_fill(greedy, 1.0)[:, None]", "temperature[:, None]"),
                Edit("k.masked_fill(greedy, 1)", "k"),
            ),
            "A row with temperature 0 is divided by 0. It is greedy.",
        ),
        Mistake(
            "zero-is-one",
            Edit("k.masked_fill(greedy, 1)", "k"),
            "A row with temperature 0 is drawn at temperature 1. It is greedy: all probability on the largest score.",
        ),
        Mistake(
            "equals-share",
            Edit(
                "return kept.softmax(dim=-1)",
                "best = (scores == scores.amax(-1, keepdim=True)).to(scores)\n"
                "    return torch.where(greedy[:, None], best / best.sum(-1, keepdim=True), kept.softmax(dim=-1))",
            ),
            "Of equal scores a greedy row takes the smallest token alone. Yours share the probability.",
        ),
        Mistake(
            "all-greedy",
            Edit("greedy = temperature == 0", "greedy = (temperature == 0).any().expand(len(temperature))"),
            "One row with temperature 0 makes all rows greedy. Each row has its own.",
        ),
        Mistake(
            "not-renormalised",
            Edit("kept.softmax(dim=-1)", "scaled.softmax(dim=-1).masked_fill(kept == -torch.inf, 0.0)"),
            "What you keep sums to less than 1.",
        ),
        Mistake(
            "top-p-missing",
            Edit("_top_p(_top_k(scaled, k.masked_fill(greedy, 1)), p)", "_top_k(scaled, k.masked_fill(greedy, 1))"),
            "The nucleus is missing: p has no effect in your answer.",
        ),
    ),
)
