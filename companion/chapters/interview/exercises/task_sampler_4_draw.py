"""Last stage of a sampler: ``sampler-draw``, and the task of all four stages."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_sampler_1_top_k import TOP_K, _hidden
from companion.chapters.interview.exercises.task_sampler_2_top_p import TOP_P
from companion.chapters.interview.exercises.task_sampler_3_distribution import (
    DISTRIBUTION,
    _distribution,
    _settings,
)
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _sample(scores: Tensor, temperature: Tensor, k: Tensor, p: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
    chances = _distribution(scores, temperature, k, p)
    passed = (chances.cumsum(dim=-1) <= draws[:, None]).sum(dim=-1)
    places = torch.arange(chances.shape[-1])
    last = (places * (chances > 0)).amax(dim=-1)
    tokens = torch.minimum(passed, last)
    return tokens, scores.log_softmax(dim=-1).gather(-1, tokens[:, None])[:, 0]


def _sample_trial(
    answer: Answer,
    scores: Tensor,
    temperature: Sequence[float],
    k: Sequence[int],
    p: Sequence[float],
    draws: Tensor,
) -> object:
    """Call the answer once, with the settings as tensors."""
    return answer(scores, *_settings(scores, temperature, k, p), draws)


def _sample_cases() -> list[Case]:
    draw = RandomInputs(184)
    generator = torch.Generator().manual_seed(185)

    def drawn(rows: int, vocab: int, dtype: torch.dtype, settings: tuple, scale: float = 1.0) -> tuple:
        scores = draw.normal(rows, vocab, dtype=dtype, scale=scale)
        draws = torch.rand(rows, generator=generator, dtype=F64).to(dtype)
        return scores, *((value,) * rows for value in settings), draws

    def first_row_cold(scores: Tensor, temperature: tuple, *rest: object) -> tuple:
        scores[0, :2] = torch.tensor([5000.0, 5001.0])
        return scores, (1.0, *temperature[1:]), *rest

    many = torch.tensor([[4.0, 3.0, 2.0, 1.0]], dtype=F64).log().expand(2000, 4).contiguous()
    even = (torch.arange(2000, dtype=F64) + 0.37) / 2000
    beside = torch.zeros(6, 4, dtype=F64)
    beside[4], beside[5, 0] = torch.tensor([0.0, 0.0, -9.0, -torch.inf]), -17.0
    draws = torch.tensor([0.25, 0.25 - 1e-6, 0.75, 0.75 - 1e-6, 0.99995, 0.0], dtype=F64)
    below = drawn(64, 30, F32, (1.0, 20, 1.0))
    zeros = drawn(6, 8, F64, (1.0, 3, 1.0))
    mixed = drawn(4, 7, F32, (1.0, 0, 1.0))
    return [
        Case((torch.tensor([[1.0, 4.0, 3.0]]).log(), (1.0,), (2,), (1.0,), torch.tensor([0.5])), "the example"),
        Case(drawn(1, 1, F64, (1.0, 0, 1.0)), "one token in the vocabulary"),
        Case(drawn(5, 6, F64, (0.0, 0, 1.0)), "greedy"),
        Case((mixed[0], (0.5, 0.0, 2.0, 1.0), (3, 0, 0, 5), (0.9, 1.0, 0.8, 0.6), mixed[-1]), "all settings differ"),
        Case((*zeros[:-1], torch.zeros(6, dtype=F64)), "draws of 0"),
        Case((*below[:-1], torch.full((64,), 1 - 2.0**-24)), "draws just below 1"),
        Case(
            (_hidden(drawn(8, 7, F64, (1.5, 0, 1.0))[0], 0, 6), *drawn(8, 7, F64, (1.5, 0, 1.0))[1:]), "hidden tokens"
        ),
        Case((beside, (1.0,) * 6, (0,) * 6, (1.0,) * 6, draws), "draws on a border and beside it"),
        Case((many, (0.7,) * 2000, (3,) * 2000, (1.0,) * 2000, even), "two thousand draws"),
        Case(first_row_cold(*drawn(7, 9, F64, (500.0, 6, 0.95), 1e3)), "large scores, hot but for one row"),
    ]


DRAW = Exercise(
    name="sampler-draw",
    title="Draw the tokens",
    chapter="task-sampler",
    topic="generation",
    level=2,
    place=4,
    minutes=8,
    reference=_sample,
    cases=_sample_cases,
    trial=_sample_trial,
    returns=("tokens", "log-probabilities"),
    tested="draws of 0 and just below 1, tokens of probability 0 at both ends, greedy, two thousand draws, both dtypes",
    hints=(
        "Lay the probabilities of a row side by side on the line from 0 to 1, in the order of the vocabulary. Where "
        "does the draw fall?",
        "Count the running sums that the draw has reached. Then try a draw of 0 where the first token has probability "
        "0, and a draw so close to 1 that rounding leaves the whole sum below it.",
        "Bound the count by the last token with a probability above 0. The log-probability that is asked for is "
        "the model's own: temperature and filters have no part in it.",
    ),
    mistakes=(
        Mistake(
            "equal-to-the-draw",
            Edit("<= draws", "< draws"),
            "Your running sum may equal the draw. It has to exceed it: a draw of 0 would give a first token of "
            "probability 0.",
        ),
        Mistake(
            "outside-the-vocabulary",
            Edit("torch.minimum(passed, last)", "passed"),
            "Rounding may leave the sum of all probabilities below a draw that is nearly 1, and your token then lies "
            "outside the vocabulary.",
        ),
        Mistake(
            "last-of-the-vocabulary",
            Edit("torch.minimum(passed, last)", "passed.clamp(max=chances.shape[-1] - 1)"),
            "Where rounding leaves the sum below the draw, you take the last token of the vocabulary, which may have "
            "probability 0. Take the last one that has more.",
        ),
        Mistake(
            "one-draw-for-all",
            Edit("draws[:, None]", "draws[0]"),
            "Every row uses the first draw.",
        ),
        Mistake(
            "likeliest",
            Edit("torch.minimum(passed, last)", "chances.argmax(dim=-1)"),
            "You take the likeliest token and do not use the draws.",
        ),
        Mistake(
            "sorted-order",
            Edit(
                "passed = (chances.cumsum(dim=-1) <= draws[:, None]).sum(dim=-1)",
                "ranked, order = chances.sort(dim=-1, descending=True, stable=True)\n"
                "    passed = (ranked.cumsum(dim=-1) <= draws[:, None]).sum(dim=-1, keepdim=True)\n"
                "    passed = order.gather(-1, passed.clamp(max=chances.shape[-1] - 1))[:, 0]",
            ),
            "You add the probabilities from the likeliest on. The order is that of the vocabulary.",
        ),
        Mistake(
            "filtered-log-probability",
            Edit("scores.log_softmax(dim=-1)", "chances.log()"),
            "Your log-probability is that of the filtered distribution. The model's own is asked for, without "
            "temperature and filters.",
        ),
        Mistake(
            "scaled-log-probability",
            Edit(
                "scores.log_softmax(dim=-1)",
                "(scores / temperature.masked_fill(temperature == 0, 1.0)[:, None]).log_softmax(dim=-1)",
            ),
            "Your log-probability is taken after the temperature. The model's own is asked for.",
        ),
        Mistake(
            "logarithm-of-zero",
            Edit("scores.log_softmax(dim=-1)", "scores.softmax(dim=-1).log()"),
            "A hot row can give a token whose own probability is rounded to 0, and its logarithm is infinite. A "
            "log-softmax has no such step.",
        ),
        Mistake(
            "score-returned",
            Edit("scores.log_softmax(dim=-1)", "scores"),
            "You return the score of the token. Its log-probability needs the log-softmax.",
        ),
        Mistake(
            "probability-returned",
            Edit("scores.log_softmax(dim=-1)", "scores.softmax(dim=-1)"),
            "You returned a probability. Its logarithm is asked for.",
        ),
    ),
)

SAMPLER = Task(
    name="sampler",
    title="Write a sampler for a batch of requests",
    stages=(TOP_K, TOP_P, DISTRIBUTION, DRAW),
)
